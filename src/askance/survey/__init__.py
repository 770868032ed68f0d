"""From a researcher's table to a regression: tables of any brand, formulas, fits."""

from askance.estimation.checks.channel_fit import ChannelTest, channel_fit_test
from askance.survey.alternative_channels import safest_observation, with_bias, with_noncompliance
from askance.survey.files import read_table
from askance.survey.formula import FormulaDesign
from askance.survey.hidden_designs import (
    CheatingDetection,
    CrosswiseControl,
    HiddenDesign,
    StochasticLieDetector,
    UnrelatedQuestionUnknown,
)
from askance.survey.list_experiment import ListExperiment
from askance.survey.regress import regress
from askance.survey.sensitivity import Sensitivity, sensitivity
from askance.survey.tables import Columns

__all__ = [
    "ChannelTest",
    "CheatingDetection",
    "Columns",
    "CrosswiseControl",
    "FormulaDesign",
    "HiddenDesign",
    "ListExperiment",
    "Sensitivity",
    "StochasticLieDetector",
    "UnrelatedQuestionUnknown",
    "channel_fit_test",
    "read_table",
    "regress",
    "safest_observation",
    "sensitivity",
    "with_bias",
    "with_noncompliance",
]
