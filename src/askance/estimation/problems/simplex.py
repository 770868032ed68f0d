"""The first step of the paper's geometry: the distribution over outputs that best explains the observations."""

from __future__ import annotations

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.channels.finite import FiniteChannel

# Keeps the least-squares problem strictly convex where S is not of full rank; far below anything data can show.
_RIDGE = 1e-11


def closest_distribution(S: FloatArray, frequencies: FloatArray) -> FloatArray:
    """r̂ = argmin over the simplex of ‖q̂ − S r‖², shape (m,); of least norm where there are several.

    Where S†q̂ lies in the simplex it is the answer. Otherwise an active-set method solves the constrained problem:
    the projection is in the metric SᵀS, not the Euclidean one.
    """
    free = np.linalg.pinv(S) @ frequencies
    if free.min() >= 0 and abs(free.sum() - 1) < 1e-12:
        return np.asarray(free)
    size = S.shape[1]
    quadratic = S.T @ S
    quadratic += _RIDGE * np.trace(quadratic) / size * np.eye(size)
    linear = S.T @ frequencies
    r = np.full(size, 1.0 / size)
    active = np.zeros(size, dtype=bool)  # held at zero
    for _ in range(50 * size):
        target, multiplier = _on_face(quadratic, linear, ~active)
        step = target - r
        shrinking = (~active) & (target < 0)
        if shrinking.any():
            reach = np.full(size, np.inf)
            reach[shrinking] = r[shrinking] / -step[shrinking]
            first = int(np.argmin(reach))
            r = r + min(1.0, reach[first]) * step
            r[first] = 0.0
            active[first] = True
            continue
        r = target
        slack = quadratic @ r - linear - multiplier
        slack[~active] = 0.0
        if slack.min() >= -1e-12:
            break
        active[int(np.argmin(slack))] = False
    r = r.clip(0.0)
    return np.asarray(r / r.sum())


def _on_face(quadratic: FloatArray, linear: FloatArray, free: AnyArray) -> tuple[FloatArray, float]:
    """Minimise ½rᵀQr − cᵀr over Σr = 1 with the other coordinates 0; and the multiplier of the sum."""
    count = int(free.sum())
    system = np.ones((count + 1, count + 1))
    system[:count, :count] = quadratic[np.ix_(free, free)]
    system[count, count] = 0.0
    solution = np.linalg.solve(system, np.append(linear[free], 1.0))
    r = np.zeros(len(linear))
    r[free] = solution[:count]
    return r, -float(solution[count])


def likeliest_distribution(
    channel: FiniteChannel, frequencies: FloatArray, *, tolerance: float = 1e-13, max_iterations: int = 100_000
) -> tuple[FloatArray, bool]:
    """r̂ = argmin over the simplex of KL(q̂ ‖ S r), by EM from the uniform distribution; and whether it converged.

    The problem is convex in r, so EM reaches the global optimum. With gap = max_y (Sᵀ(q̂/Sr))(y) − 1 the optimum is
    within `gap` of the divergence reached: a certificate, used as the stopping rule. Over-relaxed steps are taken
    while they help.
    """
    size = len(channel.outputs)
    r = np.full(size, 1.0 / size)
    seen = frequencies > 0

    def ratios(p: FloatArray) -> FloatArray:
        predicted = channel.apply(p)
        return channel.apply_transposed(np.where(seen, frequencies / np.where(predicted > 0, predicted, 1.0), 0.0))

    def value(p: FloatArray) -> float:
        return float(frequencies[seen] @ np.log(channel.apply(p)[seen]))

    power, current = 1.0, value(r)
    for _ in range(max_iterations):
        factor = ratios(r)
        if factor.max() - 1 <= tolerance:
            return r, True
        trial = r * factor**power
        trial /= trial.sum()
        reached = value(trial)
        if reached < current and power > 1.0:
            power = 1.0
            continue
        r, current, power = trial, reached, min(power * 1.3, 1e4)
    return r, False
