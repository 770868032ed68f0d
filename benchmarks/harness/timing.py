"""Inside a worker: size a repetition, then take it. CPU time throughout; standard library only."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.harness.comparison import Builder, Case, Reading, Sizes, Throughput

#: CPU seconds that a repetition is sized for.
TARGET_SECONDS = 0.6
# A shorter measurement is not trusted to size a repetition with.
_TRUSTED_SECONDS = TARGET_SECONDS / 10


@dataclass(frozen=True)
class Prepared:
    """A warm contender: `take` gives one value, units per CPU second or whatever is read."""

    take: Callable[[], float]
    units: int
    calls: int


def prepare(build: Builder, case: Case, sizes: Sizes) -> Prepared:
    """Warm up, check one result, and choose units and calls so that a repetition takes about `TARGET_SECONDS`."""
    units = sizes.smallest
    task = build(case, units)
    if isinstance(task, Reading):
        task.read()
        return Prepared(task.read, units=1, calls=1)
    result = task.run()
    if task.check is not None:
        task.check(result)
    del result
    while (seconds := _warm_seconds(task)) < _TRUSTED_SECONDS and units < sizes.largest:
        units = min(10 * units, sizes.largest)
        task = _timed(build, case, units)
    wanted = int(units / seconds * TARGET_SECONDS)
    chosen = min(max(wanted, sizes.smallest), sizes.largest)
    calls = max(1, round(wanted / chosen))
    if chosen != units:
        task = _timed(build, case, chosen)
    return Prepared(lambda: chosen * calls / _seconds(task, calls), chosen, calls)


def _timed(build: Builder, case: Case, units: int) -> Throughput:
    task = build(case, units)
    assert isinstance(task, Throughput), "a builder gives the same kind of work for every size"
    return task


def _warm_seconds(task: Throughput) -> float:
    task.run()  # a new size may take another path, which may have to be compiled first
    return _seconds(task, calls=1)


def _seconds(task: Throughput, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        task.run()
    return max(time.process_time() - start, 1e-9)
