"""Counts under a chain, against sums over all tag sequences and all errors: exact sums, lattices, tilted chains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import AnyArray, FloatArray
from askance._kernels.chain_sweep import LANES
from askance.text.chain import counts as chain_counts
from askance.text.chain.counts import CountEvidence
from askance.text.chain.evidence import AllowedEvidence, ChainObjective, Gradient
from askance.text.chain.potentials import ChainPotentials
from askance.text.chain.regions import blocks, entry_layout, shape_keys, stretches, sum_cost
from askance.text.chain.tilt import tilted_posteriors
from askance.text.corpus import region_groups
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_groups import lay_out
from askance.text.corpus.regions import Region, RegionCounts
from tests import brute_force_chain
from tests.brute_force_chain import (
    BruteForce,
    Chain,
    chains,
    is_counted,
    random_chain,
    random_regions,
)

EXACT, LATTICES = np.inf, -1.0
CONTEXT = st.sampled_from([0, 1, 2, None])


def evaluate(chain: Chain, *evidence: Any, potentials: ChainPotentials | None = None) -> Gradient:
    """Value and gradient of evidence."""
    return ChainObjective(evidence, chain.potentials.places, chain.kinds, 1)(potentials or chain.potentials)


def brute_force(
    chain: Chain,
    regions: RegionCounts,
    context: int | None,
    missed: FloatArray | None = None,
    extra: FloatArray | None = None,
    allowed: dict[int, AnyArray] | None = None,
) -> BruteForce:
    """The same by running through everything; `allowed` has tags of tokens, (L, K), for every region by number."""
    expected, corpus = BruteForce(chain.potentials), chain.corpus
    for r in range(len(regions)):
        span = corpus.span(regions.region(r).sentence)
        start = span.start if context is None else max(span.start, int(regions.start[r]) - context)
        end = span.stop if context is None else min(span.stop, int(regions.end[r]) + context)
        known = is_counted(
            regions,
            r,
            start,
            0.0 if missed is None else missed[r],
            0.0 if extra is None else extra[r],
            None if allowed is None else allowed[r],
        )
        expected.add(start, end, known, regions.weights[r])
    return expected


def with_all_candidates(evidence: CountEvidence) -> CountEvidence:
    """Lattices of all sequences."""
    for chunk in evidence._chunks:
        chunk.candidates[:] = True
        chunk.used[:] = True
    return evidence


# -- exact sums --------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(chains(), CONTEXT, st.integers(1, 5))
def test_exact_sums(chain: Chain, context: int | None, count: int) -> None:
    """Overlapping regions, of whole sentences too, with ranges, unasked tags, weights."""
    regions = random_regions(chain, count)
    evidence = CountEvidence(regions, context=context, budget=EXACT)
    assert evidence.exact.all()
    assert evidence.left_out == 0
    brute_force(chain, regions, context).agrees_with(evaluate(chain, evidence))


@settings(max_examples=40, deadline=None)
@given(chains(), CONTEXT, st.data())
def test_miscounts(chain: Chain, context: int | None, data: st.DataObject) -> None:
    """Tokens that are missed and counted too many; lattices of everything agree too."""
    rate = st.sampled_from([0.0, 0.02, 0.2, 0.5])
    missed, extra = (np.array([data.draw(rate) for _ in range(3)]) for _ in range(2))
    regions = random_regions(chain, 3, missed=missed, extra=extra)
    missed, extra = missed[: len(regions)], extra[: len(regions)]
    expected = brute_force(chain, regions, context, missed, extra)
    for budget in (EXACT, LATTICES):
        evidence = CountEvidence(regions, context=context, budget=budget, missed=missed, extra=extra)
        if budget == LATTICES:
            with_all_candidates(evidence)
        expected.agrees_with(evaluate(chain, evidence))


def test_rates_of_zero_are_no_channel() -> None:
    chain = random_chain(np.random.default_rng(0), [5, 4, 6], 3)
    regions = random_regions(chain, 8)
    none = np.zeros(len(regions))
    plain = evaluate(chain, CountEvidence(regions))
    zero = evaluate(chain, CountEvidence(regions, missed=none, extra=none))
    assert zero.value == plain.value
    np.testing.assert_array_equal(zero.pairs, plain.pairs)


def test_misses_are_cut_off_where_the_layout_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of six tokens, four and one are told: at most 1 + 2 were missed. With room for more the sum is that of all."""
    chain = random_chain(np.random.default_rng(0), [6], 2)
    told = [Region(0, 0, 6, {"t0": 4, "t1": 1})]
    regions = RegionCounts.of(chain.corpus, chain.corpus.tagset, told, may_miscount=True)
    missed, extra, values = np.array([0.3]), np.array([0.3]), []
    for spare in (0, region_groups.SPARE_MISSES, 99):
        monkeypatch.setattr(region_groups, "SPARE_MISSES", spare)
        monkeypatch.setattr(brute_force_chain, "SPARE_MISSES", spare)
        found = evaluate(chain, CountEvidence(regions, context=0, missed=missed, extra=extra))
        brute_force(chain, regions, 0, missed, extra).agrees_with(found)
        values.append(found.value)
    assert values[0] < values[1] <= values[2] < values[1] + 0.1


