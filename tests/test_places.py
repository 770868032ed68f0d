"""Reports wherever they are: folders, patterns, standard input, addresses, row groups, and files of other programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from askance import PerValue, Reports, Tally, Warner, load, save
from askance.channels import AnyChannel
from askance.errors import FormatError, IncompatibleEvidenceError, InputError
from askance.evidence.sources import NO_SOURCES
from askance.formats import RowGroups, aggregate, channel_to_toml, report_writer, source_digests, write_reports
from askance.formats.places import listed_places

from .report_examples import BITS, EXAMPLES, every_channel, evidence_of, some_reports
from .test_cli import assert_one_line, call, parsed

WARNER = Warner("2/3")


def write(path: Path, *answers: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_reports(path, answers, channel=WARNER)
    return path


# -- folders, patterns, standard input ---------------------------------------------------------------------------------


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Two days of reports, and what else lies about in such folders."""
    folder = tmp_path / "days"
    write(folder / "date=2026-11-17" / "a.jsonl", "yes")
    write(folder / "date=2026-11-17" / "b.parquet", "yes", "no")
    write(folder / "date=2026-11-18" / "a.jsonl", "no", "no", "no")
    for name in ("_SUCCESS", "_temporary/c.parquet", ".d.jsonl", "notes.txt", "date=2026-11-18/.e.parquet.crc"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("not for you")
    return folder


def test_folders_and_patterns(days: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert aggregate(days).evidence == Tally(WARNER, [4, 2])
    assert aggregate(days / "date=2026-11-18").evidence == Tally(WARNER, [3, 0])
    assert aggregate(f"{days}/date=*/*.jsonl").evidence == Tally(WARNER, [3, 1])
    assert aggregate([f"{days}/**/b.*", days / "date=2026-11-18"]).evidence == Tally(WARNER, [4, 1])
    monkeypatch.chdir(days)
    told = parsed(call("aggregate", "date=*7/*", "-o", "one.state", "--json"))
    assert (told["reports"], told["sources"]) == (3, 2)
    with pytest.raises(InputError, match="given twice"):
        aggregate([days, f"{days}/*/a.jsonl"])
    (days / "[odd].jsonl").write_bytes((days / "date=2026-11-17" / "a.jsonl").read_bytes())
    assert aggregate("[odd].jsonl").evidence == Tally(WARNER, [0, 1])  # a file of that name is no pattern


def test_places_without_reports(days: Path) -> None:
    (days / "empty").mkdir()
    assert_one_line(call("aggregate", str(days / "empty"), "-o", "x.state"), ("no files of reports", ".parquet"))
    assert_one_line(call("aggregate", f"{days}/*.pq", "-o", "x.state"), ("no file is called like",))
    assert_one_line(call("aggregate", "nowhere://a/b", "-o", "x.state"), ("nowhere", "s3fs"))


def test_standard_input(tmp_path: Path) -> None:
    assert listed_places("-") == [Path("/dev/stdin")]
    with write(tmp_path / "a.parquet", "yes", "no").open("rb") as file:
        held = os.dup(0)
        try:
            os.dup2(file.fileno(), 0)
            assert aggregate("-").evidence == Tally(WARNER, [1, 1])
        finally:
            os.dup2(held, 0)
            os.close(held)


# -- addresses ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def bucket(days: Path) -> Iterator[str]:
    """The same files at an address."""
    system = fsspec.filesystem("memory")
    for path in days.rglob("*"):
        if path.is_file():
            system.pipe_file(f"/bucket/{path.relative_to(days)}", path.read_bytes())
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


def test_addresses(bucket: str, tmp_path: Path) -> None:
    assert aggregate(bucket).evidence == Tally(WARNER, [4, 2])
    assert aggregate(f"{bucket}/date=*/*.jsonl").evidence == Tally(WARNER, [3, 1])
    one = f"{bucket}/date=2026-11-17/b.parquet"
    assert aggregate(one).evidence == aggregate(RowGroups(one, 0, 1)).evidence == Tally(WARNER, [1, 1])
    told = parsed(call("aggregate", f"{bucket}/date=2026-11-17/*", "-o", str(tmp_path / "a.state"), "--json"))
    assert told["reports"] == 3
    with pytest.raises(IncompatibleEvidenceError, match=r"memory://.*count twice"):
        aggregate([tmp_path / "a.state", bucket])
    for address in (f"{bucket}/missing.jsonl", "memory://nowhere/a.jsonl"):
        with pytest.raises(FormatError, match=f"cannot read {address}: there is no such file"):
            aggregate(address)
    with pytest.raises(InputError, match="no file is called like"):
        aggregate(f"{bucket}/*.pq")


# -- row groups --------------------------------------------------------------------------------------------------------


@pytest.fixture
def grouped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five row groups of 8 reports; the digest of a file is of the first 20."""
    monkeypatch.setattr(source_digests, "HASHED", 20)
    with report_writer(tmp_path / "a.parquet", BITS) as writer:
        for start in range(0, 40, 8):
            writer.write(some_reports(BITS)[start : start + 8])
    return tmp_path / "a.parquet"


def test_row_groups_add_up_to_the_file(grouped: Path, tmp_path: Path) -> None:
    save(aggregate(grouped).evidence, tmp_path / "whole.state")
    for number, cuts in enumerate(([0, 5], [0, 1, 5], [0, 2, 3, 4, 5], range(6))):
        parts = [RowGroups(grouped, first, stop) for first, stop in pairwise(cuts)]
        for order in (parts, parts[::-1]):
            tallies = [aggregate(part).evidence for part in order]
            for name, total in (("merged", sum(tallies[1:], tallies[0])), ("together", aggregate(order).evidence)):
                save(total, tmp_path / f"{name}.{number}")
                assert (tmp_path / f"{name}.{number}").read_bytes() == (tmp_path / "whole.state").read_bytes()


def test_row_groups_in_states(grouped: Path, tmp_path: Path) -> None:
    first, second = str(tmp_path / "first.state"), str(tmp_path / "second.state")
    assert call("aggregate", str(grouped), "--row-groups", "0:2", "-o", first).code == 0
    assert call("aggregate", str(grouped), "--row-groups", "2:5", "-o", second).code == 0
    assert load(first).sources.files == frozenset()  # type: ignore[union-attr]
    for other in (["--row-groups", "1:3"], []):
        save(aggregate(RowGroups(grouped, 1, 3) if other else grouped).evidence, tmp_path / "other.state")
        with pytest.raises(IncompatibleEvidenceError, match="would count twice"):
            load(first) + load(tmp_path / "other.state")  # type: ignore[operator]
        assert_one_line(call("aggregate", first, str(grouped), *other[:0], "-o", first), ("would count twice",))
        assert_one_line(call("aggregate", str(tmp_path / "other.state"), first, "-o", first), ("would count twice",))
    assert call("aggregate", first, second, "-o", str(tmp_path / "both.state")).code == 0
    save(aggregate(grouped).evidence, tmp_path / "whole.state")
    assert (tmp_path / "both.state").read_bytes() == (tmp_path / "whole.state").read_bytes()


def test_row_groups_that_cannot_be_read(grouped: Path, tmp_path: Path) -> None:
    for first, stop in ((0, 6), (5, 6), (2, 2), (3, 1), (-1, 2)):
        with pytest.raises(InputError, match=f"{first}:{stop}; allowed"):
            aggregate(RowGroups(grouped, first, stop))
    with pytest.raises(InputError, match="no row groups"):
        aggregate(RowGroups(write(tmp_path / "b.jsonl", "yes"), 0, 1))
    write_reports(tmp_path / "c.parquet", ["yes"], channel=WARNER, ids=["a"])
    with pytest.raises(InputError, match="has ids"):
        aggregate(RowGroups(tmp_path / "c.parquet", 0, 1))
    assert_one_line(call("aggregate", str(grouped), "--row-groups", "1", "-o", "x.state"), ("--row-groups", "A:B"))
    assert_one_line(call("aggregate", "a", "b", "--row-groups", "0:1", "-o", "x.state"), ("one file",))


def test_bad_rows_of_a_group_are_counted_from_the_first(tmp_path: Path) -> None:
    table = pa.table({"answer": ["yes", "no", "yes", "maybe"]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    with pytest.raises(FormatError, match="row 4: its answer is 'maybe'"):
        aggregate(RowGroups(tmp_path / "a.parquet", 1, 2), channel=WARNER)


# -- files of other programs -------------------------------------------------------------------------------------------


def others(channel: AnyChannel, reports: Any, folder: Path) -> Iterator[Any]:
    """A table of reports as other programs have it: other types, other columns beside."""
    write_reports(folder / "own.parquet", reports, channel=channel)
    table = parquet.read_table(folder / "own.parquet").replace_schema_metadata(None)
    yield table.append_column("day", pa.array(["mon"] * len(table)))
    changed = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_fixed_size_binary(kind):
            padded = [value + b"\0" * (i % 3) for i, value in enumerate(column.to_pylist())]
            changed[name] = pa.array(padded, pa.binary())
        elif pa.types.is_fixed_size_list(kind):
            changed[name] = pa.array(column.to_pylist(), pa.list_(pa.int32()))
        elif pa.types.is_uint64(kind):  # Spark has no numbers without sign
            changed[name] = pa.array(column.to_numpy().view(np.int64))
        elif pa.types.is_string(kind):
            changed[name] = column.dictionary_encode()
        elif pa.types.is_integer(kind):
            changed[name] = column.cast(pa.int32())
        else:
            changed[name] = column
    yield pa.table({"more": [[1]] * len(table), **changed})
    yield pa.table(pl.from_arrow(table))


@every_channel
def test_tables_of_other_programs(channel: AnyChannel, tmp_path: Path) -> None:
    reports = some_reports(channel)
    path = tmp_path / "date=2026-11-18" / "part-0.parquet"
    path.parent.mkdir()
    for table in others(channel, reports, tmp_path):
        parquet.write_table(table, path)
        assert aggregate(path.parent, channel=channel).evidence == evidence_of(channel, reports)
        again = Reports.from_arrow(channel, table)
        if isinstance(reports, Reports):
            assert again == reports
        else:
            assert channel.observations.decode(again.columns["answer"]).tolist() == reports.tolist()  # type: ignore[union-attr]


def test_the_channel_of_a_table(tmp_path: Path) -> None:
    path, toml = tmp_path / "a.parquet", tmp_path / "channel.toml"
    toml.write_text(channel_to_toml(WARNER.for_purpose("smokes")))
    parquet.write_table(pa.table({"answer": ["yes", "no"], "id": ["1", "2"]}), path)
    assert_one_line(call("aggregate", str(path), "-o", "x.state"), ("no 'askance'", "--channel"))
    told = parsed(call("aggregate", str(path), "--channel", str(toml), "-o", str(tmp_path / "a.state"), "--json"))
    assert (told["reports"], told["channel"]["purpose"]) == (2, "smokes")
    with pytest.raises(IncompatibleEvidenceError, match="count twice"):
        aggregate([path, tmp_path / "a.state"], channel=WARNER.for_purpose("smokes"))
    parquet.write_table(pa.table({"answer": ["yes", "yes"], "id": ["1", "1"]}), path)
    with pytest.raises(FormatError, match="row 2: its id '1' was seen before"):
        aggregate(path, channel=WARNER)
    for table, words in (
        (pa.table({"reply": ["yes"]}), "no column 'answer'"),
        (pa.table({"answer": [1]}), "int64; allowed: string"),
        (pa.table([["yes"], ["no"]], names=["answer", "answer"]), "there twice"),
        (pa.table({"answer": ["yes"], "id": [7]}), "'id'"),
    ):
        parquet.write_table(table, path)
        with pytest.raises(FormatError, match=words):
            aggregate(path, channel=WARNER)
    own = write(tmp_path / "own.parquet", "yes")  # what a file says of itself stands
    with pytest.raises(FormatError, match="reports from here on come from 'warner'"):
        aggregate(own, channel=WARNER.for_purpose("smokes"))


def test_tables_without_reports(tmp_path: Path) -> None:
    for channel in (*{channel.kind: channel for channel in EXAMPLES.values()}.values(),):
        write_reports(tmp_path / "a.parquet", some_reports(channel, 0), channel=channel)
        table = parquet.read_table(tmp_path / "a.parquet").replace_schema_metadata(None)
        parquet.write_table(table, tmp_path / "b.parquet")
        found = aggregate(tmp_path / "b.parquet", channel=channel).evidence
        assert (found.n_observations, found.sources) == (0, NO_SOURCES)
        assert len(Reports.from_arrow(channel, table)) == 0


def test_what_from_arrow_refuses() -> None:
    bits = PerValue(3, 4)
    for table, words in (
        ({"bits": [b"\1", None]}, "report 1: it has no value in column 'bits'"),
        ({"bits": [b"\1", b""]}, "report 1: it has 0 bytes"),
        ({"bits": [b"\x09"]}, "report 0 has bits set beyond its 3"),
        ({"bits": [1]}, "column 'bits' is int64; allowed: fixed_size_binary"),
        ({"other": [1]}, "column 'bits' is not there"),
    ):
        with pytest.raises(InputError, match=words):
            Reports.from_arrow(bits, pa.table(table))
    with pytest.raises(InputError, match="report 1: its answer is 'maybe'; allowed"):
        Reports.from_arrow(WARNER, pl.DataFrame({"answer": ["yes", "maybe"]}))
