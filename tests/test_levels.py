"""Levels are compared exactly: the largest ratio that a level allows passes everywhere, and the next one nowhere."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance import Enumerated, MatrixChannel, certify
from askance._kernels.draw import TOTAL
from askance.channels.statistics import CliqueRelease
from askance.channels.thresholds import exceeds, exp_rounded_down, largest_odds, log_rounded_up
from askance.errors import InputError, LabelError, ProbabilityError
from askance.estimation.two_stage import TwoStage
from askance.formats import channel_to_toml
from askance.sklearn import PrivateLogisticRegression
from tests.test_cli import call

#: The decimal that a float is written as lies below it, or above it, or is the float.
LEVELS = [0.9999999999990001, 0.1, 1.1, 0.3, 0.7, 1.0]


def nearest_channels(level: float) -> tuple[MatrixChannel, MatrixChannel]:
    """The yes/no channel of the largest ratio that is at most e^level, and the next, one unit of 2⁻⁶² beyond it."""
    odds = exp_rounded_down(Fraction(level))
    low = math.ceil(TOTAL / (1 + odds))
    pair = [
        [[Fraction(TOTAL - u, TOTAL), Fraction(u, TOTAL)], [Fraction(u, TOTAL), Fraction(TOTAL - u, TOTAL)]]
        for u in (low, low - 1)
    ]
    within, beyond = (MatrixChannel(rows, outputs=["no", "yes"]) for rows in pair)
    assert certify(within).largest_ratio <= odds < certify(beyond).largest_ratio  # type: ignore[operator]
    return within, beyond


@pytest.mark.parametrize("level", LEVELS)
def test_a_table_is_within_the_level_it_states_and_not_within_less(level: float) -> None:
    within, beyond = nearest_channels(level)
    assert (within.privacy_level, beyond.privacy_level) == (level, math.nextafter(level, 31))
    for written in (level, repr(level), Fraction(level)):
        made = CliqueRelease([2], [[0]], written, table_channels=[within])
        assert made.privacy_level == made.stated_level == level
        assert certify(made).holds
        with pytest.raises(ProbabilityError, match=f"level {beyond.privacy_level!r}; allowed: at most .* {level!r}"):
            CliqueRelease([2], [[0]], written, table_channels=[beyond])


@pytest.mark.parametrize("level", LEVELS)
def test_every_place_that_asks_for_a_level_agrees(level: float, tmp_path: Path) -> None:
    within, beyond = nearest_channels(level)
    for channel, code in ((within, 0), (beyond, 1)):
        path = tmp_path / "channel.toml"
        path.write_text(channel_to_toml(channel), encoding="utf-8")
        assert call("certify", "file", str(path), "--at-most", repr(level)).code == code
    model = Enumerated([[0.0, 1.0]], outputs=["no", "yes"])
    assert TwoStage(model, level, pilot_channel=within).pilot_channel is within
    with pytest.raises(InputError, match=f"{beyond.privacy_level!r}; allowed: at most {level!r}"):
        TwoStage(model, level, pilot_channel=beyond)
    # A report that is none is refused after the level, so nothing needs to be fitted to see that the level passed.
    for channel, refusal in ((within, LabelError), (beyond, InputError)):
        with pytest.raises(refusal, match="observed" if channel is within else repr(beyond.privacy_level)):
            PrivateLogisticRegression(level).fit_reports(np.ones((1, 1)), ["maybe"], channel)


@given(st.integers(1, TOTAL - 1), st.integers(1, TOTAL))
def test_a_level_is_exceeded_exactly_where_the_ratio_is(smaller: int, more: int) -> None:
    """Ratios of whole numbers of 62 bits lie much further from e^float than the 1e-50 by which it is rounded."""
    ratio = Fraction(min(smaller + more, TOTAL), smaller)
    level = log_rounded_up(ratio)
    for limit in (level, math.nextafter(level, 50), math.nextafter(level, 0)):
        assert exceeds(level, limit) == (ratio > exp_rounded_down(Fraction(limit)))
    assert largest_odds(Fraction(repr(level))) <= exp_rounded_down(Fraction(level))
