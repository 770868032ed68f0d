"""Chains by running through all tag sequences, one by one: what the tests of chains compare with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from hypothesis import strategies as st
from scipy.special import logsumexp

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.text.chain.evidence import Gradient
from askance.text.chain.layout import ChainLayout
from askance.text.chain.potentials import FLOOR, ChainPotentials, TokenPlaces
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.region_groups import SPARE_MISSES
from askance.text.corpus.regions import Count, Region, RegionCounts

#: The probability of what is known of a stretch, given its tags.
Known = Callable[[tuple[int, ...]], float]


# -- all sequences -----------------------------------------------------------------------------------------------------


@cache
def all_sequences(tags: int, length: int) -> IntArray:
    """Shape (K^L, L)."""
    return np.array(list(itertools.product(range(tags), repeat=length)), dtype=np.int64).reshape(-1, length)


def lifted(scores: AnyArray) -> FloatArray:
    """Scores as factors see them: none is farther than log FLOOR below the largest."""
    exact = np.asarray(scores, dtype=np.float64)
    return np.asarray(np.maximum(exact, exact.max() + np.log(FLOOR)))


@dataclass(frozen=True, eq=False)
class Sequences:
    """All tag sequences of a stretch.

    Attributes:
        tags: shape (S, L).
        scores: shape (S,).
        kinds: K.
    """

    tags: IntArray
    scores: FloatArray
    kinds: int

    @classmethod
    def of(cls, tokens: FloatArray, edges: AnyArray) -> Sequences:
        """From scores of tokens, shape (L, K), L ≥ 1, and of edges, shape (K, K)."""
        tags = all_sequences(tokens.shape[1], len(tokens))
        scores = tokens[np.arange(len(tokens)), tags].sum(axis=1) + edges[tags[:, :-1], tags[:, 1:]].sum(axis=1)
        return cls(tags, scores, tokens.shape[1])

    @property
    def log_partition(self) -> float:
        return float(logsumexp(self.scores))

    def posterior(self, known: FloatArray | None = None) -> tuple[float, FloatArray, FloatArray]:
        """Log Σ known · e^score, and how often tokens have tags, (L, K), and tags follow each other, (K, K)."""
        with np.errstate(divide="ignore"):
            scores = self.scores if known is None else self.scores + np.log(known)
        total = float(logsumexp(scores))
        p = np.exp(scores - total)
        single = np.stack([p @ (self.tags == k) for k in range(self.kinds)], axis=1)
        pairs = np.zeros((self.kinds, self.kinds))
        for t in range(1, self.tags.shape[1]):
            np.add.at(pairs, (self.tags[:, t - 1], self.tags[:, t]), p)
        return total, single, pairs


class BruteForce:
    """Value and gradient of a log-likelihood, as `ChainObjective` gives them."""

    def __init__(self, potentials: ChainPotentials) -> None:
        self.potentials, self.places = potentials, potentials.places
        kinds = len(potentials.first)
        self.value, self.pairs = 0.0, np.zeros((kinds, kinds))
        self.tables = {d: np.zeros(table.shape) for d, table in potentials.tables.items()}
        self.spread = {d: np.zeros(table.shape) for d, table in potentials.tables.items()}
        self.first, self.last = np.zeros(kinds), np.zeros(kinds)

    def sequences(self, start: int, end: int) -> Sequences:
        """Of the stretch start … end − 1 of the corpus."""
        given, rows = self.potentials, []
        for token in range(start, end):
            row = sum((table[self.places.rows[d][token]] for d, table in given.tables.items()), np.zeros(1))
            row = row + (given.first if self.places.is_first[token] else 0.0)
            rows.append(lifted(row + (given.last if self.places.is_last[token] else 0.0)))
        return Sequences.of(np.array(rows), lifted(given.edges))

    def add(self, start: int, end: int, known: Known, weight: float = 1.0) -> None:
        """Add weight · log P(what is known of a stretch); nothing where that is impossible."""
        found = self.sequences(start, end)
        chances = np.array([known(tuple(row)) for row in found.tags.tolist()])
        if not chances.any():
            return
        total, free, free_pairs = found.posterior()
        value, given, given_pairs = found.posterior(chances)
        self.value += weight * (value - total)
        self.pairs += weight * (given_pairs - free_pairs)
        for i, token in enumerate(range(start, end)):
            change = weight * (given[i] - free[i])
            for d, rows in self.places.rows.items():
                self.tables[d][rows[token]] += change
                self.spread[d][rows[token]] += free[i] * (1 - free[i])
            self.first += change * self.places.is_first[token]
            self.last += change * self.places.is_last[token]

    def agrees_with(self, found: Gradient, tolerance: float = 1e-10) -> None:
        """Compare values and gradients."""
        assert abs(found.value - self.value) <= tolerance * max(1.0, abs(self.value))
        for mine, theirs in (
            *((self.tables[d], found.tables[d]) for d in self.tables),
            (self.pairs, found.pairs),
            (self.first, found.first),
            (self.last, found.last),
        ):
            np.testing.assert_allclose(theirs, mine, rtol=0, atol=tolerance * max(1.0, np.abs(mine).max()))


# -- what is known -----------------------------------------------------------------------------------------------------


def has_tags(tags: Sequence[int] | AnyArray) -> Known:
    """All tags are known."""
    wanted = tuple(int(tag) for tag in tags)
    return lambda found: float(found == wanted)


def has_allowed(allowed: AnyArray) -> Known:
    """Tags that tokens may have, shape (L, K)."""
    return lambda found: float(all(allowed[i, tag] for i, tag in enumerate(found)))


def is_counted(
    regions: RegionCounts,
    number: int,
    start: int,
    missed: float = 0.0,
    extra: float = 0.0,
    allowed: AnyArray | None = None,
) -> Known:
    """The counts of a region within the stretch from `start` on, by all patterns of errors.

    Args:
        regions: all of them.
        number: of the region.
        start: where the stretch begins.
        missed: the probability that a token with a tag that was looked for is not counted.
        extra: the probability that one of a tag that was looked for is counted too many.
        allowed: tags that tokens of the region may have, shape (L, K); None: all.
    """
    region, names = regions.region(number), regions.tagset
    asked = [k for k, name in enumerate(names) if region.closed or name in region.counts]
    told = {k: region.counts.get(names[k], 0) for k in asked}
    length, offset = region.end - region.start, int(regions.start[number]) - start
    least = sum(count if isinstance(count, int) else int(count[0] or 0) for count in told.values())
    most_missed = max(length - least, 0) + SPARE_MISSES

    @cache
    def chance(tags: tuple[int, ...]) -> float:
        looked_for = [tag for tag in tags if tag in told]
        total = 0.0
        for pattern in itertools.product((False, True) if missed else (False,), repeat=len(looked_for)):
            lost = sum(pattern)
            seen = [tag for tag, gone in zip(looked_for, pattern, strict=True) if not gone]
            p = missed**lost * (1 - missed) ** len(seen) if lost <= most_missed else 0.0
            for k, count in told.items():
                p *= _agreement(count, seen.count(k), extra)
            total += p
        return total

    def known(found: tuple[int, ...]) -> float:
        inside = found[offset : offset + length]
        if allowed is not None and not all(allowed[i, tag] for i, tag in enumerate(inside)):
            return 0.0
        return chance(tuple(sorted(inside)))

    return known


def _agreement(count: Count, seen: int, extra: float) -> float:
    """The probability of a count given how many were seen; a range is one wider below where there are extras."""
    if isinstance(count, tuple):
        low, high = int(count[0] or 0), int(count[1] or 0)
        return float(max(low - (extra > 0), 0) <= seen <= high)
    return {0: 1 - extra, 1: extra}.get(count - seen, 0.0)


# -- problems ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Chain:
    """A small labelled corpus with scores."""

    corpus: Corpus
    potentials: ChainPotentials
    rng: np.random.Generator

    @property
    def kinds(self) -> int:
        return len(self.corpus.tagset)

    def layout(self, size: int = 256) -> ChainLayout:
        """Of all sentences that have tokens."""
        filled = np.flatnonzero(self.corpus.lengths)
        return ChainLayout.of(self.corpus.starts[filled], self.corpus.starts[filled + 1], size)

    def stretches(self, count: int) -> tuple[IntArray, IntArray]:
        """Some stretches of sentences, which may overlap."""
        filled = np.flatnonzero(self.corpus.lengths)
        first, last = [], []
        for sentence in self.rng.choice(filled, count) if len(filled) else ():
            start = int(self.rng.integers(self.corpus.lengths[sentence]))
            base = int(self.corpus.starts[sentence])
            first.append(base + start)
            last.append(base + int(self.rng.integers(start, self.corpus.lengths[sentence])) + 1)
        return np.array(first, dtype=np.int64), np.array(last, dtype=np.int64)


def random_chain(
    rng: np.random.Generator, lengths: Sequence[int], kinds: int, radius: int = 0, scales: Sequence[float] = (1, 1, 1)
) -> Chain:
    """Sentences of such lengths with random tags, and normal scores: of tables, of edges, of first and last tags."""
    words = [[str(word) for word in rng.choice(list("abcd"), size=length)] for length in lengths]
    names = [f"t{k}" for k in range(kinds)]
    tags = [[str(name) for name in rng.choice(names, size=length)] for length in lengths]
    corpus = Corpus.of(words, tags, tagset=names)
    places = TokenPlaces.of(corpus, (0, *(sign * d for d in range(1, radius + 1) for sign in (-1, 1))))
    tables = {d: np.zeros((places.types + 1, kinds)) for d in places.rows}
    for table in tables.values():
        table[:-1] = scales[0] * rng.normal(size=(places.types, kinds))
    edges = scales[1] * rng.normal(size=(kinds, kinds))
    first, last = scales[2] * rng.normal(size=(2, kinds))
    return Chain(corpus, ChainPotentials(places, tables, edges, first, last), rng)


@st.composite
def chains(draw: st.DrawFn, scales: Sequence[float] = (0.5, 3.0)) -> Chain:
    """Up to four sentences of up to four words, some of them empty; K = 1 … 4, radius 0 … 2."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    scale = st.sampled_from(scales)
    return random_chain(
        rng, lengths, draw(st.integers(1, 4)), draw(st.integers(0, 2)), (draw(scale), draw(scale), draw(scale))
    )


