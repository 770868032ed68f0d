"""`askance plan` and `askance optimal`: guesses that are not what they seem, places to write to, words, tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from askance import Enumerated, RandomizedResponse, Share, Tally, asymptotics, estimate, plan, save

from .test_cli import assert_one_line, call, parsed, spawn_module

SHARES = ("--share", "no=0.6", "--share", "maybe=0.3", "--share", "yes=0.1")
GOAL = ("--privacy-level", "1", "--respondents", "900")
MODEL = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], parameter_names=["first", "second"])
QUICK = ("--channel", "randomized-response")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model in the current folder, and a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    described = {"kind": "enumerated", "table": MODEL.table.tolist(), "parameter_names": ["first", "second"]}
    Path("model.json").write_text(json.dumps(described), encoding="utf-8")
    return tmp_path


# -- guesses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("2,-1\n1,-0.5\n", ("starts with 2,-1", "The first line must name the columns: first,second.")),
        ("2,-1\n", ("starts with 2,-1", "numbers")),
        ("1,1\n1,2\n", ("appears twice", "The first line must name the columns")),
        ("a,b\n2,-1\n", ("has the columns a, b, but none for first, second", "must name the columns")),
        ("second\n-1\n", ("but none for first",)),
    ],
)
@pytest.mark.parametrize("command", ["plan", "optimal"])
def test_files_of_guesses_name_their_columns(content: str, words: tuple[str, ...], command: str) -> None:
    Path("guesses.csv").write_text(content, encoding="utf-8")
    if command == "plan":
        outcome = call("plan", "model", "model.json", "--prior", "guesses.csv", *GOAL)
    else:
        outcome = call("optimal", "model.json", "--minimax", "guesses.csv", "--privacy-level", "1")
    assert_one_line(outcome, words)


def test_columns_may_be_called_by_numbers() -> None:
    Path("numbered.json").write_text('{"kind": "saturated", "outputs": ["0", "1", "2"]}', encoding="utf-8")
    Path("guesses.csv").write_text("2,1\n-1,0.5\n", encoding="utf-8")
    found = parsed(call("plan", "model", "numbered.json", "--prior", "guesses.csv", *GOAL, *QUICK, "--json"))
    expected = plan(Enumerated.saturated(["0", "1", "2"]), QUICK[1], [0.5, -1], privacy_level=1, n=900)
    assert found["designs"][0]["standard_error"] == expected.designs[0].standard_error


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Enumerated.saturated(["a", "b", "c"]), ("the outputs ['a', 'b', 'c']", "the model about 4 codes")),
        (Enumerated(MODEL.table, parameter_names=["first", "third"]), ("'first', 'third'", "'first', 'second'")),
        (
            Enumerated([[0, 0, 1, 2], [0, 1, 0, 1]], parameter_names=["first", "second"]),
            ("the statistics [[0.0, 0.0, 1.0, 2.0]", "[[0.0, 0.0, 1.0, 1.0]"),
        ),
    ],
)
def test_the_fit_of_another_question_is_refused(other: Enumerated, words: tuple[str, ...]) -> None:
    save(estimate(other, Tally(RandomizedResponse("1/2", outputs=other.outputs), [50] * len(other.outputs))), "p.fit")
    assert_one_line(call("plan", "model", "model.json", "--fit", "p.fit", *GOAL), ("--fit p.fit", *words))
    assert_one_line(call("optimal", "model.json", "--fit", "p.fit", "--privacy-level", "1"), ("--fit p.fit", *words))


# -- places to write to ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (".", ("--plot . is a folder",)),
        ("plan", ("--plot is plan;", ".png or .svg or .pdf", "--plot plan.png")),
        (".png", ("--plot is .png;",)),
        ("no/plan.png", ("there is no folder no",)),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("survey", "--prevalence", "0.2", "--respondents", "100"),
        ("shares", *SHARES, *GOAL),
        ("model", "model.json", "--theta", "2,-1", *GOAL),
    ],
)
def test_pictures_are_refused_before_the_work(command: tuple[str, ...], place: str, words: tuple[str, ...]) -> None:
    before = sorted(Path().iterdir())
    assert_one_line(call("plan", *command, "--plot", place), words)
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures(ending: str, start: bytes) -> None:
    assert call("plan", "shares", *SHARES, *GOAL, *QUICK, "--plot", f"plan.{ending}").code == 0
    assert Path(f"plan.{ending}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("channel.json", ("-o is channel.json", ".toml")),
        ("no/channel.toml", ("there is no folder no",)),
        (".", ("-o . is a folder",)),
    ],
)
def test_channels_are_refused_before_the_work(place: str, words: tuple[str, ...]) -> None:
    Path("field.toml").write_text('cliques = [["a", "b"]]\n[variables]\na = 2\nb = 2\n', encoding="utf-8")
    assert_one_line(call("optimal", "model.json", "--theta", "2,-1", "--privacy-level", "1", "-o", place), words)
    assert_one_line(call("plan", "field", "field.toml", "--privacy-level", "1", "-o", place), words)


# -- words -------------------------------------------------------------------------------------------------------------

_OF_MODEL = ("model", "model.json", "--theta", "2,-1")
_OF_SHARES = ("shares", *SHARES)
_OF_SURVEY = ("survey", "--prevalence", "0.2")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (_OF_SHARES, ("Give --respondents, or one of --standard-error, --width and --power.",)),
        ((*_OF_SHARES, "--respondents", "9"), ("--privacy-level is not given", "both --respondents and a goal")),
        ((*_OF_SHARES, *GOAL, "--power", "0.8", "--target", "yes", "--effect", "0.1"),
         ("--privacy-level, --respondents and --power are all given",)),
        ((*_OF_SHARES, "--privacy-level", "1", "--power", "0.8"), ("as in --target LABEL",)),
        ((*_OF_SHARES, "--privacy-level", "1", "--power", "0.8", "--target", "yes"), ("Say with --effect which",)),
        ((*_OF_SHARES, "--privacy-level", "1", "--power", "0.8", "--target", "yes", "--effect", "0"), ("(--effect)",)),
        ((*_OF_SHARES, *GOAL, "--target", "yess"), ("--target asks for the share of 'yess'", "Did you mean 'yes'")),
        ((*_OF_SHARES, *GOAL, "--channel", "coarsened"), ("`askance plan survey`",)),
        ((*_OF_SHARES, "--privacy-level", "1", "--width", "0"), ("--width is 0",)),
        ((*_OF_SHARES, "--respondents", "100", "--width", "0.01"), ("--width 0.01 is out of reach",)),
        ((*_OF_SHARES, "--privacy-level", "1", "--width", "1", "--power", "0.5"), ("--width, --power; allowed",)),
        ((*_OF_MODEL, *GOAL, "--target", "third"), ("give --target share:LABEL",)),
        ((*_OF_MODEL, *GOAL, "--target", "share:9"), ("--target asks for the share of '9'", "0, 1, 2, 3")),
        ((*_OF_MODEL, *GOAL, "--confidence", "1"), ("--confidence is 1",)),
        ((*_OF_MODEL, *GOAL, "--channel", "per-value", "--method", "marginal"), ("--method is marginal",)),
        ((*_OF_SURVEY, "--respondents", "0"), ("--respondents is 0",)),
        ((*_OF_SURVEY, "--width", "1", "--standard-error", "1"), ("goals given: --standard-error, --width;",)),
        ((*_OF_SURVEY, "--respondents", "9", "--coefficient", "age"), ("give --share",)),
        ((*_OF_SURVEY, "--respondents", "9", "--effects", "age=1"), ("Describe it with --x",)),
    ],
)  # fmt: skip
def test_refusals_speak_of_flags(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    outcome = call("plan", *arguments)
    assert_one_line(outcome, words)
    for python in ("privacy_level", "standard_error", "interval_width", "Share(", "effect=", "method="):
        assert python not in outcome.err


def test_python_m_askance_speaks_of_the_same_flags() -> None:
    arguments = ("plan", *_OF_SURVEY, "--respondents", "9", "--coefficient", "age")
    assert_one_line(spawn_module(*arguments), ("give --share",))


def test_names_of_parameters_are_not_translated() -> None:
    described = {"kind": "enumerated", "table": [[0, 1]], "parameter_names": ["standard_error"]}
    Path("odd.json").write_text(json.dumps(described), encoding="utf-8")
    outcome = call("plan", "model", "odd.json", "--theta", "0", "--privacy-level", "1", "--power", "0.8",
                   "--target", "standard_error")  # fmt: skip
    assert_one_line(outcome, ("coefficient 'standard_error'",))


def test_the_help_of_effects() -> None:
    help_of_shares = " ".join(call("plan", "shares", "--help").out.split())
    assert "reference share" in help_of_shares
    assert "coefficient" not in help_of_shares
    assert "a column per parameter" in " ".join(call("plan", "model", "--help").out.split())


@pytest.mark.parametrize("yes", ["yes=0.2", "yes=20%", "yes=20 %", "yes=1/5", "yes=2e-1"])
def test_shares_are_written_in_many_ways(yes: str) -> None:
    found = parsed(call("plan", "shares", "--share", "no=80%", "--share", yes, *GOAL, *QUICK, "--json"))
    assert found["shares"] == {"no": 0.8, "yes": 0.2}


def test_shares_that_nearly_sum_to_one_are_scaled() -> None:
    thirds = [part for label in "abc" for part in ("--share", f"{label}=0.333")]
    outcome = call("plan", "shares", *thirds, *GOAL, *QUICK, "--json")
    assert "the shares sum to 0.999; they are scaled" in outcome.err
    assert list(json.loads(outcome.out)["shares"].values()) == pytest.approx([1 / 3] * 3)
    off = call("plan", "shares", "--share", "no=0.5", "--share", "yes=0.48", *GOAL)
    assert_one_line(off, ("sum to 0.98", "Give the shares of all answers."))
    assert_one_line(call("plan", "shares", "--share", "no=80", "--share", "yes=20", *GOAL), ("--share yes=10%",))


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["40", "80", "100", "200"])
def test_numbers_and_names_are_never_cut(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    Path("guesses.csv").write_text("first,second\n2,-1\n1,-0.5\n", encoding="utf-8")
    arguments = ("plan", "model", "model.json", "--prior", "guesses.csv", *GOAL)
    text, found = call(*arguments).out, parsed(call(*arguments, "--json"))
    lines = text.splitlines()
    for row in (found["direct"], *found["designs"]):
        (line,) = [line for line in lines if line.startswith(f"{row['design']}  ")]
        mark = "≈" if row["rough"] else ""
        for cell in (f"{mark}{row['standard_error']:.3g}", f"{row['price']:.2f}", row["method"]):
            assert cell in line.split()
    table = lines[: lines.index("")]
    if int(columns) >= 80:
        assert max(map(len, table)) <= int(columns)
    assert "dim 2" in text
    assert ("dim 2" in "\n".join(table)) == (int(columns) >= 200)


def test_what_is_made_for_one_number_says_so() -> None:
    arguments = ("plan", "shares", *SHARES, "--target", "yes", *GOAL, "--channel", "optimal")
    model, theta = Enumerated.saturated(["no", "maybe", "yes"]), np.log([0.3 / 0.6, 0.1 / 0.6])
    expected = plan(model, "optimal", theta, target=Share("yes"), privacy_level=1, n=900)
    channel = expected.designs[0].channel
    sigma = asymptotics(model, channel, theta).marginal  # type: ignore[arg-type]
    p = np.array([0.6, 0.3, 0.1])
    slopes = (np.diag(p) - np.outer(p, p))[:2, 1:]
    worst = math.sqrt(max(slope @ sigma @ slope for slope in slopes) / 900)
    found = parsed(call(*arguments, "--json"))["others"]
    assert found["design"] == "optimal"
    assert found["standard_error"] == pytest.approx(worst, rel=1e-6)
    note = "optimal designs are made for the share of 'yes' alone and tell the rest worse"
    assert note in " ".join(call(*arguments).out.split())
    assert f"up to {worst:.3g}" in " ".join(call(*arguments).out.split())
    for others in (("--target", "yes", "--channel", "randomized-response"), ("--channel", "optimal")):
        assert parsed(call("plan", "shares", *SHARES, *others, *GOAL, "--json"))["others"] is None
    two = ("--share", "no=0.8", "--share", "yes=0.2", "--target", "yes", "--channel", "optimal")
    assert parsed(call("plan", "shares", *two, *GOAL, "--json"))["others"] is None