@settings(max_examples=30, deadline=None)
@given(chains(), CONTEXT)
def test_counts_that_exclude_nothing_say_nothing(chain: Chain, context: int | None) -> None:
    filled = np.flatnonzero(chain.corpus.lengths).tolist()
    told: list[Region] = []
    for s in filled:
        told.append(Region(s, 0, int(chain.corpus.lengths[s]), dict.fromkeys(chain.corpus.tagset, (0, None))))
        told.append(Region(s, 0, 1, {}, closed=False))
    regions = RegionCounts.of(chain.corpus, chain.corpus.tagset, told)
    found = evaluate(chain, CountEvidence(regions, context=context, budget=EXACT))
    BruteForce(chain.potentials).agrees_with(found, 1e-12)


@settings(max_examples=30, deadline=None)
@given(chains())
def test_counts_of_single_tokens_are_allowed_tags(chain: Chain) -> None:
    """In sight of all of the sentence; tokens one by one are evidence of their own each."""
    n, kinds = chain.corpus.n_tokens, chain.kinds
    allowed = chain.rng.random((n, kinds)) < 0.5
    allowed[np.arange(n), chain.corpus.require_tags()] = True
    told: list[Region] = []
    for s in range(len(chain.corpus)):
        for i, token in enumerate(range(chain.corpus.span(s).start, chain.corpus.span(s).stop)):
            counts = {name: (0, 1) for name, may in zip(chain.corpus.tagset, allowed[token], strict=True) if may}
            told.append(Region(s, i, i + 1, counts))
    regions = RegionCounts.of(chain.corpus, chain.corpus.tagset, told)
    found = evaluate(chain, CountEvidence(regions, context=None))
    parts = []
    for t in range(n):
        mask = np.ones((n, kinds), dtype=bool)
        mask[t] = allowed[t]
        layout = chain.layout()
        own = np.flatnonzero((layout.start <= t) & (t < layout.end))
        parts.append(AllowedEvidence(type(layout).of(layout.start[own], layout.end[own]), mask))
    wanted = evaluate(chain, *parts)
    assert found.value == pytest.approx(wanted.value, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found.pairs, wanted.pairs, rtol=0, atol=1e-10)
    for d, table in found.tables.items():
        np.testing.assert_allclose(table, wanted.tables[d], rtol=0, atol=1e-10)


