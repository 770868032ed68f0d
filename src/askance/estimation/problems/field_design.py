"""Standardised covariates of a random field, and the reports of each clique with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels import bits
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.listed_table import ToldTable
from askance.channels.statistics.reports import Reports
from askance.models.random_field import RandomField

# Equal rows are folded into one when a sample of this many has at most this share of different ones.
_PROBED_ROWS = 2000
_WORTH_FOLDING = 0.5
#: A column is constant whose deviation is below this share of its size: it may be the rounding of its values.
CONSTANT = 1e-12


@dataclass(frozen=True)
class FieldDesign:
    """x̃ = (x − centre)/scale: steps and the prior then do not depend on units, and a year such as 2016 does no harm.

    A constant goes to where the model has one: to a constant column of x, or else to a table with the variable. Where
    some variable has neither, columns are scaled and not centred.

    Attributes:
        centre: shape (p,).
        scale: standard deviations, shape (p,); of constant columns, and where nothing is centred, the size.
        varying: which columns are not constant, shape (p,).
        to_theta: T, shape (d, d): θ = T η for parameters η of the field on x̃.
    """

    centre: FloatArray
    scale: FloatArray
    varying: AnyArray
    to_theta: FloatArray

    @classmethod
    def of(cls, field: RandomField, x: FloatArray) -> FieldDesign:
        """From the rows of x (n, p)."""
        mean, spread = x.mean(axis=0), x.std(axis=0)
        size = np.sqrt(mean**2 + spread**2)
        varying = spread > CONSTANT * size
        constants = np.flatnonzero(~varying & (size > 0))
        in_tables = {v for clique in field.cliques for v in clique}
        centred = constants.size > 0 or len(in_tables) == len(field.sizes)
        centre = np.where(varying & centred, mean, 0.0)
        scale = np.where(varying & centred, spread, np.where(size > 0, size, 1.0))
        anchor = (int(constants[0]), float(mean[constants[0]])) if constants.size else None
        return cls(centre, scale, varying, _to_theta(field, centre, scale, anchor))

    def standardised(self, x: FloatArray) -> FloatArray:
        """x̃, shape (n, p)."""
        return np.asarray((x - self.centre) / self.scale)

    def instruments(self, standardised: FloatArray) -> FloatArray:
        """1 and the columns that vary, centred or not, shape (n, 1 + their number)."""
        return np.column_stack([np.ones(len(standardised)), standardised[:, self.varying]])


def _to_theta(
    field: RandomField, centre: FloatArray, scale: FloatArray, anchor: tuple[int, float] | None
) -> FloatArray:
    matrix, places = np.eye(field.dimension), np.arange(field.dimension)
    for v in range(len(field.sizes)):
        blocks = field.coefficients(places, v).astype(np.int64)  # (p, size)
        matrix[blocks, blocks] = 1 / scale[:, None]
        for j in np.flatnonzero(centre):
            if anchor is not None:
                matrix[blocks[anchor[0]], blocks[j]] = -centre[j] / (scale[j] * anchor[1])
                continue
            number = next(i for i, clique in enumerate(field.cliques) if v in clique)
            cells = field.table(places, number).astype(np.int64)
            own = np.moveaxis(cells, field.cliques[number].index(v), 0).reshape(field.sizes[v], -1)
            matrix[own, blocks[j][:, None]] = -centre[j] / scale[j]
    return matrix


@dataclass(frozen=True)
class CliqueRows:
    """The reports about one clique, equal ones folded together where that pays.

    Attributes:
        clique: its number among those of all channels.
        release: how its cell was told.
        x: standardised covariates, shape (m, p).
        instruments: 1 and the columns that vary, shape (m, k).
        words: the bits of the reports, packed, shape (m, words).
        counts: how many reports each row stands for, shape (m,).
    """

    clique: int
    release: ToldTable
    x: FloatArray
    instruments: FloatArray
    words: AnyArray
    counts: FloatArray

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return round(float(self.counts.sum()))

    def sets(self, part: slice = slice(None)) -> FloatArray:
        """Reports as 0 and 1 by bit, shape (rows, bits); in subset selection, by cell."""
        return bits.unpack(self.words[part], self.release.bits).astype(np.float64)

    def thinned(self, most: int) -> CliqueRows:
        """At most so many rows, evenly spread."""
        if len(self.x) <= most:
            return self
        rows = np.linspace(0, len(self.x) - 1, most).astype(np.int64)
        columns = (self.x, self.instruments, self.words, self.counts)
        return CliqueRows(self.clique, self.release, *(column[rows] for column in columns))


def rows_by_clique(
    channel: CliqueRelease, design: FieldDesign, x: FloatArray, reports: Reports, before: int = 0
) -> list[CliqueRows]:
    """The rows of every clique that was drawn, in the order of the channel; cliques `before` it have other numbers."""
    result, standardised = [], design.standardised(x)
    cliques, words = reports.columns["clique"], reports.columns["subset"]
    for number, release in enumerate(channel.releases):
        own = np.flatnonzero(cliques == number)
        if len(own):
            first, counts = _folded(standardised[own], words[own])
            chosen = own[first]
            rows = standardised[chosen]
            result.append(CliqueRows(before + number, release, rows, design.instruments(rows), words[chosen], counts))
    return result


def _folded(x: FloatArray, words: AnyArray) -> tuple[IntArray, FloatArray]:
    """The first of every different row, and how many are equal to it."""
    rows = np.ascontiguousarray(np.column_stack([(x + 0.0).view(np.uint64), words]))  # −0 and 0 are one value
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    sample = keys[:: max(1, len(keys) // _PROBED_ROWS)]
    if len(np.unique(sample)) > _WORTH_FOLDING * len(sample):
        return np.arange(len(keys)), np.ones(len(keys))
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return first, counts.astype(np.float64)
