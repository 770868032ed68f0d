"""Centres and scales of columns from the bits of a pilot."""

from __future__ import annotations

import numpy as np

from askance.estimation.outcome import Diagnostics, Outcome
from askance.estimation.problems.pilot_problem import PilotProblem

# Where a column may lie and how wide it may be, as shares of its bounds: the grid of the posterior.
_CENTRES = np.linspace(0, 1, 81)
_WIDTHS = np.geomspace(0.015, 0.4, 40)


def fit_pilot(problem: PilotProblem) -> Outcome:
    """Centres, then scales, of every column in the units of the data; see `ScalePilot`."""
    from scipy.special import ndtr

    pilot, field = problem.pilot, problem.pilot.field
    zeros, ones = problem.tested.sums.reshape(2, field.n_features + 1, pilot.thresholds)
    raised = pilot.channel.flips.ones(ndtr((_CENTRES[:, None, None] - pilot.places) / _WIDTHS[:, None]))
    # One table of likelihoods (centres, widths) per column.
    heights = np.einsum("jt,abt->jab", ones, np.log(raised)) + np.einsum("jt,abt->jab", zeros, np.log1p(-raised))
    posterior = np.exp(heights - heights.max(axis=(1, 2), keepdims=True))
    posterior /= posterior.sum(axis=(1, 2), keepdims=True)
    centres = np.einsum("jab,a->j", posterior, _CENTRES)
    widths = np.exp(np.einsum("jab,b->j", posterior, np.log(_WIDTHS)))
    extent = field.high - field.low
    theta = np.concatenate([field.low + extent * centres, extent * widths])
    return Outcome(
        theta=theta,
        covariance=np.full((len(theta), len(theta)), np.nan),
        method="pilot",
        covariance_kind="none",
        converged=True,
        diagnostics=Diagnostics(),
    )
