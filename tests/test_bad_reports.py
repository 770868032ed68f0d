"""What is bad in a file of reports is told by file, line and reason, or counted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from askance import CoordinateRelease, Direct, PerValue, RandomizedResponse, Tally, Warner
from askance.channels import AnyChannel
from askance.errors import AskanceError, FormatError
from askance.formats import (
    aggregate,
    iterate_reports,
    read_reports,
    write_reports,
)
from askance.formats.report_schema import ReportSchema, json_line

from .report_examples import (
    BITS,
    EXAMPLES,
    evidence_of,
    lines_of,
    same,
    some_reports,
)

# -- files that were cut and concatenated ------------------------------------------------------------------------------


def test_concatenated_files(tmp_path: Path) -> None:
    channel, path = PerValue(9, 1), tmp_path / "all.jsonl"
    reports = some_reports(channel, 60)
    parts = [reports[:20], reports[20:20], reports[20:21], reports[21:]]
    data = b""
    for i, part in enumerate(parts):
        write_reports(tmp_path / f"{i}.jsonl", part)
        data += (tmp_path / f"{i}.jsonl").read_bytes()
    path.write_bytes(data)
    assert read_reports(path) == reports
    path.write_bytes(data.replace(b"\n", b"\r\n") + b"\n \n")  # as some editors leave it
    assert read_reports(path) == reports


def test_another_channel_in_the_middle(tmp_path: Path) -> None:
    here, there = PerValue(6, 1), PerValue(6, 2)
    write_reports(tmp_path / "a.jsonl", some_reports(here, 10))
    write_reports(tmp_path / "b.jsonl", some_reports(there, 7))
    a, b = (tmp_path / "a.jsonl").read_bytes(), (tmp_path / "b.jsonl").read_bytes()
    path = tmp_path / "c.jsonl"
    path.write_bytes(a + b + a)
    with pytest.raises(FormatError, match=r"c\.jsonl, line 12: .*'per-value'") as caught:
        aggregate(path)
    assert "skip" in caught.value.remedy
    found = aggregate(path, skip_bad=True)
    assert found.refused == {"another channel": 7}
    assert "line 13" in found.first_refused["another channel"]
    twice = evidence_of(here, some_reports(here, 10))
    assert found.evidence == twice.merge(twice)


def test_lines_cut_anywhere(tmp_path: Path) -> None:
    """Whatever is left are the first reports as they were; half a report is refused."""
    channel, path = Warner("2/3"), tmp_path / "a.jsonl"
    reports = some_reports(channel, 4)
    write_reports(path, reports, channel=channel)
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    for length in range(len(data)):
        path.write_bytes(data[:length])
        if length < first - 1:
            with pytest.raises(FormatError, match=r"a\.jsonl"):
                aggregate(path, skip_bad=True)
            continue
        whole = data[:length].count(b"}\n", first) + (length > first and data[:length].endswith(b"}"))
        found = aggregate(path, skip_bad=True)
        assert found.evidence == evidence_of(channel, reports[:whole])
        cut = length > first and not data[:length].endswith((b"}", b"\n"))
        assert found.refused == ({"malformed": 1} if cut else {})
        if cut:
            with pytest.raises(FormatError, match=rf"a\.jsonl, line {2 + whole}: it is truncated"):
                aggregate(path)


def test_parquet_cut_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_reports(path, some_reports(CoordinateRelease(300, 1)))
    data = path.read_bytes()
    for length in range(0, len(data), 23):
        path.write_bytes(data[:length])
        for skip in (False, True):
            with pytest.raises(FormatError, match=r"a\.parquet"):
                aggregate(path, skip)


def test_flipped_bits_of_parquet_are_noticed(tmp_path: Path) -> None:
    """Pages have checksums: nothing is read that was not written."""
    channel, path = PerValue(64, 1), tmp_path / "a.parquet"
    reports = some_reports(channel, 50)
    write_reports(path, reports)
    data = path.read_bytes()
    noticed = 0
    for position in range(4, len(data), 11):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        try:
            assert read_reports(path) == reports
        except AskanceError as error:
            noticed += "a.parquet" in str(error)
    assert noticed > len(data) / 11 * 0.4


# -- bad reports -------------------------------------------------------------------------------------------------------

SUBSET = next(channel for channel in EXAMPLES.values() if channel.kind == "subset-selection")
CLIQUE = next(channel for channel in EXAMPLES.values() if channel.kind == "clique-release")
HYBRID = next(channel for name, channel in EXAMPLES.items() if name == "hybrid-1")
SEEDED = next(channel for channel in EXAMPLES.values() if channel.kind == "ball-release")
CODES = RandomizedResponse("1/2", outputs=4)
BAD_LINES: dict[str, tuple[AnyChannel, str, str, str]] = {
    "not JSON": (BITS, "{bits}", "malformed", "not JSON"),
    "two reports in a line": (BITS, '{"channel":"TAG","bits":"00"}{"channel":"TAG","bits":"00"}', "malformed", "JSON"),
    "half of two lines": (BITS, '{"channel":"TAG"', "malformed", "not JSON"),
    "NaN": (BITS, '{"channel":"TAG","bits":NaN}', "malformed", "NaN"),
    "a field twice": (BITS, '{"channel":"TAG","bits":"00","bits":"01"}', "malformed", "twice"),
    "a list": (BITS, '["TAG","00"]', "malformed", "an object"),
    "a number": (BITS, "17", "malformed", "an object"),
    "nested without end": (BITS, "[" * 100_000, "malformed", "JSON"),
    "no channel": (BITS, '{"bits":"00"}', "malformed", "'channel'"),
    "another channel": (BITS, '{"channel":"0123456789abcdef","bits":"00"}', "another channel", "'0123456789abcdef'"),
    "a channel of no text": (BITS, '{"channel":7,"bits":"00"}', "another channel", "7"),
    "no bits": (BITS, '{"channel":"TAG"}', "malformed", "'bits'"),
    "an unknown field": (BITS, '{"channel":"TAG","bits":"00","age":3}', "malformed", "'age'"),
    "too few bits": (BITS, '{"channel":"TAG","bits":"0"}', "malformed", "2 hexadecimal"),
    "too many bits": (BITS, '{"channel":"TAG","bits":"0000"}', "malformed", "2 hexadecimal"),
    "capital digits": (BITS, '{"channel":"TAG","bits":"0F"}', "malformed", "hexadecimal"),
    "no digits": (BITS, '{"channel":"TAG","bits":"é0"}', "malformed", "hexadecimal"),
    "bits as a number": (BITS, '{"channel":"TAG","bits":0}', "malformed", "hexadecimal"),
    "bits beyond the last": (BITS, '{"channel":"TAG","bits":"40"}', "malformed", "beyond its 6"),
    "an empty id": (BITS, '{"id":"","channel":"TAG","bits":"00"}', "malformed", "an id is ''"),
    "an id of no text": (BITS, '{"id":7,"channel":"TAG","bits":"00"}', "malformed", "an id is 7"),
    "half a character": (BITS, '{"id":"\\ud800","channel":"TAG","bits":"00"}', "malformed", "an id is"),
    "a long id": (BITS, f'{{"id":"{"x" * 1025}","channel":"TAG","bits":"00"}}', "malformed", "1024"),
    "another version": (BITS, '{"askance":"reports/2","channel":{},"fingerprint":""}', "malformed", "'reports/2'"),
    "a state": (BITS, '{"askance":"tally/1"}', "malformed", "'tally/1'"),
    "an endless line": (BITS, " " * 100_000 + "x", "malformed", "JSON"),
    "number out of range": (CODES, '{"channel":"TAG","answer":4}', "malformed", "0 to 3"),
    "a negative number": (CODES, '{"channel":"TAG","answer":-1}', "malformed", "0 to 3"),
    "a fraction": (CODES, '{"channel":"TAG","answer":1.5}', "malformed", "whole number"),
    "a boolean for a number": (CODES, '{"channel":"TAG","answer":true}', "malformed", "whole number"),
    "a huge number": (CODES, f'{{"channel":"TAG","answer":1{"0" * 50}}}', "malformed", "0 to 3"),
    "a number without end": (CODES, f'{{"channel":"TAG","answer":1{"0" * 5000}}}', "malformed", "JSON"),
    "an unknown label": (Warner("2/3"), '{"channel":"TAG","answer":"maybe"}', "malformed", "'maybe'"),
    "no label": (Warner("2/3"), '{"channel":"TAG","answer":null}', "malformed", "None"),
    "a list for a label": (Warner("2/3"), '{"channel":"TAG","answer":["yes"]}', "malformed", "['yes']"),
    "a boolean for a label": (Direct([1, 5]), '{"channel":"TAG","answer":true}', "malformed", "True"),
    "too many labels": (SUBSET, '{"channel":"TAG","subset":"0f"}', "malformed", "line 3"),
    "an impossible table": (CLIQUE, '{"channel":"TAG","clique":1,"subset":"3f"}', "malformed", "line 3"),
    "an unknown table": (CLIQUE, '{"channel":"TAG","clique":9,"subset":"01"}', "malformed", "0 to 1"),
    "a short list": (HYBRID, '{"channel":"TAG","coordinates":[0],"values":[0,0]}', "malformed", "list of 2"),
    "a list of texts": (HYBRID, '{"channel":"TAG","coordinates":["0","1"],"values":[0,0]}', "malformed", "list of 2"),
    "a number for a list": (HYBRID, '{"channel":"TAG","coordinates":0,"values":[0,0]}', "malformed", "list of 2"),
    "a list out of range": (HYBRID, '{"channel":"TAG","coordinates":[0,9],"values":[0,0]}', "malformed", "0 to 2"),
    "a short seed": (SEEDED, '{"channel":"TAG","seed":"00","choice":0}', "malformed", "16 hexadecimal"),
    "a seed as a number": (SEEDED, '{"channel":"TAG","seed":7,"choice":0}', "malformed", "16 hexadecimal"),
}


@pytest.mark.parametrize(("channel", "line", "reason", "words"), BAD_LINES.values(), ids=list(BAD_LINES))
def test_bad_lines(channel: AnyChannel, line: str, reason: str, words: str, tmp_path: Path) -> None:
    path, reports = tmp_path / "a.jsonl", some_reports(channel, 5)
    write_reports(path, reports, channel=channel)
    lines = lines_of(path)
    lines.insert(2, line.replace("TAG", channel.fingerprint[:16]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        aggregate(path)
    message = str(caught.value)
    assert [word for word in (str(path), "line 3", words) if word not in message] == []
    assert caught.value.remedy
    assert len(message) < 500
    assert "\n" not in message
    with pytest.raises(FormatError, match="line 3"):
        read_reports(path)
    found = aggregate(path, skip_bad=True)
    assert found.refused == {reason: 1}
    assert "line 3" in found.first_refused[reason]
    assert found.evidence == evidence_of(channel, reports)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path, reports = tmp_path / "a.jsonl", some_reports(BITS, 5)
    write_reports(path, reports, ids=["é", *"abcd"])
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff"))
    with pytest.raises(FormatError, match="line 2: it is not UTF-8"):
        aggregate(path)
    found = aggregate(path, skip_bad=True)
    assert found.refused == {"malformed": 1}
    assert found.evidence == evidence_of(BITS, reports[1:])


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the table of a Parquet file and keep its header."""
    table = parquet.read_table(path)
    parquet.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)


