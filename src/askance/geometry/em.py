"""The way EM takes, from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_count, as_list, as_parameter
from askance.channels.finite import FiniteChannel
from askance.estimation.methods.marginal import climb_em
from askance.estimation.problems.tally_problem import TallyProblem
from askance.estimation.solvers.newton import newton
from askance.evidence.tally import Tally
from askance.geometry.inputs import as_problem, require_model, require_pair
from askance.geometry.maxima import SAME_MAXIMUM, Maximum, find_peaks
from askance.models.enumerated import Enumerated

_MOST_STEPS = 10_000
# To see where EM ends it is let run on, so many times so many iterations.
_ROUNDS, _ROUND = 100, 50
# EM rests where a step is too short to be seen; slow as it is, the maximum may be so far away in probability.
_NEAR = 1e-4


@dataclass(frozen=True, eq=False)
class EmPath:
    """The iterates of EM from one start.

    Attributes:
        iterates: θ₀ (the start), θ₁, …, shape (t + 1, d); fewer than asked for where EM came to rest.
        average_log_likelihood: Ê log Σ_y S(o|y) p_θ(y) of each, shape (t + 1,); never falls.
        maximum: which of the maxima (best first, as `likelihood_picture` lists them) EM ends at when it is let run on;
            None: at none, because θ runs off to infinity or began there (no report could tell it from the limit).
    """

    iterates: FloatArray
    average_log_likelihood: FloatArray
    maximum: int | None


def em_paths(
    model: Enumerated,
    channel: FiniteChannel,
    observed: Tally,
    starts: Sequence[ArrayLike],
    steps: int = 100,
) -> list[EmPath]:
    """θ ↦ the θ' with μ(θ') = Σ_o q̂(o) E_θ[φ | o], again and again, from each start.

    Args:
        model: with one or two statistics.
        channel: S, about the outputs of the model.
        observed: what was reported through the channel.
        starts: points of θ, each of shape (d,); for one statistic plain numbers do.
        steps: how many iterations to keep. Where a path ends is found by going on, beyond what is kept.

    >>> from askance import MatrixChannel
    >>> channel = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
    >>> observed = Tally(channel, [237_182, 410_351, 352_468])
    >>> [path.maximum for path in em_paths(Enumerated([[2, 1, 0]]), channel, observed, [-3, 0, 3])]
    [0, 0, 1]
    """
    require_model(model, (1, 2))
    problem = as_problem(model, require_pair(model, channel), observed)
    return follow_em(problem, as_starts(starts, model.dimension), as_steps(steps), find_peaks(problem).maxima)


def as_steps(steps: object, name: str = "steps") -> int:
    """How many iterations to keep."""
    return as_count(steps, name, minimum=1, maximum=_MOST_STEPS)


def as_starts(starts: object, dimension: int, name: str = "starts") -> list[FloatArray]:
    """Points of θ; for one statistic plain numbers are read as points."""
    example = "[-3, 0, 3]" if dimension == 1 else "[[0, 1], [1, 0]]"
    listed = as_list(starts, name, example, empty=False)
    points: list[Any] = [[start] if isinstance(start, (int, float, np.number)) else start for start in listed]
    return [as_parameter(point, dimension, f"{name}[{i}]") for i, point in enumerate(points)]


def follow_em(
    problem: TallyProblem, starts: Sequence[FloatArray], steps: int, maxima: Sequence[Maximum]
) -> list[EmPath]:
    """`em_paths` of a problem whose maxima are known."""
    return [_follow(problem, start, steps, maxima) for start in starts]


def _follow(problem: TallyProblem, start: FloatArray, steps: int, maxima: Sequence[Maximum]) -> EmPath:
    iterates, heights = [start], [-problem.likelihood().value(start)]
    for _ in range(steps):
        step = climb_em(problem, iterates[-1], max_iterations=1)
        iterates.append(step.theta)
        heights.append(-step.value)
        if step.converged or step.escaped:
            break
    return EmPath(np.array(iterates), np.array(heights), _end(problem, iterates[-1], maxima))


def _end(problem: TallyProblem, theta: FloatArray, maxima: Sequence[Maximum]) -> int | None:
    """The maximum that EM ends at from θ on, by letting it run until it is there, rests, or has run off."""
    if not maxima:
        return None
    for _ in range(_ROUNDS):
        rest = climb_em(problem, theta, max_iterations=_ROUND)
        theta = rest.theta
        nearest, distance = _nearest(problem, theta, maxima)
        if distance < SAME_MAXIMUM or rest.converged or rest.escaped:
            break
    else:
        # So slow that Newton has to do the rest; it is near a place where EM would come to rest.
        theta = newton(problem.likelihood(), theta, problem.standard).theta
        nearest, distance = _nearest(problem, theta, maxima)
    return nearest if distance < _NEAR else None


def _nearest(problem: TallyProblem, theta: FloatArray, maxima: Sequence[Maximum]) -> tuple[int, float]:
    """Which maximum is nearest in probability, and how near."""
    distances = [problem.distance(theta, maximum.theta) for maximum in maxima]
    return int(np.argmin(distances)), min(distances)
