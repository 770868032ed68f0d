"""Which tables of a random field respondents are asked for: its cliques, or whole records."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import Number, one_of, shown
from askance._words import words
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.listed_table import ListedTable
from askance.design.optimum.cliques import optimal_cliques
from askance.errors import InputError
from askance.models.random_field import RandomField

#: "cliques": one of the field's tables is drawn and told; "records": the whole record is told; "auto": the better;
#: "optimal": the tables, probabilities and table channels that an optimiser finds.
FieldRelease: TypeAlias = Literal["auto", "cliques", "records", "optimal"]
# Whole records are considered up to this many: the fit weighs all of them against each other.
_MOST_RECORDS = 1 << 11


def field_release(
    field: RandomField,
    privacy_level: Number,
    *,
    channel: FieldRelease = "auto",
    theta: ArrayLike | None = None,
) -> CliqueRelease:
    """The channel with which the tables of a field are learned best at a level.

    Telling one clique spends the level on a small table, but a report is about one of δ cliques only; telling the whole
    record is about all of them, through a table of |Y| cells. From a level of about log |Y| on the record wins. "auto"
    compares the noise of the field's tables (standard errors summed over all cells, for uniform truth: the guess that
    needs no data) and takes the smaller. How often each clique is drawn follows from the sizes of their tables. The
    channel is bound to names and labels of the variables: its reports are refused by another field.

    Args:
        field: what is to be fitted.
        privacy_level: of one report.
        channel: "auto" (default), "cliques", "records", or "optimal": what `optimal_cliques` finds for a small field.
        theta: a guess of θ for "optimal", such as that of a pilot fit (default: 0), shape (d,).

    >>> field = RandomField([3] * 4, [[i, j] for i in range(4) for j in range(i + 1, 4)])
    >>> len(field_release(field, 1).tables.cliques), len(field_release(field, 5).tables.cliques)
    (6, 1)
    """
    one_of(channel, get_args(FieldRelease), "channel", 'Leave it out for "auto".')
    if channel == "optimal":
        return optimal_cliques(field, privacy_level, theta).channel
    if theta is not None:
        raise InputError(
            f'is given, but channel is {shown(channel)}; allowed with a guess: "optimal"',
            argument="theta",
            remedy=words("Leave {theta} out, or take {channel=optimal}."),
        )
    purpose = field.purpose
    cliques = None
    if channel != "records":
        # Of variables in no clique, which only covariates bear on, the table of one is told.
        alone = [(v,) for v in range(len(field.sizes)) if field.terms and not any(v in c for c in field.cliques)]
        cliques = CliqueRelease(field.sizes, [*field.cliques, *alone], privacy_level).for_purpose(purpose)
    if cliques is not None and (channel == "cliques" or math.prod(field.sizes) > _MOST_RECORDS):
        return cliques
    records = CliqueRelease(field.sizes, [range(len(field.sizes))], privacy_level).for_purpose(purpose)
    if cliques is None or table_noise(field, records).sum() < table_noise(field, cliques).sum():
        return records
    return cliques


def table_noise(field: RandomField, channel: CliqueRelease) -> FloatArray:
    """Standard error of a cell of every clique of the field, of one report, for uniform truth, times its cells.

    A table of w cells that respondents tell with probability π has n Var = v/π in every cell; debiased cells sum to 1,
    so that they have correlation −1/(w − 1), and the sum of m of them n Var = m v (1 − (m − 1)/(w − 1))/π. A table that
    is told through a matrix has no such symmetry: its covariance is summed over. Where a clique lies in several tables
    the least is taken.
    """
    noise = np.full(len(field.cliques), np.inf)
    for table, release, drawn in zip(
        channel.tables.cliques, channel.releases, channel.clique_probabilities, strict=True
    ):
        for number, clique in enumerate(field.cliques):
            if not set(clique) <= set(table):
                continue
            if isinstance(release, ListedTable):
                spreads = _summed_variances(release, [field.sizes[v] for v in table], [v in clique for v in table])
                noise[number] = min(noise[number], float(np.sqrt(spreads / drawn).sum()))
                continue
            variance = float(release.total_variance) / release.cells / drawn
            cells = math.prod(field.sizes[v] for v in clique)
            merged = release.cells // cells
            spread = merged * variance * (1 - (merged - 1) / (release.cells - 1))
            noise[number] = min(noise[number], cells * math.sqrt(spread))
    return noise


def _summed_variances(release: ListedTable, shape: list[int], kept: list[bool]) -> FloatArray:
    """n Var of the cells of the kept variables of a table of that shape, for uniform truth."""
    codes = np.unravel_index(np.arange(release.cells), shape)
    of_kept = [(code, size) for code, size, keep in zip(codes, shape, kept, strict=True) if keep]
    owner = np.ravel_multi_index([code for code, _ in of_kept], [size for _, size in of_kept])
    sums = np.eye(int(owner.max()) + 1)[:, owner]
    spread = release.covariance(np.full(release.cells, 1 / release.cells))
    return np.asarray(np.einsum("ij,jk,ik->i", sums, spread, sums))
