"""Files of reports: what is written is read back; what is bad is told by file, line and reason, or counted."""

from __future__ import annotations

import json
import os
import re
import tracemalloc
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from askance import CoordinateRelease, Direct, PerValue, RandomizedResponse, StatisticsTally, Tally, Warner, load, save
from askance._arrays import AnyArray
from askance.channels import AnyChannel, Reports, StatisticsChannel, entries
from askance.errors import AskanceError, FormatError, IncompatibleEvidenceError, InputError, ShapeError
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
from askance.formats.container import pack, unpack
from askance.formats.report_schema import LONGEST_ID, ReportSchema, json_line

from .golden.contents import FOLDER, golden_reports, golden_states

EXAMPLES = {
    f"{entry.kind}-{number}": entry.build(example)
    for entry in entries(None)
    for number, example in enumerate(entry.examples)
}
STATISTICS = {name: channel for name, channel in EXAMPLES.items() if isinstance(channel, StatisticsChannel)}
SUFFIXES = ("jsonl", "parquet")
every_channel = pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES.keys())
both_formats = pytest.mark.parametrize("suffix", SUFFIXES)


@cache
def truths(channel: AnyChannel, n: int) -> AnyArray:
    """Valid truth of n respondents: the two that are hardest to tell apart, or all outputs."""
    rng = np.random.default_rng(5)
    if isinstance(channel, StatisticsChannel):
        pair = np.concatenate(channel.worst_pair())
        return np.asarray(pair[rng.integers(0, 2, n)])
    return channel.outputs.decode(rng.integers(0, len(channel.outputs), n))


@cache
def some_reports(channel: AnyChannel, n: int = 40) -> Any:
    return channel.simulate(truths(channel, n), np.random.default_rng(n))


def same(left: Any, right: Any) -> bool:
    if isinstance(left, Reports):
        return bool(left == right)
    return bool(left.dtype == right.dtype) and np.array_equal(left, right)


def evidence_of(channel: AnyChannel, reports: Any) -> Tally | StatisticsTally:
    if isinstance(channel, StatisticsChannel):
        return StatisticsTally(channel).add(reports)
    return Tally(channel).add(reports)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


# -- a validator of the part of JSON Schema that the published schema uses ---------------------------------------------

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda kinds, value: any(TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)),
    "const": lambda wanted, value: type(value) is type(wanted) and value == wanted,
    "enum": lambda wanted, value: any(type(value) is type(each) and value == each for each in wanted),
    "pattern": lambda pattern, value: not isinstance(value, str) or re.search(pattern, value) is not None,
    "minLength": lambda size, value: not isinstance(value, str) or len(value) >= size,
    "maxLength": lambda size, value: not isinstance(value, str) or len(value) <= size,
    "minimum": lambda low, value: not TYPES["number"](value) or value >= low,
    "maximum": lambda high, value: not TYPES["number"](value) or value <= high,
    "minItems": lambda size, value: not isinstance(value, list) or len(value) >= size,
    "maxItems": lambda size, value: not isinstance(value, list) or len(value) <= size,
    "minProperties": lambda size, value: not isinstance(value, dict) or len(value) >= size,
    "required": lambda names, value: not isinstance(value, dict) or set(names) <= set(value),
}
NOTES = ("$schema", "$defs", "title", "description")


def satisfies(schema: Any, value: Any, root: Any) -> bool:
    """Whether a JSON value satisfies a schema; a keyword that is not known here is an error of the test."""
    if isinstance(schema, bool):
        return schema
    for keyword, given_value in schema.items():
        if keyword in NOTES:
            continue
        if keyword == "$ref":
            inner = root
            for part in given_value.removeprefix("#/").split("/"):
                inner = inner[part]
            good = satisfies(inner, value, root)
        elif keyword == "oneOf":
            good = sum(satisfies(each, value, root) for each in given_value) == 1
        elif keyword == "items":
            good = not isinstance(value, list) or all(satisfies(given_value, each, root) for each in value)
        elif keyword == "properties":
            good = not isinstance(value, dict) or all(
                satisfies(each, value[name], root) for name, each in given_value.items() if name in value
            )
        elif keyword == "propertyNames":
            good = not isinstance(value, dict) or all(satisfies(given_value, name, root) for name in value)
        elif keyword == "additionalProperties":
            others = set(value) - set(schema["properties"]) if isinstance(value, dict) else set()
            good = all(satisfies(given_value, value[name], root) for name in others)
        else:
            good = CHECKS[keyword](given_value, value)
        if not good:
            return False
    return True


PUBLISHED = json.loads((FOLDER.parents[1] / "docs" / "schemas" / "reports-1.schema.json").read_text(encoding="utf-8"))


def is_published(line: str) -> bool:
    return satisfies(PUBLISHED, json.loads(line), PUBLISHED)


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


