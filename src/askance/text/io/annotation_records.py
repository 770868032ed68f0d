"""Objects of a JSON file, one by one: of its lines, or of its one list, or the one that it is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

from askance.errors import FormatError
from askance.text.io.annotation_spans import object_of
from askance.text.io.lines import Source, name_of, read_json, text_lines


class Record(NamedTuple):
    """One object of a file: where it is, and its line, or what was read already."""

    place: str
    line: str | None
    content: Any

    def read(self) -> dict[str, Any]:
        """The object; ValueError says what it is instead."""
        return object_of(self.content if self.line is None else read_json(self.line), "it")


def records_of(source: Source) -> Iterator[Record]:
    """The objects of a file. Lines are read one at a time, so that one bad line does not hide the others.

    >>> import io
    >>> [(record.place, record.read()) for record in records_of(io.BytesIO(b'[{"id": 1},\\n{"id": 2}]'))]
    [('task 1', {'id': 1}), ('task 2', {'id': 2})]
    """
    lines = ((number, line) for number, line in text_lines(source) if line and not line.isspace())
    first = next(lines, None)
    if first is None:
        return
    if not first[1].lstrip().startswith("[") and _is_json(first[1]):
        for number, line in chain([first], lines):
            yield Record(f"line {number}", line, None)
        return
    try:
        whole = read_json("\n".join(line for _, line in chain([first], lines)))
    except ValueError as error:
        raise FormatError(
            f"{name_of(source)}, from line {first[0]} on: {error}.", remedy="Export the file again, as JSON or JSONL."
        ) from None
    for place, content in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield Record(f"task {place}", None, content)


def _is_json(line: str) -> bool:
    try:
        read_json(line)
    except ValueError:
        return False
    return True
