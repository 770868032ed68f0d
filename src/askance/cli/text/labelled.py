"""Labelled sentences that a command reads: tables, JSON lines, and files of annotation tools."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.corpus.corpus import Corpus
    from askance.text.io.annotation_spans import Scheme
    from askance.text.io.lines import Source

#: The tag of words outside of entities, where nobody says otherwise.
_OUTSIDE = "O"

#: A file, as an argument or an option.
FILE = click.Path(path_type=Path)


def tag_column_option(files: str) -> Callable[[Any], Any]:
    """`--tag-column`, of such files."""
    return click.option(
        "--tag-column",
        metavar="NAME|NUMBER",
        help=f"column of {files} tags, by name or counted from 1  [default: 2 of TSV, UPOS of CoNLL-U]",
    )


scheme_option = click.option(
    "--scheme",
    type=click.Choice(["bio", "plain"]),
    help="how spans of annotation tools become tags of words: bio (B-X first, then I-X) or plain (X)  "
    "[default: bio where all known tags are B-…, I-… or O, else plain]",
)
outside_option = click.option(
    "--outside",
    metavar="TAG",
    help="tag of words without a span, in files of annotation tools  [default: O with bio, else none]",
)


def names_of(text: str, flag: str, allowed: str = "names") -> list[str]:
    """Names separated by commas; those with commas in double quotes, as in CSV."""
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as error:
        raise InputError(
            f"{flag} is {text!r} ({error}); allowed: {allowed} separated by commas.",
            remedy="Put a name with a comma or quote into double quotes, as in CSV.",
        ) from None


@dataclass
class LabelledFiles:
    """How labelled files are read, and what was left out of them.

    Attributes:
        tag_column: of TSV, CoNLL-U and JSON lines.
        scheme: of spans; None: by the tag set.
        outside: the tag of words without a span; None: "O" with bio, else none.
        skip_bad: leave texts of annotation tools that cannot be read out, instead of stopping at the first.
        left_out: how many annotations were left out, in all files that were read.
        messages: why, file by file.
        tools: how many of the files were those of annotation tools.
    """

    tag_column: str | None
    scheme: Scheme | None = None
    outside: str | None = None
    skip_bad: bool = False
    left_out: int = 0
    messages: list[str] = field(default_factory=list)
    tools: int = 0

    def read(self, source: Source, tagset: Sequence[str]) -> Corpus:
        """The sentences and their tags, in a tag set of their own.

        Args:
            source: the file.
            tagset: the tags that are known, which tell how spans are read.
        """
        from askance.text.io.annotation_tools import read_annotations
        from askance.text.io.lines import OpenText
        from askance.text.io.tagged_text import read_tagged
        from askance.text.io.text_format import format_within, tool_of_format

        text = OpenText(source)
        tool = tool_of_format(format_within(text))
        if tool is None or self.tag_column is not None:  # which a tool's file has not, as `read_tagged` will say
            return read_tagged(text, tag_column=self.tag_column)
        scheme = self.scheme or ("bio" if _are_entities(tagset) else "plain")
        outside = self.outside or (_OUTSIDE if scheme == "bio" else None)
        found = read_annotations(text, tool=tool, scheme=scheme, outside=outside, skip_bad=self.skip_bad)
        self.tools += 1
        if found.n_left_out:
            self.left_out += found.n_left_out
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in found.left_out.items())
            self.messages += [f"{text.name}: {reasons}, left out", *found.messages]
        return found.corpus

    def refuse_idle(self) -> None:
        """After reading: options that no file had a use for."""
        for name, given in (("--scheme", self.scheme), ("--outside", self.outside)):
            if given is not None and not self.tools:
                raise InputError(
                    f"{name} is given, and no file of labels is that of an annotation tool.", remedy="Leave it out."
                )


def _are_entities(tagset: Sequence[str]) -> bool:
    """Whether all tags are B-…, I-… or O, and some are no O.

    >>> _are_entities(["B-PER", "I-PER", "O"]), _are_entities(["O"]), _are_entities(["DT", "O"])
    (True, False, False)
    """
    entities = {tag for tag in tagset if tag[:2] in ("B-", "I-") and len(tag) > 2}
    return bool(entities) and set(tagset) - entities <= {_OUTSIDE}
