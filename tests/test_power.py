"""Power against a null value: exact sums over the number of yes reports, formulas, two arms, and what is refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from askance import (
    Crosswise,
    Direct,
    Enumerated,
    ForcedResponse,
    LinearModel,
    OtherArm,
    RandomizedResponse,
    Warner,
    adjusted_p_values,
    plan,
    plan_survey,
)
from askance.errors import InputError
from askance.planning import Plan, PlannedDesign, Share, guess_survey
from askance.planning.answers import AnswersSubject
from askance.planning.counts import CountTest
from askance.planning.guesses import read_guesses
from askance.planning.hypothesis import ALTERNATIVES, RULES, Alternative, Hypothesis, Rule
from askance.planning.yes_reports import YesReports

YES_NO = Enumerated.saturated(["no", "yes"])
DICE = ForcedResponse("2/3", "1/6")
REPORTS = YesReports("yes", 1 / 6, 2 / 3)
# R's rr, power.rr.test(p = 2/3, p1 = 1/6, p0 = 1/6, n = 200, presp = .2, presp.null = 0, design = "forced-known",
# sig.level = .01, type = "one.sample", alternative = "one.sided")
OF_RR = 0.98688715819542


def logit(share: float) -> float:
    return math.log(share / (1 - share))


def planned(share: float, *designs: Any, **options: Any) -> Plan:
    return plan_survey(YES_NO, list(designs) or [DICE], [logit(share)], target=Share("yes"), **options)


def law(n: int, rate: Fraction) -> list[Fraction]:
    """The binomial law, in fractions."""
    return [math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]


def rejects(rule: str, side: str, level: float, n: int, k: int, null: Fraction, under: list[Fraction]) -> bool:
    """Whether k of n reports reject, by the definition of each test."""
    each = level / 2 if side == "two-sided" else level
    tails = {"greater": sum(under[k:], Fraction(0)), "less": sum(under[: k + 1], Fraction(0))}
    rate = float(null) if rule == "score" else k / n
    distance, error = k / n - float(null), math.sqrt(rate * (1 - rate) / n)
    signs = {"greater": 1, "less": -1}
    found = {
        one: tails[one] <= Fraction(each) if rule == "exact" else sign * distance > -ndtri(each) * error
        for one, sign in signs.items()
    }
    return any(found.values()) if side == "two-sided" else found[side]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("side", ALTERNATIVES)
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_power_and_size_are_sums_over_all_numbers_of_reports(rule: Rule, side: Alternative, level: float) -> None:
    share = {"greater": Fraction(2, 5), "less": Fraction(1, 20), "two-sided": Fraction(3, 10)}[side]
    null, base, slope = Fraction(1, 5), Fraction(1, 7), Fraction(2, 3)
    hypothesis = Hypothesis(float(null), float(share), side, level, rule)
    test = CountTest(hypothesis, YesReports("yes", float(base), float(slope)))
    for n in (1, 2, 5, 13, 40):
        under, at = law(n, base + slope * null), law(n, base + slope * share)
        region = [k for k in range(n + 1) if rejects(rule, side, level, n, k, base + slope * null, under)]
        lower, upper = test.region(n)
        assert region == [k for k in range(n + 1) if k <= lower or k >= upper]
        assert test.power(n) == pytest.approx(float(sum(at[k] for k in region)), abs=1e-12)
        assert test.size(n) == pytest.approx(float(sum(under[k] for k in region)), abs=1e-12)


@pytest.mark.parametrize("side", ALTERNATIVES)
@pytest.mark.parametrize("null", [0.0, 0.5, 0.9])
def test_exact_tests_keep_their_level(side: Alternative, null: float) -> None:
    value = null + 0.05 if side != "less" else null - 0.05
    test = CountTest(Hypothesis(null, value, side, 0.05, "exact"), REPORTS)
    n = np.arange(1, 400)
    sizes = test.rejection(n, test.null_rate)
    assert (sizes <= 0.05 + 1e-12).all()
    assert sizes[-1] > 0.03  # and use it


def test_levels_that_are_met_exactly_are_used() -> None:
    test = CountTest(Hypothesis(0.5, 0.9, "greater", 1 / 32, "exact"), YesReports("yes", 0.0, 1.0))
    assert test.region(5) == (-1, 5)
    assert test.size(5) == pytest.approx(1 / 32, abs=1e-15)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("side", ["two-sided", "greater"])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_the_smallest_number_is_the_smallest(rule: Rule, side: Alternative, power: float) -> None:
    test = CountTest(Hypothesis(0.1, 0.3, side, 0.05, rule), REPORTS)
    n = test.smallest_n(power)
    assert n is not None
    powers = test.rejection(np.arange(1, 6000), test.rate)
    assert powers[n - 2] < power
    assert (powers[n - 1 :] >= power).all()


def test_power_is_a_sawtooth() -> None:
    test = CountTest(Hypothesis(0.1, 0.3, "greater", 0.05, "exact"), REPORTS)
    n = test.smallest_n(0.8)
    assert n is not None
    assert (test.rejection(np.arange(1, n), test.rate) >= 0.8).any()  # some smaller numbers would do, but not all after


def test_small_differences_are_left_to_the_formula() -> None:
    assert CountTest(Hypothesis(0.1, 0.101, "two-sided", 0.05, "score"), REPORTS).smallest_n(0.8) is None
    row = planned(0.101, null=0.1).designs[0]
    assert row.counted is None
    assert row.n > 10**6
    assert row.power == pytest.approx(0.8, abs=1e-5)


# -- figures of R ------------------------------------------------------------------------------------------------------


def test_power_of_rr() -> None:
    row = planned(0.2, null=0, alternative="greater", confidence=0.99, n=200).designs[0]
    assert row.power == pytest.approx(OF_RR, abs=1e-12)
    assert row.counted is not None
    tail = sum(law(200, Fraction(3, 10))[46:], Fraction(0))
    assert row.counted.power == pytest.approx(float(tail), abs=1e-12)
    assert row.counted.size == pytest.approx(float(sum(law(200, Fraction(1, 6))[46:], Fraction(0))), abs=1e-12)
    exact = planned(0.2, null=0, alternative="greater", confidence=0.99, n=200, test="exact").designs[0]
    assert exact.counted is not None
    assert exact.counted.at_least == 47
    assert exact.counted.size < 0.01 < row.counted.size


def test_two_groups_as_power_prop_test_has_them() -> None:
    found = planned(0.5, Direct(["no", "yes"]), against=0.75, n=100).designs[0]
    z = 1.959963984540054
    near = ndtr((math.sqrt(50) * 0.25 - z * math.sqrt(2 * 0.625 * 0.375)) / math.sqrt(0.25 + 0.75 * 0.25))
    assert near == pytest.approx(0.740, abs=5e-4)  # R's example, which has the nearer side alone
    assert found.power == pytest.approx(near, abs=1e-5)
    assert planned(0.5, against=0.75, power=0.9).direct.n == math.ceil(2 * 76.7)


# -- shares, coefficients, arms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "null"), [("two-sided", 0.1), ("greater", 0.05), ("less", 0.4)])
def test_the_formula_has_both_variances(side: Alternative, null: float) -> None:
    row = planned(0.2, Crosswise("1/6"), null=null, alternative=side, n=300, confidence=0.9).designs[0]
    sigmas = [math.sqrt(rate * (1 - rate)) / (2 / 3) for rate in (1 / 6 + 2 / 3 * null, 0.3)]
    z = -ndtri(0.05 if side == "two-sided" else 0.1)
    distance, root = abs(0.2 - null), math.sqrt(300)
    near = ndtr((distance * root - z * sigmas[0]) / sigmas[1])
    far = ndtr((-distance * root - z * sigmas[0]) / sigmas[1]) if side == "two-sided" else 0.0
    assert row.power == pytest.approx(near + far, abs=1e-12)
    assert row.null_error == pytest.approx(sigmas[0] / root, rel=1e-12)
    assert row.counted is not None
    assert row.counted.power == pytest.approx(row.power, abs=0.03)


def test_wald_uses_the_error_at_the_guess() -> None:
    row = planned(0.2, null=0.1, n=300, test="wald").designs[0]
    assert row.null_error == row.standard_error
    assert row.counted is not None
    assert row.counted.power != pytest.approx(planned(0.2, null=0.1, n=300).designs[0].counted.power, abs=1e-3)  # type: ignore[union-attr]


def test_power_grows_with_respondents_and_with_the_distance() -> None:
    powers = [planned(0.3, null=0.1, n=n).designs[0].power or 0.0 for n in (20, 50, 100, 300, 1000)]
    assert powers == sorted(powers)
    powers = [planned(0.3, null=null, n=200).designs[0].power or 0.0 for null in (0.25, 0.2, 0.1, 0.0)]
    assert powers == sorted(powers)
    one, two = (planned(0.3, null=0.2, alternative=side, n=200).designs[0].power for side in ("greater", "two-sided"))
    assert (one or 0.0) > (two or 0.0)


def test_an_effect_is_a_distance_from_the_null() -> None:
    for effect, side, null in [(0.05, "two-sided", 0.15), (-0.05, "two-sided", 0.25), (0.5, "two-sided", 0.7),
                               (0.05, "greater", 0.15), (0.05, "less", 0.25)]:  # fmt: skip
        found = planned(0.2, effect=effect, alternative=side, n=100)
        assert found.test is not None
        assert found.test.null == pytest.approx(null)


def test_an_effect_on_a_coefficient_is_a_distance_from_zero() -> None:
    for value, effect, null in [(0.5, 0.5, 0.0), (-0.5, 0.5, 0.0), (-0.5, -0.2, -0.3)]:
        found = plan_survey(YES_NO, DICE, [value], target="yes", effect=effect, n=100)
        assert found.test is not None
        assert found.test.null == pytest.approx(null)
    with pytest.raises(InputError, match="is not less than the null value 0"):
        plan_survey(YES_NO, DICE, [0.5], target="yes", effect=0.5, alternative="less", n=100)


def guessed(prevalence: float, effect: float) -> Any:
    return guess_survey(prevalence, {"age": effect}, {"age": np.linspace(-1, 1, 41)})


def test_null_models_are_near_the_guess() -> None:
    guess = guessed(0.3, 0.8)
    subject = AnswersSubject(guess.model, read_guesses(2, guess.theta, None, None), guess.x, None, Share("yes"))
    moved = subject.at(0.1)
    assert moved.value == pytest.approx(0.1, abs=1e-9)
    assert moved.asked[0].theta[1] == pytest.approx(0.8, abs=1e-9)  # the intercept alone moves
    several = Enumerated.saturated(["never", "once", "often"])
    guesses = read_guesses(2, [0.5, -1.0], None, None)
    shares = AnswersSubject(several, guesses, None, None, Share("often")).at(0.05)
    p = several.probabilities(shares.asked[0].theta)
    assert p[2] == pytest.approx(0.05, abs=1e-9)
    assert p[1] / p[0] == pytest.approx(math.exp(0.5), rel=1e-9)
    slope = AnswersSubject(guess.model, read_guesses(2, guess.theta, None, None), guess.x, None, "age").at(0.0)
    assert slope.asked[0].theta[1] == pytest.approx(0.0, abs=1e-12)
    share = guess.model.probabilities(slope.asked[0].theta, guess.x)[:, 1].mean()
    assert share == pytest.approx(0.3, abs=1e-3)  # without the effect, the share stays what it was


def test_coefficients_are_tested_with_errors_under_the_null() -> None:
    guess = guessed(0.3, 1.5)
    options: dict[str, Any] = {"target": "age", "n": 400}
    score, wald = (
        plan_survey(guess.model, [DICE], guess.theta, guess.x, test=test, **options).designs[0]
        for test in ("score", "wald")
    )
    other = guessed(0.3, 0.0)
    null = plan_survey(other.model, [DICE], other.theta, other.x, **options).designs[0].standard_error
    assert score.null_error == pytest.approx(null, rel=1e-3)
    assert score.standard_error == wald.standard_error == wald.null_error
    needed = plan_survey(guess.model, [DICE], guess.theta, guess.x, target="age", power=0.9, null=0.2, test="score")
    row = needed.designs[0]
    assert row.power == pytest.approx(0.9, abs=2e-3)
    assert row.counted is None
    before = plan_survey(guess.model, [DICE], guess.theta, guess.x, target="age", n=row.n - 1, null=0.2, test="score")
    assert (before.designs[0].power or 1) < 0.9 <= (row.power or 0)


def enumerated(shares: tuple[float, float], rates: Any, counts: tuple[int, int], reports: list[YesReports]) -> float:
    """P(rejected) by the two-sided score test of equal shares, over all pairs of numbers of yes reports."""
    from scipy.stats import binom

    pooled = (counts[0] * shares[0] + counts[1] * shares[1]) / sum(counts)
    laws = [binom.pmf(np.arange(n + 1), n, r.rate(p)) for n, r, p in zip(counts, reports, rates, strict=True)]
    found = [(np.arange(n + 1) / n - r.base) / r.slope for n, r in zip(counts, reports, strict=True)]
    error = math.sqrt(sum(r.sigma(pooled) ** 2 / n for n, r in zip(counts, reports, strict=True)))
    rejected = np.abs(found[0][:, None] - found[1][None, :]) > 1.959963984540054 * error
    return float(laws[0] @ rejected @ laws[1])


@pytest.mark.parametrize(("share", "other", "part"), [(0.3, 0.12, "1/2"), (0.25, 0.1, "1/4"), (0.2, 0.4, "2/3")])
def test_two_arms_against_enumeration(share: float, other: float, part: str) -> None:
    n, w = 1200, float(Fraction(part))
    direct = Direct(["no", "yes"])
    row = planned(share, against=OtherArm(other, direct, part), n=n).designs[0]
    counts = round(n * (1 - w)), round(n * w)
    reports = [REPORTS, YesReports("yes", 0.0, 1.0)]
    sigmas = [report.sigma(p) for report, p in zip(reports, (share, other), strict=True)]
    variance = sigmas[0] ** 2 / counts[0] + sigmas[1] ** 2 / counts[1]
    assert row.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9)
    brute = enumerated((share, other), (share, other), counts, reports)
    assert row.power == pytest.approx(brute, abs=0.01)
    pooled = (counts[0] * share + counts[1] * other) / n
    assert enumerated((share, other), (pooled, pooled), counts, reports) == pytest.approx(0.05, abs=0.005)


def test_two_groups_and_two_designs() -> None:
    groups = planned(0.2, DICE, Warner("3/4"), against=0.35, power=0.8)
    for row, design in zip(groups.designs, (DICE, Warner("3/4")), strict=True):
        same = planned(0.2, design, against=OtherArm(0.35, design), n=row.n).designs[0]
        assert same.power == pytest.approx(row.power, abs=1e-12)
        assert (row.power or 0) >= 0.8 - 1e-9
    swapped = planned(0.35, DICE, against=0.2, n=500).designs[0]
    assert swapped.power == pytest.approx(planned(0.2, DICE, against=0.35, n=500).designs[0].power, abs=1e-12)
    away = planned(0.35, DICE, against=0.2, null=0.05, n=500).designs[0]
    assert (away.power or 1) < (swapped.power or 0)


def test_the_privacy_level_for_a_power() -> None:
    found = plan(YES_NO, "warner", [logit(0.2)], target=Share("yes"), null=0.1, n=2000, power=0.8)
    row = found.designs[0]
    assert found.unknown == "privacy_level"
    assert row.power == pytest.approx(0.8, abs=1e-3)
    again = plan(YES_NO, "warner", [logit(0.2)], target=Share("yes"), null=0.1, n=2000, privacy_level=row.privacy_level)
    assert again.designs[0].power == pytest.approx(row.power, abs=1e-9)


def test_several_hypotheses_share_a_level() -> None:
    one = planned(0.2, null=0.1, n=500, confidence=0.99)
    five = planned(0.2, null=0.1, n=500, confidence=0.95, hypotheses=5)
    assert one.test is not None
    assert five.test is not None
    assert five.test.level == pytest.approx(one.test.level, rel=1e-12)
    assert five.designs[0].power == pytest.approx(one.designs[0].power, abs=1e-12)
    assert five.designs[0].interval_width < one.designs[0].interval_width  # intervals are those of one question


def test_worked_out_adjustments() -> None:
    p = [0.01, 0.02, 0.03, 0.04, 0.05]
    assert adjusted_p_values(p) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert adjusted_p_values(p, "bonferroni") == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.25])
    assert adjusted_p_values(p, "benjamini-hochberg") == pytest.approx([0.05] * 5)
    for method in ("holm", "bonferroni", "benjamini-hochberg"):
        for order in itertools.permutations(range(4)):
            values = np.array([0.3, 0.001, 0.04, 0.04])
            assert adjusted_p_values(values[list(order)], method) == pytest.approx(
                adjusted_p_values(values, method)[list(order)]
            )
    assert adjusted_p_values([0.9, 0.8]).tolist() == [1.0, 1.0]
    for wrong in ([], [0.5, 1.2], [math.nan], [[0.1]]):
        with pytest.raises(InputError):
            adjusted_p_values(wrong)


# -- what cannot be ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"null": 0.2, "n": 9}, "no number of respondents detects that"),
        ({"null": 0.2 + 1e-15, "n": 9}, "no number of respondents detects that"),
        ({"null": 1.5, "n": 9}, "a share, 0 to 1"),
        ({"null": 0.1, "effect": 0.1, "n": 9}, "both given"),
        ({"null": 0.3, "alternative": "greater", "n": 9}, "is not greater than the null value 0.3"),
        ({"null": 0.1, "alternative": "upper", "n": 9}, "two-sided, greater, less"),
        ({"null": 0.1, "test": "t", "n": 9}, "score, wald, exact"),
        ({"null": 0.1, "hypotheses": 0, "n": 9}, "hypotheses is 0"),
        ({"effect": 0.3, "alternative": "greater", "n": 9}, "below 0.2"),
        ({"against": 1.2, "n": 9}, "against is 1.2"),
        ({"against": 0.2}, "detects that"),
        ({"against": 0.1, "null": 0.9, "n": 9}, "differ by that much"),
        ({"against": 0.1, "test": "exact", "n": 9}, "not learned from a number of yes reports"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        planned(0.2, **options)


def test_exact_tests_need_counts() -> None:
    several = Enumerated.saturated(["never", "once", "often"])
    channel = RandomizedResponse("1/2", outputs=["never", "once", "often"])
    options: dict[str, Any] = {"target": Share("often"), "null": 0.2, "n": 200}
    assert plan(several, channel, [0.0, 0.0], **options).designs[0].counted is None
    with pytest.raises(InputError, match="not learned from a number of yes reports"):
        plan(several, channel, [0.0, 0.0], test="exact", **options)
    with pytest.raises(InputError, match="is a share, but the target is"):
        plan_survey(YES_NO, DICE, [0.3], target="yes", against=0.2, n=9)
    with pytest.raises(InputError, match="part is 1"):
        OtherArm(0.2, part=1)


def test_other_models_are_planned_by_wald_tests() -> None:
    model = LinearModel(1, x_bounds=(0, 1), y_bounds=(0, 1), feature_names=["age"])
    options: dict[str, Any] = {"target": "age", "privacy_level": 4, "n": 10_000}
    x = np.linspace(0, 1, 50)[:, None]
    found = plan(model, "quadratic", [0.1, 0.5, 0.1], x, **options)
    assert found.test is not None
    assert found.test.rule == "wald"
    assert found.designs[0].null_error == found.designs[0].standard_error
    with pytest.raises(InputError, match="errors under the null are not known"):
        plan(model, "quadratic", [0.1, 0.5, 0.1], x, test="score", **options)


# -- the text ----------------------------------------------------------------------------------------------------------


def test_a_text_for_a_preregistration() -> None:
    found = planned(0.2, null=0.1, alternative="greater", power=0.9, hypotheses=2)
    text, row = found.text(), found.designs[0]
    assert isinstance(row, PlannedDesign)
    assert row.counted is not None
    for words in (
        f"{row.n} respondents", "forced-response (truth 2/3, yes 1/6, no 1/6; privacy level 1.609)",
        "share of 'yes' is guessed to be 0.2", "null value of 0.1", "one-sided (greater)", "nominal level of 0.025",
        "divided by 2 tests", "score test", f"at least {row.counted.at_least} of the {row.n} reports are 'yes'",
        f"power is {row.counted.power:.4g}", f"true level {row.counted.size:.4g}", f"{row.power:.4g} by the normal",
        "never below 0.9",
    ):  # fmt: skip
        assert words in text
    assert "\n" not in text


def test_texts_of_other_plans() -> None:
    both = planned(0.2, DICE, Warner("2/3"), against=OtherArm(0.12, Direct(["no", "yes"]), "1/4"), power=0.8)
    assert len(both.text().split("\n\n")) == 2
    text = both.text("warner")
    assert "0.75 of them through the design warner" in text
    assert "0.25 of them, the other arm, through the design direct" in text
    assert "0.2 against 0.12" in text
    assert "smallest number that this formula gives" in text
    assert "in the same way" in planned(0.2, against=0.12, n=100).text()
    assert "no privacy guarantee" in both.text("direct")
    with pytest.raises(InputError, match="allowed: direct, forced-response, warner"):
        both.text("cards")
    plain = planned(0.2, standard_error=0.02).text()
    assert "standard error of 0.02" in plain
    assert "tested" not in plain
    assert "at most" in planned(0.2, null=0.3, n=200).text()
    assert "No number of reports" in planned(0.2, null=0.1, n=1, test="exact").text()
    assert "Wald test" in planned(0.2, null=0.1, n=100, test="wald").text()
