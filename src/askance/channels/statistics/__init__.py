"""Channels on statistics: a device noises φ(x, y) instead of the answer, so that structure pays."""

from askance.channels.statistics.ball_release import BallRelease
from askance.channels.statistics.base import Averaging, Calibration, Enumeration, HasReportLikelihood, StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.hybrid import Hybrid
from askance.channels.statistics.hypercube import Hypercube
from askance.channels.statistics.per_value import PerValue
from askance.channels.statistics.quadratic_release import QuadraticRelease
from askance.channels.statistics.reports import Column, Reports
from askance.channels.statistics.subset_selection import SubsetSelection
from askance.channels.statistics.triple_release import TripleRelease

__all__ = [
    "Averaging",
    "BallRelease",
    "Calibration",
    "CliqueRelease",
    "Column",
    "CoordinateRelease",
    "Enumeration",
    "HasReportLikelihood",
    "Hybrid",
    "Hypercube",
    "PerValue",
    "QuadraticRelease",
    "Reports",
    "StatisticsChannel",
    "SubsetSelection",
    "TripleRelease",
]
