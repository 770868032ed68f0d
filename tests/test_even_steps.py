"""On a device the same steps are taken for every truth, and whether or not it is told: checked step by step.

Every instruction of Python that `randomize_one` executes is recorded, with random words that are the same for all
truths. What NumPy does inside one call is not seen here; `python -m benchmarks --only device-time` times it.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from types import FrameType
from typing import Any

import numpy as np
import pytest
from benchmarks.comparisons.device_time import KINDS, area, extreme_truths

from askance._kernels import bits, subsets
from askance._kernels.draw import TOTAL, place_of
from askance.channels import AnyChannel, FiniteChannel, SubsetSelection, entries
from askance.channels.randomness import WordSource
from askance.channels.statistics.table_release import SubsetSampler, TableRelease

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
    """Truths that differ as much as can be: numbers as lists, also of whole numbers where they are whole, and arrays.

    An array is read by another way than a list; what matters is that the numbers in it make no difference.
    """
    extreme = extreme_truths(channel)
    if isinstance(channel, FiniteChannel) or channel.truth_labels is not None:
        return [extreme]
    whole = [[int(number) for number in truth] for truth in extreme if all(float(x).is_integer() for x in truth)]
    return [[*extreme, *whole], [np.array(truth) for truth in extreme]]


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
def test_the_place_of_a_word(size: int) -> None:
    cumulative = [*sorted(random.Random(size).sample(range(1, 10**6), size - 1)), TOTAL]
    for word in (0, TOTAL - 1, *cumulative[:-1], *(edge - 1 for edge in cumulative[:-1])):
        assert place_of(word, np.array(cumulative)) == bisect_right(cumulative, word)


def test_bits_are_flipped_by_their_thresholds() -> None:
    """Bit j is 1 exactly where the 62 random bits, read as a number from the highest plane, are below its threshold."""
    rng = np.random.default_rng(3)
    keep, raised = 3 * TOTAL // 4 + 12345, TOTAL // 7
    truth = rng.integers(0, 2**64, size=3, dtype=np.uint64)
    words = rng.integers(0, 2**64, size=(62, 3), dtype=np.uint64)
    # Some coins are open to the last plane: their number is the threshold, and one less.
    for word, bit, number in ((0, 0, keep), (0, 1, keep - 1), (1, 5, raised), (1, 6, raised - 1)):
        for plane in range(62):
            one = np.uint64(1) << np.uint64(bit)
            wanted = (number >> (61 - plane)) & 1
            words[plane, word] = (words[plane, word] | one) if wanted else (words[plane, word] & ~one)
    sent = bits.flip_evenly(truth, bits.planes_of(keep), bits.planes_of(raised), words)
    for word in range(3):
        for bit in range(64):
            number = sum(((int(words[plane, word]) >> bit) & 1) << (61 - plane) for plane in range(62))
            threshold = keep if (int(truth[word]) >> bit) & 1 else raised
            assert (int(sent[word]) >> bit) & 1 == (number < threshold)


def halves_for(picks: tuple[int, ...], cells: int) -> Iterator[int]:
    """Random numbers of 32 bits by which `pick_in_order` takes these cells."""
    order = list(range(cells))
    for place, cell in enumerate(picks):
        at = order.index(cell, place)
        order[place], order[at] = order[at], order[place]
        left = cells - place
        # The middle of the numbers that lead there: none of them is refused.
        yield ((at - place) * (1 << 32) + (1 << 31)) // left


def scripted(*draws: list[int]) -> WordSource:
    """A source that gives these words, one list after the other."""
    left = iter(draws)
    return lambda count: np.array(next(left), dtype=np.uint64)[:count]


@pytest.mark.parametrize(("cells", "size"), [(3, 1), (4, 2), (5, 4), (6, 3)])
def test_subsets_have_their_law(cells: int, size: int) -> None:
    """All ways in which other cells are drawn, each equally likely, give every subset its weight, exactly."""
    sequences = list(permutations(range(cells - 1), size))
    for picks in sequences:
        assert subsets.pick_in_order(cells - 1, size, halves_for(picks, cells - 1)).tolist() == list(picks)
    release = TableRelease.for_privacy_level(cells, Fraction(1), size)
    sampler = SubsetSampler([release], np.ones(1))
    without, with_it, total = release.weights()
    for true in range(cells):
        found: Counter[int] = Counter()
        for picks in sequences:
            halves = [*halves_for(picks, cells - 1), 0, 0]
            tail = [halves[i] | halves[i + 1] << 32 for i in range(0, len(halves) - 1, 2)] + [0] * 9
            for coin, weight in ((0, release.keep), (2**64 - 1, TOTAL - release.keep)):
                row = np.zeros(1, dtype=np.uint64)
                sampler.draw_one(0, true, scripted([coin], tail), row)
                found[int(row[0])] += weight
        assert all(subset.bit_count() == size for subset in found)
        for subset, weight in found.items():
            wanted = Fraction(with_it if subset >> true & 1 else without, total)
            assert Fraction(weight, TOTAL * len(sequences)) == wanted
        assert len(found) == release.number_of_subsets


def test_large_subsets_on_a_device() -> None:
    channel = SubsetSelection(1000, "1/2", 300)
    sent = bytes.fromhex(channel.randomize_one(999)["subset"])
    assert int.from_bytes(sent, "little").bit_count() == 300


# -- the benchmark -----------------------------------------------------------------------------------------------------


def test_the_benchmark_knows_every_channel() -> None:
    assert set(KINDS) == {entry.kind for entry in entries(None)}


def test_area() -> None:
    assert area([1, 2, 3], [4, 5]) == 1
    assert area([1, 1], [1, 1, 1]) == 0.5
