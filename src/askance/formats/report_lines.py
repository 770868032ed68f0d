"""Reports as lines of JSON: a header line, then one report per line.

    {"askance":"reports/1","channel":{"kind":"per-value", …},"fingerprint":"5b3f…"}
    {"id":"ab12","channel":"5b3fa0c1d2e3f405","bits":"09"}

Lines as this module writes them (a blank after commas and colons is welcome) are taken apart by one regular expression
for a whole piece of the file, and their columns are decoded together. Any other piece is read line by line as strict
JSON: no NaN, no field twice. Both ways end in the same texts per column, so they cannot disagree on what a report says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedReader
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shown
from askance.errors import FormatError, InputError
from askance.formats.fields import NO_REPORTS
from askance.formats.report_schema import (
    LONGEST_ID,
    MOST_REPORTS,
    STRICT_JSON,
    TAG_DIGITS,
    Block,
    Header,
    LabelColumn,
    Reason,
    Refusals,
    ReportSchema,
    json_line,
    require_id,
)
from askance.formats.report_texts import PLAIN_TEXT, text_of

# Bytes read at a time: less than `MOST_REPORTS` of the shortest possible reports.
_PIECE = 1 << 21
# Of a header, in bytes: room for the largest matrices, none for a device that never ends.
_LONGEST_HEADER = 1 << 28


class _BadLineError(Exception):
    """What is wrong with one line."""

    def __init__(self, what: str, reason: Reason = "malformed", reports: int = 1) -> None:
        super().__init__(what)
        self.what, self.reason, self.reports = what, reason, reports


# -- one line ----------------------------------------------------------------------------------------------------------


class _Line:
    """How the reports of a channel are written, one per line."""

    def __init__(self, schema: ReportSchema) -> None:
        self.schema = schema
        self._unnamed_tag = schema.channel.for_purpose("").fingerprint[:TAG_DIGITS]
        self.texts = {column.name: text_of(column) for column in schema.columns}
        values = "".join(f', ?+"{name}": ?+{text.pattern}' for name, text in self.texts.items())
        id = rf'(?:"id": ?+"({PLAIN_TEXT}{{1,{LONGEST_ID}}}+)", ?+)?+'
        #: One report and the end of its line; the groups are the id, and the text of every column.
        self.pattern = re.compile(rf'\{{{id}"channel": ?+"{schema.tag}"{values}\}}\r?+\n')
        # Columns where a text may fit the pattern and mean nothing.
        self._named = [(i, c.name) for i, c in enumerate(schema.columns) if isinstance(c, LabelColumn)]
        self._template = f'"channel":"{schema.tag}",' + ",".join(f'"{name}":%s' for name in self.texts) + "}\n"

    def write(self, columns: Mapping[str, AnyArray], ids: Sequence[str | None] | None) -> str:
        """Some reports as lines."""
        encoded = [text.encode(columns[name]) for name, text in self.texts.items()]
        lines = [self._template % values for values in zip(*encoded, strict=True)]
        if ids is None:
            return "".join(["{" + line for line in lines])
        named = ["" if id is None else f'"id":{encode_basestring(require_id(id))},' for id in ids]
        return "".join(["{" + id + line for id, line in zip(named, lines, strict=True)])

    def decode(self, texts: Sequence[Sequence[str]]) -> dict[str, AnyArray]:
        """The columns of some reports, given the texts of each column."""
        return {name: text.decode(column) for (name, text), column in zip(self.texts.items(), texts, strict=True)}

    def read(self, line: str) -> tuple[str, ...] | None:
        """Id (or "") and texts of one line; None for what is no report but allowed between reports."""
        match = self.pattern.fullmatch(line + "\n")
        if match is not None:
            groups = match.groups("")
            if all(self.texts[name].knows(groups[1 + i]) for i, name in self._named):
                return groups
        return self._read_json(line)

    def _read_json(self, line: str) -> tuple[str, ...] | None:
        try:
            content = STRICT_JSON.decode(line)
        except RecursionError:
            raise _BadLineError("it is not JSON (nested without end).") from None
        except ValueError as error:
            raise _BadLineError(f"it is not JSON ({getattr(error, 'msg', error)}).") from None
        if not isinstance(content, dict):
            raise _BadLineError(f"it is {shown(content)}; allowed: an object.")
        if "askance" in content:
            self._read_another_header(content)
            return None
        tag = content.pop("channel", None)
        if tag is None:
            raise _BadLineError("it has no field 'channel'.")
        if tag != self.schema.tag:
            named = ", the same without a purpose" if tag == self._unnamed_tag else ""
            raise _BadLineError(f"its channel is {shown(tag)}{named}; allowed: {self.schema.tag!r}.", "another channel")
        return self._read_fields(content)

    def _read_fields(self, content: dict[str, Any]) -> tuple[str, ...]:
        id = ""
        if "id" in content:
            try:
                id = require_id(content.pop("id"))
            except InputError as error:
                raise _BadLineError(error.message) from None
        if content.keys() != self.texts.keys():
            missing = [name for name in self.texts if name not in content]
            unknown = [name for name in content if name not in self.texts]
            what = f"no field {missing[0]!r}" if missing else f"an unknown field {shown(unknown[0])}"
            raise _BadLineError(f"it has {what}; allowed: id, channel, {', '.join(self.texts)}.")
        texts = [id]
        for name, text in self.texts.items():
            try:
                texts.append(text.read(content[name]))
            except ValueError as error:
                raise _BadLineError(f"field {name!r} is {shown(content[name])}; allowed: {error}.") from None
        return tuple(texts)

    def _read_another_header(self, content: dict[str, Any]) -> None:
        """A header among reports: files were concatenated; another channel's reports will tell so themselves."""
        try:
            wrong = Header.read(content, "the line").differs_from(self.schema)
        except FormatError as error:
            raise _BadLineError(error.message) from None
        if wrong:
            raise _BadLineError(wrong, "another channel", reports=0)


