"""Sentences of a TSV file: one token a line, cells separated by tabs, an empty line after each sentence.

Two kinds of files are refused because they would be read as something else: with names of columns in their first line
that are not marked by `# columns:`, and with columns that blanks separate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from askance._checks import shorten
from askance.errors import FormatError
from askance.text.io.text_format import column_of, tabs_for_blanks
from askance.text.io.text_notes import TextNotes

#: What marks a first line that names the columns.
HEADER = "# columns:"

# Names that people give to a column of words, and to others.
_WORDS = frozenset({"word", "words", "token", "tokens", "form", "forms", "text"})
_OTHERS = frozenset(
    {"tag", "tags", "pos", "postag", "pos_tag", "upos", "xpos", "label", "labels", "ner", "ner_tag", "entity", "class"}
) | {"iob", "bio", "chunk", "lemma", "feats", "head", "deprel", "deps", "misc", "category"}


def read_tsv(
    lines: Iterable[tuple[int, str]], name: str, tag_column: str | int | None, notes: TextNotes
) -> Iterator[tuple[str, list[str], list[str | None] | None]]:
    """Id (""), words and tags of every sentence, no tags where there is one column; notes take what was tidied."""
    columns: Sequence[str] = ()
    column: int | None = None
    width, first = 0, 1
    words: list[str] = []
    tags: list[str | None] = []
    doubt = _Doubt(name)
    for number, line in lines:
        if not line or line.isspace():
            if words:
                yield "", words, tags if column else None
                words, tags = [], []
            continue
        if number == 1 and line.startswith(HEADER):
            listed = line.removeprefix(HEADER).strip()
            columns = listed.split("\t") if "\t" in listed else listed.split()
            width = len(columns)
            continue
        cells = line.split("\t")
        if column is None:
            if not columns:
                doubt.begin(number, cells, tag_column)
            first, width = (1, width) if width else (number, len(cells))
            column = column_of(tag_column, columns, width, (0,), name, default=min(1, width - 1))
        if len(cells) != width:
            raise FormatError(
                f"{name}, line {number} has {len(cells)} cells; allowed: {width}, as line {first} has.",
                remedy="Give every token a line of its own, cells separated by tabs, and end sentences by empty lines.",
            )
        if doubt.is_open:
            doubt.look(cells, column, number)
        words.append(notes.tidy(cells[0], number))
        tags.append(notes.tidy(cells[column], number).strip() if column else None)
    doubt.end()
    if words:
        yield "", words, tags if column else None


def _pieces(cell: str) -> int:
    """Between blanks: other white space may belong to a word."""
    return len([piece for piece in cell.split(" ") if piece])


class _Doubt:
    """Whether the first line names columns, or blanks separate them; all lines are needed to know."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._header: tuple[int, list[str]] | None = None
        self._tag = ""
        self._pieces = self._lines = 0

    def begin(self, number: int, cells: list[str], tag_column: str | int | None) -> None:
        """The first line, of a file that does not name its columns."""
        names = [cell.strip().casefold() for cell in cells]
        if len(cells) > 1 and names[0] in _WORDS and _OTHERS.issuperset(names[1:]):
            self._header = number, cells
            if isinstance(tag_column, str) and tag_column.casefold() in names:
                self._refuse_header(number, cells)
        if len(cells) == 1:
            self._pieces = _pieces(cells[0])
            if self._pieces > 1 and tag_column is not None:
                self._refuse_blanks()

    @property
    def is_open(self) -> bool:
        """Whether more lines can tell."""
        return self._header is not None or self._pieces > 1

    def look(self, cells: list[str], column: int, number: int) -> None:
        """Every line of words, also the first."""
        if self._header:
            if number == self._header[0]:
                self._tag = cells[column]
            elif cells[column] == self._tag:  # a tag like others
                self._header = None
        if self._pieces > 1:
            self._lines += 1
            self._pieces = self._pieces if _pieces(cells[0]) == self._pieces else 0

    def end(self) -> None:
        """Refuse the file if it is what it looks like."""
        if self._header:
            self._refuse_header(*self._header)
        if self._pieces > 1 and self._lines > 1:
            self._refuse_blanks()

    def _refuse_header(self, number: int, cells: list[str]) -> None:
        raise FormatError(
            f"{self._name}, line {number} seems to name the columns ({shorten(cells)}), and would be read as a word.",
            remedy=f'Begin this line with "{HEADER} ", or take it out.',
        )

    def _refuse_blanks(self) -> None:
        raise FormatError(
            f"{self._name} has {self._pieces} columns in every line, separated by blanks; allowed: tabs.",
            remedy=f"Turn blanks into tabs: {tabs_for_blanks(self._name, 'tabs.tsv')}. If they belong to the words, "
            f'begin the file with the line "{HEADER} form".',
        )
