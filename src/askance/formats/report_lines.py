"""Reports as lines of JSON: a header line, then one report per line.

    {"askance":"reports/1","channel":{"kind":"per-value", …},"fingerprint":"5b3f…"}
    {"id":"ab12","channel":"5b3fa0c1d2e3f405","bits":"09"}

Lines as this module writes them (a blank after commas and colons is welcome) are taken apart together, by a compiled
loop that knows the steps of a line (`_kernels.report_lines`). Any other line, and all of a short piece, is read
as strict JSON: no NaN, no field twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from io import BufferedReader
from json.encoder import encode_basestring
from typing import Any, BinaryIO

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shown
from askance._kernels import report_lines as kernel
from askance.errors import FormatError, InputError
from askance.formats.fields import NO_REPORTS
from askance.formats.report_ids import Ids
from askance.formats.report_schema import (
    LONGEST_ID,
    STRICT_JSON,
    TAG_DIGITS,
    Block,
    Header,
    Reason,
    Refusals,
    ReportSchema,
    json_line,
    require_id,
)
from askance.formats.report_texts import text_of

# Bytes read at a time: less than `MOST_REPORTS` of the shortest possible reports.
_PIECE = 1 << 21
# Files of fewer bytes are read before the compiler is awake.
_COMPILED_FROM = 1 << 18
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
        self._template = f'"channel":"{schema.tag}",' + ",".join(f'"{name}":%s' for name in self.texts) + "}\n"

    def write(self, columns: Mapping[str, AnyArray], ids: Sequence[str | None] | None) -> str:
        """Some reports as lines."""
        encoded = [text.encode(columns[name]) for name, text in self.texts.items()]
        lines = [self._template % values for values in zip(*encoded, strict=True)]
        if ids is None:
            return "".join(["{" + line for line in lines])
        named = ["" if id is None else f'"id":{encode_basestring(require_id(id))},' for id in ids]
        return "".join(["{" + id + line for id, line in zip(named, lines, strict=True)])

    def gather(self, reports: Sequence[tuple[Any, ...]]) -> tuple[dict[str, AnyArray], Ids | None]:
        """Columns and ids of reports as `read` gives them."""
        ids, *values = ([report[i] for report in reports] for i in range(1 + len(self.texts)))
        columns = {name: text.gather(column) for (name, text), column in zip(self.texts.items(), values, strict=True)}
        return columns, Ids.of(ids) if any(ids) else None

    @cached_property
    def steps(self) -> tuple[AnyArray, AnyArray]:
        """What a line consists of, and the bytes of its literals, for `_kernels.report_lines`."""
        steps: list[tuple[int, int, int]] = []
        literals = b""

        def expect(*texts: str) -> None:
            nonlocal literals
            for text in texts:  # a blank is welcome behind every one
                steps.append((kernel.LITERAL, len(literals), len(literals) + len(text)))
                literals += text.encode()
                steps.append((kernel.BLANK, 0, 0))

        expect("{")
        steps[-1] = (kernel.ID, 0, 0)
        expect('"channel":', f'"{self.schema.tag}",')
        word = 0
        for i, (name, text) in enumerate(self.texts.items()):
            expect(*([","] if i else []), f'"{name}":')
            steps.append((text.step[0], word, text.step[1]))
            word += text.words
        expect("}")
        steps[-1] = (kernel.END, 0, 0)
        return np.array(steps, dtype=np.int64), np.frombuffer(literals, dtype=np.uint8)

    @cached_property
    def labels(self) -> tuple[AnyArray, AnyArray]:
        """The labels of answers, in the order of their bytes: all of them, and where each begins."""
        known = [label for text in self.texts.values() for label in getattr(text, "in_order", ())]
        ids = Ids.of_bytes(known)
        return ids.letters, ids.bounds

    def read(self, line: str) -> tuple[Any, ...] | None:
        """Id (or "") and values of one line; None for what is no report but allowed between reports."""
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

    def _read_fields(self, content: dict[str, Any]) -> tuple[Any, ...]:
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
        values: list[Any] = [id]
        for name, text in self.texts.items():
            try:
                values.append(text.read(content[name]))
            except ValueError as error:
                raise _BadLineError(f"field {name!r} is {shown(content[name])}; allowed: {error}.") from None
        return tuple(values)

    def _read_another_header(self, content: dict[str, Any]) -> None:
        """A header among reports: files were concatenated; another channel's reports will tell so themselves."""
        try:
            wrong = Header.read(content, "the line").differs_from(self.schema)
        except FormatError as error:
            raise _BadLineError(error.message) from None
        if wrong:
            raise _BadLineError(wrong, "another channel", reports=0)


@lru_cache(maxsize=16)
def _line_of(schema: ReportSchema) -> _Line:
    """How the reports of a schema are written: worked out once where many short files are of the same one."""
    return _Line(schema)


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


