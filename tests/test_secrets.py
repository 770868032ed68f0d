"""A marked secret goes through every refusal of what is about to be noised, and is found nowhere afterwards.

The channels come from the registry and the commands from the tree of commands: new ones are driven as well, or fail
here until somebody says how.
"""

from __future__ import annotations

import gzip
import itertools
import logging
import re
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest

from askance import Enumerated, RandomField
from askance.channels import AnyChannel, StatisticsChannel, entries
from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.cli.command import askance as root
from askance.design.regression_release import regression_release
from askance.formats import channel_to_toml
from askance.formats.release_file import write_release
from askance.models.linear import LinearModel
from askance.models.softmax import Softmax

from .report_examples import truths
from .test_cli import Outcome, call, flags

TEXT = "zq-secret"
NUMBER = 7193777.5
# The text, and the number in all the ways in which messages write numbers.
MARK = re.compile(r"zq-secret|7193777|7,193,777|7\.1937|7\.194e|0x1\.b712c", re.IGNORECASE)
CHANNELS = {
    f"{entry.kind}-{number}": entry.build(example)
    for entry in entries(None)
    for number, example in enumerate(entry.examples)
}


# -- looking for it ----------------------------------------------------------------------------------------------------


def everything_of(error: BaseException) -> Iterator[str]:
    """All that an error says: itself, its parts, what it was raised from, and what is printed of it."""
    chain: list[BaseException | None] = [error]
    for each in chain:
        if each is not None:
            yield from (str(each), repr(each), repr(each.args), repr(vars(each)))
            chain += [cause for cause in (each.__cause__, each.__context__) if cause not in chain]
    # Lines of source code are those of this file, which name the secret on purpose.
    yield from (line for line in traceback.format_exception(error) if not line.startswith("  File"))


def is_refused(attempt: Callable[[], object], log: pytest.LogCaptureFixture) -> bool:
    """Whether something is refused; nowhere is the secret told, refused or not."""
    log.clear()
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught, log.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        try:
            said.append(repr(attempt()))
        except Exception as error:
            said.extend(everything_of(error))
            refused = True
        else:
            refused = False
    said += [str(warning.message) for warning in caught] + [log.text]
    assert [text for text in said if MARK.search(text)] == []
    return refused


def test_the_secret_would_be_found() -> None:
    """The check itself: a value in a message, or only in what a message was raised from."""

    def chained() -> None:
        try:
            float(TEXT)
        except ValueError:
            raise LookupError("something else") from None

    with pytest.raises(LookupError) as caught:
        chained()
    assert any(MARK.search(text) for text in everything_of(caught.value))
    written = (f"{NUMBER}", f"{NUMBER:g}", f"{NUMBER:,}", f"{NUMBER:.3e}", NUMBER.hex(), repr(np.float64(NUMBER)))
    assert all(map(MARK.search, written))


# -- what is given -----------------------------------------------------------------------------------------------------


def strange(valid: Any) -> list[Any]:
    """Single values that are no truth of any channel, all with the mark."""
    return [
        *(TEXT, TEXT.encode(), np.str_(TEXT), NUMBER, int(NUMBER), -NUMBER, np.float32(NUMBER), np.int64(NUMBER)),
        *(str(NUMBER), complex(NUMBER, 1), Decimal(str(NUMBER)), Fraction(NUMBER), 10**400 * int(NUMBER)),
        *([TEXT], (NUMBER,), [[TEXT]], {TEXT}, {TEXT: NUMBER}, [valid, TEXT], [TEXT, None], [NUMBER, float("nan")]),
        *(np.array([TEXT]), np.array([[NUMBER]]), pd.Series([TEXT]), pd.Timestamp(2026, 1, 1), range(int(NUMBER))[:2]),
        *(np.ma.masked_array([NUMBER, 0.0], [True, False]), iter([TEXT]), slice(NUMBER)),
    ]