def with_column(name: str, values: Any) -> Callable[[Any], Any]:
    def change(table: Any) -> Any:
        if name not in table.column_names:
            return table.append_column(name, values)
        return table.set_column(table.column_names.index(name), name, values)

    return change


BAD_ROWS: dict[str, tuple[AnyChannel, str, Any, str]] = {
    "no bits": (BITS, "bits", pa.array([b"\0", None, b"\1"], pa.binary(1)), "no value in column 'bits'"),
    "bits beyond": (BITS, "bits", pa.array([b"\0", b"\x40", b"\1"], pa.binary(1)), "beyond its 6"),
    "no answer": (Warner("2/3"), "answer", pa.array(["no", None, "yes"]), "no value in column 'answer'"),
    "an unknown answer": (Warner("2/3"), "answer", pa.array(["no", "maybe", "yes"]), "'maybe'"),
    "out of range": (CODES, "answer", pa.array([0, 4, 3], pa.int64()), "0 to 3"),
    "below zero": (CODES, "answer", pa.array([0, -1, 3], pa.int8()), "0 to 3"),
    "beyond 63 bits": (CODES, "answer", pa.array([0, 2**63 + 1, 3], pa.uint64()), "0 to 3"),
    "too few bytes": (BITS, "bits", pa.array([b"\0", b"", b"\1"], pa.binary()), "0 bytes in column 'bits'"),
    "bytes beyond": (BITS, "bits", pa.array([b"\0", b"\0\1", b"\1\0"], pa.large_binary()), "2 bytes in column 'bits'"),
    "fixed bytes beyond": (BITS, "bits", pa.array([b"\0\0", b"\0\1", b"\1\0"], pa.binary(2)), "2 bytes in"),
    "a list too long": (HYBRID, "coordinates", pa.array([[0, 1], [0, 1, 2], [0, 2]]), "3 numbers in column"),
    "impossible": (SUBSET, "subset", pa.array([b"\1", b"\x0f", b"\2"], pa.binary(1)), "row 2"),
    "an empty id": (BITS, "id", pa.array(["a", "", "b"]), "an id is ''"),
    "no list": (
        HYBRID,
        "coordinates",
        pa.array([[0, 1], None, [0, 2]], pa.list_(pa.uint8(), 2)),
        "no value in column 'coordinates'",
    ),
    "a gap in a list": (
        HYBRID,
        "coordinates",
        pa.array([[0, 1], [0, None], [0, 2]], pa.list_(pa.uint8(), 2)),
        "no value in column 'coordinates'",
    ),
}


