"""Pictures of the dashboard: numbers in, SVG text out, every text escaped, in the colours of the page.

They are made for a phone: 360 units wide, words of 13. Colours are classes of `dashboard.css`; where there is no style,
as in a mail, lines and words are black. What a picture shows is also said in words (`<desc>`), and stands in a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

#: An answer as it is told: name, estimate, lower, upper, expected_reach.
Record: TypeAlias = Mapping[str, Any]
WIDTH = 360.0
_LEFT, _RIGHT, _ROW = 6.0, 354.0, 46.0
# Of a picture over time: room for the numbers beside and below.
_BESIDE, _TOP, _BOTTOM = 54.0, 12.0, 168.0
_LONGEST = 34
# Ticks of an axis are so far apart, times a power of ten.
_STEPS = (1, 2, 2.5, 5)


def percent(share: float) -> str:
    """A share as people read it, on one line; more digits where one says nothing.

    >>> [percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.2814, 1.0, 0.00012, -0.01)]
    ['28.1 %', '100 %', '0.012 %', '-1 %']
    """
    points = 100 * share
    text = f"{points:.1f}" if points == 0 or abs(points) >= 0.05 else f"{points:.2g}"
    return f"{text.removesuffix('.0')}\N{NO-BREAK SPACE}%"


def short(name: object, longest: int = _LONGEST) -> str:
    """A name that has room in a picture; line breaks are blanks."""
    text = " ".join(str(name).split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high, `most` of them at most.

    >>> ticks(0, 2000), ticks(0.13, 0.48)
    ([0.0, 500.0, 1000.0, 1500.0, 2000.0], [0.2, 0.3, 0.4])
    """
    if not high > low:
        return [float(low)]
    power = math.floor(math.log10((high - low) / most))
    sizes = [step * 10.0**p for p in (power, power + 1) for step in _STEPS]
    size = next(size for size in sizes if math.floor(high / size + 1e-9) - math.ceil(low / size - 1e-9) < most)
    first, last = math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9)
    return [float(f"{i * size:.12g}") for i in range(first, last + 1)]


def progress_picture(n: int, planned: int) -> str:
    """How far it is to the planned number: a bar, full at the plan.

    >>> 'class="done" x="1" y="1" width="89.5"' in progress_picture(500, 2000)
    True
    """
    room = WIDTH - 2
    done = room * min(n / planned, 1.0)
    return _svg(
        22,
        "Progress",
        f"{n:,} of {planned:,} planned.",
        [
            f'<rect class="frame" x="1" y="1" width="{room:g}" height="20" rx="4"/>',
            f'<rect class="done" x="1" y="1" width="{_number(done)}" height="20" rx="4"/>' if done else "",
        ],
    )


def shares_picture(rows: Sequence[Record], planned: int, title: str, *, expected: bool = True) -> str:
    """Every answer with its interval on a scale from 0 to 100 %; the pale band is expected at the planned n.

    Args:
        rows: what is told of each answer.
        planned: number of answers.
        title: what is drawn.
        expected: whether the planned number is still ahead.
    """

    def at(share: float) -> str:
        return _number(_LEFT + (_RIGHT - _LEFT) * min(max(share, 0.0), 1.0))

    def drawn() -> Iterator[str]:
        foot = _ROW * len(rows) + 6
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            anchor = {0.0: "start", 1.0: "end"}.get(share, "middle")
            yield f'<line class="grid" x1="{at(share)}" x2="{at(share)}" y1="2" y2="{foot:g}"/>'
            yield _text(at(share), foot + 15, f"{100 * share:g} %", "soft", anchor)
        for place, row in enumerate(rows):
            top = place * _ROW
            y = f"{top + 32:g}"
            yield _text(_number(_LEFT + 4), top + 16, short(row["name"]), "name")
            yield _text(_number(_RIGHT - 4), top + 16, percent(row["estimate"]), "value", "end")
            if expected and row["expected_reach"] is not None:
                low, high = row["estimate"] - row["expected_reach"], row["estimate"] + row["expected_reach"]
                wide = float(at(high)) - float(at(low))
                yield f'<rect class="expected" x="{at(low)}" y="{top + 25:g}" width="{_number(wide)}" height="14"/>'
            yield f'<line class="interval" x1="{at(row["lower"])}" x2="{at(row["upper"])}" y1="{y}" y2="{y}"/>'
            yield f'<circle class="point" cx="{at(row["estimate"])}" cy="{y}" r="4.5"/>'

    said = "; ".join(
        f"{short(row['name'])} {percent(row['estimate'])}, from {percent(row['lower'])} to {percent(row['upper'])}"
        for row in rows
    )
    more = f" Pale: what is expected at {planned:,}." if expected else ""
    return _svg(_ROW * len(rows) + 28, title, f"{said}.{more}", drawn())