def columns(rows: list[Any]) -> Iterator[Any]:
    """Rows, the second of them wrong, as people hold them."""
    yield rows
    yield tuple(rows)
    yield np.array(rows, dtype=object) if np.ndim(rows[0]) == 0 else rows[::-1]
    if np.ndim(rows[0]) == 0:
        yield from (pd.Series(rows), iter(rows), dict(enumerate(rows)), [rows], [rows[0], None, rows[1]])
    else:
        yield from (pd.DataFrame(rows), [*rows, rows[0][:-1]], [rows], {"a": rows[0], "b": rows[1]})


def numbers_with(valid: np.ndarray[Any, Any]) -> Iterator[list[Any]]:
    """A row of numbers in which one, the first or the last, is wrong."""
    for wrong, place in itertools.product(strange(0.0), (0, -1)):
        row = np.asarray(valid, dtype=float).tolist()
        row[place] = wrong
        yield row
    yield [NUMBER, float("nan"), *np.asarray(valid, dtype=float).tolist()[2:]]
    yield [*np.asarray(valid, dtype=float).tolist(), NUMBER]
    yield [TEXT.encode()] * len(valid)


def wrong_truths(channel: AnyChannel) -> Iterator[tuple[Any, Any]]:
    """A valid truth of one respondent, and many that no channel takes."""
    valid = truths(channel, 1)[0]
    if isinstance(channel, StatisticsChannel) and channel.truth_labels is None:
        yield from ((valid.tolist(), wrong) for wrong in numbers_with(valid))
    else:
        yield from ((valid, wrong) for wrong in strange(valid))


# -- every channel -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CHANNELS)
def test_no_channel_tells_what_it_refuses(name: str, caplog: pytest.LogCaptureFixture) -> None:
    channel: Any = CHANNELS[name]
    refused = []
    for valid, wrong in wrong_truths(channel):
        refused.append(is_refused(partial(channel.randomize_one, wrong), caplog))
        refused.append(is_refused(partial(channel.randomize, [valid, wrong]), caplog))
    assert sum(refused) > 0.8 * len(refused)
    assert not MARK.search(repr(channel))


