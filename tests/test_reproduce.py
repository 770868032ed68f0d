"""Experiments through their runner and the command: numbers, resuming, redrawing, the report, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest

from askance import Enumerated, RandomizedResponse, asymptotics
from askance.cli import main
from askance.experiments.catalogue import EXPERIMENTS
from askance.experiments.efficiency import EFFICIENCY, efficiency_curve
from askance.experiments.nonconvex import NONCONVEX, count_maxima
from askance.experiments.report import command, page, section
from askance.experiments.runner import FIELDS, read_result, run_experiment
from askance.experiments.simplex import SIMPLEX, project_both_ways
from askance.experiments.tables import Tabulated, main_number_of, tables_of
from tests.squares import Squares, files

LIGHT = ["efficiency", "simplex", "nonconvex"]
FOUR = [[0, 0, 1, 1], [0, 1, 0, 1]]
# Known since before: ε → 0, .1, .3, .5, .7, .9, 1.
REVEAL = [1e-6, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
CURVES = {
    "weak": [0.8160, 0.8390, 0.8840, 0.9269, 0.9655, 0.9945, 1.0],
    "strong": [0.7286, 0.7481, 0.7839, 0.8189, 0.8567, 0.9065, 1.0],
}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments: str) -> Outcome:
    """`askance reproduce …` in this process."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = ["askance", "reproduce", *arguments]
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return Outcome(code, out.getvalue(), err.getvalue())


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


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Outcome]]:
    out = tmp_path_factory.mktemp("reproduction")
    return out, {name: call(name, "--quick", "--json", "--out", str(out), "--workers", "1") for name in LIGHT}


def result_of(out: Path, name: str) -> dict[str, Any]:
    return read_result(out / name / "result.json", name)


@pytest.mark.parametrize("name", LIGHT)
def test_a_quick_run_writes_result_figures_and_report(name: str, quick_run: tuple[Path, dict[str, Outcome]]) -> None:
    out, outcomes = quick_run
    assert outcomes[name].code == 0
    document = result_of(out, name)
    assert tuple(document) == FIELDS
    assert (document["experiment"], document["seed"], document["quick"]) == (name, 0, True)
    assert json.loads(outcomes[name].out) == EXPERIMENTS[name].answer(document["result"])
    figures = sorted(path.name for path in (out / name).iterdir() if path.suffix in (".png", ".svg"))
    drawn = EXPERIMENTS[name].draw(document["result"])
    assert figures == sorted(f"{figure}.{ending}" for figure in drawn for ending in ("png", "svg"))
    assert all(finding["verdict"] in ("agrees", "differs", "beyond") for finding in document["findings"])
    assert (out / "report.html").is_file()


def test_the_answer_of_the_efficiency_is_its_two_curves(quick_run: tuple[Path, dict[str, Outcome]]) -> None:
    answer = json.loads(quick_run[1]["efficiency"].out)
    assert list(answer) == ["weak", "strong"]
    for signal_name, values in CURVES.items():
        curve = answer[signal_name]
        assert list(curve) == ["reveal_probability", "efficiency"]
        at = dict(zip(curve["reveal_probability"], curve["efficiency"], strict=True))
        assert [round(at[reveal], 4) for reveal in REVEAL] == values


def test_simulated_surveys_reach_what_is_computed(quick_run: tuple[Path, dict[str, Outcome]]) -> None:
    result = result_of(quick_run[0], "efficiency")["result"]
    for signal_name, rows in result["simulated"].items():
        curve = dict(zip(result["reveal_probability"], result["curves"][signal_name]["efficiency"], strict=True))
        for row in rows:
            assert abs(row["one-step"]["efficiency"] - 1) < 0.03
            error = row["moments"]["efficiency"] - curve[row["reveal_probability"]]
            assert abs(error) < 4 * row["moments"]["standard_error"]


def test_channels_at_level_one_cost_what_is_known(quick_run: tuple[Path, dict[str, Outcome]]) -> None:
    rows = result_of(quick_run[0], "efficiency")["result"]["channels"]["strong"]
    errors = next(row["errors"] for row in rows if row["privacy_level"] == 1)
    assert [round(value) for value in errors.values()] == [200125, 57210, 50263, 42021, 21908]


def test_the_pictures_hold_what_the_paper_shows(quick_run: tuple[Path, dict[str, Outcome]]) -> None:
    result = result_of(quick_run[0], "nonconvex")["result"]
    assert [each["theta"][0] for each in result["expected"]["maxima"]] == pytest.approx([-1.1, 2.265], abs=5e-4)
    assert result["expected"]["moment_estimate"]["theta"][0] == pytest.approx(-1.1, abs=1e-6)
    assert {path["maximum"] for path in result["expected"]["em"]} == {0, 1}
    result = result_of(quick_run[0], "simplex")["result"]
    assert result["picture"]["statistics"] == [5, -1, 0]
    for equation in result["equations"]:
        assert len(equation["segment"]) == 2
        for end in equation["segment"]:
            assert np.dot(equation["row"], end) == pytest.approx(equation["value"], abs=1e-12)
            assert sum(end) == pytest.approx(1)


