"""A random field, a level and what is known of θ, as a design problem over the rows of tables.

A report about a table c of some variables is a subset A of its cells, told e^α times as often where the true cell is in
it. A design says how much of every pair (c, A) is taken: x_{cA} ≥ 0 with Σ_A x_{cA} B_A(cell) = π_c for every cell of
table c, and Σ_c π_c = 1. With h_c(cell) = Σ_{records in it} p(record) s(record), s the scores of the field, a report
carries the information g gᵀ/q with g = Σ_cell B_A(cell) h_c(cell): the same convex problem as for one channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shorten
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.cliques import CliqueTables
from askance.channels.statistics.listed_table import ToldTable
from askance.design.optimum.interior_point import Criterion, Optimum, minimise
from askance.design.optimum.prior import Prior
from askance.design.optimum.staircase import Subsets, all_subsets, first_subsets, interior_start, rows_of
from askance.errors import InputError, NotIdentifiedError
from askance.models.random_field import RandomField

#: Tables of up to so many cells have all their rows considered; of larger ones, some.
ALL_ROWS = 12
# Random directions along which the cells of larger ones are ordered; their rows are those beyond a threshold.
_DIRECTIONS = 8
# The relative gap the search stops at.
_TOLERANCE = 1e-6
# Cells below, at a guess, are impossible for all that respondents can tell.
_LEAST_PROBABILITY = 1e-8
# Directions in which records vary less than this part of the most are none.
_SCORE = 1e-9
# Reports of a table that are summed over.
_MOST_REPORTS = 20_000


class Part(NamedTuple):
    """One table that may be asked for.

    Attributes:
        clique: its variables.
        subsets: the rows that are considered, shape (w, N).
        tangents: h_c at every point of the prior, shape (K, w, D).
        shares: of its cells at every point, shape (K, w).
    """

    clique: tuple[int, ...]
    subsets: Subsets
    tangents: FloatArray
    shares: FloatArray

    @property
    def cells(self) -> int:
        """w, how many it has."""
        return int(self.subsets.shape[0])


class CliqueProblem:
    """The rows of all tables that may be asked for, and the error of designs over them.

    Args:
        field: whose tables are to be learned.
        prior: where errors are looked at, K points.
        ratio: e^α.
        chosen: the variables of the tables that may be asked for.
    """

    def __init__(self, field: RandomField, prior: Prior, ratio: float, chosen: Sequence[tuple[int, ...]]) -> None:
        self.field, self.prior, self.ratio = field, prior, ratio
        model = field.enumerated()
        self._probabilities = np.array([model.probabilities(theta) for theta in prior.points])
        self._scores = [_scores(model.table, p) for p in self._probabilities]
        self._records = field.records()
        #: The tables whose cells are to be learned.
        self.own = tuple(clique for clique in field.cliques)
        self._require_probable()
        self._loadings = [np.concatenate(own).T for own in zip(*(self._tangents(c)[0] for c in self.own), strict=True)]
        self.parts = [self._part(clique) for clique in chosen]

    def _tangents(self, clique: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """h_c, (K, w, D), and the shares of the cells, (K, w)."""
        cell = CliqueTables(self.field.sizes, [clique]).cells_in_all(self._records)[:, 0]
        count = prod(self.field.sizes[v] for v in clique)
        indicator = np.zeros((count, len(cell)))
        indicator[cell, np.arange(len(cell))] = 1.0
        tangents = [(indicator * p) @ s for p, s in zip(self._probabilities, self._scores, strict=True)]
        return np.array(tangents), self._probabilities @ indicator.T

    def _require_probable(self) -> None:
        """Refuse a guess that leaves possible cells of the field's tables next to no probability."""
        for clique in self.own:
            cells = CliqueTables(self.field.sizes, [clique]).cells_in_all(self._records)[:, 0]
            shares = self._tangents(clique)[1][:, np.unique(cells)]
            if shares.min() < _LEAST_PROBABILITY:
                names = ", ".join(self.field.variables[v] for v in clique)
                raise InputError(
                    f"at this guess of θ a cell of the table of {names} has probability {shares.min():.2g}; allowed: "
                    f"at least {_LEAST_PROBABILITY:g}.",
                    remedy="Give a less extreme guess, or name impossible combinations when building the field.",
                )

    def _part(self, clique: tuple[int, ...]) -> Part:
        tangents, shares = self._tangents(clique)
        cells = shares.shape[1]
        if cells <= ALL_ROWS:
            subsets = all_subsets(cells)
        else:
            positions = np.concatenate(tangents / np.sqrt(shares.clip(1e-12))[:, :, None], axis=1).T
            subsets = first_subsets(positions, np.random.default_rng(0), _DIRECTIONS)
        return Part(clique, subsets, tangents, shares)

    def vectors(self, part: Part, rows: FloatArray) -> list[FloatArray]:
        """g/√q of rows (w, N) of a table, at every point of the prior, each (D, N)."""
        return [(h.T @ rows) / np.sqrt(p @ rows) for h, p in zip(part.tangents, part.shares, strict=True)]

    def solve(self) -> Optimum:
        """The design over all rows of all tables, one table after the other."""
        constraints = 1 + sum(part.cells - 1 for part in self.parts)
        blocks, starts, vectors, row = [], [], [], 1
        for part in self.parts:
            rows = rows_of(part.subsets, self.ratio)
            block = np.zeros((constraints, rows.shape[1]))
            # Every cell as often as the first; the first, over all tables, once.
            block[0], block[row : row + part.cells - 1] = rows[0], rows[1:] - rows[0]
            row += part.cells - 1
            blocks.append(block)
            starts.append(interior_start(part.subsets, self.ratio) / len(self.parts))
            vectors.append(self.vectors(part, rows))
        criteria = [
            Criterion(np.concatenate(own, axis=1), loading)
            for own, loading in zip(zip(*vectors, strict=True), self._loadings, strict=True)
        ]
        bounding = np.zeros(constraints)
        bounding[0] = 1.0
        try:
            return minimise(
                criteria,
                np.concatenate(blocks, axis=1),
                np.concatenate(starts),
                self.prior.weights,
                tolerance=_TOLERANCE,
                bounding=bounding,
            )
        except np.linalg.LinAlgError:
            names = [self.field.variables[v] for v in range(len(self.field.sizes))]
            asked = [", ".join(names[v] for v in part.clique) for part in self.parts]
            raise NotIdentifiedError(
                f"the tables ({shorten(asked)}) say nothing about some table of the field.",
                remedy="Add tables until every clique of the field is within one, or leave tables out.",
            ) from None

    def full_error(self) -> float:
        """The error had the records been seen; the information about the scores is then 1."""
        return float(self.prior.weights @ [float(np.sum(loading**2)) for loading in self._loadings])

    def error(self, channel: CliqueRelease) -> float:
        """n times the variance of all cells of the field's tables by reports through a channel, all of them used."""
        informations = [np.zeros((len(loading), len(loading))) for loading in self._loadings]
        for clique, drawn, release in zip(
            channel.tables.cliques, channel.clique_probabilities, channel.releases, strict=True
        ):
            tangents, shares = self._tangents(clique)
            for information, h, p in zip(informations, tangents, shares, strict=True):
                information += drawn * _report_information(release, h, p)
        errors = [
            float(np.sum(loading * np.linalg.solve(information, loading)))
            for loading, information in zip(self._loadings, informations, strict=True)
        ]
        return float(self.prior.weights @ errors)


def _report_information(release: ToldTable, tangent: FloatArray, shares: FloatArray) -> FloatArray:
    """What a report on a table says about the scores, Σ_o g_o g_oᵀ/q_o; by debiased cells where reports are many."""
    if release.number_of_subsets > _MOST_REPORTS:
        noise = np.linalg.pinv(release.covariance(shares), rcond=1e-11, hermitian=True)
        return np.asarray(tangent.T @ noise @ tangent)
    rows, low, gain = release.likelihood_terms(np.array(release.subsets(), dtype=np.float64))
    S = low + gain * rows
    g = S @ tangent
    return np.asarray(g.T @ (g / (S @ shares)[:, None]))


def _scores(table: FloatArray, p: FloatArray) -> FloatArray:
    """An orthonormal basis, under p, of what the field can vary: shape (records, D)."""
    centred = (table - (table @ p)[:, None]) * np.sqrt(p)
    basis, sizes, _ = np.linalg.svd(centred.T, full_matrices=False)
    kept = sizes > _SCORE * sizes[0]
    return np.asarray(basis[:, kept] / np.sqrt(p)[:, None])
