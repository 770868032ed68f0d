"""From a device to an estimate on the command line; and what goes wrong there, in one line."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from askance import PerValue, Tally, Warner, load
from askance.channels import AnyChannel, ChannelEntry, build_channel, entries
from askance.channels.purposes import purpose_of_columns
from askance.cli.command import askance as root
from askance.cli.shared import progress as progress_module
from askance.formats import channel_to_toml, line_schema, read_reports, write_reports
from askance.formats.report_schema import ReportSchema
from askance.survey import record_tables as people_module

from .report_examples import is_published, satisfies, truths
from .test_cli import Outcome, assert_one_line, call, flags, parsed, spawn

EXAMPLES = [
    pytest.param(entry, example, id=f"{entry.kind}-{number}")
    for entry in entries(None)
    for number, example in enumerate(entry.examples)
]
every_example = pytest.mark.parametrize(("entry", "example"), EXAMPLES)
ONE_HOT = ("per-value", "--dim", "3", "--privacy-level", "2", "--l1-norm", "1")
PAGE = Path(__file__).parents[1] / "docs" / "reports.md"


def printed(outcome: Outcome) -> str:
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def record_of(truth: Any) -> str:
    """One respondent as typed behind --record."""
    return ",".join(map(str, np.atleast_1d(truth).tolist()))


def write_table(path: Path, channel: AnyChannel, n: int) -> None:
    """A CSV file of valid truth, with ids."""
    truth = truths(channel, n).reshape(n, -1)
    names = ",".join(f"c{j}" for j in range(truth.shape[1]))
    rows = [f"u{i}," + ",".join(f'"{value}"' for value in row) for i, row in enumerate(truth.tolist())]
    path.write_text("\n".join([f"who,{names}", *rows]) + "\n", encoding="utf-8")


# -- every channel -----------------------------------------------------------------------------------------------------


@every_example
def test_one_record(entry: ChannelEntry, example: dict[str, Any]) -> None:
    channel = entry.build(example)
    record = record_of(truths(channel, 1)[0])
    line = printed(call("randomize", entry.kind, *flags(example), "--record", record, "--id", "né"))
    assert line.count("\n") == 1
    assert is_published(line)
    content, schema = json.loads(line), line_schema(channel)
    assert satisfies(schema, content, schema)
    assert content["id"] == "né"
    without = json.loads(printed(call("randomize", entry.kind, *flags(example), "--record", record)))
    assert list(without) == list(content)[1:]


@every_example
def test_a_table_becomes_a_state(entry: ChannelEntry, example: dict[str, Any], tmp_path: Path) -> None:
    channel, table, toml = entry.build(example), tmp_path / "people.csv", tmp_path / "channel.toml"
    write_table(table, channel, 30)
    toml.write_text(channel_to_toml(channel), encoding="utf-8")
    chosen = ("--input", str(table), "--id-column", "who")
    lines, rows, state = (str(tmp_path / name) for name in ("a.jsonl", "b.parquet", "c.state"))
    columns = ",".join(f"c{j}" for j in range(truths(channel, 1).reshape(1, -1).shape[1]))
    told = parsed(call("randomize", entry.kind, *flags(example), *chosen, "-o", lines, "--json"))
    channel = channel.for_purpose(purpose_of_columns(columns.split(",")))
    assert told["reports"] == 30
    assert told["output"] == lines
    assert build_channel(told["channel"]) == channel
    assert told["fingerprint"] == channel.fingerprint
    assert told["privacy_level"] == (channel.privacy_level if math.isfinite(channel.privacy_level) else None)
    printed(call("randomize", "file", str(toml), "--input", str(table), "--columns", columns, "-o", rows))
    result = parsed(call("aggregate", lines, rows, "-o", state, "--json"))
    assert (result["reports"], result["refused"]) == (60, {})
    evidence = load(state)
    assert isinstance(evidence, Tally)
    assert evidence.n_observations == 60
    parts = [read_reports(lines), read_reports(rows)]
    empty: Any = Tally(channel)
    assert evidence == empty.add(parts[0]).add(parts[1])


@pytest.mark.parametrize("entry", [pytest.param(entry, id=entry.kind) for entry in entries(None)])
def test_help_says_where_chance_comes_from(entry: ChannelEntry) -> None:
    group = root.commands["randomize"]
    assert isinstance(group, click.Group)
    assert sorted(group.commands) == sorted([*(each.kind for each in entries(None)), "file", "records", "release"])
    shown = " ".join(printed(call("randomize", entry.kind, "--help")).split())
    assert "cryptographic source" in shown
    assert "there is no --seed" in shown
    command = group.commands[entry.kind]
    names = [name for option in command.params for name in option.opts]
    assert len(set(names)) == len(names), "a parameter of the channel is called like a flag of the command"
    assert "--seed" not in names
    assert_one_line(call("randomize", entry.kind, "--seed", "1"), ("--seed",))


def test_header_and_lines_make_a_file(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    modes, purpose = (("--header",), ("--record", "0,1,0")), "a,b,c"
    lines = [printed(call("randomize", *ONE_HOT, "--purpose", purpose, *mode)) for mode in modes]
    path.write_text("".join(lines), encoding="utf-8")
    channel = PerValue(3, 2, l1_norm=1).for_purpose(purpose)
    assert json.loads(lines[0]) == ReportSchema(channel).header()
    assert read_reports(path).channel == channel  # type: ignore[union-attr]


def test_the_installed_command(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b,c\n1,0,0\n0,1,0\n")
    reports, state = str(tmp_path / "r.parquet"), str(tmp_path / "s.state")
    spawn("randomize", *ONE_HOT, "--input", str(tmp_path / "people.csv"), "-o", reports)
    outcome = spawn("aggregate", reports, "-o", state)
    assert (outcome.code, outcome.err) == (0, "")
    for words in (r"reports +2", r"per-value: dim 3", r"privacy level +2", r"refused +0", r"s\.state"):
        assert re.search(words, outcome.out.replace("\n", " ")), words


# -- answers and columns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "labels", "expected"),
    [
        ("yes\nno\nyes", "no,yes", ["yes", "no", "yes"]),
        ("1\n0\n1", "2", [1, 0, 1]),
        ("1\n0\n1", "0,1", ["1", "0", "1"]),
        ("true\nfalse\ntrue", "false,true", ["true", "false", "true"]),
    ],
)
def test_answers_of_a_table(column: str, labels: str, expected: list[Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"said\n{column}\n")
    out = str(tmp_path / "a.jsonl")
    printed(call("randomize", "direct", "--outputs", labels, "--input", str(tmp_path / "a.csv"), "-o", out))
    assert read_reports(out).tolist() == expected  # type: ignore[union-attr]


def test_labels_of_many_kinds(tmp_path: Path) -> None:
    path = tmp_path / "direct.toml"
    path.write_text('kind = "direct"\noutputs = [true, 2.5, "three", 4]')
    for text, label in (("true", True), ("2.5", 2.5), ("three", "three"), ("4", 4), (" 4.0", None)):
        outcome = call("randomize", "file", str(path), "--record", text)
        if label is None:
            assert_one_line(outcome, ("--record is none of the labels; allowed: True, 2.5, 'three', 4",))
        else:
            assert json.loads(printed(outcome))["answer"] == label
    path.write_text('kind = "direct"\noutputs = [1, "1"]')
    assert_one_line(call("randomize", "file", str(path), "--record", "2"), ("1, '1'",))
    assert json.loads(printed(call("randomize", "file", str(path), "--record", "1")))["answer"] == "1"


def test_columns_are_chosen_and_ordered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(people_module, "_PIECE", 7)  # many pieces
    rows = [f"{i},0,1,{int(i < 40)}" for i in range(50)]
    (tmp_path / "people.csv").write_text("\n".join(["who,a,b,c", *rows]))
    common = ("coordinate-release", "--dim", "2", "--privacy-level", "30", "--input", "people.csv")
    printed(call("randomize", *common, "--columns", "c, a", "--id-column", "who", "-o", "a.jsonl"))
    reports = read_reports("a.jsonl")
    assert len(reports) == 50
    drawn, bit = (reports.columns[name] for name in ("coordinate", "bit"))  # type: ignore[union-attr]
    assert np.array_equal(bit, (drawn == 0) & (np.arange(50) < 40))
    ids = [json.loads(line)["id"] for line in (tmp_path / "a.jsonl").read_text().splitlines()[1:]]
    assert ids == [str(i) for i in range(50)]


def test_booleans_and_parquet_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table({"a": [True, False], "b": [0, 1], "c": [0.0, 0.0]}), "people.parquet")
    printed(call("randomize", *ONE_HOT, "--input", "people.parquet", "-o", "a.parquet"))
    assert len(read_reports("a.parquet")) == 2


# -- what goes wrong ---------------------------------------------------------------------------------------------------

TABLE = "who,a,b,c\nu1,1,0,0\nu2,0,1,0\nu3,0,0,1\n"
INPUT = ("--input", "people.csv", "-o", "out.jsonl")
NAMED = (*INPUT, "--id-column", "who")
RANDOMIZE: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "nothing": ((), TABLE, ("--record", "--input", "nothing")),
    "both": (("--record", "1,0,0", *INPUT), TABLE, ("--record and --input",)),
    "nowhere to": (("--input", "people.csv"), TABLE, ("-o",)),
    "an output for one": (("--record", "1,0,0", "-o", "out.jsonl"), TABLE, ("-o is given without --input",)),
    "an id for many": ((*INPUT, "--id", "x"), TABLE, ("--id", "--record")),
    "columns of one": (("--record", "1,0,0", "--columns", "a"), TABLE, ("--columns", "--input")),
    "two numbers": (("--record", "1,0"), TABLE, ("--record has 2 numbers", "3")),
    "no number": (("--record", "1,0,x"), TABLE, ("number 3 of --record is no finite number",)),
    "not finite": (("--record", "1,0,nan"), TABLE, ("number 3 of --record", "finite")),
    "out of bounds": (("--record", "1,0,2"), TABLE, ("--record: statistic 2 lies outside its bounds", "0 to 1")),
    "norm": (("--record", "1,0,1"), TABLE, ("wrong sum", "--max-l1-norm")),
    "bad id": (("--record", "1,0,0", "--id", ""), TABLE, ("id", "''")),
    "no such table": (("--input", "missing.csv", "-o", "out.jsonl"), TABLE, ("missing.csv", "No such file")),
    "kind of output": (("--input", "people.csv", "-o", "out.csv"), TABLE, ("out.csv", ".jsonl", ".parquet")),
    "four columns": (INPUT, TABLE, ("people.csv", "4 columns", "'who'", "3", "--columns")),
    "an unknown column": ((*INPUT, "--columns", "a,b,d"), TABLE, ("'d'", "'a', 'b', 'c'")),
    "an unknown id column": ((*INPUT, "--id-column", "whom"), TABLE, ("'whom'", "Did you mean 'who'?")),
    "a value out of bounds": (
        NAMED,
        TABLE.replace("u2,0,1,0", "u2,0,1,2"),
        ("people.csv, row 2: column 'c' lies outside its bounds",),
    ),
    "a norm in a table": (NAMED, TABLE.replace("u3,0,0,1", "u3,1,0,1"), ("people.csv, row 3", "wrong sum")),
    "a gap": (NAMED, TABLE.replace("u2,0,1,0", "u2,0,,0"), ("people.csv, row 2: the value of column 'b' is missing",)),
    "a text": (
        NAMED,
        TABLE.replace("u2,0,1,0", "u2,0,1,no"),
        ("people.csv, row 2: column 'c' is no number", "numbers"),
    ),
    "an infinite number": (
        NAMED,
        TABLE.replace("u2,0,1,0", "u2,0,1,inf"),
        ("row 2: column 'c' is missing or infinite",),
    ),
    "an id twice": (NAMED, TABLE.replace("u2", "u1"), ("people.csv, row 2: column 'who' is that of row 1",)),
    "an id missing": (NAMED, TABLE.replace("u2", ""), ("people.csv, row 2: the value of column 'who' is missing",)),
}


@pytest.mark.parametrize(("arguments", "table", "words"), RANDOMIZE.values(), ids=list(RANDOMIZE))
def test_randomize_refuses_in_one_line(
    arguments: tuple[str, ...],
    table: str,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(table)
    assert_one_line(call("randomize", *ONE_HOT, *arguments), words)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_nothing_is_written_when_a_late_row_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(people_module, "_PIECE", 16)
    (tmp_path / "people.csv").write_text("\n".join(["a,b,c", *["1,0,0"] * 90, "1,0,1", *["0,1,0"] * 9]))
    arguments = ("--input", "people.csv", "-o", "out.parquet")
    assert_one_line(call("randomize", *ONE_HOT, *arguments), ("people.csv, row 91", "wrong sum"))
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / "out.parquet").write_bytes(b"kept")
    assert_one_line(call("randomize", *ONE_HOT, *arguments), ("out.parquet is there already", "another name"))
    assert (tmp_path / "out.parquet").read_bytes() == b"kept"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("forced-response", "--truth", "2/3", "--yes", "1/6", "--record", "maybe"),
            ("--record is none of the labels", "'no', 'yes'"),
        ),
        (
            ("randomized-response", "--outputs", "4", "--privacy-level", "1", "--record", "4"),
            ("--record is none of the labels", "0, 1, 2, 3"),
        ),
        (("randomized-response", "--outputs", "4", "--privacy-level", "1", "--record", "-1"), ("--record is none",)),
        (
            ("warner", "--question", "2/3", *INPUT, "--columns", "c"),
            ("people.csv, row 3: column 'c' is none of the labels", "'no'"),
        ),
        (("warner", "--question", "2/3", *INPUT), ("4 columns", "1")),
        (
            ("clique-release", "--sizes", "2,2", "--cliques", "0,1", "--privacy-level", "1", "--record", "0,2"),
            ("variable 1",),
        ),
        (("warner", "--question", "66", "--record", "yes"), ("--question is 66", "0 to 1")),
        (("warnr", "--record", "yes"), ("Did you mean 'warner'?",)),
        (("file", "missing.toml", "--record", "yes"), ("missing.toml",)),
    ],
)
def test_other_channels_refuse_too(
    arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("who,a,b,c\nu1,1,0,no\nu2,0,1,yes\nu3,0,0,7\n")
    assert_one_line(call("randomize", *arguments), words)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_bad_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    channel = Warner("2/3")
    write_reports("a.jsonl", ["yes", "no", "no"], channel=channel, ids=["1", "2", "1"])
    with Path("a.jsonl").open("a") as file:
        file.write('{"channel":"0123456789abcdef","answer":"no"}\n{"channel":')
    assert_one_line(call("aggregate", "a.jsonl", "-o", "s.state"), ("a.jsonl, line 4", "'1'", "--skip-bad"))
    assert not Path("s.state").exists()
    result = parsed(call("aggregate", "a.jsonl", "-o", "s.state", "--skip-bad", "--json"))
    assert result["reports"] == 2
    assert result["refused"] == {"another channel": 1, "malformed": 1, "duplicate id": 1}
    assert {reason: re.findall(r"line \d", text) for reason, text in result["first_refused"].items()} == {
        "another channel": ["line 5"],
        "malformed": ["line 6"],
        "duplicate id": ["line 4"],
    }
    assert load("s.state") == Tally(channel, [1, 1])
    shown = " ".join(printed(call("aggregate", "a.jsonl", "-o", "s.state", "--skip-bad")).split())
    for words in ("reports 2", "refused 3", "duplicate id 1; first: a.jsonl, line 4", "malformed 1"):
        assert words in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("REPORTS",)),
        (("a.jsonl",), ("-o",)),
        (("a.jsonl", "a.jsonl", "-o", "s.state"), ("a.jsonl", "twice")),
        (("missing.jsonl", "-o", "s.state"), ("missing.jsonl", "No such file")),
        (("a.jsonl", "b.jsonl", "-o", "s.state"), ("b.jsonl, line 1", "'per-value'", "'warner'")),
        (("a.jsonl", "people.csv", "-o", "s.state"), ("people.csv", "not an askance file")),
        (("a.jsonl", "-o", "no/such/folder/s.state"), ("s.state", "folder")),
    ],
)
def test_aggregate_refuses_in_one_line(
    arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)
    write_reports("a.jsonl", ["yes", "no"], channel=Warner("2/3"))
    write_reports("b.jsonl", PerValue(3, 2).randomize(np.eye(3)))
    before = sorted(tmp_path.iterdir())
    assert_one_line(call("aggregate", *arguments), words)
    assert sorted(tmp_path.iterdir()) == before


def test_long_work_says_so_on_standard_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress_module, "_PATIENCE", 0.0)
    monkeypatch.setattr(people_module, "_PIECE", 8)
    (tmp_path / "people.csv").write_text("\n".join(["a,b,c", *["1,0,0"] * 64]))
    outcome = call("randomize", *ONE_HOT, "--input", "people.csv", "-o", "a.jsonl", "--json")
    assert json.loads(outcome.out)["reports"] == 64
    assert "people.csv: row 57 of 64" in outcome.progress


# -- the page about reports --------------------------------------------------------------------------------------------


def blocks(kind: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page_names_every_column() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = {
        kind: row for row in re.findall(r"^\| (.*?) \|\n", text, re.MULTILINE) for kind in re.findall(r"[\w-]+", row)
    }
    for entry in entries("statistics"):
        channel = entry.build(entry.examples[0])
        assert [column.name for column in channel.columns if f"`{column.name}`" not in rows[entry.kind]] == []
    schema = line_schema(PerValue(3, 4))
    assert satisfies(schema, json.loads(blocks("json")[0]), schema)
    for reason in ("another channel", "duplicate id", "malformed"):
        assert f"`{reason}`" in text
