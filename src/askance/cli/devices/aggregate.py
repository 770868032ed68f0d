"""`askance aggregate`: reports and states in, one state out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.devices.channel_options import channel_as_json, channel_rows
from askance.cli.shared.engines import ENGINE_OPTION, PLACE, named_engine
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, PURPOSE_OF_UNNAMED_OPTION, Read, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile
from askance.errors import FormatError, InputError

if TYPE_CHECKING:
    from askance.formats import RowGroups


def _read_split(text: str) -> int | tuple[int, int]:
    part, slash, of = text.rpartition("/")
    return (int(part), int(of)) if slash else int(of)


def _read_range(text: str) -> tuple[int, int]:
    first, stop = text.split(":")
    return int(first), int(stop)


def _some_groups(reports: tuple[Path | str, ...], numbers: tuple[int, int]) -> RowGroups:
    from askance.formats import RowGroups

    if len(reports) > 1:
        raise InputError(f"--row-groups is of one file; {len(reports)} are given.", remedy="Name one Parquet file.")
    return RowGroups(reports[0], *numbers)


@command(
    "aggregate",
    "Add up reports to a state.",
    examples=[
        "askance aggregate reports.jsonl -o all.state",
        "askance aggregate monday.jsonl tuesday.parquet last-week.state -o all.state --skip-bad",
        "askance aggregate 's3://bucket/date=2026-11-*/*.parquet' --channel crashes.toml -o november.state",
        "askance aggregate 'day=*/*.parquet' --engine dask://scheduler:8786 -o day.state",
        "askance aggregate new.jsonl of-version-0.1.state -o all.state --purpose-of-unnamed smokes",
    ],
)
@click.argument("reports", nargs=-1, required=True, type=PLACE)
@option("-o, --output STATE", "where the state goes", OutputFile("state", updates=True), required=True)
@option("--skip-bad", "leave bad reports out and count them, instead of stopping at the first")
@option("--channel FILE", "the TOML file of the channel, for Parquet files of other programs that do not name it", FILE)
@option(
    "--split N|K/N",
    "REPORTS are split by id into N parts: compare ids part by part, here in all of them, or in part K alone (from 0)",
    Read(_read_split, "N, or K/N with K from 0 to N − 1", "Write 16, or 3/16."),
)
@option("--row-groups A:B", "of one Parquet file without ids: A to B − 1 alone", Read(_read_range, "A:B", "Write 0:8."))
@ENGINE_OPTION
@PURPOSE_OF_UNNAMED_OPTION
@JSON
def aggregate_command(
    reports: tuple[Path | str, ...],
    output: Path,
    skip_bad: bool,
    channel: Path | None,
    split: int | tuple[int, int] | None,
    row_groups: tuple[int, int] | None,
    engine: str | None,
    purpose_of_unnamed: str,
) -> None:
    """Add up REPORTS, files of reports (.jsonl, .parquet) or states of one channel, to one state.

    REPORTS may also be folders, patterns in quotes ('day=*/*.parquet'), - for standard input, and addresses (s3://,
    gs://, whatever fsspec and its packages read).

    A state holds sums only: it does not grow with the number of reports, and states of many machines are added up by
    this same command. `askance estimate` estimates from it. A report is bad when it comes from another
    channel, is for another purpose, repeats an id, or is malformed.

    A state also keeps digests of the files it was made from: files that are in it already are refused. It keeps no
    ids, which are compared only among the files of one call.
    """
    from askance.formats import aggregate, read_channel, save

    with progress() as doing, named_engine(engine) as own:
        added = aggregate(
            reports if row_groups is None else _some_groups(reports, row_groups),
            skip_bad,
            channel=None if channel is None else read_channel(channel),
            split=split,
            purpose_of_unnamed=purpose_of_unnamed,
            engine=own,
            doing=doing,
        )
        state, refused = added.evidence, sum(added.refused.values())
        if refused and not state.n_observations:
            first = next(iter(added.first_refused.values()))
            raise FormatError(
                f"all {refused:,} reports were refused; the first: {first}", remedy="No state was written."
            )
        save(state, output)
    content = {
        "reports": state.n_observations,
        "refused": added.refused,
        "first_refused": added.first_refused,
        "sources": len(state.sources),
        "output": str(output),
        **channel_as_json(state.channel),
    }
    rows = [
        ("reports", f"{state.n_observations:,}"),
        ("files", f"{len(state.sources):,}"),
        *channel_rows(state.channel),
        ("refused", f"{refused:,}"),
        *((f"  {why}", f"{count:,}; first: {added.first_refused[why]}") for why, count in added.refused.items()),
    ]
    show(Card(f"state written to {output}", rows, content))
