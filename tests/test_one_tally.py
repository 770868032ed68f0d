"""One tally for both families of channels: answers are counted, statistics summed, by the same steps."""

from __future__ import annotations

import numpy as np
import pytest

from askance import MatrixChannel, PerValue, RandomizedResponse, Tally
from askance.channels import AnyChannel, FiniteChannel, Reports
from askance.errors import IncompatibleEvidenceError, InputError
from askance.evidence.tally import of_answers, of_statistics
from tests.families import CHANNELS as ANSWERS
from tests.statistics_families import CHANNELS as STATISTICS

ANSWER, BITS = RandomizedResponse("1/2", outputs=["no", "yes"]), PerValue(3, 2, l1_norm=1)
REFUSING: FiniteChannel = MatrixChannel([["1/2", "1/4"], ["1/2", "3/4"], [0, 0]], observations=["a", "b", "never"])


@pytest.mark.parametrize("channel", [*ANSWERS.values(), *STATISTICS.values()], ids=[*ANSWERS, *STATISTICS])
def test_every_channel_offers_what_a_tally_needs(channel: AnyChannel) -> None:
    tally = Tally(channel)
    assert tally.sums.shape == (channel.sums_size,)
    assert channel.sum_law.violation(tally.sums, 0) is None
    assert channel.columns
    assert channel.most_reports >= 1 << 33
    assert of_answers(tally) != of_statistics(tally)
    assert of_answers(tally) == (channel in ANSWERS.values())


def test_answers_as_codes_are_counted_like_labels() -> None:
    codes = Reports(ANSWER, {"answer": np.array([1, 0, 1], dtype=np.uint8)})
    assert Tally(ANSWER).add(codes) == Tally(ANSWER).add(["yes", "no", "yes"])
    with pytest.raises(IncompatibleEvidenceError, match="another channel"):
        Tally(RandomizedResponse("1/3", outputs=["no", "yes"])).add(codes)
    with pytest.raises(InputError, match=r"report 1 has \[2\] in column 'answer'; allowed: 0 to 1"):
        Reports(ANSWER, {"answer": np.array([1, 2])})
    with pytest.raises(InputError, match="report 0 has 'never' in column 'answer'"):
        Reports(REFUSING, {"answer": np.array([2, 1])})


def test_what_cannot_be_is_refused_in_every_way_in() -> None:
    with pytest.raises(IncompatibleEvidenceError, match="'never' was reported 2 times"):
        Tally(REFUSING, [1, 0, 2])
    with pytest.raises(IncompatibleEvidenceError, match="'never' was reported 1 times"):
        Tally(REFUSING).add(["a", "never"])
    with pytest.raises(InputError, match="no 3 reports of randomized-response have these counts: they add up to 4"):
        Tally(ANSWER, [1, 3], 3)
    with pytest.raises(InputError, match=r"counts are 6\d+, 1; allowed: .* below 2⁶² in all"):
        Tally(ANSWER, np.array([3 << 61, 1], dtype=np.uint64))
    with pytest.raises(InputError, match="n_observations"):
        Tally(ANSWER, [(1 << 62) - 1, 0]) + Tally(ANSWER, [1, 0])


def test_what_only_one_family_has_is_refused_with_a_way_out() -> None:
    with pytest.raises(InputError, match=r"no answers to be counted.*mean\(\)"):
        _ = Tally(BITS).counts  # type: ignore[misc]
    with pytest.raises(InputError, match=r"are answers.*frequencies"):
        Tally(ANSWER, [1, 2]).mean()  # type: ignore[misc]
