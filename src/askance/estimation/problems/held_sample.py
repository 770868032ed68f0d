"""Respondents whose rows an engine holds: averages over them are passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance._checks import is_missing, shorten, shown
from askance.errors import InputError, MissingValueError
from askance.estimation.problems.sample import MOST_GROUPS, BlockCodes, Piece, Sample, column_of, label_of
from askance.evidence.chunks import Chunk, all_clusters
from askance.evidence.held import HeldResponses
from askance.models.softmax import Softmax


@dataclass(frozen=True)
class _OnPiece:
    """A function of pieces as one of chunks."""

    f: Callable[[Piece, slice], Any]
    exponent: int
    clusters: AnyArray | None

    def __call__(self, chunk: Chunk[Any]) -> Any:
        ones = np.ones(len(chunk))
        count = ones if chunk.multiplicity is None else chunk.multiplicity
        weight = ones if chunk.weights is None else np.ldexp(chunk.weights, -self.exponent)
        clusters = None if self.clusters is None else np.searchsorted(self.clusters, np.asarray(chunk.clusters))
        return self.f(Piece(chunk.x, count, weight, clusters, chunk.labels), slice(0, 0))


@dataclass(frozen=True)
class HeldSample(Sample):
    """A `Sample` without pieces: all it tells is summed where rows are."""

    evidence: HeldResponses[Any] | None = None

    @classmethod
    def of(cls, evidence: HeldResponses[Any]) -> HeldSample:
        """Those who gave the reports."""
        alone = cls((), evidence=evidence)
        return alone if evidence.strata is None else replace(alone, strata=evidence.strata.of(alone._clusters))

    @property
    def _rows(self) -> HeldResponses[Any]:
        assert self.evidence is not None
        return self.evidence

    def _sum(self, f: Callable[[Piece, slice], Any], merge: Callable[[Any, Any], Any], by_cluster: bool = False) -> Any:
        """One pass over the rows; the labels of all clusters are looked for where they are needed, in another."""
        return self._rows.total(_OnPiece(f, self._rows.weighing[0], self._clusters if by_cluster else None), merge)

    @cached_property
    def _clusters(self) -> AnyArray:
        """Labels of all clusters, in order."""
        return all_clusters(self._rows)

    @property
    def has_clusters(self) -> bool:
        """Whether respondents were drawn in clusters."""
        return self._rows.head.clusters is not None

    @property
    def n_rows(self) -> int:
        """Rows, folded ones counted once."""
        return self._rows.n_rows

    @property
    def n_columns(self) -> int:
        """p."""
        return int(self._rows.head.x.shape[1])

    def grouped(self, by: Any, model: Softmax) -> tuple[HeldSample, tuple[tuple[Any, ...], BlockCodes]]:
        """The respondents with labels of groups, the groups, and what tells the group of a row.

        Args:
            by: nothing, the name or number of a column of x, or the name of a column of the files.
            model: names the columns of x.
        """
        if by is None:
            return self, (("all",), _Everybody())
        if isinstance(by, str) and by not in model.terms:
            sample = replace(self, evidence=self._rows.labelled(by))
            labels = _OfLabels()
        elif isinstance(by, str) or (isinstance(by, int) and 0 <= by < len(model.terms)):
            sample, labels = self, _OfLabels(model.terms.index(by) if isinstance(by, str) else by)
        else:
            raise InputError(
                argument="by",
                got=shown(by),
                allowed=f"a column of the files, or of x ({shorten(model.terms)})",
                remedy="Name a column: rows that an engine holds have no order that labels could follow.",
            )
        names = np.asarray(sample.total(partial(_distinct, labels=labels), np.union1d))
        if any(map(is_missing, names.tolist())):
            raise MissingValueError("holds missing labels", argument="by", remedy="Leave these rows out.")
        if len(names) > MOST_GROUPS:
            raise InputError(
                f"has {len(names)} different values",
                argument="by",
                allowed=f"at most {MOST_GROUPS}",
                remedy="Cut the values into brackets, in a column of the files.",
            )
        return sample, (tuple(map(label_of, names.tolist())), replace(labels, names=names))


def _distinct(block: Piece, place: slice, labels: _OfLabels) -> AnyArray:
    return np.unique(labels.read(block))


@dataclass(frozen=True)
class _Everybody:
    def of(self, block: Piece) -> IntArray:
        return np.zeros(len(block.count), dtype=np.int64)


@dataclass(frozen=True)
class _OfLabels:
    """Groups by column of x, or by labels that were read with the rows."""

    column: int | None = None
    names: AnyArray | None = None

    def read(self, block: Piece) -> AnyArray:
        return np.asarray(block.labels) if self.column is None else column_of(block.x, self.column)

    def of(self, block: Piece) -> IntArray:
        assert self.names is not None
        return np.asarray(np.searchsorted(self.names, self.read(block)))
