"""Scores of a chain: of every token with every tag, of neighbouring tags, and of the first and last tag of a sentence.

    score(y | sentence) = first(y_1) + Σ_t s_t(y_t) + Σ_{t ≥ 2} e(y_{t−1}, y_t) + last(y_L),

where s_t = Σ_d A_d[word at t + d] has one table of scores for each distance d that features look at: d = 0 is the word
itself. A table has a row for every type of the corpus and a last one, of zeros, for what lies outside the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, IntArray
from askance.text.corpus.corpus import Corpus
from askance.text.node.tables import row_maxima

#: Factors below this (relative to the largest of their row) are taken as this: no sequence is quite impossible, and the
#: product of two such factors is still a number of 32 bits.
FLOOR = 1e-18


@dataclass(frozen=True, eq=False)
class TokenPlaces:
    """Where the scores of every token of a corpus are found."""

    # By distance d, the row of A_d for every token, shape (N,); distance 0 comes first.
    rows: dict[int, npt.NDArray[np.int32]]
    is_first: npt.NDArray[np.bool_]  # whether a token is the first of its sentence, shape (N,)
    is_last: npt.NDArray[np.bool_]  # whether it is the last, shape (N,)
    types: int  # T, rows of every table but the last

    @classmethod
    def of(cls, corpus: Corpus, distances: tuple[int, ...] = (0,)) -> TokenPlaces:
        """Of the tokens of a corpus.

        >>> TokenPlaces.of(Corpus.of([["a", "b"], ["b"]]), (0, 1)).rows
        {0: array([0, 1, 1], dtype=int32), 1: array([1, 2, 2], dtype=int32)}
        """
        n, outside = corpus.n_tokens, len(corpus.words)
        sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
        place = np.arange(n)
        rows = {0: corpus.tokens}
        for d in distances:
            if d:
                other = np.clip(place + d, 0, max(n - 1, 0))
                inside = (place + d == other) & (sentence[other] == sentence) if n else np.zeros(0, dtype=bool)
                rows[d] = np.where(inside, corpus.tokens[other], outside).astype(np.int32)
        first, last = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        filled = corpus.lengths > 0
        first[corpus.starts[:-1][filled]] = True
        last[corpus.starts[1:][filled] - 1] = True
        return cls(rows, first, last, outside)


@dataclass(frozen=True, eq=False)
class ChainPotentials:
    """Scores as factors: e^score, scaled so that nothing overflows."""

    places: TokenPlaces  # of the tokens
    tables: dict[int, AnyArray]  # A_d by distance, each of shape (T + 1, K)
    edges: AnyArray  # e(previous, next), shape (K, K)
    first: AnyArray  # shape (K,)
    last: AnyArray  # shape (K,)

    @cached_property
    def factors(self) -> AnyArray:
        """e^edges over its largest entry, shape (K, K)."""
        return np.asarray(np.maximum(np.exp(self.edges - self.edges.max()), self.edges.dtype.type(FLOOR)))

    @cached_property
    def transposed(self) -> AnyArray:
        """The same, next tag first."""
        return np.ascontiguousarray(self.factors.T)

    @cached_property
    def edge_shift(self) -> float:
        """What was taken from the score of every edge."""
        return float(self.edges.max())

    @cached_property
    def _by_type(self) -> tuple[AnyArray, AnyArray]:
        return _scaled(self.tables[0].copy())

    def scores(self, tokens: IntArray) -> AnyArray:
        """Scores of tokens, first and last of sentences included, shape (n, K)."""
        scores = self._added(tokens)
        for where, extra in ((self.places.is_first, self.first), (self.places.is_last, self.last)):
            scores[where[tokens]] += extra
        return scores

    def _added(self, tokens: IntArray) -> AnyArray:
        """Scores of the words in sight, shape (n, K)."""
        scores: AnyArray | None = None
        for distance, table in self.tables.items():
            here = np.take(table, self.places.rows[distance][tokens], axis=0)
            scores = here if scores is None else np.add(scores, here, out=scores)
        assert scores is not None
        return scores

    def rows(self, tokens: IntArray) -> tuple[AnyArray, AnyArray]:
        """Factors of tokens, shape (n, K), the largest of each being 1, and the logarithm taken out, shape (n,)."""
        places = self.places
        if len(self.tables) == 1:
            table, shift = self._by_type
            kinds = places.rows[0][tokens]
            factors, shifts = table[kinds], shift[kinds]
        else:
            factors, shifts = _scaled(self._added(tokens))
        if self.first.any() or self.last.any():
            ends = np.flatnonzero(places.is_first[tokens] | places.is_last[tokens])
            factors[ends], shifts[ends] = _scaled(self.scores(tokens[ends]))
        return factors, shifts


def _scaled(scores: AnyArray) -> tuple[AnyArray, AnyArray]:
    """e^(score − largest of its row), at least FLOOR, in place; and the largest of every row."""
    highest = row_maxima(scores).copy()  # with one tag these are the scores themselves
    scores -= highest
    np.maximum(scores, scores.dtype.type(np.log(FLOOR)), out=scores)
    return np.exp(scores, out=scores), highest[:, 0]
