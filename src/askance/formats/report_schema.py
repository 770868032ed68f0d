"""What the reports of a channel look like in files, whatever the format: `reports/1`.

A file of reports says in its header which channel made them, and every report names its channel again by the first
digits of the fingerprint, so that files may be cut and concatenated. Nothing in a report is evaluated.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance._checks import as_column, shown
from askance._words import Either, words
from askance.categories import Label
from askance.channels.differences import differences, way_out
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel
from askance.channels.reports import Column, LabelColumn, Reports, bytes_of, columns_in_files, require_reports
from askance.channels.statistics.base import StatisticsChannel
from askance.errors import FormatError, InputError
from askance.formats.fields import Fields, channel_of, describing, require_fingerprint
from askance.formats.report_ids import Ids

REPORTS_FORMAT = "reports/1"
#: Reports are read and written in pieces of at most this many …
MOST_REPORTS = 1 << 16
# … and of at most about this many bytes, where reports are long.
_MOST_BYTES = 1 << 24
#: Characters of an id: what is longer is no name of a report.
LONGEST_ID = 1024
#: Digits of the fingerprint that every report repeats.
TAG_DIGITS = 16
#: What can be wrong with a report.
Reason: TypeAlias = Literal["another channel", "duplicate id", "malformed"]
#: The way out of a bad report.
SKIP = words("Get it again, or refuse and count such reports with {skip_bad=True}.")
#: What the two kinds of channels report: columns of noised statistics, or noised answers (labels, shape (n,)).
AnyReports: TypeAlias = Reports | AnyArray

_LINES = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"askance"\s*:\s*"reports/')
# Halves of surrogate pairs: texts with them have no bytes.
_HALVES = re.compile("[\ud800-\udfff]")


class ReportSchema:
    """The columns of a channel's reports in files.

    Attributes:
        channel: what made the reports.
        tag: the digits that every report repeats.
        columns: those of a channel on statistics, or the one of answers.
        purpose_of_unnamed: what reports without a purpose are taken to be for; "" where they are for none.
        of_any_table: whether a Parquet file that names no channel is taken to hold such reports.

    >>> from askance import PerValue, Warner
    >>> ReportSchema(Warner("2/3")).columns[0].name, ReportSchema(PerValue(3, 2, l1_norm=1)).columns[0].name
    ('answer', 'bits')
    """

    def __init__(self, channel: AnyChannel, purpose_of_unnamed: str = "", *, of_any_table: bool = False) -> None:
        if not isinstance(channel, (FiniteChannel, StatisticsChannel)):
            raise InputError(
                f"channel is {shown(channel)}; allowed: a channel.",
                remedy="Build one, such as Warner('2/3') or PerValue(8, 1); `askance channels` lists all.",
            )
        self.channel: AnyChannel = channel
        self.purpose_of_unnamed, self.of_any_table = purpose_of_unnamed, of_any_table
        self.tag = channel.fingerprint[:TAG_DIGITS]
        self.columns: tuple[Column | LabelColumn, ...] = columns_in_files(channel)

    @property
    def rows_at_a_time(self) -> int:
        """How many reports are held at once."""
        empty = [column.empty(1) for column in self.columns if isinstance(column, Column)]
        return max(1, min(MOST_REPORTS, _MOST_BYTES // max(1, sum(array.nbytes for array in empty))))

    def header(self) -> dict[str, Any]:
        """What a file says about its reports."""
        return {
            "askance": REPORTS_FORMAT,
            "channel": self.channel.specification(),
            "fingerprint": self.channel.fingerprint,
        }

    def record(self, report: Mapping[str, Any] | Label, id: str | None = None) -> dict[str, Any]:
        """What one device sends: the report as plain JSON values, with its channel and perhaps an id."""
        fields = report if isinstance(report, Mapping) else {"answer": report}
        named = {} if id is None else {"id": require_id(id)}
        return {**named, "channel": self.tag, **fields}

    def empty(self) -> Block:
        """No reports at all."""
        columns = {
            column.name: column.empty(0) if isinstance(column, Column) else np.zeros(0, dtype=np.int64)
            for column in self.columns
        }
        return Block(self, columns, None, np.zeros(0, dtype=np.int64))

    def take_apart(self, reports: object) -> dict[str, AnyArray]:
        """The columns of some reports, checked; answers as codes."""
        if isinstance(self.channel, StatisticsChannel):
            return require_reports(reports, self.channel).columns
        if isinstance(reports, Reports):
            raise InputError(
                f"the reports come from {reports.channel.kind}; allowed: labels of the channel's observations.",
                remedy="Give the channel that made them.",
            )
        answers: Any = reports
        return {"answer": self.channel.observations.encode(as_column(answers, "reports"), "reports")}

    def assemble(self, columns: Mapping[str, AnyArray]) -> Reports[AnyChannel]:
        """Reports from their columns; refused when no respondent could have sent one of them."""
        return Reports(self.channel, columns)


@dataclass(frozen=True)
class Extent:
    """What a Parquet file announces.

    Attributes:
        rows: how many reports it holds.
        row_groups: in how many pieces, which can be read one by one.
        with_ids: whether reports may have ids.
    """

    rows: int
    row_groups: int
    with_ids: bool


@dataclass(frozen=True)
class Block:
    """Some reports as they stand in a file, not yet checked as a whole.

    Attributes:
        schema: of which channel.
        columns: {name: array}, shapes as of `Column.empty`; codes of answers that have names.
        ids: one per report; None where none has any.
        places: number of the line or row of every report, shape (n,).
        where: what the places are places of: the file, and "line" or "row".
        extent: of the whole file, where it is known from the beginning.
    """

    schema: ReportSchema
    columns: Mapping[str, AnyArray]
    ids: Ids | None
    places: IntArray
    where: str = ""
    extent: Extent | None = None

    def take(self, rows: slice | AnyArray) -> Block:
        """Some of the reports: a slice, or a mask."""
        ids = None if self.ids is None else self.ids.take(rows)
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Block(self.schema, columns, ids, self.places[rows], self.where)

    def joined(self, other: Block) -> Block:
        """These reports and others of the same file, in the order of their places."""
        order = np.argsort(np.concatenate([self.places, other.places]), kind="stable")
        columns = {name: np.concatenate([values, other.columns[name]])[order] for name, values in self.columns.items()}
        ids = None
        if self.ids is not None or other.ids is not None:
            ids = Ids.joined([block.ids or Ids.none(len(block.places)) for block in (self, other)]).take(order)
        return replace(self, columns=columns, ids=ids, places=np.concatenate([self.places, other.places])[order])

    def place(self, row: int) -> str:
        """Where a report stands."""
        return f"{self.where} {self.places[row]}"


class Refusals:
    """Bad reports: the first one stops everything, or all are counted and left out.

    Attributes:
        skip: whether bad reports are left out.
        counts: how many were left out, by reason.
        first: the first one of each reason: where it is and what is wrong.
    """

    def __init__(self, *, skip: bool) -> None:
        self.skip = skip
        self.counts: dict[str, int] = {}
        self.first: dict[str, str] = {}

    def refuse(self, reason: Reason, place: str, what: str, count: int = 1) -> None:
        """Leave out `count` reports (a header counts for none), or stop at the first."""
        message = f"{place}: {what}"
        if not self.skip:
            raise FormatError(message, remedy=SKIP)
        if not count:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.first.setdefault(reason, message)


@dataclass(frozen=True)
class Header:
    """The header of a file of reports.

    Attributes:
        specification: what builds the channel.
        fingerprint: of the channel that made the reports.
        name: the file, or the place in it, for errors.
    """

    specification: Mapping[str, Any]
    fingerprint: str
    name: str

    @classmethod
    def read(cls, content: Any, name: str) -> Header:
        """Check the fields of a header; builds nothing yet."""
        fields = Fields(content, f"the header of {name}")
        fields.format((REPORTS_FORMAT,))
        fields.only(("askance", "channel", "fingerprint"))
        return cls(fields.read("channel", dict), fields.read("fingerprint", str), name)

    def schema(self) -> ReportSchema:
        """The columns of the channel; refused when it does not have the fingerprint that is stated."""
        with describing(f"the header of {self.name}", "a channel"):
            schema = ReportSchema(channel_of(self.specification))
        require_fingerprint(schema.channel, self.fingerprint, self.name)
        return schema

    def schema_within(self, expected: ReportSchema | None) -> ReportSchema:
        """How these reports are written where those of another schema are expected, or of any (None).

        That is the other schema, but for reports without a purpose that are taken to be for the expected one.
        """
        if expected is None:
            return self.schema()
        channel = expected.channel
        if expected.purpose_of_unnamed and expected.purpose_of_unnamed == channel.purpose:
            unnamed = channel.for_purpose("")
            if self.fingerprint == unnamed.fingerprint:
                return ReportSchema(unnamed)
        return expected

    def differs_from(self, expected: ReportSchema) -> str:
        """What is wrong where reports of another channel are expected; "" where they are of the same."""
        if self.fingerprint == expected.channel.fingerprint:
            return ""
        return (
            f"reports from here on come from {shown(self.specification.get('kind'))} "
            f"({shown(self.fingerprint[:TAG_DIGITS])}); allowed: {expected.channel.kind!r} ({expected.tag!r})."
            f"{self._difference(expected)}"
        )

    def _difference(self, expected: ReportSchema) -> str:
        """What the two channels differ in; "" where this one cannot be built."""
        try:
            channel = channel_of(self.specification)
            return f" {differences(channel, expected.channel)} {way_out(channel, expected.channel)}".rstrip()
        except InputError:
            return ""


def require_id(id: object) -> str:
    """Refuse what cannot be the id of a report."""
    if isinstance(id, str) and 1 <= len(id) <= LONGEST_ID and (id.isascii() or not _HALVES.search(id)):
        return id
    raise InputError(
        f"an id is {shown(id)}; allowed: a text of 1 to {LONGEST_ID} characters.",
        remedy="Give every report a text of its own, or give no ids.",
    )


def kind_of(file: io.BufferedReader) -> Literal["lines", "parquet", "other"]:
    """What an open file begins like; nothing of it is read.

    >>> kind_of(io.BufferedReader(io.BytesIO(b'{"askance": "reports/1"}')))
    'lines'
    """
    beginning = file.peek(256)[:256]
    if beginning.startswith(b"PAR1"):
        return "parquet"
    return "lines" if _LINES.match(beginning) else "other"


def refuse_reports(file: io.BufferedReader) -> None:
    """Refuse a file of reports where a state is wanted."""
    kind = kind_of(file)
    if kind != "other":
        raise FormatError(
            f"{file.name} {'holds reports' if kind == 'lines' else 'is a Parquet file'}, not a state.",
            remedy=words("Make a state of reports with `askance aggregate`{0}.", Either(", or use read_reports", "")),
        )


# -- JSON --------------------------------------------------------------------------------------------------------------


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a field appears twice")
    return content


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is none of its numbers")


#: Reads JSON as it is defined: no NaN, no infinity, no field twice.
STRICT_JSON = json.JSONDecoder(object_pairs_hook=_once_each, parse_constant=_no_constant)


def json_line(content: Mapping[str, Any]) -> str:
    """An object as one line."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


