"""One table for people and programs: text, JSON, a data frame, CSV, LaTeX, HTML and Markdown of the same rows."""

from __future__ import annotations

import csv
import html
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import Any, Literal, TypeAlias

import numpy as np

from askance._escapes import latex, latex_row, markdown, markdown_row
from askance.errors import InputError

#: What a column holds, which says how its values are shown. A "heading" stands above the rows that share it.
Kind: TypeAlias = Literal[
    "heading", "text", "count", "number", "decimal", "significant", "ratio", "p-value", "percent", "points", "spread"
]
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
#: The widest line of text, in characters.
WIDTH = 100
# Of longer blocks the first so many rows are shown in text.
_MOST_ROWS = 200
_BETWEEN = "  "
_MISSING = "–"
# Of a standard error. Smaller estimates are last digits of a processor, which show as 0.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Column:
    """What one column holds.

    Attributes:
        name: as people read it.
        kind: how its values are shown.
        key: its name in JSON and data frames; default: `name`.
        digits: after the point; "error" for one, or as many as show two digits of a small standard error of the row.
        width: at least so many characters in text.
        align: default: texts to the left, figures to the right.
    """

    name: str
    kind: Kind = "text"
    key: str = ""
    digits: int | Literal["error"] = 4
    width: int = 0
    align: Literal["left", "right"] | None = None

    @property
    def data_key(self) -> str:
        """Its name for programs."""
        return self.key or self.name

    @property
    def is_left(self) -> bool:
        """Whether it stands to the left."""
        return (self.align or ("left" if self.kind in ("heading", "text") else "right")) == "left"


def estimate_columns(
    confidence: float,
    name: str = "estimate",
    kind: Kind = "number",
    *,
    tests: Literal["", "z", "t"] = "",
    digits: int = 4,
) -> tuple[Column, ...]:
    """An estimate, its standard error, z or t with its df and P where `tests`, and the ends of its interval.

    >>> [column.name for column in estimate_columns(0.9, tests="z")]
    ['estimate', 'std. error', 'z', 'P>|z|', '5 %', '95 %']
    >>> [column.name for column in estimate_columns(0.9, tests="t")]
    ['estimate', 'std. error', 't', 'df', 'P>|t|', '5 %', '95 %']
    """
    width = 0 if kind == "percent" else 10
    return (
        Column(name, kind, digits=digits, width=width),
        error_column(kind, width=width, digits=digits),
        *((Column(tests, "ratio", width=8),) if tests else ()),
        *((Column("df", "decimal", digits=1),) if tests == "t" else ()),
        *((p_value_column(7, tests),) if tests else ()),
        *interval_columns(confidence, kind, width=width, digits=digits),
    )


def error_column(kind: Kind = "number", **options: Any) -> Column:
    """Of standard errors."""
    return Column("std. error", kind, "std_error", **options)


def p_value_column(width: int = 0, of: str = "z") -> Column:
    """Of two-sided p-values."""
    return Column(f"P>|{of}|", "p-value", "p_value", width=width)


def columns_of_test(statistic: str = "χ²") -> tuple[Column, ...]:
    """A statistic, its degrees of freedom (of F also those of the denominator) and its p-value."""
    freedom = [Column("df", "significant", "degrees_of_freedom")]
    if statistic == "F":
        freedom.append(Column("and", "decimal", "denominator", digits=1))
    return Column(statistic, "ratio", "statistic"), *freedom, Column("P", "p-value", "p_value")


