"""`askance synth`: synthetic records from a fitted random field."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON_SUMMARY, WholeNumber, option, seed_option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile

# Records are made in memory and written in one piece.
_MOST = 10**7
_RECORDS = OutputFile("records", ".csv", unless="synthetic records look like real ones, and replace nothing")


@command(
    "synth",
    "Draw synthetic records from a fitted field.",
    examples=["askance synth people.field -n 10000 --seed 1 -o synthetic.csv"],
)
@click.argument("fit", type=FILE)
@option(
    "-n, --records N",
    "how many records, up to 10,000,000",
    WholeNumber(1, _MOST, "Give a number of records such as 10000."),
    name="n",
    required=True,
)
@seed_option("seed of the random numbers: the same gives the same records", required=True)
@option("-o, --output FILE", "where they go (.csv)", OutputFile("records", ".csv"), required=True)
@JSON_SUMMARY
def synth_command(fit: Path, n: int, seed: int, output: Path) -> None:
    """Draw N synthetic records from FIT, a random field that `askance estimate STATE --field --save FIT` wrote.

    Records carry labels, one column per variable. They follow the fitted field: no record is anybody's, and as the
    field was fitted to noised reports alone, drawing from it costs no privacy.
    """
    import numpy as np

    from askance.estimation.results.fit_table import level_text
    from askance.formats.disk import read_whole, write_whole
    from askance.formats.field_fit_file import read_field_fit

    fitted = read_field_fit(fit)
    with progress(f"drawing {n:,} records") as doing:
        columns = fitted.sample(n, np.random.default_rng(seed))
        doing(f"writing {output}")
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        data = buffer.getvalue().encode("utf-8")
        if not (output.is_file() and output.stat().st_size == len(data) and read_whole(output) == data):
            _RECORDS.check(output)
        write_whole(output, data)
    content = {
        "records": n,
        "seed": seed,
        "output": str(output),
        "variables": {name: known.labels for name, known in fitted.field.categories.items()},
        "reports": fitted.n_observations,
        "privacy_level": fitted.privacy_level,
        "method": fitted.method,
        "repaired": fitted.repaired,
    }
    rows = [
        ("records", f"{n:,}"),
        ("variables", ", ".join(fitted.field.variables)),
        ("fitted to", f"{fitted.n_observations:,} reports, privacy level {level_text(fitted.privacy_level)}"),
        ("seed", str(seed)),
    ]
    show(Card(f"synthetic records written to {output}", rows, content))
