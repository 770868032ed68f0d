"""The library's own estimates, as numbers to draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.errors import NotIdentifiedError
from askance.estimation.methods.moments import fit_moments
from askance.estimation.methods.one_step import fit_one_step
from askance.estimation.outcome import Outcome
from askance.estimation.problems.tally_problem import TallyProblem
from askance.models.enumerated import Enumerated


def moments_and_one_step(problem: TallyProblem) -> tuple[Outcome, Outcome] | None:
    """The moment estimate and the one-step estimate; None where the channel cannot see a statistic.

    Where the moments are those of no distribution a weak prior acts. That is said in the picture instead of a warning.
    """
    try:
        return fit_moments(problem), fit_one_step(problem)
    except NotIdentifiedError:
        return None


def member(model: Enumerated, theta: FloatArray) -> dict[str, Any]:
    """A member of the family: θ, its probabilities and its mean statistics, as plain values."""
    return {
        "theta": theta.tolist(),
        "probabilities": model.probabilities(theta).tolist(),
        "moment": model.mean_statistics(theta).tolist(),
    }


def fitted(problem: TallyProblem, fit: Outcome) -> dict[str, Any]:
    """An estimate: the member, its average log-likelihood, and whether a weak prior acted."""
    height = -problem.likelihood().value(fit.theta)
    return {
        **member(problem.model, fit.theta),
        "average_log_likelihood": plain(height),
        "repaired": fit.diagnostics.repaired,
    }


def plain(value: float) -> float | None:
    """A number for JSON, which knows no infinity."""
    return float(value) if np.isfinite(value) else None
