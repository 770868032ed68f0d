"""`askance synth`: synthetic records from a fitted random field."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.numbers import SEED, WholeNumber
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import refuse_inputs, refuse_replacing, require_writable

if TYPE_CHECKING:
    from askance.estimation.results.field_fit import FieldFit

# Records are made in memory and written in one piece.
_MOST = 10**7


@click.command(
    "synth",
    cls=GuidedCommand,
    short_help="Draw synthetic records from a fitted field.",
    examples=["askance synth people.field -n 10000 --seed 1 -o synthetic.csv"],
)
@click.argument("fit", type=click.Path(path_type=Path))
@click.option(
    "-n",
    "--records",
    "n",
    metavar="N",
    type=WholeNumber(1, _MOST, "Give a number of records such as 10000."),
    required=True,
    help="how many records, up to 10,000,000",
)
@click.option(
    "--seed", metavar="S", type=SEED, required=True, help="seed of the random numbers: the same gives the same records"
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path), required=True, help="where they go (.csv)"
)
@click.option("--json", "as_json", is_flag=True, help="print the summary as JSON")
def synth_command(fit: Path, n: int, seed: int, output: Path, as_json: bool) -> None:
    """Draw N synthetic records from FIT, a random field that `askance fit --state STATE --field --save FIT` wrote.

    Records carry labels, one column per variable. They follow the fitted field: no record is anybody's, and as the
    field was fitted to noised reports alone, drawing from it costs no privacy.
    """
    import numpy as np

    from askance.formats.disk import read_whole, write_whole
    from askance.formats.field_fit_file import read_field_fit

    require_writable(output, "-o", (".csv",))
    refuse_inputs(output, [fit])
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
    _print(found, n, seed, output, as_json)


def _print(fit: FieldFit, n: int, seed: int, output: Path, as_json: bool) -> None:
    from askance.estimation.results.results import as_json as plain

    if as_json:
        print_json(
            {
                "records": n,
                "seed": seed,
                "output": str(output),
                "variables": plain({name: list(known.labels) for name, known in fit.field.categories.items()}),
                "reports": fit.n_observations,
                "privacy_level": plain(fit.privacy_level),
                "method": fit.method,
                "repaired": fit.diagnostics.repaired,
            }
        )
        return
    level = plain(fit.privacy_level)
    rows = [
        ("records", f"{n:,}"),
        ("variables", ", ".join(fit.field.variables)),
        ("fitted to", f"{fit.n_observations:,} reports, privacy level {'none' if level is None else f'{level:.4g}'}"),
        ("seed", str(seed)),
    ]
    print_table(f"synthetic records written to {output}", ["", ""], rows)
