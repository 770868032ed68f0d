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


# A sizing run that took longer is as good as a repetition, and is counted as the first one.
_LONG_SECONDS = 5.0


@dataclass
class Prepared:
    """A warm contender: `take` gives one value, units per CPU second or whatever is read.

    Attributes:
        first: the value of a long sizing run, which is given before anything is measured anew.
    """

    measure: Callable[[], float]
    units: int
    calls: int
    first: float | None = None

    def take(self) -> float:
        """The next value."""
        value, self.first = self.first, None
        return self.measure() if value is None else value


def prepare(build: Builder, case: Case, sizes: Sizes) -> Prepared:
    """Warm up, check one result, and choose units and calls so that a repetition takes about `TARGET_SECONDS`."""
    units = sizes.smallest
    task = build(case, units)
    if isinstance(task, Reading):
        (task.warm_up or task.read)()
        return Prepared(task.read, units=1, calls=1)
    seconds = _checked_seconds(task)
    while seconds < _TRUSTED_SECONDS and units < sizes.largest:
        units = min(10 * units, sizes.largest)
        task = _timed(build, case, units)
        task.run()  # a new size may take another path, which may have to be compiled first
        seconds = _seconds(task, calls=1)
    wanted = int(units / seconds * TARGET_SECONDS)
    chosen = min(max(wanted, sizes.smallest), sizes.largest)
    calls = max(1, round(wanted / chosen))
    is_repetition = chosen == units and calls == 1 and seconds > _LONG_SECONDS
    if chosen != units:
        task = _timed(build, case, chosen)
    return Prepared(
        lambda: chosen * calls / _seconds(task, calls), chosen, calls, chosen / seconds if is_repetition else None
    )


def _checked_seconds(task: Throughput) -> float:
    """Warm up, check one result, and return the CPU seconds of a warm run."""
    (task.warm_up or task.run)()
    start = time.process_time()
    result = task.run()
    seconds = max(time.process_time() - start, 1e-9)
    if task.check is not None:
        task.check(result)
    return seconds


def _timed(build: Builder, case: Case, units: int) -> Throughput:
    task = build(case, units)
    assert isinstance(task, Throughput), "a builder gives the same kind of work for every size"
    return task


def _seconds(task: Throughput, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        task.run()
    return max(time.process_time() - start, 1e-9)
