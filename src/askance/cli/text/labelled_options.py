"""Options of commands that read labelled sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askance.cli.shared.options import Choice, Decorator, option, options
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.text.io.training_files import LabelledFiles


def tag_column_option(files: str) -> Decorator:
    """--tag-column, of these files."""
    text = f"column of {files}, by name or counted from 1  [default: 2 of TSV, UPOS of CoNLL-U]"
    return option("--tag-column NAME|NUMBER", text)


#: --scheme and --outside: how spans of annotation tools are read.
span_options = options(
    option(
        "--scheme",
        "how spans of annotation tools become tags of words: bio (B-X first, then I-X) or plain (X)  "
        "[default: bio where all known tags are B-…, I-… or O, else plain]",
        Choice(["bio", "plain"]),
    ),
    option(
        "--outside TAG", "tag of words without a span, in files of annotation tools  [default: O with bio, else none]"
    ),
)


def refuse_idle(labels: LabelledFiles) -> None:
    """After reading: options that no file had a use for."""
    for name, value in (("--scheme", labels.scheme), ("--outside", labels.outside)):
        if value is not None and not labels.tools:
            raise InputError(
                f"{name} is given, and no file of labels is that of an annotation tool.", remedy="Leave it out."
            )
