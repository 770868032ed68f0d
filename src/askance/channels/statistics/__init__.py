"""Channels on statistics: a device noises φ(x, y) instead of the answer, so that structure pays."""

from askance.channels.statistics.base import Averaging, Calibration, Enumeration, HasReportLikelihood, StatisticsChannel
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.per_value import PerValue
from askance.channels.statistics.reports import Column, Reports

__all__ = [
    "Averaging",
    "Calibration",
    "Column",
    "CoordinateRelease",
    "Enumeration",
    "HasReportLikelihood",
    "PerValue",
    "Reports",
    "StatisticsChannel",
]