# -- whole files -------------------------------------------------------------------------------------------------------


class LineWriter:
    """Writes reports as lines into an open file."""

    def __init__(self, file: BinaryIO, schema: ReportSchema) -> None:
        self._file, self._line = file, _Line(schema)
        file.write(json_line(schema.header()).encode())

    def write(self, columns: Mapping[str, AnyArray], ids: Sequence[str | None] | None) -> None:
        """Add some reports."""
        self._file.write(self._line.write(columns, ids).encode())

    def close(self) -> None:
        """Nothing is left to be written."""


def read_lines(file: BufferedReader, refusals: Refusals, expected: ReportSchema | None = None) -> Iterator[Block]:
    """The reports of a file, in blocks, the first of which is empty and tells the channel.

    Args:
        file: of `opened`.
        refusals: what happens to bad lines.
        expected: the channel that the reports must come from; None for the one that the file names.
    """
    name = str(file.name)
    first, schema = _read_header(file, name, refusals, expected)
    line = _Line(schema)
    # No report is longer than this, with every letter escaped and blanks wherever JSON allows some.
    limit = max(2 * first, 12 * (LONGEST_ID + sum(text.longest for text in line.texts.values())) + 4096)
    yield schema.empty()
    number = 2
    for piece in _pieces(file, limit):
        yield from _blocks_of(piece, number, line, name, refusals)
        number += piece.count(b"\n")


def _read_header(
    file: BinaryIO, name: str, refusals: Refusals, expected: ReportSchema | None
) -> tuple[int, ReportSchema]:
    """Length of the first line, and the channel whose reports are read."""
    data = file.readline(_LONGEST_HEADER)
    if len(data) == _LONGEST_HEADER:
        raise FormatError(
            f"the first line of {name} is longer than {_LONGEST_HEADER:,} bytes; allowed: a header.",
            remedy=NO_REPORTS,
        )
    try:
        content = STRICT_JSON.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):  # not UTF-8, not JSON, or nested without end
        what = "its header is truncated" if not data.endswith(b"\n") else "its first line is no header"
        raise FormatError(f"{name} is no file of reports: {what}.", remedy=NO_REPORTS) from None
    header = Header.read(content, name)
    schema = header.schema_within(expected)
    wrong = header.differs_from(schema)
    if wrong:  # where bad reports are skipped, each of these will be told by its own line
        refusals.refuse("another channel", f"{name}, line 1", wrong, 0)
    return len(data), schema


