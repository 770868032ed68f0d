"""Sums that no reports have are refused, all others are not, and their means are between the stated ones."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from askance import (
    BallRelease,
    CliqueRelease,
    CoordinateRelease,
    Hybrid,
    PerValue,
    QuadraticRelease,
    SubsetSelection,
    Tally,
)
from askance.channels import StatisticsChannel
from askance.channels.sum_law import CountLaw, MomentLaw
from askance.errors import FormatError, InputError
from askance.formats.state_file import state_from_parts, state_to_parts
from tests.statistics_families import (
    CHANNELS,
    ENUMERATED,
    SEEDED,
    enumerated_probabilities,
    enumerated_reports,
    every_report,
    truths_for,
)

N = 40

# Small enough for all sums of three reports to be written out, where entries are few.
SMALL = {
    **{name: each for name, each in CHANNELS.items() if each.sums_size <= 8 and name not in SEEDED},
    "two cliques": CliqueRelease([2, 2], [[0], [1]], 1),
    "one table of two sizes": CliqueRelease([3, 2], [[0], [1]], "1/2"),
    "three of four labels": SubsetSelection(4, "1/2", subset_size=3),
    "two of two statistics": Hybrid(2, 2, sampled=2),
    "one of two statistics": Hybrid(2, "1/2", sampled=1),
}


def reported(channel: StatisticsChannel, n: int = N) -> Tally[StatisticsChannel]:
    rng = np.random.default_rng(3)
    return Tally(channel).add(channel.simulate(truths_for(channel, n, rng), rng))


def sums_of_each(channel: StatisticsChannel) -> list[tuple[int, ...]]:
    """The sums of every single report."""
    reports = every_report(channel)
    assert reports is not None
    one_by_one = (reports[i : i + 1] for i in range(len(reports)))
    return sorted({tuple(channel.sums(report).tolist()) for report in one_by_one})


@pytest.mark.parametrize("name", SMALL)
def test_exactly_the_sums_of_reports_are_possible(name: str) -> None:
    """Of all whole numbers from 0 to n, those pass that some n reports add up to, and no others."""
    channel = SMALL[name]
    size, each = channel.sums_size, np.array(sums_of_each(channel))
    for n in (1, 2, 3):
        if (n + 1) ** size > 7000 or len(each) ** n > 10_000:
            break
        reached = {
            tuple(each[list(chosen)].sum(axis=0)) for chosen in combinations_with_replacement(range(len(each)), n)
        }
        passed = {
            sums for sums in product(range(n + 1), repeat=size) if channel.sum_law.violation(np.array(sums), n) is None
        }
        assert passed == reached


@pytest.mark.parametrize("name", SMALL)
def test_of_wider_channels_random_sums_are_judged_alike(name: str) -> None:
    """Reports of two people, moved by one unit somewhere: possible exactly where two reports add up to it."""
    channel, rng = SMALL[name], np.random.default_rng(5)
    each = np.array(sums_of_each(channel))
    reached = {tuple(a + b) for a, b in combinations_with_replacement(each, 2)}
    for _ in range(200):
        sums = each[rng.integers(len(each), size=2)].sum(axis=0)
        sums[rng.integers(len(sums), size=2)] += rng.integers(-1, 2, size=2)
        assert (channel.sum_law.violation(sums, 2) is None) == (tuple(sums) in reached)


@pytest.mark.parametrize("name", CHANNELS)
def test_one_unit_more_or_less_is_refused(name: str) -> None:
    channel = CHANNELS[name]
    tally, law = reported(channel), channel.sum_law
    Tally(channel, tally.sums, N)
    free = isinstance(law, CountLaw) and law.size is None
    odd = isinstance(law, CountLaw) or (
        isinstance(law, MomentLaw) and law.unit == 1
    )  # products of directions are rounded, and may be odd and even
    for entry in range(channel.sums_size) if odd else ():
        for step in (-1, 1):
            sums = tally.sums.copy()
            sums[entry] += step
            if free and 0 <= sums[entry] <= N:
                Tally(channel, sums, N)
            else:
                with pytest.raises(InputError, match=f"no {N} reports of {channel.kind} have these sums"):
                    Tally(channel, sums, N)
    for n in (N - 1, N + 1):
        if not free and odd and isinstance(law, CountLaw):
            assert law.violation(tally.sums, n) is not None


@pytest.mark.parametrize("channel", [BallRelease(3, 1), QuadraticRelease(3, 1)], ids=["ball", "quadratic"])
def test_moments_that_no_vectors_have(channel: StatisticsChannel) -> None:
    tally, law = reported(channel), channel.sum_law
    assert isinstance(law, MomentLaw)
    half = channel.sums_size // 2
    beyond = 25_958 ** (1 if channel.kind == "ball-release" else 2) * N + 2
    changes = {
        "too large": (0, beyond),
        "too small": (1, -beyond),
        "no squares": (half, 0 if tally.sums[0] % 2 == 0 else 1),
        "squares below 0": (half + 1, -2),
        "squares beyond all": (half + 2, 25_958**2 * N + 2),
    }
    for what, (entry, value) in changes.items():
        sums = tally.sums.copy()
        sums[entry] = value
        assert law.violation(sums, N) is not None, what


def test_products_are_bounded_by_the_squares_beside_them() -> None:
    channel = QuadraticRelease(2, 1)
    tally = reported(channel)
    sums = tally.sums.copy()
    sums[1] = int(np.sqrt(float(sums[0]) * float(sums[2]))) + 10
    sums[4] += int(sums[1] / 2**17) ** 2  # the squares of such products would be large enough
    assert "too large for the squares" in str(channel.sum_law.violation(sums, N))


@pytest.mark.parametrize("name", ENUMERATED)
def test_means_lie_between_the_stated_ones_and_reach_them(name: str) -> None:
    """E[sums | truth] of all enumerated truths; bounds of mixed codes of pairs are proved, not attained."""
    channel, n = ENUMERATED[name], 1 << 40
    reports = enumerated_reports(channel)
    each = np.array([channel.sums(reports[i : i + 1]) for i in range(len(reports))])
    expected = np.rint(n * enumerated_probabilities(channel).T @ each).astype(np.int64)
    groups = [[*channel.sum_law.trials(sums, n)] for sums in expected]
    for of_truths in zip(*groups, strict=True):
        shares = np.array([trials.hits / trials.of for trials in of_truths])
        low, high = of_truths[0].low, of_truths[0].high
        assert (shares >= low - 1e-10).all()
        assert (shares <= high + 1e-10).all()
        if channel.kind != "triple-release":
            assert np.allclose([shares.min(axis=0), shares.max(axis=0)], [low, high], rtol=0, atol=1e-10)


def test_a_state_of_too_many_labels_is_not_read() -> None:
    channel = SubsetSelection(8, 1)
    with pytest.raises(InputError, match=r"add up to 8000; allowed: 2000, as every report has 2"):
        Tally(channel, [1000] * 8, 1000)
    header, payload = state_to_parts(Tally(channel, [250] * 8, 1000))
    assert state_from_parts(header, payload, "a.state").n_observations == 1000
    forged = np.full(8, 1000, dtype="<i8").tobytes()
    with pytest.raises(FormatError, match=r"a\.state does not describe sums of reports: .*add up to 8000"):
        state_from_parts(header, forged, "a.state")


def test_messages_name_what_is_wrong() -> None:
    cliques = CliqueRelease([2, 2], [[0], [1]], 1)
    coordinates = CoordinateRelease(2, 1)
    wrong = {
        "sum 1 is -1; allowed: 0 to 5": (PerValue(3, 1), [0, -1, 0], 5),
        "reports are about 4 coordinates; allowed: 5, 1 coordinate each": (coordinates, [1, 1, 1, 1], 5),
        "those of clique 1 add up to 1; allowed: 2, as every report has 1": (cliques, [1, 2, 1, 0, 3, 2], 5),
        "statistic 0 is in 3 reports; allowed: at most 2": (Hybrid(2, 2, sampled=2), [2, 1], 2),
    }
    for words, (channel, sums, n) in wrong.items():
        padded = np.zeros(channel.sums_size, dtype=np.int64)
        padded[: len(sums)] = sums
        assert channel.sum_law.violation(padded, n) == words


def test_adding_up_is_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = SubsetSelection(4, 1)
    here, there = reported(channel), reported(channel, 10)
    monkeypatch.setattr(CountLaw, "violation", lambda *_: pytest.fail("checked"))
    both = here + there
    assert both.n_observations == N + 10
    assert (both.sums == here.sums + there.sums).all()
    assert not both.sums.flags.writeable