def read_lines(
    file: BufferedReader,
    refusals: Refusals,
    expected: ReportSchema | None = None,
    *,
    compiled_from: int = _COMPILED_FROM,
) -> Iterator[Block]:
    """The reports of a file, in blocks, the first of which is empty and tells the channel.

    Args:
        file: of `opened`.
        refusals: what happens to bad lines.
        expected: the channel that the reports must come from; None for the one that the file names.
        compiled_from: bytes from which on the compiled loop reads lines; fewer where it is awake already.
    """
    name = str(file.name)
    first, schema = _read_header(file, name, refusals, expected)
    line = _line_of(schema)
    # No report is longer than this, with every letter escaped and blanks wherever JSON allows some.
    limit = max(2 * first, 12 * (LONGEST_ID + sum(text.longest for text in line.texts.values())) + 4096)
    yield schema.empty()
    number, many = 2, False
    for piece in _pieces(file, limit):
        lines, many = _lines_in(piece), many or len(piece) >= compiled_from
        together, others = (_read_together if many else _none_together)(piece, lines, number, line)
        last = None if piece.endswith(b"\n") else number + lines
        yield from _with_others(together, others, last, line, name, refusals)
        number += lines


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
    while data := file.read(_PIECE):
        if not data.endswith(b"\n"):
            rest = file.readline(limit)
            cut = len(rest) == limit and not rest.endswith(b"\n")
            data += rest + (b"\n" if cut and _skip_line(file) else b"")
        yield data


def _lines_in(piece: bytes) -> int:
    """How many lines end in a piece."""
    return int(np.count_nonzero(np.frombuffer(piece, dtype=np.uint8) == 10))


def _skip_line(file: BinaryIO) -> bool:
    """Leave out the rest of a line; whether it has an end."""
    while data := file.readline(_PIECE):
        if data.endswith(b"\n"):
            return True
    return False


def _with_others(
    together: Block, others: Sequence[tuple[int, bytes]], last: int | None, line: _Line, name: str, refusals: Refusals
) -> Iterator[Block]:
    """Reports and those in other lines, which are read one by one; then a refusal of the bad ones.

    The first bad line is the last that is looked at unless they are skipped. `last` is the line that the file ends in,
    where no newline follows.
    """
    good: list[tuple[Any, ...]] = []
    places: list[int] = []
    bad: list[tuple[int, _BadLineError]] = []
    for place, data in others:
        try:
            report = line.read(_as_text(data)) if data.strip(b" \t\r") else None
        except _BadLineError as error:
            bad.append((place, error))
            if not refusals.skip:
                break
            continue
        if report is not None:
            good.append(report)
            places.append(place)
    block = replace(together, where=f"{name}, line")
    if good:
        columns, ids = line.gather(good)
        block = block.joined(Block(line.schema, columns, ids, np.array(places)))
    if bad and not refusals.skip:
        block = block.take(block.places < bad[0][0])
    if len(block.places):
        yield block
    for place, wrong in bad:
        cut = place == last and wrong.what.startswith("it is not JSON")
        what = "it is truncated: the file ends within it." if cut else wrong.what
        refusals.refuse(wrong.reason, f"{name}, line {place}", what, wrong.reports)


def _as_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _BadLineError("it is not UTF-8 text.") from None


def _is_text(piece: bytes) -> bool:
    try:
        return piece.isascii() or bool(piece.decode())
    except UnicodeDecodeError:
        return False


def _none_together(piece: bytes, lines: int, number: int, line: _Line) -> tuple[Block, list[tuple[int, bytes]]]:
    """As `_read_together`, before the compiler is awake: all lines are others."""
    return line.schema.empty(), [*enumerate(piece.removesuffix(b"\n").split(b"\n"), number)]


def _read_together(piece: bytes, lines: int, number: int, line: _Line) -> tuple[Block, list[tuple[int, bytes]]]:
    """The reports of all lines that are written as this module writes them, and number and bytes of the others."""
    whole = piece if piece.endswith(b"\n") else piece + b"\n"
    data, lines = np.frombuffer(whole, dtype=np.uint8), lines + (whole is not piece)
    shortest = len(line.steps[1])  # a line that fits is longer: there is no room for more of them
    most = min(lines, len(data) // shortest)
    values = np.zeros((most + 1, sum(text.words for text in line.texts.values())), dtype=np.uint64)
    letters, bounds = np.empty(len(data), dtype=np.uint8), np.empty(most + 1, dtype=np.int64)
    rows, odd = np.empty(most, dtype=np.int64), np.empty((lines, 3), dtype=np.int64)
    reports, others = kernel.take_apart(
        data, _is_text(piece), LONGEST_ID, *line.steps, *line.labels, values, letters, bounds, rows, odd
    )
    columns, word = {}, 0
    for name, text in line.texts.items():
        columns[name] = text.of_words(np.ascontiguousarray(values[:reports, word : word + text.words]))
        word += text.words
    ids = Ids(letters, bounds[: reports + 1]) if bounds[reports] else None
    block = Block(line.schema, columns, ids, rows[:reports] + number)
    return block, [(number + row, whole[start:end]) for row, start, end in odd[:others].tolist()]
