"""How outputs are seen: S(o | y), its sampler, its likelihood, its privacy, and β built from it."""

from askance.channels.finite import FiniteChannel
from askance.channels.labels import Coarsened, ComplementaryLabels, Direct, NoisyLabels
from askance.channels.matrix import MatrixChannel
from askance.channels.observation import ObservationFunction
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.registry import AnyChannel, ChannelEntry, build_answer_channel, build_channel, entries, entry
from askance.channels.statistics import (
    BallRelease,
    CliqueRelease,
    CoordinateRelease,
    Hybrid,
    Hypercube,
    PerValue,
    QuadraticRelease,
    Reports,
    StatisticsChannel,
    SubsetSelection,
    TripleRelease,
)
from askance.channels.sufficient import SufficientChannel, sufficient_channel
from askance.channels.survey_designs import Crosswise, DisguisedResponse, ForcedResponse, UnrelatedQuestion, Warner

__all__ = [
    "AnyChannel",
    "BallRelease",
    "ChannelEntry",
    "CliqueRelease",
    "Coarsened",
    "ComplementaryLabels",
    "CoordinateRelease",
    "Crosswise",
    "Direct",
    "DisguisedResponse",
    "FiniteChannel",
    "ForcedResponse",
    "Hybrid",
    "Hypercube",
    "MatrixChannel",
    "NoisyLabels",
    "ObservationFunction",
    "PerValue",
    "QuadraticRelease",
    "RandomizedResponse",
    "Reports",
    "StatisticsChannel",
    "SubsetSelection",
    "SufficientChannel",
    "TripleRelease",
    "UnrelatedQuestion",
    "Warner",
    "build_answer_channel",
    "build_channel",
    "entries",
    "entry",
    "sufficient_channel",
]
