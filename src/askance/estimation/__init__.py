"""From evidence to θ̂: moments, one step, marginal likelihood, supervision, projection."""

from askance.estimation.checks.channel_fit import ChannelTest, channel_fit_test
from askance.estimation.entry import METHODS, estimate, estimate_mean, project
from askance.estimation.field import estimate_field
from askance.estimation.linear import estimate_linear
from askance.estimation.outcome import Diagnostics, LocalMaximum
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.results.combined_means import combine_means
from askance.estimation.results.comparison import FitComparison, compare_fits
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit, CovariateEffects
from askance.estimation.results.contrasts import Contrasts
from askance.estimation.results.field_fit import FieldFit
from askance.estimation.results.fit import DistributionFit, Fit, Interval, ProbabilityTable, WaldTest
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.linear_fit import LinearFit
from askance.estimation.results.mean_statistics import MeanStatistics
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.multiplicity import adjusted_p_values
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.sequences.coefficient_sequence import coefficient_sequence
from askance.estimation.sequences.confidence_sequence import ConfidenceSequence
from askance.estimation.sequences.share_sequence import share_sequence
from askance.estimation.two_stage import TwoStage

__all__ = [
    "METHODS",
    "ChannelTest",
    "ConditionalFieldFit",
    "ConfidenceSequence",
    "Contrasts",
    "CovariateEffects",
    "Diagnostics",
    "DistributionFit",
    "FieldFit",
    "Fit",
    "FitComparison",
    "HiddenFit",
    "Interval",
    "LinearFit",
    "LocalMaximum",
    "MeanStatistics",
    "MeansFit",
    "NoisyTables",
    "ProbabilityTable",
    "RegressionFit",
    "TwoStage",
    "WaldTest",
    "adjusted_p_values",
    "channel_fit_test",
    "coefficient_sequence",
    "combine_means",
    "compare_fits",
    "estimate",
    "estimate_field",
    "estimate_linear",
    "estimate_mean",
    "project",
    "share_sequence",
]
