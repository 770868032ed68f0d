"""`askance plan`: prints what Python returns; what goes wrong is one line and exit code 2."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from askance import Direct, Enumerated, OtherArm, RandomizedResponse, Tally, Warner, estimate, save
from askance.cli.command import askance
from askance.errors import AskanceError
from askance.planning import (
    Plan,
    Share,
    guess_survey,
    plan,
    plan_survey,
    sample_covariates,
    textbook_design,
    yes_no_kinds,
)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(askance, ["plan", "survey", *arguments])


def parsed(*arguments: str) -> Any:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(*arguments: str) -> str:
    result = call(*arguments)
    assert isinstance(result.exception, AskanceError), result.output  # `run` turns it into one line and code 2
    message = str(result.exception)
    assert "\n" not in message
    return message


def test_prints_what_python_returns() -> None:
    found = parsed("--prevalence", "0.2", "--standard-error", "0.02")
    guess = guess_survey(0.2)
    channels = [textbook_design(kind) for kind in yes_no_kinds()]
    plan = plan_survey(guess.model, channels, guess.theta, guess.x, target=Share("yes"), standard_error=0.02)
    assert found == {"prevalence": 0.2, **json.loads(json.dumps(plan.to_json())), "warnings": []}
    assert found["direct"]["n"] == 400
    assert found["direct"]["privacy_level"] is None
    assert {design["design"]: design["n"] for design in found["designs"]}["warner"] == 5400  # (.16 + 2)/.0004


def test_coefficient_with_described_covariates() -> None:
    arguments = ["--prevalence", "0.2", "--x", "age:normal(40,15)", "--x", "female:bernoulli(0.5)", "--effects"]
    arguments += ["female=-1/2", "--coefficient", "age", "--effect", "0.02", "--power", "0.9", "--seed", "4"]
    found = parsed(*arguments, "--design", "warner:question=0.8", "--method", "moments", "--confidence", "0.9")
    columns = sample_covariates(["age:normal(40,15)", "female:bernoulli(0.5)"], np.random.default_rng(4))
    guess = guess_survey(0.2, {"female": -0.5, "age": 0.02}, columns)
    plan = plan_survey(
        guess.model,
        [Warner(0.8)],
        guess.theta,
        guess.x,
        target="age",
        effect=0.02,
        power=0.9,
        method="moments",
        confidence=0.9,
    )
    assert found["designs"][0]["n"] == plan.designs[0].n
    assert found["value"] == 0.02


def test_data_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    rng = np.random.default_rng(0)
    ages = rng.normal(40, 10, size=300).round(1)
    path.write_text("id,age,name\n" + "".join(f"{i},{age},someone\n" for i, age in enumerate(ages)), encoding="utf-8")
    found = parsed("--prevalence", "0.2", "--data", str(path), "--x", "age", "--coefficient", "age", "--effects",
                   "age=0.05", "--respondents", "1000")  # fmt: skip
    guess = guess_survey(0.2, {"age": 0.05}, {"age": ages})
    plan = plan_survey(guess.model, [Warner("2/3")], guess.theta, guess.x, target="age", n=1000)
    assert found["designs"][-1]["standard_error"] == pytest.approx(plan.designs[0].standard_error, rel=1e-12)
    assert "name holds text values" in refused("--prevalence", "0.2", "--data", str(path), "--respondents", "9")
    missing = refused("--prevalence", "0.2", "--data", str(path), "--x", "height", "--respondents", "9")
    assert "'id', 'age', 'name'" in missing
    assert "No such file" in refused("--prevalence", "0.2", "--data", str(tmp_path / "no.csv"), "--respondents", "9")
    (tmp_path / "empty.csv").write_text("", encoding="utf-8")
    assert "is empty" in refused("--prevalence", "0.2", "--data", str(tmp_path / "empty.csv"), "--respondents", "9")


def test_one_privacy_level() -> None:
    found = parsed("--prevalence", "0.3", "--privacy-level", "1.5", "--respondents", "2000")
    assert [design["design"] for design in found["designs"]] == list(yes_no_kinds())
    for design in found["designs"]:
        assert design["privacy_level"] == pytest.approx(1.5, abs=1e-9)
        assert design["privacy_level"] <= 1.5
        assert design["price"] == pytest.approx(found["designs"][0]["price"], rel=1e-9)
    more = parsed("--prevalence", "0.3", "--privacy-level", "1.5", "--respondents", "2000", "--design", "direct",
                  "--design", "randomized-response", "--design", "crosswise")  # fmt: skip
    assert [design["design"] for design in more["designs"]] == ["direct", "randomized-response", "crosswise"]
    assert more["designs"][0]["price"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (["--standard-error", "0.02"], ["respondents", "5,400", "13.50", "question 2/3"]),
        (["--width", "0.08"], ["95 % interval 0.08 wide", "crosswise"]),
        (["--power", "0.8", "--effect", "0.05"], ["power 0.8", "difference of 0.05"]),
        (["--respondents", "50"], ["what 50 respondents buy", "s.e.", "≈", "rough"]),
        (["--respondents", "2000", "--privacy-level", "1"], ["tell equally much"]),
    ],
)
def test_tables_for_people(goal: list[str], words: list[str]) -> None:
    result = call("--prevalence", "0.2", *goal)
    assert result.exit_code == 0
    text = re.sub(r"\s+", " ", result.stdout)
    for word in [*words, "unrelated-question", "disguised-response", "direct"]:
        assert word in text
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_plot(tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    result = call("--prevalence", "0.2", "--standard-error", "0.02", "--plot", str(picture))
    assert str(picture) in result.stdout.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "--plot" in refused(
        "--prevalence", "0.2", "--standard-error", "0.02", "--plot", str(tmp_path / "no" / "plan.png")
    )
    assert "--plot" in refused("--prevalence", "0.2", "--standard-error", "0.02", "--plot", str(tmp_path / "plan.xyz"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "exactly one of"),
        (["--standard-error", "0.1", "--width", "0.1"], "exactly one of"),
        (["--standard-error", "0"], "makes an estimate exact"),
        (["--power", "0.8"], "no effect is given"),
        (["--effect", "0"], "detects that"),
        (["--respondents", "100", "--coefficient", "age"], "no coefficient 'age'"),
        (["--respondents", "100", "--coefficient", "age", "--share"], "--coefficient is given with --share"),
        (["--respondents", "100", "--effects", "age"], "NAME=NUMBER"),
        (["--respondents", "100", "--effects", "age=1/0"], "NAME=NUMBER"),
        (["--respondents", "100", "--effects", "age=1"], "an effect of 'age'"),
        (["--respondents", "100", "--x", "age:normal(1)"], "mean and deviation"),
        (["--respondents", "100", "--design", "warnr"], "Did you mean 'warner'"),
        (["--respondents", "100", "--design", "coarsened"], "not a yes/no design"),
        (["--respondents", "100", "--design", "warner:2/3"], "NAME=VALUE"),
        (["--respondents", "100", "--design", "warner:q=2/3"], "no parameter 'q'"),
        (["--respondents", "100", "--design", "warner:question=1/2"], "no information"),
        (["--respondents", "100", "--design", "warner:question=2/3", "--privacy-level", "1"], "would replace"),
        (["--respondents", "100", "--privacy-level", "0"], "above 0"),
        (["--respondents", "100", "--seed", "-1"], "--seed"),
        (["--respondents", "100", "--method", "bets"], "one-step, moments"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    assert message in refused("--prevalence", "0.2", *arguments)


def test_prevalence_is_checked() -> None:
    assert "above 0, below 1" in refused("--prevalence", "20", "--respondents", "100")
    assert call("--respondents", "100").exit_code == 2


# -- plan model, plan shares -------------------------------------------------------------------------------------------

SHARES = ["--share", "no=0.6", "--share", "maybe=3/10", "--share", "yes=0.1"]


def run(command: str, *arguments: str) -> Any:
    result = CliRunner().invoke(askance, ["plan", command, *arguments, "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused_by(command: str, *arguments: str) -> str:
    result = CliRunner().invoke(askance, ["plan", command, *arguments])
    assert isinstance(result.exception, AskanceError), result.output
    message = str(result.exception)
    assert "\n" not in message
    return message


@pytest.fixture
def described(tmp_path: Path) -> str:
    path = tmp_path / "model.json"
    content = {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]], "parameter_names": ["first", "second"]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


STRONG = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], parameter_names=["first", "second"])


def as_printed(plan: Plan) -> Any:
    return json.loads(json.dumps({**plan.to_json(), "warnings": []}))


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["--privacy-level", "1", "--standard-error", "0.1"], {"privacy_level": 1, "standard_error": 0.1}),
        (["--privacy-level", "2", "--respondents", "900"], {"privacy_level": 2, "n": 900}),
        (["--respondents", "90000", "--width", "0.8"], {"n": 90_000, "interval_width": 0.8}),
        (
            ["--target", "first", "--power", "0.9", "--effect", "0.5", "--privacy-level", "1", "--confidence", "0.9"],
            {"target": "first", "power": 0.9, "effect": 0.5, "privacy_level": 1, "confidence": 0.9},
        ),
        (
            ["--target", "share:1", "--respondents", "70", "--privacy-level", "1/2", "--method", "moments"],
            {"target": Share(1), "n": 70, "privacy_level": "1/2", "method": "moments"},
        ),
    ],
)
def test_plan_model_prints_what_python_returns(described: str, arguments: list[str], given: dict[str, Any]) -> None:
    names = ["optimal", "randomized-response"]
    flags = [part for name in names for part in ("--channel", name)]
    found = run("model", described, "--theta", "2,-1", *flags, *arguments)
    assert found == as_printed(plan(STRONG, names, [2, -1], **given))


def test_plan_model_takes_pilots_and_priors(described: str, tmp_path: Path) -> None:
    goal = ["--privacy-level", "1", "--respondents", "900", "--channel", "randomized-response"]
    draws = tmp_path / "draws.csv"
    draws.write_text("second,first,id\n-1,2,7\n-0.5,1,8\n", encoding="utf-8")
    expected = plan(STRONG, "randomized-response", prior=[[2.0, -1.0], [1.0, -0.5]], privacy_level=1, n=900)
    assert run("model", described, "--prior", str(draws), *goal) == as_printed(expected)
    draws.write_text("first,second\n2,x\n", encoding="utf-8")
    assert "holds text values" in refused_by("model", described, "--prior", str(draws), *goal)
    fit = estimate(STRONG, Tally(RandomizedResponse("1/2", outputs=4), [100, 80, 300, 200]))
    save(fit, tmp_path / "pilot.fit")
    found = run("model", described, "--fit", str(tmp_path / "pilot.fit"), *goal)
    assert found == as_printed(plan(STRONG, "randomized-response", fit=fit, privacy_level=1, n=900))
    tally = tmp_path / "answers.tally"
    save(Tally(RandomizedResponse("1/2", outputs=4)), tally)
    assert "is no fit, but a state of reports" in refused_by("model", described, "--fit", str(tally), *goal)


def test_plan_shares() -> None:
    model = Enumerated.saturated(["no", "maybe", "yes"])
    theta = np.log([0.3 / 0.6, 0.1 / 0.6])
    found = run("shares", *SHARES, "--privacy-level", "1", "--standard-error", "0.02")
    expected = as_printed(plan(model, None, theta, target="shares", privacy_level=1, standard_error=0.02))
    assert found.pop("shares") == {"no": 0.6, "maybe": 0.3, "yes": 0.1}
    assert [row["design"] for row in found["designs"]] == [row["design"] for row in expected["designs"]]
    assert [row["n"] for row in found["designs"]] == pytest.approx([row["n"] for row in expected["designs"]], abs=1)
    assert found["direct"]["n"] == 450  # (.24 + .21 + .09)/3/.0004
    one = run("shares", *SHARES, "--target", "yes", "--respondents", "2000", "--width", "0.08", "--channel", "optimal")
    assert one["value"] == pytest.approx(0.1)
    assert one["designs"][0]["interval_width"] <= 0.08
    two = run("shares", "--share", "no=0.8", "--share", "yes=0.2", "--respondents", "99", "--privacy-level", "1")
    assert {"warner", "crosswise", "optimal"} <= {row["design"] for row in two["designs"]}


def test_plans_for_people(described: str, tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    arguments = ["plan", "shares", *SHARES, "--respondents", "3000", "--standard-error", "0.02", "--plot", str(picture)]
    result = CliRunner().invoke(askance, arguments)
    text = re.sub(r"\s+", " ", result.stdout)
    for word in ("smallest privacy level for a standard error of 0.02 with 3,000 respondents", "optimal", "left out"):
        assert word in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    arguments = ["plan", "model", described, "--theta", "2,-1", "--privacy-level", "1", "--respondents", "900"]
    text = re.sub(r"\s+", " ", CliRunner().invoke(askance, arguments).stdout)
    for word in ("what 900 respondents buy", "coordinate-release, tuned", "by: the estimator"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "exactly one of --theta, --fit, --prior"),
        (["--theta", "1,2", "--fit", "a.fit"], "--theta, --fit; allowed"),
        (["--theta", "1;2", "--respondents", "9"], "--theta is '1;2'"),
        (["--theta", "1", "--respondents", "9"], "--theta has 1 numbers; allowed: 2"),
        (["--theta", "1,2", "--respondents", "9"], "--privacy-level is not given"),
        (["--theta", "1,2", "--respondents", "9", "--standard-error", "0.1"], "even direct answers"),
        (["--theta", "1,2", "--respondents", "9", "--privacy-level", "0"], "--privacy-level is 0"),
        (["--theta", "1,2", "--respondents", "9", "--privacy-level", "1", "--channel", "optimum"], "'optimal'"),
        (["--theta", "1,2", "--respondents", "9", "--privacy-level", "1", "--target", "third"], "no coefficient"),
        (["--theta", "1,2", "--respondents", "9", "--privacy-level", "1", "--target", "share:7"], "'7'"),
        (["--fit", "no.fit", "--respondents", "9", "--privacy-level", "1"], "no.fit"),
    ],
)
def test_plan_model_refuses(described: str, arguments: list[str], message: str) -> None:
    assert message in refused_by("model", described, *arguments)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[1]", "allowed: an object"),
        ('{"kind": "satur"}', "Did you mean 'saturated'"),
        ('{"kind": "saturated"}', "no field 'outputs'"),
        ('{"kind": "saturated", "outputs": ["a"]}', "does not describe a model"),
        ('{"kind": "saturated", "outputs": ["a", "b"], "table": []}', "has 'table'"),
        ('{"kind": "enumerated", "table": [[1, 2], [3]]}', "does not describe a model"),
        ('{"kind": "enumerated", "table": [[0, 1]], "outputs": ["a", "b", "c"]}', "3 labels for 2 columns"),
        ('{"kind": "enumerated", "table": [[0, 1]], "parameter_names": 3}', "does not describe a model"),
    ],
)
def test_model_files_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(content, encoding="utf-8")
    goal = ["--theta", "1", "--respondents", "9", "--privacy-level", "1"]
    assert message in refused_by("model", str(path), *goal)
    assert "no.json" in refused_by("model", str(tmp_path / "no.json"), *goal)


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        (["no=0.5"], "at least two that sum to 1"),
        (["no=0.5", "yes=0.4"], "sum to 0.9"),
        (["no=0.5", "no=0.5"], "twice"),
        (["no=1/0", "yes=0.5"], "LABEL=P"),
        (["no", "yes=0.5"], "LABEL=P"),
        (["no=0", "yes=1"], "above 0"),
        (["no=nan", "yes=1"], "LABEL=P"),
    ],
)
def test_shares_refused(shares: list[str], message: str) -> None:
    flags = [part for share in shares for part in ("--share", share)]
    assert message in refused_by("shares", *flags, "--respondents", "9", "--privacy-level", "1")


def test_targets_of_shares_are_answers() -> None:
    assert "perhaps" in refused_by(
        "shares", *SHARES, "--target", "perhaps", "--respondents", "9", "--privacy-level", "1"
    )


# -- tests, arms, texts ------------------------------------------------------------------------------------------------

TESTED = ["--prevalence", "0.2", "--null", "0.1", "--alternative", "greater", "--design", "forced-response"]


def test_power_prints_what_python_returns() -> None:
    found = parsed(*TESTED, "--power", "0.9", "--test", "exact", "--hypotheses", "2")
    guess = guess_survey(0.2)
    expected = plan_survey(
        guess.model, textbook_design("forced-response"), guess.theta, guess.x, target=Share("yes"), power=0.9,
        null=0.1, alternative="greater", test="exact", hypotheses=2,
    )  # fmt: skip
    assert found == {"prevalence": 0.2, **as_printed(expected)}
    assert found["test"] == {"null": 0.1, "alternative": "greater", "level": 0.025, "rule": "exact", "hypotheses": 2}
    assert found["designs"][0]["counted"]["size"] <= 0.025
    assert found["designs"][0]["counted"]["power"] >= 0.9
    assert parsed(*TESTED)["wanted"] == 0.8  # the goal where a test is all that is given


def test_two_arms_on_the_command_line() -> None:
    arguments = ["--prevalence", "0.2", "--against", "0.12", "--against-design", "direct", "--against-part", "1/3"]
    found = parsed(*arguments, "--power", "0.8")
    guess = guess_survey(0.2)
    other = OtherArm(0.12, Direct(["no", "yes"]), "1/3")
    designs = [textbook_design(kind) for kind in yes_no_kinds()]
    options: dict[str, Any] = {"target": Share("yes"), "power": 0.8, "against": other}
    expected = plan_survey(guess.model, designs, guess.theta, guess.x, **options)
    assert [row["n"] for row in found["designs"]] == [row.n for row in expected.designs]
    assert found["against"] == {
        "share": 0.12,
        "design": {"design": "direct", "outputs": ["no", "yes"]},
        "part": pytest.approx(1 / 3),
    }
    text = re.sub(r"\s+", " ", call(*arguments).stdout)
    assert "difference of the share of 'yes' from the other arm" in text
    assert "of both arms together; 0.3333 of them in the other arm" in text


def test_a_paragraph_instead_of_the_table() -> None:
    result = call(*TESTED, "--respondents", "300", "--text")
    assert result.exit_code == 0
    assert result.stdout.startswith("300 respondents will be asked through the design forced-response (truth 2/3, ")
    assert result.stdout.count("\n") == 1
    found = parsed(*TESTED, "--respondents", "300", "--text")
    assert found["text"] + "\n" == result.stdout
    assert "text" not in parsed(*TESTED, "--respondents", "300")
    both = call("--prevalence", "0.2", "--standard-error", "0.02", "--design", "warner", "--design", "direct", "--text")
    assert len(both.stdout.split("\n\n")) == 2


def test_tests_of_other_plans() -> None:
    found = run("shares", *SHARES, "--target", "yes", "--null", "0.05", "--alternative", "greater", "--power", "0.8",
                "--privacy-level", "1", "--channel", "randomized-response")  # fmt: skip
    assert found["test"]["rule"] == "score"
    assert found["designs"][0]["counted"] is None
    assert found["designs"][0]["null_error"] < found["designs"][0]["standard_error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--null", "0.3", "--alternative", "greater"], "--alternative is greater"),
        (["--null", "0.1", "--effect", "0.1"], "--null and --effect are both given"),
        (["--null", "2"], "--null is 2"),
        (["--null", "0.1", "--alternative", "up"], "--alternative is 'up'"),
        (["--null", "0.1", "--test", "t"], "--test is 't'"),
        (["--null", "0.1", "--hypotheses", "0"], "--hypotheses is 0"),
        (["--against", "1.5"], "--against is 1.5"),
        (["--against", "0.3", "--test", "exact"], "--test is exact"),
        (["--against-design", "direct", "--respondents", "9"], "--against-design is given without --against"),
        (["--against", "0.3", "--coefficient", "age"], "--coefficient is given with --against"),
        (["--against", "0.3", "--against-part", "1"], "1/2 is usual"),
    ],
)
def test_tests_that_cannot_be(arguments: list[str], message: str) -> None:
    assert message in refused("--prevalence", "0.2", *arguments)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
@pytest.mark.parametrize("goal", [["--standard-error", "0.02"], ["--null", "0.1", "--respondents", "500"]])
def test_parameters_are_never_cut(width: int, goal: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = re.sub(r"\s+", " ", call("--prevalence", "0.2", *goal).stdout)
    for design in ("prevalence 1/6", "red_if_yes 4/5, red_if_no 1/5", "truth 2/3, yes 1/6, no 1/6",
                   "question 3/4, prevalence 1/4", "question 2/3"):  # fmt: skip
        assert design in text
    assert "…" not in text
