"""Sheets for people who count: one row a stretch, one column a tag, as a spreadsheet opens and saves it (CSV).

    id,sentence,NOUN,VERB,annotator,comment
    1,the old [[ sailor near the camp called ]] him .,,,ann,

- `sentence` has all words, separated by blanks; those between `[[` and `]]` are counted.
- The columns between `sentence` and `annotator` are tags, and all of them together are the tag set. A cell holds how
  many words of the stretch have the tag, or `-`: not asked, or not looked for.
- `annotator` is who counted, if known; `comment` and what is right of it is for people, and not read.

What an empty cell means is never guessed. A row without any number was not answered: it is left out and counted. In a
row with numbers an empty cell is 0 where the others add up to the words of the stretch, as it can be nothing else;
otherwise the row is half filled, and refused.

Spreadsheets have habits. Read are: a byte order mark, semicolons or tabs for commas, "2.0" and "2,0" for 2, blanks
around, empty rows, rows that end early. Cells that a spreadsheet would take for a formula get a blank in front.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from askance._checks import as_count, as_list, require_generator, shown
from askance._words import Either, Words, words
from askance.errors import InputError
from askance.formats.disk import as_path
from askance.text.corpus.corpus import Corpus
from askance.text.io.lines import write_lines
from askance.text.sheets.questions import Stretch

#: What stands around the words that are counted.
MARKS = ("[[", "]]")
#: A cell that was not asked.
NOT_ASKED = "-"
#: The columns before the tags, and behind them.
BEFORE, BEHIND = ("id", "sentence"), ("annotator", "comment")
# A cell that begins so would be computed.
_FORMULA = ("=", "+", "-", "@")
_BREAKS = frozenset(" \t\n\r")


def write_sheet(
    path: str | os.PathLike[str],
    corpus: Corpus,
    stretches: Iterable[Stretch],
    tags: Sequence[str],
    *,
    rest: str | None = None,
    asked: int | None = None,
    rng: np.random.Generator | None = None,
    annotators: Sequence[str] = (),
    twice: int = 0,
    separator: str = ",",
) -> list[Path]:
    """Write stretches as a sheet to be filled in, or as one sheet for each annotator.

    Args:
        path: where it goes; with annotators their names are put before the ending, as in sheet-ann.csv.
        corpus: the sentences.
        stretches: as `draw_stretches` or `next_stretches` gives them.
        tags: the tags that are asked for.
        rest: the name for words that have none of these tags, "other", say: a column nobody is asked to fill. None:
            every word has one of the tags, so that counts of all of them sum to the number of words; refused with a
            single tag.
        asked: how many of the tags are asked of each stretch, drawn anew; None: all.
        rng: source of random numbers, where tags are drawn.
        annotators: names of those who count. Stretches go round, each to one of them.
        twice: how many stretches go to two of them, with the same tags, spread over the text. This tells how often
            people miscount (`estimate_miscounts`).
        separator: of cells: "," or ";", which spreadsheets expect where numbers have a decimal comma.

    Returns:
        The files that were written.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sheet.csv"
    >>> corpus = Corpus.of([["the", "old", "sailor", "sleeps"]])
    >>> [written] = write_sheet(path, corpus, [Stretch(0, 1, 4)], ["NOUN", "VERB"], rest="other")
    >>> print(written.read_text().strip())
    id,sentence,NOUN,VERB,other,annotator,comment
    1,the [[ old sailor sleeps ]],,,-,,
    """
    names = _checked_tags(tags, rest)
    people = [checked_name(name) for name in as_list(annotators, "annotators", '["ann", "ben"]')]
    listed = [_checked(stretch, corpus) for stretch in stretches]
    if not listed:
        raise InputError("there is no stretch to ask about; allowed: one or more.", remedy="Take draw_stretches(…).")
    if separator not in (",", ";"):
        raise InputError(f"separator is {shown(separator)}; allowed: ',' and ';'.", remedy="Leave it out.")
    cells = _question_cells(len(listed), names, rest, asked, rng)
    rows = [[*_text_cells(corpus, stretch), *asked_cells] for stretch, asked_cells in zip(listed, cells, strict=True)]
    header = [*BEFORE, *(_guarded(name) for name in names), *BEHIND]
    target, written = as_path(path), []
    for who, numbers in _shared(len(rows), people, twice).items():
        place = target.with_name(f"{target.stem}-{who}{target.suffix}") if who else target
        _write(place, [header, *([*rows[i], who, ""] for i in numbers)], separator)
        written.append(place)
    return written


# -- what is asked of whom ---------------------------------------------------------------------------------------------


def _question_cells(
    count: int, names: Sequence[str], rest: str | None, asked: int | None, rng: np.random.Generator | None
) -> list[list[str]]:
    """Cells of the tags, one row a stretch: empty, or `NOT_ASKED`."""
    drawn_from = len(names) - (rest is not None)
    size = drawn_from if asked is None else as_count(asked, "asked", minimum=1, maximum=drawn_from)
    cells = []
    for _ in range(count):
        open_ones = range(drawn_from)
        if size < drawn_from:
            open_ones = require_generator(rng).choice(drawn_from, size, replace=False).tolist()
        row = [NOT_ASKED] * len(names)
        for tag in open_ones:
            row[tag] = ""
        cells.append(row)
    return cells


def _shared(count: int, people: Sequence[str], twice: int) -> dict[str, list[int]]:
    """Numbers of rows by annotator, "" where nobody is named."""
    as_count(twice, "twice", maximum=count)
    if len(set(people)) < len(people) or (twice and len(people) < 2):
        raise InputError(
            f"is {shown(list(people))} with twice {twice}",
            argument="annotators",
            allowed="different names, two or more where stretches are counted twice",
            remedy=Words(
                "Give ", Either('annotators such as ["ann", "ben"]', "--annotators ann,ben", "annotators"), "."
            ),
        )
    if not people:
        return {"": list(range(count))}
    shares: dict[str, list[int]] = {name: [] for name in people}
    pairs = 0
    for row in range(count):
        shares[people[row % len(people)]].append(row)
        if (row + 1) * twice // count > row * twice // count:  # as evenly spread as whole numbers allow
            second = 1 + pairs % (len(people) - 1)  # everybody is compared with everybody
            shares[people[(row + second) % len(people)]].append(row)
            pairs += 1
    return {name: rows for name, rows in shares.items() if rows}


# -- cells -------------------------------------------------------------------------------------------------------------


def _text_cells(corpus: Corpus, stretch: Stretch) -> list[str]:
    """Id, and the sentence with its marks."""
    words = corpus.sentence(stretch.sentence)
    for word in words:
        if not word or word in MARKS or not _BREAKS.isdisjoint(word):
            raise InputError(
                f"sentence {corpus.name(stretch.sentence)} has the word {shown(word)}; allowed in a sheet: words "
                f"without blanks, other than {MARKS[0]} and {MARKS[1]}.",
                remedy="Replace it, by _ for example, or leave the sentence out.",
            )
    id = corpus.ids[stretch.sentence] if corpus.ids else ""
    before, inside, behind = words[: stretch.start], words[stretch.start : stretch.end], words[stretch.end :]
    sentence = " ".join([*before, MARKS[0], *inside, MARKS[1], *behind])
    return [_guarded(id or str(stretch.sentence + 1)), _guarded(sentence)]


def _guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f" {cell}" if cell.startswith(_FORMULA) else cell


def _write(path: Path, rows: Iterable[Sequence[str]], separator: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    content = text.getvalue()
    # Without a mark of byte order some spreadsheets take letters beyond ASCII for others.
    write_lines(path, [content if content.isascii() else f"\ufeff{content}"])


# -- checks ------------------------------------------------------------------------------------------------------------


def _checked(stretch: Stretch, corpus: Corpus) -> Stretch:
    sentence, start, end = stretch
    length = int(corpus.lengths[sentence]) if 0 <= sentence < len(corpus) else 0
    if not 0 <= start < end <= length:
        raise InputError(
            f"a stretch is {shown(tuple(stretch))}; allowed: sentence 0 to {len(corpus) - 1}, and start < end within "
            "it.",
            remedy="Take draw_stretches(corpus, …) of the same corpus.",
        )
    return Stretch(sentence, start, end)


def _checked_tags(tags: Sequence[str], rest: str | None) -> list[str]:
    names = [*as_list(tags, "tags", '["NOUN", "VERB"]'), *([] if rest is None else [rest])]
    for number, name in enumerate(names):
        checked_tag(name, names[:number])
    if not names or (rest is not None and len(names) == 1):
        raise InputError(
            "is an empty list", argument="tags", allowed="at least one tag", remedy="Give the tags to be counted."
        )
    if len(names) == 1:
        raise InputError(
            f"is {shown(names)} without a name for all other words, so that every word would have it",
            argument="tags",
            allowed="one tag with such a name, or two tags and more",
            remedy=words("Give {rest=other}."),
        )
    return names


def checked_tag(name: object, others: Sequence[str] = ()) -> str:
    """The name of a tag, refused where no column could have it."""
    bad = not isinstance(name, str) or not name or name != name.strip() or "\n" in name or "\r" in name
    if bad or name in (*BEFORE, *BEHIND) or name in others:
        raise InputError(
            f"a tag is {shown(name)}; allowed: different names without blanks around, other than "
            f"{', '.join((*BEFORE, *BEHIND))}.",
            remedy="Name it otherwise.",
        )
    return str(name)


def checked_name(name: object) -> str:
    """The name of an annotator, refused where a file could not have it."""
    allowed = isinstance(name, str) and name == name.strip() and name and not set(name) & set('/\\:*?"<>|\n\r\t')
    if not allowed or str(name).startswith((*_FORMULA, ".")):
        raise InputError(
            f"an annotator is {shown(name)}; allowed: a name that a file can have.", remedy='Give "ann", for example.'
        )
    return str(name)
