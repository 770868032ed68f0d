"""Coefficients with their intervals as a drawing within a page: lines and words, in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shorten
from askance.tables import shown_value

# In the units of the drawing, which are about pixels on a phone.
_WIDTH, _MARGIN, _ROW, _LONGEST = 360.0, 14.0, 38.0, 48
#: More coefficients are left to the table.
MOST_ROWS = 60


def coefficient_figure(
    names: Sequence[str],
    estimate: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    title: str,
    description: str,
    id: str = "figure",
) -> str:
    """An SVG element with a row for every coefficient: its name, and below it point and interval on one scale.

    Args:
        names: of the coefficients.
        estimate: shape (d,).
        lower: lower ends; NaN where there is no interval.
        upper: upper ends.
        title: what is drawn, for those who cannot see it.
        description: what it shows, for the same.
        id: of this figure, where a page has several.
    """
    ends = np.concatenate([estimate, lower, upper, [0.0]])
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    scale = (_WIDTH - 2 * _MARGIN) / ((high - low) or 1.0)
    height = _ROW * len(names) + 28

    def at(value: float) -> str:
        return f"{_MARGIN + (value - low) * scale:.1f}"

    def rows() -> Iterator[str]:
        yield f'<line x1="{at(0)}" x2="{at(0)}" y1="4" y2="{height - 22:g}" stroke-dasharray="4 3" opacity=".5"/>'
        for place, name in enumerate(names):
            top = place * _ROW
            short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            yield f'<text x="{_MARGIN + 6:g}" y="{top + 16:g}" stroke="none">{escape(short)}</text>'
            y = f"{top + 27:g}"
            if np.isfinite([lower[place], upper[place]]).all():
                ends_of_line = f'x1="{at(lower[place])}" x2="{at(upper[place])}" y1="{y}" y2="{y}"'
                yield f'<line {ends_of_line} stroke-width="2.5"/>'
            yield f'<circle cx="{at(estimate[place])}" cy="{y}" r="4" stroke="none"/>'
        for value, anchor in {high: "end", low: "start", 0.0: "middle"}.items():
            if value == 0 or abs(value) * scale > 40:  # no two numbers over each other
                text = f'x="{at(value)}" y="{height - 6:g}" text-anchor="{anchor}" stroke="none"'
                yield f"<text {text}>{shown_value(value, 'significant', 2)}</text>"

    return "\n".join(
        [
            f'<svg viewBox="0 0 {_WIDTH:g} {height:g}" role="img" aria-labelledby="{id}-title {id}-words" '
            'stroke="currentColor" fill="currentColor" font-size="12" width="544">',
            f'<title id="{id}-title">{escape(title)}</title>',
            f'<desc id="{id}-words">{escape(description)}</desc>',
            *rows(),
            "</svg>",
        ]
    )


def in_words(names: Sequence[str], lower: FloatArray, upper: FloatArray) -> str:
    """What a figure of coefficients shows: which intervals lie on which side of 0.

    >>> in_words(["age", "sex"], np.array([0.1, -1.0]), np.array([0.2, 1.0]))
    "Above 0: 'age'. Below 0: none. With 0 inside: 'sex'."
    """
    sides = {"Above 0": lower > 0, "Below 0": upper < 0}
    sides["With 0 inside"] = ~(sides["Above 0"] | sides["Below 0"])
    listed = {side: [name for name, own in zip(names, which, strict=True) if own] for side, which in sides.items()}
    return " ".join(f"{side}: {shorten(inside) if inside else 'none'}." for side, inside in listed.items())
