"""What goes wrong within the server: answered like everything else, and logged without what anybody sent."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from askance.collect.server.http_wrapper import HttpWrapper
from askance.collect.server.limits import BodyTooLargeError, TooOftenError
from askance.collect.server.replies import busy, failure
from askance.collect.store import BusyError

_LOG = logging.getLogger("uvicorn.error")


async def _too_large(request: Request, error: Exception) -> Response:
    return failure(413, "the body is too large. Send fewer lines at a time.")


async def _too_often(request: Request, error: Exception) -> Response:
    return failure(429, "that is too often.", **{"Retry-After": "1"})


async def _not_now(request: Request, error: Exception) -> Response:
    return busy(1, f"{error} Nothing of this was stored.")


async def _gone(request: Request, error: Exception) -> Response:
    return failure(400, "the body ended too early.")


async def _unexpected(request: Request, error: Exception) -> Response:
    return failure(500, "the server failed; send this again.")


#: Answers by errors, for the application. Nobody hears the one to whoever went away while sending.
ANSWERS: Mapping[Any, Any] = {
    BodyTooLargeError: _too_large,
    TooOftenError: _too_often,
    BusyError: _not_now,
    ClientDisconnect: _gone,
    Exception: _unexpected,
}


class LoggedWithoutMessage(HttpWrapper):
    """Logs where an application failed and by which kind of error: its message may quote what somebody sent."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:  # it was answered by `ANSWERS`
            places = "".join(traceback.format_tb(error.__traceback__))
            _LOG.error("a request failed: %s\n%s", type(error).__name__, places)
