"""Files of reports: what is written is read back, in every format, and adds up however it is split."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from askance import CoordinateRelease, Direct, PerValue, RandomizedResponse, Tally, Warner, save
from askance.channels import AnyChannel
from askance.errors import FormatError, IncompatibleEvidenceError, InputError, ShapeError
from askance.formats import (
    aggregate,
    iterate_reports,
    line_schema,
    read_reports,
    report_lines,
    report_schema,
    report_writer,
    write_reports,
)
from askance.formats.container import unpack
from askance.formats.report_schema import LONGEST_ID, ReportSchema, json_line

from .golden.contents import FOLDER
from .report_examples import (
    BITS,
    EXAMPLES,
    STATISTICS,
    SUFFIXES,
    both_formats,
    every_channel,
    evidence_of,
    is_published,
    lines_of,
    same,
    satisfies,
    some_reports,
    truths,
)


def test_the_published_schema_refuses() -> None:
    tag = "0123456789abcdef"
    header = {"askance": "reports/1", "channel": {"kind": "warner"}, "fingerprint": 4 * tag}
    good = [header, {"channel": tag, "answer": True}, {"id": "a", "channel": tag, "bits": "0f", "few": [1, 2]}]
    bad: list[Any] = [
        *([], 3, {}, {"channel": tag}, {"answer": 1}, {**header, "askance": "reports/2"}, {**header, "more": 1}),
        *({"channel": tag[:-1], "answer": 1}, {"channel": tag, "answer": None}, {"channel": tag, "bits": "0F"}),
        *({"channel": tag, "bits": "0"}, {"channel": tag, "few": -1}, {"channel": tag, "few": [1.5]}),
        *({"id": "", "channel": tag, "few": 1}, {"id": 7, "channel": tag, "few": 1}, {"channel": tag, "few": []}),
        {k: v for k, v in header.items() if k != "fingerprint"},
    ]
    assert [content for content in good if not is_published(json.dumps(content))] == []
    assert [content for content in bad if is_published(json.dumps(content))] == []


# -- round trips -------------------------------------------------------------------------------------------------------


@every_channel
@both_formats
def test_round_trip(channel: AnyChannel, suffix: str, tmp_path: Path) -> None:
    path, reports = tmp_path / f"a.{suffix}", some_reports(channel)
    write_reports(path, reports, channel=channel)
    again = read_reports(path)
    assert same(again, reports)
    assert all(ids is None for _, ids in iterate_reports(path))
    found = aggregate(path)
    assert found.evidence == evidence_of(channel, reports)
    assert found.evidence.channel.specification() == channel.specification()
    assert (found.refused, found.first_refused) == ({}, {})
    ids = [f"né{i}" if i % 3 else None for i in range(len(reports))]
    write_reports(path, reports, channel=channel, ids=ids)
    assert same(read_reports(path), reports)
    assert [id for _, some in iterate_reports(path) for id in some or ()] == ids


@every_channel
def test_fresh_lines_satisfy_the_schemas(channel: AnyChannel, tmp_path: Path) -> None:
    path, reports = tmp_path / "a.jsonl", some_reports(channel)
    write_reports(path, reports, channel=channel, ids=[str(i) for i in range(len(reports))])
    own = line_schema(channel)
    header, *lines = lines_of(path)
    assert is_published(header)
    assert not satisfies(own, json.loads(header), own)
    for line in lines:
        assert is_published(line)
        assert satisfies(own, json.loads(line), own)


@every_channel
def test_a_device_sends_such_lines(channel: AnyChannel, tmp_path: Path) -> None:
    path, schema = tmp_path / "a.jsonl", ReportSchema(channel)
    truth = truths(channel, 5)
    records = [schema.record(channel.randomize_one(each), f"r{i}") for i, each in enumerate(truth.tolist())]
    path.write_text(json_line(schema.header()) + "".join(map(json_line, records)), encoding="utf-8")
    assert len(read_reports(path)) == 5
    assert all(is_published(line) for line in lines_of(path))
    again = tmp_path / "b.jsonl"
    write_reports(again, read_reports(path), channel=channel, ids=[f"r{i}" for i in range(5)])
    assert again.read_bytes() == path.read_bytes()


@both_formats
def test_no_reports_at_all(suffix: str, tmp_path: Path) -> None:
    for channel in (PerValue(6, 1), Warner("2/3"), RandomizedResponse("1/2", outputs=4)):
        path = tmp_path / f"a.{suffix}"
        write_reports(path, some_reports(channel, 0), channel=channel)
        assert same(read_reports(path), some_reports(channel, 0))
        assert aggregate(path).evidence == evidence_of(channel, some_reports(channel, 0))


@both_formats
@pytest.mark.parametrize("width", [1, 7, 8, 9, 63, 64, 65, 128, 1000])
def test_every_width_of_bits(width: int, suffix: str, tmp_path: Path) -> None:
    channel = PerValue(width, 1)
    reports = channel.simulate(np.random.default_rng(width).integers(0, 2, (20, width)), np.random.default_rng(1))
    write_reports(tmp_path / f"a.{suffix}", reports)
    assert read_reports(tmp_path / f"a.{suffix}") == reports
    if suffix == "parquet":
        assert parquet.read_schema(tmp_path / "a.parquet").field("bits").type == pa.binary(-(-width // 8))


LABELS: list[list[Any]] = [
    *(["é", "ü"], ['a "b"', "c\\d"], ["a\nb", "a\tb"], ["", " "], [1, "1"], [True, False], [0.1, -2.5]),
    *(["😀", "\u2028"], ["a\x7f", "\x85"], [-(2**63), 2**63 - 1], [2.0, 3.0], [True, 2.5, "three"], [5, 7, 9]),
]


@both_formats
@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_labels_survive(labels: list[Any], suffix: str, tmp_path: Path) -> None:
    channel, path = Direct(labels), tmp_path / f"a.{suffix}"
    write_reports(path, labels[::-1], channel=channel)
    again = read_reports(path).tolist()  # type: ignore[union-attr]
    assert again == labels[::-1]
    assert [type(label) for label in again] == [type(label) for label in labels[::-1]]


def test_types_of_parquet_columns(tmp_path: Path) -> None:
    def types(channel: AnyChannel) -> list[Any]:
        write_reports(tmp_path / "a.parquet", some_reports(channel), channel=channel)
        return list(parquet.read_schema(tmp_path / "a.parquet").types)

    assert types(CoordinateRelease(300, 1)) == [pa.uint16(), pa.uint8()]
    assert types(RandomizedResponse("1/2", outputs=4)) == [pa.uint8()]
    assert types(Warner("2/3")) == [pa.string()]
    assert types(Direct([True, False])) == [pa.bool_()]
    assert types(Direct([5, 7])) == [pa.int64()]
    assert types(Direct([0.5, 7.5])) == [pa.float64()]
    seen = {channel.kind: types(channel) for channel in STATISTICS.values()}
    assert seen["ball-release"][0] == pa.uint64()
    assert pa.types.is_fixed_size_list(seen["hybrid"][0])


def test_no_column_is_called_like_another_field() -> None:
    for channel in EXAMPLES.values():
        names = [column.name for column in ReportSchema(channel).columns]
        assert len({*names, "id", "channel", "askance"}) == len(names) + 3
        assert all(re.fullmatch("[a-z][a-z_]*", name) for name in names)


# -- ids ---------------------------------------------------------------------------------------------------------------


@both_formats
def test_ids_are_taken_once(suffix: str, tmp_path: Path) -> None:
    channel = Warner("2/3")
    a, b = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    write_reports(a, ["yes", "no", "no", "yes"], channel=channel, ids=["1", "2", None, "1"])
    write_reports(b, ["no", "no", "no"], channel=channel, ids=["2", None, "3"])
    with pytest.raises(FormatError, match=rf"a\.{suffix}, (line 5|row 4): its id '1' was seen before"):
        aggregate(a)
    with pytest.raises(FormatError, match="seen before"):
        read_reports(a)
    found = aggregate([a, b], skip_bad=True)
    assert found.refused == {"duplicate id": 2}
    assert found.evidence == Tally(channel, [4, 1])
    save(aggregate(b).evidence, tmp_path / "b.state")
    apart = aggregate([a, tmp_path / "b.state"], skip_bad=True)  # a state knows no ids
    assert apart.refused == {"duplicate id": 1}
    assert apart.evidence == Tally(channel, [5, 1])


def test_a_refused_report_does_not_use_its_id_up(tmp_path: Path) -> None:
    path, tag = tmp_path / "a.jsonl", BITS.fingerprint[:16]
    lines = [f'{{"id":"x","channel":"{tag}","bits":"{digits}"}}' for digits in ("ff", "zz", "01", "02")]
    path.write_text("\n".join([json_line(ReportSchema(BITS).header()).strip(), *lines]))
    found = aggregate(path, skip_bad=True)
    assert found.refused == {"malformed": 2, "duplicate id": 1}
    assert found.evidence == Tally(BITS, [1, 0, 0, 0, 0, 0], 1)


@pytest.mark.parametrize("wrong", ["", "x" * (LONGEST_ID + 1), "\ud800", 7])
@both_formats
def test_ids_that_cannot_be_written(wrong: Any, suffix: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an id is"):
        write_reports(tmp_path / f"a.{suffix}", ["yes", "no"], channel=Warner("2/3"), ids=["a", wrong])
    assert list(tmp_path.iterdir()) == []


# -- writing -----------------------------------------------------------------------------------------------------------


@both_formats
def test_nothing_half_written(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"a.{suffix}"
    write_reports(path, some_reports(BITS))
    old = path.read_bytes()

    def interrupted() -> None:
        with report_writer(path, BITS) as writer:
            writer.write(some_reports(BITS, 5))
            assert len(list(tmp_path.iterdir())) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(InputError, match="labels"):
        write_reports(path, some_reports(BITS), channel=Warner("2/3"))
    with pytest.raises(IncompatibleEvidenceError, match="another channel"):
        write_reports(path, some_reports(BITS), channel=PerValue(6, 2))
    with pytest.raises(ShapeError, match="2 ids"):
        write_reports(path, some_reports(BITS), ids=["a", "b"])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FormatError, match=r"cannot write .*No space left") as caught:
        write_reports(path, some_reports(BITS))
    assert "Make room" in caught.value.remedy
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_impossible_places_are_named(tmp_path: Path) -> None:
    (tmp_path / "file.jsonl").write_text("kept")
    (tmp_path / "folder.jsonl").mkdir()
    for name in ("file.jsonl/below.jsonl", "folder.jsonl", "missing/a.parquet"):
        with pytest.raises(FormatError, match="cannot write") as caught:
            write_reports(tmp_path / name, some_reports(BITS))
        assert name in str(caught.value)
    for name in ("a.csv", "a", "a.json"):
        with pytest.raises(InputError, match="no known kind") as found:
            write_reports(tmp_path / name, some_reports(BITS))
        assert ".parquet" in str(found.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.jsonl", "folder.jsonl"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_reports(path, some_reports(BITS))
    path.chmod(0o600)
    write_reports(path, some_reports(BITS))
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_write_reports_refuses(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(InputError, match="channel"):
        write_reports(path, ["yes", "no"])
    with pytest.raises(InputError, match="allowed: Reports"):
        write_reports(path, ["yes", "no"], channel=BITS)
    with pytest.raises(InputError, match="'maybe'"):
        write_reports(path, ["yes", "maybe"], channel=Warner("2/3"))
    with pytest.raises(InputError, match="allowed: a channel"):
        write_reports(path, ["yes"], channel="warner")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="without ids"), report_writer(path, BITS) as writer:
        writer.write(some_reports(BITS, 1), ["a"])
    assert list(tmp_path.iterdir()) == []


# -- adding up ---------------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_every_split_gives_the_same_state(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("split")
    channel = EXAMPLES[data.draw(st.sampled_from(sorted(EXAMPLES)))]
    reports = some_reports(channel)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(reports)), max_size=4)))
    paths = []
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(reports)], strict=True)):
        kind = data.draw(st.sampled_from([*SUFFIXES, "state"]))
        paths.append(folder / f"{i}.{kind}")
        if kind == "state":
            save(evidence_of(channel, reports[start:stop]), paths[-1])
        else:
            # Without ids two files of one report may be equal by chance, which is refused.
            write_reports(paths[-1], reports[start:stop], channel=channel, ids=list(map(str, range(start, stop))))
    evidence = aggregate(data.draw(st.permutations(paths))).evidence
    assert evidence == evidence_of(channel, reports)
    # The same files in any order are the same bytes; of their sums alone, any files are.
    save(evidence, folder / "parts.state")
    save(aggregate(data.draw(st.permutations(paths))).evidence, folder / "again.state")
    assert (folder / "parts.state").read_bytes() == (folder / "again.state").read_bytes()
    sums, payload = unpack((folder / "parts.state").read_bytes(), "parts")
    save(evidence_of(channel, reports), folder / "whole.state")
    whole, content = unpack((folder / "whole.state").read_bytes(), "whole")
    assert payload.startswith(content)
    assert sums["channel"] == whole["channel"]


def test_different_channels_do_not_mix(tmp_path: Path) -> None:
    here, there = PerValue(6, 1), PerValue(6, 2)
    for name, channel in (("a", here), ("b", there), ("w", Warner("2/3"))):
        for suffix in SUFFIXES:
            write_reports(tmp_path / f"{name}.{suffix}", some_reports(channel, 6), channel=channel)
        save(evidence_of(channel, some_reports(channel, 6)), tmp_path / f"{name}.state")
    kinds = (*SUFFIXES, "state")
    for first in kinds:
        for other in ("b", "w"):
            for second in kinds:
                paths = [tmp_path / f"a.{first}", tmp_path / f"{other}.{second}"]
                with pytest.raises((FormatError, IncompatibleEvidenceError)) as caught:
                    aggregate(paths)
                assert f"{other}.{second}" in str(caught.value)
                if second == "state":  # a state cannot be skipped
                    with pytest.raises(IncompatibleEvidenceError, match="one state per channel"):
                        aggregate(paths, skip_bad=True)
                    continue
                found = aggregate(paths, skip_bad=True)
                assert found.refused == {"another channel": 6}
                assert found.evidence == evidence_of(here, some_reports(here, 6))


def test_what_aggregate_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_reports("a.jsonl", some_reports(BITS))
    with pytest.raises(InputError, match="twice"):
        aggregate(["a.jsonl", tmp_path / "a.jsonl"])
    with pytest.raises(InputError, match="no files"):
        aggregate([])
    with pytest.raises(FormatError, match="holds a fit"):
        aggregate(["a.jsonl", FOLDER / "every_diagnostic.fit"])
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match=r"table\.csv"):
        aggregate("table.csv")
    told: list[str] = []
    aggregate(["a.jsonl"], doing=told.append)
    assert told == ["reading a.jsonl"]


# -- memory ------------------------------------------------------------------------------------------------------------


def streamed(path: Path) -> Iterator[int]:
    for reports, _ in iterate_reports(path):
        yield len(reports)


@both_formats
def test_memory_does_not_grow_with_reports(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_schema, "MOST_REPORTS", 1 << 10)
    monkeypatch.setattr(report_lines, "_COMPILED_FROM", 1 << 14)
    monkeypatch.setattr(report_lines, "_PIECE", 1 << 15)
    channel = PerValue(128, 4)
    piece = some_reports(channel, 1 << 11)

    def peak(times: int) -> tuple[int, int]:
        path, arrow = tmp_path / f"{times}.{suffix}", 0
        tracemalloc.start()
        with report_writer(path, channel) as writer:
            for _ in range(times):
                writer.write(piece)
        total = 0
        for count in streamed(path):
            total += count
            arrow = max(arrow, pa.total_allocated_bytes())
            assert count <= 1 << 10
        aggregate(path)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert total == times << 11
        return highest, arrow

    peak(1)  # whatever is loaded once
    few, many = peak(2), peak(16)
    assert many[0] < few[0] + (1 << 17)
    assert many[0] < 1 << 21
    assert many[1] < few[1] + (1 << 17)


def test_long_reports_are_held_few_at_a_time() -> None:
    assert ReportSchema(PerValue(128, 1)).rows_at_a_time == 1 << 16
    assert ReportSchema(PerValue(1 << 20, 1)).rows_at_a_time == 1 << 7
    assert ReportSchema(Warner("2/3")).rows_at_a_time == 1 << 16