def test_many_regions_are_the_sum_of_single_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Side by side in lanes, blocks and chunks, or one at a time."""
    rng = np.random.default_rng(5)
    chain = random_chain(rng, rng.integers(0, 8, size=60).tolist(), 3, 1)
    regions = random_regions(chain, 150)
    together = evaluate(chain, CountEvidence(regions, context=2, budget=EXACT))
    single = [CountEvidence(regions.take([r]), context=2, budget=EXACT) for r in range(len(regions))]
    monkeypatch.setattr(chain_counts, "_CHUNK", 40)
    for other in (evaluate(chain, *single), evaluate(chain, CountEvidence(regions, context=2, budget=EXACT))):
        assert other.value == pytest.approx(together.value, rel=1e-12)
        np.testing.assert_allclose(other.pairs, together.pairs, rtol=0, atol=1e-11)
        np.testing.assert_allclose(other.tables[-1], together.tables[-1], rtol=0, atol=1e-11)


# -- lattices ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(chains(), CONTEXT)
def test_a_lattice_of_everything_is_an_exact_sum(chain: Chain, context: int | None) -> None:
    regions = random_regions(chain, 4)
    lattices = CountEvidence(regions, context=context, budget=LATTICES)
    assert not lattices.exact.any()
    assert lattices.left_out == len(regions)
    with_all_candidates(lattices)
    assert lattices.left_out == 0
    brute_force(chain, regions, context).agrees_with(evaluate(chain, lattices))


def candidates_by_tag(evidence: CountEvidence, kinds: int) -> AnyArray:
    """The candidates of evidence of one region, no tag in two entries, shape (L, K)."""
    (chunk,) = evidence._chunks
    allowed = np.zeros((int(chunk.layout.length[0]), kinds), dtype=bool)
    allowed[:, chunk.layout.tag] = chunk.candidates.reshape(len(allowed), -1)
    return allowed


@settings(max_examples=60, deadline=None)
@given(chains(), CONTEXT)
def test_a_lattice_sums_over_what_candidates_allow(chain: Chain, context: int | None) -> None:
    """Tags drawn at random, the right ones among them in most regions."""
    regions, tags = random_regions(chain, 3), chain.corpus.require_tags()
    parts, allowed, possible = [], {}, []
    for r in range(len(regions)):
        evidence = CountEvidence(regions.take([r]), context=context, budget=LATTICES)
        (chunk,) = evidence._chunks
        right = tags[regions.start[r] : regions.end[r], None] == chunk.layout.tag[None]
        chosen = chain.rng.random(right.shape) < 0.6
        chunk.candidates[:] = (chosen | right if chain.rng.random() < 0.8 else chosen).ravel()
        allowed[r] = candidates_by_tag(evidence, chain.kinds)
        known = is_counted(regions, r, int(regions.start[r]), allowed=allowed[r])
        sequences = BruteForce(chain.potentials).sequences(int(regions.start[r]), int(regions.end[r])).tags
        chunk.used[:] = any(known(tuple(row)) for row in sequences.tolist())
        possible.append(chunk.used[0])
        parts.append(evidence)
    expected = brute_force(chain, regions, context, allowed=allowed)
    expected.agrees_with(evaluate(chain, *parts))
    assert sum(each.left_out for each in parts) == len(parts) - sum(possible)


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """New memory is full of NaN, as it may be."""
    fresh = np.empty

    def empty(*args: Any, **kwargs: Any) -> AnyArray:
        found = fresh(*args, **kwargs)
        if found.dtype.kind == "f":
            found.fill(np.nan)
        return found

    monkeypatch.setattr(np, "empty", empty)


@pytest.mark.usefixtures("poisoned")
@pytest.mark.parametrize("context", [0, 2, None])
def test_regions_without_a_lattice_are_left_out(monkeypatch: pytest.MonkeyPatch, context: int | None) -> None:
    rng = np.random.default_rng(2)
    chain = random_chain(rng, [6, 5, 4, 7, 6], 3, 1)
    regions = random_regions(chain, 20)
    evidence = CountEvidence(regions, context=context, budget=LATTICES)
    with monkeypatch.context() as patch:
        patch.setattr(chain_counts, "_THRESHOLDS", (2.0,))  # no candidates at all
        patch.setattr(chain_counts, "_BEST", ())
        evidence.prepare(chain.potentials)
    assert evidence.left_out == len(regions)
    BruteForce(chain.potentials).agrees_with(evaluate(chain, evidence), 0.0)
    monkeypatch.setattr(chain_counts, "_ARCS_OF_A_TOKEN", 1)  # room for some
    monkeypatch.setattr(chain_counts, "_FEWEST_ARCS", 10)
    monkeypatch.setattr(chain_counts, "_MOST_ARCS", 10)
    evidence = CountEvidence(regions, context=context, budget=LATTICES)
    evidence.prepare(chain.potentials)
    assert 0 < evidence.left_out < len(regions)
    single = [CountEvidence(regions.take([r]), context=context, budget=LATTICES) for r in range(len(regions))]
    for each in single:
        each.prepare(chain.potentials)
    assert sum(each.left_out for each in single) == evidence.left_out
    found, wanted = evaluate(chain, evidence), evaluate(chain, *(each for each in single if not each.left_out))
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    np.testing.assert_allclose(found.pairs, wanted.pairs, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.tables[0], wanted.tables[0], rtol=0, atol=1e-11)


@settings(max_examples=30, deadline=None)
@given(chains(), CONTEXT)
def test_prepared_lattices_leave_out_a_part_of_the_sum(chain: Chain, context: int | None) -> None:
    regions = random_regions(chain, 4)
    lattices = CountEvidence(regions, context=context, budget=LATTICES)
    lattices.prepare(chain.potentials)
    parts = [CountEvidence(regions.take([r]), context=context, budget=LATTICES) for r in range(len(regions))]
    for r, each in enumerate(parts):
        each.prepare(chain.potentials)
        if not each.left_out:
            exact = evaluate(chain, CountEvidence(regions.take([r]), context=context, budget=EXACT))
            assert evaluate(chain, each).value <= exact.value + 1e-10
    assert lattices.left_out == sum(each.left_out for each in parts)
    assert evaluate(chain, lattices).value == pytest.approx(evaluate(chain, *parts).value, rel=1e-10, abs=1e-10)


def test_exact_sums_and_lattices_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget in between: every region is where its cost says."""
    monkeypatch.setattr(chain_counts, "_MOST_BUDGETS", 1.0)
    rng = np.random.default_rng(4)
    chain = random_chain(rng, [6] * 12, 3)
    regions = random_regions(chain, 40)
    cost = sum_cost(entry_layout(lay_out(regions), chain.kinds))
    evidence = CountEvidence(regions, budget=float(np.median(cost)))
    np.testing.assert_array_equal(evidence.exact, cost <= np.median(cost))
    assert 0 < evidence.exact.sum() < len(regions)
    for chunk in evidence._chunks:
        if not chunk.is_exact:
            chunk.candidates[:] = True
            chunk.used[:] = True
    found, wanted = evaluate(chain, evidence), evaluate(chain, CountEvidence(regions, budget=EXACT))
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    np.testing.assert_allclose(found.tables[0], wanted.tables[0], rtol=0, atol=1e-11)


