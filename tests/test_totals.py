"""Sums over blocks of rows: one order, keys that span blocks, units that no block cuts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import Responses, Warner
from askance.errors import InputError
from askance.evidence.chunks import Chunk
from askance.evidence.totals import BLOCK, blocks_of, total

N = 2 * BLOCK + 777
RNG = np.random.default_rng(3)
X, KEYS = RNG.integers(-9, 9, (N, 2)).astype(np.float64), RNG.integers(0, 500, N)


def covariates(rows: Chunk) -> np.ndarray:
    return np.asarray(rows.x)


def clusters(rows: Chunk) -> np.ndarray:
    return np.asarray(rows.clusters)


def moments(rows: Chunk) -> tuple[np.ndarray, ...]:
    return (rows.x.sum(axis=0), rows.x.T @ rows.x)


def test_keyed_sums_span_blocks_and_parts() -> None:
    """Whole numbers, so that sums are exact in any order."""
    channel = Warner("2/3")
    said = np.array(["no", "yes"])[RNG.integers(0, 2, N)]
    whole = Responses(channel).add(X, said, clusters=KEYS)
    parts = Responses(channel).add(X[:5000], said[:5000], clusters=KEYS[:5000])
    parts += Responses(channel).add(X[5000:], said[5000:], clusters=KEYS[5000:])
    by_hand = np.array([X[key == KEYS].sum(axis=0) for key in range(500)])
    for evidence in (whole, parts):
        keys, sums = evidence.total(covariates, by=clusters)
        assert np.array_equal(keys, np.arange(500))
        assert np.array_equal(sums, by_hand)
        first, second = evidence.total(moments)
        assert np.array_equal(first, X.sum(axis=0))
        assert np.array_equal(second, X.T @ X)


def test_blocks_are_views_of_the_rows_and_functions_of_modules_travel() -> None:
    evidence = Responses(Warner("2/3")).add(X, ["no"] * N)
    blocks = list(evidence.blocks())
    assert [len(block) for block in blocks] == [BLOCK, BLOCK, 777]
    assert all(np.shares_memory(block.x, evidence.chunks[0].x) for block in blocks)
    assert pickle.loads(pickle.dumps(moments)) is moments
    # An engine that does the first two blocks elsewhere gets the same bits.
    first = total(blocks[:2], moments)
    last = moments(blocks[2])
    assert all(np.array_equal(a + b, c) for a, b, c in zip(first, last, total(evidence.blocks(), moments), strict=True))


@settings(deadline=None)
@given(st.lists(st.integers(1, 2 * BLOCK), min_size=1, max_size=12))
def test_no_block_cuts_a_unit(sizes: list[int]) -> None:
    units = np.repeat(np.arange(len(sizes))[::-1], sizes)
    n = len(units)
    blocks = blocks_of(n, units)
    assert [row for block in blocks for row in (block.start, block.stop)][1:-1:2] == [b.start for b in blocks[1:]]
    assert blocks[0].start == 0
    assert blocks[-1].stop == n
    assert all(units[block.start - 1] != units[block.start] for block in blocks[1:])
    assert len(blocks) <= -(-n // BLOCK)
    assert blocks_of(n, np.arange(n)) == blocks_of(n)


def test_units_out_of_order_are_refused() -> None:
    with pytest.raises(InputError, match="side by side"):
        blocks_of(3, np.array([1, 2, 1]))
    assert blocks_of(0) == []
