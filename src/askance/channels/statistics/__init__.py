"""Channels on statistics: a device noises φ(x, y) instead of the answer, so that structure pays."""

from askance.channels.statistics.ball_release import BallRelease as BallRelease
from askance.channels.statistics.base import Averaging as Averaging
from askance.channels.statistics.base import Calibration as Calibration
from askance.channels.statistics.base import Enumeration as Enumeration
from askance.channels.statistics.base import HasReportLikelihood as HasReportLikelihood
from askance.channels.statistics.base import StatisticsChannel as StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease as CliqueRelease
from askance.channels.statistics.coordinate_release import CoordinateRelease as CoordinateRelease
from askance.channels.statistics.hybrid import Hybrid as Hybrid
from askance.channels.statistics.hypercube import Hypercube as Hypercube
from askance.channels.statistics.per_value import PerValue as PerValue
from askance.channels.statistics.quadratic_release import QuadraticRelease as QuadraticRelease
from askance.channels.statistics.reports import Column as Column
from askance.channels.statistics.reports import Reports as Reports
from askance.channels.statistics.subset_selection import SubsetSelection as SubsetSelection
from askance.channels.statistics.triple_release import TripleRelease as TripleRelease
