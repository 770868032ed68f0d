"""Sheets that people filled in, read as regions; `question_sheet` describes and writes them."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askance._checks import shorten, shown
from askance._words import words
from askance.errors import AskanceError, EmptyDataError, FormatError, IncompatibleEvidenceError, InputError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Region, RegionCounts, check_region
from askance.text.io.lines import name_of, text_lines
from askance.text.sheets.odd_rows import ADD_REST, RepeatedAnswers, ShortRowError, ShortRows
from askance.text.sheets.question_sheet import BEFORE, BEHIND, MARKS, NOT_ASKED, checked_tag

# Whole numbers as spreadsheets write them: 2, 2.0, 2,00.
_WHOLE = re.compile(r"([0-9]{1,9})(?:[.,]0*)?")
# `-`, and what spreadsheets make of it.
_NOT_ASKED = frozenset("-–—−")
_SKIP = words("Correct it, or leave such rows out with {skip_bad=True}.")


@dataclass(frozen=True, eq=False)
class FilledSheet:
    """What filled sheets hold.

    Attributes:
        regions: one for each row that was answered; their corpus has the sentences of these rows.
        unanswered: how many rows have no number.
        refused: how many rows were left out because something is wrong with them.
        messages: what was wrong with these, with file and line.
        repeated: how many rows were left out because the same person gave the same answer in another row.
        notes: what else should be looked at.
    """

    regions: RegionCounts
    unanswered: int
    refused: int
    messages: tuple[str, ...]
    repeated: int = 0
    notes: tuple[str, ...] = ()


def read_sheet(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    rest: str | None = None,
    may_miscount: bool = False,
    empty_is_zero: bool = False,
    skip_bad: bool = False,
) -> FilledSheet:
    """Read sheets that were filled in.

    A stretch that one person answers in two rows counts once: rows that repeat an answer are left out and counted.

    Args:
        paths: one sheet, or several with the same tags.
        rest: the name for words that have none of the tags of the sheet, where it was made without one; a sheet that
            has it already stays as it is.
        may_miscount: accept counts that do not fit the number of words together, each at most that number + 1. Counts
            of all tags of a single word are a label, and must fit: where they do not, the row is left out and counted.
        empty_is_zero: in rows with numbers an empty cell is 0. Otherwise it is so only where the others add up to the
            number of words, and other rows with empty cells are refused.
        skip_bad: leave bad rows out and count them, instead of stopping at the first.

    Raises:
        FormatError: not UTF-8, or not the columns of a sheet; a sentence without marks.
        InputError: a cell that is no count, a half-filled row, counts that cannot be, two answers of one person; names
            file and line.
        IncompatibleEvidenceError: sheets with different tags.
        EmptyDataError: no row was answered.

    Warns:
        AskanceWarning: in most rows the counts of all tags stay below the number of words.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "filled.csv"
    >>> rows = ["id;sentence;NOUN;VERB;annotator;comment", "1;the [[ dog barks ]];1;1.0;ann;", "2;[[ it rains ]];;;;"]
    >>> _ = path.write_text("\\n".join(rows))
    >>> found = read_sheet(path)
    >>> found.unanswered, found.regions.region(0).counts, found.regions.region(0).annotator
    (1, {'NOUN': 1, 'VERB': 1}, 'ann')
    """
    reading = _Reading(None if rest is None else checked_tag(rest), may_miscount, empty_is_zero, skip_bad)
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else list(paths):
        reading.read(path)
    return reading.finish()


def sentences_of_sheet(path: str | os.PathLike[str]) -> set[tuple[str, ...]]:
    """The words of all sentences of a sheet, answered or not."""
    return {words for words, _, _ in stretches_of_sheet(path)}


def stretches_of_sheet(path: str | os.PathLike[str]) -> list[tuple[tuple[str, ...], int, int]]:
    """Every row of a sheet, answered or not: the words of its sentence, the first marked one, and the end of these."""
    columns, rows = _rows_of(path)
    place = columns.index("sentence")
    return [_words(row[place], where) for where, row in rows]


class _Reading:
    """Collects the rows of sheets."""

    def __init__(self, rest: str | None, may_miscount: bool, empty_is_zero: bool, skip_bad: bool) -> None:
        self._rest, self._may_miscount = rest, may_miscount
        self._empty_is_zero, self._skip = empty_is_zero, skip_bad
        self._tags: dict[str, int] = {}
        self._origin = ""
        self._sentences: dict[tuple[str, tuple[str, ...]], int] = {}
        self._regions: list[Region] = []
        self._unanswered = 0
        self._messages: list[str] = []
        self._repeated = RepeatedAnswers()
        self._short = ShortRows()

    def read(self, path: str | os.PathLike[str]) -> None:
        """All rows of one sheet."""
        columns, rows = _rows_of(path)
        tags = columns[columns.index("sentence") + 1 : columns.index("annotator")]
        tags += [] if self._rest is None or self._rest in tags else [self._rest]
        other = sorted(set(tags) ^ set(self._tags))
        if self._tags and other:
            raise IncompatibleEvidenceError(
                f"{name_of(path)} has other tags than {self._origin}: {shorten(other)} in one of them only; allowed: "
                "the same columns.",
                remedy="Read them one by one, or add the columns, with - in every row.",
            )
        self._tags = self._tags or {tag: code for code, tag in enumerate(sorted(tags))}
        self._origin = self._origin or name_of(path)
        for where, row in rows:
            try:
                self._add(dict(zip(columns, row, strict=True)), where)
            except AskanceError as error:
                if self._skip:
                    self._messages.append(error.message)
                elif isinstance(error, ShortRowError):  # how many there are tells why: read on
                    self._short.hold(error)
                else:
                    self._short.refuse()  # which came before
                    raise

    def _add(self, row: dict[str, str], where: str) -> None:
        """One row: a region, or one more that was not answered."""
        words, start, end = _words(row["sentence"], where)
        counts = self._counts(row, end - start, where)
        if not counts:
            self._unanswered += 1
            return
        closed = len(counts) == len(self._tags)
        key = (row["id"], words)
        short = closed and self._short.is_short(counts, end - start, (key, start, row.get("annotator")))
        region = Region(
            self._sentences.get(key, len(self._sentences)),
            start,
            end,
            counts,
            closed,
            annotator=row["annotator"].strip() or None,
        )
        try:
            check_region(region, len(words), self._tags, shown(row["id"]), may_miscount=self._may_miscount)
        except InputError as error:
            message = f"{where}: {error.message}"
            if self._may_miscount and closed and end - start == 1:
                self._messages.append(message)
                return
            raise (ShortRowError if short else InputError)(message, remedy=self._remedy()) from None
        if not self._repeated.is_new((key, start, end), region.annotator, counts, where):
            return
        self._sentences.setdefault(key, region.sentence)
        self._regions.append(region)

    def _counts(self, row: dict[str, str], length: int, where: str) -> dict[str, int]:
        """What was counted, by tag; empty where nothing was."""
        counts, empty = {}, []
        for tag in self._tags:
            cell = row.get(tag, NOT_ASKED).strip()  # a rest that has no column
            if cell in _NOT_ASKED:
                continue
            whole = _WHOLE.fullmatch(cell)
            if whole:
                counts[tag] = int(whole[1])
            elif cell:
                raise InputError(
                    f"{where} has {shown(cell)} of {tag}; allowed: a whole number from 0, - for not asked.",
                    remedy=_SKIP,
                )
            else:
                empty.append(tag)
        if counts and empty:
            if not self._empty_is_zero and sum(counts.values()) != length:
                raise InputError(
                    f"{where} is half filled: nothing stands below {shorten(empty)}, and the others add up to "
                    f"{sum(counts.values())} of {length} words; allowed: a number in every cell that was asked.",
                    remedy=words(
                        "Write 0 where there is none and - where nobody looked; where every empty cell means none, "
                        "{empty_is_zero=True}; or leave such rows out with {skip_bad=True}."
                    ),
                )
            counts |= dict.fromkeys(empty, 0)
        return counts

    def _remedy(self) -> str:
        if self._may_miscount:
            return _SKIP
        return words(
            "Correct it, leave such rows out with {skip_bad=True}, or, where people miscount, accept counts that do "
            "not fit together with {may_miscount=True}."
        )

    def finish(self) -> FilledSheet:
        """All rows."""
        self._short.refuse()
        if not self._regions:
            first = f"; the first: {self._messages[0].rstrip('.')}" if self._messages else ""
            raise EmptyDataError(
                f"no row was answered: {self._unanswered:,} without a number, {len(self._messages):,} left out{first}.",
                remedy=ADD_REST if self._short.are_most else "Give sheets that were filled in.",
            )
        self._short.warn(stacklevel=3)
        ids = [id for id, _ in self._sentences]
        corpus = Corpus.of([words for _, words in self._sentences], ids=ids if any(ids) else ())
        regions = RegionCounts.of(corpus, tuple(self._tags), self._regions, may_miscount=self._may_miscount)
        return FilledSheet(
            regions,
            self._unanswered,
            len(self._messages),
            tuple(self._messages),
            self._repeated.dropped,
            tuple(self._repeated.notes()),
        )


# -- rows and cells ----------------------------------------------------------------------------------------------------


def _rows_of(path: str | os.PathLike[str]) -> tuple[list[str], Iterator[tuple[str, list[str]]]]:
    """Names of the columns, and where each row stands with its cells, without blanks around them."""
    name, lines = name_of(path), text_lines(path)
    number, header = next(((n, line) for n, line in lines if line.strip(" \t,;")), (0, ""))
    if not header:
        raise EmptyDataError(f"{name} is empty.", remedy="Give a sheet as `askance questions` writes it.")
    try:
        for separator in (",", ";", "\t"):
            columns = [cell.strip() for cell in next(csv.reader([header], delimiter=separator))]
            if "sentence" in columns:
                break
    except csv.Error as error:
        raise _no_csv(f"{name}, line {number}", error) from None
    used = columns[: columns.index("comment") + 1] if "comment" in columns else columns
    missing = [column for column in (*BEFORE, *BEHIND) if column not in used]
    tags = [] if missing else used[used.index("sentence") + 1 : used.index("annotator")]
    if not tags or "" in tags or len(set(used)) < len(used):
        expected = ", ".join((*BEFORE, "one column for each tag", *BEHIND))
        raise FormatError(
            f"{name} has the columns {shorten(columns, 12)}; allowed: {expected}, each once and in this order.",
            remedy="Give a sheet as `askance questions` writes it; own columns stand to the right of comment.",
        )
    return used, _cells(name, lines, number, separator, len(used))


def _cells(
    name: str, lines: Iterator[tuple[int, str]], header: int, separator: str, width: int
) -> Iterator[tuple[str, list[str]]]:
    """Rows behind the header; a row with an end of line in a cell stands where it begins."""
    reader = csv.reader((f"{line}\n" for _, line in lines), delimiter=separator, strict=True)
    while True:
        where = f"{name}, line {header + reader.line_num + 1}"
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _no_csv(where, error) from None
        cells = [cell.strip(" \n") for cell in row[:width]]
        if any(cells):
            yield where, [*cells, *[""] * (width - len(cells))]


def _no_csv(where: str, error: csv.Error) -> FormatError:
    reason = str(error).partition(" - do you need")[0]  # which is advice for programmers
    return FormatError(f"{where} is not CSV ({reason}).", remedy="Save the sheet as CSV again, in UTF-8.")


def _words(cell: str, where: str) -> tuple[tuple[str, ...], int, int]:
    """Words of a sentence, and which of them are marked: the first, and the one after the last."""
    words = [word for word in cell.split(" ") if word]
    if [word for word in words if word in MARKS] == list(MARKS):
        start, end = (words.index(mark) for mark in MARKS)
        if end - start > 1:
            return (*words[:start], *words[start + 1 : end], *words[end + 1 :]), start, end - 1
    raise FormatError(
        f"{where} has the sentence {shown(cell)}; allowed: words, some of them between {MARKS[0]} and {MARKS[1]}.",
        remedy="Copy the sentence from the sheet that was handed out.",
    )