def test_replot_draws_the_same_bytes_and_runs_nothing(
    quick_run: tuple[Path, dict[str, Outcome]],
) -> None:
    out = quick_run[0]
    before = files(out)
    for path in (out / "simplex").glob("*.png"):
        path.unlink()
    kept = out / "simplex" / "trials" / "sample.json"
    kept.unlink()
    outcome = call("simplex", "--replot", "--out", str(out))
    assert outcome.code == 0
    assert "simplex" in outcome.out
    assert "2 differ" in outcome.out
    assert outcome.out.splitlines()[-1] == f"report  {out / 'report.html'}"
    assert not kept.exists()
    kept.write_bytes(before["simplex/trials/sample.json"])
    assert files(out) == before


def test_other_seeds_give_other_samples(quick_run: tuple[Path, dict[str, Outcome]], tmp_path: Path) -> None:
    run_experiment(SIMPLEX, tmp_path, quick=True, seed=1, workers=1)
    mine, other = result_of(quick_run[0], "simplex"), result_of(tmp_path, "simplex")
    assert mine["result"]["picture"]["frequencies"] != other["result"]["picture"]["frequencies"]
    assert mine["result"]["misleading"] == other["result"]["misleading"]


# -- the report --------------------------------------------------------------------------------------------------------


class Balanced(HTMLParser):
    """Refuses tags that do not close in order; collects tags, addresses and texts."""

    EMPTY = ("meta", "img", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "action")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_needs_nothing_else(quick_run: tuple[Path, dict[str, Outcome]]) -> None:
    text = (quick_run[0] / "report.html").read_text(encoding="utf-8")
    html = Balanced(text)
    assert "script" not in html.tags
    assert "link" not in html.tags
    assert "http://" not in text
    assert "https://" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert len(html.addresses) == 6
    assert all(address.startswith("data:image/png;base64,") for address in html.addresses)
    for words in ("prefers-color-scheme", "width=device-width"):
        assert words in text
    for name in LIGHT:
        assert EXPERIMENTS[name].title in html.text
        assert f"askance reproduce {name} --quick --seed 0" in html.text
    for heading in ("Agrees with the paper", "Does not agree, and why", "Beyond the paper"):
        assert heading in html.text


def test_a_report_says_what_it_was_given_and_obeys_none_of_it(tmp_path: Path) -> None:
    experiment = Squares()
    document = run_experiment(experiment, tmp_path, seed=7, workers=1)
    html = Balanced(page([section(experiment, document, {"squares": b"picture"})]))
    assert "script" not in html.tags
    assert not {"noise", "this", "here"} & html.tags
    for words in ("Squares & <noise>", "<script>alert(1)</script>", "Why: because of <this>", "generated <here>"):
        assert words in html.text
    assert "stand-in data: not the data of the paper" in html.text
    assert "askance reproduce squares --seed 7" in html.text


def test_the_command_of_a_report_gives_its_result_again(
    quick_run: tuple[Path, dict[str, Outcome]], tmp_path: Path
) -> None:
    out = quick_run[0]
    program, verb, *arguments = command(result_of(out, "simplex")).split()
    assert (program, verb) == ("askance", "reproduce")
    assert call(*arguments, "--out", str(tmp_path), "--workers", "1").code == 0
    assert (tmp_path / "simplex" / "result.json").read_bytes() == (out / "simplex" / "result.json").read_bytes()


def test_tables_are_those_of_the_experiment_or_the_numbers_of_its_answer(tmp_path: Path) -> None:
    plain = Squares()
    assert not isinstance(plain, Tabulated)
    document = run_experiment(plain, tmp_path, quick=True, workers=1)
    assert tables_of(plain, {"a": {"b": 0.5, "c": [1, 2]}, "long": list(range(99))})[0].rows == [
        ("a · b", "0.5"),
        ("a · c", "1, 2"),
    ]
    assert main_number_of(plain, document) == "1"
    for name in LIGHT:
        assert isinstance(EXPERIMENTS[name], Tabulated)


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eficiency"], "allowed: efficiency, simplex, nonconvex, privacy, tagging, all. Did you mean 'efficiency'?"),
        (["simplex", "--seed", "-1"], "--seed is -1; allowed: 0 or more."),
        (["simplex", "--seed", "99999999999"], "seed is"),
        (["simplex", "--workers", "0"], "--workers is 0; allowed: 1 or more."),
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
