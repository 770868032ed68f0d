"""Classes of words that keep the same company: what text without tags tells.

A word is described by the words that stand before and behind it, as far as these are frequent: how much more often than
by chance, max(0, log n(word, neighbour) n / (n(word) n(neighbour))). The directions in which words differ most (the
leading eigenvectors of the Gram matrix) are kept, rows are scaled to length 1, and k-means, started from the k most
frequent words, puts words into classes. There is no chance in it. A class is a feature that a word that was never
counted shares with words that were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.fields import REWRITE, Fields
from askance.text.corpus.corpus import Corpus

#: Numbers of classes that are usual: coarse and fine.
WORD_CLASSES = (40, 150)
# Neighbours that are looked at: so many of the most frequent words, before and behind; and dimensions that are kept.
_NEIGHBOURS, _DIMENSIONS = 500, 40
# A word is put into a class where its tokens weigh at least this much together.
_LEAST_TOKENS = 2.0
_ROUNDS, _MOST_CLASSES = 20, 10_000
# Words whose distances to all centres are held at a time.
_ROWS = 1 << 14


@dataclass(frozen=True, eq=False)
class WordClasses:
    """Classes of words, coarse and fine.

    Attributes:
        sizes: how many classes there are, for each division.
        classes: by word, its class in each division.

    >>> corpus = Corpus.of([["the", "dog", "barks"], ["the", "cat", "barks"], ["a", "dog", "sleeps"]] * 3)
    >>> found = WordClasses.learn(corpus, (3,)).classes
    >>> found["dog"] == found["cat"], found["dog"] == found["barks"]
    (True, False)
    """

    sizes: tuple[int, ...]
    classes: Mapping[str, tuple[int, ...]]

    @classmethod
    def learn(
        cls, corpus: Corpus, sizes: Sequence[int] = WORD_CLASSES, weight: npt.ArrayLike | None = None
    ) -> WordClasses:
        """From sentences.

        Args:
            corpus: only its words are used.
            sizes: how many classes, for each division; fewer words than that are one class each.
            weight: of every token of the corpus, shape (N,); default 1.
        """
        check_sizes(sizes)
        weights = np.ones(corpus.n_tokens) if weight is None else np.asarray(weight, dtype=np.float64)
        frequency = np.bincount(corpus.tokens, weights, len(corpus.words)).astype(np.float64)
        order = _by_frequency(corpus.words, frequency)
        chosen = order[frequency[order] >= _LEAST_TOKENS]
        vectors = _directions(_company(corpus, weights, order)[chosen])
        divisions = [_k_means(vectors, size).tolist() for size in sizes]
        names = (corpus.words[t] for t in chosen.tolist())
        return cls(tuple(sizes), dict(zip(names, zip(*divisions, strict=True), strict=False)))

    def of(self, words: Sequence[str], division: int) -> list[str | None]:
        """The class of every word in a division, as a text; None where it has none."""
        known = self.classes
        return [str(known[word][division]) if word in known else None for word in words]

    def specification(self) -> dict[str, Any]:
        """Plain values for a file; see `from_specification`."""
        return {"sizes": list(self.sizes), "classes": {word: list(own) for word, own in self.classes.items()}}

    @classmethod
    def from_specification(cls, specification: Mapping[str, Any]) -> WordClasses:
        """The classes that `specification` described."""
        fields = Fields(specification, "the classes of words")
        sizes, classes = fields.read("sizes", list), fields.read("classes", dict)
        for own in (sizes, *classes.values()):
            if not isinstance(own, list) or len(own) != len(sizes) or not all(type(number) is int for number in own):
                raise FormatError("the classes of words are no whole numbers.", remedy=REWRITE)
        return cls(tuple(sizes), {word: tuple(own) for word, own in classes.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordClasses) and (self.sizes, self.classes) == (other.sizes, other.classes)

    __hash__ = None  # type: ignore[assignment]


def check_sizes(sizes: Sequence[object]) -> None:
    """Refuse what are no numbers of classes."""
    for size in sizes:
        if type(size) is not int or not 2 <= size <= _MOST_CLASSES:
            raise InputError(
                f"a number of classes is {shown(size)}; allowed: whole numbers from 2 to {_MOST_CLASSES:,}.",
                remedy="Write classes=(40, 150).",
            )


def _by_frequency(words: Sequence[str], frequency: FloatArray) -> IntArray:
    """Types with a weight, the most frequent first, and by their letters where that is equal: no order of sentences."""
    present = np.flatnonzero(frequency > 0).tolist()
    return np.array(sorted(present, key=lambda t: (-frequency[t], words[t])), dtype=np.int64)


def _company(corpus: Corpus, weights: FloatArray, order: IntArray) -> Any:
    """How much more often than by chance each type stands behind and before frequent ones, sparse, (types, columns)."""
    from scipy import sparse

    types, n, top = len(corpus.words), corpus.n_tokens, order[:_NEIGHBOURS]
    column = np.full(types + 1, -1)
    column[top] = np.arange(len(top))
    column[types] = len(top)  # no word: the sentence begins or ends
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    rows, columns, values = [], [], []
    for step, offset in ((-1, 0), (1, len(top) + 1)):
        other = np.clip(np.arange(n) + step, 0, max(n - 1, 0))
        inside = (other == np.arange(n) + step) & (sentence[other] == sentence)
        beside = column[np.where(inside, corpus.tokens[other], types)]
        seen = (beside >= 0) & (weights > 0)
        rows.append(corpus.tokens[seen])
        columns.append(beside[seen] + offset)
        values.append(weights[seen])
    shape = (types, 2 * len(top) + 2)
    met = sparse.coo_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape).tocsr()
    met.sum_duplicates()
    met = met.tocoo()
    by_row, by_column = np.asarray(met.sum(axis=1)).ravel(), np.asarray(met.sum(axis=0)).ravel()
    row, column = met.coords
    more = np.log(met.data * float(met.data.sum()) / (by_row[row] * by_column[column]))
    return sparse.csr_array((np.maximum(more, 0.0), (row, column)), shape)


def _directions(company: Any) -> AnyArray:
    """Coordinates of words in the directions in which they differ most, rows of length 1, float32."""
    values, vectors = np.linalg.eigh((company.T @ company).toarray())
    kept = np.flatnonzero(values > 1e-9 * max(float(values[-1]), 1e-300))[-_DIMENSIONS:]
    points = np.asarray(company @ (vectors[:, kept] / values[kept] ** 0.25))  # left singular vectors × √ singular value
    # The sign of an eigenvector is arbitrary and does not matter to distances.
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points / np.maximum(lengths, 1e-12), dtype=np.float32)


def _k_means(points: AnyArray, count: int) -> IntArray:
    """The class of every point; centres start at the first points."""
    centres = points[:count].copy()
    own = np.zeros(len(points), dtype=np.int64)
    for _ in range(_ROUNDS):
        before = own
        half = (centres**2).sum(axis=1) / 2
        own = np.concatenate(
            [
                own[:0],
                *((points[i : i + _ROWS] @ centres.T - half).argmax(axis=1) for i in range(0, len(points), _ROWS)),
            ]
        )
        if np.array_equal(own, before):
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, own, points)
        sizes = np.bincount(own, minlength=len(centres))
        filled = sizes > 0
        centres[filled] = sums[filled] / sizes[filled, None]
    return own
