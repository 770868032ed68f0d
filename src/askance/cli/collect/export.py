"""`askance collect export`: what was collected, as files that other commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askance.cli.collect.campaign_options import campaign_argument, collection_of, store_option
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON_SUMMARY, Choice, WholeNumber, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile


@command(
    "export",
    "Write what was collected for `askance fit`, `aggregate`, `estimate` or `train`.",
    examples=[
        "askance collect export exams.toml -o answers.csv",
        "askance collect export exams.toml --question cheated -o cheated.jsonl",
        "askance collect export phones.toml --question crashes -o crashes.state",
    ],
)
@campaign_argument
@option(
    "-o, --output FILE",
    "responses: .csv or .parquet; reports: .jsonl or .parquet; state: .state; regions: .jsonl",
    OutputFile("text"),
    required=True,
)
@option(
    "--as",
    "what is written  [default: as the name of FILE says]",
    name="shape",
    kind=Choice(["responses", "reports", "state", "regions"]),
)
@option("--question NAME", "reports and state: of which question  [default: the only one that is noised]")
@option("--split N", "responses and reports: into so many files by the hash of ids", WholeNumber(1, 65_536))
@option("--window W", "devices: of this window only; /admin/live lists them", WholeNumber(0))
@store_option
@JSON_SUMMARY
def export_command(campaign: Path, output: Path, store: str | None, **options: Any) -> None:
    """Write what CAMPAIGN collected; the server may go on meanwhile.

    Responses are a row for each person with all answers, noised and open: `askance fit FILE --codebook CAMPAIGN`.
    Reports and the state, which is their sums, are those of one question; regions are counts for `askance train`. Rows
    stand by their random ids: nothing tells in which order they came.
    """
    from askance.collect.export import export

    collection = collection_of(campaign, store)
    with progress("exporting"), collection.opened() as opened:
        rows, names = export(collection.campaign, opened, output, **options)
    written = ", ".join(map(str, names))
    content = {"rows": rows, "output": [str(name) for name in names]}
    show(Card(f"collected answers written to {written}", [("rows", f"{rows:,}")], content))
