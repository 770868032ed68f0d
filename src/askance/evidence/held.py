"""Reports with covariates that stay where an engine holds them: on other machines, or in files that are read again."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import groupby
from operator import add as concatenated
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from askance._arrays import AnyArray, CodeArray, FloatArray, IntArray
from askance.categories import Label
from askance.errors import EmptyDataError, InputError
from askance.evidence.chunks import Chunk, joined_by_arm, thin
from askance.evidence.protocols import Engine, Held, require_engine
from askance.evidence.responses import Responses
from askance.evidence.tally import C, Tally
from askance.evidence.totals import Branches, Keyed, add, blocks_of, branches, grafted, merge_keyed, trunk

# Blocks of a part: with ten covariates 20 megabytes, which take a fraction of a second.
_BLOCKS = 32


class HeldPart(NamedTuple):
    """Some blocks of rows as plain arrays, which engines can move, measure and write to disk.

    Attributes:
        pieces: of every piece of one arm, the number of its block among all, its arm, and its first and last row here;
            shape (pieces, 4), by block. A block of several arms has several pieces.
        x: covariates, shape (n, p).
        codes: of the observations, shape (n,).
        multiplicity: how many equal rows were folded into each; None: 1.
        weights: sampling weights; None: 1.
        clusters: labels of clusters; None: everybody alone.
        labels: of groups that shares are asked of; None: of none.
    """

    pieces: IntArray
    x: FloatArray
    codes: CodeArray
    multiplicity: FloatArray | None = None
    weights: FloatArray | None = None
    clusters: AnyArray | None = None
    labels: AnyArray | None = None

    def chunks(self, arms: Sequence[Label]) -> Iterator[tuple[int, Chunk[Any]]]:
        """Every piece with the number of its block; rows of equal covariates and reports are one."""
        for block, arm, start, stop in self.pieces.tolist():
            rows = slice(start, stop)
            count, weights, clusters, labels = (None if part is None else part[rows] for part in self[3:])
            own = Chunk(self.x[rows], self.codes[rows], count, weights, clusters, arm=arms[arm], labels=labels)
            yield block, own


@dataclass(frozen=True)
class _OnPart:
    """A function of chunks, as a function of a part: what its blocks bring to the total."""

    f: Callable[[Chunk[Any]], Any]
    merge: Callable[[Any, Any], Any]
    arms: tuple[Label, ...]

    def __call__(self, part: tuple[Any, ...]) -> Branches:
        pieces = groupby(HeldPart(*part).chunks(self.arms), itemgetter(0))
        return branches(((number, map(itemgetter(1), own)) for number, own in pieces), self._of_block, self.merge)

    def _of_block(self, pieces: Iterator[Chunk[Any]]) -> Any:
        """Pieces of one block, one after the other."""
        return reduce(self.merge, map(self.f, pieces))


class _Summary(NamedTuple):
    """What is known of all rows: their number, counts of reports by arm, the largest weight, and Σ of all weights."""

    rows: int
    counts: dict[Label, IntArray]
    largest: float
    weight: float


def _summary(chunk: Chunk[Any], sizes: Mapping[Label, int]) -> _Summary:
    counted = np.bincount(chunk.codes, weights=chunk.multiplicity, minlength=sizes[chunk.arm])
    counts = {chunk.arm: np.rint(counted).astype(np.int64)}
    if chunk.weights is None:
        return _Summary(len(chunk), counts, 0.0, 0.0)
    weights = chunk.weights if chunk.multiplicity is None else chunk.weights * chunk.multiplicity
    return _Summary(len(chunk), counts, float(chunk.weights.max(initial=0.0)), float(weights.sum()))


def _both(one: _Summary, other: _Summary) -> _Summary:
    counts = dict(one.counts)
    for arm, more in other.counts.items():
        counts[arm] = counts[arm] + more if arm in counts else more
    return _Summary(one.rows + other.rows, counts, max(one.largest, other.largest), one.weight + other.weight)


class HeldResponses(Responses[C]):
    """`Responses` whose rows an engine holds: everything about them is found in passes over all of them.

    Bits do not depend on the engine, on how rows are divided into parts, or on who sums which of them.

    Args:
        channel: how everybody was seen, or {arm: channel}, as in `Responses`.
        held: parts, each a `HeldPart`.
        head: a chunk without rows that shows what chunks hold: covariates, weights, clusters.
        terms: names of the columns of x.
    """

    def __init__(
        self, channel: C | Mapping[Any, C], held: Held, head: Chunk[C], terms: tuple[str, ...] | None = None
    ) -> None:
        super().__init__(channel, (), terms)
        self._held, self._head = held, head
        #: Of rows from files: holds them again, with labels in the named column.
        self.reading: Callable[[str], Held] | None = None
        #: How many times all rows were gone through.
        self.passes = [0]
        # Functions for every arm in the order of all of them; `used` leaves some out.
        self._names = tuple(self.arms)
        sizes = {arm: len(its.observations) for arm, its in self.arms.items()}  # type: ignore[union-attr]
        self._summary: _Summary = self.total(partial(_summary, sizes=sizes), _both)
        if not self.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Give files that hold some.")
        if not np.isfinite(self._summary.weight):
            raise InputError(
                "weights add up to more than numbers can hold.", remedy="Divide them all by the largest of them."
            )

    @property
    def chunks(self) -> NoReturn:
        """Refused: the rows are not here."""
        raise InputError(
            "this needs the rows of the evidence, which an engine holds.",
            remedy="Take what is summed over rows, or fit a sample of the rows without an engine.",
        )

    @chunks.setter
    def chunks(self, chunks: object) -> None:
        """There are none here."""

    @property
    def head(self) -> Chunk[C]:
        """A chunk without rows."""
        return self._head

    @property
    def n_rows(self) -> int:
        """Rows, equal ones that were folded counted once."""
        return self._summary.rows

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return sum(int(counts.sum()) for counts in self._summary.counts.values())

    @property
    def weighing(self) -> tuple[int, float]:
        """As in `Responses`; scaled by a power of two, a sum keeps its digits."""
        exponent = math.frexp(self._summary.largest or 1.0)[1]
        return exponent, math.ldexp(self._summary.weight, -exponent)

    def of_channel(self, channel: Any) -> Any:
        """The reports through one of the channels, as a tally."""
        tally = Tally(channel)
        for arm, own in self.arms.items():
            if own.fingerprint == channel.fingerprint and arm in self._summary.counts:
                tally += Tally(channel, self._summary.counts[arm])
        return tally

    def total(
        self,
        f: Callable[[Chunk[C]], Any],
        merge: Callable[[Any, Any], Any] = add,
        by: Callable[[Chunk[C]], AnyArray] | None = None,
    ) -> Any:
        """f of every block of rows, put together in one order: a pass over all rows, where they are."""
        if by is not None:
            return self.total(Keyed(f, by), merge_keyed)
        self.passes[0] += 1
        return trunk(self._held.total(_OnPart(f, merge, self._names), partial(grafted, merge=merge)), merge)

    def labelled(self, column: str) -> Self:
        """The same rows, read again with their labels in a column; refused where rows came without names."""
        if self.reading is None:
            raise InputError(
                f"the rows that an engine holds have no column {column!r}.",
                remedy="Name a column of x, or fit from files.",
            )
        other = copy.copy(self)
        other._held = self.reading(column)
        return other

    def collapse(self) -> Self:
        """As it is: equal rows are folded within blocks, where they are read."""
        return self

    def used(self) -> Self:
        """The same evidence without the arms that nobody met."""
        other = copy.copy(self)
        met = {self.arms[arm].fingerprint for arm, counts in self._summary.counts.items() if counts.any()}
        other.arms = {arm: own for arm, own in self.arms.items() if own.fingerprint in met}
        return other

    def thinned(self, share: int) -> Any:
        """One row in `share` of every block, here."""
        chunks = self.total(partial(thin, share=share), concatenated)
        named = [replace(chunk, channel=self.arms[chunk.arm]) for chunk in chunks if len(chunk)]
        return Responses(self.arms, joined_by_arm(named), self.terms)


def on_engine(evidence: Responses[C], engine: Engine, blocks: int = _BLOCKS) -> HeldResponses[C]:
    """Rows that are here, spread over an engine in parts of so many blocks: the same bits as here.

    >>> from askance import Warner
    >>> from askance.scale import Here
    >>> here = Responses(Warner("2/3")).add([[1.0], [2.0]], ["no", "yes"])
    >>> on_engine(here, Here()).n_observations
    2
    """
    require_engine(engine)
    if isinstance(evidence, HeldResponses):
        return evidence
    if evidence.replication is not None or not evidence.chunks or not isinstance(evidence.head.x, np.ndarray):
        raise InputError(
            "evidence without rows, with replicate weights or with sparse covariates is not spread over an engine.",
            remedy="Leave the engine out.",
        )
    parts = [tuple(part) for part in _parts(evidence, blocks)]
    held = HeldResponses(evidence.arms, engine.hold(parts, _itself), evidence.head.take(slice(0, 0)), evidence.terms)
    held.strata = evidence.strata
    return held


def _parts(evidence: Responses[Any], blocks: int) -> Iterator[HeldPart]:
    names, number = list(evidence.arms), 0
    of_channel = {channel.fingerprint: arm for arm, channel in reversed(evidence.arms.items())}
    for chunk in evidence.chunks:
        arm = names.index(chunk.arm if chunk.arm in names else of_channel[chunk.channel.fingerprint])
        cuts = blocks_of(len(chunk))
        for first in range(0, len(cuts), blocks):
            own = cuts[first : first + blocks]
            start = own[0].start
            pieces = [[number + i, arm, cut.start - start, cut.stop - start] for i, cut in enumerate(own, first)]
            rows = chunk.take(slice(start, own[-1].stop))
            yield HeldPart(np.array(pieces), rows.x, rows.codes, rows.multiplicity, rows.weights, rows.clusters)
        number += len(cuts)


def _itself(part: Any) -> Any:
    return part
