"""One thread that writes: what waits together is committed together, and heard of when it is durable."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import NamedTuple, Self

from askance.collect.store.entry import Entry, Verdict
from askance.collect.store.protocol import BusyError, Store, StoreUnavailableError
from askance.errors import AskanceError, InputError

# Entries in one transaction, at most: a later one waits no longer than this takes.
_TOGETHER = 16_384
# Seconds after which a store is tidied, and how many times longer than it took last time: a twentieth of all time.
_TIDY_AFTER, _TIMES_LONGER = 1.0, 20.0


class _Waiting(NamedTuple):
    entries: Sequence[Entry]
    answer: Future[list[Verdict]]


class Writer:
    """A store behind one thread, with group commit.

    A commit takes as long as a disk needs, whatever its size. So the thread takes all that waits, writes it in one
    transaction, and answers everybody. A store that fails is closed, those who wait hear of it
    (`StoreUnavailableError`), and it is opened again for the next: the thread goes on.

    Args:
        open_store: opens the store, in the thread; called again after it failed.
        most_waiting: entries that may wait; more are refused (`BusyError`).
        tidy_after: seconds after which a store is tidied that was written to, so that its file keeps no order for
            longer; more of them where tidying takes more than a twentieth of that time.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from askance.collect.store import SqliteStore
    >>> path = Path(tempfile.mkdtemp()) / "campaign.sqlite"
    >>> with Writer(lambda: SqliteStore.open(path)) as writer:
    ...     writer.submit([Entry(bytes(16), b"yes")]).result()
    [<Verdict.TAKEN: 'taken'>]
    """

    def __init__(
        self, open_store: Callable[[], Store], *, most_waiting: int = 65_536, tidy_after: float = _TIDY_AFTER
    ) -> None:
        self._open_store, self._most_waiting = open_store, most_waiting
        self._tidy_after = tidy_after
        self._store: Store | None = None
        self._queue: deque[_Waiting] = deque()
        self._n_waiting, self._stopping = 0, False
        self._changed = threading.Condition()
        self._untidy, self._due = True, time.monotonic() + tidy_after  # somebody may have been killed before
        self._thread = threading.Thread(target=self._run, name="askance-writer", daemon=True)
        self._thread.start()

    def submit(self, entries: Sequence[Entry]) -> Future[list[Verdict]]:
        """What will have become of these entries, when it is durable. They share one transaction, perhaps with others.

        Raises:
            BusyError: too much waits already, or the writer was stopped.
        """
        waiting = _Waiting(entries, Future())
        with self._changed:
            if self._stopping or (self._queue and self._n_waiting + len(entries) > self._most_waiting):
                raise BusyError("too much waits to be written.", remedy="Send it again in a second.")
            self._queue.append(waiting)
            self._n_waiting += len(entries)
            self._changed.notify()
        return waiting.answer

    def stop(self) -> None:
        """Write what was accepted, tidy up, and end; nothing is accepted any more."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # -- the thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            if group:
                self._write(group)
            if self._untidy and time.monotonic() >= self._due:
                self._tidy()
        if self._untidy:
            self._tidy()
        self._close()

    def _next_group(self) -> list[_Waiting] | None:
        """All that waits, up to a size; empty if it is time to tidy up, None if nothing will come any more."""
        with self._changed:
            if not self._queue and not self._stopping:
                self._changed.wait(max(0.0, self._due - time.monotonic()) if self._untidy else None)
            if not self._queue and self._stopping:
                return None
            group: list[_Waiting] = []
            size = 0
            while self._queue and (not group or size + len(self._queue[0].entries) <= _TOGETHER):
                waiting = self._queue.popleft()
                self._n_waiting -= len(waiting.entries)
                if waiting.answer.set_running_or_notify_cancel():  # from here on nobody can take it back
                    group.append(waiting)
                    size += len(waiting.entries)
            return group

    def _write(self, group: list[_Waiting]) -> None:
        """Write a group and answer it. An entry that cannot be written must not fail those of others."""
        self._untidy = True
        try:
            verdicts = self._opened().take([entry for waiting in group for entry in waiting.entries])
        except InputError as error:
            if len(group) == 1:
                group[0].answer.set_exception(error)
            else:
                for waiting in group:
                    self._write([waiting])
        except Exception as error:  # whatever it is, those who wait hear of it and the next ones get a new connection
            self._close()
            failure = _failed(error)
            for waiting in group:
                waiting.answer.set_exception(failure)
        else:
            first = 0
            for waiting in group:
                waiting.answer.set_result(verdicts[first : first + len(waiting.entries)])
                first += len(waiting.entries)

    def _opened(self) -> Store:
        if self._store is None:
            try:
                self._store = self._open_store()
            except Exception as error:  # damaged, or of another campaign: nothing is wrong with what was sent
                raise _failed(error) from error
        return self._store

    def _tidy(self) -> None:
        """Remove what tells an order. What fails now, because the store is gone or has no room, is done later."""
        begun = time.monotonic()
        try:
            self._untidy = not self._opened().tidy()
        except Exception:  # as above: the thread goes on
            self._close()
        now = time.monotonic()
        self._due = now + max(self._tidy_after, _TIMES_LONGER * (now - begun))

    def _close(self) -> None:
        store, self._store = self._store, None
        try:
            if store is not None:
                store.close()
        except Exception:
            pass  # it was acknowledged before, or not at all


def _failed(error: Exception) -> StoreUnavailableError:
    """What those hear who wait; an error of another kind is not to be taken for one of what they sent."""
    if isinstance(error, StoreUnavailableError):
        return error
    what = error.message if isinstance(error, AskanceError) else type(error).__name__
    failure = StoreUnavailableError(f"the store failed ({what}).", remedy="Send it again.")
    failure.__cause__ = error
    return failure
