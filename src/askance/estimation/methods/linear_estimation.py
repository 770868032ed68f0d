"""Linear regression from noised second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of
from askance.errors import RepairWarning
from askance.estimation.outcome import Notice, Outcome
from askance.estimation.problems.linear_problem import LinearProblem
from askance.estimation.problems.moment_repair import STRENGTH, MomentRepair, Repair, repair_design
from askance.models.linear import LinearModel

_SHRUNK = {
    "quadratic": "long vectors (1, x, y) are shrunk to the channel's radius, which weights far-out respondents down, "
    "also those with unusual outcomes: coefficients are pulled somewhat towards 0, and intervals are about the pulled "
    "ones (share_within=1 shrinks nobody, and has more noise)",
    "moments": "long vectors of moments are shrunk to the channel's radius, which mixes them with those of independent "
    "columns: coefficients are pulled towards 0, and intervals are about the pulled ones (share_within=1 shrinks "
    "nobody, and has more noise)",
}
# A ridge of 1 is as strong as a whole standardised column; from a third of that on, something can be said.
_TOO_NOISY = 1.0
_USABLE = 1 / 3
# Slopes show where all being 0 is refused with this confidence; with this margin they will rather surely.
_SIGNIFICANT, _MARGIN = 0.95, 1.5


@dataclass(frozen=True)
class LinearDiagnostics:
    """What was done to the moments, and what a reader should know, in plain words."""

    repair: MomentRepair
    messages: tuple[str, ...]


def fit_linear(problem: LinearProblem, *, repair: Repair = "auto", strength: float = STRENGTH) -> Outcome:
    """w = A⁻¹b on the standard scale, with A as noise leaves it, or repaired; see `estimate_linear`."""
    one_of(repair, get_args(Repair), "repair", 'Leave it out for "auto".')
    release, tally, field = problem.release, problem.tested, problem.release.field
    repaired = repair_design(problem.gram[:-1, :-1], release.noise(tally), repair, strength)
    usable = problem.gram.copy()
    usable[:-1, :-1] = repaired.repaired
    standard = field.solve(usable)
    slopes = slopes_of(field, repaired.repaired, standard)
    covariance = slopes @ release.covariance(tally) @ slopes.T
    few = _too_few(repaired, tally.n_observations, field.n_features, standard[1:], covariance[1:, 1:])
    doubts = few or _dependent(field, repaired)
    messages = (
        *repaired.messages,
        *doubts,
        *([_SHRUNK[release.encoding]] if release.shrinks else []),
        *_clipping(field),
    )
    return Outcome(
        theta=standard,
        covariance=covariance,
        method="linear regression",
        covariance_kind="delta",
        converged=True,
        diagnostics=LinearDiagnostics(repaired, messages),
        notices=tuple(Notice(RepairWarning, text) for text in doubts),
    )


def slopes_of(field: LinearModel, design: FloatArray, standard: FloatArray) -> FloatArray:
    """The derivative of w = A⁻¹b by the moments, shape (p + 1, d).

    A⁻¹ e_i for b_i, −A⁻¹(e_i w_j + e_j w_i) for A_ij, and half of that on the diagonal.
    """
    first, second = field.triangle
    last = field.width - 1
    inverse = np.linalg.inv(design)
    slopes = np.zeros((last, len(first)))
    outcome = (second == last) & (first < last)
    slopes[:, outcome] = inverse[:, first[outcome]]
    inner = second < last
    i, j = first[inner], second[inner]
    slopes[:, inner] = -(inverse[:, i] * standard[j] + np.where(i == j, 0.0, inverse[:, j] * standard[i]))
    return slopes


def _clipping(field: LinearModel) -> tuple[str, ...]:
    """That devices clip, and where."""
    if not field.clips_within_bounds:
        return ()
    limits = zip(field.names, *field.kept, strict=True)
    kept = ", ".join(f"{name} {low:.4g} … {high:.4g}" for name, low, high in limits)
    return (f"devices clip values at {field.clip:g} scales ({kept}): coefficients are those of clipped values",)


def _dependent(field: LinearModel, repair: MomentRepair) -> tuple[str, ...]:
    """That some direction of x cannot be told from one that does not vary, and which columns have most of it."""
    level = repair.noise * math.sqrt(field.n_features)
    if not repair.acted or repair.eigenvalues[0] > 2 * level:
        return ()
    names = ("Intercept", *field.feature_names)
    share = np.abs(repair.weakest)
    most = [names[i] for i in np.argsort(-share) if share[i] > 0.3][:4]
    message = (
        f"some combination of {', '.join(most)} varies no more than the noise hides: a column may be constant, or go "
        "with others; their coefficients are not known one by one"
    )
    return (message,)


def _too_few(repair: MomentRepair, n: int, columns: int, slopes: FloatArray, covariance: FloatArray) -> tuple[str, ...]:
    """Whether noise is as large as what is to be seen, or no slope shows; says so, and how many reports would do.

    The slopes w are tested together, by wᵀC⁺w against χ² with p degrees of freedom, which k times as many reports make
    k times as large if the slopes are as they look.
    """
    from scipy.stats import chi2

    level = STRENGTH * repair.noise * math.sqrt(columns)
    distance, limit = float(slopes @ np.linalg.pinv(covariance) @ slopes), float(chi2.ppf(_SIGNIFICANT, columns))
    by_slopes = n * _MARGIN * limit / max(distance, 1.0) if distance < limit else 0.0
    if level > _TOO_NOISY:
        needed = float(f"{max(n * (level / _USABLE) ** 2, by_slopes):.2g}")
        message = (
            f"{n:,} reports are too few to say anything at this level: the noise of the moments (λ = {level:.2g}) is "
            f"as large as the moments of standardised columns; about {needed:,.0f} would do"
        )
    elif distance < limit:
        needed = float(f"{by_slopes:.2g}")
        message = (
            f"{n:,} reports are too few to say anything at this level: they do not tell the coefficients of x from 0 "
            f"(p = {chi2.sf(distance, columns):.2g}); about {needed:,.0f} would do, if coefficients are as they look"
        )
    else:
        return ()
    return (message,)
