"""Tallies: a commutative monoid, to the bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import RandomizedResponse, Tally, Warner
from askance.channels import FiniteChannel
from askance.errors import EmptyDataError, IncompatibleEvidenceError
from askance.evidence import Evidence, Responses, Seen
from tests.families import CHANNELS

CHANNEL = RandomizedResponse("1/2", outputs=5)
reports = st.lists(st.integers(0, 4), max_size=60)


def test_it_speaks_the_protocols() -> None:
    assert isinstance(Tally(CHANNEL), Seen)
    assert not isinstance(Tally(CHANNEL), Evidence)  # there are no rows
    assert isinstance(Responses(CHANNEL), Evidence)


@given(reports)
def test_empty_is_the_identity(data: list[int]) -> None:
    tally, empty = Tally(CHANNEL).add(data), Tally(CHANNEL)
    assert tally + empty == tally
    assert empty + tally == tally


@given(reports, reports)
def test_merging_commutes(a: list[int], b: list[int]) -> None:
    assert Tally(CHANNEL).add(a) + Tally(CHANNEL).add(b) == Tally(CHANNEL).add(b) + Tally(CHANNEL).add(a)


@given(reports, reports, reports)
def test_merging_associates(a: list[int], b: list[int], c: list[int]) -> None:
    x, y, z = (Tally(CHANNEL).add(part) for part in (a, b, c))
    assert (x + y) + z == x + (y + z)


@given(reports, st.lists(st.integers(0, 60), max_size=5), st.randoms(use_true_random=False))
def test_any_split_in_any_order_gives_the_same_bits(data: list[int], cuts: list[int], random: object) -> None:
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    pieces = [data[start:end] for start, end in pairwise(ends)]
    random.shuffle(pieces)  # type: ignore[attr-defined]
    one_by_one = Tally(CHANNEL)
    merged = Tally(CHANNEL)
    for piece in pieces:
        one_by_one = one_by_one.add(piece)
        merged = Tally(CHANNEL).add(piece) + merged
    whole = Tally(CHANNEL).add(data)
    assert one_by_one == merged == whole
    assert one_by_one.counts.tobytes() == whole.counts.tobytes()
    assert whole.counts.tolist() == [data.count(o) for o in range(5)]


@given(st.sampled_from(["uint8", "int16", "uint32", "int64", "uint64", "float64", "object"]), reports)
def test_any_type_of_column_counts_the_same(dtype: str, data: list[int]) -> None:
    assert Tally(CHANNEL).add(np.array(data, dtype=dtype)) == Tally(CHANNEL).add(data)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_chunks_longer_than_the_internal_ones(seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 5, 100_001)
    assert np.array_equal(Tally(CHANNEL).add(data).counts, np.bincount(data, minlength=5))


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_labels_are_counted_in_the_order_of_the_observations(channel: FiniteChannel) -> None:
    labels = list(channel.observations.labels)
    tally = Tally(channel).add(labels + labels[:1])
    assert tally.counts.tolist() == [2] + [1] * (len(labels) - 1)
    assert tally.n_observations == len(labels) + 1


def test_tallies_are_values() -> None:
    tally = Tally(CHANNEL).add([1, 2])
    more = tally.add([3])
    assert tally.n_observations == 2
    assert more.n_observations == 3
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0] = 7
    assert hash(tally.add([3])) == hash(more)


def test_different_channels_do_not_merge() -> None:
    with pytest.raises(IncompatibleEvidenceError, match="different channels"):
        Tally(CHANNEL).add([1]) + Tally(RandomizedResponse("1/3", outputs=5))
    with pytest.raises(IncompatibleEvidenceError, match="different channels"):
        Tally(Warner("2/3")) + Tally(Warner("3/4"))


def test_an_error_in_a_late_chunk_names_the_position_in_the_column() -> None:
    data = np.zeros(100_000, dtype=np.int64)
    data[77_777] = 9
    with pytest.raises(ValueError, match=r"observed\[77777\] is 9"):
        Tally(CHANNEL).add(data)


def test_empty_evidence_has_no_frequencies() -> None:
    with pytest.raises(EmptyDataError, match="no reports"):
        _ = Tally(CHANNEL).frequencies
