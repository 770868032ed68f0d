"""What is learned: p_θ(y | x), its statistics and its log-partition function."""

from askance.models.enumerated import Enumerated
from askance.models.hidden import Factor, HiddenVariables
from askance.models.linear import GaussianField, LinearModel
from askance.models.protocols import FiniteModel, HasFisherInformation, Model
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax

__all__ = [
    "Enumerated",
    "Factor",
    "FiniteModel",
    "GaussianField",
    "HasFisherInformation",
    "HiddenVariables",
    "LinearModel",
    "Model",
    "RandomField",
    "Softmax",
]
