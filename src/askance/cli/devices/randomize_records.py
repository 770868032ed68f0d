"""`askance randomize records`: records of a random field, noised on the device."""

from __future__ import annotations

from pathlib import Path

import click

from askance.cli.devices.channel_summary import channel_as_json, channel_rows
from askance.cli.devices.record_tables import (
    complete_columns,
    people_options,
    pieces_of,
    read_ids,
    read_labels,
    read_people,
    refuse_place,
)
from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import progress
from askance.errors import InputError

_FILE = click.Path(path_type=Path)


@click.command(
    "records",
    cls=GuidedCommand,
    short_help="records of a random field, as planned with `askance plan field`",
    examples=[
        "askance randomize records channel.toml --variables people.toml --input people.csv -o reports.jsonl",
    ],
)
@click.argument("path", metavar="CHANNEL", type=_FILE)
@click.option(
    "--variables",
    metavar="FILE",
    type=_FILE,
    required=True,
    help="the TOML file of names and labels that the channel was planned with",
)
@click.option(
    "--input", metavar="FILE", type=_FILE, required=True, help="a table, one row per respondent, a column per variable"
)
@people_options
def randomize_records(
    path: Path, variables: Path, input: Path, id_column: str | None, missing: str, output: Path, as_json: bool
) -> None:
    """Noise the records of a table through CHANNEL, a TOML file of `askance plan field`.

    Columns are found by name, and hold the labels of --variables; an unknown label stops the command. Random numbers
    come from the cryptographic source of the system: nothing can be repeated, there is no --seed.
    """
    import numpy as np

    from askance.channels.statistics.clique_release import CliqueRelease
    from askance.estimation.problems.field_evidence import require_purpose
    from askance.formats import read_channel
    from askance.formats.field_fit_file import field_for
    from askance.formats.reports import report_writer

    refuse_place(output, [path, variables, input])
    channel = read_channel(path)
    if not isinstance(channel, CliqueRelease):
        raise InputError(
            f"{path} describes {channel.kind}; allowed: clique-release.", remedy="Make one with `askance plan field`."
        )
    field = field_for(channel, variables)
    if tuple(field.sizes) != tuple(channel.tables.sizes):
        raise InputError(
            f"{variables} has variables of {list(field.sizes)} values; allowed: {list(channel.tables.sizes)}, as in "
            f"{path}.",
            remedy="Give the description that the channel was planned with.",
        )
    require_purpose(field, channel)
    channel = channel.named(channel.purpose or field.purpose)
    with progress() as doing:
        doing(f"reading {input}")
        # Cells stay as they are written: "01" is no number, and "NA" may be a country.
        table = read_people(input, texts=True)
        columns, kept = complete_columns(table, field.variables, input, drop=missing == "drop")
        numbers = np.flatnonzero(kept).tolist()
        ids = None if id_column is None else read_ids(table[id_column], input, numbers)
        with report_writer(output, channel, ids=ids is not None) as writer:
            for rows in pieces_of(int(kept.sum()), len(columns)):
                doing(f"noising {input}: row {rows.start + 1:,} of {int(kept.sum()):,}")
                codes = [
                    known.encode(read_labels(column, known, rows, input, numbers), name)
                    for (name, known), column in zip(field.categories.items(), columns, strict=True)
                ]
                reports = channel.randomize(np.column_stack(codes))
                writer.write(reports, None if ids is None else ids[rows])
    if as_json:
        told = {"reports": writer.written, "dropped": int((~kept).sum()), "output": str(output)}
        print_json({**told, **channel_as_json(channel)})
        return
    print_table(
        f"reports written to {output}",
        ["", ""],
        [("reports", f"{writer.written:,}"), ("rows dropped", f"{int((~kept).sum()):,}"), *channel_rows(channel)],
    )
