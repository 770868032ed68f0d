"""Tables as files for papers: LaTeX, HTML, Markdown or CSV, by the ending of the name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from askance.errors import InputError
from askance.formats.disk import as_path, write_whole
from askance.formats.html_page import html_document, table_html
from askance.tables import Table, Tabulated

_WRITERS: dict[str, Callable[[Table | Tabulated], str]] = {
    ".tex": lambda table: f"{table.to_latex()}\n",
    ".html": lambda table: _page(table.table() if isinstance(table, Tabulated) else table),
    ".md": lambda table: f"{table.to_markdown()}\n",
    ".csv": lambda table: table.to_csv(),
}


def _page(table: Table) -> str:
    """A page with the table alone; its title is that of the page."""
    return html_document(table.title or "Table", "", [table_html(replace(table, title=""))])


def write_table(table: Table | Tabulated, path: str | Path) -> None:
    """Write a table or a result, whole or not at all; the ending says how: .tex, .html, .md or .csv.

    >>> import tempfile
    >>> from askance.tables import Column
    >>> path = Path(tempfile.mkdtemp()) / "reports.md"
    >>> write_table(Table([Column("n", "count")], [(3,)]), path)
    >>> print(path.read_text())
    | n |
    | --: |
    | 3 |
    <BLANKLINE>
    """
    ending = as_path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(
            f"the table is to be {path}; allowed: a name that ends in {', '.join(_WRITERS)}.",
            remedy="Write table.tex, for example.",
        )
    write_whole(path, _WRITERS[ending](table).encode())
