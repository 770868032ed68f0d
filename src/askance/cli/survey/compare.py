"""`askance compare`: saved fits side by side."""

from __future__ import annotations

from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, NAMES, option
from askance.cli.shared.printing import show
from askance.cli.survey.saved_fits import TABLE_OPTION, keep_table, read_fit
from askance.errors import InputError


@command(
    "compare",
    "Saved fits side by side, as papers print them.",
    examples=[
        "askance compare small.fit large.fit",
        'askance compare small.fit large.fit --names "model 1,model 2" --table fits.tex',
    ],
)
@click.argument("fits", metavar="FIT...", nargs=-1, required=True, type=FILE)
@option("--names NAMES", "of the columns, with commas between them  [default: those of the files]", NAMES)
@option("--stars", "mark estimates with P below 0.05, 0.01 and 0.001")
@TABLE_OPTION
@JSON
def compare_command(fits: tuple[Path, ...], names: list[str] | None, stars: bool, table: Path | None) -> None:
    """Print the fits in the files FIT side by side: coefficients over their standard errors, and how each was made."""
    from askance import compare_fits

    columns = names or [path.stem for path in fits]
    if len(columns) != len(fits) or len(set(columns)) < len(columns):
        raise InputError(
            f"there are {len(fits)} fits for the columns {', '.join(columns)}; allowed: a name of its own for each.",
            remedy='Write --names "model 1,model 2".',
        )
    result = compare_fits({name: read_fit(path) for name, path in zip(columns, fits, strict=True)}, stars=stars)
    keep_table(result, table)
    show(result)
