"""What the wrappers of an application have in common: they look at HTTP requests alone."""

from __future__ import annotations

from abc import ABC, abstractmethod

from starlette.types import ASGIApp, Receive, Scope, Send


class HttpWrapper(ABC):
    """An application around another one. What is no HTTP request (its start and its end) goes through as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await (self._answer if scope["type"] == "http" else self._app)(scope, receive, send)

    @abstractmethod
    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request, with the help of the application."""
