"""From the body of a request to entries, to the writer, to an answer. Acknowledged means durable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from askance.collect.collection import Collection
from askance.collect.device_page import question_of
from askance.collect.queue import Queue
from askance.collect.server.limits import BodyTooLargeError, Rate, Room, TooOftenError, body_of, connection_of
from askance.collect.server.replies import busy, failure, reply
from askance.collect.store import BusyError, Entry, Verdict, Writer
from askance.collect.submission import Refusal
from askance.errors import AskanceError, FormatError, InputError

# Requests of one connection: a device sends one, a relay many.
_PER_SECOND, _AT_ONCE = 200.0, 400.0
#: Stretches that a page has before it is asked for them.
AHEAD = 30
_CLOSED = Refusal("closed", "the campaign takes no more answers.")
#: Seconds after which to come again: when too much waits, and when the database is gone.
RETRY_BUSY, RETRY_GONE = 1, 5


class Ingest:
    """Takes what is sent to a campaign.

    Attributes:
        closed: whether it takes no more, as pages say it; what is taken is decided by the store.
        people: hashes of the tokens of those who count.
        queue: of counting campaigns: which stretch comes next.

    Args:
        collection: the campaign.
        writer: the one that writes.
        salt: of the campaign.
    """

    def __init__(self, collection: Collection, writer: Writer, salt: bytes) -> None:
        self._collection, self._writer, self._salt = collection, writer, salt
        self._rate = Rate(_PER_SECOND, _AT_ONCE)
        self._room = Room()
        self.closed = False
        self.people: frozenset[bytes] = frozenset()
        counting = collection.campaign.counting
        self.queue = None if counting is None else Queue(counting)

    def limit(self, request: Request) -> None:
        """Refuse a connection that sends too often."""
        if not self._rate.allows(connection_of(request)):
            raise TooOftenError

    async def answer(self, request: Request) -> Response:
        """POST /v1/{campaign}/reports."""
        self.limit(request)
        if request.headers.get("content-encoding", "identity") != "identity":
            return failure(415, "bodies are taken as they are, for packed ones have lengths that tell.")
        try:
            body = await body_of(request, room=self._room)
        except BodyTooLargeError:
            return failure(413, "the body is too large; allowed: 8 MiB. Send fewer lines at a time.")
        try:
            return reply(await self.settled(body))
        except (FormatError, InputError) as error:  # of the body: what the store says is never one of these
            return failure(422, str(error))
        except BusyError:
            return busy(RETRY_BUSY, "too much waits to be written; nothing of this was stored.")
        except AskanceError:  # it is gone, its disk is full, or another one stands in its place
            return busy(RETRY_GONE, "the store does not answer; send this again.")

    async def settled(self, body: bytes) -> list[Verdict | Refusal]:
        """What became of every line of a body, when it is durable."""
        outcomes = self.read(body)
        entries = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
        settled = await self._taken(entries)
        if self.queue is not None:
            for entry, verdict in zip(entries, settled, strict=True):
                if verdict is Verdict.TAKEN:
                    self.queue.add(json.loads(entry.content))
        if len(settled) == len(outcomes):
            return list(settled)
        verdicts = iter(settled)
        return [next(verdicts) if isinstance(outcome, Entry) else outcome for outcome in outcomes]

    def read(self, body: bytes) -> Sequence[Entry | Refusal]:
        """The lines of a body, or what is wrong with them."""
        if self._collection.campaign.kind == "devices":
            return self._collection.devices.read(body, self._collection.window())
        form = self._collection.form
        return [form.read(line, self._salt, self.people.__contains__) for line in form.lines(body)]

    async def next(self, request: Request) -> Response:
        """POST /v1/{campaign}/next: stretches for somebody who counts; as long as a line of counts."""
        queue, form = self.queue, self._collection.form
        if queue is None:
            return failure(404, "nothing is counted here.")
        self.limit(request)
        try:
            (line, *_) = form.lines(await body_of(request, form.length))
        except (BodyTooLargeError, InputError) as error:
            return failure(422, f"{error or 'the body is too large.'}")
        asker = form.asker(line, self._salt, self.people.__contains__)
        if self.closed or isinstance(asker, Refusal):
            refused = _CLOSED if self.closed else asker
            return JSONResponse({"refused": refused.reason, "what": refused.what})  # type: ignore[union-attr]
        stretches = [question_of(queue.counting, number) for number in queue.next(asker, AHEAD)]
        return JSONResponse({"stretches": stretches, "told": queue.told(asker), "left": queue.left(asker)})

    async def _taken(self, entries: Sequence[Entry]) -> list[Verdict]:
        """What became of entries, when it is durable."""
        verdicts = await asyncio.wrap_future(self._writer.submit(entries)) if entries else []
        self._collection.came.update({verdict: verdicts.count(verdict) for verdict in Verdict})
        return verdicts
