"""`askance plan survey`: prints what Python returns; what goes wrong is one line and exit code 2."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from askance import Warner
from askance.cli.command import askance
from askance.design import Share, guess_survey, plan_survey, sample_covariates, textbook_design, yes_no_kinds
from askance.errors import AskanceError


def call(*arguments: str) -> Result:
    return CliRunner().invoke(askance, ["plan", "survey", *arguments])


def parsed(*arguments: str) -> Any:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


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
    assert found == {"prevalence": 0.2, **json.loads(json.dumps(plan.to_json()))}
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
    text = re.sub(r"\s+", " ", result.output)
    for word in [*words, "unrelated-question", "disguised-response", "direct"]:
        assert word in text
    assert max(map(len, result.output.splitlines())) <= 100


def test_plot(tmp_path: Path) -> None:
    picture = tmp_path / "plan.png"
    result = call("--prevalence", "0.2", "--standard-error", "0.02", "--plot", str(picture))
    assert str(picture) in result.output.replace("\n", "")
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
        (["--respondents", "100", "--coefficient", "age", "--share"], "both given"),
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
        (["--respondents", "100", "--method", "best"], "one-step, moments"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    assert message in refused("--prevalence", "0.2", *arguments)


def test_prevalence_is_checked() -> None:
    assert "above 0, below 1" in refused("--prevalence", "20", "--respondents", "100")
    assert call("--respondents", "100").exit_code == 2
