"""Linear regression: `estimate` under the name it had for it, whole surveys simulated, and fits without noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import Number, as_floats, as_probability, require_generator
from askance._threads import one_thread
from askance.channels.statistics.base import Calibration, StatisticsChannel
from askance.channels.statistics.moment_release import Encoding, MomentRelease
from askance.channels.statistics.reports import Reports
from askance.channels.statistics.scale_pilot import ScalePilot, Scales
from askance.design.regression_release import regression_release
from askance.errors import EmptyDataError
from askance.estimation.entry import estimate
from askance.estimation.fits import linear_fit
from askance.estimation.problems.moment_repair import STRENGTH, Repair, repair_design
from askance.estimation.results.linear_fit import LinearFit
from askance.evidence.tally import Tally
from askance.models.linear import LinearModel

#: Share of the respondents that a pilot takes.
PILOT_SHARE = "1/5"


def estimate_linear(
    release: MomentRelease,
    evidence: Reports | Tally[StatisticsChannel],
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

    >>> field = LinearModel(2, x_bounds=(-3, 3), y_bounds=(-6, 6), scales=([0, 0, 0], [1, 1, 2]))
    >>> rng = np.random.default_rng(3)
    >>> x = rng.normal(size=(100_000, 2))
    >>> y = 1 + x @ [1.0, -1.0] + rng.normal(size=100_000)
    >>> release = regression_release(field, 4, n_respondents=100_000)
    >>> fit = estimate_linear(release, release.simulate(x, y, rng))
    >>> bool(abs(fit.theta - [1, 1, -1]).max() < 0.15)
    True
    """
    fit = estimate(release, evidence, repair=repair, strength=strength)
    return fit if pilot is None else replace(fit, pilot_observations=pilot.n_observations)


@one_thread
def fit_exact(field: LinearModel, x: ArrayLike, y: ArrayLike) -> LinearFit:
    """Least squares on the records themselves: what `estimate_linear` tends to when there is no noise.

    Values are standardised and clipped as on devices; standard errors are robust ones (HC0).

    >>> field = LinearModel(1, x_bounds=(0, 10), y_bounds=(0, 30))
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
    return linear_fit(
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
        channel: as in `regression_release`.
        pilot_share: share of the respondents in the pilot; 0: scales are taken from the bounds.
        calibration: as in `regression_release`.
        repair: as in `estimate_linear`.
        strength: as in `estimate_linear`.
        plan: more options of `regression_release`.

    >>> rng = np.random.default_rng(4)
    >>> x = rng.normal(size=(60_000, 2))
    >>> fit = simulate_linear(x, x @ [1.0, -1.0], 8, rng, x_bounds=(-6, 6), y_bounds=(-10, 10))
    >>> bool(abs(fit.slopes - [1, -1]).max() < 0.2), fit.n_observations, fit.pilot_observations
    (True, 48000, 12000)
    """
    require_generator(rng)
    rows, target = as_floats(x, "x"), as_floats(y, "y")
    field = LinearModel(rows.shape[1] if rows.ndim == 2 else 1, x_bounds=x_bounds, y_bounds=y_bounds, scales=scales)
    field.read(rows, target)
    field, pilot, rest = pilot_first(field, rows, target, privacy_level, 0 if scales is not None else pilot_share, rng)
    release = regression_release(
        field, privacy_level, channel=channel, n_respondents=len(rest), calibration=calibration, **plan
    )
    reports = release.simulate(rows[rest], target[rest], rng)
    return estimate_linear(release, reports, repair=repair, strength=strength, pilot=pilot)


def pilot_first(
    field: LinearModel,
    x: FloatArray,
    y: FloatArray,
    privacy_level: Number,
    share: Number,
    rng: np.random.Generator,
) -> tuple[LinearModel, Scales | None, IntArray]:
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
    scales = estimate(pilot, Tally(pilot.channel).add(pilot.simulate(x[first], y[first], rng)))
    return field.with_scales((scales.centres, scales.scales)), scales, order[asked:]
