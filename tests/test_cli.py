"""The command line: what it prints equals what Python returns, and what goes wrong is one line and exit code 2."""

from __future__ import annotations

import io
import json
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import click
import pytest

import askance
from askance import certify
from askance.channels import ChannelEntry, FiniteChannel, entries
from askance.channels.device import in_text
from askance.cli import main
from askance.cli.command import askance as root
from askance.formats import channel_to_toml

SCRIPT = Path(sys.executable).parent / "askance"
EXAMPLES = [
    pytest.param(entry, example, id=f"{entry.kind}-{number}")
    for entry in entries()
    for number, example in enumerate(entry.examples)
]
KINDS = [entry.kind for entry in entries(None)]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str
    # What a busy machine makes a command say while it works; never part of what it has to say at the end.
    progress: str


def outcome_of(code: int, out: str, err: str) -> Outcome:
    lines = err.splitlines(keepends=True)
    is_progress = [re.fullmatch(r"askance: .* …\n", line) is not None for line in lines]
    told = ["".join(compress(lines, [chosen is kind for chosen in is_progress])) for kind in (False, True)]
    return Outcome(code, out, *told)


def call(*arguments: str) -> Outcome:
    """Run the command in this process, as the installed command would."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    script = patch.multiple(sys.modules["__main__"], __package__=None)  # not `python -m pytest`
    with script, patch.object(sys, "argv", ["askance", *arguments]), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return outcome_of(code, out.getvalue(), err.getvalue())


def spawn(*arguments: str, command: Sequence[str | Path] = (SCRIPT,)) -> Outcome:
    """Run the installed command in a process of its own."""
    done = subprocess.run([*command, *arguments], capture_output=True, timeout=900, check=False)
    return outcome_of(done.returncode, done.stdout.decode(), done.stderr.decode())


def spawn_module(*arguments: str) -> Outcome:
    return spawn(*arguments, command=(sys.executable, "-m", "askance"))


def parsed(outcome: Outcome) -> Any:
    """The JSON document that is all of standard output."""
    assert (outcome.code, outcome.err) == (0, "")

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(outcome.out, parse_constant=refuse)


def written(value: Any) -> str:
    """A parameter as people write it on a command line."""
    if isinstance(value, list):
        nested = any(isinstance(item, list) for item in value)
        return (";" if nested else ",").join(written(item) for item in value)
    return str(value)


def flags(example: dict[str, Any]) -> Iterator[str]:
    for name, value in example.items():
        yield "--" + name.replace("_", "-")
        yield written(value)


def expected_certificate(channel: FiniteChannel) -> dict[str, Any]:
    named = {"channel": channel.specification(), "fingerprint": channel.fingerprint}
    thresholds = {"thresholds": channel.thresholds(), "thresholds_in_text": in_text(channel.thresholds())}
    return {**named, **certify(channel).to_json(), **thresholds, "of": 2**62}


# -- certify -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [call, spawn, spawn_module])
def test_certificate_of_randomized_response(run: Any) -> None:
    arguments = ("certify", "randomized-response", "--outputs", "256", "--reveal-probability", "0.1", "--json")
    result = parsed(run(*arguments))
    assert result["privacy_level"] == pytest.approx(math.log(1 + 0.1 / (0.9 / 256)), abs=1e-12)
    assert result["privacy_level"] == pytest.approx(3.3825, abs=5e-5)
    assert result["unbiased"] is True
    assert result["worst_observations"] == list(range(256))
    assert result["proved_by"] == "enumeration"


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_flags_certify_what_python_certifies(entry: ChannelEntry, example: dict[str, Any]) -> None:
    expected = expected_certificate(entry.build(example))
    assert parsed(call("certify", entry.kind, *flags(example), "--json")) == expected


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_files_certify_what_python_certifies(entry: ChannelEntry, example: dict[str, Any], tmp_path: Path) -> None:
    channel, path = entry.build(example), tmp_path / "channel.toml"
    path.write_text(channel_to_toml(channel), encoding="utf-8")
    assert parsed(call("certify", "file", str(path), "--json")) == expected_certificate(channel)


@pytest.mark.parametrize(("entry", "example"), EXAMPLES)
def test_tables_say_the_level(entry: ChannelEntry, example: dict[str, Any]) -> None:
    outcome = call("certify", entry.kind, *flags(example))
    level = certify(entry.build(example)).privacy_level
    assert (outcome.code, outcome.err) == (0, "")
    assert entry.kind in outcome.out
    shown = re.search(r"privacy level +(\S+)", outcome.out)
    assert shown is not None
    assert shown[1] == ("unbounded" if math.isinf(level) else f"{level:.10g}")


@pytest.mark.parametrize(
    "arguments", [("direct", "--outputs", "3"), ("coarsened", "--groups", "a,b;c"), ("warner", "--question", "1")]
)
def test_unbounded_level_is_null(arguments: tuple[str, ...]) -> None:
    result = parsed(call("certify", *arguments, "--json"))
    assert result["privacy_level"] is None
    assert result["largest_ratio"] is None


def test_level_asked_for_is_the_level_certified() -> None:
    result = parsed(call("certify", "randomized-response", "--outputs", "no, yes", "--privacy-level", "1/2", "--json"))
    assert result["privacy_level"] == 0.5
    assert result["channel"]["outputs"] == ["no", "yes"]


def test_not_unbiased_is_said() -> None:
    arguments = ("certify", "coarsened", "--groups", "a,b;c")
    assert parsed(call(*arguments, "--json"))["unbiased"] is False
    assert re.search(r"unbiased estimation possible +no", call(*arguments).out)


# -- channels ----------------------------------------------------------------------------------------------------------


def test_channels_lists_all() -> None:
    outcome = call("channels")
    assert (outcome.code, outcome.err) == (0, "")
    assert [kind for kind in KINDS if kind not in outcome.out] == []
    described = parsed(call("channels", "--json"))
    assert [each["kind"] for each in described] == [*KINDS, *(entry.kind for entry in entries("groups"))]


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.kind) for entry in entries()])
def test_channels_shows_one(entry: ChannelEntry) -> None:
    described = parsed(call("channels", entry.kind, "--json"))
    assert described in parsed(call("channels", "--json"))
    assert described["summary"] == entry.summary
    assert described["examples"] == list(entry.examples)
    assert [(each["name"], each["required"]) for each in described["parameters"]] == [
        (parameter.name, parameter.required) for parameter in entry.parameters
    ]
    command = certify_commands()[entry.kind]
    options = {name for option in command.params for name in option.opts}
    assert {each["flag"] for each in described["parameters"]} | {"--purpose", "--at-most", "--json"} == options
    outcome = call("channels", entry.kind)
    assert (outcome.code, outcome.err) == (0, "")
    assert entry.summary in outcome.out
    assert channel_to_toml(entry.build(entry.examples[0])) in outcome.out
    assert [each["flag"] for each in described["parameters"] if each["flag"] not in outcome.out] == []
    assert f"Use it when {entry.use}." in outcome.out
    assert "None" not in outcome.out


# -- demo --------------------------------------------------------------------------------------------------------------


def test_demo_end_to_end(tmp_path: Path) -> None:
    """Four stories: what each of them found."""
    result = parsed(spawn("demo", "--out", str(tmp_path), "--seed", "1", "--json"))
    assert result.pop("warnings") == []
    assert result["collector"]["stored"] == result["collector"]["config"]["respondents"]
    for name in ("regression", "tagger", "collector"):
        assert json.loads((tmp_path / f"{name}.json").read_text()) == result.pop(name)
    assert json.loads((tmp_path / "survey.json").read_text()) == result
    parts = ("collector", "regression", "survey", "tagger")
    for name in parts:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    files = sorted(["report.html", *(f"{name}{ending}" for name in parts for ending in (".json", ".png"))])
    assert sorted(path.name for path in tmp_path.iterdir()) == files
    truth, widths = result["true_shares"], []
    assert sum(truth) == pytest.approx(1)
    for level in result["levels"]:
        for method, row in level["estimates"].items():
            assert row["converged"], method
            assert sum(row["share"]) == pytest.approx(1)
            for i, share in enumerate(truth):
                assert abs(row["share"][i] - share) < 4.5 * row["standard_error"][i], (method, i)
                assert 0 < row["lower"][i] < row["share"][i] < row["upper"][i] < 1
        widths.append(sum(level["estimates"]["one-step"]["standard_error"]))
    assert [level["privacy_level"] for level in result["levels"]] == pytest.approx([1, 2, 4])
    assert widths == sorted(widths, reverse=True), "less privacy, narrower intervals"


# -- help --------------------------------------------------------------------------------------------------------------


def all_commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from all_commands(inner, (*path, name))


def certify_commands() -> dict[str, click.Command]:
    group = root.commands["certify"]
    assert isinstance(group, click.Group)
    return dict(group.commands)


COMMANDS = [pytest.param(path, command, id=" ".join(("askance", *path))) for path, command in all_commands(root)]


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_command_has_help(path: tuple[str, ...], command: click.Command) -> None:
    for ask in ("--help", "-h"):
        outcome = call(*path, ask)
        assert (outcome.code, outcome.err) == (0, "")
        usage, description = outcome.out.split("\n\n")[:2]
        assert usage.startswith(f"Usage: {' '.join(('askance', *path))}")
        assert len(description.split()) >= 3
    options = [each for each in command.params if isinstance(each, click.Option)]
    assert [each.name for each in options if not each.help] == []
    assert isinstance(command, click.Group) or "--json" in outcome.out


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.kind) for entry in entries()])
def test_help_of_certify_shows_an_example_that_works(entry: ChannelEntry) -> None:
    shown = call("certify", entry.kind, "--help").out
    words = shlex.split(shown.split("Examples:")[1].replace("\\\n", " "))
    assert words[:3] == ["askance", "certify", entry.kind]
    assert parsed(call(*words[1:], "--json")) == expected_certificate(entry.build(entry.examples[0]))
    for parameter in entry.parameters:
        if not parameter.required and parameter.default is not None:
            assert f"[default: {written(parameter.default)}]" in " ".join(shown.split())


def test_certify_has_a_command_for_every_channel() -> None:
    assert sorted(certify_commands()) == sorted([*KINDS, "file"])


def test_version() -> None:
    outcome = spawn("--version")
    assert (outcome.code, outcome.err) == (0, "")
    assert askance.__version__ in outcome.out


# -- what goes wrong ---------------------------------------------------------------------------------------------------

RR = ("certify", "randomized-response")
REFUSED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "percentage": (("certify", "warner", "--question", "66"), ("askance: --question is 66", "0 to 1")),
    "negative": ((*RR, "--outputs", "3", "--reveal-probability", "-0.1"), ("--reveal-probability", "-0.1", "0 to 1")),
    "NaN": ((*RR, "--outputs", "3", "--reveal-probability", "nan"), ("--reveal-probability", "nan", "finite")),
    "not a number": (("certify", "warner", "--question", "two thirds"), ("question", "'two thirds'", "1/4")),
    "missing flag": (("certify", "forced-response", "--truth", "2/3"), ("--yes", "0.25 or 1/4")),
    "no flags": (("certify", "matrix"), ("--matrix", "rows separated by semicolons")),
    "neither of two": ((*RR, "--outputs", "3"), ("Give --reveal-probability or --privacy-level", "exactly one")),
    "both of two": ((*RR, "--outputs", "3", "--reveal-probability", "0.1", "--privacy-level", "1"), ("exactly one",)),
    "level zero": ((*RR, "--outputs", "3", "--privacy-level", "0"), ("--privacy-level is 0", "above 0")),
    "one label": ((*RR, "--outputs", "yes", "--privacy-level", "1"), ("--outputs", "'yes'", "at least 2")),
    "superscript": (("certify", "direct", "--outputs", "²"), ("--outputs", "'²'", "at least 2")),
    "too many labels": (("certify", "direct", "--outputs", "9" * 20), ("--outputs", "9" * 20, "at most")),
    "far too many labels": (("certify", "direct", "--outputs", "9" * 9000), ("--outputs", "at least 2")),
    "negative number of labels": (("certify", "direct", "--outputs", "-3"), ("--outputs is -3", "at least 2")),
    "label left empty": (("certify", "direct", "--outputs", "a,b,"), ("--outputs", "entry 2", "empty")),
    "group left empty": (("certify", "coarsened", "--groups", "a,b;;c"), ("--groups", "entry 0", "empty")),
    "beyond floats": (("certify", "warner", "--question", "1e400"), ("--question", "1E+400", "0 to 1")),
    "forced in all above 1": (
        ("certify", "forced-response", "--truth", "2/3", "--yes", "1/2"),
        ("--truth = 2/3", "--yes = 1/2", "1 in all"),
    ),
    "label twice": ((*RR, "--outputs", "a,b,a", "--privacy-level", "1"), ("'a'", "twice")),
    "base too short": (
        (*RR, "--outputs", "3", "--privacy-level", "1", "--base-distribution", "1/2,1/2"),
        ("2 entries", "3 outputs"),
    ),
    "no information": (("certify", "crosswise", "--prevalence", "1/2"), ("--prevalence = 1/2", "no information")),
    "ragged": (("certify", "matrix", "--matrix", "1,0;0"), ("[1, 2]", "rectangular")),
    "rows by truth": (
        ("certify", "matrix", "--matrix", "0.9,0.1;0.2,0.8"),
        ("1.1", "one row per truth", "noisy-labels"),
    ),
    "empty matrix": (("certify", "matrix", "--matrix", ""), ("--matrix", "entry 0", "empty")),
    "percentages": (("certify", "matrix", "--matrix", "90,20;10,80"), ("--matrix[0][0] is 90", "percentage")),
    "confusion of texts": (("certify", "noisy-labels", "--confusion", "a,b;c,d"), ("confusion[0][0]", "'a'")),
    "in two groups": (("certify", "coarsened", "--groups", "a,b;b"), ("'b'", "two groups")),
    "unknown channel": (("channels", "warnr"), ("'warnr'", "Did you mean 'warner'?")),
    "unknown channel, JSON": (("channels", "zzz", "--json"), ("'zzz'", "warner")),
    "no such file": (("certify", "file", "missing.toml"), ("missing.toml", "No such file")),
    "negative seed": (("demo", "--seed", "-1"), ("--seed", "-1", "0 or more")),
    "few respondents": (("demo", "--respondents", "5"), ("--respondents is 5", "100 to 10,000,000")),
}
MISUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown command": (("certfy",), "Did you mean 'certify'?"),
    "unknown channel": (("certify", "warnr"), "Did you mean 'warner'?"),
    "unknown flag": (("certify", "warner", "--quesion", "0.3"), "--quesion"),
    "flag without value": (("certify", "warner", "--question"), "--question"),
    "extra argument": (("certify", "warner", "--question", "0.3", "0.4"), "0.4"),
    "file without path": (("certify", "file"), "PATH"),
    "seed of letters": (("demo", "--seed", "one"), "'one'"),
}


def assert_one_line(outcome: Outcome, words: tuple[str, ...]) -> None:
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("askance: ")
    assert outcome.err.count("\n") == 1
    assert outcome.err.endswith((".\n", "?\n"))
    assert [word for word in words if word not in outcome.err] == []


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=list(REFUSED))
def test_refusal_is_one_line(
    arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line(call(*arguments), words)
    assert list(tmp_path.iterdir()) == []


def test_refusal_of_the_installed_command() -> None:
    assert_one_line(spawn("certify", "warner", "--question", "66"), ("question", "66", "0 to 1"))


@pytest.mark.parametrize(("arguments", "word"), MISUSED.values(), ids=list(MISUSED))
def test_misuse_is_one_line(arguments: tuple[str, ...], word: str) -> None:
    assert_one_line(call(*arguments), (word,))


def test_a_group_with_nothing_to_do_shows_its_help() -> None:
    outcome = call("certify")
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage" in outcome.err
    assert "Channels" in outcome.err


@pytest.mark.parametrize("content", ["", "kind = warner", 'question = "2/3"', 'kind = "warner"\nquestion = 66'])
def test_bad_files_are_one_line(content: str, tmp_path: Path) -> None:
    path = tmp_path / "channel.toml"
    path.write_text(content)
    for options in ((), ("--json",)):
        assert_one_line(call("certify", "file", str(path), *options), ())


def test_demo_whose_picture_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "survey.png").mkdir()
    assert_one_line(call("demo", "--out", str(tmp_path), "--respondents", "500"), ("survey.png", "folder"))
    assert list(tmp_path.iterdir()) == [tmp_path / "survey.png"]


def test_demo_into_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("kept")
    for place in (path, path / "below"):
        assert_one_line(call("demo", "--out", str(place)), (str(place),))
    assert path.read_text() == "kept"
    assert list(tmp_path.iterdir()) == [path]
