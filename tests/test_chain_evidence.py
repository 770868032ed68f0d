"""What is known of stretches, against sums over all tag sequences: labels, allowed tags, weights, batches, threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import AnyArray, FloatArray
from askance.text.chain.counts import CountEvidence
from askance.text.chain.evidence import (
    AllowedEvidence,
    ChainObjective,
    Evidence,
    Gradient,
    LabelledEvidence,
    row_weights,
)
from askance.text.chain.layout import ChainLayout
from askance.text.chain.potentials import ChainPotentials
from tests.brute_force_chain import (
    BruteForce,
    Chain,
    chains,
    has_allowed,
    has_tags,
    is_counted,
    random_chain,
    random_regions,
)


def evaluate(chain: Chain, evidence: Sequence[Evidence], threads: int = 1) -> Gradient:
    """Value and gradient of all of it."""
    return ChainObjective(evidence, chain.potentials.places, chain.kinds, threads)(chain.potentials)


def labelled(chain: Chain, layout: ChainLayout, weight: FloatArray | None = None) -> LabelledEvidence:
    return LabelledEvidence(chain.potentials.places, layout, chain.corpus.require_tags(), chain.kinds, weight)


def allowed_tags(chain: Chain) -> AnyArray:
    """Some tags for every token, the right one among them, shape (N, K)."""
    allowed = chain.rng.random((chain.corpus.n_tokens, chain.kinds)) < 0.5
    allowed[np.arange(len(allowed)), chain.corpus.require_tags()] = True
    return allowed


def some_weights(chain: Chain, count: int) -> FloatArray | None:
    """Weights from 0 to 2 in half of the cases, else none."""
    return chain.rng.integers(0, 5, size=count) / 2 if chain.rng.integers(2) else None


def same(found: Gradient, wanted: Gradient, tolerance: float = 0.0) -> None:
    """Two gradients agree in all their parts, bit by bit where there is no tolerance."""
    pairs = [(found.tables[d], wanted.tables[d]) for d in wanted.tables]
    pairs += [(found.spread[d], wanted.spread[d]) for d in wanted.spread]
    for name in ("value", "pairs", "model_pairs", "first", "last"):
        pairs.append((np.asarray(getattr(found, name)), np.asarray(getattr(wanted, name))))
    for mine, theirs in pairs:
        if tolerance:
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max()))
        else:
            np.testing.assert_array_equal(mine, theirs)


# -- labels and allowed tags -------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(chains(), st.integers(1, 5), st.integers(1, 4))
def test_labels(chain: Chain, count: int, size: int) -> None:
    """Of stretches of sentences, which may overlap: each is evidence of its own."""
    start, end = chain.stretches(count)
    weight, expected = some_weights(chain, len(start)), BruteForce(chain.potentials)
    for r, (a, b) in enumerate(zip(start, end, strict=True)):
        expected.add(a, b, has_tags(chain.corpus.require_tags()[a:b]), 1.0 if weight is None else weight[r])
    expected.agrees_with(evaluate(chain, [labelled(chain, ChainLayout.of(start, end, size), weight)]))


@settings(max_examples=40, deadline=None)
@given(chains(), st.integers(1, 5), st.integers(1, 4))
def test_allowed_tags(chain: Chain, count: int, size: int) -> None:
    start, end = chain.stretches(count)
    weight, allowed, expected = some_weights(chain, len(start)), allowed_tags(chain), BruteForce(chain.potentials)
    for r, (a, b) in enumerate(zip(start, end, strict=True)):
        expected.add(a, b, has_allowed(allowed[a:b]), 1.0 if weight is None else weight[r])
    expected.agrees_with(evaluate(chain, [AllowedEvidence(ChainLayout.of(start, end, size), allowed, weight)]))


@settings(max_examples=30, deadline=None)
@given(chains())
def test_one_allowed_tag_is_a_label_and_all_are_nothing(chain: Chain) -> None:
    layout, n = chain.layout(), chain.corpus.n_tokens
    one = np.eye(chain.kinds, dtype=bool)[chain.corpus.require_tags()]
    same(evaluate(chain, [AllowedEvidence(layout, one)]), evaluate(chain, [labelled(chain, layout)]), 1e-10)
    nothing = evaluate(chain, [AllowedEvidence(layout, np.ones((n, chain.kinds), dtype=bool))])
    assert nothing.value == pytest.approx(0, abs=1e-12)
    BruteForce(chain.potentials).agrees_with(nothing, 1e-12)


@settings(max_examples=30, deadline=None)
@given(chains())
def test_marginals_are_added_up_for_the_curvature(chain: Chain) -> None:
    expected, pairs = BruteForce(chain.potentials), np.zeros((chain.kinds, chain.kinds))
    for s in np.flatnonzero(chain.corpus.lengths):
        span = chain.corpus.span(int(s))
        expected.add(span.start, span.stop, lambda _: 1.0)
        pairs += expected.sequences(span.start, span.stop).posterior()[2]
    for evidence in (labelled(chain, chain.layout()), AllowedEvidence(chain.layout(), allowed_tags(chain))):
        found = evaluate(chain, [evidence])
        np.testing.assert_allclose(found.model_pairs, pairs, rtol=0, atol=1e-10)
        for d, table in found.spread.items():
            np.testing.assert_allclose(table, expected.spread[d], rtol=0, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=20, deadline=None)
@given(chain=chains(scales=(50.0,)))
def test_scores_of_any_size_have_finite_values(dtype: npt.DTypeLike, chain: Chain) -> None:
    given, allowed = chain.potentials, allowed_tags(chain)
    tables: dict[int, AnyArray] = {d: table.astype(dtype) for d, table in given.tables.items()}
    rounded: list[AnyArray] = [each.astype(dtype) for each in (given.edges, given.first, given.last)]
    chain = replace(chain, potentials=ChainPotentials(given.places, tables, *rounded))
    for evidence in (labelled(chain, chain.layout()), AllowedEvidence(chain.layout(), allowed)):
        found = evaluate(chain, [evidence])
        assert np.isfinite(found.value)
        assert found.value <= 1e-3
        for table in (*found.tables.values(), found.pairs, found.first, found.last):
            assert np.isfinite(table).all()


@settings(max_examples=30, deadline=None)
@given(chains())
def test_32_bits_agree_with_64(chain: Chain) -> None:
    regions, layout, allowed = random_regions(chain, 3), chain.layout(), allowed_tags(chain)
    given = chain.potentials
    tables = {d: table.astype(np.float32) for d, table in given.tables.items()}
    rounded = (each.astype(np.float32) for each in (given.edges, given.first, given.last))
    short = replace(chain, potentials=ChainPotentials(given.places, tables, *rounded))
    for evidence in (labelled(chain, layout), AllowedEvidence(layout, allowed), CountEvidence(regions, context=1)):
        found = evaluate(short, [evidence])
        assert found.tables[0].dtype == np.float32
        same(found, evaluate(chain, [evidence]), 1e-4)


# -- the sum of all evidence -------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(chains(), st.sampled_from([0, 1, None]))
def test_all_kinds_together(chain: Chain, context: int | None) -> None:
    corpus, expected = chain.corpus, BruteForce(chain.potentials)
    regions, allowed = random_regions(chain, 3), allowed_tags(chain)
    start, end = chain.stretches(3)
    for s in np.flatnonzero(corpus.lengths):
        span = corpus.span(int(s))
        expected.add(span.start, span.stop, has_tags(corpus.require_tags()[span]))
    for a, b in zip(start, end, strict=True):
        expected.add(a, b, has_allowed(allowed[a:b]))
    for r in range(len(regions)):
        span = corpus.span(regions.region(r).sentence)
        first = span.start if context is None else max(span.start, int(regions.start[r]) - context)
        last = span.stop if context is None else min(span.stop, int(regions.end[r]) + context)
        expected.add(first, last, is_counted(regions, r, first), regions.weights[r])
    parts: list[Evidence] = [
        labelled(chain, chain.layout()),
        AllowedEvidence(ChainLayout.of(start, end), allowed),
        CountEvidence(regions, context=context),
    ]
    expected.agrees_with(evaluate(chain, parts))


def test_no_evidence_is_zero() -> None:
    chain = random_chain(np.random.default_rng(0), [3, 2], 3, 1)
    none = np.zeros(0, dtype=np.int64)
    empty: list[Evidence] = [
        labelled(chain, ChainLayout.of(none, none)),
        CountEvidence(random_regions(chain, 0)),
    ]
    for evidence in ([], empty):
        found = evaluate(chain, evidence, threads=2)
        assert found.value == 0.0
        assert not any(table.any() for table in (*found.tables.values(), found.pairs, found.first, found.last))


def many(kinds: int = 4) -> tuple[Chain, list[Evidence]]:
    """700 sentences with all kinds of evidence, some of the counts in lattices."""
    rng = np.random.default_rng(3)
    chain = random_chain(rng, rng.integers(0, 9, size=700).tolist(), kinds, 1)
    layout, regions = chain.layout(), random_regions(chain, 400)
    lattices = CountEvidence(regions, context=2, budget=-1.0)
    lattices.prepare(chain.potentials)
    return chain, [
        labelled(chain, layout, rng.random(len(layout.start))),
        AllowedEvidence(layout, allowed_tags(chain)),
        CountEvidence(regions, context=1),
        lattices,
    ]


def test_threads_change_no_bit() -> None:
    chain, evidence = many()
    once = evaluate(chain, evidence)
    for threads in (1, 2, 3, 8):
        for _ in range(2):
            same(evaluate(chain, evidence, threads), once)


def test_calls_change_nothing() -> None:
    """An objective gives the same, whatever it was asked before."""
    chain, evidence = many()
    objective = ChainObjective(evidence, chain.potentials.places, chain.kinds, 2)
    once = objective(chain.potentials)
    objective(replace(chain.potentials, edges=chain.potentials.edges * -3))
    same(objective(chain.potentials), once)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_change_nothing_but_rounding(size: int) -> None:
    """Other batches are other orders of addition."""
    chain, _ = many()
    weight, allowed = chain.rng.random(len(chain.layout().start)), allowed_tags(chain)

    def found(layout: ChainLayout) -> Gradient:
        return evaluate(chain, [labelled(chain, layout, weight), AllowedEvidence(layout, allowed, weight)])

    same(found(chain.layout(size)), found(chain.layout()), 1e-12)


def test_a_weight_is_a_number_of_copies() -> None:
    chain = random_chain(np.random.default_rng(1), [4, 3, 1], 3)
    start, end, twice = chain.layout().start, chain.layout().end, np.array([0, 0, 0, 2])
    weight, allowed = np.array([3.0, 0.0, 1.0]), allowed_tags(chain)
    weighted, copied = ChainLayout.of(start, end), ChainLayout.of(start[twice], end[twice])
    for one, other in (
        (labelled(chain, weighted, weight), labelled(chain, copied)),
        (AllowedEvidence(weighted, allowed, weight), AllowedEvidence(copied, allowed)),
    ):
        first, second = evaluate(chain, [one]), evaluate(chain, [other])
        assert first.value == pytest.approx(second.value, rel=1e-12)
        for d in first.tables:
            np.testing.assert_allclose(first.tables[d], second.tables[d], rtol=0, atol=1e-12)
        np.testing.assert_allclose(first.pairs, second.pairs, rtol=0, atol=1e-12)


def test_rows_have_the_weight_of_their_stretch() -> None:
    start, end = np.array([0, 2, 5]), np.array([2, 5, 6])
    weight = np.array([0.5, 2.0, 7.0])
    for batch in ChainLayout.of(start, end, 2).batches:
        assert row_weights(batch, None, np.float32) is None
        found = row_weights(batch, weight, np.float32)
        assert found is not None
        assert found.dtype == np.float32
        owner = np.searchsorted(start, batch.tokens, side="right") - 1
        np.testing.assert_array_equal(found[:, 0], weight[owner])
