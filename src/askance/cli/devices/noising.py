"""What commands that noise tables share: where reports go, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance._checks import shorten
from askance.channels.registry import AnyChannel
from askance.cli.devices.channel_options import channel_as_json, channel_rows
from askance.cli.shared.options import JSON_SUMMARY, missing_option, option, options
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile

if TYPE_CHECKING:
    from askance.survey.tables import Column, Columns

#: Where reports go.
REPORTS = OutputFile("reports", ".jsonl", ".ndjson", ".parquet", ".pq", unless="reports replace nothing")
#: Of commands for whole records: ids, gaps, where reports go.
record_options = options(
    option("--id-column NAME", "the column of ids; without it reports have none"),
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
        missing: "drop" leaves rows with gaps out, "error" stops; None where columns are chosen without gaps, and named.
        note: below, if any; None where there never is one.
    """
    from askance.survey.record_tables import complete_rows, read_ids, read_people, write_noised

    with progress(f"reading {input}") as doing:
        table = read_people(input, texts=texts)
        of_ids = None if id_column is None else table[id_column]
        columns = choose(table)
        kept = complete_rows(columns, input, drop=missing == "drop")
        ids = None if of_ids is None else read_ids(of_ids, input, kept)
        channel, noised = noiser(columns, kept)
        reports = write_noised(
            output, channel, noised, len(kept), ids, doing=lambda row: doing(f"noising {input}: {row}")
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
    card = Card(f"reports written to {output}", rows, {**content, "output": str(output), **channel_as_json(channel)})
    show(card, below=below)
