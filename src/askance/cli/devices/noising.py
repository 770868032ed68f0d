"""What commands that noise tables share: where reports go, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance._checks import shorten
from askance.channels.registry import AnyChannel
from askance.cli.devices.channel_options import channel_as_json, channel_rows
from askance.cli.shared.options import JSON_SUMMARY, WholeNumber, missing_option, option, options
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.survey.tables import Column, Columns

#: Where reports go.
REPORTS = OutputFile("reports", ".jsonl", ".ndjson", ".parquet", ".pq", unless="reports replace nothing")
#: Into how many files they go.
SPLIT = option(
    "--split N",
    "with --id-column: into N files, by a digest of the id, for `askance aggregate --split`",
    WholeNumber(1, 1 << 16),
)
#: Of commands for whole records: ids, gaps, where reports go.
record_options = options(
    option("--id-column NAME", "the column of ids; without it reports have none"),
    SPLIT,
    missing_option("what to do about rows with gaps: stop, or leave them out and count them"),
    option("-o, --output FILE", "where reports go (.jsonl, .parquet)", REPORTS, required=True),
    JSON_SUMMARY,
)


def noise_table(
    input: Path,
    output: Path,
    choose: Callable[[Columns], Sequence[Column]],
    noiser: Callable[[Sequence[Column], Sequence[int]], tuple[AnyChannel, Callable[[slice], Any]]],
    *,
    texts: bool,
    id_column: str | None,
    split: int | None = None,
    missing: str | None = None,
    note: str | None = None,
) -> None:
    """Noise some columns of a table into a file of reports, and print what was written.

    Args:
        input: the table.
        output: where reports go.
        choose: the columns.
        noiser: of columns and the rows that are kept, the channel, and what noises a slice of these rows.
        texts: whether cells stay as they are written.
        id_column: the column of ids, if any.
        split: into how many files reports go by their id; None for one.
        missing: "drop" leaves rows with gaps out, "error" stops; None where columns are chosen without gaps, and named.
        note: below, if any; None where there never is one.
    """
    from askance.formats.reports import split_names
    from askance.survey.record_tables import complete_rows, read_ids, read_people, write_noised

    if split is not None and id_column is None:
        raise InputError("--split needs --id-column.", remedy="Name the column of ids, by which reports are split.")
    for part in [] if split is None else split_names(output, split):
        REPORTS.check(part)
    with progress(f"reading {input}") as doing:
        table = read_people(input, texts=texts)
        columns = choose(table)
        of_ids = None if id_column is None else table[id_column]
        kept = complete_rows(columns, input, drop=missing == "drop")
        ids = None if of_ids is None else read_ids(of_ids, input, kept)
        channel, noised = noiser(columns, kept)
        reports = write_noised(
            output, channel, noised, len(kept), ids, split=split, doing=lambda row: doing(f"noising {input}: {row}")
        )
    names, dropped = [column.name for column in columns], len(table) - len(kept)
    told = {"columns": names} if missing is None else {"dropped": dropped}
    content = {"reports": reports, **told, **({} if note is None else {"note": note})}
    rows = [
        ("reports", f"{reports:,}"),
        ("of the columns", shorten(names)) if missing is None else ("rows dropped", f"{dropped:,}"),
        *channel_rows(channel),
    ]
    below = [f"note: {note}"] if note else []
    place = output if split is None else f"{output.stem}.0-of-{split}{output.suffix} and {split - 1} more"
    card = Card(f"reports written to {place}", rows, {**content, "output": str(output), **channel_as_json(channel)})
    show(card, below=below)
