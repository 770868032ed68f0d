"""On this machine: one part after the other, or several at a time in threads or processes."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from askance._checks import as_count
from askance.errors import InputError
from askance.scale.shipping import Room, Sender, Unread, run, unpacked

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Here(Sender):
    """Reads parts one after the other; between passes it keeps what there is room for, and reads the others again.

    What other engines send to other machines is packed here too: what works here works there.

    Args:
        threads: how many parts at a time, in this process.
        processes: how many parts at a time, each in a process of its own, which keeps nothing; 0: in this one.
        room: bytes of parts that are kept between passes.

    >>> Here().fold([3, 4, 5], abs, max)
    5
    """

    def __init__(self, threads: int = 1, processes: int = 0, room: int = 1 << 29) -> None:
        self.threads, self.processes = as_count(threads, "threads", minimum=1), as_count(processes, "processes")
        self._pool: Executor | None = None
        self._room = as_count(room, "room")

    def _held(self, parts: Sequence[Any], sent: bytes) -> list[Unread]:
        """Parts that are loaded in every pass, but for those that are kept."""
        room = Room(self._room)
        return [Unread(sent, part, room) for part in parts]

    def _fold(self, parts: Sequence[Any], work: bytes, merge: bytes) -> bytes:
        from concurrent.futures import BrokenExecutor

        job = partial(run, work=work)
        if self._pool is None:
            self._pool = self._started()
        try:
            results: Iterable[bytes] = map(job, parts) if self._pool is None else self._pool.map(job, parts)
            # Merged as they come: neither are all kept, nor is what is merged packed again for each of them.
            whole = reduce(unpacked(merge), map(pickle.loads, results))
        except BrokenExecutor:
            self.close()
            raise InputError(
                "a process that read a part was ended from outside.",
                remedy="Look whether memory was short; fewer processes need less of it.",
            ) from None
        return pickle.dumps(whole, protocol=5)

    def _started(self) -> Executor | None:
        if self.processes:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            return ProcessPoolExecutor(self.processes, mp_context=get_context("spawn"))
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
