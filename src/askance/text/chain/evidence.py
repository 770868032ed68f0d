"""What is known of stretches of sentences, as a log-likelihood of a chain with its gradient.

Every kind of evidence is log P(what is known | words) = log Z_known − log Z, the first sum over the tag sequences that
agree with what is known. Its gradient with respect to a score is how often the score is used given what is known, less
how often in all: posteriors minus marginals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels import chain_rows
from askance._threads import one_thread
from askance.text.chain.inference import Sums, backward, forward
from askance.text.chain.layout import Batch, ChainLayout
from askance.text.chain.potentials import ChainPotentials, TokenPlaces
from askance.text.node.tables import row_maxima

# Work is divided into so many parts, whose results are added in order: the number of threads changes no bit of them.
_PARTS = 4


@dataclass(eq=False)
class Gradient:
    """A log-likelihood and its gradient, added up.

    Attributes:
        places: of the tokens.
        tables: by distance, with respect to A_d, shape (T + 1, K).
        spread: by distance, Σ γ (1 − γ) of the marginals: what the curvature is guessed from; same shapes.
        pairs: with respect to edges, shape (K, K).
        model_pairs: marginals of edges, shape (K, K).
        first: shape (K,).
        last: shape (K,).
        value: the log-likelihood.
    """

    places: TokenPlaces
    tables: dict[int, AnyArray]
    spread: dict[int, AnyArray]
    pairs: FloatArray
    model_pairs: FloatArray
    first: FloatArray
    last: FloatArray
    value: float = 0.0

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
    """The log-likelihood of all evidence as a function of the scores of a chain.

    Args:
        evidence: all of it.
        places: of the tokens.
        tags: K.
        threads: at most this many.
    """

    def __init__(self, evidence: Sequence[Evidence], places: TokenPlaces, tags: int, threads: int) -> None:
        self.places, self.tags, self.threads = places, tags, threads
        jobs = [job for each in evidence for job in each.jobs()]
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
            found = Gradient.zeros(self.places, self.tags, dtype)
            for job in part:
                job(potentials, found)
            return found

        if self.threads == 1 or len(self._parts) == 1:
            total, *others = [run(part) for part in self._parts]
        else:
            with ThreadPoolExecutor(min(self.threads, len(self._parts))) as pool:
                total, *others = pool.map(run, self._parts)
        for other in others:
            total.add(other)
        return total


def free_sums(
    batch: Batch, potentials: ChainPotentials, into: Gradient, weight: AnyArray | None = None
) -> tuple[Sums, AnyArray]:
    """Sums of a batch and marginals of its tokens, shape (rows, K); marginals of edges are taken from the gradient."""
    factors, shifts = potentials.rows(batch.tokens)
    sums = forward(batch, factors, shifts, potentials)
    pairs = np.zeros_like(into.pairs)
    backward(batch, sums, potentials, pairs, weight)
    pairs *= potentials.factors
    into.pairs -= pairs
    into.model_pairs += pairs
    return sums, sums.alpha * sums.beta


@dataclass(eq=False)
class LabelledEvidence:
    """Stretches whose tokens all have a label.

    Attributes:
        places: of the tokens of the corpus.
        layout: the stretches.
        tags: of every token of the corpus.
        n_tags: K.
        weight: of every stretch; None: 1.
    """

    places: TokenPlaces
    layout: ChainLayout
    tags: npt.NDArray[np.int16]
    n_tags: int
    weight: FloatArray | None = None

    def jobs(self) -> Sequence[tuple[float, Job]]:
        """One for each batch, and one for the labels."""
        work = [(float(len(batch.tokens)), _FreeJob(batch, self.weight)) for batch in self.layout.batches]
        return [*work, (float(self.places.types), self._labels())]

    def _labels(self) -> Job:
        counted = [np.zeros((self.n_tags, self.n_tags)), np.zeros(self.n_tags), np.zeros(self.n_tags)]
        pairs, first, last = counted
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
                pairs += np.bincount(tag[before] * self.n_tags + tag[here], w[here], self.n_tags**2).reshape(
                    pairs.shape
                )
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
        from askance.estimation.solvers.large_tables import dot

        dtype = potentials.edges.dtype
        if dtype.str not in self._cast:
            self._cast[dtype.str] = {d: t.astype(dtype) for d, t in self.tables.items()}
        for d, table in self._cast[dtype.str].items():
            into.tables[d] += table
            into.value += dot(np.ascontiguousarray(potentials.tables[d]), table)
        into.pairs += self.pairs
        into.first += self.first
        into.last += self.last
        for mine, theirs in (
            (self.pairs, potentials.edges),
            (self.first, potentials.first),
            (self.last, potentials.last),
        ):
            into.value += float((mine * theirs).sum(dtype=np.float64))


@dataclass(eq=False)
class _FreeJob:
    """Minus log Z of the stretches of a batch."""

    batch: Batch
    weight: FloatArray | None

    def __call__(self, potentials: ChainPotentials, into: Gradient) -> None:
        weight = row_weights(self.batch, self.weight, potentials.edges.dtype)
        sums, marginals = free_sums(self.batch, potentials, into, weight)
        if weight is None:
            into.value -= float(sums.log_scales.sum())
        else:
            into.value -= float(sums.log_scales @ weight[:, 0].astype(np.float64))
        into.add_spread(self.batch.tokens, marginals, weight)
        if weight is not None:
            marginals *= weight
        into.add_rows(self.batch.tokens, np.negative(marginals, out=marginals))


def row_weights(batch: Batch, weight: FloatArray | None, dtype: npt.DTypeLike) -> AnyArray | None:
    """The weight of the stretch of every row, shape (rows, 1)."""
    if weight is None:
        return None
    own = weight[batch.stretches].astype(dtype)
    sizes = [b - a for a, b in zip(batch.starts, batch.starts[1:], strict=False)]
    return np.concatenate([own[:size] for size in sizes])[:, None]


@dataclass(eq=False)
class AllowedEvidence:
    """Stretches whose tokens have some tags that they may have: labels of some tokens, or of none.

    Attributes:
        layout: the stretches.
        allowed: tags that every token of the corpus may have, shape (N, K).
        weight: of every stretch; None: 1.
    """

    layout: ChainLayout
    allowed: npt.NDArray[np.bool_]
    weight: FloatArray | None = None

    def jobs(self) -> Sequence[tuple[float, Job]]:
        """One for each batch."""
        return [(2.0 * len(b.tokens), self._job(b)) for b in self.layout.batches]

    def _job(self, batch: Batch) -> Job:
        allowed = self.allowed[batch.tokens]

        def add(potentials: ChainPotentials, into: Gradient) -> None:
            weight = row_weights(batch, self.weight, potentials.edges.dtype)
            free, marginals = free_sums(batch, potentials, into, weight)
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

        return add
