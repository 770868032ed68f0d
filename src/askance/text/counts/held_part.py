"""A part of the regions that an engine holds: plain arrays, and the sums over it that passes ask for.

What a pass is sent, and what it gives back, has a row for every type and a column for every tag: p(tag | type) goes
there, expected counts come back, of the types that a part has. Reduced by the design matrix they would be larger, not
smaller, since most words have a feature of their own. Numbers are rounded to a grid first (`exact_sums`), so that sums
are exact: no bit depends on how regions are divided into files, nor on who adds which of them.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray, SparseRows
from askance.evidence.exact_sums import rounded
from askance.evidence.totals import KeyedSums, merge_keyed
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.equations import CountEquations, told_tokens
from askance.text.counts.likelihood import CountLikelihood, Method
from askance.text.counts.miscounts import MiscountsBy, require_rates

#: Sums over everything, and sums of types, shape (types, …), by their keys.
Sums: TypeAlias = tuple[FloatArray, KeyedSums]
# A log-likelihood is above minus this, for every token: log 1e-30 is −69.
_LOWEST = 1024.0
# Rows whose features are multiplied at a time.
_ROWS = 8192


@dataclass(frozen=True)
class Preparation:
    """What is worked out of regions before the first pass.

    Attributes:
        miscounts: how often people miscount.
        method: how the likelihood of counts is worked out; None: it is not wanted.
        tolerance: of the likelihood.
    """

    miscounts: MiscountsBy | None
    method: Method | None
    tolerance: float

    def __call__(
        self, regions: RegionCounts, left_out: int = 0, messages: tuple[str, ...] = ()
    ) -> tuple[AnyArray, ...]:
        """What an engine holds of a part: plain arrays; `left_out` lines were not read, for the reasons told."""
        regions = regions.with_positive_weight()
        if self.method is not None:
            require_rates(regions, self.miscounts)
        covered = np.flatnonzero(regions.token_counts)
        words = [regions.corpus.words[t] for t in covered.tolist()]
        keys = keys_of(words)
        order = np.argsort(keys)
        code = np.zeros(len(regions.corpus.words), dtype=np.int32)
        code[covered[order]] = np.arange(len(order))
        corpus = replace(
            regions.corpus, words=("",) * len(words), tokens=code[regions.corpus.tokens], ids=(), tags=None
        )
        part = Part.of(replace(regions, corpus=corpus), keys[order], self)
        sizes = np.append(part.summary.sizes, left_out)
        part = replace(part, summary=part.summary._replace(sizes=sizes, messages=frozenset(messages)))
        return (*_arrays_of(part), np.frombuffer(pickle.dumps([words[i] for i in order.tolist()]), np.uint8))


def keys_of(words: Sequence[str]) -> npt.NDArray[np.uint64]:
    """64 bits of the digest of every word: the order of types, which is the same wherever they are met."""
    digests = b"".join(hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(digests, dtype=np.dtype("<u8")).astype(np.uint64)


def _arrays_of(thing: Any) -> tuple[AnyArray, ...]:
    """An object as the arrays that it consists of, after a small one that says how: engines can move and measure it."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return (*(np.asarray(buffer.raw()) for buffer in buffers), np.frombuffer(head, np.uint8))


def _thing_of(arrays: Sequence[AnyArray]) -> Any:
    """The object again, without copies; but arrays that moved begin anywhere, or may not be written."""
    *pieces, head = arrays
    fit = [piece if piece.flags.writeable and piece.ctypes.data % 16 == 0 else piece.copy() for piece in pieces]
    return pickle.loads(head.tobytes(), buffers=fit)


class Summary(NamedTuple):
    """What is known of all regions, labelled tokens included; of several parts together it does not depend on them."""

    #: Regions, labels, other single tokens, tokens, exact regions, those that are no labels, and of two tokens or more:
    #: closed ones, and all; lines that were left out.
    sizes: IntArray
    asked: npt.NDArray[np.bool_]  # which tags somebody looked for, shape (K,)
    heaviest: float  # the largest weight of a region
    longest: int  # tokens of the longest region
    annotators: frozenset[str]
    words: frozenset[str]
    messages: frozenset[str]  # why something was left out when files were read

    @property
    def longer(self) -> tuple[int, int]:
        """Of the regions of two tokens or more, how many are closed, and how many there are."""
        return int(self.sizes[6]), int(self.sizes[7])

    @property
    def left_out(self) -> int:
        """How many lines and annotations were left out when files were read."""
        return int(self.sizes[8])

    def joined(self, other: Summary) -> Summary:
        """Of both together."""
        largest = max(self.heaviest, other.heaviest), max(self.longest, other.longest)
        names = self.annotators | other.annotators, self.words | other.words, self.messages | other.messages
        return Summary(self.sizes + other.sizes, self.asked | other.asked, *largest, *names)


