"""How large a share may be, from the profile of a likelihood: it holds where the share is at its end, 0 or 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.protocols import Objective, Problem
from askance.estimation.solvers.newton import newton

# Imaginary respondents per real one: with more of them a share differs from its end by less than what they tell.
_MOST = 1e3
# With fewer than these they tell nothing: what is still too far is so for other reasons.
_FEWEST = 1e-12
# Brackets of log κ grow by this at least, and by twice as much every time; ends are found to this share of z².
_STEP = 0.25
_EXACT = 3e-4
# A fall of the likelihood by less than this share of z² is rounding.
_ROUNDING = 1e-6
# A share within so many respondents of its end is at its end.
_END = 1e-3
# Where the likelihood is flat, as far out, more Newton steps change nothing. Searches begin within _FAR log-odds.
_MOST_STEPS = 50
_FAR = 8.0
# What is left of a decrement, in squared standard errors.
_LEFT = 1e-4


class Curved(NamedTuple):
    """A function of θ: its value, gradient (d,) and Hessian (d, d)."""

    value: float
    gradient: FloatArray
    hessian: FloatArray


class Share(Protocol):
    """A share g(θ), between 0 and 1."""

    def __call__(self, theta: FloatArray) -> Curved:
        """g(θ) with its derivatives."""


@dataclass(frozen=True)
class _Tilted:
    """f(θ) − κ log g(θ): as if κ n imaginary respondents had told g alone."""

    objective: Objective
    share: Share
    kappa: float

    def value(self, theta: FloatArray) -> float:
        """At θ; infinite where the share is 0."""
        g = self.share(theta).value
        return self.objective.value(theta) - self.kappa * float(np.log(g)) if g > 0 else np.inf

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇, shape (d,)."""
        at = self.share(theta)
        return np.asarray(self.objective.gradient(theta) - self.kappa / at.value * at.gradient)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇², shape (d, d)."""
        g, slope, curved = self.share(theta)
        return np.asarray(self.objective.hessian(theta) - self.kappa * (curved / g - np.outer(slope, slope) / g**2))


def highest(problem: Problem, theta: FloatArray) -> Peak:
    """Where the likelihood is highest, without a prior, from θ on; far out where a share is at its end."""
    likelihood = problem.likelihood()
    end = newton(
        likelihood, theta, problem.standard, tolerance=_LEFT / problem.n_observations, max_iterations=_MOST_STEPS
    )
    return Peak(end.theta, min(end.value, likelihood.value(theta)))


def largest_share(
    problem: Problem,
    peak: Peak,
    share: Share,
    deviance: float,
    scale: Callable[[FloatArray], float] = lambda _: 1.0,
) -> float:
    """The largest g(θ) among all θ with 2 (sup ℓ − ℓ(θ)) ≤ `deviance` · scale(θ); 1 where g = 1 is among them.

    Where f − κ log g is least, ℓ is largest among all θ with a share of at least g(θ): κ leads along the profile. The
    other way round κ would be no number, for the share itself is not free at its end.

    Args:
        problem: model and evidence.
        peak: where the likelihood is highest, of `highest`.
        share: g.
        deviance: z² of the confidence.
        scale: of what weights and clusters make of 2 (sup ℓ − ℓ) at θ: the ratio of variances of g.
    """
    likelihood, n, standard = problem.likelihood(), problem.n_observations, problem.standard

    def reached(log_kappa: float, start: FloatArray, far: float | FloatArray = _FAR) -> _Reached:
        kappa = float(np.exp(log_kappa))
        tilted = _Tilted(likelihood, share, kappa)
        # Far out the slope is nearly 0 in every direction: whoever came there would not get back.
        inner = standard.to_parameters(np.clip(standard.matrix @ start, -far, far))
        end = newton(tilted, inner, standard, tolerance=_LEFT / n * max(kappa, 1.0), max_iterations=_MOST_STEPS).theta
        fall = 2 * n * (likelihood.value(end) - peak.value) / (deviance * scale(end)) - _ROUNDING
        return _Reached(log_kappa, end, float(np.log(max(fall, _ROUNDING))))

    def between(inside: _Reached, outside: _Reached, part: float) -> _Reached:
        ends = standard.matrix @ np.column_stack([inside.theta, outside.theta])
        # Where both ends are far out, and on the same side, so is what lies between them.
        far = np.where(np.sign(ends[:, 0]) == np.sign(ends[:, 1]), np.abs(ends).min(axis=1), 0.0)
        start = inside.theta + part * (outside.theta - inside.theta)
        log_kappa = inside.log_kappa + part * (outside.log_kappa - inside.log_kappa)
        return reached(log_kappa, start, np.maximum(far, _FAR))

    inside = reached(float(np.log(deviance / n)), peak.theta)
    while inside.excess > 0:  # with fewer imaginary respondents
        if inside.log_kappa < np.log(_FEWEST):
            return share(inside.theta).value
        inside = reached(inside.log_kappa - max(inside.excess, 2.0), peak.theta)
    outside, step = inside, _STEP
    while outside.excess <= 0:
        if outside.log_kappa > np.log(_MOST) or 1 - share(outside.theta).value < _END / n:
            return 1.0
        # The likelihood falls about as the square of κ.
        log_kappa = outside.log_kappa + step - min(outside.excess / 2, 1.0)
        inside, outside, step = outside, reached(log_kappa, outside.theta), 2 * step
    return share(_root(inside, outside, between).theta).value


class Peak(NamedTuple):
    """Where −ℓ/n is least, shape (d,), and its value there."""

    theta: FloatArray
    value: float


class _Reached(NamedTuple):
    """Where a tilted likelihood is highest, and the logarithm of how many times too far it has fallen there."""

    log_kappa: float
    theta: FloatArray
    excess: float


def _root(inside: _Reached, outside: _Reached, between: Callable[[_Reached, _Reached, float], _Reached]) -> _Reached:
    """Where the excess is 0, by secants that keep an end on either side; an end kept twice counts half (Illinois)."""
    low, high, moved = inside.excess, outside.excess, 0
    while outside.log_kappa - inside.log_kappa > _EXACT:
        at = between(inside, outside, low / (low - high))
        if abs(at.excess) < _EXACT:
            return at
        if at.excess <= 0:
            inside, low, high, moved = at, at.excess, high / 2 if moved < 0 else high, -1
        else:
            outside, high, low, moved = at, at.excess, low / 2 if moved > 0 else low, 1
    return inside