@pytest.mark.parametrize(("channel", "name", "values", "words"), BAD_ROWS.values(), ids=list(BAD_ROWS))
def test_bad_rows(channel: AnyChannel, name: str, values: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_reports(path, some_reports(channel, 3), channel=channel)
    rewrite(path, with_column(name, values))
    with pytest.raises(FormatError) as caught:
        aggregate(path)
    assert [word for word in (str(path), "row 2", words) if word not in str(caught.value)] == []
    found = aggregate(path, skip_bad=True)
    assert found.refused == {"malformed": 1}
    assert "row 2" in found.first_refused["malformed"]
    assert found.evidence.n_observations == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop_columns("bits"), "no column 'bits'"),
        (with_column("age", pa.array([1, 2, 3])), "unknown column 'age'"),
        (with_column("id", pa.array([1, 2, 3])), "'id'"),
        (with_column("bits", pa.array([1, 2, 3])), "fixed_size_binary[1]"),
    ],
)
def test_parquet_of_another_shape(change: Callable[[Any], Any], words: str, tmp_path: Path) -> None:
    """A table as a whole that is not what its header says is no matter of single reports."""
    path = tmp_path / "a.parquet"
    write_reports(path, some_reports(BITS, 3))
    rewrite(path, change)
    for skip in (False, True):
        with pytest.raises(FormatError) as caught:
            aggregate(path, skip)
        assert words in str(caught.value)
        assert str(path) in str(caught.value)


