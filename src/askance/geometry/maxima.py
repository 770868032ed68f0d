"""Every local maximum of a marginal likelihood with one or two parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.problems.likelihood import MarginalLikelihood
from askance.estimation.problems.tally_problem import TallyProblem
from askance.estimation.solvers.newton import newton
from askance.geometry.family import family_curve, family_limit

# The grid of one parameter: evenly in θ, and so near that p_θ moves by no more than this.
_POINTS, _SPACING = 1001, 0.005
# Slopes below this share of the range of a statistic are rounding: the likelihood is flat there.
_FLAT = 1e-13
# The grid of two parameters: so many log-odds each way, across the range of a statistic, and so many points a side.
_REACH, _SIDE = 20.0, 61
# Newton also begins at every so many of the grid's points, lest a narrow peak falls between them.
_STRIDE = 5
# Two ends are one maximum when no output's probability differs by more than this.
SAME_MAXIMUM = 1e-6


@dataclass(frozen=True)
class Maximum:
    """A local maximum of the average log-likelihood: where, shape (d,), and how high."""

    theta: FloatArray
    average_log_likelihood: float


@dataclass(frozen=True)
class Peaks:
    """What a search for maxima found.

    Attributes:
        maxima: best first.
        highest_at_infinity: the highest that was reached by climbing to infinity; −∞ where nothing led there.
    """

    maxima: list[Maximum]
    highest_at_infinity: float


@dataclass(frozen=True)
class Limit:
    """What becomes of the average log-likelihood as θ → sign · ∞.

    Attributes:
        sign: −1 or +1.
        average_log_likelihood: the limit; −∞ where something observed becomes impossible.
        rises: whether the likelihood grows on the way there, so that the limit is a maximum that no θ attains.
    """

    sign: int
    average_log_likelihood: float
    rises: bool


def find_peaks(problem: TallyProblem) -> Peaks:
    """All local maxima at finite θ, best first: a dense grid, then Newton steps to the last digits.

    For one parameter the grid runs until all but 10⁻⁸ of the probability is where it is in the limit, and a maximum is
    where the slope changes from up to down, so that only two maxima closer than the grid could hide. For two parameters
    Newton begins at every peak of a grid of 20 log-odds each way, and at a coarser grid beside it.

    >>> from askance import Enumerated, MatrixChannel, Tally
    >>> S = [["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]]
    >>> tally = Tally(MatrixChannel(S), [237_182, 410_351, 352_468])
    >>> problem = TallyProblem(Enumerated([[2, 1, 0]]), tally)
    >>> [round(float(each.theta[0]), 2) for each in find_peaks(problem).maxima]
    [-1.1, 2.26]
    """
    if problem.model.dimension == 1:
        maxima = _peaks_of_curve(problem)
        escapes = [peak.average_log_likelihood for peak in limits(problem) if peak.rises]
    else:
        maxima, escapes = _peaks_of_surface(problem)
    return Peaks(sorted(maxima, key=lambda peak: -peak.average_log_likelihood), max(escapes, default=-math.inf))


def limits(problem: TallyProblem) -> list[Limit]:
    """What becomes of the likelihood of a model with one statistic as θ → −∞ and θ → +∞."""
    likelihood, theta = problem.likelihood(), family_curve(problem.model, 1.0).theta
    flat = _FLAT * problem.model.statistic_ranges[0]
    seen = problem.evidence.frequencies > 0
    both = []
    for sign, end in ((-1, theta[0]), (1, theta[-1])):
        predicted = problem.channel.apply(family_limit(problem.model, sign))[seen]
        with np.errstate(divide="ignore"):
            height = float(problem.evidence.frequencies[seen] @ np.log(predicted))
        slope = -sign * float(likelihood.gradient(np.array([end]))[0])
        both.append(Limit(sign, height, bool(slope > flat and math.isfinite(height))))
    return both


def _peaks_of_curve(problem: TallyProblem) -> list[Maximum]:
    """Where the slope changes from up to down."""
    from scipy.optimize import brentq

    likelihood = problem.likelihood()

    def slope(theta: float) -> float:
        return -float(likelihood.gradient(np.array([theta]))[0])

    curve = family_curve(problem.model, _SPACING).theta
    grid = np.union1d(curve, np.linspace(curve[0], curve[-1], _POINTS))
    slopes = np.array([slope(theta) for theta in grid.tolist()])
    steep = np.abs(slopes) > _FLAT * problem.model.statistic_ranges[0]
    grid, slopes = grid[steep], slopes[steep]
    maxima = []
    for i in np.flatnonzero((slopes[:-1] > 0) & (slopes[1:] < 0)):
        low, high = float(grid[i]), float(grid[i + 1])
        theta = np.array([brentq(slope, low, high, xtol=1e-14 * max(1.0, abs(low), abs(high)))])
        polished = newton(likelihood, theta, problem.standard).theta
        if low <= polished[0] <= high and abs(slope(float(polished[0]))) <= abs(slope(float(theta[0]))):
            theta = polished
        maxima.append(Maximum(theta, -likelihood.value(theta)))
    return maxima


def _peaks_of_surface(problem: TallyProblem) -> tuple[list[Maximum], list[float]]:
    """Newton from the peaks of a grid and from a coarser grid: the different ends, and how high those that ran off."""
    likelihood = problem.likelihood()
    maxima: list[Maximum] = []
    escapes: list[float] = []
    for start in _starts(problem, likelihood):
        end = newton(likelihood, start, problem.standard, escaped=problem.ran_off)
        if end.escaped:
            escapes.append(-end.value)
            continue
        curvatures = np.linalg.eigvalsh(problem.standard.hessian(likelihood.hessian(end.theta)))
        if not end.converged or curvatures.min() <= _FLAT:
            continue
        if all(problem.distance(end.theta, other.theta) > SAME_MAXIMUM for other in maxima):
            # One more plain step: what the line search leaves is below its own rounding.
            polished = end.theta - np.linalg.solve(likelihood.hessian(end.theta), likelihood.gradient(end.theta))
            maxima.append(Maximum(polished, -likelihood.value(polished)))
    return maxima, escapes


def _starts(problem: TallyProblem, likelihood: MarginalLikelihood) -> list[FloatArray]:
    """Grid points higher than their eight neighbours, and every few points of the grid."""
    axis = np.linspace(-_REACH, _REACH, _SIDE)
    points = np.array([problem.standard.to_parameters(np.array(pair)) for pair in product(axis, axis)])
    heights = np.full((_SIDE + 2, _SIDE + 2), -np.inf)
    heights[1:-1, 1:-1] = np.reshape([-likelihood.value(point) for point in points], (_SIDE, _SIDE))
    inner = heights[1:-1, 1:-1]
    shifts = [shift for shift in product((0, 1, 2), repeat=2) if shift != (1, 1)]
    around = np.max([heights[i : i + _SIDE, j : j + _SIDE] for i, j in shifts], axis=0)
    chosen = inner > around
    # Far from the centre nothing is left to climb from: the coarser grid needs the middle third only.
    chosen[_SIDE // 3 : 2 * _SIDE // 3 : _STRIDE, _SIDE // 3 : 2 * _SIDE // 3 : _STRIDE] = True
    return list(points[chosen.ravel()])
