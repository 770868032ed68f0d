"""Newton steps from several starts at once, for an objective that is quicker at many θ than at each by itself."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.estimation.parameter_scale import Standard
from askance.estimation.solvers.newton import descent

# A start whose step would have to be shorter than this share is left where it is.
_SHORTEST = 1e-9
# Steps at most, also those that are taken back.
_MOST_STEPS = 200
# Starts whose next steps would end so near to each other, in log-odds, where the objective is convex, go the same way.
_NEAR = 0.1


@runtime_checkable
class AtMany(Protocol):
    """An objective at several θ."""

    def at_many(self, thetas: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Values (B,), gradients (B, d) and Hessians (B, d, d) at θ of shape (B, d)."""


def climb_together(objective: AtMany, starts: FloatArray, standard: Standard, tolerance: float) -> FloatArray:
    """Where damped Newton steps end, roughly, shape (B, d): at minima, at saddles, or far out.

    As `newton`, in step; of starts that go the same way only the nearest goes on. What an end is, is for a closer look
    from there.

    Args:
        objective: what to minimise.
        starts: where to begin, shape (B, d).
        standard: coordinates that make the steps independent of units.
        tolerance: on the squared decrement: a step that is shorter is the last.
    """
    theta, (values, gradients, hessians) = starts.copy(), objective.at_many(starts)
    steps, decrements = np.empty_like(theta), np.empty(len(theta))
    share, going = np.ones(len(theta)), np.arange(len(theta))
    # Where steps lead to, NaN where that is unknown; and who goes the way of whom.
    ahead, leader = np.full_like(theta, np.nan), np.arange(len(theta))
    fresh = going
    for _ in range(_MOST_STEPS):
        for i in fresh.tolist():
            gradient = standard.gradient(gradients[i])
            step, downhill = descent(standard.hessian(hessians[i]), gradient)
            steps[i], decrements[i] = standard.to_parameters(step), -gradient @ step
            ahead[i] = np.nan if downhill is not None else standard.matrix @ (theta[i] + steps[i])
        for i in going.tolist():
            if len(nearer := _same_way(ahead, leader, decrements, i)):
                leader[i] = nearer[0]
        going = going[leader[going] == going]
        if not len(going):
            break
        trial = theta[going] + share[going, None] * steps[going]
        value, gradient, hessian = objective.at_many(trial)
        lower = value <= values[going] - 1e-4 * share[going] * decrements[going]
        taken = going[lower]
        theta[taken], values[taken] = trial[lower], value[lower]
        gradients[taken], hessians[taken] = gradient[lower], hessian[lower]
        share[taken], fresh = 1.0, taken[decrements[taken] > tolerance]
        share[going[~lower]] /= 2
        going = np.union1d(fresh, [i for i in going[~lower] if share[i] > _SHORTEST]).astype(np.int64)
    while (leader != leader[leader]).any():
        leader = leader[leader]
    return theta[leader]


def _same_way(ahead: FloatArray, leader: IntArray, decrements: FloatArray, i: int) -> IntArray:
    """Those who lead themselves to where start i is heading, and are nearer to it."""
    same = (np.abs(ahead - ahead[i]).max(axis=1) < _NEAR) & (leader == np.arange(len(leader)))
    return np.flatnonzero(same & (decrements < decrements[i]))
