"""A campaign for whoever writes it: its pages as the file is now, with answers that are thrown away.

The file is looked at with every request. When it was changed, the campaign is read and its pages are made anew, with an
empty store; where it is wrong, every page says what is wrong and in which line, until it is mended. It is served
on this machine alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import Message, Receive, Scope, Send

from askance.collect.collection import Collection
from askance.collect.server.app import Collector, asset
from askance.collect.server.headers import SafeHeaders
from askance.collect.server.http_wrapper import HttpWrapper
from askance.collect.server.pages import page
from askance.collect.server.replies import failure
from askance.collect.toml_lines import TomlFile
from askance.errors import AskanceError
from askance.formats.toml_file import PlacedError

_NOTE = "Preview: answers are thrown away."
_LINKS = (
    f'<p class="preview" lang="en" dir="ltr"><b>{_NOTE}</b> <a href="/preview">Begin as somebody else</a> · '
    '<a href="/admin">The administration</a></p>'
)
# Lines that are shown on either side of a wrong one.
_AROUND = 4


class Preview:
    """A campaign file that is being written.

    Attributes:
        app: what an ASGI server runs.

    Args:
        path: of the campaign file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changing = asyncio.Lock()
        self._seen: list[tuple[int, int, int]] | None = None
        self._wrong: AskanceError | None = None
        self._collector: Collector | None = None
        self._running = contextlib.AsyncExitStack()
        self._folder, self._number = "", 0
        self._tokens: list[str] = []  # pages that are open go on when the file was changed
        routes = [Route("/assets/{name}", asset), Route("/preview", self._begin), Mount("/", app=self._served)]
        middleware = [Middleware(SafeHeaders), Middleware(_Noted)]
        self.app = Starlette(routes=routes, middleware=middleware, lifespan=self._lifespan)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        with tempfile.TemporaryDirectory() as self._folder:
            try:
                yield
            finally:
                await self._running.aclose()

    # -- pages -----------------------------------------------------------------------------------------------------

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whatever the campaign serves."""
        collector = await self._renewed()
        if collector is not None:
            await collector.app(scope, receive, send)
        elif scope["path"].startswith("/v1/"):
            await failure(503, "the campaign file is wrong.")(scope, receive, send)
        else:
            again = "/preview" if scope["path"] == "/" else scope["path"]
            await self._what_is_wrong(again)(scope, receive, send)

    async def _begin(self, request: Request) -> Response:
        """The page of a survey for somebody new: with a code of their own, which the page finds in its address."""
        collector = await self._renewed()
        if collector is None:
            return self._what_is_wrong("/preview")
        if collector.collection.campaign.kind == "devices":
            return RedirectResponse("/", 303)
        token = await run_in_threadpool(_new_token, collector)
        self._tokens.append(token)
        return RedirectResponse(f"/#{token}", 303)

    def _what_is_wrong(self, again: str) -> Response:
        error = self._wrong
        assert error is not None
        lines = _lines_around(self._path, error.line) if isinstance(error, PlacedError) else []
        return page("wrong_file.html", 503, what=error.message, remedy=error.remedy, lines=lines, again=again)

    # -- the file --------------------------------------------------------------------------------------------------

    async def _renewed(self) -> Collector | None:
        """The campaign as its file is now; None where that is wrong."""
        async with self._changing:
            now = await run_in_threadpool(self._state)
            if self._seen is None or now != self._seen:
                self._collector, self._wrong = None, None
                await self._running.aclose()
                self._running = contextlib.AsyncExitStack()
                try:
                    made = await run_in_threadpool(self._read)
                    await self._running.enter_async_context(made.running())
                    self._collector, self._seen = made, await run_in_threadpool(self._state)
                except AskanceError as error:  # read again the next time: what is missing may be another file
                    self._wrong, self._seen = error, None
            return self._collector

    def _read(self) -> Collector:
        self._number += 1
        collection = Collection(self._path, Path(self._folder) / f"{self._number}.sqlite")
        if collection.campaign.kind != "devices":  # so that one browser can be several people
            collection.campaign = replace(collection.campaign, access="tokens")
            with collection.opened(new=True) as store:
                collection.admit(store, self._tokens)
        return Collector(collection, preview=True)

    def _state(self) -> list[tuple[int, int, int]]:
        """What changes when the file, or the text that it names, is written."""
        files = [self._path]
        with contextlib.suppress(AskanceError, AttributeError, KeyError, TypeError):
            files.append(self._path.parent / TomlFile(self._path).content["counting"]["text"])
        states = []
        for file in files:
            with contextlib.suppress(OSError):
                status = file.stat()
                states.append((status.st_mtime_ns, status.st_size, status.st_ino))
        return states


def _new_token(collector: Collector) -> str:
    with collector.collection.opened() as store:
        (token,) = collector.collection.issue_tokens(store, 1)
    collector.look()  # who counts is known by a token
    return token


def _lines_around(path: Path, line: int) -> list[tuple[int, str, bool]]:
    """Lines of a file around one, each with its number and whether it is the one; none where it cannot be read."""
    try:
        lines = path.read_text("utf-8-sig", errors="replace").splitlines() or [""]
    except OSError:
        return []
    line = min(line, len(lines))
    shown = range(max(line - _AROUND, 1), min(line + _AROUND, len(lines)) + 1)
    return [(number, lines[number - 1], number == line) for number in shown]


class _Noted(HttpWrapper):
    """Says on every page that it is a preview."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message | None = None
        body = b""

        async def send_noted(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _kind_of(message) in _NOTED:
                start = message
                return
            if start is None:
                await send(message)
                return
            body += message.get("body", b"")
            if not message.get("more_body", False):
                noted = _NOTED[_kind_of(start)](body)
                kept = [header for header in start["headers"] if header[0].lower() != b"content-length"]
                await send({**start, "headers": [*kept, (b"content-length", str(len(noted)).encode())]})
                await send({"type": "http.response.body", "body": noted})

        unpacked = [header for header in scope["headers"] if header[0] != b"accept-encoding"]  # a note goes into it
        await self._app({**scope, "headers": unpacked}, receive, send_noted)


_NOTED: dict[bytes, Callable[[bytes], bytes]] = {
    b"text/html": lambda page: page.replace(b"<body>", b"<body>\n" + _LINKS.encode(), 1),
    b"text/plain": lambda text: f"{_NOTE}\n".encode() + text,
}


def _kind_of(message: Message) -> bytes:
    kinds: list[bytes] = [value for name, value in message["headers"] if name.lower() == b"content-type"]
    return kinds[0].partition(b";")[0] if kinds else b""
