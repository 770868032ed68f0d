"""Experiments and their command: numbers by hand, seeds, what a report says, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askance import Enumerated, RandomizedResponse, asymptotics
from askance.experiments.efficiency import EFFICIENCY, efficiency_curve
from askance.experiments.nonconvex import NONCONVEX, count_maxima
from askance.experiments.report import in_short, page, section
from askance.experiments.runner import run_experiment
from askance.experiments.simplex import SIMPLEX, project_both_ways
from tests.squares import Balanced, Squares, call

FOUR = [[0, 0, 1, 1], [0, 1, 0, 1]]
# Known since before: ε → 0, .1, .3, .5, .7, .9, 1.
REVEAL = [1e-6, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
CURVES = {
    "weak": [0.8160, 0.8390, 0.8840, 0.9269, 0.9655, 0.9945, 1.0],
    "strong": [0.7286, 0.7481, 0.7839, 0.8189, 0.8567, 0.9065, 1.0],
}


# -- numbers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("signal_name", CURVES)
def test_the_curves_are_the_known_ones(signal_name: str) -> None:
    theta = EFFICIENCY.config(quick=True, seed=0)["signals"][signal_name]
    curve = efficiency_curve(FOUR, theta, REVEAL)
    assert [round(value, 4) for value in curve["efficiency"]] == CURVES[signal_name]
    assert curve["lemma_from_moments"] < 1e-5 < 0.01 < curve["lemma_from_marginal"]


def test_the_grid_has_the_points_of_the_known_values() -> None:
    for quick in (True, False):
        grid = EFFICIENCY.config(quick=quick, seed=0)["reveal_probability"]
        assert set(REVEAL) <= set(grid)
        assert grid == sorted(grid)


def test_the_curve_is_that_of_both_variances_by_hand() -> None:
    theta, reveal = np.array([5.0, -1.0]), 0.3
    phi = np.array(FOUR, dtype=float)
    p = np.exp(theta @ phi) / np.exp(theta @ phi).sum()
    S = reveal * np.eye(4) + (1 - reveal) / 4
    q, mu = S @ p, phi @ p
    information = (phi * p) @ phi.T - np.outer(mu, mu)
    means = (S * p) @ phi.T / q[:, None]
    marginal = np.linalg.inv((means.T * q) @ means - np.outer(mu, mu))
    beta = phi @ np.linalg.inv(S)
    moments = np.linalg.inv(information) @ ((beta * q) @ beta.T - np.outer(mu, mu)) @ np.linalg.inv(information)
    expected = np.trace(marginal @ np.linalg.inv(moments)) / 2
    assert efficiency_curve(FOUR, theta.tolist(), [reveal])["efficiency"][0] == pytest.approx(expected, abs=1e-9)
    used = asymptotics(Enumerated(FOUR), RandomizedResponse("3/10", outputs=4), theta).efficiency
    assert used == pytest.approx(expected, abs=1e-9)


def test_two_maxima_are_counted_where_they_are() -> None:
    rows = count_maxima([[2, 1, 0]], NONCONVEX.config(quick=True, seed=0)["channel"], [-1.4, -1.1, -0.98])
    assert [len(row["maxima"]) for row in rows] == [1, 2, 1]
    assert rows[1]["maxima"] == pytest.approx([-1.1, 2.265], abs=5e-4)


def test_the_nearest_point_of_the_triangle_is_another_corner() -> None:
    config = SIMPLEX.config(quick=True, seed=0)
    found = project_both_ways(config["statistics"], config["channel"], config["misleading"])
    assert found["nearest"] == pytest.approx([1, 0, 0], abs=1e-6)
    assert found["argmin"] == pytest.approx([0, 0, 1], abs=1e-6)


def test_other_seeds_give_other_samples() -> None:
    first, again, other = (
        {trial.key: trial.run() for trial in SIMPLEX.trials(SIMPLEX.config(quick=True, seed=seed))}
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first["sample"]["picture"]["frequencies"] != other["sample"]["picture"]["frequencies"]
    assert first["misleading"] == other["misleading"]


# -- the report --------------------------------------------------------------------------------------------------------


def test_a_report_says_what_it_was_given_and_obeys_none_of_it(tmp_path: Path) -> None:
    experiment = Squares()
    document = run_experiment(experiment, tmp_path, seed=7, workers=0)
    html = Balanced(page([in_short(experiment, document)], [section(experiment, document, {"squares": b"picture"})]))
    assert "script" not in html.tags
    assert not {"noise", "this", "here"} & html.tags
    for words in ("Squares & <noise>", "<script>alert(1)</script>", "Why: because of <this>", "generated <here>"):
        assert words in html.text
    assert "stand-in data: not the data of the paper" in html.text
    assert "askance reproduce squares --seed 7" in html.text


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eficiency"], "allowed: efficiency, simplex, nonconvex, privacy, tagging, all. Did you mean 'efficiency'?"),
        (["simplex", "--seed", "-1"], "--seed is -1; allowed: a whole number, 0 or more."),
        (["simplex", "--seed", "99999999999"], "seed is"),
        (["simplex", "--workers", "0"], "--workers is 0; allowed: a whole number, 1 to 1,024."),
        (["simplex", "--replot"], "is not there: simplex has not been run into this folder."),
        (["--replot"], "--replot finds no result in"),
    ],
)
def test_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    outcome = call(*arguments, "--quick", "--out", str(tmp_path / "out"))
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("askance: ")
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    outcome = call("simplex", "--quick", "--out", str(tmp_path / "file" / "out"))
    assert (outcome.code, outcome.out) == (2, "")
    assert "cannot make the folder" in outcome.err
