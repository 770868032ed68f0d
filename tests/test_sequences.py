"""Intervals that hold at all looks at once: proved by enumeration, without a single draw."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import askance as ak
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.errors import EmptyDataError, InputError
from askance.estimation.sequences.bets import BoundedValues
from askance.estimation.sequences.bounded_values import values_of
from askance.estimation.sequences.coefficient_sequence import LARGEST_ERROR, log_odds_errors
from askance.estimation.sequences.stakes import Stakes

FORCED = ak.ForcedResponse("2/3", "1/6")
DIRECT = ak.Direct(["no", "yes"])
TABLE = ak.MatrixChannel([["4/5", "1/10", "1/10"], ["3/20", "4/5", "1/5"], ["1/20", "1/10", "7/10"]])


def compositions(n: int, k: int) -> list[tuple[int, ...]]:
    """All counts of k kinds that add up to n."""
    if k == 1:
        return [(n,)]
    return [(own, *rest) for own in range(n + 1) for rest in compositions(n - own, k - 1)]


def weight(counts: tuple[int, ...], law: FloatArray) -> float:
    """P(counts) where reports follow the law."""
    ways = math.factorial(sum(counts)) / math.prod(map(math.factorial, counts))
    return float(ways * np.prod(law ** np.array(counts)))


# -- proofs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [FORCED, DIRECT, TABLE, ak.Mangat("1/3")], ids=lambda channel: channel.kind)
def test_a_bet_against_the_truth_wins_nothing_on_average(channel: FiniteChannel) -> None:
    """E capital = 1 after any number of reports, over all of them; both ways, also where bets are cut."""
    stakes, m = Stakes(40, first=2), len(channel.outputs)
    shares = np.array([0.83, 0.17]) if m == 2 else np.array([0.9, 0.08, 0.02])
    law = channel.apply(shares)
    for n, answer in product((1, 2, 7), range(m)):
        means = np.zeros(2)
        for counts in compositions(n, len(law)):
            values = dict(values_of(ak.Tally(channel, np.array(counts)), None))[channel.outputs.labels[answer]]
            capital = [
                own.excess(mean, stakes) + stakes.log_win
                for own, mean in ((values, shares[answer]), (values.mirrored(), 1 - shares[answer]))
            ]
            means += weight(counts, law) * np.exp(capital)
        np.testing.assert_allclose(means, 1.0, rtol=1e-11)


def test_bets_with_weights_win_nothing_against_the_weighted_share() -> None:
    """Two kinds of people, of other weights and other shares: all pairs of reports of theirs."""
    stakes, shares, weights = Stakes(40, first=2), np.array([0.1, 0.6]), np.array([0.5, 2.0])
    kinds = np.array([0.7, 0.3])
    truth = float(kinds * weights @ shares / (kinds @ weights))
    laws, mean = [FORCED.apply(np.array([1 - share, share])) for share in shares], 0.0
    for people in product(product(range(2), range(2)), repeat=2):
        chance = math.prod(kinds[kind] * laws[kind][said] for kind, said in people)
        said, own = [["no", "yes"][code] for _, code in people], weights[[kind for kind, _ in people]]
        values = dict(values_of(ak.Responses(FORCED).add(np.ones((2, 1)), said, weights=own), 2.0))["yes"]
        mean += chance * math.exp(values.excess(truth, stakes) + stakes.log_win)
    assert mean == pytest.approx(1.0, abs=1e-11)


@cache
def all_intervals(channel: FiniteChannel, most: int) -> dict[tuple[int, ...], tuple[FloatArray, FloatArray]]:
    """The intervals of every look at which a survey can be, up to so many reports."""
    found = {}
    for n in range(1, most + 1):
        for counts in compositions(n, len(channel.observations)):
            at = ak.share_sequence(ak.Tally(channel, np.array(counts)), most, first=4, confidence=0.9)
            found[counts] = at.lower, at.upper
    return found


def ever_missed(
    channel: FiniteChannel, shares: list[Fraction], answer: int, most: int, *, wald: bool = False
) -> Fraction:
    """P(some interval of n = 1, …, `most` misses), exactly: paths that missed are taken out where they did."""
    law = [
        sum((Fraction(int(w), 2**62) * p for w, p in zip(row, shares, strict=True)), Fraction(0))
        for row in channel.integer_weights
    ]
    intervals, truth, missed = all_intervals(channel, most), float(shares[answer]), Fraction(0)
    alive = {(0,) * len(law): Fraction(1)}
    for n in range(1, most + 1):
        reached: dict[tuple[int, ...], Fraction] = {}
        for counts, chance in alive.items():
            for o, p in enumerate(law):
                at = (*counts[:o], counts[o] + 1, *counts[o + 1 :])
                reached[at] = reached.get(at, Fraction(0)) + chance * p
        alive = {}
        for counts, chance in reached.items():
            lower, upper = (end[answer] for end in intervals[counts])
            if wald:
                middle, reach = (n * truth - counts[answer]) / n, 1.645 * math.sqrt(truth * (1 - truth) / n)
                lower, upper = (truth, truth) if abs(middle) <= reach else (1.0, 1.0)
            if lower <= truth <= upper:
                alive[counts] = chance
            else:
                missed += chance
    return missed


@pytest.mark.parametrize("channel", [FORCED, DIRECT], ids=lambda channel: channel.kind)
@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 50), Fraction(1, 5), Fraction(1, 2), Fraction(1)])
def test_yes_and_no_are_missed_at_some_look_as_seldom_as_stated(channel: FiniteChannel, share: Fraction) -> None:
    assert ever_missed(channel, [1 - share, share], 1, 40) <= Fraction(1, 10)


@pytest.mark.parametrize("shares", [(Fraction(1, 3),) * 3, (Fraction(9, 10), Fraction(1, 20), Fraction(1, 20))])
def test_three_answers_are_missed_at_some_look_as_seldom_as_stated(shares: tuple[Fraction, ...]) -> None:
    for answer in range(3):
        assert ever_missed(TABLE, list(shares), answer, 14) <= Fraction(1, 10)


def test_the_same_proof_finds_intervals_of_a_fixed_n_that_are_looked_at_too_often() -> None:
    half = [Fraction(1, 2), Fraction(1, 2)]
    assert ever_missed(DIRECT, half, 1, 40, wald=True) > Fraction(1, 4)


# -- laws --------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 500), st.floats(0.1, 3)), min_size=1, max_size=6),
    st.floats(0, 0.6),
    st.floats(0, 0.6),
    st.floats(0.3, 3),
)
def test_capital_falls_with_the_mean(
    rows: list[tuple[float, int, float]], below: float, above: float, scale: float
) -> None:
    values, counts, weights = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    one = np.ones(len(values))
    own = BoundedValues(
        -below + (1 + below + above) * values, counts, -below * one, (1 + above) * one, scale * one, one, weights, 3.0
    )
    stakes = Stakes(1000)
    capital = np.array([own.excess(mean, stakes) for mean in np.linspace(0, 1, 41)])
    assert (np.diff(capital) <= 1e-9 * (1 + np.abs(capital[1:]))).all()


def test_no_is_what_is_not_yes() -> None:
    at = ak.share_sequence(ak.Tally(FORCED, [431, 169]), 2000)
    np.testing.assert_allclose([at.lower[0], at.upper[0]], [1 - at.upper[1], 1 - at.lower[1]], atol=1e-9)


def test_reach_is_where_bets_on_a_normal_mean_have_won() -> None:
    stakes = Stakes(3000, first=60, confidence=0.99)
    for n in (1, 60, 3000, 10**6):
        r, steps = stakes.reach(n), stakes.sizes * math.sqrt(n)
        assert np.exp(steps * r - steps**2 / 2).mean() == pytest.approx(200, rel=1e-6)


@pytest.mark.parametrize("channel", [FORCED, DIRECT, ak.RandomizedResponse("1/2", outputs=4), TABLE])
@pytest.mark.parametrize("n", [100, 1000, 6000])
def test_intervals_are_at_most_1_8_times_as_wide_as_those_of_a_fixed_n(channel: FiniteChannel, n: int) -> None:
    m = len(channel.outputs)
    for shares in (np.full(m, 1 / m), np.array([1 - 0.05 * (m - 1), *[0.05] * (m - 1)])):
        law = channel.apply(shares)
        counts = np.floor(law * n).astype(int)
        counts[0] += n - counts.sum()
        tally = ak.Tally(channel, counts)
        at = ak.share_sequence(tally, 6000, first=100)
        fixed = ak.estimate(ak.Enumerated.saturated(channel.outputs), tally).probabilities()
        ratio = (at.upper - at.lower) / (fixed.upper - fixed.lower)
        assert ratio.max() < 1.8


# -- what it takes -----------------------------------------------------------------------------------------------------


def test_rows_and_weights_of_one_are_counts() -> None:
    said = ["no"] * 70 + ["yes"] * 30
    plain = ak.share_sequence(ak.Tally(FORCED).add(said), 1000)
    for weights in (None, np.ones(100)):
        rows = ak.Responses(FORCED).add(np.ones((100, 1)), said, weights=weights)
        assert ak.share_sequence(rows, 1000, largest_weight=1.0).to_json() == plain.to_json()


def test_arms_together_say_more_than_each_alone() -> None:
    dice, direct = ak.Tally(FORCED, [550, 350]), ak.Tally(DIRECT, [700, 200])
    both = ak.share_sequence({"dice": dice, "direct": direct}, 4000)
    assert ak.share_sequence(ak.pool([dice, direct]), 4000).to_json() == both.to_json()
    arms = ak.Responses({"dice": FORCED, "direct": DIRECT})
    for arm, tally in (("dice", dice), ("direct", direct)):
        for said in np.array_split(np.repeat(["no", "yes"], tally.counts), 3 if arm == "dice" else 1):
            arms = arms.add(np.ones((len(said), 1)), said, arm=arm)
    assert ak.share_sequence(arms, 4000).to_json() == both.to_json()
    widths = [at.upper[1] - at.lower[1] for at in (ak.share_sequence(t, 4000) for t in (dice, direct))]
    assert both.upper[1] - both.lower[1] < min(widths)


def test_stakes_do_not_depend_on_which_arms_have_reports_yet() -> None:
    """The capital of an arm is the same before and after the other one has its first report."""
    dice, direct = ak.Tally(FORCED, [50, 35]), ak.Tally(DIRECT, [1, 0])
    before, after = (dict(values_of({"dice": dice, "direct": own}, None))["yes"] for own in (ak.Tally(DIRECT), direct))
    np.testing.assert_array_equal(before.scale, after.scale)
    rows = ak.Responses({"dice": FORCED, "direct": DIRECT}).add(np.ones((1, 1)), ["no"], arm="dice")
    assert dict(values_of(rows, None))["yes"].scale[0] == before.scale[0]


def test_subsets_of_one_label_are_randomized_response() -> None:
    labels, counts = ["a", "b", "c"], np.array([50, 30, 20])
    subsets = ak.SubsetSelection(labels, 1, subset_size=1)
    answers = ak.RandomizedResponse.for_privacy_level(1, outputs=labels)
    one, other = (ak.share_sequence(ak.Tally(channel, counts, 100), 500) for channel in (subsets, answers))
    assert one.names == other.names == ("a", "b", "c")
    np.testing.assert_allclose(one.lower, other.lower, atol=1e-9)
    np.testing.assert_allclose(one.upper, other.upper, atol=1e-9)


def test_drawn_coordinates_are_told_one_by_one() -> None:
    channel = ak.CoordinateRelease(3, 2)
    truth = np.tile([1.0, 0.0, 1.0], (3000, 1))
    at = ak.share_sequence(ak.Tally(channel).add(channel.simulate(truth, np.random.default_rng(1))), 3000)
    ones = dict(zip(at.names, zip(at.lower, at.upper, strict=True), strict=True))
    assert [ones[f"bit 1 of coordinate {j}"][0] > 0.7 for j in range(3)] == [True, False, True]
    assert [ones[f"bit 1 of coordinate {j}"][1] < 0.3 for j in range(3)] == [False, True, False]


def test_reports_that_no_share_brings_about_are_an_alarm() -> None:
    at = ak.share_sequence(ak.Tally(FORCED, [990, 10]), 1000)
    assert (at.lower[1], at.upper[1]) == (0.0, 0.0)
    assert "no share of" in at.alarms[0]
    assert ak.share_sequence(ak.Tally(FORCED, [830, 170]), 1000).alarms == ()
    seldom = ak.share_sequence(ak.Tally(FORCED, [890, 110]), 1000)  # beyond 95 %, and no one in a million
    assert (seldom.lower[1], seldom.upper[1], seldom.alarms) == (0.0, 0.0, ())
    assert "no share of 'no', 'yes' fits these reports at 95 % confidence" in seldom.notes[0]
    assert ak.share_sequence(ak.Tally(FORCED, [830, 170]), 1000).notes == ()


def test_an_alarm_counts_all_answers() -> None:
    """Of very many answers that nobody gives, some are told less often than any share lets expect."""
    channel = ak.SubsetSelection(1000, 2)
    reports = channel.simulate(np.zeros(20_000, dtype=int), np.random.default_rng(0))
    at = ak.share_sequence(ak.Tally(channel).add(reports), 20_000, confidence=0.8)
    assert (at.upper == 0).any()
    assert at.alarms == ()


def test_what_is_refused() -> None:
    tally = ak.Tally(FORCED, [7, 3])
    with pytest.raises(InputError, match="first is 200; allowed: at most 100"):
        ak.share_sequence(tally, 100, first=200)
    with pytest.raises(InputError, match="planned is 0"):
        ak.share_sequence(tally, 0)
    with pytest.raises(InputError, match=r"confidence is 1\.5"):
        ak.share_sequence(tally, 100, confidence=1.5)
    with pytest.raises(EmptyDataError, match="no reports"):
        ak.share_sequence(ak.Tally(FORCED), 100)
    with pytest.raises(EmptyDataError, match="no reports"):
        ak.share_sequence(ak.Responses(FORCED), 100)
    with pytest.raises(InputError, match="allowed: a Tally"):
        ak.share_sequence([7, 3], 100)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="with a known law"):
        ak.share_sequence(ak.Candidates(["a", "b", "c"]).add(np.ones((1, 1)), [["a", "b"]]), 100)
    rows = ak.Responses(FORCED)
    with pytest.raises(InputError, match="has clusters"):
        ak.share_sequence(rows.add(np.ones((2, 1)), ["no", "yes"], clusters=[1, 1]), 100)
    for largest in (None, 1.5):
        with pytest.raises(InputError, match="allowed: at least 3, as large as a sampling weight"):
            ak.share_sequence(rows.add(np.ones((2, 1)), ["no", "yes"], weights=[1, 3]), 100, largest_weight=largest)
    numbers = ak.BallRelease(3, 1)
    with pytest.raises(InputError, match="adds numbers up"):
        ak.share_sequence(ak.Tally(numbers), 100)


# -- coefficients ------------------------------------------------------------------------------------------------------


def survey(n: int, seed: int = 3, *, small: float = 0.5) -> tuple[dict[str, FloatArray], FloatArray]:
    rng = np.random.default_rng(seed)
    table = {"age": rng.uniform(20, 60, n), "female": (rng.random(n) < small).astype(float)}
    p = 1 / (1 + np.exp(1 - 0.03 * (table["age"] - 40) + 0.5 * table["female"]))
    table["said"] = FORCED.simulate(np.where(rng.random(n) < p, "yes", "no"), rng)
    return table, p


def test_coefficients_reach_as_far_as_bets_on_a_normal_mean() -> None:
    fit = ak.regress("said ~ age + female", survey(4000)[0], FORCED)
    at = ak.coefficient_sequence(fit, 5000)
    np.testing.assert_allclose((at.upper - at.lower) / 2 / fit.standard_errors, Stakes(5000).reach(4000))
    assert (at.of, at.names, at.notes) == ("coefficient", fit.parameter_names, ())
    fixed = fit.confidence_interval()
    assert ((at.upper - at.lower) / (fixed.upper - fixed.lower)).max() < 2


def test_what_is_enough_does_not_depend_on_units_and_origin() -> None:
    table = survey(1000)[0]
    one = log_odds_errors(ak.regress("said ~ age + female", table, FORCED))
    other = log_odds_errors(ak.regress("said ~ I(1e6 + 12*age) + female", table, FORCED))
    np.testing.assert_allclose(one[1:], other[1:], rtol=1e-4)
    assert (one < log_odds_errors(ak.regress("said ~ age + female", survey(300)[0], FORCED))).all()


def test_a_small_group_waits_for_reports_of_its_own() -> None:
    fit = ak.regress("said ~ age + female", survey(4000, small=0.02)[0], FORCED)
    at = ak.coefficient_sequence(fit, 5000)
    assert np.isnan(at.lower).tolist() == [False, False, True]
    errors = log_odds_errors(fit)
    assert errors[2] > LARGEST_ERROR > errors[:2].max()
    assert at.notes[0].startswith("too early for 'female'")
    assert at.to_json()["lower"][2] is None


def test_what_a_prior_holds_is_too_early() -> None:
    table = {name: column[:40] for name, column in survey(40)[0].items()}
    table["said"] = np.array(["no"] * 39 + ["yes"])
    with pytest.warns(ak.errors.RepairWarning):
        fit = ak.regress("said ~ age", table, FORCED)
    at = ak.coefficient_sequence(fit, 5000)
    assert np.isnan(at.lower).all()
    assert "do not fix the coefficients yet" in at.notes[0]


def test_few_clusters_are_too_early() -> None:
    table = survey(4000)[0]
    for clusters, shown in ((12, False), (400, True)):
        table["village"] = (np.arange(4000) % clusters).astype(float)
        at = ak.coefficient_sequence(ak.regress("said ~ age", table, FORCED, cluster="village"), 5000)
        assert np.isfinite(at.lower).all() == shown
        assert ("degrees of freedom; wanted: at least 30" in "".join(at.notes)) != shown


def test_a_fit_from_a_file_does_not_know_its_rows(tmp_path: object) -> None:
    path = f"{tmp_path}/fit"
    ak.save(ak.regress("said ~ age", survey(300)[0], FORCED), path)
    with pytest.raises(InputError, match="no evidence"):
        ak.coefficient_sequence(ak.load(path), 1000)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="allowed: a RegressionFit"):
        ak.coefficient_sequence(3, 1000)  # type: ignore[arg-type]