# -- tilted chains -----------------------------------------------------------------------------------------------------


def expected_counts(evidence: CountEvidence, potentials: ChainPotentials, steps: int) -> Iterator[tuple[Any, Any, Any]]:
    """Of every region: expected and least and largest counts of its groups after so many steps."""
    for chunk in evidence._chunks:
        for each in chunk.batches:
            posterior = tilted_posteriors(each, potentials, steps)
            owner = np.repeat(each.token_owner, each.counts[each.token_owner])
            group = chunk.layout.group[each.entries][each.cell_entry]
            for i, region in enumerate(each.batch.stretches):
                bounds = slice(chunk.layout.group_offsets[region], chunk.layout.group_offsets[region + 1])
                low, high = chunk.layout.low[bounds], chunk.layout.high[bounds]
                yield np.bincount(group[owner == i], posterior[owner == i], len(low)), low, high


@settings(max_examples=30, deadline=None)
@given(chains(), CONTEXT)
def test_tilted_chains_have_the_counts(chain: Chain, context: int | None) -> None:
    regions = random_regions(chain, 4, partial=False, ranges=False)
    evidence = CountEvidence(regions, context=context, budget=LATTICES)
    # Where edges are strong and groups overlap, a hundred steps leave a thousandth of a tag.
    for found, low, high in expected_counts(evidence, chain.potentials, 1000):
        np.testing.assert_array_equal(low, high)
        np.testing.assert_allclose(found, low, rtol=0, atol=1e-3)


def test_tilted_chains_of_clinging_tags_have_the_counts() -> None:
    """Equal tags follow each other: counts vary more than those of independent tokens."""
    chain = random_chain(np.random.default_rng(0), [10] * 20, 2)
    clinging = replace(chain.potentials, edges=2 * np.eye(2))
    regions = random_regions(chain, 20, partial=False, ranges=False, whole=True)
    for found, low, _ in expected_counts(CountEvidence(regions, budget=LATTICES), clinging, 100):
        np.testing.assert_allclose(found, low, rtol=0, atol=1e-3)


def test_tilting_does_not_see_other_regions() -> None:
    rng = np.random.default_rng(7)
    chain = random_chain(rng, [6, 5, 7, 3, 1], 4, 1)
    regions = random_regions(chain, 30)
    together = sorted(
        found.round(9).tolist()
        for found, *_ in expected_counts(CountEvidence(regions, budget=-1.0), chain.potentials, 8)
    )
    single = [CountEvidence(regions.take([r]), budget=LATTICES) for r in range(len(regions))]
    alone = sorted(
        found.round(9).tolist() for each in single for found, *_ in expected_counts(each, chain.potentials, 8)
    )
    assert [len(row) for row in together] == [len(row) for row in alone]
    np.testing.assert_allclose(np.concatenate(together), np.concatenate(alone), rtol=0, atol=1e-8)


# -- layout ------------------------------------------------------------------------------------------------------------


def test_stretches_end_with_their_sentences() -> None:
    corpus = Corpus.of([[], list("abcde"), [], list("ab")])
    told = [Region(1, 2, 4, {}, False), Region(1, 0, 5, {}, False), Region(3, 0, 1, {}, False)]
    regions = RegionCounts.of(corpus, "xy", told)
    for context, start, end in ((0, [2, 0, 5], [4, 5, 6]), (1, [1, 0, 5], [5, 5, 7]), (None, [0, 0, 5], [5, 5, 7])):
        found = stretches(regions, context)
        assert [each.tolist() for each in found] == [start, end]


def test_blocks_hold_regions_of_equal_shape_once() -> None:
    rng = np.random.default_rng(0)
    chain = random_chain(rng, rng.integers(1, 7, size=80).tolist(), 3)
    layout = entry_layout(lay_out(random_regions(chain, 300)), 3)
    members, ends = blocks(layout)
    keys = shape_keys(layout)
    assert sorted(members.tolist()) == list(range(300))
    assert ends[0] == 0
    assert ends[-1] == 300
    for first, last in pairwise(ends.tolist()):
        assert 1 <= last - first <= LANES
        assert len({keys[r] for r in members[first:last]}) == 1
