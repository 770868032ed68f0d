"""`askance fit`: what it prints equals what Python returns; every design; one line for what goes wrong."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest

from askance import Direct, ForcedResponse, load, regress
from askance.channels import ChannelEntry, entries, registry
from askance.channels.registry import PROBABILITY, Parameter
from askance.cli.shared import progress as progress_module
from askance.cli.survey import survey_options
from askance.cli.survey.fit import fit_command
from askance.formats import channel_to_toml
from askance.survey import channel_fit_test, read_table

from .test_cli import Outcome, assert_one_line, call, flags, parsed, spawn

FORMULA = "said ~ age + C(region)"
FORCED = ("--design", "forced-response", "--truth", "2/3", "--yes", "1/6")
DATA = os.environ.get("ASKANCE_DATA")


def survey(path: Path, design: Any, n: int = 1500) -> Path:
    """A generated survey through a design, as a file."""
    rng = np.random.default_rng(4)
    age = rng.normal(size=n)
    m = len(design.outputs)
    scores = np.outer(age, np.linspace(0, 0.8, m)) + rng.gumbel(size=(n, m))
    truth = design.outputs.decode(scores.argmax(axis=1))
    frame = pd.DataFrame(
        {
            "said": design.simulate(truth, rng),
            "age": age,
            "region": np.array(["north", "south"])[rng.integers(0, 2, n)],
            "village": rng.integers(0, 50, n),
            "weight": rng.uniform(0.5, 2, n),
            "gap": np.where(np.arange(n) < 9, np.nan, age),
            "half": np.arange(n) % 2,
        }
    )
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(survey(tmp_path_factory.mktemp("fit") / "survey.csv", ForcedResponse("2/3", "1/6")))


def expected_json(fit: Any, confidence: float = 0.95, *groups: str) -> dict[str, Any]:
    lower, upper = fit.confidence_interval(confidence)
    return {
        "method": fit.method,
        "n": fit.n_observations,
        "privacy_level": None if math.isinf(fit.privacy_level) else fit.privacy_level,
        "converged": fit.converged,
        "log_likelihood": fit.log_likelihood,
        "covariance": fit.covariance_kind,
        "confidence": confidence,
        "messages": list(fit.diagnostics.messages),
        "channel_test": channel_fit_test(fit.evidence).to_json(),
        "coefficients": [
            {"name": name, "estimate": t, "std_error": e, "lower": low, "upper": up, "p_value": p}
            for name, t, e, low, up, p in zip(
                fit.model.parameter_names,
                fit.theta.tolist(),
                fit.standard_errors.tolist(),
                lower.tolist(),
                upper.tolist(),
                fit.p_values.tolist(),
                strict=True,
            )
        ],
        "prevalence": fit.prevalence(confidence=confidence, population=True).to_json(),
        "prevalence_by": {by: fit.prevalence(by=by, confidence=confidence, population=True).to_json() for by in groups},
        "warnings": [],
    }


# -- the same as Python ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["one-step", "moments", "marginal"])
def test_json_is_the_fit(method: str, table: str) -> None:
    printed = parsed(call("fit", table, "--formula", FORMULA, *FORCED, "--method", method, "--json"))
    fit = regress(FORMULA, read_table(table), ForcedResponse("2/3", "1/6"), method=method)
    assert printed == expected_json(fit)
    assert [row["name"] for row in printed["coefficients"]] == ["Intercept", "age", "C(region)[T.south]"]


def test_installed_command(table: str) -> None:
    printed = parsed(spawn("fit", table, "--formula", FORMULA, *FORCED, "--json"))
    assert printed == parsed(call("fit", table, "--formula", FORMULA, *FORCED, "--json"))


def test_all_options_reach_the_fit(table: str) -> None:
    formula = "said ~ gap + region + half"
    options = ("--missing", "drop", "--cluster", "village", "--weights", "weight", "--by", "region", "--by", "half")
    printed = parsed(
        call("fit", table, "--formula", formula, *FORCED, *options, "--positive", "no", "--confidence", "0.9", "--json")
    )
    fit = regress(
        formula,
        read_table(table),
        ForcedResponse("2/3", "1/6"),
        missing="drop",
        cluster="village",
        weights="weight",
        positive="no",
    )
    assert printed == expected_json(fit, 0.9, "region", "half")
    assert printed["messages"][0] == "9 of 1500 rows dropped for missing values"
    assert "weighted by weight" in printed["messages"]
    assert printed["covariance"] == "cluster-robust"
    assert printed["prevalence_by"]["region"]["groups"] == ["north", "south"]


def test_table_is_the_summary(table: str) -> None:
    outcome = call("fit", table, "--formula", FORMULA, *FORCED, "--confidence", "0.9")
    fit = regress(FORMULA, read_table(table), ForcedResponse("2/3", "1/6"))
    assert (outcome.code, outcome.err) == (0, "")
    shares = fit.prevalence(confidence=0.9, population=True)
    assert outcome.out == f"{fit.summary(0.9)}\n\n{shares.summary()}\n"
    assert shares.summary().startswith(f"share of yes  {100 * shares.estimate[0, 1]:.1f} % (90 % interval ")
    assert "for the population" in outcome.out
    by_region = call("fit", table, "--formula", FORMULA, *FORCED, "--confidence", "0.9", "--by", "region")
    groups = fit.prevalence(by="region", confidence=0.9, population=True)
    assert by_region.out == f"{outcome.out}\n{groups.summary()}\n"


def test_unbounded_level_is_null(tmp_path: Path) -> None:
    path = survey(tmp_path / "a.csv", Direct(["no", "yes"]))
    direct = ("--design", "direct", "--outputs", "no,yes", "--method", "supervised")
    printed = parsed(call("fit", str(path), "--formula", FORMULA, *direct, "--json"))
    assert printed["privacy_level"] is None
    assert printed["method"] == "supervised"


# -- every design ------------------------------------------------------------------------------------------------------

EXAMPLES = [
    pytest.param(entry, example, id=f"{entry.kind}-{number}")
    for entry in entries()
    for number, example in enumerate(entry.examples)
]


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_every_design_by_flags_and_by_file(entry: ChannelEntry, example: dict[str, Any], tmp_path: Path) -> None:
    channel = entry.build(example)
    identified = np.linalg.matrix_rank(channel.matrix) == len(channel.outputs)
    path = survey(tmp_path / "survey.csv", channel, n=800)
    (tmp_path / "design.toml").write_text(channel_to_toml(channel), encoding="utf-8")
    common = ("fit", str(path), "--formula", "said ~ age", "--json")
    by_flags = call(*common, "--design", entry.kind, *flags(example))
    by_file = call(*common, "--channel", str(tmp_path / "design.toml"))
    if not identified:
        assert_one_line(by_flags, ("rank",))
        return
    assert by_flags.code == 0, by_flags.err
    assert json.loads(by_flags.out)["coefficients"] == json.loads(by_file.out)["coefficients"]
    assert json.loads(by_flags.out)["n"] == 800


def test_all_parameters_of_the_registry_are_flags() -> None:
    offered = {name for option in fit_command.params for name in option.opts}
    assert {"--" + p.name.replace("_", "-") for entry in registry.designs() for p in entry.parameters} <= offered
    assert len(offered) == sum(len(option.opts) for option in fit_command.params)


def test_a_clash_of_names_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    clash = Parameter("weights", PROBABILITY, "a parameter named like an option")
    first = entries()[0]
    entry = ChannelEntry("clash", "answers", first.channel_class, "", "", (clash,), ())
    monkeypatch.setattr(registry, "designs", lambda: (entry,))

    @click.command()
    @survey_options._design_options
    def command() -> None:
        """Nothing."""

    assert [option.opts for option in command.params] == [["--design-weights"]]


# -- what is written beside --------------------------------------------------------------------------------------------


def test_save_and_plot(table: str, tmp_path: Path) -> None:
    kept, picture = tmp_path / "a.fit", tmp_path / "a.png"
    printed = parsed(
        call("fit", table, "--formula", FORMULA, *FORCED, "--save", str(kept), "--plot", str(picture), "--json")
    )
    fit: Any = load(kept)
    assert fit.theta.tolist() == [row["estimate"] for row in printed["coefficients"]]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_progress_and_warnings_go_to_standard_error(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_module, "_PATIENCE", 0.0)
    outcome = call("fit", table, "--formula", FORMULA, *FORCED, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert "fitting" in outcome.progress
    json.loads(outcome.out)


def test_warnings_are_single_lines(tmp_path: Path) -> None:
    path = tmp_path / "separated.csv"
    path.write_text("said,x\n" + "yes,1\nno,0\n" * 50)
    direct = ("--design", "direct", "--outputs", "no,yes", "--method", "supervised")
    outcome = call("fit", str(path), "--formula", "said ~ x", *direct, "--json")
    assert outcome.code == 0
    assert outcome.err.startswith("askance: warning: ")
    assert outcome.err.count("\n") == 1
    assert "'x'" in outcome.err
    assert json.loads(outcome.out)["covariance"] == "posterior"


# -- what goes wrong ---------------------------------------------------------------------------------------------------

REFUSED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no design": ((), ("--design", "--channel", "forced-response")),
    "both": (
        (*FORCED, "--channel", "a.toml"),
        ("the design is given: --design, --channel", "exactly one of --design, --channel, --designs"),
    ),
    "foreign flag": ((*FORCED, "--question", "1/2"), ("forced-response has no --question", "--truth")),
    "flags with a file": (("--channel", "a.toml", "--truth", "1/2"), ("--truth", "--channel")),
    "missing flag": (FORCED[:4], ("--yes",)),
    "unknown design": (("--design", "forced"), ("'forced'",)),
    "no information": (("--design", "forced-response", "--truth", "0", "--yes", "1/2"), ("no information",)),
    "no file": (("--channel", "none.toml"), ("none.toml",)),
    "confidence": ((*FORCED, "--confidence", "95"), ("confidence is 95",)),
    "wrong formula": ((*FORCED, "--formula", "said ~ I(age^2)"), ("I(age**2)",)),
    "unknown column": ((*FORCED, "--formula", "said ~ agee"), ("Did you mean 'age'?",)),
    "gaps": ((*FORCED, "--formula", "said ~ gap"), ("9 of 1500 rows", "gap 9", "--missing drop")),
    "unknown cluster": ((*FORCED, "--cluster", "vilage"), ("Did you mean 'village'?",)),
    "positive": ((*FORCED, "--positive", "ja"), ("'ja'", "'no', 'yes'")),
    "other answers": ((*FORCED, "--formula", "region ~ age"), ("'north', 'south'", "--positive")),
    "unknown groups": ((*FORCED, "--by", "village"), ("--by is 'village'", "'age', 'region'", "into --formula")),
    "saved nowhere": ((*FORCED, "--save", "none/a.fit"), ("none",)),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=list(REFUSED))
def test_refusals_are_one_line(
    options: tuple[str, ...],
    words: tuple[str, ...],
    table: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    formula = () if "--formula" in options else ("--formula", FORMULA)
    assert_one_line(call("fit", table, *formula, *options), words)


def test_no_such_table(tmp_path: Path) -> None:
    assert_one_line(call("fit", str(tmp_path / "none.csv"), "--formula", FORMULA, *FORCED), ("none.csv",))


@pytest.mark.parametrize("options", [("--method", "guess"), ("--missing", "fill"), ("--nonsense", "1")])
def test_misuse_ends_with_code_2(options: tuple[str, ...], table: str) -> None:
    outcome: Outcome = call("fit", table, "--formula", FORMULA, *FORCED, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert options[0] in outcome.err


# -- a real survey -----------------------------------------------------------------------------------------------------

PUBLISHED = {
    "Intercept": (-0.34017, 0.50856),
    "cov_asset_index": (0.07896, 0.04136),
    "cov_married": (-0.26743, 0.25451),
    "I(cov_age / 10)": (-0.35283, 0.26423),
    "I((cov_age / 10) ** 2)": (0.04099, 0.02603),
    "cov_education": (-0.00691, 0.04558),
    "cov_female": (-0.55439, 0.16244),
}
NIGERIA = (
    "rr_q1 ~ cov_asset_index + cov_married + I(cov_age/10) + I((cov_age/10)**2) + cov_education + cov_female",
    *FORCED,
    "--missing",
    "drop",
    "--json",
)


@pytest.mark.skipif(DATA is None, reason="ASKANCE_DATA names no folder with rr_nigeria.csv.gz")
def test_published_table() -> None:
    path = str(Path(str(DATA)) / "rr_nigeria.csv.gz")
    marginal = parsed(call("fit", path, "--formula", *NIGERIA, "--method", "marginal"))
    assert marginal["n"] == 2423
    assert marginal["converged"] is True
    assert "34 of 2457 rows dropped for missing values" in marginal["messages"]
    assert [row["name"] for row in marginal["coefficients"]] == list(PUBLISHED)
    for row in marginal["coefficients"]:
        estimate, error = PUBLISHED[row["name"]]
        assert row["estimate"] == pytest.approx(estimate, abs=1e-4)
        assert row["std_error"] == pytest.approx(error, rel=0.03)
    for method, within in (("one-step", 0.1), ("moments", 0.5)):
        printed = parsed(call("fit", path, "--formula", *NIGERIA, "--method", method))
        for row, best in zip(printed["coefficients"], marginal["coefficients"], strict=True):
            assert abs(row["estimate"] - best["estimate"]) < within * best["std_error"]
