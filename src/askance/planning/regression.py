"""Plans for linear regression from noised second moments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter, shown
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.channels.statistics.moment_release import ENCODINGS, Encoding, MomentRelease
from askance.design.conditional_covariances import read_sample
from askance.design.optimum import Prior
from askance.design.optimum.prior import HasEstimate
from askance.design.regression_release import regression_release
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.estimation.methods.linear_estimation import slopes_of
from askance.estimation.problems.moment_repair import STRENGTH
from askance.estimation.results.linear_fit import LinearFit
from askance.evidence.tally import Tally
from askance.models.linear import LinearModel
from askance.models.softmax import Covariates
from askance.planning.guesses import read_guesses, require_fit_of
from askance.planning.subject import AnyDesign, Builder, Limit, Subject, require_method
from askance.planning.targets import ALL_PARAMETERS, place_of

INTERCEPT = "Intercept"
# Outcomes of everybody in the sample take these many values: Gauss–Hermite nodes, exact for moments up to 13.
_NODES = 7


class ExpectedTally(Tally[StatisticsChannel]):
    """The tally of endlessly many reports: its mean is what reports tend to.

    Args:
        channel: of the reports.
        expected: E of its statistics, shape (d,).
    """

    def __init__(self, channel: StatisticsChannel, expected: FloatArray) -> None:
        super().__init__(channel)
        self.expected = expected

    def mean(self, averaging: Averaging = "within") -> FloatArray:
        """What the mean of the reports tends to, shape (d,)."""
        return self.expected


class _People(NamedTuple):
    """Respondents as guessed: (1, x, y) on the standard scale, clipped, and how likely each is."""

    z: FloatArray
    shares: FloatArray


class RegressionSubject(Subject):
    """y = w₀ + w·x + residual, from noised second moments of (1, x, y); θ is (w₀, w, residual deviation).

    Reports have the moments E[z zᵀ] of what devices encode, with n Cov from the channel itself for the guessed people;
    coefficients follow by the delta method, dw = A⁻¹(db − dA w), as in `estimate_linear`. Where devices shrink far-out
    respondents, the estimate tends to the coefficients of a weighted regression: `tends_to`. The repair that
    `estimate_linear` does where noise is large is not part of the limit: such rows are marked as rough.

    Args:
        field: columns, bounds and scales.
        guesses: of (w₀, w, residual deviation), dimension p + 2, in the units of the data.
        x: a sample of the columns, shape (rows, p).
        weights: how much each row counts.
        target: "Intercept", the name of a column, or None for all.
        method: "best" or "moments".

    >>> field = LinearModel(1, x_bounds=(-3, 3), y_bounds=(-9, 9), scales=([0, 0], [1, 3]), clip=4)
    >>> x = np.array([[-1.0], [1.0]])
    >>> subject = RegressionSubject(field, Prior.of([0.0, 0.5, 2.0], dimension=3), x, None, "x0")
    >>> subject.direct().variances.round(6)
    array([4.])
    """

    def __init__(
        self,
        field: LinearModel,
        guesses: Prior,
        x: Covariates | None,
        weights: ArrayLike | None,
        target: object = None,
        method: str = "best",
    ) -> None:
        require_method(method, ("best", "moments"))
        if x is None:
            raise InputError(
                f"x is not given; a regression on {', '.join(field.feature_names)} needs a sample of them.",
                remedy="Give a sample of x, or describe it with `sample_covariates`.",
            )
        self.field, self.shares, self.is_share = field, guesses.weights, False
        names = (INTERCEPT, *field.feature_names)
        columns = field.read_x(x)
        design = np.column_stack([np.ones(len(columns)), columns])
        rows, shares = read_sample(design, weights, names)
        self._people = [_people(field, theta, rows, shares) for theta in guesses.points]
        place = None if target is None else place_of(target, names, "Leave it out for all coefficients.")
        self._places = list(range(len(names))) if place is None else [place]
        self.label = ALL_PARAMETERS if place is None else f"coefficient {target!r}"
        self._truth = guesses.points[:, self._places]
        self.value = None if place is None else self.mean(guesses.points[:, place])

    @property
    def direct_parameters(self) -> Mapping[str, Any]:
        """The columns."""
        return {"columns": list(self.field.names)}

    # -- errors ----------------------------------------------------------------------------------------------------

    def direct(self) -> Limit:
        """Least squares on clipped records, with robust (HC0) errors."""
        variances, ends = [], []
        for z, shares in self._people:
            gram = z.T @ (z * shares[:, None])
            standard = self.field.solve(gram)
            residuals = z[:, -1] - z[:, :-1] @ standard
            influence = np.linalg.solve(gram[:-1, :-1], (z[:, :-1] * residuals[:, None]).T)
            variances.append(self._variance(np.asarray((influence * shares) @ influence.T)))
            ends.append(self._wanted(standard))
        return self._limit(variances, 0.0, "least squares", ends)

    def _limit(self, variances: list[float], roughness: float, method: str, ends: list[FloatArray]) -> Limit:
        """With what the coefficients of the target tend to at every guess, and how far that is from the guess."""
        off = [math.sqrt(float(np.mean((end - own) ** 2))) for end, own in zip(ends, self._truth, strict=True)]
        tends_to = None if self.value is None else self.mean(np.array([end[0] for end in ends]))
        return Limit(np.array(variances), roughness, method, self.root_mean_square(off), tends_to)

    def limit(self, design: AnyDesign) -> Limit:
        """Of `estimate_linear`, without repair."""
        if not isinstance(design, MomentRelease):
            raise InputError(
                f"a channel is {shown(design)}; allowed for a linear regression: MomentRelease.",
                remedy="Build one with regression_release.",
            )
        if design.field != self.field:
            raise IncompatibleEvidenceError(
                f"the release is for {design.field!r}, the model is {self.field!r}.",
                remedy="Build both from the same columns, bounds and scales.",
            )
        limits = [self._of_release(design, people) for people in self._people]
        variances, noises, ends = (list(column) for column in zip(*limits, strict=True))
        return self._limit(variances, self.root_mean_square(noises), "moments", ends)

    def _of_release(self, release: MomentRelease, people: _People) -> tuple[float, float, FloatArray]:
        """σ², √n times the noise of A as the repair measures it, and what the target tends to."""
        channel, field = release.channel, self.field
        rows, _ = release.encode_standard(people.z)
        expected = np.asarray(people.shares @ channel.statistics(rows))
        gram = release.gram(ExpectedTally(channel, expected))
        values = np.linalg.eigvalsh(gram[:-1, :-1])
        if values[0] <= 1e-12 * values[-1]:
            raise NotIdentifiedError(
                f"through {release.encoding} some combination of columns cannot be told apart.",
                remedy="Leave a column out, or give an x in which all vary.",
            )
        # Moments are linear in the means of the reports, each in its own: this is the factor of each.
        zero, one = (release.moments(ExpectedTally(channel, np.full(len(expected), c))) for c in (0.0, 1.0))
        factors = (one - zero)[len(zero) - len(expected) :]
        spread = np.zeros((len(zero), len(zero)))
        told = slice(len(zero) - len(expected), None)
        spread[told, told] = channel.mean_covariance(rows, people.shares) * np.outer(factors, factors)
        standard = field.solve(gram)
        slopes = slopes_of(field, gram[:-1, :-1], standard)
        return self._variance(slopes @ spread @ slopes.T), self._noise(np.diag(spread)), self._wanted(standard)

    def _wanted(self, standard: FloatArray) -> FloatArray:
        """The coefficients of the target in the units of the data."""
        matrix, offset = self.field.to_original()
        return np.asarray((matrix @ standard + offset)[self._places])

    def _noise(self, variances: FloatArray) -> float:
        """c s √p of one respondent: what `repair_design` compares with eigenvalues around 1."""
        first, second = self.field.triangle
        p = self.field.n_features
        inner = (first > 0) & (second <= p) & ((first != second) | (p == 1))
        return STRENGTH * math.sqrt(float(np.mean(variances[inner])) * p)

    def _variance(self, covariance: FloatArray) -> float:
        """Of the target in the units of the data, from n Cov on the standard scale; the mean where it is several."""
        matrix, _ = self.field.to_original()
        return float(np.diag(matrix @ covariance @ matrix.T)[self._places].mean())

    # -- channels --------------------------------------------------------------------------------------------------

    def families(self) -> dict[str, Builder]:
        """Every encoding, with the radius that `regression_release` takes where it is not told the respondents."""
        return {encoding: _release(self.field, encoding) for encoding in ENCODINGS}

    def unfit(self) -> dict[str, str]:
        """None."""
        return {}


def _release(field: LinearModel, encoding: Encoding) -> Builder:
    return lambda level: regression_release(field, level, channel=encoding)


def _people(field: LinearModel, theta: FloatArray, design: FloatArray, shares: FloatArray) -> _People:
    """Everybody in the sample with every outcome that is guessed for them."""
    deviation = float(theta[-1])
    if not deviation >= 0:
        raise InputError(
            f"the residual deviation, the last number of the guess, is {deviation:g}; allowed: 0 or more.",
            remedy="Give intercept, coefficients and the deviation of what they leave unexplained.",
        )
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    outcome = (design @ theta[:-1])[:, None] + deviation * nodes
    z = field.standardise(np.repeat(design[:, 1:], _NODES, axis=0), outcome.ravel()).z
    return _People(z, np.outer(shares, weights / weights.sum()).ravel())


def read_linear_guesses(
    field: LinearModel, theta: ArrayLike | None, prior: ArrayLike | Prior | None, fit: HasEstimate | None
) -> Prior:
    """Guesses of (intercept, coefficients, residual deviation); of a fit, the last is what its moments leave open."""
    size = field.n_features + 2
    if fit is None or theta is not None or prior is not None or not isinstance(fit, LinearFit):
        return read_guesses(size, theta, prior, fit, field)
    require_fit_of(field, fit, dimension=size)
    centre = Prior.of_fit(fit)
    points = [as_parameter([*point, residual_deviation(fit)], size, "fit") for point in centre.points]
    return Prior.weighted(points, centre.weights, dimension=size, name="fit")


def residual_deviation(fit: LinearFit) -> float:
    """√E(y − w·x)² by the moments of a fit, in the units of y; 0 where noise makes it negative.

    >>> from askance.estimation.linear import fit_exact
    >>> field = LinearModel(1, x_bounds=(-2, 2), y_bounds=(-4, 4))
    >>> round(residual_deviation(fit_exact(field, [[-1], [-1], [1], [1]], [-2, 0, 0, 2])), 9)
    1.0
    """
    matrix, offset = fit.field.to_original()
    standard = np.append(-np.linalg.solve(matrix, fit.theta - offset), 1.0)
    gram = fit.raw_moments
    variance = float(standard @ gram @ standard) / max(float(gram[0, 0]), 1e-12)
    return float(fit.field.scales[-1]) * math.sqrt(max(variance, 0.0))
