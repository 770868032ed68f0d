"""How outputs are seen: S(o | y), its sampler, its likelihood, its privacy, and β built from it."""

from askance.channels.finite import FiniteChannel
from askance.channels.labels import Coarsened, ComplementaryLabels, Direct, NoisyLabels
from askance.channels.matrix import MatrixChannel
from askance.channels.observation import ObservationFunction
from askance.channels.protocols import Channel, HasLikelihood, LinearChannel, Private
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.registry import ChannelEntry, build_channel, entries, entry
from askance.channels.sufficient import SufficientChannel, sufficient_channel
from askance.channels.survey_designs import Crosswise, DisguisedResponse, ForcedResponse, UnrelatedQuestion, Warner

__all__ = [
    "Channel",
    "ChannelEntry",
    "Coarsened",
    "ComplementaryLabels",
    "Crosswise",
    "Direct",
    "DisguisedResponse",
    "FiniteChannel",
    "ForcedResponse",
    "HasLikelihood",
    "LinearChannel",
    "MatrixChannel",
    "NoisyLabels",
    "ObservationFunction",
    "Private",
    "RandomizedResponse",
    "SufficientChannel",
    "UnrelatedQuestion",
    "Warner",
    "build_channel",
    "entries",
    "entry",
    "sufficient_channel",
]
