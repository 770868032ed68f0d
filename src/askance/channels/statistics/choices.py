"""Options that several channels share, read once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from askance._checks import did_you_mean, shown
from askance.channels.statistics.base import Averaging, Calibration
from askance.errors import InputError


def require_choice(value: object, name: str, allowed: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        raise InputError(
            f"{name} is {shown(value)}; allowed: {', '.join(allowed)}.",
            remedy=did_you_mean(value, allowed, f"The default is {allowed[0]}."),
        )
    return value


def require_calibration(value: object) -> Calibration:
    """How the stated level is spent."""
    return cast(Calibration, require_choice(value, "calibration", ("exact", "paper")))


def require_averaging(value: object) -> Averaging:
    """How means are taken where a channel draws what to release."""
    return cast(Averaging, require_choice(value, "averaging", ("within", "printed")))
