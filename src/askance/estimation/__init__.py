"""From evidence to θ̂: moments, one step, marginal likelihood, supervision, projection."""

from askance.estimation.field_estimation import estimate_field
from askance.estimation.field_evidence import NoisyTables
from askance.estimation.field_fit import FieldFit
from askance.estimation.fit import Diagnostics, DistributionFit, Fit, Interval, LocalMaximum, ProbabilityTable, WaldTest
from askance.estimation.mean_statistics import MeanStatistics, estimate_mean
from askance.estimation.methods import METHODS, estimate
from askance.estimation.projection import project
from askance.estimation.regression_fit import RegressionFit

__all__ = [
    "METHODS",
    "Diagnostics",
    "DistributionFit",
    "FieldFit",
    "Fit",
    "Interval",
    "LocalMaximum",
    "MeanStatistics",
    "NoisyTables",
    "ProbabilityTable",
    "RegressionFit",
    "WaldTest",
    "estimate",
    "estimate_field",
    "estimate_mean",
    "project",
]
