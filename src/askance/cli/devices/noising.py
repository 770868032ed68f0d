"""What commands that noise tables share: where reports go, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance.channels.registry import AnyChannel
from askance.cli.devices.channel_summary import channel_as_json, channel_rows
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
    id_column: str | None,
    texts: bool,
    missing: str = "error",
) -> tuple[AnyChannel, dict[str, int]]:
    """Noise some columns of a table into a file of reports.

    Args:
        input: the table.
        output: where reports go.
        choose: the columns.
        noiser: of columns and the rows that are kept, the channel, and what noises a slice of these rows.
        id_column: the column of ids, if any.
        texts: whether cells stay as they are written.
        missing: "drop" leaves rows with gaps out.

    Returns:
        the channel; how many reports there are, and how many rows were dropped.
    """
    from askance.survey.record_tables import complete_rows, read_ids, read_people, write_noised

    with progress() as doing:
        doing(f"reading {input}")
        table = read_people(input, texts=texts)
        of_ids = None if id_column is None else table[id_column]
        columns = choose(table)
        kept = complete_rows(columns, input, drop=missing == "drop")
        ids = None if of_ids is None else read_ids(of_ids, input, kept)
        channel, noised = noiser(columns, kept)
        written = write_noised(
            output, channel, noised, len(kept), ids, doing=lambda row: doing(f"noising {input}: {row}")
        )
    return channel, {"reports": written, "dropped": len(table) - len(kept)}


def show_reports(
    channel: AnyChannel, output: Path, as_json: bool, told: dict[str, Any], rows: dict[str, str], note: str = ""
) -> None:
    """Print what was written.

    Args:
        channel: that made the reports.
        output: where they are.
        as_json: whether to print JSON.
        told: what programs are told beside the channel.
        rows: the same for people.
        note: below, if any.
    """
    content = {**told, "output": str(output), **channel_as_json(channel)}
    card = [("reports", f"{told['reports']:,}"), *rows.items(), *channel_rows(channel)]
    show(Card(f"reports written to {output}", card, content, [note] if note else []), as_json)
