"""What the drawings share: colours, sheets, numbers as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askance._checks import shown
from askance.errors import FormatError
from askance.formats.figure_file import new_figure as new_figure

# Okabe and Ito's colours, as in the pictures of plans: they stay apart for colour-blind readers.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
DARK, FAINT = "#333333", "#dddddd"
#: One colour per maximum of a likelihood, best first.
MAXIMUM_COLOURS = (VERMILION, PURPLE, ORANGE, SKY, GREEN)
#: The colour of what ends at no maximum.
NOWHERE = "#777777"
VERSION = 1
_LONGEST_LABEL = 18


def require_fields(data: Mapping[str, Any], kind: str, fields: Sequence[str]) -> None:
    """Refuse numbers of another picture, of another version, or with parts missing."""
    if not isinstance(data, Mapping) or data.get("kind") != kind or data.get("version") != VERSION:
        stated = (data.get("kind"), data.get("version")) if isinstance(data, Mapping) else data
        raise FormatError(
            f"the numbers are of kind and version {shown(stated)}; allowed: {(kind, VERSION)!r}.",
            remedy=f"Draw the data of {kind}_picture, written by this version of askance.",
        )
    missing = [field for field in fields if field not in data]
    if missing:
        raise FormatError(
            f"the numbers of the picture lack {', '.join(missing)}; needed: {', '.join(fields)}.",
            remedy=f"Draw the data of {kind}_picture as they are.",
        )


def label_text(label: str) -> str:
    """A user's label in a figure: cut when long, and never read as a formula."""
    text = " ".join(label.split())
    short = text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"
    return short.replace("$", r"\$")


def reports_text(count: int) -> str:
    """How many reports there were, in words.

    >>> reports_text(1), reports_text(1000)
    ('1 report', '1,000 reports')
    """
    return f"{count:,} report{'' if count == 1 else 's'}"


def number_text(value: float) -> str:
    """Three decimals at most, with a real minus sign.

    >>> number_text(-1.1), number_text(7.0), number_text(-1e-9)
    ('−1.1', '7', '0')
    """
    text = f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 1e4 else f"{value:.3g}"
    return "0" if text in ("-0", "0") else text.replace("-", "−")


def vector_text(values: Sequence[float]) -> str:
    """Numbers in brackets; a single one without.

    >>> vector_text([0.25, 0.5, 0.25]), vector_text([2.0])
    ('(0.25, 0.5, 0.25)', '2')
    """
    return number_text(values[0]) if len(values) == 1 else f"({', '.join(map(number_text, values))})"
