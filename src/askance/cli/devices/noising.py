"""What commands that noise tables share: where reports go, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askance.channels.registry import AnyChannel
from askance.cli.devices.channel_summary import channel_as_json, channel_rows
from askance.cli.shared.options import JSON_SUMMARY, missing_option, option, options
from askance.cli.shared.printing import Card, show
from askance.cli.shared.write_guards import Place

#: Where reports go.
REPORTS = Place("reports", ".jsonl", ".ndjson", ".parquet", ".pq", unless="reports replace nothing")
#: Of commands for whole records: ids, gaps, where reports go.
record_options = options(
    option("--id-column NAME", "the column of ids; without it reports have none"),
    missing_option("what to do about rows with gaps: stop, or leave them out and count them"),
    option("-o, --output FILE", "where reports go (.jsonl, .parquet)", REPORTS, required=True),
    JSON_SUMMARY,
)


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
