"""What can be written to a file of text: nothing that would be read back as something else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from askance._checks import shown
from askance._words import words
from askance.errors import InputError
from askance.text.corpus.corpus import Corpus

# What would end a cell or a line.
_BREAKS = re.compile("[\t\n\r]")
# Halves of surrogate pairs: texts with them have no bytes.
_HALVES = re.compile("[\ud800-\udfff]")
# One token a line; the others are JSON, which can hold all but halves of characters.
_ROWS = ("tsv", "conllu")


def require_writable(corpus: Corpus, format: str) -> None:
    """Refuse words, tags and ids that a format cannot hold, and words that annotators could not see."""
    blank = format == "conllu" or corpus.tags is None  # where an empty word would be no row, or no word
    for type, word in enumerate(corpus.words):
        is_blank = not word.strip()
        is_seen = not is_blank or format in (*_ROWS, "jsonl")
        if is_seen and _is_writable(word, format, may_be_blank=is_blank and not blank):
            continue
        number = corpus.first_with(type)
        if number is not None:
            raise _refusal(f"sentence {corpus.name(number)} has the word {shown(word)}, which", format, "its words")
    require_tags_writable(corpus.tagset, format)
    for id in () if format == "tsv" else corpus.ids:  # which TSV does not keep
        if not _is_writable(id, format):
            raise _refusal(f"a sentence is called {shown(id)}, which", format, "its name")


def require_tags_writable(tagset: Sequence[str], format: str) -> None:
    """Refuse tags that a format cannot hold."""
    if format in _ROWS and not {"", "_"}.isdisjoint(tagset):
        raise InputError(f"a tag is '' or '_', which mean none in {format}.", remedy="Rename it, or write JSON lines.")
    for tag in tagset:
        if not _is_writable(tag, format):
            raise _refusal(f"the tag {shown(tag)}", format, "tags")


def _is_writable(text: str, format: str, *, may_be_blank: bool = False) -> bool:
    if not text.isascii() and _HALVES.search(text):
        return False
    if format not in _ROWS:
        return True
    return not _BREAKS.search(text) and (may_be_blank or (bool(text) and text == text.strip()))


def _refusal(what: str, format: str, where: str) -> InputError:
    allowed = "some text, no tabs, no ends of lines, no blanks around"
    away = f"Take such characters out of {where}"
    if format not in _ROWS:
        allowed = "any text but half a character" if format == "jsonl" else "what can be seen, no half a character"
    return InputError(
        f"{what} cannot be written as {format}; allowed: {allowed}.",
        remedy=words("{0}, or write JSON lines: {format=jsonl}.", away) if format in _ROWS else f"{away}.",
    )