def random_regions(
    chain: Chain,
    count: int,
    *,
    partial: bool = True,
    ranges: bool = True,
    whole: bool = False,
    missed: FloatArray | None = None,
    extra: FloatArray | None = None,
) -> RegionCounts:
    """Stretches of sentences with their counts: some closed, some of a few tags, some of whole sentences; weighted.

    Args:
        chain: whose tags are counted.
        count: how many, if there is any token.
        partial: whether some are of a few tags only.
        ranges: whether some counts are ranges.
        whole: whether all are of whole sentences; one in three is anyway.
        missed: of every region, the probability that a token is missed.
        extra: of every region, the probability that one is counted too many.
    """
    rng, corpus, found = chain.rng, chain.corpus, []
    for r, (start, end) in enumerate(zip(*chain.stretches(count), strict=True)):
        sentence = int(np.searchsorted(corpus.starts, start, side="right")) - 1
        base, size = int(corpus.starts[sentence]), int(corpus.lengths[sentence])
        first, last = (0, size) if whole or rng.integers(3) == 0 else (int(start) - base, int(end) - base)
        truth = np.bincount(corpus.require_tags()[base + first : base + last], minlength=chain.kinds)
        closed, told = not partial or bool(rng.integers(2)), {}
        wrong = last - first > 1  # what is known of a single token is never miscounted
        m, q = (0.0 if each is None or not wrong else float(each[r]) for each in (missed, extra))
        for k, name in enumerate(corpus.tagset):
            if not closed and rng.integers(2):
                continue
            n = int(rng.binomial(truth[k], 1 - m) + (rng.random() < q))
            ranged = ranges and rng.integers(3) == 0 and n <= last - first
            told[name] = (max(n - 1, 0), n + 1) if ranged else n
        found.append(Region(sentence, first, last, told, closed, float(rng.integers(1, 4)) / 2))
    return RegionCounts.of(corpus, corpus.tagset, found, may_miscount=missed is not None or extra is not None)
