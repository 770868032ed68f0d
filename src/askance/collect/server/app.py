"""The application: addresses, and what stands behind each."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route

from askance.collect.collection import SALT, Collection, people_of
from askance.collect.counts import counted
from askance.collect.device_page import assets, device_json, stretches_json
from askance.collect.pages.plain_form import plain_address
from askance.collect.server.admin import Admin
from askance.collect.server.failures import ANSWERS, LoggedWithoutMessage
from askance.collect.server.headers import SafeHeaders
from askance.collect.server.ingest import Ingest
from askance.collect.server.pages import closed_page, home_page, plain_answer, plain_page
from askance.collect.server.replies import busy, failure
from askance.collect.server.warming import wake
from askance.collect.store import Store, Writer, open_store
from askance.collect.store.schema import CLOSED
from askance.errors import AskanceError

# Seconds after which a server sees what another process said: that a campaign is closed, or that somebody counts.
_LOOK_AGAIN = 5.0


class Collector:
    """A campaign that is being served.

    Attributes:
        app: what an ASGI server runs; the writer lives as long as it does.
        admin: has the key of the link that works once.

    Args:
        collection: the campaign.
        secure: whether browsers reach the server by TLS only.
        most_waiting: entries that may wait to be written.
        preview: whether it is served to whoever writes it: the administration asks for no password.
    """

    def __init__(
        self, collection: Collection, *, secure: bool = False, most_waiting: int = 65_536, preview: bool = False
    ) -> None:
        self.collection = collection
        with collection.opened(new=True) as store:
            salt = store.meta()[SALT]
        self._first_window, self._looking = 0, threading.Lock()
        self._asking, self._answers, self._is_well = asyncio.Lock(), 0, True
        self._writer = Writer(self._reopened, most_waiting=most_waiting)
        self.ingest = Ingest(collection, self._writer, salt)
        self.admin = Admin(collection, self.ingest, secure=secure, preview=preview)
        inner = Starlette(routes=self._routes(), exception_handlers=ANSWERS, lifespan=self.running)
        self.app = LoggedWithoutMessage(SafeHeaders(inner))

    def _reopened(self) -> Store:
        return self.collection.prepare(open_store(self.collection.address, make=False))

    def _routes(self) -> list[Route | Mount]:
        origins = list(self.collection.campaign.origins)
        other_pages = Middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=["GET", "POST"], allow_headers=["content-type"]
        )
        public = [
            Route("/{campaign}/reports", self._named(self.ingest.answer), methods=["POST"]),
            Route("/{campaign}/form", self._named(self._form), methods=["GET", "POST"]),
            Route("/{campaign}/device", self._named(self._device)),
            Route("/{campaign}/stretches", self._named(self._stretches)),
            Route("/{campaign}/next", self._named(self.ingest.next), methods=["POST"]),
        ]
        return [
            Mount("/v1", routes=public, middleware=[other_pages]),  # first, for most requests go there
            Route("/", self._home),
            Route("/healthz", self._health),
            Mount("/assets", routes=[Route("/{name}", asset)], middleware=[other_pages]),  # pages there may import it
            *self.admin.routes(),
        ]

    def _named(self, answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """Only under the name of the campaign."""

        async def checked(request: Request) -> Response:
            if request.path_params["campaign"] != self.collection.campaign.name:
                return failure(404, "there is no such campaign here.")
            return await answer(request)

        return checked

    # -- answers ---------------------------------------------------------------------------------------------------

    async def _home(self, request: Request) -> Response:
        campaign = self.collection.campaign
        if campaign.kind != "devices":
            return (closed_page if self.ingest.closed else home_page)(campaign, request)
        return PlainTextResponse(
            f"{campaign.text(campaign.titles)}\n/v1/{campaign.name}/device says how to take part.\n"
        )

    async def _form(self, request: Request) -> Response:
        campaign = self.collection.campaign
        if plain_address(campaign) is None:
            return failure(404, "there is no form here: answers are noised by the script of the page.")
        if request.method == "POST":
            return await plain_answer(campaign, self.ingest, request)
        return (closed_page if self.ingest.closed else plain_page)(campaign, request)

    async def _device(self, request: Request) -> Response:
        return JSONResponse(device_json(self.collection))

    async def _stretches(self, request: Request) -> Response:
        if self.collection.campaign.counting is None:
            return failure(404, "nothing is counted here.")
        return JSONResponse(stretches_json(self.collection))

    async def _health(self, request: Request) -> Response:
        asked = self._answers
        async with self._asking:
            if self._answers == asked:  # one look answers all who asked before it began
                self._answers += 1
                self._is_well = False
                with contextlib.suppress(AskanceError):
                    await run_in_threadpool(self.look)
                    self._is_well = True
            is_well = self._is_well
        if not is_well:
            return busy(5, "the store does not answer.")
        return JSONResponse({"status": "ok", "campaign": self.collection.campaign.name})

    # -- while it runs ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        """See what other processes told the store, and delete windows that are too old."""
        campaign = self.collection.campaign
        with self._looking, self.collection.opened() as store:  # a look that began earlier does not end later
            known = store.meta()
            first = self.collection.window() - (campaign.keep_windows or 0) + 1
            if campaign.keep_windows is not None and first != self._first_window:
                store.delete_windows_before(first)
                self._first_window = first
            queue = self.ingest.queue
            if queue is not None and (n := store.count()) != queue.n:  # at the start, or something was deleted
                queue.fill(counted(queue.counting, store.entries()), n)
            self.ingest.closed, self.ingest.people = CLOSED in known, people_of(known)

    async def _look_again(self) -> None:
        while True:
            with contextlib.suppress(AskanceError):  # the store is gone for now
                await run_in_threadpool(self.look)
                await run_in_threadpool(self.admin.progress.watch)
            await asyncio.sleep(_LOOK_AGAIN)

    @contextlib.asynccontextmanager
    async def running(self, app: Starlette | None = None) -> AsyncIterator[None]:
        """What goes on while it is served: it looks at the store now and then, and at the end writes what waits."""
        await run_in_threadpool(wake, self.collection)
        await run_in_threadpool(self.look)
        looking = asyncio.create_task(self._look_again())
        try:
            yield
        finally:
            looking.cancel()
            await run_in_threadpool(self._writer.stop)


async def asset(request: Request) -> Response:
    """A script or a style, by its name."""
    content = assets().get(request.path_params["name"])
    return Response(content[0], media_type=content[1]) if content else PlainTextResponse("There is no such file.", 404)