@pytest.mark.parametrize("name", [f"{entry.kind}-0" for entry in entries(None)])
def test_no_channel_tells_a_column(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """In every form of a table, and through all that takes truth."""
    channel: Any = CHANNELS[name]
    reports = channel.simulate(truths(channel, 2), np.random.default_rng(1))
    takers: list[Callable[[Any], object]] = [
        channel.randomize,
        lambda column: channel.simulate(column, np.random.default_rng(1)),
    ]
    if isinstance(channel, StatisticsChannel):
        likelihood: Any = channel  # which all channels on statistics have
        takers += [channel.mean_covariance, lambda column: likelihood.log_likelihood(reports, column)]
        takers.append(lambda column: bool(channel.statistics(column).size))  # which are the truth, and may be looked at
    pairs = [pair for i, pair in enumerate(wrong_truths(channel)) if i % 9 == 0]
    refused = [
        is_refused(partial(taker, column), caplog)
        for valid, wrong in pairs
        for taker in takers
        for column in columns([valid, wrong])
    ]
    assert sum(refused) > 0.7 * len(refused)


# -- what else reads truth ---------------------------------------------------------------------------------------------

FIELD = LinearModel(2, x_bounds=(0, 10), y_bounds=(0, 10), scales=([5, 5, 5], [1, 1, 1]))
RELEASE = regression_release(FIELD, 4, n_respondents=1000)


def regression_calls(x: Any, y: Any) -> Iterator[Callable[[], object]]:
    releases: list[MomentRelease | ScalePilot] = [RELEASE, ScalePilot(FIELD, 2)]
    for release in releases:
        yield partial(release.randomize, x, y)
        yield partial(release.simulate, x, y, np.random.default_rng(1))
        yield partial(release.encode, x, y)
    yield lambda: RELEASE.randomize_one(x[0], y[0])
    yield lambda: FIELD.require_kept(x, y)
    yield lambda: FIELD.standardise(x, y)


def test_no_release_tells(caplog: pytest.LogCaptureFixture) -> None:
    refused = []
    for wrong in strange(1.0)[::2]:
        for x, y in (([[wrong, 1.0], [1.0, 2.0]], [1.0, 2.0]), ([[1.0, 2.0], [1.0, 2.0]], [wrong, 2.0])):
            refused += [is_refused(attempt, caplog) for attempt in regression_calls(x, y)]
    # Numbers are clipped rather than refused, and the objects that hold them say nothing either.
    assert sum(refused) > 0.4 * len(refused)
    assert is_refused(lambda: FIELD.require_kept([[NUMBER, 1.0]], [1.0]), caplog)


def test_no_model_tells(caplog: pytest.LogCaptureFixture) -> None:
    """The statistics of answers and records are worked out on the device."""
    variables: dict[str, Any] = {"a": ["no", "yes"], "b": 3}
    field = RandomField(variables, [["a", "b"]])
    models: list[Callable[[Any], object]] = [
        lambda wrong: Enumerated.saturated(["no", "yes"]).statistics(["no", wrong]),
        lambda wrong: Softmax(["no", "yes"], ["x"]).statistics(["no", wrong], np.ones((2, 1))),
        lambda wrong: field.statistics({"a": ["no", wrong], "b": [0, 1]}),
        lambda wrong: field.encode([["no", 0], ["no", wrong]]),
        lambda wrong: field.encode(pd.DataFrame({"a": ["no", wrong], "b": [0, 1]})),
        lambda wrong: field.encode([[0, 0], [0, wrong]]),
    ]
    refused = [is_refused(partial(model, wrong), caplog) for model in models for wrong in strange("no")]
    assert sum(refused) > 0.8 * len(refused)


def test_no_estimator_tells(caplog: pytest.LogCaptureFixture) -> None:
    from askance.sklearn import PrivateLinearRegression, PrivateLogisticRegression

    X, y = np.arange(8.0).reshape(4, 2), ["no", "yes", "no", "yes"]
    texts: Any = [[TEXT, 1], [2, 3], [4, 5], [6, 7]]
    linear = PrivateLinearRegression(2, x_bounds=(0, 9), y_bounds=(0, 9), random_state=0)
    logistic = PrivateLogisticRegression(2, random_state=0)
    refused = [
        is_refused(lambda: linear.fit(texts, [1.0, 2.0, 3.0, 4.0]), caplog),
        is_refused(lambda: linear.fit(X, np.array([1.0, 2.0, 3.0, TEXT], dtype=object)), caplog),
        is_refused(lambda: linear.fit(X, [NUMBER, 2.0, 3.0, np.nan]), caplog),
        is_refused(lambda: logistic.fit(X, [TEXT] * 4), caplog),
        is_refused(lambda: logistic.fit(X, [NUMBER, 1.0, 2.0, 3.5]), caplog),
        is_refused(lambda: logistic.partial_fit(X, [*y[:3], TEXT], classes=["no", "yes"]), caplog),
        is_refused(lambda: logistic.fit(X, np.array([*y[:3], {TEXT}], dtype=object)), caplog),
    ]
    assert all(refused)


# -- every command -----------------------------------------------------------------------------------------------------

RANDOMIZE: Any = root.commands["randomize"]
VARIABLES = 'cliques = [["smokes", "ill"]]\n[variables]\nsmokes = ["no", "yes"]\nill = ["no", "yes"]\n'
WARNER = ("warner", "--question", "2/3")
COORDINATE = ("coordinate-release", "--dim", "2", "--privacy-level", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a command works, with a folder of its own for temporary files."""
    (tmp_path / "work").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path


def assert_silent(outcome: Outcome, folder: Path, given: Path | None = None) -> None:
    """Nothing is told, printed or left in a file; a refusal is one line and leaves no reports."""
    assert not MARK.search(outcome.out + outcome.err + outcome.progress)
    assert "Traceback" not in outcome.err
    assert outcome.code in (0, 2)
    files = [path for path in folder.rglob("*") if path.is_file() and path != given]
    assert [path for path in files if MARK.search(path.read_bytes().decode("latin-1"))] == []
    assert not (outcome.code and list(folder.rglob("reports*")))


def refuses(arguments: tuple[str, ...], folder: Path, given: Path | None = None) -> bool:
    outcome = call("randomize", *arguments)
    assert_silent(outcome, folder, given)
    for path in folder.rglob("reports*"):
        path.unlink()
    return outcome.code == 2


def table_of(rows: list[list[Any]], path: Path) -> Path:
    lines = [",".join(f"c{j}" for j in range(len(rows[0]))), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", [entry.kind for entry in entries(None)])
def test_no_channel_command_tells(kind: str, folder: Path) -> None:
    entry = next(each for each in entries(None) if each.kind == kind)
    channel = entry.build(entry.examples[0])
    command = (kind, *flags(entry.examples[0]))
    valid = np.atleast_1d(truths(channel, 1)[0]).tolist()
    wide = len(valid) - 1
    records = [",".join(map(str, [wrong, *valid[1:]])) for wrong in (TEXT, NUMBER, f"1e400{int(NUMBER)}", f"{TEXT} ")]
    refused = [refuses((*command, f"--record={record}"), folder) for record in records]
    refused.append(refuses((*command, "--record", str(valid[0]), TEXT, str(NUMBER)), folder))
    refused.append(refuses((*command, f"--record={NUMBER}" + ",0" * (wide + 1)), folder))
    people = folder / "work" / "people.csv"
    for rows in ([valid, [TEXT, *valid[1:]]], [valid, [NUMBER, *valid[1:]]], [valid, [*valid, NUMBER, TEXT]]):
        table_of(rows, people)
        refused.append(refuses((*command, "--input", str(people), "-o", "reports.jsonl"), folder, people))
    assert all(refused)


def kinds_of_files(frame: pd.DataFrame, folder: Path) -> Iterator[Path]:
    """One table as every kind of file."""
    text = frame.to_csv(index=False)
    for suffix, separator in ((".csv", ","), (".tsv", "\t"), (".txt", ";")):
        place = folder / f"people{suffix}"
        place.write_text(frame.to_csv(index=False, sep=separator), encoding="utf-8")
        yield place
    packed = folder / "people.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    yield packed
    frame.to_parquet(folder / "people.parquet")
    yield folder / "people.parquet"
    frame.to_stata(folder / "people.dta", write_index=False)
    yield folder / "people.dta"
    try:
        import pyreadstat
    except ImportError:
        return
    pyreadstat.write_sav(frame, folder / "people.sav")
    yield folder / "people.sav"


@pytest.mark.parametrize(
    ("command", "frame"),
    [
        (WARNER, pd.DataFrame({"who": ["u1", "u2"], "a": ["yes", TEXT]})),
        (WARNER, pd.DataFrame({"who": [TEXT, TEXT], "a": ["yes", "no"]})),
        (WARNER, pd.DataFrame({"who": ["u1", "u2"], "a": [1.0, NUMBER]})),
        (COORDINATE, pd.DataFrame({"who": ["u1", "u2"], "a": [1.0, NUMBER], "b": [0.0, 1.0]})),
        (COORDINATE, pd.DataFrame({"who": ["u1", "u2"], "a": ["1", TEXT], "b": [0.0, 1.0]})),
        (COORDINATE, pd.DataFrame({"who": ["u1", "u2"], "a": [NUMBER, None], "b": [0.0, 1.0]})),
    ],
    ids=["label", "id", "number for a label", "bounds", "text", "gap beside it"],
)
def test_no_kind_of_file_is_told(command: tuple[str, ...], frame: pd.DataFrame, folder: Path) -> None:
    for path in kinds_of_files(frame, folder / "work"):
        arguments = (*command, "--input", str(path), "--id-column", "who", "-o", "reports.jsonl")
        assert refuses(arguments, folder, path), path.name
        path.unlink()


DAMAGED = {
    "a cell too many": f"a,b\n0,1\n{NUMBER},{TEXT},1\n".encode(),
    "a cell too few": f"a,b\n0,1\n{NUMBER}\n".encode(),
    "an open quotation mark": f'a,b\n0,1\n"{TEXT},1\n'.encode(),
    "Latin-1": f"a,b\n0,1\n{TEXT},\xe9\n".encode("latin-1"),
    "UTF-16": f"a,b\n0,{TEXT}\n".encode("utf-16"),
    "NUL": f"a,b\n0,1\n{TEXT}\0,1\n".encode(),
    "no names": f"{NUMBER},1\n0,1\n".encode(),
    "old line ends": f"a,b\r0,1\r{NUMBER},{TEXT}\r".encode(),
    "numbers, then a text": b"a,b\n" + b"0,1\n" * 270_000 + f"0,{TEXT}\n".encode(),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_no_damaged_file_is_told(damage: str, folder: Path) -> None:
    path = folder / "work" / "people.csv"
    path.write_bytes(DAMAGED[damage])
    assert refuses((*COORDINATE, "--input", str(path), "-o", "reports.jsonl"), folder, path)


def test_no_command_for_whole_records_tells(folder: Path) -> None:
    work = folder / "work"
    (work / "health.toml").write_text(VARIABLES, encoding="utf-8")
    assert call("plan", "field", "health.toml", "--privacy-level", "2", "-o", "field.toml").code == 0
    write_release(RELEASE, work / "release.json")
    write_release(ScalePilot(FIELD, 2), work / "pilot.json")
    (work / "channel.toml").write_text(channel_to_toml(CHANNELS["warner-0"]), encoding="utf-8")
    records = ("records", "field.toml", "--variables", "health.toml")
    commands: dict[str, list[tuple[tuple[str, ...], str]]] = {
        "file": [(("file", "channel.toml"), f"a\nyes\n{TEXT}\n"), (("file", "channel.toml"), f"a\nyes\n{NUMBER}\n")],
        "records": [
            (records, f"smokes,ill\nno,no\nno,{TEXT}\n"),
            (records, f"smokes,ill\n{NUMBER},\n"),
            ((*records, "--missing", "drop"), f"smokes,ill\nno,\n{TEXT},no\n"),
        ],
        "release": [
            ((command, place, *more), text)
            for command, place in (("release", "release.json"), ("release", "pilot.json"))
            for more, text in (
                ((), f"x0,x1,y\n1,2,3\n1,{TEXT},3\n"),
                ((), f"x0,x1,y\n{NUMBER},,3\n"),
                (("--strict",), f"x0,x1,y\n1,2,3\n1,{NUMBER},3\n"),
            )
        ],
    }
    # A new command of the group has to be driven here, too.
    assert set(RANDOMIZE.commands) == {*commands, *(entry.kind for entry in entries(None))}
    for attempts in commands.values():
        for arguments, text in attempts:
            path = work / "people.csv"
            path.write_text(text, encoding="utf-8")
            assert refuses((*arguments, "--input", str(path), "-o", "reports.jsonl"), folder, path), text


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_what_was_clipped_is_not_told(more: tuple[str, ...], folder: Path) -> None:
    """Two tables of two people print the same, whoever had a value outside the bounds."""
    work, told = folder / "work", []
    write_release(RELEASE, work / "release.json")
    for row in ("1,2,3", f"{NUMBER},2,3", "1,2,-50"):
        (work / "people.csv").write_text(f"x0,x1,y\n1,2,3\n{row}\n", encoding="utf-8")
        outcome = call("randomize", "release", "release.json", "--input", "people.csv", "-o", "reports.jsonl", *more)
        assert_silent(outcome, folder, work / "people.csv")
        told.append((outcome.code, outcome.out, outcome.err))
        (work / "reports.jsonl").unlink()
    assert told == [told[0]] * 3
    assert told[0][0] == 0


def test_every_reader_of_people_is_in_the_group() -> None:
    """Commands that noise what people hold are those of `askance randomize`: no other one has a --record."""

    def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            for name, child in command.commands.items():
                yield from leaves(child, f"{path} {name}")
        else:
            yield path, command

    readers = [path for path, leaf in leaves(root, "askance") if "record" in {param.name for param in leaf.params}]
    assert readers
    assert all(path.startswith("askance randomize ") for path in readers)


def test_repr_of_what_holds_truth() -> None:
    encoded = RELEASE.encode([[NUMBER, 1.0]], [2.0])
    assert repr(encoded) == "Encoded()"
    told = FIELD.standardise([[3.0, 1.0]], [2.0])
    assert repr(told) == "Standardised(names=('x0', 'x1', 'y'))"
