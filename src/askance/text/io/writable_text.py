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
_ALLOWED = "allowed: some text, no tabs, no ends of lines, no blanks around"


def require_writable(corpus: Corpus, format: str) -> None:
    """Refuse words, tags and ids that "tsv", "conllu" or "jsonl" cannot hold, the last halves of characters only."""
    blank = format == "conllu" or corpus.tags is None  # where an empty word would be no row, or no word
    for type, word in enumerate(corpus.words):
        may_be_blank = not blank and not word.strip()
        if _is_writable(word, format, may_be_blank=may_be_blank):
            continue
        number = corpus.first_with(type)
        if number is not None:
            raise InputError(
                f"sentence {corpus.name(number)} has the word {shown(word)}, which cannot be written as {format}; "
                f"{_ALLOWED}.",
                remedy=_remedy(format, "its words"),
            )
    require_tags_writable(corpus.tagset, format)
    for id in () if format == "tsv" else corpus.ids:  # which TSV does not keep
        if not _is_writable(id, format):
            raise InputError(
                f"a sentence is called {shown(id)}, which cannot be written as {format}; {_ALLOWED}.",
                remedy=_remedy(format, "its name"),
            )


def require_tags_writable(tagset: Sequence[str], format: str) -> None:
    """Refuse tags that a format cannot hold."""
    if format != "jsonl" and not {"", "_"}.isdisjoint(tagset):
        raise InputError(f"a tag is '' or '_', which mean none in {format}.", remedy="Rename it, or write JSON lines.")
    for tag in tagset:
        if not _is_writable(tag, format):
            raise InputError(
                f"the tag {shown(tag)} cannot be written as {format}; {_ALLOWED}.", remedy=_remedy(format, "tags")
            )


def _is_writable(text: str, format: str, *, may_be_blank: bool = False) -> bool:
    if not text.isascii() and _HALVES.search(text):
        return False
    if format == "jsonl":
        return True
    return not _BREAKS.search(text) and (may_be_blank or (bool(text) and text == text.strip()))


def _remedy(format: str, where: str) -> str:
    away = f"Take such characters out of {where}"
    return f"{away}." if format == "jsonl" else words("{0}, or write JSON lines: {format=jsonl}.", away)