# -- golden files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(golden_reports()))
def test_golden_reports(name: str, tmp_path: Path) -> None:
    golden = golden_reports()[name]
    n = len(golden.reports)
    for suffix in SUFFIXES:
        parts = list(iterate_reports(FOLDER / f"{name}.{suffix}"))
        ids = [id for reports, some in parts for id in (some or [None] * len(reports))]
        assert ids == list(golden.ids or [None] * n)
        again = read_reports(FOLDER / f"{name}.{suffix}")
        if isinstance(golden.reports, Reports):
            assert again == golden.reports
        else:
            assert again.tolist() == golden.reports  # type: ignore[union-attr]
    lines = lines_of(FOLDER / f"{name}.jsonl")
    assert [line for line in lines if not is_published(line)] == []
    write_reports(tmp_path / "a.jsonl", golden.reports, channel=golden.channel, ids=golden.ids)
    assert (tmp_path / "a.jsonl").read_bytes() == (FOLDER / f"{name}.jsonl").read_bytes()


@pytest.mark.parametrize("name", list(golden_states()))
def test_golden_state(name: str, tmp_path: Path) -> None:
    state = golden_states()[name]
    assert load(FOLDER / name) == state
    save(state, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes()


def test_no_golden_file_is_forgotten() -> None:
    kept = {path.name for path in FOLDER.iterdir() if path.suffix in (".statistics", ".jsonl", ".parquet")}
    assert kept == {*golden_states(), *(f"{name}.{suffix}" for name in golden_reports() for suffix in SUFFIXES)}


# -- states ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", STATISTICS.values(), ids=STATISTICS.keys())
def test_state_round_trip(channel: StatisticsChannel, tmp_path: Path) -> None:
    tally = StatisticsTally(channel).add(some_reports(channel))
    save(tally, tmp_path / "a.state")
    again = load(tmp_path / "a.state")
    assert again == tally
    assert isinstance(again, StatisticsTally)
    assert again.channel.specification() == channel.specification()
    save(again, tmp_path / "b.state")
    assert (tmp_path / "b.state").read_bytes() == (tmp_path / "a.state").read_bytes()
    header, payload = unpack((tmp_path / "a.state").read_bytes(), "a")
    assert len(payload) == 8 * header["sums"] == 8 * channel.sums_size
    assert header["n"] == 40


def test_every_damage_of_a_state_is_noticed(tmp_path: Path) -> None:
    data, path = (FOLDER / "per_value.statistics").read_bytes(), tmp_path / "state"
    for position in range(0, len(data), 3):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        for damaged in (bytes(flipped), data[:position]):
            path.write_bytes(damaged)
            with pytest.raises(FormatError, match="state"):
                load(path)


def repacked(**changes: Any) -> bytes:
    header, payload = unpack((FOLDER / "per_value.statistics").read_bytes(), "original")
    payload = changes.pop("payload", payload)
    kept = {key: value for key, value in (header | changes).items() if key not in ("payload_bytes", "sha256")}
    return pack(kept, payload)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"payload": b"12345678"}, "6 sums"),
        ({"payload": b"12345678", "sums": 1}, "shape (1,)"),
        ({"n": -1}, "n_observations is -1"),
        ({"n": 5}, "allowed for 5 reports"),
        ({"n": 2.5}, "'n'"),
        ({"sums": True}, "'sums'"),
        ({"fingerprint": "0" * 64}, "thresholds"),
        ({"channel": PerValue(6, 2).specification()}, "thresholds"),
        ({"channel": Warner("2/3").specification()}, "answers"),
        ({"channel": {"kind": "tarot"}}, "'tarot'"),
        ({"channel": None}, "'channel'"),
    ],
)
def test_foreign_states_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    path.write_bytes(repacked(**changes))
    with pytest.raises(FormatError) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert words in str(caught.value)


def test_reports_are_no_state() -> None:
    for suffix in SUFFIXES:
        with pytest.raises(FormatError, match="not a state") as caught:
            load(FOLDER / f"per_value.{suffix}")
        assert "askance aggregate" in caught.value.remedy


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
    assert found.evidence == twice.merge(twice)  # type: ignore[arg-type]


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

BITS = PerValue(6, 1)
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
        (with_column("bits", pa.array([b"\0", b"\1", b"\2"], pa.binary())), "fixed_size_binary[1]"),
        (with_column("bits", pa.array([b"\0\0", b"\1\0", b"\2\0"], pa.binary(2))), "fixed_size_binary[1]"),
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
    with pytest.raises(FormatError, match="cannot read"):
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
    assert found.evidence == StatisticsTally(BITS, [1, 0, 0, 0, 0, 0], 1)


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
            write_reports(paths[-1], reports[start:stop], channel=channel)
    save(aggregate(data.draw(st.permutations(paths))).evidence, folder / "parts.state")
    save(evidence_of(channel, reports), folder / "whole.state")
    assert (folder / "parts.state").read_bytes() == (folder / "whole.state").read_bytes()


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
    monkeypatch.setattr(report_lines, "MOST_REPORTS", 1 << 10)
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
