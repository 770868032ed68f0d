"""What is known of stretches of sentences, as a log-likelihood of a chain with its gradient.

Every kind of evidence is log P(what is known | words) = log Z_known − log Z, the first sum over the tag sequences that
agree with what is known. Its gradient with respect to a score is how often the score is used given what is known, less
how often in all: posteriors minus marginals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels import chain_rows
from askance._threads import one_thread
from askance.estimation.solvers.large_tables import dot
from askance.text.chain.inference import Sums, backward, forward
from askance.text.chain.layout import Batch, ChainLayout
from askance.text.chain.potentials import ChainPotentials, TokenPlaces
from askance.text.corpus.region_groups import lay_out
from askance.text.corpus.regions import RegionCounts
from askance.text.node.tables import row_maxima

# Work is divided into so many parts, whose results are added in order: the number of threads changes no bit of them.
_PARTS = 4


@dataclass(eq=False)
class Gradient:
    """A log-likelihood and its gradient, added up."""

    places: TokenPlaces  # of the tokens
    tables: dict[int, AnyArray]  # by distance, with respect to A_d, shape (T + 1, K)
    # By distance, Σ γ (1 − γ) of the marginals: what the curvature is guessed from; same shapes.
    spread: dict[int, AnyArray]
    pairs: FloatArray  # with respect to edges, shape (K, K)
    model_pairs: FloatArray  # marginals of edges, shape (K, K)
    first: FloatArray  # shape (K,)
    last: FloatArray  # shape (K,)
    value: float = 0.0  # the log-likelihood

    @classmethod
    def zeros(cls, places: TokenPlaces, tags: int, dtype: npt.DTypeLike) -> Gradient:
        """Nothing yet."""

        def table() -> AnyArray:
            return np.zeros((places.types + 1, tags), dtype=dtype)

        square = np.zeros((tags, tags))
        return cls(
            places,
            {d: table() for d in places.rows},
            {d: table() for d in places.rows},
            square,
            square.copy(),
            np.zeros(tags),
            np.zeros(tags),
        )

    def add_rows(self, tokens: IntArray, values: AnyArray) -> None:
        """Differences of posteriors and marginals of tokens, shape (n, K)."""
        for distance, table in self.tables.items():
            chain_rows.add_rows(table, self.places.rows[distance][tokens], values)
        for where, total in ((self.places.is_first, self.first), (self.places.is_last, self.last)):
            total += values[where[tokens]].sum(axis=0, dtype=np.float64)

    def add_spread(self, tokens: IntArray, marginals: AnyArray, weight: AnyArray | None = None) -> None:
        """Marginals of tokens, shape (n, K), and weights of these, shape (n, 1); None: 1."""
        weights = np.ones(len(tokens), dtype=marginals.dtype) if weight is None else weight[:, 0]
        for distance, table in self.spread.items():
            chain_rows.add_spread(table, self.places.rows[distance][tokens], marginals, weights)

    def add(self, other: Gradient) -> None:
        """Add another."""
        for mine, theirs in ((self.tables, other.tables), (self.spread, other.spread)):
            for distance, table in mine.items():
                table += theirs[distance]
        self.pairs += other.pairs
        self.model_pairs += other.model_pairs
        self.first += other.first
        self.last += other.last
        self.value += other.value


#: Adds the log-likelihood of some stretches, and its gradient.
Job: TypeAlias = Callable[[ChainPotentials, Gradient], None]


class Evidence(Protocol):
    """Something that is known."""

    def jobs(self) -> Sequence[tuple[float, Job]]:
        """Pieces of work that do not depend on each other, each with what it costs."""


class ChainObjective:
    """The log-likelihood of all evidence as a function of the scores of a chain with K tags, in so many threads."""

    def __init__(self, evidence: Sequence[Evidence], places: TokenPlaces, tags: int, threads: int) -> None:
        self.places, self.tags, self.threads = places, tags, threads
        jobs = [job for piece in evidence for job in piece.jobs()]
        # The dearest first, each to the part that has least to do.
        order = sorted(range(len(jobs)), key=lambda i: -jobs[i][0])
        self._parts: list[list[Job]] = [[] for _ in range(min(_PARTS, max(len(jobs), 1)))]
        load = [0.0] * len(self._parts)
        for i in order:
            part = load.index(min(load))
            load[part] += jobs[i][0]
            self._parts[part].append(jobs[i][1])

    def __call__(self, potentials: ChainPotentials) -> Gradient:
        """Value and gradient."""
        dtype = potentials.edges.dtype

        @one_thread  # of BLAS, for each of ours
        def run(part: list[Job]) -> Gradient:
            gradient = Gradient.zeros(self.places, self.tags, dtype)
            for job in part:
                job(potentials, gradient)
            return gradient

        if self.threads == 1 or len(self._parts) == 1:
            total, *others = [run(part) for part in self._parts]
        else:
            with ThreadPoolExecutor(min(self.threads, len(self._parts))) as pool:
                total, *others = pool.map(run, self._parts)
        for other in others:
            total.add(other)
        return total


def subtract_edges(
    batch: Batch, sums: Sums, potentials: ChainPotentials, into: Gradient, weight: AnyArray | None
) -> None:
    """β of a batch after `forward`; marginals of edges are taken from the gradient."""
    pairs = np.zeros_like(into.pairs)
    backward(batch, sums, potentials, pairs, weight)
    pairs *= potentials.factors
    into.pairs -= pairs
    into.model_pairs += pairs


def _free_sums(
    batch: Batch, potentials: ChainPotentials, into: Gradient, weight: AnyArray | None
) -> tuple[Sums, AnyArray]:
    """Sums of a batch and marginals of its tokens, shape (rows, K)."""
    sums = forward(batch, *potentials.rows(batch.tokens), potentials)
    subtract_edges(batch, sums, potentials, into, weight)
    return sums, sums.alpha * sums.beta


@dataclass(eq=False)
class LabelledEvidence:
    """Stretches whose tokens all have a label."""

    places: TokenPlaces  # of the tokens of the corpus
    layout: ChainLayout  # the stretches
    tags: npt.NDArray[np.int16]  # of every token of the corpus
    n_tags: int  # K
    weight: FloatArray | None = None  # of every stretch; None: 1

    def jobs(self) -> Sequence[tuple[float, Job]]:
        """One for each batch, and one for the labels."""
        work = [(float(len(batch.tokens)), partial(_add_free, batch, self.weight)) for batch in self.layout.batches]
        return [*work, (float(self.places.types), self._labels())]

    def _labels(self) -> Job:
        pairs, first, last = np.zeros((self.n_tags, self.n_tags)), np.zeros(self.n_tags), np.zeros(self.n_tags)
        tables = {d: np.zeros((self.places.types + 1) * self.n_tags) for d in self.places.rows}
        for batch in self.layout.batches:
            weight = row_weights(batch, self.weight, np.float64)
            w = np.ones(len(batch.tokens)) if weight is None else weight[:, 0]
            tag = self.tags[batch.tokens].astype(np.int64)
            for d, table in tables.items():
                cell = self.places.rows[d][batch.tokens].astype(np.int64) * self.n_tags + tag
                table += np.bincount(cell, w, len(table))
            for where, total in ((self.places.is_first, first), (self.places.is_last, last)):
                chosen = where[batch.tokens]
                total += np.bincount(tag[chosen], w[chosen], self.n_tags)
            for here, before in batch.positions():
                met = np.bincount(tag[before] * self.n_tags + tag[here], w[here], self.n_tags**2)
                pairs += met.reshape(pairs.shape)
        return _LabelJob({d: t.reshape(-1, self.n_tags) for d, t in tables.items()}, pairs, first, last)


@dataclass(eq=False)
class _LabelJob:
    """The score of known tags: linear, with a constant gradient."""

    tables: dict[int, FloatArray]
    pairs: FloatArray
    first: FloatArray
    last: FloatArray
    _cast: dict[str, dict[int, AnyArray]] = field(default_factory=dict)

    def __call__(self, potentials: ChainPotentials, into: Gradient) -> None:
        dtype = potentials.edges.dtype
        if dtype.str not in self._cast:
            self._cast[dtype.str] = {d: t.astype(dtype) for d, t in self.tables.items()}
        for d, table in self._cast[dtype.str].items():
            into.tables[d] += table
            into.value += dot(np.ascontiguousarray(potentials.tables[d]), table)
        into.pairs += self.pairs
        into.first += self.first
        into.last += self.last
        scores = (potentials.edges, potentials.first, potentials.last)
        for mine, theirs in zip((self.pairs, self.first, self.last), scores, strict=True):
            into.value += float((mine * theirs).sum(dtype=np.float64))


def _add_free(batch: Batch, weights: FloatArray | None, potentials: ChainPotentials, into: Gradient) -> None:
    """Minus log Z of the stretches of a batch."""
    weight = row_weights(batch, weights, potentials.edges.dtype)
    sums, marginals = _free_sums(batch, potentials, into, weight)
    if weight is None:
        into.value -= float(sums.log_scales.sum())
    else:
        into.value -= float(sums.log_scales @ weight[:, 0].astype(np.float64))
    into.add_spread(batch.tokens, marginals, weight)
    if weight is not None:
        marginals *= weight
    into.add_rows(batch.tokens, np.negative(marginals, out=marginals))


def row_weights(batch: Batch, weight: FloatArray | None, dtype: npt.DTypeLike) -> AnyArray | None:
    """The weight of the stretch of every row, shape (rows, 1)."""
    if weight is None:
        return None
    own = weight[batch.stretches].astype(dtype)
    sizes = [b - a for a, b in zip(batch.starts, batch.starts[1:], strict=False)]
    return np.concatenate([own[:size] for size in sizes])[:, None]


@dataclass(eq=False)
class AllowedEvidence:
    """Stretches whose tokens have some tags that they may have: labels of some tokens, or of none."""

    layout: ChainLayout  # the stretches
    allowed: npt.NDArray[np.bool_]  # tags that every token of the corpus may have, shape (N, K)
    weight: FloatArray | None = None  # of every stretch; None: 1

    def jobs(self) -> Sequence[tuple[float, Job]]:
        """One for each batch."""
        batches = self.layout.batches
        return [(2.0 * len(b.tokens), partial(self._add, b, self.allowed[b.tokens])) for b in batches]

    def _add(self, batch: Batch, allowed: npt.NDArray[np.bool_], potentials: ChainPotentials, into: Gradient) -> None:
        weight = row_weights(batch, self.weight, potentials.edges.dtype)
        free, marginals = _free_sums(batch, potentials, into, weight)
        factors, shifts = potentials.rows(batch.tokens)
        factors *= allowed
        highest = row_maxima(factors)  # brought back to 1, or a small one times a small edge is 0 in 32 bits
        factors /= highest
        shifts += np.log(highest[:, 0])
        sums = forward(batch, factors, shifts, potentials)
        pairs = np.zeros_like(into.pairs)
        backward(batch, sums, potentials, pairs, weight)
        into.pairs += pairs * potentials.factors
        into.add_spread(batch.tokens, marginals, weight)
        difference = np.subtract(sums.alpha * sums.beta, marginals, out=marginals)
        gained = sums.log_scales - free.log_scales
        if weight is not None:
            difference *= weight
            gained *= weight[:, 0]
        into.value += float(gained.sum())
        into.add_rows(batch.tokens, difference)


# -- single tokens -----------------------------------------------------------------------------------------------------


def token_evidence(regions: RegionCounts, places: TokenPlaces) -> list[Evidence]:
    """The evidence of regions of one token each; `places` are those of the tokens of their corpus.

    All that is known of the tokens of a sentence is taken together, so a sentence whose tokens all have a label is one
    labelled sequence. Where its tokens have different weights, those of each weight are taken together. What is said of
    a token twice counts twice, and where annotators disagree what each says is evidence of its own.
    """
    lay_out(regions)  # refuses counts that cannot be
    allowed, starts = _allowed(regions), regions.corpus.starts
    sentence = regions.sentence
    evidence: list[Evidence] = []
    for chosen in _layers(sentence, regions.weights, _repeats(regions.start, regions.weights, allowed)):
        table = np.ones((regions.corpus.n_tokens, len(regions.tagset)), dtype=bool)
        np.logical_and.at(table, regions.start[chosen], allowed[chosen])
        known, first = np.unique(sentence[chosen], return_index=True)
        weight = regions.weights[chosen][first]
        single = np.bincount(
            np.searchsorted(starts, np.flatnonzero(table.sum(axis=1) == 1), side="right") - 1, minlength=len(starts)
        )
        complete = single[known] == regions.corpus.lengths[known]
        for is_complete in (True, False):
            own = known[complete == is_complete]
            if not len(own):
                continue
            layout = ChainLayout.of(starts[own], starts[own + 1])
            weights = _or_none(weight[complete == is_complete])
            if is_complete:
                tags = table.argmax(axis=1).astype(np.int16)
                evidence.append(LabelledEvidence(places, layout, tags, len(regions.tagset), weights))
            else:
                evidence.append(AllowedEvidence(layout, table, weights))
    return evidence


def _allowed(regions: RegionCounts) -> npt.NDArray[np.bool_]:
    """The tags that the token of each region may have, shape (R, K)."""
    allowed = np.repeat(~regions.closed[:, None], len(regions.tagset), axis=1)
    allowed[regions.entry_region, regions.tag] = regions.high >= 1
    certain = np.flatnonzero(regions.low >= 1)
    allowed[regions.entry_region[certain]] = False
    allowed[regions.entry_region[certain], regions.tag[certain]] = True
    return allowed


def _repeats(token: IntArray, weight: FloatArray, allowed: npt.NDArray[np.bool_]) -> IntArray:
    """Which statements can be taken together, as numbers of parts, shape (R,).

    What is said of a token in the same words, or in contradiction to what else is said, is put into different parts.
    """
    told = np.stack([token, weight], axis=1)
    rank = _occurrence(np.concatenate([told, np.packbits(allowed, axis=1)], axis=1))
    group = np.unique(told, axis=0, return_inverse=True)[1].reshape(-1)
    common = np.ones((len(told), allowed.shape[1]), dtype=bool)
    np.logical_and.at(common, group, allowed)
    divided = np.asarray(~common.any(axis=1))[group]
    return np.where(divided, _occurrence(told), rank)


def _occurrence(rows: AnyArray) -> IntArray:
    """How many rows before are equal to each, shape (R,)."""
    _, group = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    ordered = group.reshape(-1)[order]
    earlier = np.empty(len(rows), dtype=np.int64)
    earlier[order] = np.arange(len(rows)) - np.searchsorted(ordered, ordered)
    return earlier


def _layers(sentence: IntArray, weight: FloatArray, repeats: IntArray) -> list[IntArray]:
    """Numbers of regions, divided so that within each part the regions of a sentence have one weight, none repeated."""
    if (weight == 1).all() and not repeats.any():
        return [np.arange(len(weight))]
    kinds, group = np.unique(np.stack([sentence, weight, repeats]), axis=1, return_inverse=True)
    first = np.searchsorted(kinds[0], kinds[0])  # the first group of the same sentence
    layer = (np.arange(len(first)) - first)[group.reshape(-1)]
    return [np.flatnonzero(layer == number) for number in range(int(layer.max()) + 1)]


def _or_none(weight: FloatArray) -> FloatArray | None:
    return None if (weight == 1).all() else weight
