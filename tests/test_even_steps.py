"""On a device the same steps are taken for every truth, and whether or not it is told: checked step by step.

Every instruction of Python that `randomize_one` executes is recorded, with random words that are the same for all
truths, and with a clock that stands still, so that it does not wait. What NumPy does inside one call is not seen here:
calls take whole units of time, and `python -m benchmarks --only device-time` looks for what these still tell.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from bisect import bisect_right
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest
from benchmarks.comparisons.device_time import KINDS, area, extreme_truths

from askance._kernels.draw import TOTAL, place_of
from askance.channels import AnyChannel, FiniteChannel, SubsetSelection, entries, even_time
from askance.channels.even_time import UNIT, in_even_time
from askance.errors import InputError

CHANNELS = {
    f"{entry.kind}-{number}": entry.build(example)
    for entry in entries(None)
    for number, example in enumerate(entry.examples)
}
STREAMS = range(8)
# What is drawn there is drawn without the truth, and is in the report.
WITHOUT_TRUTH = ("sampled_coordinates.py",)


class Recorded:
    """One call of `randomize_one`: its report, its steps, and how many random bytes it asked for."""

    def __init__(self, channel: AnyChannel, truth: Any, stream: int) -> None:
        source = random.Random(stream)
        self.bytes: list[int] = []
        self.steps: list[tuple[str, str, int]] = []

        def urandom(count: int) -> bytes:
            self.bytes.append(count)
            return source.randbytes(count)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "urandom", urandom)
            patch.setattr(even_time, "perf_counter_ns", lambda: 0)
            patch.setattr(even_time, "urandom", bytes)  # of that clock nothing would be late enough but 0
            before, collects = sys.gettrace(), gc.isenabled()
            gc.disable()  # a collection that happens to fall into the call runs what others asked it to
            sys.settrace(self._trace)
            try:
                self.report: Any = channel.randomize_one(truth)
            finally:
                sys.settrace(before)
                if collects:
                    gc.enable()

    def _trace(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if code.co_filename == __file__ or code.co_filename.endswith(WITHOUT_TRUTH):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.steps.append((code.co_filename, code.co_qualname, frame.f_lasti))
        return self._trace


def truths_of(channel: Any) -> list[list[Any]]:
    """Truths that differ as much as can be: numbers as lists, also of whole numbers where they are whole, and arrays,
    also of true and false or of whole numbers.

    An array is read by another way than a list; what matters is that the numbers in it make no difference.
    """
    extreme = extreme_truths(channel)
    if isinstance(channel, FiniteChannel) or channel.truth_labels is not None:
        return [extreme]
    whole = [[int(number) for number in truth] for truth in extreme if all(float(x).is_integer() for x in truth)]
    flags = [np.array(truth) == 1 for truth in whole if set(truth) <= {0, 1}] if channel.kind == "per-value" else []
    counts = [np.array(truth) for truth in whole]
    arrays = [group for group in (flags, counts) if len(group) > 1]
    return [[*extreme, *whole], [np.array(truth) for truth in extreme], *arrays]


@pytest.mark.parametrize("name", CHANNELS)
def test_steps_do_not_depend_on_the_truth(name: str) -> None:
    channel = CHANNELS[name]
    for truths in truths_of(channel):
        assert len(truths) > 1
        for stream in STREAMS[:3]:
            Recorded(channel, truths[0], stream)  # what is worked out once is worked out now
            first, *others = [Recorded(channel, truth, stream) for truth in truths]
            assert len(first.steps) > 20
            assert all(call.steps == first.steps and call.bytes == first.bytes for call in others)


@pytest.mark.parametrize("name", CHANNELS)
def test_steps_do_not_depend_on_whether_the_truth_is_told(name: str) -> None:
    """Nor on anything else that is drawn, except for the table that a report of several is about."""
    channel = CHANNELS[name]
    truth = truths_of(channel)[0][0]
    by_table: dict[Any, list[Recorded]] = {}
    for stream in STREAMS:
        Recorded(channel, truth, stream)
        call = Recorded(channel, truth, stream)
        by_table.setdefault(call.report["clique"] if channel.kind == "clique-release" else None, []).append(call)
    for first, *others in by_table.values():
        assert all(call.steps == first.steps and call.bytes == first.bytes for call in others)


# -- the law is the same -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 64, 1024, 1025])
def test_the_place_of_a_number(size: int) -> None:
    cumulative = [*sorted(random.Random(size).sample(range(1, 10**6), size - 1)), TOTAL]
    for number in (0, TOTAL - 1, *cumulative[:-1], *(edge - 1 for edge in cumulative[:-1])):
        assert place_of(np.int64(number), np.array(cumulative)) == bisect_right(cumulative, number)


def test_large_subsets_on_a_device() -> None:
    channel = SubsetSelection(1000, "1/2", 300)
    sent = bytes.fromhex(channel.randomize_one(999)["subset"])
    assert int.from_bytes(sent, "little").bit_count() == 300


# -- whole units of time -----------------------------------------------------------------------------------------------


class Clock:
    """Time that passes while a call works, and by one nanosecond with every look at it."""

    def __init__(self) -> None:
        self.now = 123

    def look(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What calls take for the time, with a random byte of 0 or of the test's choice."""
    clock, byte = Clock(), bytes([getattr(request, "param", 0)])
    monkeypatch.setattr(even_time, "perf_counter_ns", clock.look)
    monkeypatch.setattr(even_time, "urandom", lambda size: byte * size)
    return clock


@pytest.mark.parametrize(("clock", "late"), [(0, 0), (1, 8), (255, 2040)], indirect=["clock"])
@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("work", [1, 50, UNIT // 2, UNIT - 3, UNIT, UNIT + 1, 5 * UNIT + 7])
def test_a_call_takes_whole_units_and_a_random_time(work: int, refused: bool, clock: Clock, late: int) -> None:

    @in_even_time
    def call() -> int:
        clock.now += work
        if refused:
            raise InputError("is refused", remedy="Give another.")
        return work

    start = clock.now + 1
    if refused:
        with pytest.raises(InputError):
            call()
    else:
        assert call() == work
    units, over = divmod(clock.now - start, UNIT)
    assert (units, over) == (-(-(work + 1) // UNIT), late)


@pytest.mark.parametrize("name", CHANNELS)
def test_every_channel_takes_whole_units(name: str, clock: Clock) -> None:
    channel = CHANNELS[name]
    for truth in truths_of(channel)[0]:
        start = clock.now + 1
        channel.randomize_one(truth)
        assert clock.now - start == UNIT


# -- the benchmark -----------------------------------------------------------------------------------------------------


def test_the_benchmark_knows_every_channel() -> None:
    assert set(KINDS) == {entry.kind for entry in entries(None)}


def test_area() -> None:
    assert area([1, 2, 3], [4, 5]) == 1
    assert area([1, 1], [1, 1, 1]) == 0.5
