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
# Where the likelihood is flat, as far out, more Newton steps change nothing. Searches begin within _FAR log-odds.
_MOST_STEPS = 50
_FAR = 8.0


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


def largest_share(
    problem: Problem,
    theta: FloatArray,
    share: Share,
    deviance: float,
    scale: Callable[[FloatArray], float] = lambda _: 1.0,
) -> float:
    """The largest g(θ) among all θ with 2 (sup ℓ − ℓ(θ)) ≤ `deviance` · scale(θ); 1 where g = 1 is among them.

    Where f − κ log g is least, ℓ is largest among all θ with a share of at least g(θ): κ leads along the profile. The
    other way round κ would be no number, for the share itself is not free at its end.

    Args:
        problem: model and evidence.
        theta: where the likelihood is highest, or how far a solver came, shape (d,).
        share: g.
        deviance: z² of the confidence.
        scale: of what weights and clusters make of 2 (sup ℓ − ℓ) at θ: the ratio of variances of g.
    """
    likelihood, n, standard = problem.likelihood(), problem.n_observations, problem.standard
    exact = 1e-4 / n
    top = min(
        newton(likelihood, theta, standard, tolerance=exact, max_iterations=_MOST_STEPS).value, likelihood.value(theta)
    )

    def reached(log_kappa: float, start: FloatArray) -> _Reached:
        kappa = float(np.exp(log_kappa))
        tilted = _Tilted(likelihood, share, kappa)
        # Far out the slope is nearly 0 in every direction: whoever came there would not get back.
        inner = standard.to_parameters(np.clip(standard.matrix @ start, -_FAR, _FAR))
        end = newton(tilted, inner, standard, tolerance=exact * max(kappa, 1.0), max_iterations=_MOST_STEPS).theta
        fall = 2 * n * (likelihood.value(end) - top) / (deviance * scale(end)) - _ROUNDING
        return _Reached(log_kappa, end, float(np.log(max(fall, _ROUNDING))))

    inside = reached(float(np.log(deviance / n)), theta)
    while inside.excess > 0:  # with fewer imaginary respondents
        if inside.log_kappa < np.log(_FEWEST):
            return share(inside.theta).value
        inside = reached(inside.log_kappa - max(inside.excess, 2.0), theta)
    outside, step = inside, _STEP
    while outside.excess <= 0:
        if outside.log_kappa > np.log(_MOST):
            return 1.0
        # The likelihood falls about as the square of κ.
        log_kappa = outside.log_kappa + step - min(outside.excess / 2, 1.0)
        inside, outside, step = outside, reached(log_kappa, outside.theta), 2 * step
    return share(_between(inside, outside, reached).theta).value


class _Reached(NamedTuple):
    """Where a tilted likelihood is highest, and the logarithm of how many times too far it has fallen there."""

    log_kappa: float
    theta: FloatArray
    excess: float


def _between(inside: _Reached, outside: _Reached, reached: Callable[[float, FloatArray], _Reached]) -> _Reached:
    """Where the excess is 0, by secants that keep an end on either side (Illinois)."""
    low, high = inside.excess, outside.excess
    while outside.log_kappa - inside.log_kappa > _EXACT:
        share = low / (low - high)
        at = reached(inside.log_kappa + share * (outside.log_kappa - inside.log_kappa), inside.theta)
        if abs(at.excess) < _EXACT:
            return at
        if at.excess <= 0:
            inside, low, high = at, at.excess, high / 2
        else:
            outside, low, high = at, low / 2, at.excess
    return inside
