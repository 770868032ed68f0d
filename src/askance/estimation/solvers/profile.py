"""Intervals from the profile of a likelihood: they hold where a parameter runs off to infinity, as nobody cheats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.parameter_scale import Standard
from askance.estimation.protocols import Objective, Problem
from askance.estimation.solvers.newton import newton

# How far a parameter is followed, in log-odds across the range of its statistic: beyond, shares differ by less than
# 10⁻¹³ from 0 or 1.
_FARTHEST = 30.0
# The ends of an interval are found to this share of a log-odds.
_EXACT = 1e-8


@dataclass(frozen=True)
class _Restricted:
    """An objective of the other parameters, with one held at a value."""

    objective: Objective
    place: int
    value_there: float

    def whole(self, others: FloatArray) -> FloatArray:
        """θ."""
        return np.insert(others, self.place, self.value_there)

    def value(self, theta: FloatArray) -> float:
        """f(θ)."""
        return self.objective.value(self.whole(theta))

    def gradient(self, theta: FloatArray) -> FloatArray:
        """∇f(θ), shape (d − 1,)."""
        return np.delete(self.objective.gradient(self.whole(theta)), self.place)

    def hessian(self, theta: FloatArray) -> FloatArray:
        """∇²f(θ), shape (d − 1, d − 1)."""
        rows = np.delete(self.objective.hessian(self.whole(theta)), self.place, axis=0)
        return np.delete(rows, self.place, axis=1)


def profile_interval(problem: Problem, theta: FloatArray, place: int, deviance: float) -> tuple[float, float]:
    """All v with 2 (sup ℓ − sup ℓ with θ_j = v) ≤ `deviance`, as an interval around where ℓ is highest.

    Its ends are infinite where the likelihood never falls so far: the data do not exclude that θ_j is.

    Args:
        problem: model and evidence.
        theta: where the likelihood is highest, or how far a solver came, shape (d,).
        place: j.
        deviance: z² of the confidence.
    """
    likelihood, n = problem.likelihood(), problem.n_observations
    standard = problem.standard
    squares = np.delete(np.delete(standard.matrix.T @ standard.matrix, place, axis=0), place, axis=1)
    root = np.linalg.cholesky(squares).T if squares.size else np.zeros((0, 0))
    inner = Standard(np.asarray(root), np.asarray(np.linalg.inv(root)))
    unit = 1.0 / float(np.linalg.norm(standard.matrix[:, place]))

    def height(value: float, others: FloatArray) -> tuple[float, FloatArray]:
        """Sup ℓ with θ_j = v, and where."""
        restricted = _Restricted(likelihood, place, value)
        if not others.size:
            return -n * restricted.value(others), others
        end = newton(restricted, others, inner, tolerance=1e-16)
        return -n * end.value, end.theta

    others = np.delete(theta, place)
    far = [theta[place] + side * _FARTHEST * unit for side in (-1, 1)]
    heights = {value: height(value, others) for value in (float(theta[place]), *far)}
    highest = max(heights, key=lambda value: heights[value][0])
    top = heights[highest][0]

    def excess(value: float, others: FloatArray) -> float:
        return 2 * (top - height(value, others)[0]) - deviance

    def end(side: int) -> float:
        if highest == far[max(side, 0)]:  # the likelihood grows all the way there
            return side * np.inf
        inside = outside = highest
        at, step = heights[highest][1], unit / 4
        while True:
            outside = outside + side * step
            reached, at = height(outside, at)
            if 2 * (top - reached) > deviance:
                return _root(partial(excess, others=at), inside, outside, _EXACT * unit)
            if abs(outside - highest) > 2 * _FARTHEST * unit:
                return side * np.inf
            inside, step = outside, step * 1.5

    return end(-1), end(1)


def _root(function: Callable[[float], float], inside: float, outside: float, exact: float) -> float:
    from scipy.optimize import brentq

    low, high = sorted((inside, outside))
    return float(brentq(function, low, high, xtol=exact))
