"""Reports about tables of hidden variables, with the public covariates of those who gave them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from askance._arrays import FloatArray
from askance._checks import as_floats, shown
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.reports import Reports, require_reports
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, MissingValueError, ShapeError
from askance.models.softmax import Covariates


@dataclass(frozen=True, eq=False)
class FieldResponses:
    """Reports of clique release, each with the covariates x of its respondent: x is open, the record is not.

    A value like `StatisticsTally`: `add` and `merge` return new evidence that shares the rows, which are kept because a
    fit with covariates needs them; x is not copied, so do not change the array afterwards.

    Args:
        channel: how records were seen.
        chunks: x (n, p) and reports of the same n respondents, checked by `add`.
        terms: names of the columns of x, where it came with names (data frames); the fit then goes by them.

    >>> channel = CliqueRelease([2, 3], [[0, 1]], 1)
    >>> rng = np.random.default_rng(0)
    >>> here = FieldResponses(channel).add([[1.0], [2.5]], channel.simulate([[0, 2], [1, 1]], rng))
    >>> there = FieldResponses(channel).add([[0.5]], channel.simulate([[0, 0]], rng))
    >>> (here + there).n_observations
    3
    """

    channel: CliqueRelease
    chunks: tuple[tuple[FloatArray, Reports], ...] = field(default=())
    terms: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.channel, CliqueRelease):
            raise InputError(
                f"channel is {shown(self.channel)}; allowed with covariates: a CliqueRelease.",
                remedy="Collect with CliqueRelease(field.sizes, field.cliques, level).",
            )

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return sum(len(reports) for _, reports in self.chunks)

    def add(self, x: Covariates, reports: Reports) -> Self:
        """This evidence and more reports.

        Args:
            x: covariates, shape (n, p), finite.
            reports: through the channel, of the same n respondents in the same order.
        """
        checked = require_reports(reports, self.channel)
        terms = _names_of(x)
        if self.chunks and terms is not None and self.terms is not None and terms != self.terms:
            raise ShapeError(
                f"x has the columns {shown(list(terms))}, the evidence so far {shown(list(self.terms))}.",
                remedy="Give the same columns in the same order.",
            )
        rows = _read_covariates(x, len(checked))
        if self.chunks and rows.shape[1] != self.chunks[0][0].shape[1]:
            raise ShapeError(
                f"x has {rows.shape[1]} columns, the evidence so far {self.chunks[0][0].shape[1]}.",
                remedy="Give the same columns in the same order.",
            )
        chunks = (*self.chunks, (rows, checked)) if len(checked) else self.chunks
        return type(self)(self.channel, chunks, self.terms if terms is None else terms)

    def for_purpose(self, purpose: str) -> Self:
        """This evidence, of those variables: where nothing says of which it is; refused where it is of others."""
        chunks = tuple((x, reports.for_purpose(purpose)) for x, reports in self.chunks)
        return type(self)(self.channel.named(purpose), chunks, self.terms)

    def merge(self, other: Self) -> Self:
        """The evidence of both; refused when the channels or the numbers of columns differ."""
        if not isinstance(other, FieldResponses):
            raise IncompatibleEvidenceError(
                f"cannot merge reports with {shown(other)}; allowed: FieldResponses.",
                remedy="Add rows with add(x, reports).",
            )
        self.channel.require_same(other.channel)
        if self.terms is not None and other.terms is not None and self.chunks and self.terms != other.terms:
            raise IncompatibleEvidenceError(
                f"x has the columns {shown(list(self.terms))} here and {shown(list(other.terms))} there.",
                remedy="Give the same columns in the same order.",
            )
        merged = self
        for rows, reports in other.chunks:
            merged = merged.add(rows, reports)
        return type(self)(merged.channel, merged.chunks, self.terms if other.terms is None else other.terms)

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, FieldResponses) else NotImplemented

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum(parts) works

    def joined(self) -> tuple[FloatArray, Reports]:
        """All rows of x (n, p) and their reports, in the order in which they were added."""
        if not self.chunks:
            raise EmptyDataError("there are no reports.", remedy="Add rows with add(x, reports) before estimating.")
        if len(self.chunks) == 1:
            return self.chunks[0]
        return np.concatenate([x for x, _ in self.chunks]), Reports.join([reports for _, reports in self.chunks])

    def __repr__(self) -> str:
        return f"FieldResponses({self.n_observations} reports through {self.channel!r})"


def _names_of(x: object) -> tuple[str, ...] | None:
    """The names of columns, where x has some."""
    names = getattr(x, "columns", None)
    return tuple(names) if names is not None and all(isinstance(name, str) for name in names) else None


def _read_covariates(x: Covariates, n: int) -> FloatArray:
    rows = as_floats(x.toarray() if hasattr(x, "toarray") else x, "x")
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ShapeError(f"x has shape {rows.shape}; allowed: (reports, columns).", remedy="Give a table.")
    if len(rows) != n:
        raise ShapeError(f"x has {len(rows)} rows for {n} reports.", remedy="Give one row per report.")
    if not np.isfinite(rows).all():
        row, column = map(int, np.argwhere(~np.isfinite(rows))[0])
        raise MissingValueError(
            f"column {column} of row {row} of x is {rows[row, column]}; allowed: finite numbers.",
            remedy="Leave respondents with missing values out, and count them.",
        )
    return rows