@dataclass(frozen=True)
class Part:
    """Regions of a part, made ready: labelled tokens as sums of their types, the others as rows and as a likelihood.

    Attributes:
        keys: of its types, in order, shape (A,).
        summary: without words.
        told: type, tag, whether it is a label, weight and number of tokens whose tag is certain, five arrays.
        rows: the equations of the regions of two tokens or more; None: there are none.
        said: their Ω N.
        weights: of these regions.
        single: of every single token that is no label its type, and its Ω, Ω N and weight, shape (n, 2 K + 1); None:
            there are none.
        likelihood: of all regions but labels; None where there are none, or it is not wanted.
    """

    keys: npt.NDArray[np.uint64]
    summary: Summary
    told: tuple[AnyArray, ...]
    rows: CountEquations | None
    said: SparseRows | None
    weights: FloatArray
    single: tuple[IntArray, FloatArray] | None
    likelihood: CountLikelihood | None

    @classmethod
    def of(cls, regions: RegionCounts, keys: npt.NDArray[np.uint64], how: Preparation) -> Part:
        """From regions whose types stand in the order of their keys."""
        single = regions.lengths == 1
        told = np.bincount(regions.entry_region, regions.low, len(regions)) == 1
        labelled = single & told & regions.closed & (np.diff(regions.offsets) == 1)
        labels, counted = regions.take(labelled), regions.take(~labelled)
        cells = [_cells(own, how.miscounts, is_label) for own, is_label in ((labels, True), (counted, False))]
        likelihood = None
        if len(counted) and how.method is not None:
            options: dict[str, Any] = {"method": how.method, "tolerance": how.tolerance, "labels_apart": False}
            likelihood = CountLikelihood(counted, miscounts=how.miscounts, threads=1, **options)
        exact = len(labels) + (0 if likelihood is None else likelihood.sizes[1])
        longer = regions.closed[~single]
        sizes = [len(regions), regions.labelled, int(single.sum()) - regions.labelled, int(regions.lengths.sum())]
        summary = Summary(
            np.array([*sizes, exact, len(counted), int(longer.sum()), len(longer)]),
            regions.asked,
            float(regions.weights.max(initial=0.0)),
            int(regions.lengths.max(initial=0)),
            frozenset(regions.annotators),
            frozenset(),
            frozenset(),
        )
        told_by = tuple(np.concatenate(pair) for pair in zip(*cells, strict=True))
        several = regions.take(~single)
        alone = _single_tokens(regions.take(single & ~labelled), how.miscounts)
        return cls(keys, summary, told_by, *_rows(several, how.miscounts), several.weights, alone, likelihood)

    def _of_types(self, table: AnyArray) -> KeyedSums:
        assert self.rows is not None
        return KeyedSums(self.keys[self.rows.types], np.asarray(self.rows.matrix.T @ table))

    def cover(self, grid: float) -> Sums:
        """By type: how much weight regions have, and Rᵀω and RᵀωR1; of all: Σω, Σω by length, and Σ Ω of every tag."""
        assert self.rows is not None
        lengths, largest = np.asarray(self.rows.matrix.sum(axis=1)), rounded(self.rows.row_weights, grid)
        sums = self._of_types(np.column_stack([rounded(self.weights, grid), largest, largest * lengths]))
        of_tags = rounded(self._weights, grid).sum(axis=0)
        return np.concatenate([[largest.sum(), (largest * lengths).sum()], of_tags]), sums

    def singles(self, grid: float) -> Sums:
        """By type: Ω and Ω N of single tokens that are no labels, and their weight."""
        assert self.single is not None
        table = np.zeros((len(self.keys), self.single[1].shape[1]))
        np.add.at(table, self.single[0], rounded(self.single[1], grid))
        return np.zeros(1), KeyedSums(self.keys, table)

    def target(self, grid: float) -> Sums:
        """RᵀΩN."""
        assert self.said is not None
        return np.zeros(1), self._of_types(rounded(self.said.toarray(), grid))

    def heights(self, grid: float) -> Sums:
        """(R∘R)ᵀΩ."""
        assert self.rows is not None
        squares = self.rows.matrix.multiply(self.rows.matrix)
        return np.zeros(1), KeyedSums(self.keys[self.rows.types], squares.T @ rounded(self._weights, grid))

    def image(self, grid: float, keys: AnyArray, table: AnyArray) -> Sums:
        """RᵀΩRW of a table of all types."""
        assert self.rows is not None
        own = table[np.searchsorted(keys, self.keys[self.rows.types])].astype(np.float64)
        fitted = np.asarray(self.rows.matrix @ own)
        if self.rows.weights is not None:
            fitted *= self.rows.weights
        return np.zeros(1), self._of_types(rounded(fitted, grid))

    def gram(self, grid: float, keys: AnyArray, columns: SparseRows) -> Sums:
        """BᵀRᵀωRB of columns of zeros and ones, given as rows over all types."""
        assert self.rows is not None
        own = columns[:, np.searchsorted(keys, self.keys[self.rows.types])]
        largest, gram = rounded(self.rows.row_weights, grid), np.zeros((columns.shape[0],) * 2)
        for first in range(0, len(largest), _ROWS):
            dense = (own @ self.rows.matrix[first : first + _ROWS].T).toarray()
            gram += (dense * largest[first : first + _ROWS]) @ dense.T
        return gram, KeyedSums(self.keys[:0], np.zeros((0, 1)))

    def expected(self, grid: float, keys: AnyArray, p: AnyArray) -> Sums:
        """The log-likelihood at p of all types, and expected counts."""
        assert self.likelihood is not None
        own = p[np.searchsorted(keys, self.keys)]
        value, counts = self.likelihood.rounded_sums(own, grid, _LOWEST * grid)
        return np.array([value]), KeyedSums(self.keys, counts)

    def known(self, grid: float, labels_only: bool = False) -> Sums:
        """Tokens whose tag is certain, by type and tag."""
        types, tags, is_label, weight, times = self.told
        table = np.zeros((len(self.keys), len(self.summary.asked)))
        chosen = is_label if labels_only else np.ones(len(types), dtype=bool)
        np.add.at(table, (types[chosen], tags[chosen]), (rounded(weight, grid) * times)[chosen])
        return np.zeros(1), KeyedSums(self.keys, table)

    @cached_property
    def _weights(self) -> AnyArray:
        assert self.rows is not None
        return np.ones(self.said.shape) if self.rows.weights is None else self.rows.weights  # type: ignore[union-attr]


