"""`askance plan regression` and `askance plan field` without -o: what Python returns, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.estimation.field import estimate_field
from askance.evidence import Tally
from askance.formats import save
from askance.formats.field_fit_file import read_field
from askance.formats.release_file import read_regression
from askance.planning import Plan, plan, sample_covariates

from .test_cli import assert_one_line, call, parsed

FIELD = 'cliques = [["smokes", "age"], ["age", "ill"]]\n[variables]\nsmokes = ["no", "yes"]\nage = 3\nill = 2\n'
LINEAR = 'outcome = "spending"\n[bounds]\nage = [18, 90]\nincome = [0, 9]\nspending = [0, 500]\n'
LAWS = ("--x", "age:normal(45,10)", "--x", "income:uniform(1,8)")
GUESS = ("--theta", "100,2,1/2,60")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("field.toml").write_text(FIELD, encoding="utf-8")
    Path("linear.toml").write_text(LINEAR, encoding="utf-8")
    return tmp_path


def field(*arguments: str) -> Any:
    return parsed(call("plan", "field", "field.toml", *arguments, "--json"))


def regression(*arguments: str) -> Any:
    return parsed(call("plan", "regression", "linear.toml", *arguments, "--json"))


def printed(found: Plan) -> Any:
    return json.loads(json.dumps({**found.to_json(), "warnings": []}))


# -- the same as Python ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("--privacy-level", "2", "--standard-error", "0.02"), {"privacy_level": 2, "standard_error": 0.02}),
        (("--privacy-level", "2", "--respondents", "9000"), {"privacy_level": 2, "n": 9000}),
        (("--respondents", "90000", "--width", "0.1"), {"n": 90_000, "interval_width": 0.1}),
        (
            ("--privacy-level", "1", "--power", "0.9", "--effect", "1/20", "--target", "age=2,ill=1"),
            {"privacy_level": 1, "power": 0.9, "effect": 0.05, "target": {"age": 2, "ill": 1}},
        ),
        (
            ("--privacy-level", "1", "--respondents", "500", "--target", "smokes=yes", "--confidence", "0.9"),
            {"privacy_level": 1, "n": 500, "target": {"smokes": "yes"}, "confidence": 0.9},
        ),
    ],
)
def test_a_field(arguments: tuple[str, ...], given: dict[str, Any]) -> None:
    model = read_field("field.toml")
    assert field(*arguments) == printed(plan(model, None, np.zeros(model.dimension), **given))
    one = printed(plan(model, "records", np.zeros(model.dimension), **given))
    assert field(*arguments, "--channel", "records") == one


def test_the_pilot_of_a_field() -> None:
    from askance.design.field_release import field_release

    model, rng = read_field("field.toml"), np.random.default_rng(0)
    channel = field_release(model, 3)
    tally = Tally(channel).add(channel.simulate(rng.integers(0, model.sizes, (4000, 3)), rng))
    fit = estimate_field(model, tally)
    save(fit, "pilot.fit")
    found = field("--privacy-level", "2", "--respondents", "9000", "--pilot-fit", "pilot.fit", "--channel", "cliques")
    assert found == printed(plan(model, "cliques", fit=fit, privacy_level=2, n=9000))


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("--privacy-level", "4", "--standard-error", "0.5"), {"privacy_level": 4, "standard_error": 0.5}),
        (("--respondents", "900000", "--standard-error", "0.5"), {"n": 900_000, "standard_error": 0.5}),
        (
            ("--privacy-level", "4", "--target", "age", "--power", "0.8"),
            {"privacy_level": 4, "target": "age", "power": 0.8},
        ),
    ],
)
def test_a_regression(arguments: tuple[str, ...], given: dict[str, Any]) -> None:
    columns = sample_covariates([LAWS[1], LAWS[3]], np.random.default_rng(7))
    x = np.column_stack(list(columns.values()))
    expected = plan(read_regression(Path("linear.toml")), "quadratic", [100, 2, 0.5, 60], x, **given)
    assert regression(*GUESS, *LAWS, "--seed", "7", "--channel", "quadratic", *arguments) == printed(expected)


def test_a_sample_of_the_columns() -> None:
    rows = np.random.default_rng(1).normal([45, 4], [10, 1], (50, 2)).round(2)
    lines = "\n".join(f"x,{income},{age}" for age, income in rows.tolist())
    Path("sample.csv").write_text(f"note,income,age\n{lines}\n", encoding="utf-8")
    expected = plan(read_regression(Path("linear.toml")), None, [100, 2, 0.5, 60], rows, privacy_level=4, n=5000)
    found = regression(*GUESS, "--data", "sample.csv", "--privacy-level", "4", "--respondents", "5000")
    assert found == printed(expected)


def test_tables_and_pictures() -> None:
    outcome = call("plan", "field", "field.toml", "--privacy-level", "2", "--respondents", "900", "--plot", "plan.png")
    assert outcome.code == 0, outcome.err
    assert "what 900 respondents buy" in outcome.out
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    one = call("plan", "field", "field.toml", "--privacy-level", "2", "--respondents", "900", "--target", "smokes=yes")
    assert "guessed 0.5 with all cells equally likely" in one.out


# -- what is refused ---------------------------------------------------------------------------------------------------

FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "nothing asked": (("--privacy-level", "1"), ("neither -o nor a goal is given", "-o channel.toml")),
    "no level": (("--standard-error", "0.1"), ("--privacy-level is not given",)),
    "both": (("--privacy-level", "1", "--width", "0.1", "-o", "c.toml"), ("--width is given with -o",)),
    "respondents and -o": (("--privacy-level", "1", "--respondents", "9", "-o", "c.toml"), ("--respondents is given",)),
    "-o alone": (("-o", "c.toml"), ("--privacy-level is missing",)),
    "two goals": (("--privacy-level", "1", "--width", "1", "--standard-error", "1"), ("goals given",)),
    "no variable": (("--respondents", "9", "--target", "smoke=yes"), ("'smoke=yes'", "Did you mean 'smokes'?")),
    "no label": (("--respondents", "9", "--target", "smokes=ja"), ("smokes = 'ja'", "labels are no, yes")),
    "no cell": (("--respondents", "9", "--target", "smokes"), ("smokes = ''", "labels are no, yes")),
    "no channel": (("--respondents", "9", "--privacy-level", "1", "--channel", "cliqes"), ("Did you mean 'cliques'?",)),
    "power of tables": (
        ("--privacy-level", "1", "--power", "0.8"),
        ("--power is about one", "--target VARIABLE=LABEL"),
    ),
    "a pilot of nothing": (
        ("--privacy-level", "1", "--pilot-fit", "x.fit", "--channel", "optimal", "-o", "c.toml"),
        ("cannot read x.fit",),
    ),
    "picture": (("--privacy-level", "1", "--respondents", "9", "--plot", "plan.gif"), ("--plot plan.png",)),
}
REGRESSIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "nothing asked": (("--privacy-level", "4", "--respondents", "900"), ("neither -o nor --theta", "age, income")),
    "no people": ((*GUESS, "--privacy-level", "4", "--width", "1"), ("'age' is not described", "--data FILE")),
    "half of the people": ((*GUESS, *LAWS[:2], "--respondents", "9"), ("'income' is not described",)),
    "short guess": (("--theta", "1,2", *LAWS, "--respondents", "9"), ("--theta has 2 numbers; allowed: 4",)),
    "no guess": (("--theta", "1,2,x,3", *LAWS, "--respondents", "9"), ("--theta is '1,2,x,3'",)),
    "no coefficient": ((*GUESS, *LAWS, "--respondents", "9", "--target", "agee"), ("Did you mean 'age'?",)),
    "guess and -o": ((*GUESS, "--privacy-level", "4", "-o", "r.json"), ("--theta is given with -o",)),
    "people and -o": ((*LAWS, "--privacy-level", "4", "-o", "r.json"), ("--x is given with -o",)),
    "a pilot without -o": (("--pilot", "--privacy-level", "4"), ("--pilot is given without -o",)),
    "no such sample": ((*GUESS, "--data", "missing.csv", "--respondents", "9"), ("cannot read missing.csv",)),
    "negative seed": ((*GUESS, *LAWS, "--seed", "-1"), ("--seed is -1; allowed: a whole number, 0 or more",)),
}


@pytest.mark.parametrize(("arguments", "words"), FIELDS.values(), ids=list(FIELDS))
def test_fields_that_are_refused(arguments: tuple[str, ...], words: tuple[str, ...], folder: Path) -> None:
    assert_one_line(call("plan", "field", "field.toml", *arguments), words)
    assert sorted(path.name for path in folder.iterdir()) == ["field.toml", "linear.toml"]


@pytest.mark.parametrize(("arguments", "words"), REGRESSIONS.values(), ids=list(REGRESSIONS))
def test_regressions_that_are_refused(arguments: tuple[str, ...], words: tuple[str, ...], folder: Path) -> None:
    assert_one_line(call("plan", "regression", "linear.toml", *arguments), words)
    assert sorted(path.name for path in folder.iterdir()) == ["field.toml", "linear.toml"]
