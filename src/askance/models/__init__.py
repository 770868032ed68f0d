"""What is learned: p_θ(y | x), its statistics and its log-partition function."""

from typing import TYPE_CHECKING, Any

from askance._renamed import former_class
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

if TYPE_CHECKING:
    GaussianField = LinearModel


def __getattr__(name: str) -> Any:
    return former_class(__name__, name)
