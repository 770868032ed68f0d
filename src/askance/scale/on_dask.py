"""On Dask: parts are held by workers, θ is sent to them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from askance._checks import shown
from askance._cores import processors
from askance.errors import AskanceWarning, InputError
from askance.scale import shipping
from askance.scale.shipping import Sender

if TYPE_CHECKING:
    from distributed import Client

# So many results are merged by one task.
_MERGED = 16
# What is larger does not go through the scheduler with every part.
_LARGE = 1 << 18
# Without these, workers give memory back to the system after every block and ask for it again: twice the time.
_ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": "268435456", "MALLOC_MMAP_THRESHOLD_": "33554432"}
# A profiler that nobody looks at and fifty looks at the clock a second take half of what an idle cluster takes.
_QUIET = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "500ms"}
# Bytes of a worker with less of which Dask waits instead of writing rows to disk: about 400 MB are taken by libraries
# and by the block in work, it writes what is held beyond 60 % of the limit, and waits where the process is beyond 80 %.
_LEAST_MEMORY = 2_000_000_000


class Dask(Sender):
    """Work on a cluster of Dask. Workers open files themselves, and hold the rows of a regression between passes.

    A worker that is killed changes no bit: what it held is read again by others. Whoever may connect to a cluster may
    run any code on it: see "Past one machine" in the documentation for TLS.

    Args:
        client: a `distributed.Client`, or the address of a scheduler ("tcp://host:8786"); None: a cluster of local
            processes is started, one for every core that has 2 GB of memory.
    """

    def __init__(self, client: Client | str | None = None) -> None:
        distributed = shipping.imported("distributed", "Dask")
        self._own = client is None or isinstance(client, str)
        if client is None:
            client = distributed.Client(local_cluster())
        elif isinstance(client, str):
            try:
                client = distributed.Client(client)
            except (OSError, TimeoutError, ValueError) as error:
                raise InputError(
                    f"no scheduler of Dask answers at {client} ({error}).",
                    remedy="Start one with `dask scheduler`, and workers with `dask worker --nthreads 1`.",
                ) from None
        if not isinstance(client, distributed.Client):
            what = f"client is {shown(client)}; allowed: a distributed.Client, or the address of a scheduler."
            raise InputError(
                what, remedy='Give Client("tcp://host:8786"), or nothing for a cluster of local processes.'
            )
        self.client: Any = client
        _warn_of_workers(self.client)

    @property
    def workers(self) -> int:
        """How many there are now."""
        return len(self.client.scheduler_info(n_workers=-1)["workers"])

    def _held(self, parts: Sequence[Any], sent: bytes) -> Any:
        """Parts that workers load once and keep; what does not fit into their memory they keep on disk."""
        return self.client.map(shipping.load, parts, sent=self._sent(sent), pure=False)

    def _fold(self, parts: Sequence[Any], work: bytes, merge: bytes) -> bytes:
        # All tasks of a pass in one message: the scheduler takes half the time that it takes for as many messages.
        results = self.client.map(shipping.run, parts, work=self._sent(work), pure=False)
        while len(results) > 1:
            groups = (results[start : start + _MERGED] for start in range(0, len(results), _MERGED))
            results = [self.client.submit(shipping.put_together, merge, *group, pure=False) for group in groups]
        return bytes(results[0].result())

    def _sent(self, function: bytes) -> Any:
        """A small function goes with the tasks; a large one to workers once, as a task that survives any of them."""
        if len(function) <= _LARGE:
            return function
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):  # it is large, and goes once
            return self.client.submit(bytes, function, pure=False)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        started = [self.client, self.client.cluster] if self._own else []
        for own in filter(None, started):
            own.close()


def local_cluster(workers: int | None = None, **options: Any) -> Any:
    """Processes of one thread each, one for every core with enough memory, and an allocator that keeps its memory;
    options are those of `distributed.LocalCluster`.
    """
    import dask

    distributed = shipping.imported("distributed", "Dask")
    if workers is None:
        workers = max(1, min(processors(), distributed.system.MEMORY_LIMIT // _LEAST_MEMORY))
    settings = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in _ALLOCATOR.items()}
    with dask.config.set(settings | _QUIET):
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            **options,
        )


def _facts() -> tuple[str, str]:
    """Of a worker: its allocator, and for which kind of processor its linear algebra was chosen."""
    from threadpoolctl import threadpool_info

    kinds = {str(library.get("architecture")) for library in threadpool_info() if library["user_api"] == "blas"}
    return os.environ.get("MALLOC_TRIM_THRESHOLD_", ""), ", ".join(sorted(kinds))


def _warn_of_workers(client: Any) -> None:
    """Refuse workers without askance, and say what makes them slow, or their last digits differ."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads = {info["nthreads"] for info in workers}
    memory = [limit for info in workers if (limit := info["memory_limit"])]
    facts = list(client.run(_facts, on_error="return").values())
    if errors := [fact for fact in facts if isinstance(fact, BaseException)]:
        raise InputError(
            f"{len(errors)} of {len(facts)} workers of Dask cannot run this askance ({errors[0]}).",
            remedy="Install the same version everywhere, and restart the workers.",
        )
    if not facts:
        _warn("there is no worker, and work waits until one comes", f"dask worker {client.scheduler.address}")
    if threads - {1}:
        _warn(f"workers have {max(threads)} threads, which wait for each other", "dask worker --nthreads 1")
    if any(trim and int(trim) < 1 << 20 for trim, _ in facts):
        _warn("workers give memory back after every block", f"distributed.nanny.pre-spawn-environ: {_ALLOCATOR}")
    if memory and min(memory) < _LEAST_MEMORY:
        _warn(f"a worker has {min(memory) / 1e6:,.0f} MB, and waits where rows do not fit", "--memory-limit 2GB")
    if len({kinds for _, kinds in facts}) > 1:
        _warn("workers have several kinds of processors: last digits may depend on who does what", "one kind")


def _warn(what: str, remedy: str) -> None:
    warnings.warn(f"Dask: {what}; better: {remedy}", AskanceWarning, stacklevel=4)
