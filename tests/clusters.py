"""Clusters of Dask in processes of this machine, and workers that are killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import dask
from distributed import Client

from askance.scale import Dask
from askance.scale.on_dask import local_cluster


@contextmanager
def cluster(workers: int = 2, more: Mapping[str, Any] = MappingProxyType({}), **options: Any) -> Iterator[Dask]:
    """Processes of one thread each; workers that die are started again."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 20, **more}),
        local_cluster(workers, **options) as own,
        Client(own) as client,
    ):
        yield Dask(client)


def kill_worker(engine: Dask) -> int:
    """End one of the workers by its process id, as a machine that fails would."""
    process = next(iter(engine.client.run(os.getpid).values()))
    os.kill(process, signal.SIGKILL)
    return int(process)


def is_alive(process: int) -> bool:
    """Whether there is such a process; one that has ended and is not yet collected is none."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