def _pieces(file: BinaryIO, limit: int) -> Iterator[bytes]:
    """The rest of a file in pieces of whole lines; of a line beyond the limit only the beginning, no report."""
    rest = b""
    while data := file.read(_PIECE):
        data = rest + data
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
        rest = data[end:]
        if len(rest) > limit:
            yield rest[:limit] + (b"\n" if _skip_line(file) else b"")
            rest = b""
    if rest:
        yield rest


def _skip_line(file: BinaryIO) -> bool:
    """Leave out the rest of a line; whether it has an end."""
    while data := file.readline(_PIECE):
        if data.endswith(b"\n"):
            return True
    return False


def _blocks_of(piece: bytes, number: int, line: _Line, name: str, refusals: Refusals) -> Iterator[Block]:
    """The reports of some whole lines, the first of which has that number."""
    ends = piece.endswith(b"\n")
    try:
        text = piece.decode()
    except UnicodeDecodeError:
        lines = [_as_text(raw) for raw in piece.split(b"\n")]
    else:
        whole = text if ends else text + "\n"
        block = _read_together(whole, number, line, name) if whole.count("\n") <= MOST_REPORTS else None
        if block is not None:
            yield block
            return
        lines = list(text.split("\n"))
    if ends:
        lines.pop()  # what follows the last newline
    for start in range(0, len(lines), MOST_REPORTS):
        some = lines[start : start + MOST_REPORTS]
        last = len(some) - 1 if not ends and start + len(some) == len(lines) else None
        yield from _read_one_by_one(some, number + start, last, line, name, refusals)


def _as_text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _read_together(text: str, number: int, line: _Line, name: str) -> Block | None:
    """All lines at once; None where one of them is not written as this module writes it."""
    # What is between reports, then the groups of a report, and so on: reports fill the text when nothing is between.
    parts = line.pattern.split(text)
    step = 2 + len(line.texts)
    if any(parts[::step]):
        return None
    ids, *texts = (parts[i::step] for i in range(1, step))
    try:
        columns = line.decode(texts)
    except KeyError:
        return None
    return Block(line.schema, columns, _ids(ids), np.arange(number, number + len(ids)), f"{name}, line")


def _ids(ids: Sequence[str | None]) -> list[str | None] | None:
    return [id or None for id in ids] if any(ids) else None


def _read_one_by_one(
    lines: Sequence[str | None], number: int, open_end: int | None, line: _Line, name: str, refusals: Refusals
) -> Iterator[Block]:
    """The good lines, then a refusal of the bad ones; the first bad one is the last looked at unless they are skipped.

    `open_end` is the line that the file ends in, where no newline follows.
    """
    good: list[tuple[str, ...]] = []
    places: list[int] = []
    bad: list[tuple[Reason, str, str, int]] = []
    for i, text in enumerate(lines):
        try:
            if text is None:
                raise _BadLineError("it is not UTF-8 text.")
            report = line.read(text) if text.strip(" \t\r") else None
        except _BadLineError as error:
            cut = i == open_end and error.what.startswith("it is not JSON")
            what = "it is truncated: the file ends within it." if cut else error.what
            bad.append((error.reason, f"{name}, line {number + i}", what, error.reports))
            if not refusals.skip:
                break
            continue
        if report is not None:
            good.append(report)
            places.append(number + i)
    if good:
        ids, *texts = ([report[i] for report in good] for i in range(len(good[0])))
        yield Block(line.schema, line.decode(texts), _ids(ids), np.array(places), f"{name}, line")
    for refusal in bad:
        refusals.refuse(*refusal)