def test_parquet_by_other_programs(tmp_path: Path) -> None:
    """Wider integers and long texts will do: what they hold is checked."""
    path, channel = tmp_path / "a.parquet", CoordinateRelease(4, 1)
    reports = some_reports(channel, 9)
    write_reports(path, reports)
    rewrite(path, with_column("coordinate", pa.array(reports.columns["coordinate"].astype(np.int64))))
    assert read_reports(path) == reports
    write_reports(path, ["yes", "no"], channel=Warner("2/3"), ids=["a", "b"])
    rewrite(path, with_column("answer", pa.array(["yes", "no"], pa.large_string())))
    assert read_reports(path).tolist() == ["yes", "no"]  # type: ignore[union-attr]


HEADERS: dict[str, tuple[bytes, str]] = {
    "no header": (b'{"channel":"0123456789abcdef","bits":"00"}\n', "no file of reports"),
    "another version": (b'{"askance":"reports/2","channel":{},"fingerprint":""}\n', "'reports/2'"),
    "not JSON": (b'{"askance":"reports/1"\n', "no header"),
    "cut": (b'{"askance":"reports/1"', "truncated"),
    "no channel": (b'{"askance":"reports/1"}\n', "'channel'"),
    "a channel of texts": (b'{"askance":"reports/1","channel":"warner","fingerprint":""}\n', "'warner'"),
    "unknown channel": (b'{"askance":"reports/1","channel":{"kind":"tarot"},"fingerprint":""}\n', "'tarot'"),
    "no fingerprint": (b'{"askance":"reports/1","channel":{"kind":"warner"}}\n', "'fingerprint'"),
    "another fingerprint": (
        b'{"askance":"reports/1","channel":{"kind":"warner","question":"2/3"},"fingerprint":"00"}\n',
        "thresholds",
    ),
    "more fields": (b'{"askance":"reports/1","channel":{},"fingerprint":"","seed":1}\n', "'seed'"),
    "not text": (b'{"askance":"reports/1","channel":"\xff"}\n', "no header"),
    "nothing": (b"", "no file of reports"),
    "a table": (b"PAR1", "damaged"),
}


