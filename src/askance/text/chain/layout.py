"""Stretches of sentences laid side by side, position by position: what is done at one is then a matrix product.

Stretches are sorted by length and cut into batches. The tokens of a batch are ordered by position: first the first
tokens of all its stretches, then the second tokens, … Since the longest come first, the stretches that still have a
token at position t are the first n_t of the batch, and their predecessors are the first n_t rows of position t − 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray

# Stretches side by side: enough for fast matrix products, few enough for the fast caches, and below the size from which
# linear algebra libraries start threads of their own.
_BATCH = 256


@dataclass(frozen=True, eq=False)
class Batch:
    """Stretches of about the same length."""

    stretches: IntArray  # their numbers, the longest first, shape (n_0,)
    tokens: IntArray  # the corpus token of every row, shape (rows,)
    starts: list[int]  # position t has the rows starts[t] … starts[t + 1] − 1, shape (positions + 1,)

    def positions(self) -> Iterator[tuple[slice, slice]]:
        """Rows of position t = 1, 2, …, and of their predecessors."""
        for before, here, after in zip(self.starts, self.starts[1:], self.starts[2:], strict=False):
            yield slice(here, after), slice(before, before + after - here)

    def backwards(self) -> Iterator[tuple[slice, slice]]:
        """The same from the last position to the second."""
        for t in range(len(self.starts) - 2, 0, -1):
            here, after, before = self.starts[t], self.starts[t + 1], self.starts[t - 1]
            yield slice(here, after), slice(before, before + after - here)

    def place(self, offset: npt.ArrayLike) -> IntArray:
        """The row of the token at a position of each stretch; one number per stretch, counted from its beginning."""
        return np.asarray(np.array(self.starts, dtype=np.int64)[np.asarray(offset)] + np.arange(len(self.stretches)))


@dataclass(frozen=True, eq=False)
class ChainLayout:
    """Stretches start[r] … end[r] − 1 of a corpus, in batches.

    >>> layout = ChainLayout.of(np.array([0, 3]), np.array([3, 5]))
    >>> batch = layout.batches[0]
    >>> batch.tokens, batch.starts
    (array([0, 3, 1, 4, 2]), [0, 2, 4, 5])
    """

    start: IntArray
    end: IntArray
    batches: tuple[Batch, ...]

    @classmethod
    def of(cls, start: IntArray, end: IntArray, size: int = _BATCH) -> ChainLayout:
        """Lay out stretches of at least one token each."""
        lengths = end - start
        order = np.argsort(-lengths, kind="stable")
        batches = []
        for first in range(0, len(order), size):
            chosen = order[first : first + size]
            own = lengths[chosen]
            alive = np.searchsorted(-own, -np.arange(int(own[0])), side="left")  # stretches longer than t
            starts = np.concatenate([[0], np.cumsum(alive)])
            position = np.repeat(np.arange(len(alive)), alive)
            tokens = start[chosen][np.arange(int(starts[-1])) - starts[:-1][position]] + position
            batches.append(Batch(chosen, tokens, starts.tolist()))
        return cls(start, end, tuple(batches))
