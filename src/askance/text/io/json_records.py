"""Objects of JSON files, one by one, and their fields; ValueError says what is wrong, whoever reads on says where."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from askance._checks import shown
from askance.errors import FormatError
from askance.text.io.lines import Source, name_of, read_json, text_lines

_Kind = TypeVar("_Kind", dict[str, Any], list[Any], str)

_NAMES: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}


class Record(NamedTuple):
    """One object of a file: where it is, and its line, or what was read already."""

    place: str
    line: str | None
    content: Any

    def read(self) -> dict[str, Any]:
        """The object; ValueError says what it is instead."""
        return of_kind(self.content if self.line is None else read_json(self.line), dict, "it is")


def records_of(source: Source) -> Iterator[Record]:
    """The objects of a file: of its lines, or of its one list, or the one that it is.

    Lines are read one at a time, so that one bad line does not hide the others.

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


# -- fields ------------------------------------------------------------------------------------------------------------


def of_kind(value: Any, kind: type[_Kind], what: str, allowed: str = "") -> _Kind:
    """A value of a JSON type; `what` begins the refusal, as in "its text is"."""
    if not isinstance(value, kind):
        raise ValueError(f"{what} {shown(value)}; allowed: {allowed or _NAMES[kind]}")
    return value


def list_of(content: dict[str, Any], name: str, verb: str = "is") -> list[Any]:
    """A field that is a list; [] where it is missing or null."""
    return [] if content.get(name) is None else of_kind(content[name], list, f"its {name} {verb}")


def text_of(content: dict[str, Any], name: str) -> str:
    """A field that is a text."""
    return of_kind(content.get(name), str, f"its {name} is")


def tokens_of(content: dict[str, Any]) -> list[str]:
    """The words in the field "tokens"."""
    words = of_kind(content.get("tokens"), list, "its tokens are", "a list of words")
    if not set(map(type, words)) <= {str}:
        wrong = next(i for i, word in enumerate(words) if not isinstance(word, str))
        raise ValueError(f"token {wrong} is {shown(words[wrong])}; allowed: a text")
    return words


def id_of(content: dict[str, Any]) -> str:
    """The field "id", or ""."""
    id = content.get("id")
    if isinstance(id, bool) or not isinstance(id, (str, int, type(None))):
        raise ValueError(f"its id is {shown(id)}; allowed: a text")
    return "" if id is None else str(id)


def one_per_token(tags: Any, size: int, what: str) -> list[Any]:
    """A list with an entry for every token; `what` begins the refusal, as in "its tags have"."""
    if not isinstance(tags, list) or len(tags) != size:
        got = f"{len(tags)} entries" if isinstance(tags, list) else shown(tags)
        raise ValueError(f"{what} {got}; allowed: a list of {size}, one per token")
    return tags


def require_tags(tags: Any, field: str, size: int) -> None:
    """Insist on one tag, or null, per token."""
    one_per_token(tags, size, f"{field!r} has")
    if not set(map(type, tags)) <= {str, type(None)} or "" in tags:
        wrong = next(tag for tag in tags if tag is not None and (not isinstance(tag, str) or not tag))
        raise ValueError(f"{field!r} holds {shown(wrong)}; allowed: a text that is not empty, or null")