@pytest.mark.parametrize(("data", "words"), HEADERS.values(), ids=list(HEADERS))
def test_bad_headers_stop_everything(data: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read_reports(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    with pytest.raises(FormatError):
        aggregate(path, skip_bad=True)


def test_tables_of_others_are_no_reports(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for metadata, words in ((None, "no 'askance'"), ({"askance": "{"}, "not JSON"), ({"askance": "[]"}, "[]")):
        parquet.write_table(pa.table({"bits": [1]}).replace_schema_metadata(metadata), path)
        with pytest.raises(FormatError, match=re.escape(words)):
            aggregate(path, skip_bad=True)
    with pytest.raises(FormatError, match="cannot read"):
        aggregate(tmp_path / "missing.jsonl")
    with pytest.raises(FormatError, match=r"no 'askance'|not JSON|\[\]"):
        aggregate(tmp_path)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_reports(path, some_reports(BITS))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_reports(path) == some_reports(BITS)


SPELLINGS: tuple[Callable[[Any], str], ...] = (
    json.dumps,
    lambda line: json.dumps(line, ensure_ascii=False),
    lambda line: json.dumps(dict(reversed(line.items()))) + "\r",
    lambda line: "\t" + json.dumps(line, indent=1).replace("\n", " "),
)


def test_other_spellings_of_the_same_lines(tmp_path: Path) -> None:
    """Order of fields, blanks and escapes do not matter; both ways of reading agree."""
    for channel in (*{channel.kind: channel for channel in EXAMPLES.values()}.values(), Direct(["né", 'a"b'])):
        path, reports = tmp_path / "a.jsonl", some_reports(channel)
        ids = [f"né-{i}" for i in range(len(reports))]
        write_reports(path, reports, channel=channel, ids=ids)
        header, *lines = map(json.loads, lines_of(path))
        for write in SPELLINGS:
            text = "".join(f"{write(line)}\n" for line in lines)  # of a header "askance" is the first field
            path.write_text(json.dumps(header) + "\n" + text, encoding="utf-8", newline="")
            assert same(read_reports(path), reports)
            assert [id for _, some in iterate_reports(path) for id in some or ()] == ids


@settings(max_examples=40, deadline=None)
@given(
    garbage=st.lists(st.binary(min_size=1, max_size=40).filter(lambda data: b"\n" not in data), max_size=5),
    positions=st.lists(st.integers(0, 8), min_size=5, max_size=5),
)
def test_garbage_between_lines(
    garbage: list[bytes], positions: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "garbage.jsonl"
    write_reports(path, some_reports(BITS, 8))
    lines = path.read_bytes().splitlines()
    for data, position in zip(garbage, positions, strict=False):
        lines.insert(1 + position, data)
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = aggregate(path, skip_bad=True)
    assert found.evidence == evidence_of(BITS, some_reports(BITS, 8))
    blank = sum(not data.strip(b" \t\r") for data in garbage)
    assert sum(found.refused.values()) == len(garbage) - blank


def test_many_impossible_reports(tmp_path: Path) -> None:
    path, channel = tmp_path / "a.jsonl", CODES
    lines = [f'{{"channel":"{channel.fingerprint[:16]}","answer":{i % 7}}}' for i in range(700)]
    path.write_text("\n".join([json_line(ReportSchema(channel).header()).strip(), *lines]))
    found = aggregate(path, skip_bad=True)
    assert found.refused == {"malformed": 300}
    assert isinstance(found.evidence, Tally)
    assert found.evidence.counts.tolist() == [100] * 4
    with pytest.raises(FormatError, match="line 6: it has"):
        aggregate(path)