# -- the schema of lines, for those who write them in other languages --------------------------------------------------


def report_line(channel: AnyChannel, truth: Any, id: str | None = None) -> str:
    """What one device sends: its truth noised (by a cryptographic source) into one line of JSON.

    >>> from askance import PerValue
    >>> line = report_line(PerValue(3, 4), [0, 1, 1], id="b7")
    >>> line.startswith('{"id":"b7","channel":"')
    True
    """
    return json_line(ReportSchema(channel).record(channel.randomize_one(truth), id)).rstrip("\n")


def report_header(channel: AnyChannel) -> str:
    """The first line of a file of reports: which channel made them. Reports, one `report_line` each, come after it.

    >>> from askance import Warner
    >>> print(report_header(Warner("2/3"))[:91])
    {"askance":"reports/1","channel":{"kind":"warner","question":"2/3","outputs":["no","yes"]},
    """
    return json_line(ReportSchema(channel).header()).rstrip("\n")


def line_schema(channel: AnyChannel) -> dict[str, Any]:
    """The JSON Schema of one report of a channel as a line: stricter than the published one, which is for all channels.

    >>> from askance import CoordinateRelease
    >>> line_schema(CoordinateRelease(4, 1))["properties"]["bit"]
    {'type': 'integer', 'minimum': 0, 'maximum': 1, 'description': 'its noised bit'}
    """
    schema = ReportSchema(channel)
    names = [column.name for column in schema.columns]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
            "channel": {"const": schema.tag},
            **{column.name: _value_schema(column) for column in schema.columns},
        },
        "required": ["channel", *names],
        "additionalProperties": False,
    }


def _value_schema(column: Column | LabelColumn) -> dict[str, Any]:
    if isinstance(column, LabelColumn):
        return {"enum": list(column.labels), "description": "the noised answer"}
    told = {"description": column.description} if column.description else {}
    if column.kind == "bits":
        return {"type": "string", "pattern": f"^[0-9a-f]{{{2 * bytes_of(column)}}}$", **told}
    if column.kind == "seed":
        return {"type": "string", "pattern": "^[0-9a-f]{16}$", **told}
    entry = {"type": "integer", "minimum": 0, "maximum": column.limit - 1}
    if column.kind == "integer":
        return {**entry, **told}
    return {"type": "array", "items": entry, "minItems": column.width, "maxItems": column.width, **told}
