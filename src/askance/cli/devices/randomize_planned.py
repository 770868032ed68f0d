"""`askance randomize records` and `askance randomize release`: whole records, noised as was planned."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import askance as lib
from askance.cli.devices.noising import noise_table, record_options
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, option
from askance.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from askance._arrays import FloatArray
    from askance.channels.registry import AnyChannel
    from askance.survey.tables import Column, Columns

_TWICE = "whoever was in the pilot as well has now spent both levels, which add up; ask others"


@command(
    "records",
    "records of a random field, as planned with `askance plan field`",
    examples=[
        "askance randomize records channel.toml --variables people.toml --input people.csv -o reports.jsonl",
    ],
)
@click.argument("path", metavar="CHANNEL", type=FILE)
@option("--variables FILE", "the TOML file of names and labels that the channel was planned with", FILE, required=True)
@option("--input FILE", "a table, one row per respondent, a column per variable", FILE, required=True)
@record_options
def randomize_records(path: Path, variables: Path, input: Path, output: Path, **flags: Any) -> None:
    """Noise the records of a table through CHANNEL, a TOML file of `askance plan field`.

    Columns are found by name, and hold the labels of --variables; an unknown label stops the command. Random numbers
    come from the cryptographic source of the system: nothing can be repeated, there is no --seed.
    """
    import numpy as np

    from askance.estimation.problems.field_evidence import require_purpose
    from askance.formats import read_channel
    from askance.formats.field_fit_file import field_for
    from askance.survey.record_tables import read_labels, refuse_answers_as_names

    channel = read_channel(path)
    if not isinstance(channel, lib.CliqueRelease):
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
    named = channel.named(channel.purpose or field.purpose)

    def noised(columns: Sequence[Column], kept: Sequence[int], rows: slice) -> Any:
        pairs = zip(field.categories.items(), columns, strict=True)
        codes = [known.encode(read_labels(column, known, kept[rows], input), name) for (name, known), column in pairs]
        return named.randomize(np.column_stack(codes))

    def noiser(columns: Sequence[Column], kept: Sequence[int]) -> tuple[AnyChannel, Callable[[slice], Any]]:
        return named, partial(noised, columns, kept)

    def chosen(table: Columns) -> list[Column]:
        ids = [] if flags["id_column"] is None else [flags["id_column"]]
        refuse_answers_as_names(table, [*field.variables, *ids], list(field.categories.values()), input)
        return [table[name] for name in field.variables]

    # Cells stay as they are written: "01" is no number, and "NA" may be a country.
    noise_table(input, output, chosen, noiser, texts=True, **flags)


@command(
    "release",
    "records of a private regression, as planned with `askance plan regression`",
    examples=["askance randomize release release.json --input people.csv -o reports.jsonl"],
)
@click.argument("path", metavar="RELEASE", type=FILE)
@option("--input FILE", "a table, one row per respondent, with the columns planned", FILE, required=True)
@option("--strict", "refuse records that would be clipped, naming the first")
@record_options
def randomize_release(path: Path, input: Path, strict: bool, output: Path, **flags: Any) -> None:
    """Noise the records of a table as RELEASE says, a file of `askance plan regression`.

    Columns are found by name. Values outside the bounds, or many scales from the centre, are clipped, and nothing is
    said about it: what was clipped tells of the records; --strict refuses them instead. Random numbers come from the
    cryptographic source of the system: nothing can be repeated, there is no --seed.
    """
    import numpy as np

    from askance.formats.release_file import read_release
    from askance.survey.record_tables import refuse_answers_as_names, require_numbers

    release = read_release(path)

    def noiser(columns: Sequence[Column], kept: Sequence[int]) -> tuple[AnyChannel, Callable[[slice], Any]]:
        for column in columns:
            require_numbers(column, input, kept)
        values = np.column_stack([column.values[kept].astype(float) for column in columns])
        if strict:
            _require_within(release, values, kept, input)
        return release.channel, lambda rows: release.randomize(values[rows, :-1], values[rows, -1])

    def chosen(table: Columns) -> list[Column]:
        ids = [] if flags["id_column"] is None else [flags["id_column"]]
        refuse_answers_as_names(table, [*release.field.names, *ids], [], input)
        return [table[name] for name in release.field.names]

    note = _TWICE if isinstance(release, lib.MomentRelease) and release.pilot_observations > 0 else ""
    noise_table(input, output, chosen, noiser, texts=False, note=note, **flags)


def _require_within(
    release: lib.MomentRelease | lib.ScalePilot, values: FloatArray, rows: Sequence[int], path: Path
) -> None:
    try:
        release.field.require_kept(values[:, :-1], values[:, -1], rows)
    except InputError as error:
        raise InputError(f"{path}: {error.message}", remedy="Correct the table, or leave --strict out.") from None
