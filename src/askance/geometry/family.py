"""The curve that a family with one statistic draws among all distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.models.enumerated import Enumerated
from askance.models.softmax import log_sum_exp

# The curve is followed until all but this share of the probability is where it is in the limit. What the model does
# further out would take more than 10⁸ reports to be seen.
_LEFT_OVER = 1e-8


@dataclass(frozen=True)
class FamilyCurve:
    """{p_θ} for one statistic, from one limit to the other.

    Attributes:
        theta: increasing, shape (t,).
        probabilities: p_θ of each, shape (t, m).
        limits: p_θ as θ → −∞ and as θ → +∞, shape (2, m).
    """

    theta: FloatArray
    probabilities: FloatArray
    limits: FloatArray


def family_curve(model: Enumerated, spacing: float) -> FamilyCurve:
    """Points of the family no further apart than `spacing`, Euclidean.

    >>> curve = family_curve(Enumerated([[5, -1, 0]]), 0.01)
    >>> curve.limits
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    low, high = (sign * _reach(model, sign) for sign in (-1, 1))
    theta = np.linspace(low, high, 65)
    while True:
        p = family_probabilities(model, theta)
        wide = np.linalg.norm(np.diff(p, axis=0), axis=1) > spacing
        if not wide.any():
            return FamilyCurve(theta, p, np.stack([family_limit(model, -1), family_limit(model, 1)]))
        theta = np.sort(np.append(theta, (theta[:-1] + theta[1:])[wide] / 2))


def family_probabilities(model: Enumerated, theta: FloatArray) -> FloatArray:
    """p_θ for many θ of one statistic, shape (t, m)."""
    scores = theta[:, None] * model.table[0] + model.log_base_measure
    return np.asarray(np.exp(scores - log_sum_exp(scores)[:, None]))


def family_limit(model: Enumerated, sign: int) -> FloatArray:
    """The limit of p_θ as θ → sign · ∞, shape (m,): all is on the outputs with the extreme statistic."""
    extreme = _extreme(model, sign)
    weights = np.where(extreme, np.exp(model.log_base_measure - model.log_base_measure[extreme].max()), 0.0)
    return np.asarray(weights / weights.sum())


def _extreme(model: Enumerated, sign: int) -> AnyArray:
    values = sign * model.table[0]
    return np.asarray(values == values.max())


def _reach(model: Enumerated, sign: int) -> float:
    """How far θ goes: beyond it less than `_LEFT_OVER` is elsewhere than in the limit.

    With g the gap between the extreme statistic and the next, the others keep at most e^(−gθ) of their weight.
    """
    values, extreme, base = sign * model.table[0], _extreme(model, sign), model.log_base_measure
    gap = float(values.max() - values[~extreme].max())
    others, there = (float(log_sum_exp(base[None, which])[0]) for which in (~extreme, extreme))
    return (others - there - math.log(_LEFT_OVER)) / gap
