"""Other readings of the design, and the test that the reports fit it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from askance import (
    Crosswise,
    Direct,
    DisguisedResponse,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    UnrelatedQuestion,
    Warner,
    estimate,
)
from askance.channels.finite import FiniteChannel
from askance.errors import InputError
from askance.estimation.checks.channel_fit import _distance, channel_fit_test
from askance.survey import read_table, regress
from askance.survey.alternative_channels import safest_observation, with_bias, with_noncompliance
from askance.survey.sensitivity import Sensitivity, plot_sensitivity, sensitivity

from .test_cli import assert_one_line, call, parsed

DESIGN = ForcedResponse("2/3", "1/6")


def test_noncompliance_mixes_two_channels_exactly() -> None:
    truth = with_noncompliance(DESIGN, "1/4", "truth")
    np.testing.assert_allclose(truth.matrix, 0.75 * DESIGN.matrix + 0.25 * np.eye(2), atol=1e-15)
    refuse = with_noncompliance(DESIGN, "1/4", "refuse")
    np.testing.assert_allclose(refuse.matrix, 0.75 * DESIGN.matrix + 0.25 * np.array([[1, 1], [0, 0]]), atol=1e-15)
    chance = with_noncompliance(DESIGN, "1/4", "random")
    np.testing.assert_allclose(chance.matrix, 0.75 * DESIGN.matrix + 0.125, atol=1e-15)
    assert with_noncompliance(DESIGN, 0, "truth").fingerprint == DESIGN.fingerprint


def test_the_truth_is_told_by_its_name_in_whatever_order_reports_are() -> None:
    turned = MatrixChannel([["3/4", "1/4"], ["1/4", "3/4"]], outputs=["no", "yes"], observations=["yes", "no"])
    np.testing.assert_allclose(with_noncompliance(turned, 1, "truth").matrix, [[0, 1], [1, 0]], atol=1e-15)


def test_those_who_refuse_give_the_report_that_points_least_to_yes() -> None:
    """The largest S(o | no) / S(o | yes); ties go to the first; beyond all ratios is what only a no can produce."""
    expected = {
        ForcedResponse("2/3", "1/6"): "no",
        ForcedResponse("1/2", "1/2"): "no",  # S(no | yes) = 0
        Warner("2/3"): "no",
        Warner("1/5"): "yes",  # most are asked about the opposite
        UnrelatedQuestion("3/4", "1/4"): "no",
        DisguisedResponse("5/6", "1/6"): "black",
        Crosswise("1/6"): "same",
        Crosswise("5/6"): "different",
        RandomizedResponse("1/2", outputs=["a", "b", "c"]): "a",
        MatrixChannel([["1/4", "1/4"], ["1/2", "1/4"], ["1/4", "1/2"]], observations=["x", "y", "z"]): "y",
        MatrixChannel([["1/2", "1/2"], ["1/2", "1/2"]], observations=["x", "y"]): "x",
        MatrixChannel([["1/2", "1/2"], ["1/4", 0], ["1/4", "1/2"], [0, 0]], observations=list("wxyz")): "x",
    }
    for channel, label in expected.items():
        assert safest_observation(channel) == label, channel
        mixed = with_noncompliance(channel, "1/4", "refuse").matrix
        always = np.array([[each == label] for each in channel.observations.labels], dtype=float)
        np.testing.assert_allclose(mixed, 0.75 * channel.matrix + 0.25 * always, atol=1e-15)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=6))
def test_no_report_is_safer_than_the_safest(pairs: list[tuple[int, int]]) -> None:
    no, yes = (np.array(column) for column in zip(*pairs, strict=True))
    assume(no.sum() > 0)
    matrix = [[Fraction(int(a), int(no.sum())), Fraction(int(b), int(yes.sum()))] for a, b in pairs]
    found = safest_observation(MatrixChannel(matrix))
    ratios = [a / b for a, b in matrix]
    assert found == ratios.index(max(ratios))


def test_the_report_of_those_who_refuse_can_be_named() -> None:
    design = Crosswise("1/6")
    different = with_noncompliance(design, "1/4", "refuse", refuse_as="different")
    np.testing.assert_allclose(different.matrix, 0.75 * design.matrix + [[0.25, 0.25], [0, 0]], atol=1e-15)
    numbered = MatrixChannel([["2/3", "1/3"], ["1/3", "2/3"]])
    assert with_noncompliance(numbered, 1, "refuse", refuse_as="1").matrix.tolist() == [[0, 0], [1, 1]]
    with pytest.raises(InputError, match="refuse_as is 'maybe'; allowed: 'different', 'same'"):
        with_noncompliance(design, "1/4", "refuse", refuse_as="maybe")
    tally = Tally(design, [400, 600])
    table = sensitivity(Enumerated.saturated(design.outputs), tally, shares=["0.1"], refuse_as="different")
    assert [scenario.name for scenario in table.scenarios][2] == "10 % refuse (different)"
    assert [row["refuse_as"] for row in table.to_json()["scenarios"]] == [None, None, "different", None]


def test_the_truth_is_told_by_the_report_that_stands_for_it() -> None:
    """Who disregards the innocuous statement as untrue says "different" where the sensitive one is true."""
    plain = with_noncompliance(Crosswise("1/6"), 1, "truth")
    assert plain.matrix.tolist() == [[0, 1], [1, 0]]
    assert with_noncompliance(Crosswise("5/6"), 1, "truth").matrix.tolist() == [[1, 0], [0, 1]]
    assert with_noncompliance(DisguisedResponse("5/6", "1/6"), 1, "truth").matrix.tolist() == [[1, 0], [0, 1]]
    assert with_noncompliance(Warner("1/5"), 1, "truth").matrix.tolist() == [[1, 0], [0, 1]]  # they say yes and no


def test_shares_and_errors_of_every_reading_are_those_of_its_fit() -> None:
    tally = Tally(DESIGN, [640, 360])
    model = Enumerated.saturated(DESIGN.outputs)
    table = sensitivity(model, tally, shares=["0.1"], behaviours=["refuse", "random"])
    printed = table.to_json(0.9)
    for scenario, row in zip(table.scenarios, printed["scenarios"], strict=True):
        fit = estimate(model, Tally(scenario.channel, tally.counts))
        shares = fit.probabilities(0.9)
        lower, upper = fit.confidence_interval(0.9)
        assert (row["lower"], row["upper"]) == (lower.tolist(), upper.tolist())
        assert row["std_errors"] == fit.standard_errors.tolist()
        assert row["shares"]["estimates"] == shares.estimate.tolist()
        assert row["shares"]["std_errors"] == shares.standard_error.tolist()
        assert (row["shares"]["lower"], row["shares"]["upper"]) == (shares.lower.tolist(), shares.upper.tolist())
    # A tenth always says no: 360 = 900 (1/6 + 2/3 p), so that p = 0.35.
    assert printed["scenarios"][1]["shares"]["estimates"][1] == pytest.approx(0.35)


def test_the_table_of_readings_stays_narrow() -> None:
    rng = np.random.default_rng(3)
    names = ["Intercept", *(f"a long name of a term {j}" for j in range(6))]
    x = np.column_stack([np.ones(900), rng.normal(size=(900, 6))])
    evidence = Responses(DESIGN).add(x, DESIGN.simulate(rng.choice(["no", "yes"], 900), rng))
    table = sensitivity(Softmax(DESIGN.outputs, names), evidence, shares=["0.1", 1], behaviours=["refuse"])
    text = table.summary()
    assert max(map(len, text.splitlines())) <= 100
    assert all(text.count(name) == 1 for name in names)
    assert text.count("100 % refuse (no)") == text.count("reading  ")  # once in every part
    assert "–: under this reading" in text
    planned = table.scenarios[0].shares()
    assert planned is not None
    assert f"{100 * planned.estimate[1]:.1f} %" in text


def test_the_command_prints_what_python_returns(tmp_path: Path) -> None:
    design, rng = Crosswise("1/6"), np.random.default_rng(2)
    age = rng.integers(0, 5, 800)
    said = design.simulate(np.where(rng.random(800) < 0.1 + 0.1 * age, "yes", "no"), rng)
    path = tmp_path / "survey.csv"
    path.write_text("said,age\n" + "".join(f"{s},{a}\n" for s, a in zip(said, age, strict=True)))
    fit = regress("said ~ age", read_table(path), design)
    assert fit.evidence is not None
    common = ("sensitivity", str(path), "--formula", "said ~ age", "--design", "crosswise", "--prevalence", "1/6")
    table = sensitivity(fit.model, fit.evidence, shares=["0.1"])
    printed = parsed(call(*common, "--share", "0.1", "--json"))
    assert {name: printed[name] for name in ("parameters", "confidence", "scenarios")} == table.to_json()
    assert printed["scenarios"][2]["name"] == "10 % refuse (same)"
    text = call(*common, "--share", "0.1").out
    assert text.startswith(table.summary() + "\n")
    named = parsed(call(*common, "--share", "0.1", "--refuse-as", "different", "--json"))
    assert named["scenarios"][2]["refuse_as"] == "different"
    assert_one_line(call(*common, "--refuse-as", "maybe"), ("--refuse-as is 'maybe'", "'different', 'same'"))
    without = ("--behaviour", "truth", "--refuse-as", "same")
    assert_one_line(call(*common, *without), ("--refuse-as is given without --behaviour refuse",))


def test_a_biased_device_is_the_design_with_another_probability() -> None:
    assert with_bias(Warner("2/3"), "question", "1/12") == Warner("3/4")
    assert with_bias(UnrelatedQuestion("3/4", "1/4"), "question", "-1/4") == UnrelatedQuestion("1/2", "1/4")
    assert with_bias(DisguisedResponse("3/4"), "red_if_yes", "1/8") == DisguisedResponse("7/8", "1/4")
    with pytest.raises(InputError, match="allowed: truth, yes, no"):
        with_bias(DESIGN, "outputs", 0.1)
    with pytest.raises(InputError, match="allowed: none"):
        with_bias(MatrixChannel([["2/3", "1/3"], ["1/3", "2/3"]]), "matrix", 0.1)


@pytest.mark.parametrize(
    ("design", "parameter", "shift", "biased"),
    [
        (ForcedResponse("2/3", "1/6"), "truth", "1/12", ForcedResponse("3/4", "1/8")),
        (ForcedResponse("2/3", "1/6"), "yes", "-1/12", ForcedResponse("11/15", "1/12", "11/60")),
        (ForcedResponse("3/5", "1/10"), "truth", "-1/5", ForcedResponse("2/5", "3/20", "9/20")),
        (ForcedResponse("3/5", "1/10"), "no", "7/20", ForcedResponse("3/10", "1/20", "13/20")),
        (ForcedResponse("3/5", "2/5"), "truth", "-1/5", ForcedResponse("2/5", "3/5")),  # no face says no
        (ForcedResponse(1, 0), "truth", "-1/5", ForcedResponse("4/5", "1/10")),
    ],
)
def test_the_other_faces_of_a_biased_die_make_up_for_it_in_proportion(
    design: ForcedResponse, parameter: str, shift: str, biased: ForcedResponse
) -> None:
    assert with_bias(design, parameter, shift).parameters() == biased.parameters()


@pytest.mark.parametrize(
    ("shift", "words"),
    [
        ("1/2", "truth is 0.666667, and a shift of 0.5 makes it 1.16667; .* Shift it by -0.666667 to 0.333333"),
        ("-5", "makes it -4.33333; allowed: 0 to 1"),
        ("little", "the shift of truth is 'little', which is not a number"),
        (float("nan"), "the shift of truth is nan; allowed: a finite number"),
    ],
)
def test_shifts_that_leave_no_probability_are_refused(shift: str | float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        with_bias(DESIGN, "truth", shift)


def test_the_table_says_who_gets_what_a_biased_die_takes_from_the_truth() -> None:
    tally = Tally(DESIGN, [640, 360])
    table = sensitivity(Enumerated.saturated(DESIGN.outputs), tally, shares=[], biases={"truth": ["-0.05"]})
    assert table.summary().endswith("\ntruth -0.05 means truth 0.6167, yes 0.1917, no 0.1917")
    # 0.36 = 0.1917 + 0.6167 p
    biased = table.scenarios[1].shares()
    assert biased is not None
    assert biased.estimate[1] == pytest.approx((0.36 - 23 / 120) / (37 / 60), abs=1e-3)


def test_the_right_reading_recovers_the_truth_that_the_planned_one_misses() -> None:
    """Reports from a crowd of whom a tenth always say no: exact frequencies, so no noise."""
    real = with_noncompliance(DESIGN, "1/10", "refuse")
    counts = np.round(10**12 * real.apply(np.array([0.6, 0.4]))).astype(int)
    model = Enumerated.saturated(DESIGN.outputs)
    table = sensitivity(model, Tally(DESIGN, counts), shares=["1/10"], biases={"truth": ["0.05"]})
    names = [scenario.name for scenario in table.scenarios]
    assert names == ["as planned", "10 % truth", "10 % refuse (no)", "10 % random", "truth +0.05"]
    shares = 1 / (1 + np.exp(-table.estimates()[:, 0]))
    assert shares[names.index("10 % refuse (no)")] == pytest.approx(0.4, abs=1e-6)
    assert shares[0] < 0.36
    assert table.shifts()[0, 0] == 0
    assert table.to_json()["parameters"] == ["yes"]


def test_regressions_are_reread_too_and_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(2000), rng.normal(size=2000)])
    truth = np.where(rng.random(2000) < 1 / (1 + np.exp(1 - x[:, 1])), "yes", "no")
    evidence = Responses(DESIGN).add(x, DESIGN.simulate(truth, rng))
    table = sensitivity(Softmax(DESIGN.outputs, ["Intercept", "age"]), evidence, shares=[0.05])
    assert table.estimates().shape == (4, 2)
    plot_sensitivity(table, "age", str(tmp_path / "age.png"))
    assert (tmp_path / "age.png").stat().st_size > 5000
    with pytest.raises(InputError, match="no parameter 'sex'"):
        plot_sensitivity(table, "sex")


def test_scenarios_that_identify_nothing_are_shown_as_such() -> None:
    model = Enumerated.saturated(DESIGN.outputs)
    table = sensitivity(model, Tally(DESIGN, [600, 400]), shares=[1], behaviours=["random"])
    assert table.scenarios[1].fit is None
    assert np.isnan(table.estimates()[1]).all()


def _few_different() -> Sensitivity:
    """19.5 % of 2,000 say "different"; a sixth must as planned, 7/30 where a fifth answers at random."""
    design = Crosswise("1/6")
    model, tally = Enumerated.saturated(design.outputs), Tally(design, [390, 1610])
    return sensitivity(model, tally, shares=["0.2", 1], behaviours=["random"])


def test_readings_that_the_reports_contradict_are_marked() -> None:
    table = _few_different()
    assert [scenario.plausible for scenario in table.scenarios] == [True, False, False]
    lines = table.summary().splitlines()
    marked = next(i for i, line in enumerate(lines) if line.startswith("20 % random †"))
    assert lines[marked + 1].startswith("  p ≤ 0.001 ")
    assert lines[marked + 2].split() == ["100", "%", "random", "†", "–", "–"]  # without a fit there is a test too
    assert lines[marked + 3] == "  p ≤ 0.001"
    assert any(line.startswith("†: reports like these would hardly") for line in lines)
    assert "†" not in lines[marked - 2]
    assert max(map(len, lines)) <= 100


def test_readings_that_fit_have_no_mark_and_no_legend() -> None:
    tally = Tally(DESIGN, [640, 360])
    table = sensitivity(Enumerated.saturated(DESIGN.outputs), tally)
    assert all(scenario.plausible for scenario in table.scenarios)
    assert "†" not in table.summary()
    assert "p:" not in table.summary()
    assert "prior" not in table.summary()


def test_readings_at_the_edge_of_what_is_possible_are_named() -> None:
    table = sensitivity(Enumerated.saturated(DESIGN.outputs), Tally(DESIGN, [820, 180]), shares=["0.1", "0.9"])
    repaired = [s.name for s in table.scenarios if s.fit is not None and s.fit.repaired and s.plausible]
    assert repaired == ["10 % random"]
    note = "at the edge of what is possible, where a weak prior decides: 10 % random"
    assert note in table.summary().splitlines()
    assert note in table.table().notes


def test_every_reading_has_the_test_of_its_own_channel() -> None:
    table = _few_different()
    for scenario, row in zip(table.scenarios, table.to_json()["scenarios"], strict=True):
        alone = channel_fit_test(Tally(scenario.channel, [390, 1610]))
        assert row["channel_test"] == scenario.test.to_json() == alone.to_json()
        assert row["plausible"] == (alone.p_value >= 0.05)
    assert [row["channel_test"]["p_value"] for row in table.to_json()["scenarios"]] == [1, 0.001, 0.001]


def test_with_many_kinds_of_reports_other_readings_are_tested_with_fewer_surveys() -> None:
    design = RandomizedResponse("1/2", outputs=["a", "b", "c"])
    tally = Tally(design, [700, 170, 130])
    table = sensitivity(Enumerated.saturated(design.outputs), tally, shares=["0.9"], behaviours=["random"])
    planned, chance = table.scenarios
    assert planned.test.to_json() == channel_fit_test(tally).to_json()
    assert (chance.test.p_value, chance.test.shown_p_value) == (1 / 100, "p ≤ 0.01")
    assert not chance.plausible


def test_pictures_mark_contradicted_readings_too() -> None:
    figure = plot_sensitivity(_few_different(), "yes")
    axis = figure.axes[0]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["as planned", "20 % random †", "100 % random †"]
    assert axis.get_xlabel().endswith("\n†: the reports contradict it")


def test_the_command_marks_contradicted_readings_and_says_what_its_last_line_is_about(tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text("\n".join(["said", *["different"] * 390, *["same"] * 1610]))
    common = ("sensitivity", str(path), "--formula", "said ~ 1", "--design", "crosswise", "--prevalence", "1/6")
    words = (*common, "--share", "0.2", "--behaviour", "random")
    text = call(*words).out
    assert "20 % random †" in text
    assert text.splitlines()[-1].startswith("fit of the design as planned: p = 1; the design can produce")
    printed = parsed(call(*words, "--json"))
    assert printed["channel_test"] == printed["scenarios"][0]["channel_test"]
    assert [row["channel_test"]["p_value_is_bound"] for row in printed["scenarios"]] == [False, True]
    far = call(*common[:-1], "1/4", "--share", "0.2").out.splitlines()  # a fourth must say "different" as planned
    assert far[-1].startswith("fit of the design as planned: p ≤ 0.001; the channel can hardly")
    assert_one_line(call(*common, "--bias", "prevalence=much"), ("the shift of prevalence is 'much'",))


@pytest.mark.parametrize(
    ("design", "counts"),
    [
        (DESIGN, [930, 70]),
        (DESIGN, [70, 930]),
        (DESIGN, [850, 150]),
        (Crosswise("1/6"), [150, 850]),
        (MatrixChannel([["1/2", "1/2"], ["1/2", "1/2"]]), [520, 480]),
        (DESIGN, [7, 0]),
    ],
)
def test_two_kinds_of_reports_are_tested_by_the_nearer_end_of_what_is_possible(
    design: FiniteChannel, counts: list[int]
) -> None:
    """The same statistic as by projection onto what the channel can produce."""
    general = _distance(design, np.array(counts, dtype=float))[0]
    assert channel_fit_test(Tally(design, counts)).statistic == pytest.approx(general, rel=1e-6)
    assert general > 0.1


def test_p_values_at_the_floor_of_the_simulation_are_bounds() -> None:
    floor = channel_fit_test(Tally(DESIGN, [930, 70]))
    assert (floor.p_value_is_bound, floor.shown_p_value) == (True, "p ≤ 0.001")
    assert floor.to_json()["p_value_is_bound"] is True
    rough = channel_fit_test(Tally(DESIGN, [930, 70]), replicates=99)
    assert rough.shown_p_value == "p ≤ 0.01"
    above = channel_fit_test(Tally(DESIGN, [854, 146]))
    assert (above.p_value_is_bound, above.shown_p_value) == (False, f"p = {above.p_value:.3g}")
    assert channel_fit_test(Tally(DESIGN, [640, 360])).shown_p_value == "p = 1"


def test_frequencies_within_reach_give_no_reason_to_doubt() -> None:
    result = channel_fit_test(Tally(DESIGN, [640, 360]))
    assert result.statistic == pytest.approx(0, abs=1e-9)
    assert result.p_value == 1
    np.testing.assert_allclose(result.possible, result.observed)
    assert channel_fit_test(Tally(Direct(3), [5, 1, 0])).p_value == 1


def test_frequencies_out_of_reach_are_noticed() -> None:
    result = channel_fit_test(Tally(DESIGN, [930, 70]))
    assert result.p_value == pytest.approx(0.001)
    np.testing.assert_allclose(result.shares, [1, 0], atol=1e-9)
    assert "device" in result.message
    x = np.column_stack([np.ones(1000), np.arange(1000)])
    reports = ["no"] * 930 + ["yes"] * 70
    assert channel_fit_test(Responses(DESIGN).add(x, reports)).p_value == pytest.approx(0.001)


@pytest.mark.parametrize(
    ("yes", "at_most", "words"),
    [
        (210, 1.0, "that does not confirm it"),
        (160, 1.0, "but chance could explain the difference"),
        (146, 0.05, "chance could explain the difference, but seldom does"),
        (130, 0.01, "can hardly have produced"),
    ],
)
def test_the_result_in_words_does_not_say_more_than_it_knows(yes: int, at_most: float, words: str) -> None:
    """A sixth of 1,000 is 167 with a standard deviation of 12."""
    result = channel_fit_test(Tally(DESIGN, [1000 - yes, yes]))
    assert result.p_value <= at_most
    assert words in result.message
    assert "chance explains" not in result.message


def test_overidentified_channels_are_tested_inside_too() -> None:
    """Three observations of two outputs: most frequencies are out of reach."""
    channel = MatrixChannel([[0.5, 0.25], [0.25, 0.5], [0.25, 0.25]])
    assert channel_fit_test(Tally(channel, [400, 350, 250])).p_value == 1
    assert channel_fit_test(Tally(channel, [300, 300, 400])).p_value == pytest.approx(0.001)
