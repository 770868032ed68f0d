"""Which model suits the evidence: whether neighbours were seen together, and what a fit of the edges would cost."""

from __future__ import annotations

from typing import Literal

import numpy as np

from askance.text.chain.regions import entry_layout, stretches, sum_cost
from askance.text.corpus.region_groups import lay_out
from askance.text.corpus.regions import RegionCounts

# Multiplications of a fit of the edges (about 60 evaluations of three products of K × K by token, and the sums over
# counts) beyond which cheap edges are taken: about an hour on one processor.
_MOST_WORK = 3e13
_EVALUATIONS, _PRODUCTS = 60, 3
# Tokens of a lattice cost about as much as so many products of K × K.
_LATTICE = 8


def choose_method(
    regions: RegionCounts, budget: float, most_work: float = _MOST_WORK
) -> tuple[Literal["node", "chain"], Literal["likelihood", "cheap"]]:
    """The model, and how its edges are found.

    Args:
        regions: what is known.
        budget: states × entries² up to which sums over counts are exact.
        most_work: multiplications that a fit of edges may take.

    >>> from askance.text.corpus.corpus import Corpus
    >>> labels = RegionCounts.of_labels(Corpus.of([["a", "b"]], [["X", None]]))
    >>> choose_method(labels, 1e5)
    ('node', 'likelihood')
    """
    if not _has_neighbours(regions):
        return "node", "likelihood"
    work = _EVALUATIONS * (_tokens(regions) * _PRODUCTS * len(regions.tagset) ** 2.0 + _sums(regions, budget))
    return "chain", "likelihood" if work <= most_work else "cheap"


def _has_neighbours(regions: RegionCounts) -> bool:
    """Whether something is known of two tokens next to each other."""
    if (regions.lengths > 1).any():
        return True
    known = np.unique(regions.start)
    following = known[1:][np.diff(known) == 1]
    firsts = regions.corpus.starts[:-1]
    return bool(np.isin(following, firsts, invert=True).any())


def _tokens(regions: RegionCounts) -> float:
    """Tokens that a pass runs over, about."""
    counted = regions.take(regions.lengths > 1)
    start, end = stretches(counted, 2)
    single = regions.start[regions.lengths == 1]
    sentences = np.unique(np.searchsorted(regions.corpus.starts, single, side="right") - 1)
    return float((end - start).sum() + regions.corpus.lengths[sentences].sum())


def _sums(regions: RegionCounts, budget: float) -> float:
    """Multiplications of the sums over counts, about."""
    counted = regions.take((regions.lengths > 1) & regions.is_possible)
    tags = len(regions.tagset)
    cost = sum_cost(entry_layout(lay_out(counted), tags))
    lattices = counted.lengths[cost > budget].sum() * _LATTICE * tags**2.0
    return float(cost[cost <= budget].sum() * 3 + lattices)
