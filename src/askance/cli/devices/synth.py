"""`askance synth`: synthetic records from a fitted random field."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

from askance.cli.shared.guided import command
from askance.cli.shared.numbers import SEED, WholeNumber
from askance.cli.shared.options import FILE, JSON_SUMMARY, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile, refuse_replacing

# Records are made in memory and written in one piece.
_MOST = 10**7


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
@option("--seed S", "seed of the random numbers: the same gives the same records", SEED, required=True)
@option("-o, --output FILE", "where they go (.csv)", OutputFile("records", ".csv"), required=True)
@JSON_SUMMARY
def synth_command(fit: Path, n: int, seed: int, output: Path, as_json: bool) -> None:
    """Draw N synthetic records from FIT, a random field that `askance estimate STATE --field --save FIT` wrote.

    Records carry labels, one column per variable. They follow the fitted field: no record is anybody's, and as the
    field was fitted to noised reports alone, drawing from it costs no privacy.
    """
    import numpy as np

    from askance.estimation.results.results import as_json as plain
    from askance.formats.disk import read_whole, write_whole
    from askance.formats.field_fit_file import read_field_fit

    found = read_field_fit(fit)
    with progress() as doing:
        doing(f"drawing {n:,} records")
        columns = found.sample(n, np.random.default_rng(seed))
        doing(f"writing {output}")
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        data = buffer.getvalue().encode("utf-8")
        if not (output.is_file() and output.stat().st_size == len(data) and read_whole(output) == data):
            refuse_replacing(output, "synthetic records look like real ones, and replace nothing")
        write_whole(output, data)
    level = plain(found.privacy_level)
    content = {
        "records": n,
        "seed": seed,
        "output": str(output),
        "variables": plain({name: list(known.labels) for name, known in found.field.categories.items()}),
        "reports": found.n_observations,
        "privacy_level": level,
        "method": found.method,
        "repaired": found.diagnostics.repaired,
    }
    rows = [
        ("records", f"{n:,}"),
        ("variables", ", ".join(found.field.variables)),
        ("fitted to", f"{found.n_observations:,} reports, privacy level {'none' if level is None else f'{level:.4g}'}"),
        ("seed", str(seed)),
    ]
    show(Card(f"synthetic records written to {output}", rows, content), as_json)
