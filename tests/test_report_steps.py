"""Lines that are taken apart together say what strict JSON says of each, whatever is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import Direct, Warner
from askance._kernels import report_lines as kernel
from askance.channels import AnyChannel, Reports
from askance.errors import AskanceError
from askance.formats import aggregate, iterate_reports, report_lines, write_reports
from askance.formats.report_lines import _Line, _read_together
from askance.formats.report_schema import ReportSchema

from .report_examples import EXAMPLES, every_channel, some_reports

KINDS = list({channel.kind: channel for channel in EXAMPLES.values()}.values())
CHANGES = st.tuples(st.integers(0, 2000), st.integers(0, 255), st.sampled_from("=+-"))
STRANGE = Direct(["né", "a, b}", 'a"b', "", "😀", True, 2.5, -7])


def lines_with_ids(path: Path, channel: AnyChannel, reports: Any) -> list[bytes]:
    ids = [f"né-{i}" if i % 3 else None for i in range(len(reports))]
    write_reports(path, reports, channel=channel, ids=ids)
    return path.read_bytes().splitlines(keepends=True)


def told(path: Path, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All that is said of a file."""
    monkeypatch.setattr(report_lines, "_COMPILED_FROM", 0 if compiled else 1 << 30)
    said: list[Any] = []
    found = aggregate(path, skip_bad=True)
    said += [found.evidence, found.evidence.sources, found.refused, found.first_refused]
    try:
        said += [
            (reports.columns if isinstance(reports, Reports) else reports.tolist(), ids)
            for reports, ids in iterate_reports(path)
            if len(reports)
        ]
    except AskanceError as error:
        said.append(str(error))
    return [repr(part) for part in said]


@pytest.mark.parametrize("channel", [*EXAMPLES.values(), STRANGE], ids=[*EXAMPLES, "strange"])
def test_both_ways_agree(channel: AnyChannel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    labels = [*channel.observations] * 5 if channel is STRANGE else some_reports(channel)
    header, *lines = lines_with_ids(path, channel, labels)
    spaced = [line.replace(b":", b": ").replace(b",", b", ") for line in lines[:10]]
    twice = [line.replace(b":", b":  ") for line in lines[10:13]]
    cut, returned = [line[:-9] + b"\n" for line in lines[13:16]], [line[:-1] + b"\r\n" for line in lines[16:20]]
    odd = [
        b"\n",
        b" \t\r\n",
        b"\xff\n",
        b'{"id":"\xff","channel"\n',
        header,
        b"[]\n",
        b'"id":\n',
        b"{\n",
        b"{" * 40 + b"\n",
    ]
    everything = [*lines[20:30], *odd, *spaced, *twice, *cut, *returned, *lines[30:]]
    for content in (lines, everything, [*everything, lines[0][:-1]], [*lines, lines[1][:-5]], [b"\n"] * 3, [b"x"]):
        path.write_bytes(header + b"".join(content))
        assert told(path, True, monkeypatch) == told(path, False, monkeypatch)


@settings(max_examples=60, deadline=None)
@given(
    channel=st.sampled_from([*KINDS, STRANGE]),
    changes=st.lists(
        st.tuples(st.integers(0, 2000), st.integers(0, 255), st.sampled_from("=+-")), min_size=1, max_size=4
    ),
)
def test_changed_bytes(
    channel: AnyChannel, changes: list[tuple[int, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Replaced, added and lost bytes anywhere: the same reports, the same refusals, and nothing read beyond the end."""
    path = tmp_path_factory.getbasetemp() / "changed.jsonl"
    labels = [*channel.observations] if channel is STRANGE else some_reports(channel, 8)
    header, *lines = lines_with_ids(path, channel, labels)
    data = bytearray(b"".join(lines))
    for place, byte, change in changes:
        at = place % len(data)
        data[at : at + (change != "+")] = b"" if change == "-" else bytes([byte])
    path.write_bytes(header + data)
    with pytest.MonkeyPatch.context() as patch:
        together = told(path, True, patch)
        assert together == told(path, False, patch)
        patch.setattr(kernel, "take_apart", kernel.take_apart.plain)  # where Python refuses what is out of bounds
        for name in ("_after_text", "_after_whole", "_after_digits", "_after_label", "_after_id"):
            patch.setattr(kernel, name, getattr(kernel, name).plain)
        assert told(path, True, patch) == together


@every_channel
def test_lines_as_they_are_written_need_no_second_look(channel: AnyChannel, tmp_path: Path) -> None:
    reports = some_reports(channel)
    data = b"".join(lines_with_ids(tmp_path / "a.jsonl", channel, reports)[1:])
    block, others = _read_together(data, len(reports), 2, _Line(ReportSchema(channel)))
    assert others == []
    assert block.places.tolist() == list(range(2, 2 + len(reports)))


def test_numbers_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad line is named by its number, however far it is from the last one that was taken apart alone."""
    monkeypatch.setattr(report_lines, "_PIECE", 1 << 12)
    monkeypatch.setattr(report_lines, "_COMPILED_FROM", 1 << 11)
    path = tmp_path / "a.jsonl"
    write_reports(path, ["yes"] * 1000, channel=Warner("2/3"))
    lines = path.read_bytes().splitlines(keepends=True)
    for place in (500, 900):
        lines[place] = b'{"answer":"yes"}\n'
    path.write_bytes(b"".join(lines))
    found = aggregate(path, skip_bad=True)
    assert found.refused == {"malformed": 2}
    assert found.first_refused["malformed"].endswith("line 501: it has no field 'channel'.")
    assert found.evidence.counts.tolist() == [0, 998]
    assert np.array_equal(found.evidence.sums, found.evidence.counts)
