"""What a certificate says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from askance.categories import Label
from askance.channels.thresholds import exceeds

# In bits: 4,300 digits are what Python reads and writes.
_LONGEST_RATIO = 14_000


@dataclass(frozen=True)
class Certificate:
    """What was proved about a channel.

    Attributes:
        privacy_level: the exact level, rounded up to a float; infinite when some observation excludes some output.
        largest_ratio: e^level as an exact fraction; None when infinite.
        unbiased: whether some linear β has E[β(o) | y] = φ(y) exactly (or up to `bias_bound`), for every output y.
        rounding: largest |E[β(o) | y] − φ(y)| of the floating-point β that is really used, from exact arithmetic;
            None when there is no β, when there are too many products to form, and for channels on statistics.
        worst_observations: the observations at which the level is attained.
        proved_by: how: "enumeration" or "structure".
        stated_level: the level that was asked for, where the channel keeps it.
        complete: whether all worst observations are listed, or only examples.
        bias_bound: share of φ by which β may miss it; 0 unless a channel's directions are only nearly Gaussian.
    """

    privacy_level: float
    largest_ratio: Fraction | None
    unbiased: bool
    rounding: float | None
    worst_observations: tuple[Label, ...]
    proved_by: str
    stated_level: float | None = None
    bias_bound: float = 0.0
    complete: bool = True

    def _stated(self) -> dict[str, Any]:
        return {"stated_level": self.stated_level, "holds": self.holds, "bias_bound": self.bias_bound}

    @property
    def holds(self) -> bool:
        """Whether the channel is as private as it was asked to be (always, where nothing was stated)."""
        return self.stated_level is None or not exceeds(self.privacy_level, self.stated_level)

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite level is None, and so is a ratio of more digits than Python reads back."""
        return {
            "privacy_level": None if math.isinf(self.privacy_level) else self.privacy_level,
            "largest_ratio": _as_text(self.largest_ratio),
            "unbiased": self.unbiased,
            "rounding": self.rounding,
            "worst_observations": list(self.worst_observations),
            "worst_observations_complete": self.complete,
            "proved_by": self.proved_by,
        } | ({} if self.stated_level is None else self._stated())


def _as_text(ratio: Fraction | None) -> str | None:
    return None if ratio is None or ratio.numerator.bit_length() > _LONGEST_RATIO else str(ratio)
