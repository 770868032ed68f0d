"""`askance optimal`: what Python finds, in words, in JSON and in a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from askance import Enumerated, Tally, estimate, optimal_channel, save
from askance.cli.command import askance as root
from askance.formats import read_channel

from .test_cli import assert_one_line
from .test_cli import call as run

PAPER = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "model.json"
    path.write_text('{"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]]}')
    return str(path)


def call(*arguments: str) -> Any:
    return CliRunner().invoke(root, ["optimal", *arguments])


def refused(*arguments: str) -> str:
    outcome = run("optimal", *arguments)
    assert_one_line(outcome, ())
    return outcome.err


def test_it_writes_the_channel_that_python_finds(model: str, tmp_path: Path) -> None:
    path = tmp_path / "channel.toml"
    given = [model, "--theta", "5,-1", "--privacy-level", "1", "--method", "moments", "-o", str(path)]
    done = call(*given, "--json")
    assert done.exit_code == 0, done.output
    expected = optimal_channel(PAPER, 1, [5, -1], target="moments")
    assert read_channel(path) == expected
    found = json.loads(done.stdout)
    assert found["value"] == pytest.approx(22568.1, rel=1e-5)
    assert found["output"] == str(path)
    words = call(*given)
    assert expected.summary() in words.stdout


def test_shares_are_a_guess_of_their_own() -> None:
    done = call("--share", "no=0.9", "--share", "maybe=0.08", "--share", "yes=0.02", "--privacy-level", "1", "--json")
    assert done.exit_code == 0, done.output
    p = np.array([0.9, 0.08, 0.02])
    answers = Enumerated.saturated(["no", "maybe", "yes"])
    expected = optimal_channel(answers, 1, np.log(p[1:] / p[0]), weights="shares")
    found = json.loads(done.stdout)
    assert found["weights"] == "shares"
    assert found["value"] == pytest.approx(expected.value, rel=1e-6)


def test_several_guesses(model: str, tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("statistic 0,statistic 1\n5,-1\n2,0\n")
    for flag, given in (("--prior", "prior"), ("--minimax", "minimax")):
        done = call(model, flag, str(points), "--privacy-level", "1", "--json")
        assert done.exit_code == 0, done.output
        expected = optimal_channel(PAPER, 1, **{given: [[5, -1], [2, 0]]})  # type: ignore[arg-type]
        assert json.loads(done.stdout)["value"] == pytest.approx(expected.value, rel=1e-6)


def test_the_fit_of_a_pilot(model: str, tmp_path: Path) -> None:
    pilot = optimal_channel(PAPER, 1, [0, 0], target="moments")
    counts = np.rint(1e5 * pilot.apply(PAPER.probabilities([1.0, -0.5]))).astype(np.int64)
    path = tmp_path / "pilot.fit"
    save(estimate(PAPER, Tally(pilot, counts)), path)
    done = call(model, "--fit", str(path), "--for", "shares", "--privacy-level", "1", "--json")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["points"]) == 5  # the estimate, and two standard errors around it each way


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--privacy-level", "1"], "given of MODEL and --share: neither"),
        (["MODEL", "--share", "a=0.5", "--privacy-level", "1"], "given of MODEL and --share: both"),
        (["MODEL", "--privacy-level", "1"], "exactly one of --theta, --fit, --prior, --minimax"),
        (["MODEL", "--theta", "1", "--privacy-level", "1"], "--theta has 1 numbers; allowed: 2"),
        (["MODEL", "--theta", "5,-1", "--privacy-level", "0"], "--privacy-level is 0"),
        (["MODEL", "--theta", "5,-1", "--privacy-level", "1", "--method", "mom"], "Did you mean 'moments'"),
        (["MODEL", "--theta", "5,-1", "--privacy-level", "1", "--for", "all"], "allowed: parameters, shares"),
        (
            ["--share", "a=0.5", "--share", "b=0.5", "--theta", "1", "--privacy-level", "1"],
            "--share is given with --theta",
        ),
        (["MODEL", "--theta", "5,-1", "--privacy-level", "1", "-o", "c.json"], ".toml"),
    ],
)
def test_what_is_refused(arguments: list[str], said: str, model: str) -> None:
    assert said in refused(*(model if each == "MODEL" else each for each in arguments))


def test_the_former_spelling_of_the_method_works_and_says_so(model: str) -> None:
    fixed = ("optimal", model, "--theta", "5,-1", "--privacy-level", "1")
    new = run(*fixed, "--method", "moments")
    for spelling in (("--by", "moments"), ("--by=moments",)):
        old = run(*fixed, *spelling)
        assert (old.code, old.out) == (0, new.out)
        note, _, rest = old.err.partition("\n")
        assert rest == new.err
        assert note.endswith(
            "`askance optimal --by` is now `askance optimal --method`; the old spelling goes in askance 0.3."
        )
