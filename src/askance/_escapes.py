"""Texts as LaTeX and Markdown read them: nothing in a name or a label becomes a command."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LATEX = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "→": r"$\rightarrow$",
    "×": r"$\times$",
    "†": r"\dag{}",
    "−": "$-$",
    "χ²": r"$\chi^2$",
    "²": r"$^2$",
    "β": r"$\beta$",
    "λ": r"$\lambda$",
    "φ": r"$\varphi$",
    "χ": r"$\chi$",
    "Σ": r"$\Sigma$",
    "≈": r"$\approx$",
    "≥": r"$\geq$",
    "θ": r"$\theta$",
    "≤": r"$\leq$",
}
_SPECIAL = re.compile("|".join(map(re.escape, _LATEX)))  # in this order: χ² before χ
# CommonMark reads a backslash before any of its marks as the mark itself; those of lists count at the start.
_MARKS = re.compile(r"[\\`*_\[\]<>|#~$&{}]|^[-+](?=\s|$)|^\d+(?=[.)](?:\s|$))")


def latex(text: str) -> str:
    r"""A text in LaTeX, in one line.

    >>> print(latex("50 % of a_b\nor more"))
    50 \% of a\_b or more
    """
    return _SPECIAL.sub(lambda mark: _LATEX[mark[0]], " ".join(text.split()))


def latex_row(cells: Iterable[str]) -> str:
    """Cells that are LaTeX already, as a row of a table."""
    row = " & ".join(cells)
    # What comes before a row, a rule or the end of another row, would take a star or a bracket for its own.
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def markdown(text: str) -> str:
    r"""A text in Markdown, in one line: no pipe ends a cell, no star begins what is bold.

    >>> print(markdown("a|b *c*\nP>|z|"))
    a\|b \*c\* P\>\|z\|
    >>> print(markdown("1. said"), markdown("-0.5"), markdown("1.5"))
    1\. said -0.5 1.5
    """
    return _MARKS.sub(lambda mark: f"{mark[0]}\\" if mark[0].isdigit() else f"\\{mark[0]}", " ".join(text.split()))


def markdown_row(cells: Iterable[str]) -> str:
    """Cells that are Markdown already, as a row of a table."""
    return f"| {' | '.join(cells)} |"
