"""The paper's triple: its level is that of three bits about two numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from askance._kernels.draw import TOTAL
from askance.channels.statistics.triple_release import TripleRelease
from askance.errors import InputError


def ratio_on_a_grid(channel: TripleRelease, points: int) -> float:
    """Max over reports of max_v S / min_v S over a fine grid of the square, from the thresholds of the sampler."""
    axis = np.linspace(-1, 1, points)
    rows = np.array([[a, b] for a in axis for b in axis])
    encoded = channel._read(rows, 0)
    ones = channel._thresholds(encoded, np.zeros(len(rows), dtype=np.int64)) / TOTAL
    worst = 0.0
    for code in range(8):
        bits = np.array([code & 4, code & 2, code & 1]) > 0
        probability = np.where(bits, ones, 1 - ones).prod(axis=1)
        worst = max(worst, float(probability.max() / probability.min()))
    return worst


@pytest.mark.parametrize("calibration", ["exact", "paper"])
@pytest.mark.parametrize("level", ["1/10", "1", "4", "12"])
def test_no_pair_of_vectors_exceeds_the_level_and_one_attains_it(level: str, calibration: str) -> None:
    channel = TripleRelease(2, level, calibration="exact" if calibration == "exact" else "paper")
    assert ratio_on_a_grid(channel, 41) == pytest.approx(float(channel.largest_ratio()), rel=1e-9)


def test_the_level_is_neither_that_of_one_bit_nor_of_three_independent_ones() -> None:
    channel = TripleRelease(2, 3)
    one_bit = channel.flips.up
    assert one_bit < channel.largest_ratio() < one_bit**3


@pytest.mark.parametrize("level", ["1/10", "1", "4", "8", "30"])
def test_exact_calibration_spends_the_level_and_not_more(level: str) -> None:
    stated = float(Fraction(level))
    assert 0.999999 * stated <= TripleRelease(5, level).privacy_level <= stated


def test_as_printed_a_part_of_the_level_is_spent() -> None:
    spent = [TripleRelease(4, level, calibration="paper").privacy_level / level for level in (1, 4, 8)]
    assert all(0.4 < share < 0.5 for share in spent)


def test_thresholds_are_whole_numbers_for_every_vector() -> None:
    channel = TripleRelease(3, 1)
    span = channel.flips.keep - channel.flips.raised
    assert span % 2**31 == 0
    assert channel.flips.keep + channel.flips.raised == TOTAL


def test_long_vectors_are_refused() -> None:
    with pytest.raises(InputError, match=r"statistic 1 of row 0 lies outside its bounds; allowed: −1 to 1"):
        TripleRelease(2, 1).randomize([[0.0, 1.5]])
