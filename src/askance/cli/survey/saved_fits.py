"""What commands about saved fits share: how they are read, and where a table goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askance.cli.shared.options import option
from askance.cli.shared.write_guards import OutputFile
from askance.errors import InputError

#: A table for a paper.
TABLE_FILE = OutputFile("text", ".tex", ".html", ".md", ".csv")
#: The same as an option.
TABLE_OPTION = option("--table FILE", "write the table for a paper (.tex, .html, .md) or as numbers (.csv)", TABLE_FILE)


def read_fit(path: Path) -> Any:
    """The fit in a file; other files are refused."""
    from askance import Fit, load

    fit = load(path)
    if not isinstance(fit, Fit):
        raise InputError(
            f"{path} holds a {type(fit).__name__.lower()}; allowed: a fit.",
            remedy="Make one with `askance fit … --save FILE`.",
        )
    return fit


def keep_table(result: Any, path: Path | None) -> None:
    """Write the table of a result where one was asked for."""
    if path is not None:
        from askance.formats.table_file import write_table

        write_table(result, path)
