"""Bits of given means, drawn one by one: for statistics that are not 0 or 1."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray, WordArray
from askance._kernels import bits
from askance.channels.randomness import LONGEST_DRAW, WordSource


def draw_dense_bits(
    shares: FloatArray, lowest: int, span: int, source: WordSource, out: WordArray, *, compiled: bool
) -> None:
    """Set bit j of row i of `out` with probability (lowest + ⌊span · t_ij⌋)/2⁶², one random word for each.

    The coordinates of a row are drawn in stretches of whole words, rows in pieces: no draw exceeds the source.
    """
    flip = bits.flip_dense if compiled else bits.flip_dense_plain
    size = shares.shape[1]
    stretch = min(size, LONGEST_DRAW)
    rows = max(LONGEST_DRAW // stretch, 1)
    for start in range(0, len(shares), rows):
        for first in range(0, size, stretch):
            part = np.ascontiguousarray(shares[start : start + rows, first : first + stretch])
            words = slice(first // bits.WORD, bits.words_for(first + part.shape[1]))
            target = np.zeros((len(part), words.stop - words.start), dtype=np.uint64)
            flip(part, lowest, span, source(part.size), target)
            out[start : start + rows, words] = target
