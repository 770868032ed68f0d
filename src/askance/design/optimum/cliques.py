"""Which tables of a random field to ask for, how often, and how to tell each: the least error of the field's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import HIGHEST_LEVEL, Number, as_count, as_positive_level, instance, number
from askance._kernels.draw import TOTAL
from askance._threads import one_thread
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.cliques import CliqueTables
from askance.channels.thresholds import apportion
from askance.design.optimum.clique_problem import ALL_ROWS, CliqueProblem
from askance.design.optimum.interior_point import Optimum
from askance.design.optimum.prior import Prior, guess_or_zero
from askance.design.optimum.realise import USUAL_LEVELS, usable_ratio, whole_weights
from askance.design.optimum.staircase import Subsets, few_rows, rows_of, satisfying
from askance.errors import InputError
from askance.models.random_field import RandomField

# Tables of up to so many cells are considered besides the field's own, and the whole record up to so many.
_LARGEST, _LARGEST_RECORD = 9, 16
# Whole records by subset selection are compared up to so many: they are the best at high levels.
_MOST_RECORDS = 1 << 10
# Free parameters of the field: the search weighs all pairs of them against each other.
_MOST_PARAMETERS = 72
# Tables that are considered at all; of more, the larger ones.
_MOST_TABLES = 60
# Tables that are asked less often than this share of the most frequent one are left out.
_RARELY = 1e-3
# Below, rows are so nearly constant that floats cannot tell designs apart.
_LEAST_LEVEL = Fraction(1, 1000)
# What mixing and rounding cost at most; a larger gap is no proof.
_PROVED_GAP = 0.01
# So much of a table goes through k-ary randomized response where its cells could not be told apart otherwise.
_MIXED_IN = 0.005
# Rows whose singular values are below this part of the largest tell no more cells apart.
_RANK = 1e-4
# Probabilities of tables are whole multiples of one over this: short to write down, and as good.
_SHARE_PARTS = 10**9


@dataclass(frozen=True)
class OptimalCliques:
    """The tables to ask for.

    Attributes:
        channel: a `CliqueRelease` with its own clique probabilities and table channels, for reports about the field.
        value: of this very channel, n times the variance of the cells of the field's tables, summed over all cells:
            averaged over the prior.
        lower_bound: no design over the rows that were considered has a smaller one.
        gap: (value − lower_bound)/value.
        is_proved: whether all rows of all tables up to the given size were considered, and the gap is below 1 %.
        uniform: the same for the field's own tables, all drawn equally often, each by subset selection.
        variables: names of the field's variables.
    """

    channel: CliqueRelease
    value: float
    lower_bound: float
    is_proved: bool
    uniform: float
    variables: tuple[str, ...]

    @property
    def gap(self) -> float:
        """How far above the least possible it may be, as a share."""
        return 1 - self.lower_bound / self.value

    @property
    def gain(self) -> float:
        """By which share the error is below that of the field's own tables, drawn uniformly."""
        return 1 - self.value / self.uniform

    def summary(self) -> str:
        """A table for people."""
        tables = self.channel.tables
        lines = [f"{len(tables.cliques)} tables at privacy level {self.channel.privacy_level:.6g}:"]
        for place in np.argsort(-self.channel.clique_probabilities, kind="stable"):
            clique = ", ".join(self.variables[v] for v in tables.cliques[int(place)])
            cells = tables.cells[int(place)]
            lines.append(f"  {self.channel.clique_probabilities[place]:6.1%}  {clique} ({cells} cells)")
        lines.append(
            f"mean squared error of the field's tables, times n, summed over all cells: {self.value:.6g}, "
            f"{self.gain:.1%} below that of the field's own tables drawn equally often ({self.uniform:.6g}); "
            f'at most {max(self.gap, 0):.2g} of it above the best. Fit with method="marginal".'
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain values; the channel under "channel"."""
        names = ("value", "lower_bound", "gap", "is_proved", "uniform", "gain")
        return {**{name: getattr(self, name) for name in names}, "channel": self.channel.specification()}


@one_thread
def optimal_cliques(
    field: RandomField,
    privacy_level: Number,
    theta: ArrayLike | None = None,
    *,
    prior: ArrayLike | Prior | None = None,
    largest_table: int = _LARGEST,
    tables: Iterable[Sequence[int]] | None = None,
) -> OptimalCliques:
    """Tables, their probabilities and their channels with the least error of all cells of the field's tables.

    Tables larger than the field's cliques are considered too: one report on three variables is about three pairs.

    Args:
        field: what is to be learned; without covariates, with at most 72 free parameters.
        privacy_level: of one report, above 0.
        theta: a guess of θ, shape (d,), or the θ of a pilot fit (default: 0, all records alike).
        prior: several θ, shape (K, d), over which the error is averaged, instead.
        largest_table: cells of the tables that are considered besides the field's own (and the whole record up to 16).
        tables: the variables of the tables to be considered, instead of all up to that size.

    >>> pairs = [[0, 1], [0, 2], [1, 2]]
    >>> found = optimal_cliques(RandomField([2, 2, 2], pairs), 1)
    >>> found.channel.privacy_level <= 1, found.gain > 0.02
    (True, True)
    """
    level = as_positive_level(privacy_level)
    number(level, "privacy_level", _LEAST_LEVEL, HIGHEST_LEVEL, remedy=USUAL_LEVELS)
    points = _read_points(field, theta, prior)
    chosen, all_considered = _candidates(field, as_count(largest_table, "largest_table", minimum=2), tables)
    problem = CliqueProblem(field, points, usable_ratio(level), chosen)
    optimum = problem.solve()
    equal = [Fraction(1, len(problem.own))] * len(problem.own)
    own = CliqueRelease(field.sizes, problem.own, privacy_level, clique_probabilities=equal)
    channels = [_realise(problem, optimum, level), own]
    if tables is None and prod(field.sizes) <= _MOST_RECORDS:
        channels.append(CliqueRelease(field.sizes, [range(len(field.sizes))], privacy_level))
    errors = [problem.error(channel) for channel in channels]
    best = int(np.argmin(errors))
    channel, value = channels[best].for_purpose(field.purpose), errors[best]
    # What was realised is a design over the rows that were considered, unless it is the whole record.
    proved = all_considered and all(part.cells <= ALL_ROWS for part in problem.parts)
    # Nor does any channel tell more than the records themselves would.
    bound = max(optimum.bound, problem.full_error())
    return OptimalCliques(
        channel,
        value,
        min(bound, value),
        proved and abs(1 - bound / value) <= _PROVED_GAP,
        errors[1],
        tuple(field.variables),
    )


def _realise(problem: CliqueProblem, optimum: Optimum, level: Fraction) -> CliqueRelease:
    """Tables that are asked often enough, with whole thresholds."""
    start, asked = 0, []
    for part in problem.parts:
        count = part.subsets.shape[1]
        x = optimum.x[start : start + count]
        start += count
        asked.append((part, x, float(x @ rows_of(part.subsets, problem.ratio)[0])))
    most = max(drawn for *_, drawn in asked)
    kept = [(part, x / drawn, drawn) for part, x, drawn in asked if drawn > _RARELY * most]
    cliques, channels = [], []
    for part, x, _ in kept:
        rows = rows_of(part.subsets, problem.ratio)
        vectors = np.concatenate([rows / np.sqrt(p @ rows) for p in part.shares])
        used, x = few_rows(rows, vectors, x)
        channels.append(_matrix(part.subsets[:, used], x, level))
        cliques.append(part.clique)
    total = sum(Fraction(drawn) for *_, drawn in kept)
    parts = apportion([Fraction(drawn) / total for *_, drawn in kept], _SHARE_PARTS)
    shares = [Fraction(part, _SHARE_PARTS) for part in parts]
    return CliqueRelease(problem.field.sizes, cliques, level, clique_probabilities=shares, table_channels=channels)


def _matrix(subsets: Subsets, x: FloatArray, level: Fraction) -> list[list[Fraction]]:
    """S of one table; with some randomized response where its cells cannot be told apart otherwise."""
    cells, ratio = subsets.shape[0], usable_ratio(level)
    exact = satisfying(rows_of(subsets, ratio), x)
    S = rows_of(subsets, ratio).T * exact[:, None]
    told = exact.min() > 0 and np.abs(S.sum(axis=0) - 1).max() < 1e-12 and np.linalg.matrix_rank(S, _RANK) == cells
    if not told:
        single = np.full(cells, _MIXED_IN / (ratio + cells - 1))
        subsets = np.concatenate([subsets, np.eye(cells, dtype=np.bool_)], axis=1)
        subsets, place = np.unique(subsets, axis=1, return_inverse=True)
        x = np.bincount(place.ravel(), np.concatenate([(1 - _MIXED_IN) * x, single])).astype(np.float64)
        exact = satisfying(rows_of(subsets, ratio), x)
    x = exact
    return [[Fraction(int(w), TOTAL) for w in row] for row in whole_weights(subsets, x, level)]


def _candidates(
    field: RandomField, largest: int, tables: Iterable[Sequence[int]] | None
) -> tuple[list[tuple[int, ...]], bool]:
    """The field's own tables first, then all others up to the size; and whether none had to be left out."""
    if field.terms:
        raise InputError(
            f"the field has covariates ({', '.join(field.terms)}); allowed: a field without.",
            remedy="Plan for the field without them, or take field_release.",
        )
    own = [tuple(clique) for clique in field.cliques]
    if tables is not None:
        cliques = CliqueTables(field.sizes, tables).cliques
        return list(dict.fromkeys(tuple(clique) for clique in cliques)), True
    count = len(field.sizes)
    others = [
        variables
        for size in range(2, count + 1)
        for variables in combinations(range(count), size)
        if prod(field.sizes[v] for v in variables) <= largest
    ]
    known = {frozenset(clique) for clique in own}
    whole = tuple(range(count))
    if prod(field.sizes) <= _LARGEST_RECORD and whole not in others:
        others.append(whole)
    candidates = own + [clique for clique in others if frozenset(clique) not in known]
    # A report on a table tells all that one on a part of it could: the larger tables come first where there are many.
    all_considered = len(candidates) <= _MOST_TABLES
    if not all_considered:
        extra = sorted(candidates[len(own) :], key=lambda clique: -prod(field.sizes[v] for v in clique))
        candidates = own + extra[: max(_MOST_TABLES - len(own), 0)]
    return candidates, all_considered


def _read_points(field: RandomField, theta: ArrayLike | None, prior: ArrayLike | Prior | None) -> Prior:
    instance(field, RandomField, "field", "a RandomField", "For other models there is optimal_channel.")
    # Differences between records that the cliques can tell: Σ over all sets within a clique of Π (size − 1).
    sets = {s for clique in field.cliques for k in range(1, len(clique) + 1) for s in combinations(sorted(clique), k)}
    free = sum(prod(field.sizes[v] - 1 for v in s) for s in sets)
    if free > _MOST_PARAMETERS:
        raise InputError(
            f"the field has {free} free parameters; allowed: at most {_MOST_PARAMETERS}.",
            remedy="Take field_release, whose tables need no search.",
        )
    return guess_or_zero(theta, prior, field.dimension)
