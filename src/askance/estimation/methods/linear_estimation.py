"""Linear regression from noised second moments."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import Number, as_floats, as_probability, require_generator, shown
from askance._threads import one_thread
from askance.channels.statistics.base import Calibration
from askance.channels.statistics.reports import Reports
from askance.errors import EmptyDataError, InputError, RepairWarning
from askance.estimation.checks.surprise import alarm_of
from askance.estimation.moment_release import Encoding, MomentRelease
from askance.estimation.problems.moment_repair import STRENGTH, MomentRepair, Repair, repair_design
from askance.estimation.regression_plan import plan_regression
from askance.estimation.results.fit import Diagnostics
from askance.estimation.results.linear_fit import LinearFit
from askance.estimation.scale_pilot import ScalePilot, Scales
from askance.evidence.statistics_tally import StatisticsTally
from askance.models.linear import GaussianField

#: Share of the respondents that a pilot takes.
PILOT_SHARE = "1/5"
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


def estimate_linear(
    release: MomentRelease,
    evidence: Reports | StatisticsTally,
    *,
    repair: Repair = "auto",
    strength: float = STRENGTH,
    pilot: Scales | None = None,
) -> LinearFit:
    """Coefficients from reports, or from their sums.

    The raw moments are unbiased, but noise may leave A = E[(1, x)(1, x)ᵀ] with eigenvalues near or below 0, and A⁻¹b
    is then meaningless. A is lifted by a λ that follows from the known noise (see `repair_design`), the raw moments
    stay in the result, and the result says whether the repair acted. Standard errors are those of the delta method,
    dw = A⁻¹(db − dA w).

    Args:
        release: what devices did.
        evidence: their reports, or a tally of them.
        repair: "auto" (default), "lift", "ridge" or "none".
        strength: c in λ = c s √p.
        pilot: the pilot that the scales come from, to be mentioned.

    Warns:
        RepairWarning: there are too few reports to say anything; with the number that would do.

    >>> field = GaussianField(2, x_bounds=(-3, 3), y_bounds=(-6, 6), scales=([0, 0, 0], [1, 1, 2]))
    >>> rng = np.random.default_rng(3)
    >>> x = rng.normal(size=(100_000, 2))
    >>> y = 1 + x @ [1.0, -1.0] + rng.normal(size=100_000)
    >>> release = plan_regression(field, 4, n_respondents=100_000)
    >>> fit = estimate_linear(release, release.simulate(x, y, rng))
    >>> bool(abs(fit.theta - [1, 1, -1]).max() < 0.15)
    True
    """
    if repair not in get_args(Repair):
        raise InputError(
            f"repair is {shown(repair)}; allowed: {', '.join(get_args(Repair))}.", remedy='Leave it out for "auto".'
        )
    with one_thread:
        tally = evidence if isinstance(evidence, StatisticsTally) else StatisticsTally(release.channel).add(evidence)
        if not tally.n_observations:
            raise EmptyDataError("there are no reports.", remedy="Add reports before estimating.")
        field, gram = release.field, release.gram(tally)
        alarm = alarm_of(tally)
        repaired = repair_design(gram[:-1, :-1], release.noise(tally), repair, strength)
        usable = gram.copy()
        usable[:-1, :-1] = repaired.repaired
        standard = field.solve(usable)
        slopes = slopes_of(field, repaired.repaired, standard)
        covariance = slopes @ release.covariance(tally) @ slopes.T
        few = _too_few(repaired, tally.n_observations, field.n_features, standard[1:], covariance[1:, 1:])
        messages = [
            *repaired.messages,
            *(few or _dependent(field, repaired)),
            *([_SHRUNK[release.encoding]] if release.shrinks else []),
            *_clipping(field),
        ]
        return _assemble(
            field,
            standard,
            covariance,
            gram,
            repaired,
            n_observations=tally.n_observations,
            pilot_observations=release.pilot_observations if pilot is None else pilot.n_observations,
            channel=release.channel.specification(),
            privacy_level=release.privacy_level,
            weighted=release.shrinks,
            diagnostics=Diagnostics(repaired=repaired.acted, messages=tuple(messages)),
            alarm=alarm,
        )


@one_thread
def fit_exact(field: GaussianField, x: ArrayLike, y: ArrayLike) -> LinearFit:
    """Least squares on the records themselves: what `estimate_linear` tends to when there is no noise.

    Values are standardised and clipped as on devices; standard errors are robust ones (HC0).

    >>> field = GaussianField(1, x_bounds=(0, 10), y_bounds=(0, 30))
    >>> fit_exact(field, [[1], [2], [4]], [3, 5, 9]).theta.round(6)
    array([1., 2.])
    """
    z = field.standardise(x, y).z
    if not len(z):
        raise EmptyDataError("there are no records.", remedy="Give at least as many as coefficients.")
    gram = z.T @ z / len(z)
    standard = field.solve(gram)
    residuals = z[:, -1] - z[:, :-1] @ standard
    influence = np.linalg.solve(gram[:-1, :-1], (z[:, :-1] * residuals[:, None]).T).T
    unrepaired = repair_design(gram[:-1, :-1], 0.0)
    return _assemble(
        field,
        standard,
        influence.T @ influence / len(z) ** 2,
        gram,
        unrepaired,
        n_observations=len(z),
        channel={},
        privacy_level=math.inf,
    )


@one_thread
def simulate_linear(
    x: ArrayLike,
    y: ArrayLike,
    privacy_level: Number,
    rng: np.random.Generator,
    *,
    x_bounds: Sequence[ArrayLike] | None = None,
    y_bounds: Sequence[ArrayLike] | None = None,
    scales: Sequence[ArrayLike] | None = None,
    channel: Encoding | Literal["auto"] = "auto",
    pilot_share: Number = PILOT_SHARE,
    calibration: Calibration = "exact",
    repair: Repair = "auto",
    strength: float = STRENGTH,
    **plan: Any,
) -> LinearFit:
    """A whole survey, simulated: pilot, devices and fit.

    Without public `scales`, a share of the respondents is asked for the scales first (`ScalePilot`) and the others
    report moments. Everybody reports once, so the level of each is the stated one.

    Args:
        x: one row per respondent.
        y: one number per respondent.
        privacy_level: of one report.
        rng: a seeded generator: this is an experiment and protects nobody.
        x_bounds: (low, high), public.
        y_bounds: (low, high), public.
        scales: (centres, scales) where they are public; then there is no pilot.
        channel: as in `plan_regression`.
        pilot_share: share of the respondents in the pilot; 0: scales are taken from the bounds.
        calibration: as in `plan_regression`.
        repair: as in `estimate_linear`.
        strength: as in `estimate_linear`.
        plan: more options of `plan_regression`.

    >>> rng = np.random.default_rng(4)
    >>> x = rng.normal(size=(60_000, 2))
    >>> fit = simulate_linear(x, x @ [1.0, -1.0], 8, rng, x_bounds=(-6, 6), y_bounds=(-10, 10))
    >>> bool(abs(fit.slopes - [1, -1]).max() < 0.2), fit.n_observations, fit.pilot_observations
    (True, 48000, 12000)
    """
    require_generator(rng)
    rows, target = as_floats(x, "x"), as_floats(y, "y")
    field = GaussianField(rows.shape[1] if rows.ndim == 2 else 1, x_bounds=x_bounds, y_bounds=y_bounds, scales=scales)
    field.read(rows, target)
    field, found, rest = pilot_first(field, rows, target, privacy_level, 0 if scales is not None else pilot_share, rng)
    release = plan_regression(
        field, privacy_level, channel=channel, n_respondents=len(rest), calibration=calibration, **plan
    )
    reports = release.simulate(rows[rest], target[rest], rng)
    return estimate_linear(release, reports, repair=repair, strength=strength, pilot=found)


def pilot_first(
    field: GaussianField,
    x: FloatArray,
    y: FloatArray,
    privacy_level: Number,
    share: Number,
    rng: np.random.Generator,
) -> tuple[GaussianField, Scales | None, IntArray]:
    """Simulate a pilot with a share of the respondents, drawn at random.

    Returns:
        the field with the scales that the pilot found, the pilot, and who is left to be asked; with share 0 the field
        as it is, no pilot, and everybody.
    """
    asked = round(len(x) * as_probability(share, "pilot_share"))
    order = rng.permutation(len(x))
    if asked >= len(x):
        raise EmptyDataError(
            f"{len(x)} respondents leave nobody after a pilot of {asked}.", remedy="Take a smaller pilot_share."
        )
    if not asked:
        return field, None, order
    pilot, first = ScalePilot(field, privacy_level), order[:asked]
    found = pilot.estimate(StatisticsTally(pilot.channel).add(pilot.simulate(x[first], y[first], rng)))
    return field.with_scales((found.centres, found.scales)), found, order[asked:]


def slopes_of(field: GaussianField, design: FloatArray, standard: FloatArray) -> FloatArray:
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


def _clipping(field: GaussianField) -> tuple[str, ...]:
    """That devices clip, and where."""
    if not field.clips_within_bounds:
        return ()
    limits = zip(field.names, *field.kept, strict=True)
    kept = ", ".join(f"{name} {low:.4g} … {high:.4g}" for name, low, high in limits)
    return (f"devices clip values at {field.clip:g} scales ({kept}): coefficients are those of clipped values",)


def _dependent(field: GaussianField, repair: MomentRepair) -> tuple[str, ...]:
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
    warnings.warn(f"linear regression: {message}.", RepairWarning, stacklevel=3)
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
    warnings.warn(f"linear regression: {message}.", RepairWarning, stacklevel=3)
    return (message,)


def _assemble(
    field: GaussianField,
    standard: FloatArray,
    covariance: FloatArray,
    gram: FloatArray,
    repair: MomentRepair,
    **known: Any,
) -> LinearFit:
    """Back to the units of the data."""
    matrix, offset = field.to_original()
    repaired = gram.copy()
    repaired[:-1, :-1] = repair.repaired
    return LinearFit(
        model=field,
        theta=matrix @ standard + offset,
        covariance=matrix @ covariance @ matrix.T,
        raw_statistics=gram,
        repaired_moments=repaired,
        repair=repair,
        **known,
    )
