"""What is learned: p_θ(y | x), its statistics and its log-partition function."""

from typing import TYPE_CHECKING as _TYPES_ALONE

from askance._former import former_names as _former_names
from askance.models.count_means import CountMeans as CountMeans
from askance.models.enumerated import Enumerated as Enumerated
from askance.models.hidden import Factor as Factor
from askance.models.hidden import HiddenVariables as HiddenVariables
from askance.models.linear import LinearModel as LinearModel
from askance.models.outcome import Outcome as Outcome
from askance.models.protocols import FiniteModel as FiniteModel
from askance.models.protocols import HasFisherInformation as HasFisherInformation
from askance.models.protocols import Model as Model
from askance.models.random_field import RandomField as RandomField
from askance.models.softmax import Softmax as Softmax

if not _TYPES_ALONE:
    __getattr__ = _former_names(__name__, globals().__getitem__)
