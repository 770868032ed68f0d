"""`askance randomize release`: records of a private regression, noised on the device."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.devices.channel_summary import channel_as_json, channel_rows
from askance.cli.devices.record_tables import (
    complete_columns,
    numbers_of,
    people_options,
    pieces_of,
    read_ids,
    read_people,
    refuse_place,
)
from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import progress
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.channels.statistics.moment_release import MomentRelease
    from askance.channels.statistics.scale_pilot import ScalePilot

_FILE = click.Path(path_type=Path)
_TWICE = "whoever was in the pilot as well has now spent both levels, which add up; ask others"


@click.command(
    "release",
    cls=GuidedCommand,
    short_help="records of a private regression, as planned with `askance plan regression`",
    examples=["askance randomize release release.json --input people.csv -o reports.jsonl"],
)
@click.argument("path", metavar="RELEASE", type=_FILE)
@click.option(
    "--input",
    metavar="FILE",
    type=_FILE,
    required=True,
    help="a table, one row per respondent, with the columns planned",
)
@click.option("--strict", is_flag=True, help="refuse records that would be clipped, naming the first")
@people_options
def randomize_release(
    path: Path, input: Path, id_column: str | None, missing: str, strict: bool, output: Path, as_json: bool
) -> None:
    """Noise the records of a table as RELEASE says, a file of `askance plan regression`.

    Columns are found by name. Values outside the bounds, or many scales from the centre, are clipped, and nothing is
    said about it: what was clipped tells of the records; --strict refuses them instead. Random numbers come from the
    cryptographic source of the system: nothing can be repeated, there is no --seed.
    """
    import numpy as np

    from askance.channels.statistics.moment_release import MomentRelease
    from askance.formats.release_file import read_release
    from askance.formats.reports import report_writer

    refuse_place(output, [path, input])
    release = read_release(path)
    names = release.field.names
    with progress() as doing:
        doing(f"reading {input}")
        table = read_people(input)
        columns, kept = complete_columns(table, names, input, drop=missing == "drop")
        numbers = np.flatnonzero(kept).tolist()
        ids = None if id_column is None else read_ids(table[id_column], input, numbers)
        values = np.column_stack([numbers_of(column, input, numbers) for column in columns])
        if strict:
            _require_within(release, values, numbers, input)
        with report_writer(output, release.channel, ids=ids is not None) as writer:
            for rows in pieces_of(len(values), release.channel.truth_width):
                doing(f"noising {input}: row {rows.start + 1:,} of {len(values):,}")
                reports = release.randomize(values[rows, :-1], values[rows, -1])
                writer.write(reports, None if ids is None else ids[rows])
    dropped = int((~kept).sum())
    after_pilot = isinstance(release, MomentRelease) and release.pilot_observations > 0
    note = _TWICE if after_pilot else ""
    if as_json:
        told = {"reports": writer.written, "output": str(output), "dropped": dropped, "note": note}
        print_json({**told, **channel_as_json(release.channel)})
        return
    rows_shown = [
        ("reports", f"{writer.written:,}"),
        ("rows dropped", f"{dropped:,}"),
        *channel_rows(release.channel),
    ]
    print_table(f"reports written to {output}", ["", ""], rows_shown)
    if note:
        click.echo(f"note: {note}")


def _require_within(release: MomentRelease | ScalePilot, values: FloatArray, rows: Sequence[int], path: Path) -> None:
    try:
        release.field.require_kept(values[:, :-1], values[:, -1], rows)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", remedy="Correct the table, or leave --strict out.") from None