def path_picture(points: Sequence[tuple[int, Record]], planned: int, title: str) -> str:
    """How an interval became narrower, block by block, and how narrow it is expected to be at the planned n.

    Args:
        points: number of reports and what was told of one answer then, in order.
        planned: number of reports.
        title: what is drawn.
    """
    n, now = points[-1]
    ahead = n < planned
    ends = [end for _, row in points for end in (row["lower"], row["upper"])]
    low, high = max(min(ends) - 0.01, 0.0), min(max(ends) + 0.01, 1.0)
    right = max(n, planned)

    def x(reports: float) -> str:
        return _number(_BESIDE + (_RIGHT - 8 - _BESIDE) * reports / right)

    def y(share: float) -> str:
        return _number(_BOTTOM - (_BOTTOM - _TOP) * (min(max(share, low), high) - low) / (high - low))

    def drawn() -> Iterator[str]:
        yield from _axes(x, y, ticks(0, right, 4), ticks(low, high))
        upper = [f"{x(m)},{y(row['upper'])}" for m, row in points]
        lower = [f"{x(m)},{y(row['lower'])}" for m, row in points]
        if ahead:
            then = now["estimate"] - now["expected_reach"], now["estimate"] + now["expected_reach"]
            corners = f"{upper[-1]} {x(planned)},{y(then[1])} {x(planned)},{y(then[0])} {lower[-1]}"
            yield f'<polygon class="expected" points="{corners}"/>'
            yield f'<line class="plan" x1="{x(planned)}" x2="{x(planned)}" y1="{y(then[0])}" y2="{y(then[1])}"/>'
        yield f'<polygon class="band" points="{" ".join(upper + lower[::-1])}"/>'
        middle = " ".join(f"{x(m)},{y(row['estimate'])}" for m, row in points)
        yield f'<polyline class="estimate" points="{middle}"/>'
        yield f'<line class="interval" x1="{x(n)}" x2="{x(n)}" y1="{y(now["lower"])}" y2="{y(now["upper"])}"/>'
        yield f'<circle class="point" cx="{x(n)}" cy="{y(now["estimate"])}" r="4.5"/>'

    said = f"At {points[0][0]:,} from {percent(points[0][1]['lower'])} to {percent(points[0][1]['upper'])}"
    said += f", at {n:,} from {percent(now['lower'])} to {percent(now['upper'])}."
    more = f" Pale: what is expected up to {planned:,}." if ahead else ""
    return _svg(_BOTTOM + 38, title, said + more, [*drawn(), _text(_number(_RIGHT), 204, "answers", "soft", "end")])


def trend_picture(points: Sequence[tuple[str, Record]], title: str) -> str:
    """A share window by window, each with its interval.

    Args:
        points: when each window began, and what was told of one answer in it, in order.
        title: what is drawn.
    """
    ends = [end for _, row in points for end in (row["lower"], row["upper"])]
    low, high = max(min(ends) - 0.01, 0.0), min(max(ends) + 0.01, 1.0)

    def x(place: float) -> str:
        return _number(_BESIDE + (_RIGHT - 8 - _BESIDE) * (place + 0.5) / len(points))

    def y(share: float) -> str:
        return _number(_BOTTOM - (_BOTTOM - _TOP) * (min(max(share, low), high) - low) / (high - low))

    def drawn() -> Iterator[str]:
        yield from _axes(x, y, [], ticks(low, high))
        for place, (begins, row) in enumerate(points):
            lower, upper = y(row["lower"]), y(row["upper"])
            yield f'<line class="interval" x1="{x(place)}" x2="{x(place)}" y1="{lower}" y2="{upper}"/>'
            yield f'<circle class="point" cx="{x(place)}" cy="{y(row["estimate"])}" r="4.5"/>'
            if place in (0, len(points) - 1):
                anchor = "middle" if len(points) == 1 else "end" if place else "start"
                edge = x(place) if len(points) == 1 else _number(_RIGHT if place else _BESIDE)
                yield _text(edge, _BOTTOM + 20, begins, "soft", anchor)

    said = "; ".join(f"{begins}: {percent(row['lower'])} to {percent(row['upper'])}" for begins, row in points)
    return _svg(_BOTTOM + 28, title, f"{said}.", drawn())


# -- parts -------------------------------------------------------------------------------------------------------------


def _axes(x: Any, y: Any, across: Iterable[float], up: Iterable[float]) -> Iterator[str]:
    for share in up:
        yield f'<line class="grid" x1="{_BESIDE:g}" x2="{_RIGHT:g}" y1="{y(share)}" y2="{y(share)}"/>'
        yield _text(_number(_BESIDE - 6), float(y(share)) + 4, f"{100 * share:.6g}\N{NO-BREAK SPACE}%", "soft", "end")
    for n in across:
        yield f'<line class="grid" x1="{x(n)}" x2="{x(n)}" y1="{_BOTTOM:g}" y2="{_BOTTOM + 5:g}"/>'
        is_last = float(x(n)) > _RIGHT - 20  # its number would not have room on both sides
        yield _text(x(n), _BOTTOM + 20, f"{n:,.0f}", "soft", "end" if is_last else "middle")


def _text(x: str, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _number(value: float) -> str:
    """A place in the picture, to a tenth; never -0."""
    return f"{round(value, 1) + 0.0:g}"


def _svg(height: float, title: str, description: str, drawn: Iterable[str]) -> str:
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" fill="currentColor" font-size="13">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            *filter(None, drawn),
            "</svg>",
        ]
    )
