"""From evidence to θ̂: moments, one step, marginal likelihood, supervision, projection."""

from askance.estimation.fit import Diagnostics, DistributionFit, Fit, Interval, LocalMaximum, ProbabilityTable, WaldTest
from askance.estimation.methods import METHODS, estimate
from askance.estimation.projection import project

__all__ = [
    "METHODS",
    "Diagnostics",
    "DistributionFit",
    "Fit",
    "Interval",
    "LocalMaximum",
    "ProbabilityTable",
    "WaldTest",
    "estimate",
    "project",
]
