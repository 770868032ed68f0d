"""Tables in the file of a fit: columns, rows of plain values, and what stands above and below them."""

from __future__ import annotations

from typing import Any, get_args

from askance._checks import shown
from askance.errors import FormatError
from askance.formats.fields import REWRITE, Fields
from askance.tables import Column, Kind, Table, as_json

_LINES = ("head", "notes", "alarms")


def table_to_json(table: Table) -> dict[str, Any]:
    """A table as plain JSON values.

    >>> table_to_json(Table([Column("n", "count")], [(3,)], title="Reports"))["rows"]
    [[3]]
    """
    columns = [
        {"name": c.name, "kind": c.kind, "key": c.key, "digits": c.digits, "width": c.width, "align": c.align}
        for c in table.columns
    ]
    lines = {name: list(getattr(table, name)) for name in _LINES}
    return {"title": table.title, "columns": columns, "rows": [_row(row) for row in table.rows], **lines}


def _row(row: Any) -> list[Any]:
    return [value if isinstance(value, str | bool | int | float | None) else str(value) for value in as_json(list(row))]


def tables_from_json(fields: Fields) -> tuple[Table, ...]:
    """The tables that a fit was saved with."""
    contents = fields.read("tables", list)
    return tuple(_table(Fields(content, f"a table in {fields.name}")) for content in contents)


def _table(fields: Fields) -> Table:
    columns = [_column(Fields(content, f"a column in {fields.name}")) for content in fields.read("columns", list)]
    rows = fields.read("rows", list)
    for row in rows:
        fits = isinstance(row, list) and len(row) == len(columns)
        if not fits or not all(_fits(value, column) for value, column in zip(row, columns, strict=True)):
            raise FormatError(f"{fields.name} has the row {shown(row)}.", remedy=REWRITE)
    lines = {name: fields.read(name, list) for name in _LINES}
    if not all(isinstance(line, str) for texts in lines.values() for line in texts):
        raise FormatError(f"{fields.name} has lines that are no texts.", remedy=REWRITE)
    return Table(columns, [tuple(row) for row in rows], title=fields.read("title", str), **lines)


def _fits(value: Any, column: Column) -> bool:
    """Whether a value can be shown in a column: any plain one where texts stand, a number elsewhere."""
    if column.kind in ("heading", "text"):
        return isinstance(value, str | bool | int | float | None)
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _column(fields: Fields) -> Column:
    kind, align, digits = fields.read("kind", str), fields.read("align", str, optional=True), fields.content["digits"]
    if kind not in get_args(Kind) or align not in (None, "left", "right"):
        raise FormatError(f"{fields.name} is a column of {shown(kind)}, {shown(align)}.", remedy=REWRITE)
    if digits != "error" and not (type(digits) is int and 0 <= digits <= 20):
        raise FormatError(f"{fields.name} has {shown(digits)} digits; allowed: 0 to 20.", remedy=REWRITE)
    width = fields.read("width", int)
    return Column(fields.read("name", str), kind, fields.read("key", str), digits, max(0, min(width, 100)), align)
