"""The pages of whoever runs a campaign: entered by a link that works once, then by a password.

The password is kept as an scrypt hash. Sessions live in memory, in a cookie that other sites cannot make a browser send
(SameSite=Strict); whatever changes something must come from a page of this very host (Origin).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from askance.collect.collection import ADMIN, CLOSED, Collection
from askance.collect.export import export
from askance.collect.pages.dashboard import dashboard
from askance.collect.pages.single_file import Page
from askance.collect.progress import Progress
from askance.collect.server.ingest import Ingest
from askance.collect.server.limits import Rate, body_of, connection_of
from askance.collect.server.pages import page
from askance.errors import AskanceError

Answer = Callable[[Request], Awaitable[Response]]
COOKIE = "askance_admin"
LEAST_PASSWORD = 12
_NO_LINK = (
    "This link was used already, or is of an earlier start of the server. Enter with the password that was chosen, or "
    "start the server again: it prints a new link, with which you choose a new password."
)
#: After which the password is asked for again: a working day.
SESSION_SECONDS = 12 * 3600.0
# scrypt: about 50 ms and 32 MB a try.
_COST: dict[str, Any] = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 26}
_FORM_BYTES = 4096
# Log-ins of one connection, and how many may wait at once for the one password that is looked at at a time.
_PER_SECOND, _AT_ONCE, _MOST_WAITING = 0.2, 10, 16
_ENDINGS = {"responses": "csv", "reports": "jsonl", "state": "state", "regions": "jsonl"}


def password_hash(password: str, salt: bytes | None = None) -> bytes:
    """Salt and scrypt hash of a password, as they are stored.

    >>> stored = password_hash("twelve letters")
    >>> hmac.compare_digest(password_hash("twelve letters", stored[:16]), stored)
    True
    """
    salt = secrets.token_bytes(16) if salt is None else salt
    return salt + hashlib.scrypt(password.encode(), salt=salt, **_COST)


class Admin:
    """The routes below /admin.

    Attributes:
        key: what the link printed at start has in it; "" once it was used.
        progress: what is told while answers come in.

    Args:
        collection: the campaign.
        ingest: is told when the campaign closes.
        secure: whether browsers reach the server by TLS only.
        preview: whether everybody on this machine comes in, for answers are thrown away.
    """

    def __init__(self, collection: Collection, ingest: Ingest, *, secure: bool, preview: bool = False) -> None:
        self._collection, self._ingest, self._secure, self._preview = collection, ingest, secure, preview
        self.key = secrets.token_urlsafe(32)
        self._sessions: dict[str, float] = {}  # and until when
        self._tries = Rate(_PER_SECOND, at_once=_AT_ONCE)
        self._trying, self._waiting = asyncio.Lock(), 0
        self.progress = Progress(collection)

    def routes(self) -> list[Route]:
        """All of them."""
        inside, changing = self._inside, self._changing
        return [
            Route("/admin", inside(self._home)),
            Route("/admin/enter", self._linked, methods=["GET"]),
            Route("/admin/enter", changing(self._enter), methods=["POST"]),
            Route("/admin/login", self._entrance, methods=["GET"]),
            Route("/admin/login", changing(self._login), methods=["POST"]),
            Route("/admin/logout", changing(inside(self._logout)), methods=["POST"]),
            Route("/admin/close", changing(inside(self._close)), methods=["POST"]),
            Route("/admin/live", inside(self._live)),
            Route("/admin/report", inside(self._report)),
            Route("/admin/export/{shape}", inside(self._export)),
        ]

    # -- who comes in ----------------------------------------------------------------------------------------------

    def _inside(self, answer: Answer) -> Answer:
        """Only for those who are logged in."""

        async def guarded(request: Request) -> Response:
            session, now = request.cookies.get(COOKIE, ""), time.monotonic()
            self._sessions = {known: until for known, until in self._sessions.items() if until > now}
            if not self._preview and not any(
                hmac.compare_digest(session.encode(), known.encode()) for known in self._sessions
            ):
                return RedirectResponse("/admin/login", 303)
            return await answer(request)

        return guarded

    def _changing(self, answer: Answer) -> Answer:
        """Only from a page of this host: browsers say which one sent a form, and no page can make them lie."""

        async def guarded(request: Request) -> Response:
            scheme, _, place = request.headers.get("origin", "").partition("://")
            if scheme not in ("http", "https") or place != request.headers.get("host"):
                return Response("This was not sent from a page of this server.", 403, media_type="text/plain")
            return await answer(request)

        return guarded

    async def _entrance(self, request: Request) -> Response:
        return _form_page()

    async def _linked(self, request: Request) -> Response:
        key = request.query_params.get("key", "")
        return _form_page(key) if self._opens(key) else _form_page(wrong=_NO_LINK, status=403)

    def _opens(self, key: str) -> bool:
        """Whether a link with this key works."""
        return bool(self.key) and hmac.compare_digest(key.encode(), self.key.encode())

    async def _enter(self, request: Request) -> Response:
        """The link that works once: sets the password."""
        fields = await _form(request)
        key, password = fields.get("key", ""), fields.get("password", "")
        if not self._opens(key):
            return _form_page(wrong=_NO_LINK, status=403)
        if len(password) < LEAST_PASSWORD:
            return _form_page(key, f"The password has fewer than {LEAST_PASSWORD} characters.", 422)
        self.key = ""
        self._sessions.clear()  # whoever was let in by another password
        stored = await run_in_threadpool(password_hash, password)
        await run_in_threadpool(self._remember, ADMIN, stored)
        return self._entered()

    async def _login(self, request: Request) -> Response:
        password = (await _form(request)).get("password", "")
        # By connection, so that nobody locks everybody out; together they take one processor at most.
        if not self._tries.allows(connection_of(request)) or self._waiting >= _MOST_WAITING:
            return _form_page(wrong="Too many tries. Wait a little.", status=429)
        self._waiting += 1
        try:
            async with self._trying:
                stored = (await run_in_threadpool(self._known)).get(ADMIN, b"")
                digest = await run_in_threadpool(password_hash, password, stored[:16].ljust(16))
        finally:
            self._waiting -= 1
        if not stored or not hmac.compare_digest(digest, stored):
            return _form_page(wrong="That is not the password.", status=403)
        return self._entered()

    def _entered(self) -> Response:
        session = secrets.token_urlsafe(32)
        self._sessions[session] = time.monotonic() + SESSION_SECONDS
        answer = RedirectResponse("/admin", 303)
        answer.set_cookie(COOKIE, session, path="/admin", secure=self._secure, httponly=True, samesite="strict")
        return answer

    async def _logout(self, request: Request) -> Response:
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)
        answer = RedirectResponse("/admin/login", 303)
        answer.delete_cookie(COOKIE, path="/admin", secure=self._secure, httponly=True, samesite="strict")
        return answer

    # -- what is there ---------------------------------------------------------------------------------------------

    async def _home(self, request: Request) -> Response:
        made = await run_in_threadpool(self._board)
        policy = f"{made.policy}; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
        return HTMLResponse(made.html, headers={"Content-Security-Policy": policy})

    async def _report(self, request: Request) -> Response:
        made = await run_in_threadpool(self._board, report=True)
        name = f"{self._collection.campaign.name}-report.html"
        return HTMLResponse(made.html, headers={"Content-Disposition": f'attachment; filename="{name}"'})

    def _board(self, *, report: bool = False) -> Page:
        campaign, told = self._collection.campaign, self.progress.told()
        return dashboard(campaign, told, closed=self._ingest.closed, report=report)

    async def _live(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.progress.told))

    async def _close(self, request: Request) -> Response:
        await run_in_threadpool(self._remember, CLOSED, b"1")
        self._ingest.closed = True
        return RedirectResponse("/admin", 303)

    async def _export(self, request: Request) -> Response:
        shape, question = request.path_params["shape"], request.query_params.get("question")
        if shape not in _ENDINGS:
            return Response("There is no such file.", 404, media_type="text/plain")
        name = f"{self._collection.campaign.name}.{_ENDINGS[shape]}"
        try:
            data = await run_in_threadpool(self._exported, shape, question, name)
        except AskanceError as error:
            return Response(str(error), 422, media_type="text/plain")
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(data, 200, headers, media_type="application/octet-stream")

    def _exported(self, shape: Any, question: str | None, name: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder, self._collection.opened() as store:
            export(self._collection.campaign, store, Path(folder) / name, shape=shape, question=question)
            return (Path(folder) / name).read_bytes()

    def _known(self) -> dict[str, bytes]:
        with self._collection.opened() as store:
            return store.meta()

    def _remember(self, name: str, value: bytes) -> None:
        with self._collection.opened() as store:
            store.set_meta(name, value)


def _form_page(key: str = "", wrong: str = "", status: int = 200) -> Response:
    """Where a password is asked for; with the key of a link that works, where one is chosen."""
    return page("entrance.html", status, key=key, least=LEAST_PASSWORD, wrong=wrong)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, the first of each name; nothing of what is larger than a form."""
    body = await body_of(request, _FORM_BYTES)
    return {name: values[0] for name, values in parse_qs(body.decode("latin-1"), keep_blank_values=True).items()}
