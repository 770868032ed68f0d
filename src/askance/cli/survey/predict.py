"""`askance predict`: probabilities of the hidden answer for rows of a table, from a saved fit."""

from __future__ import annotations

from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, confidence_option, option
from askance.cli.shared.printing import show
from askance.cli.shared.progress import working
from askance.cli.survey.saved_fits import TABLE_OPTION, keep_table, read_fit
from askance.errors import InputError


@command(
    "predict",
    "Probabilities of the hidden answer for new rows, from a saved fit.",
    examples=[
        "askance predict survey.fit new.csv",
        "askance predict survey.fit new.csv --table predicted.csv",
        "askance predict votes.fit new.csv --outcome",
    ],
)
@click.argument("fit", type=FILE)
@click.argument("data", type=FILE)
@confidence_option()
@option("--outcome", "what the hidden answer explains instead, where the formula of the fit has hidden(COLUMN)")
@TABLE_OPTION
@JSON
def predict_command(fit: Path, data: Path, confidence: float, table: Path | None, *, outcome: bool) -> None:
    """Predict the hidden answer of every row of the table DATA by the fit in the file FIT (of `askance fit --save`).

    DATA has the columns of the formula, as for `askance fit`; what the fit never saw is refused. Rows are counted
    from 0.
    """
    from askance.survey import read_table

    with working() as doing:
        saved = read_fit(fit)
        if outcome and not hasattr(saved, "predict_outcome"):
            raise InputError(f"--outcome is given, and {fit} has no outcome.", remedy="Leave it out.")
        if not hasattr(saved, "trait"):
            raise InputError(
                f"{fit} is a fit that predicts no rows of a table; allowed: one of a formula.",
                remedy="Fit with `askance fit`.",
            )
        doing(f"reading {data}")
        rows = read_table(data)
        doing(f"predicting {len(rows):,} rows")
        law = saved.predict_outcome if outcome else saved.trait.predict
        result = law(rows, confidence=confidence)
        keep_table(result, table)
    hidden = "" if outcome or not getattr(saved.model, "outcomes", ()) else saved.variables[0]
    show(result, below=[f"of the hidden answer {hidden}; --outcome predicts what it explains"] if hidden else [])
