"""`askance fit` and `askance sensitivity` of surveys with several designs."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
import pytest

from askance import arm_agreement, regress
from askance._arrays import AnyArray
from askance.channels.hidden_designs import StochasticLieDetector

from .test_arms import DESIGNS, survey
from .test_cli import assert_one_line, call, parsed

ARMS = """
[dice]
kind = "forced-response"
truth = "2/3"
yes = "1/6"

[direct]
kind = "direct"

[cards]
kind = "crosswise"
prevalence = "1/6"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = survey(1200)
    rows = zip(data["said"], data["age"], data["version"], strict=True)
    lines = ["said,age,version", *(f"{said},{age},{version}" for said, age, version in rows)]
    (tmp_path / "survey.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "arms.toml").write_text(ARMS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_arms_by_command(folder: Path) -> None:
    told = parsed(
        call("fit", "survey.csv", "--formula", "said ~ age", "--designs", "arms.toml", "--arm", "version", "--json")
    )
    fit = regress("said ~ age", survey(1200), DESIGNS, arm="version")
    assert [row["estimate"] for row in told["coefficients"]] == pytest.approx(fit.theta.tolist(), rel=1e-12)
    assert any(message.startswith("the arms ") for message in told["messages"])
    compared = arm_agreement(fit)
    assert told["arms"]["arms"] == ["dice", "direct", "cards"]
    np.testing.assert_allclose([row[1] for row in told["arms"]["share"]], compared.share[:, 1], rtol=1e-9)
    printed = call("fit", "survey.csv", "--formula", "said ~ age", "--designs", "arms.toml", "--arm", "version").out
    assert printed.count("the arms ") == 1
    assert printed.index(compared.verdict) < printed.index("What every arm tells")
    call(
        "fit", "survey.csv", "--formula", "said ~ age", "--designs", "arms.toml", "--arm", "version", "--save", "a.fit"
    )
    call("report", "a.fit", "-o", "a.html")
    page = (folder / "a.html").read_text(encoding="utf-8")
    assert page.lower().count("the arms ") == 1
    assert escape(compared.verdict.removeprefix("the")) in page


def test_a_list_by_command(folder: Path) -> None:
    counts = {0: [1000, 2000, 1000], 1: [875, 1875, 1125, 125]}
    lines = [f"{o},{arm}" for arm, own in counts.items() for o, n in enumerate(own) for _ in range(n)]
    (folder / "list.csv").write_text("n,treated\n" + "\n".join(lines), encoding="utf-8")
    (folder / "list.toml").write_text('kind = "list-experiment"\nitems = 2\n', encoding="utf-8")
    arguments = ("fit", "list.csv", "--formula", "n ~ 1", "--designs", "list.toml", "--arm", "treated")
    told = parsed(call(*arguments, "--json"))
    assert told["shares"]["trait"][1]["share"] == pytest.approx(0.125, abs=1e-8)
    printed = call(*arguments).out
    assert "trait:Intercept" in printed
    assert "share of yes  12.5 %" in printed
    assert printed.index("share of yes") < printed.index("\nitems, for these respondents as they are\n")


def test_nuisances_by_command(folder: Path) -> None:
    """The trait by group and as a picture; what else is hidden below it."""
    rng = np.random.default_rng(3)
    n, design = 900, StochasticLieDetector(["1/5", "4/5"])
    old, group = rng.integers(0, 2, n), rng.integers(1, 3, n)
    trait = np.where(rng.random(n) < 0.3 + 0.3 * old, "yes", "no")
    pairs: AnyArray = np.array(design.combinations(trait, np.where(rng.random(n) < 0.8, "yes", "no")))
    said = np.where(group == 1, design.arms[1].simulate(pairs, rng), design.arms[2].simulate(pairs, rng))
    lines = [",".join(map(str, row)) for row in zip(said, old, group, strict=True)]
    (folder / "lies.csv").write_text("said,old,group\n" + "\n".join(lines), encoding="utf-8")
    (folder / "lies.toml").write_text('kind = "stochastic-lie-detector"\ntruth = ["1/5", "4/5"]\n', encoding="utf-8")
    arguments = ("fit", "lies.csv", "--formula", "said ~ old", "--designs", "lies.toml", "--arm", "group")
    told = parsed(call(*arguments, "--by", "old", "--plot", "lies.png", "--json"))
    fit = regress("said ~ old", {"said": said, "old": old, "group": group}, design, arm="group")
    by = fit.trait.prevalence(by="old", population=True)
    np.testing.assert_allclose(told["prevalence_by"]["old"]["estimate"], by.estimate, rtol=1e-9)
    assert list(told["shares"]) == ["trait", "honest"]
    assert (folder / "lies.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("arms", "more", "words"),
    [
        (ARMS, (), "nothing says which row belongs to which. Name the column that does by --arm"),
        (ARMS, ("--arm", "age"), "column 'age' holds"),
        (ARMS, ("--arm", "version", "--truth", "2/3"), "--truth belong to --design, not to --designs"),
        (ARMS, ("--arm", "version", "--design", "warner"), "the design is given: --design, --designs"),
        ("", ("--arm", "version"), "describes no arm"),
        ("dice = 3", ("--arm", "version"), "'dice'"),
        ('[dice]\nkind = "per-value"\ndim = 2\nprivacy_level = 1', ("--arm", "version"), "per-value"),
        ('kind = "warner"', ("--arm", "version"), "list-experiment"),
        ('kind = "list-experiment"\nitem = 3', ("--arm", "version"), "'item'"),
        ('kind = "list-experiment"\nitems = 0', ("--arm", "version"), "items"),
        ('kind = "stochastic-lie-detector"\ntruth = 3', ("--arm", "version"), "truth is 3"),
        ('kind = "stochastic-lie-detector"', ("--arm", "version"), "needs truth"),
        ('[dice]\nkind = "list-experiment"\nitems = 3', ("--arm", "version"), "has groups of its own"),
        ('kind = "crosswise-control"\nprevalence = 0.25\ngroups = ["a"]', ("--arm", "version"), "1 names"),
        ('kind = "list-experiment"\nitems = 3\ndependent = "no"', ("--arm", "version"), "dependent"),
    ],
)
def test_arms_that_are_refused_by_command(folder: Path, arms: str, more: tuple[str, ...], words: str) -> None:
    (folder / "arms.toml").write_text(arms, encoding="utf-8")
    outcome = call("fit", "survey.csv", "--formula", "said ~ age", "--designs", "arms.toml", *more)
    assert_one_line(outcome, (words,))


def test_other_readings_of_arms(folder: Path) -> None:
    words = ("sensitivity", "survey.csv", "--formula", "said ~ age", "--designs", "arms.toml", "--arm", "version")
    printed = parsed(call(*words, "--share", "0.1", "--json"))
    assert [row["name"].partition(" (")[0] for row in printed["scenarios"]] == [
        "as planned",
        "10 % truth",
        "10 % refuse",
        "10 % random",
    ]
