"""Clusters of Dask in processes of this machine, and engines whose workers are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import dask
import psutil
from distributed import Client

from askance.scale import Dask
from askance.scale.on_dask import local_cluster
from askance.scale.shipping import Sender
from tests import signals


@contextmanager
def cluster(workers: int = 2, more: Mapping[str, Any] = MappingProxyType({}), **options: Any) -> Iterator[Dask]:
    """Processes of one thread each; workers that die are started again."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20, **more}),
        local_cluster(workers, **{"memory_limit": "4GB", **options}) as own,
        Client(own) as client,
    ):
        yield Dask(client)


class Failing(Sender):
    """An engine that loses one of its workers, by its process id, as a cluster loses a machine.

    Who works is told by the work itself, in files: nobody is too late, however busy the machine or quick the pass.

    Attributes:
        killed: the process; 0 before.
        passes: how many have begun.
    """

    def __init__(self, cluster: Any, marks: Path) -> None:
        super().__init__(cluster)  # type: ignore[call-arg]  # what is beside this class has a cluster
        self.marks, self.passes = marks / "marks", 0
        self.marks.mkdir()

    @property
    def killed(self) -> int:
        dead = self.marks / "dead"
        return int(os.readlink(dead)) if dead.is_symlink() else 0


class FailingBetween(Failing):
    """A worker dies between two passes, after so many: one that worked in the last of them."""

    after = 6

    def fold(self, parts: Any, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        if self.passes >= self.after and not self.killed:
            self._kill()
        self.passes += 1
        if self.passes >= self.after and not self.killed:
            work = partial(_told, work, self.marks)
        return super().fold(parts, work, merge)

    def _kill(self) -> None:
        """One that is alive; where none is, as workers may come and go, the next pass is told as well."""
        told = sorted(int(mark.name) for mark in self.marks.iterdir())
        if chosen := next(filter(is_alive, told), 0):
            os.kill(chosen, signal.SIGKILL)
            signals.until(lambda: not is_alive(chosen))
            (self.marks / "dead").symlink_to(str(chosen))


class FailingInside(Failing):
    """The worker that has done the seventh part of all dies with it, in the middle of its work."""

    def fold(self, parts: Any, work: Callable[[Any], Any], merge: Callable[[Any, Any], Any]) -> Any:
        self.passes += 1
        return super().fold(parts, partial(_deadly, work, self.marks), merge)


def _told(work: Callable[[Any], Any], marks: Path, part: Any) -> Any:
    (marks / str(os.getpid())).touch()
    return work(part)


def _deadly(work: Callable[[Any], Any], marks: Path, part: Any) -> Any:
    result = work(part)
    if all(_taken(marks / f"part {number}", "done") for number in range(6)) and not _taken(
        marks / "dead", str(os.getpid())
    ):
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def _taken(mark: Path, content: str) -> bool:
    """Whether somebody made this mark before; otherwise it is made, at once and as a whole."""
    try:
        mark.symlink_to(content)
    except FileExistsError:
        return True
    return False


class DaskFailingBetween(FailingBetween, Dask):
    """Dies between passes."""


class DaskFailingInside(FailingInside, Dask):
    """Dies while it works."""


def is_alive(process: int) -> bool:
    """Whether there is such a process; one that has ended and is not yet collected is none."""
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