def _cells(regions: RegionCounts, miscounts: MiscountsBy | None, labels: bool) -> tuple[AnyArray, ...]:
    """Tokens whose tag is certain, equal ones as one: type, tag, whether they are labels, weight, and how many."""
    types, tags, weights = told_tokens(regions, miscounts)
    different, which = np.unique(weights, return_inverse=True)
    shape = len(regions.corpus.words), len(regions.tagset), max(len(different), 1)
    cells, times = np.unique(np.ravel_multi_index((types, tags, which), shape), return_counts=True)
    types, tags, which = np.unravel_index(cells, shape)
    return types, tags, np.full(len(cells), labels), different[which], times


def _rows(regions: RegionCounts, miscounts: MiscountsBy | None) -> tuple[CountEquations | None, SparseRows | None]:
    """Equations without their right side, and that by itself, Ω N, which is 0 nearly everywhere."""
    from scipy import sparse

    if not len(regions):
        return None, None
    rows = CountEquations.of(regions, dtype=np.float64, merge_single=False, miscounts=miscounts)
    said = sparse.csr_array(rows.response if rows.weights is None else rows.response * rows.weights)
    return replace(rows, response=np.zeros((0, len(regions.tagset)))), said


def _single_tokens(regions: RegionCounts, miscounts: MiscountsBy | None) -> tuple[IntArray, FloatArray] | None:
    if not len(regions):
        return None
    rows = CountEquations.of(regions, dtype=np.float64, merge_single=False, miscounts=miscounts)
    weights = np.ones(rows.response.shape) if rows.weights is None else rows.weights
    return rows.types[rows.matrix.indices], np.column_stack([weights, rows.response * weights, regions.weights])


@dataclass(frozen=True)
class Pass:
    """A sum over a part, by name, with tables of all types; small but for these."""

    name: str
    grid: float = 0.0
    tables: tuple[Any, ...] = ()
    of: str = "rows"

    @property
    def parameter_bytes(self) -> int:
        """Of the tables."""
        return len(pickle.dumps(self.tables, protocol=5)) if self.tables else 0

    def __call__(self, arrays: tuple[AnyArray, ...]) -> Sums:
        """Of what an engine holds of a part."""
        part: Part = _thing_of(arrays[:-1])
        if getattr(part, self.of) is None:
            return np.zeros(()), KeyedSums(part.keys[:0], np.zeros((0, 1)))
        sums: Sums = getattr(part, self.name)(self.grid, *self.tables)
        return sums


def joined_sums(one: Sums, other: Sums) -> Sums:
    """Of both parts: exact sums, in every order."""
    sums = [own for _, own in (one, other) if len(own.keys)]
    return one[0] + other[0], merge_keyed(*sums) if len(sums) == 2 else sums[0] if sums else one[1]


def summary_of(arrays: tuple[AnyArray, ...]) -> Summary:
    """Of what an engine holds of a part, with its words."""
    part: Part = _thing_of(arrays[:-1])
    return part.summary._replace(words=frozenset(pickle.loads(arrays[-1].tobytes())))
