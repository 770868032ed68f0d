"""Private regressions and fields on the command line, from a description to coefficients and tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.design.regression_release import regression_release
from askance.formats.release_file import read_regression, read_release, write_release
from askance.models.linear import LinearModel

from .test_cli import Outcome, call
from .test_cli import assert_one_line as refused

DESCRIPTION = 'outcome = "spending"\n[bounds]\nage = [18, 90]\nincome = [0, 200]\nspending = [0, 500]\n'
TRUE = np.array([50.0, 1.0, 1.5])
VARIABLES = 'cliques = [["smokes", "ill"]]\n[variables]\nsmokes = ["no", "yes"]\nill = ["no", "yes"]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.toml").write_text(DESCRIPTION, encoding="utf-8")
    (tmp_path / "health.toml").write_text(VARIABLES, encoding="utf-8")
    return tmp_path


def write_people(path: Path, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    age, income = rng.normal(45, 10, n).clip(18, 90), rng.uniform(10, 90, n)
    spending = TRUE[0] + TRUE[1] * age + TRUE[2] * income + rng.normal(0, 20, n)
    # Columns in another order than in the description, and one that is not asked for.
    lines = [f"{s:.2f},{a:.2f},ignored,{i:.2f}" for s, a, i in zip(spending, age, income, strict=True)]
    path.write_text("\n".join(["spending,age,note,income", *lines]) + "\n", encoding="utf-8")


def assert_one_line(outcome: Outcome, said: str) -> None:
    refused(outcome, (said,))


def done(*arguments: str) -> dict[str, Any]:
    outcome = call(*arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    content: dict[str, Any] = json.loads(outcome.out)
    return content


# -- regression --------------------------------------------------------------------------------------------------------


def test_from_a_pilot_to_coefficients(folder: Path) -> None:
    write_people(folder / "first.csv", 4000, 1)
    write_people(folder / "others.csv", 16_000, 2)
    plan = ("plan", "regression", "people.toml", "--privacy-level", "8")
    assert done(*plan, "--pilot", "-o", "pilot.json")["privacy_level"] <= 8
    told = done("randomize", "release", "pilot.json", "--input", "first.csv", "-o", "pilot.jsonl")
    assert told["reports"] == 4000
    assert done("aggregate", "pilot.jsonl", "-o", "pilot.state")["reports"] == 4000
    scales = {c["name"]: c for c in done("fit-linear", "pilot.state", "--release", "pilot.json")["columns"]}
    assert abs(scales["age"]["centre"] - 45) < 5
    assert 5 < scales["age"]["scale"] < 20
    done(*plan, "--pilot-state", "pilot.state", "--respondents", "16000", "-o", "release.json")
    done("randomize", "release", "release.json", "--input", "others.csv", "-o", "reports.jsonl")
    done("aggregate", "reports.jsonl", "-o", "all.state")
    fit = done("fit-linear", "all.state", "--release", "release.json")
    found = {row["name"]: row for row in fit["parameters"]}
    assert list(found) == ["Intercept", "age", "income"]
    # Six standard errors: a false alarm in fewer than one run of 1e8. The model is linear: shrinking moves nothing.
    for name, value in zip(found, TRUE, strict=True):
        assert abs(found[name]["estimate"] - value) < 6 * found[name]["std_error"]
    text = call("fit-linear", "all.state", "--release", "release.json")
    assert "linear regression   reports 16,000 (and 4,000 of a pilot)   privacy level 8" in text.out


def test_values_outside_the_bounds_are_clipped_in_silence_or_refused(folder: Path) -> None:
    (folder / "people.csv").write_text("age,income,spending\n30,20,100\n95,20,700\n40,30,100\n", encoding="utf-8")
    done("plan", "regression", "people.toml", "--privacy-level", "2", "-o", "release.json")
    randomize = ("randomize", "release", "release.json", "--input", "people.csv", "-o", "reports.jsonl")
    assert "clipped" not in done(*randomize)
    (folder / "reports.jsonl").unlink()
    outcome = call(*randomize, "--strict")
    assert_one_line(outcome, "age of row 2 would be clipped; allowed: 18 to 90.")
    assert not (folder / "reports.jsonl").exists()


def test_rows_with_gaps_are_refused_or_dropped(folder: Path) -> None:
    (folder / "people.csv").write_text("age,income,spending\n30,20,100\n,20,70\n40,30,100\n", encoding="utf-8")
    done("plan", "regression", "people.toml", "--privacy-level", "2", "-o", "release.json")
    randomize = ("randomize", "release", "release.json", "--input", "people.csv", "-o", "reports.jsonl")
    assert_one_line(call(*randomize), "row 2: the value of column 'age' is missing")
    told = done(*randomize, "--missing", "drop")
    assert (told["reports"], told["dropped"]) == (2, 1)
    assert_one_line(call(*randomize, "--missing", "drop"), "reports.jsonl is there already, a file of reports")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("outcome", "is not TOML"),
        ('outcome = "y"', "bounds in people.toml is None"),
        ('outcome = "y"\n[bounds]\nx = [0, 1]', "outcome in people.toml is 'y'"),
        ('outcome = "y"\n[bounds]\ny = [0, 1]', "at least two columns"),
        ('outcome = "y"\n[bounds]\nx = [0]\ny = [0, 1]', "x in [bounds] of people.toml is [0]"),
        ('outcome = "y"\n[bounds]\nx = [1, 0]\ny = [0, 1]', "low below high"),
        ('outcome = "y"\nlevel = 2\n[bounds]\nx = [0, 1]\ny = [0, 1]', "has 'level'"),
        ('outcome = "y"\n[bounds]\nx = [0, 1]\ny = [0, 1]\n[scales]\nx = [0, 1]', "all columns of [bounds]"),
    ],
)
def test_descriptions_that_are_refused(folder: Path, text: str, said: str) -> None:
    (folder / "people.toml").write_text(text, encoding="utf-8")
    assert_one_line(call("plan", "regression", "people.toml", "--privacy-level", "2", "-o", "release.json"), said)
    assert not (folder / "release.json").exists()


def test_public_scales_are_taken(folder: Path) -> None:
    scales = "[scales]\nage = [45, 15]\nincome = [50, 30]\nspending = [80, 60]\n"
    (folder / "people.toml").write_text(DESCRIPTION + scales, encoding="utf-8")
    plan = ("plan", "regression", "people.toml", "--privacy-level", "2", "-o", "release.json")
    assert "there are no scales" not in call(*plan).out
    field = read_regression(folder / "people.toml")
    assert field.names == ("age", "income", "spending")
    (folder / "people.toml").write_text(DESCRIPTION, encoding="utf-8")
    assert "there are no scales" in call(*plan).out
    assert field.scales.tolist() == [15, 30, 60]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "regression", "people.toml", "--privacy-level", "0", "-o", "r.json"), "--privacy-level is 0"),
        (
            ("plan", "regression", "people.toml", "--privacy-level", "1", "--channel", "x", "-o", "r.json"),
            "--channel is 'x'",
        ),
        (
            ("plan", "regression", "people.toml", "--privacy-level", "1", "--pilot", "--channel", "moments", "-o", "r"),
            "--pilot is given with",
        ),
        (("fit-linear", "--release", "r.json"), "STATE... is missing"),
        (("fit-linear", "s", "--release", "r", "--save", "f"), "has no option '--save'"),
        (("fit-linear", "s", "--release", "people.toml"), "people.toml is not JSON"),
        (
            ("plan", "field", "health.toml", "--privacy-level", "1", "--channel", "x", "-o", "c.toml"),
            "--channel is 'x'",
        ),
        (("plan", "field", "people.toml", "--privacy-level", "1", "-o", "c.toml"), "has 'outcome'"),
    ],
)  # fmt: skip
def test_commands_that_are_refused(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    assert_one_line(call(*arguments), said)
    assert sorted(path.name for path in folder.iterdir()) == ["health.toml", "people.toml"]


def test_another_state_is_no_state_of_the_release(folder: Path) -> None:
    write_people(folder / "people.csv", 50, 3)
    for level in ("1", "2"):
        done("plan", "regression", "people.toml", "--privacy-level", level, "-o", f"{level}.json")
    done("randomize", "release", "1.json", "--input", "people.csv", "-o", "r.jsonl")
    done("aggregate", "r.jsonl", "-o", "one.state")
    assert_one_line(call("fit-linear", "one.state", "--release", "2.json"), "channel")
    plan = ("plan", "regression", "people.toml", "--privacy-level", "1", "--pilot-state", "one.state", "-o", "x.json")
    assert_one_line(call(*plan), "is not the pilot of 3 columns")


def test_releases_survive_the_disk_and_changes_are_noticed(folder: Path) -> None:
    field = LinearModel(2, x_bounds=(-2, 2), y_bounds=(-4, 4), feature_names=["a", "ü"], outcome_name="z")
    for release in (
        regression_release(field, "3/2"),
        regression_release(field, 1, channel="per-value"),
        ScalePilot(field, 2),
    ):
        write_release(release, folder / "release.json")
        again = read_release(folder / "release.json")
        assert type(again) is type(release)
        assert again.field == field
        assert again.specification() == release.specification()
    content = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    for changed, said in (
        ({"fingerprint": "0"}, "fingerprint"),
        ({"askance": "tally/1"}, "has format 'tally/1'"),
        ({"field": {}}, "does not describe a release"),
        ({"thresholds": "x"}, "does not describe a release"),
    ):
        (folder / "release.json").write_text(json.dumps(content | changed), encoding="utf-8")
        assert_one_line(call("fit-linear", "s", "--release", "release.json"), said)
    assert isinstance(read_release_of(folder, regression_release(field, 1)), MomentRelease)


def read_release_of(folder: Path, release: MomentRelease) -> Any:
    write_release(release, folder / "again.json")
    return read_release(folder / "again.json")


# -- fields ------------------------------------------------------------------------------------------------------------


def test_from_a_description_to_tables(folder: Path) -> None:
    rng = np.random.default_rng(4)
    smokes = rng.random(8000) < 0.3
    ill = rng.random(8000) < np.where(smokes, 0.5, 0.2)
    words = np.array(["no", "yes"])
    lines = [f"{a},{b}" for a, b in zip(words[ill.astype(int)], words[smokes.astype(int)], strict=True)]
    (folder / "people.csv").write_text("\n".join(["ill,smokes", *lines]) + "\n", encoding="utf-8")
    assert done("plan", "field", "health.toml", "--privacy-level", "4", "-o", "channel.toml")["treewidth"] == 1
    records = ("randomize", "records", "channel.toml", "--variables", "health.toml", "--input", "people.csv")
    assert done(*records, "-o", "reports.jsonl")["reports"] == 8000
    done("aggregate", "reports.jsonl", "-o", "all.state")
    fit = done("estimate", "all.state", "--field", "--variables", "health.toml")
    assert fit["n"] == 8000
    table = fit["tables"][0]
    # Six standard errors: a false alarm in fewer than one run of 1e8.
    assert abs(table["estimate"][1][1] - np.mean(smokes & ill)) < 6 * table["standard_error"][1][1]


def test_records_that_are_refused(folder: Path) -> None:
    done("plan", "field", "health.toml", "--privacy-level", "4", "-o", "channel.toml")
    given = ("--variables", "health.toml", "--input", "people.csv", "-o", "r.jsonl")
    records = ("randomize", "records", "channel.toml", *given)
    for text, said in (
        ("ill,smokes\nyes,no\nno,maybe\n", "row 2: column 'smokes' is none of the labels; allowed: 'no', 'yes'"),
        ("ill,smokes\nyes,no\n,yes\n", "row 2: the value of column 'ill' is missing"),
        ("ill\nyes\n", "there is no column 'smokes'"),
    ):
        (folder / "people.csv").write_text(text, encoding="utf-8")
        assert_one_line(call(*records), said)
        assert not (folder / "r.jsonl").exists()
    (folder / "people.csv").write_text("ill,smokes\nyes,no\n,yes\nno,no\n", encoding="utf-8")
    assert done(*records[:-1], "dropped.jsonl", "--missing", "drop")["dropped"] == 1
    (folder / "people.csv").write_text("ill,smokes\n,yes\nno,no\nno,maybe\n", encoding="utf-8")
    assert_one_line(call(*records, "--missing", "drop"), "row 3: column 'smokes' is none of the labels")
    (folder / "channel.toml").write_text('kind = "warner"\nquestion = "2/3"\n', encoding="utf-8")
    assert_one_line(call(*records), "describes warner; allowed: clique-release")
