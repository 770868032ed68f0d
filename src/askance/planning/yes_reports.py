"""Designs with two reports: how often the report that speaks for a yes is given, as a function of its share."""

from __future__ import annotations

import math
from typing import NamedTuple

from askance.categories import Label


class YesReports(NamedTuple):
    """The report that speaks for the output, and how often it is given.

    Attributes:
        report: its label.
        base: P(report | not the output).
        slope: by how much the output makes it more likely, above 0.
    """

    report: Label
    base: float
    slope: float

    def rate(self, share: float) -> float:
        """λ = base + slope · share.

        >>> round(YesReports("yes", 1 / 6, 2 / 3).rate(0.2), 12)
        0.3
        """
        return min(max(self.base + self.slope * share, 0.0), 1.0)

    def sigma(self, share: float) -> float:
        """√(λ(1 − λ))/slope: √n times the standard error of the share."""
        rate = self.rate(share)
        return math.sqrt(rate * (1 - rate)) / self.slope
