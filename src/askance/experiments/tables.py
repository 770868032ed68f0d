"""The main numbers of an experiment, as texts for people."""

from __future__ import annotations

from collections.abc import Sequence

from askance.tables import Column, Table


def text_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of texts, whose first column names the rows."""
    return Table([Column(name) for name in columns], rows, title=title)


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, thousands apart and a real minus sign.

    >>> number(0.818912), number(57210.4), number(9466.1), number(-1.1), number(2.0)
    ('0.8189', '57,210', '9,466', '−1.1', '2')
    """
    text = f"{value:,.0f}" if abs(value) >= 10 ** min(digits, 3) else f"{value:.{digits}g}"
    return text.replace("-", "−")
