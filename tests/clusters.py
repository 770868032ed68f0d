"""Clusters of Dask in processes of this machine, and engines whose workers are killed."""

from __future__ import annotations

import os
import signal
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import dask
from distributed import Client

from askance.scale import Dask
from askance.scale.on_dask import local_cluster
from askance.scale.shipping import Sender


@contextmanager
def cluster(workers: int = 2, more: Mapping[str, Any] = MappingProxyType({}), **options: Any) -> Iterator[Dask]:
    """Processes of one thread each; workers that die are started again."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20, **more}),
        local_cluster(workers, **options) as own,
        Client(own) as client,
    ):
        yield Dask(client)


class Failing(Sender):
    """An engine that loses one of its workers, by its process id, as a cluster loses a machine.

    Attributes:
        killed: the process; 0 before.
    """

    killed = 0

    @abstractmethod
    def worker(self) -> int:
        """The process of a worker that is alive; 0: there is none just now."""

    @abstractmethod
    def is_at_work(self) -> bool:
        """Whether a pass has begun."""

    def kill(self) -> None:
        if process := self.worker():
            os.kill(process, signal.SIGKILL)
            self.killed = process


class FailingBetween(Failing):
    """The worker dies between two passes, after so many; where none was alive just then, before the next pass."""

    left = 6

    def _fold(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        if self.left <= 0 and not self.killed:
            self.kill()
        self.left -= 1
        return super()._fold(parts, work, merge)  # type: ignore[safe-super]


class FailingInside(Failing):
    """The worker dies while it works."""

    def _fold(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        # A pass may be over before anybody sees that it began: then it is made again.
        for _ in range(20):
            result = self._fold_and_kill(parts, work, merge)
            if self.killed:
                break
        return result

    def _fold_and_kill(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        over = threading.Event()
        killer = threading.Thread(target=self._kill, args=(over,))
        killer.start()
        try:
            return super()._fold(parts, work, merge)  # type: ignore[safe-super]
        finally:
            over.set()
            killer.join()

    def _kill(self, over: threading.Event) -> None:
        while not self.killed and not over.wait(0.001):
            if self.is_at_work():
                self.kill()


class DaskWithWorkers(Failing, Dask):
    """A cluster whose workers a test can end."""

    def worker(self) -> int:
        return int(next(iter(self.client.run(os.getpid).values())))

    def is_at_work(self) -> bool:
        return any(self.client.processing().values())


class DaskFailingBetween(FailingBetween, DaskWithWorkers):
    """Dies between passes."""


class DaskFailingInside(FailingInside, DaskWithWorkers):
    """Dies while it works."""


def is_alive(process: int) -> bool:
    """Whether there is such a process; one that has ended and is not yet collected is none."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