def interval_columns(confidence: float, kind: Kind = "number", **options: Any) -> tuple[Column, Column]:
    """The lower and the upper end of intervals."""
    low, high = f"{50 * (1 - confidence):g} %", f"{50 * (1 + confidence):g} %"
    return Column(low, kind, "lower", **options), Column(high, kind, "upper", **options)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns, rows of raw values, and what belongs above and below them.

    Attributes:
        columns: what each holds; where the first is a heading, rows with the same one follow each other.
        rows: one value per column, as they are: numbers are not rounded, shares not in percent.
        title: what it is about, in one line.
        head: lines between the title and the columns.
        notes: lines below.
        alarms: what a reader must know before any number.
        most_rows: of longer blocks the first so many are shown in text.
        rows_are: what rows are called.

    >>> table = Table(
    ...     (Column("region"), *estimate_columns(0.95, "share", "percent")),
    ...     [("north & west", 0.12, 0.01, 0.1, 0.14), ("south", 0.091, np.nan, np.nan, np.nan)],
    ...     title="Share of yes",
    ... )
    >>> print(table)
    Share of yes
    <BLANKLINE>
    region         share  std. error   2.5 %  97.5 %
    ------------------------------------------------
    north & west  12.0 %       1.0 %  10.0 %  14.0 %
    south          9.1 %           –       –       –
    ------------------------------------------------
    >>> table.to_json()["rows"][1]
    {'region': 'south', 'share': 0.091, 'std_error': None, 'lower': None, 'upper': None}
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    head: Sequence[str] = ()
    notes: Sequence[str] = ()
    alarms: Sequence[str] = ()
    most_rows: int = _MOST_ROWS
    rows_are: str = "rows"

    # -- for programs ----------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain values: numbers with all their digits; null where there is none."""
        keys = [column.data_key for column in self.columns]
        return {
            "title": self.title,
            "columns": [{"key": c.data_key, "name": c.name, "kind": c.kind, "digits": c.digits} for c in self.columns],
            "rows": [dict(zip(keys, as_json(list(row)), strict=True)) for row in self.rows],
            "notes": list(self.notes),
            "alarms": list(self.alarms),
        }

    def to_frame(self, backend: Backend | None = None) -> Any:
        """A data frame with a column per key.

        Args:
            backend: "pandas", "polars" or "pyarrow"; default: the first of them that is installed.
        """
        backends: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
        if backend not in (None, *backends):
            raise InputError(
                f"backend is {backend!r}; allowed: {', '.join(backends)}.",
                remedy="Leave it out for the first there is.",
            )
        import narwhals as nw

        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.columns)
        content = {c.data_key: _alike([*map(_plain, values)]) for c, values in zip(self.columns, columns, strict=True)}
        for module in backends if backend is None else (backend,):
            try:
                import_module(module)
            except ImportError:
                continue
            return nw.from_dict(content, backend=module).to_native()
        raise InputError(
            f"a data frame needs {backend or 'pandas, polars or pyarrow'}, which is not installed.",
            remedy=f"Install {backend or 'one of them'}, or use to_json().",
        )

    def to_csv(self) -> str:
        """Lines of CSV with the names of the keys first: numbers with all their digits, nothing where there is none."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.data_key for column in self.columns])
        writer.writerows([["" if value is None else value for value in as_json(list(row))] for row in self.rows])
        return file.getvalue()

    # -- for people ------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, width: int = WIDTH) -> str:
        """Lines of at most `width` characters, where the figures leave room for a name."""
        visible, blocks = self._visible, self._blocks()
        shown = [cells for _, rows in blocks for cells in rows[: self.most_rows]]
        widths = [
            max(column.width, len(column.name), *(len(cells[i]) for cells in shown)) if shown else len(column.name)
            for i, column in enumerate(visible)
        ]
        widths[0] = min(widths[0], max(8, width - sum(widths[1:]) - len(_BETWEEN) * len(widths[1:])))
        rule = "-" * (sum(widths) + len(_BETWEEN) * len(widths[1:]))
        lines = [line for alarm in self.alarms for line in (*textwrap.wrap(f"ALARM: {alarm}", width), "")]
        lines += [self.title, ""] if self.title else []
        lines += [*self.head, ""] if self.head else []
        lines += [self._line([column.name for column in visible], widths), rule]
        for number, (heading, rows) in enumerate(blocks):
            if heading:
                lines += ([""] if number else []) + textwrap.wrap(heading, width)
            for cells in rows[: self.most_rows]:
                if len(cells[0]) > widths[0]:  # a long name has lines of its own
                    lines += textwrap.wrap(cells[0], width)
                    cells = ["", *cells[1:]]
                lines.append(self._line(cells, widths))
            if len(rows) > self.most_rows:
                lines.append(f"… and {len(rows) - self.most_rows:,} more {self.rows_are}")
        lines.append(rule)
        for note in self.notes:
            indent = " " * len("note: ") if note.startswith("note: ") else ""
            lines += textwrap.wrap(note, width, subsequent_indent=indent)
        return "\n".join(lines)

    def to_latex(self) -> str:
        """A table in LaTeX, with the rules of the package booktabs; texts are escaped."""
        visible, tex = self._visible, latex
        letters = "".join("l" if column.is_left else "r" for column in visible)
        lines = [r"\begin{table}", r"\centering", *([rf"\caption{{{tex(self._caption)}}}"] if self.title else [])]
        lines += [rf"\begin{{tabular}}{{{letters}}}", r"\toprule", latex_row([tex(c.name) for c in visible])]
        for heading, rows in self._blocks():
            lines.append(r"\midrule")
            if heading:
                lines.append(rf"\multicolumn{{{len(visible)}}}{{l}}{{{tex(heading)}}} \\")
            lines += [latex_row(map(tex, cells)) for cells in rows]
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\footnotesize {tex(note)}" for note in self._below]
        return "\n".join([*lines, r"\end{table}"])

    def to_html(self) -> str:
        """A table in HTML, whose headers say what they are headers of; texts are escaped."""
        visible, text = self._visible, html.escape
        styles = ["" if column.is_left else ' style="text-align: right"' for column in visible]
        lines = ["<table>", *([f"<caption>{text(self._caption)}</caption>"] if self.title else [])]
        names = zip(visible, styles, strict=True)
        heads = "".join(f'<th scope="col"{style}>{text(column.name)}</th>' for column, style in names)
        lines += ["<thead>", f"<tr>{heads}</tr>", "</thead>"]
        for heading, rows in self._blocks():
            lines.append("<tbody>")
            if heading:
                lines.append(f'<tr><th scope="rowgroup" colspan="{len(visible)}">{text(heading)}</th></tr>')
            for cells in rows:
                values = "".join(f"<td{s}>{text(c)}</td>" for c, s in zip(cells[1:], styles[1:], strict=True))
                lines.append(f'<tr><th scope="row"{styles[0]}>{text(cells[0])}</th>{values}</tr>')
            lines.append("</tbody>")
        if self._below:
            cells_below = [f'<tr><td colspan="{len(visible)}">{text(note)}</td></tr>' for note in self._below]
            lines += ["<tfoot>", *cells_below, "</tfoot>"]
        return "\n".join([*lines, "</table>"])

    def to_markdown(self) -> str:
        """A table in Markdown, as GitHub, Pandoc and Quarto read it; headings are rows in bold, texts are escaped."""
        visible = self._visible
        lines = [*([f"**{markdown(self._caption)}**", ""] if self.title else [])]
        lines += [markdown_row([markdown(column.name) for column in visible])]
        lines += [markdown_row([":--" if column.is_left else "--:" for column in visible])]
        for heading, rows in self._blocks():
            if heading:
                lines.append(markdown_row([f"**{markdown(heading)}**", *[""] * (len(visible) - 1)]))
            lines += [markdown_row(map(markdown, cells)) for cells in rows]
        return "\n".join([*lines, *(line for note in self._below for line in ("", markdown(note)))])

    @property
    def _caption(self) -> str:
        """The title where blanks do not set its parts apart."""
        return self.title.replace("   ", ", ")

    @property
    def _below(self) -> list[str]:
        """What stands below the figures of a paper."""
        return [*(f"ALARM: {alarm}" for alarm in self.alarms), *self.notes]

    @property
    def _visible(self) -> list[Column]:
        return [column for column in self.columns if column.kind != "heading"]

    def _blocks(self) -> list[tuple[str, list[list[str]]]]:
        """Rows as texts, under the heading that they share; one empty heading where there is none."""
        has_heading = bool(self.columns) and self.columns[0].kind == "heading"
        parts = groupby(self.rows, key=lambda row: str(row[0]) if has_heading else "")
        return [(heading, [list(self._cells(row)) for row in rows]) for heading, rows in parts]

    def _cells(self, row: Sequence[Any]) -> Iterator[str]:
        by_key = {column.data_key: value for column, value in zip(self.columns, row, strict=True)}
        for column, value in zip(self.columns, row, strict=True):
            if column.kind != "heading":
                digits = column.digits if isinstance(column.digits, int) else _error_digits(by_key)
                yield shown_value(_without_last_digits(value, column.kind, by_key), column.kind, digits)

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        padded = (
            f"{cell:<{width}}" if column.is_left else f"{cell:>{width}}"
            for column, cell, width in zip(self._visible, cells, widths, strict=True)
        )
        return _BETWEEN.join(padded).rstrip()


class Tabulated:
    """What has a table, in all its forms."""

    def table(self) -> Table:
        """Its figures, their errors, and what a reader should know."""
        raise NotImplementedError

    def summary(self) -> str:
        """The table for people, in lines of at most 100 characters where names allow it."""
        return self.table().to_text()

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self, backend: Backend | None = None) -> Any:
        """The table as a data frame; see `Table.to_frame`."""
        return self.table().to_frame(backend)

    def to_csv(self) -> str:
        """The table as CSV, with all digits."""
        return self.table().to_csv()

    def to_latex(self) -> str:
        """The table in LaTeX, with the rules of booktabs."""
        return self.table().to_latex()

    def to_html(self) -> str:
        """The table in HTML."""
        return self.table().to_html()

    def to_markdown(self) -> str:
        """The table in Markdown."""
        return self.table().to_markdown()


def shown_value(value: Any, kind: Kind, digits: int = 4) -> str:
    """A value as text; a dash where there is none.

    >>> [shown_value(value, "percent") for value in (0.2814, 0.00012, float("nan"))]
    ['28.1 %', '0.012 %', '–']
    >>> [shown_value(value, "p-value") for value in (0.0251, 1e-9)], shown_value(123456.0, "number")
    (['0.025', '<0.001'], '1.23e+05')
    """
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return _MISSING
    return _SHOWN[kind](value, digits)


def _without_last_digits(value: Any, kind: Kind, row: Mapping[str, Any]) -> Any:
    """A value, or 0 where it is nothing beside the standard error of its row; ratios are of errors already."""
    error = 1.0 if kind == "ratio" else row.get("std_error") if kind in ("number", "points") else None
    if isinstance(value, float) and isinstance(error, float) and abs(value) < _NOTHING * error:
        return 0.0
    return value


def _error_digits(row: Mapping[str, Any]) -> int:
    """One decimal of percentage points, or two digits of small errors: effects of a single year or euro."""
    error = 100 * (row.get("std_error") or math.nan)
    return 1 - math.floor(math.log10(error)) if 1e-8 < error < 0.3 else 1


def _number(value: float, digits: int) -> str:
    """With decimals, or three digits and an exponent where these say nothing."""
    return f"{value:.{digits}f}" if value == 0 or 1e-3 <= abs(value) < 1e4 else f"{value:.2e}"


def _in_one_line(text: str) -> str:
    """Without line breaks, which would tear a row apart."""
    return text if text.isprintable() else " ".join(text.split())


_SHOWN: dict[Kind, Callable[[Any, int], str]] = {
    "heading": lambda value, _: str(value),
    "text": lambda value, _: _in_one_line(str(value)),
    "count": lambda value, _: f"{value:,.0f}",
    "number": _number,
    "decimal": lambda value, digits: f"{value:.{digits}f}",
    "significant": lambda value, digits: f"{value:.{digits}g}",
    "ratio": lambda value, _: f"{value:.2f}" if abs(value) < 1e4 else f"{value:.1e}",
    "p-value": lambda value, _: "<0.001" if value < 5e-4 else f"{value:.3f}",
    # More digits where one decimal says nothing.
    "percent": lambda p, _: f"{100 * p:.1f} %" if p == 0 or abs(p) >= 5e-4 else f"{100 * p:.2g} %",
    "points": lambda value, digits: f"{100 * value:+.{digits}f}",
    "spread": lambda value, digits: f"{100 * value:.{digits}f}",
}


def as_json(value: Any) -> Any:
    """A value as plain JSON: arrays and tuples become lists, NaN and infinity null.

    >>> as_json((np.array([1.0, np.nan]), "a"))
    [[1.0, None], 'a']
    """
    value = _plain(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [as_json(item) for item in value]
    return value


def _alike(values: list[Any]) -> list[Any]:
    """As they are, or as texts where numbers stand beside texts: columns of data frames are of one type."""
    kinds = {isinstance(value, str) for value in values if value is not None}
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
