"""`askance aggregate`: reports and states in, one state out."""

from __future__ import annotations

from pathlib import Path

import click

from askance.cli.devices.channel_options import channel_as_json, channel_rows
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, PURPOSE_OF_UNNAMED_OPTION, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile
from askance.errors import FormatError


@command(
    "aggregate",
    "Add up reports to a state.",
    examples=[
        "askance aggregate reports.jsonl -o all.state",
        "askance aggregate monday.jsonl tuesday.parquet last-week.state -o all.state --skip-bad",
        "askance aggregate new.jsonl of-version-0.1.state -o all.state --purpose-of-unnamed smokes",
    ],
)
@click.argument("reports", nargs=-1, required=True, type=FILE)
@option("-o, --output STATE", "where the state goes", OutputFile("state", updates=True), required=True)
@option("--skip-bad", "leave bad reports out and count them, instead of stopping at the first")
@PURPOSE_OF_UNNAMED_OPTION
@JSON
def aggregate_command(reports: tuple[Path, ...], output: Path, skip_bad: bool, purpose_of_unnamed: str) -> None:
    """Add up REPORTS, files of reports (.jsonl, .parquet) or states of one channel, to one state.

    A state holds sums only: it does not grow with the number of reports, and states of many machines are added up by
    this same command. `askance estimate` estimates from it. A report is bad when it comes from another
    channel, is for another purpose, repeats an id, or is malformed.

    A state also keeps digests of the files it was made from: files that are in it already are refused. It keeps no
    ids, which are compared only among the files of one call.
    """
    from askance.formats import aggregate, save

    with progress() as doing:
        added = aggregate(reports, skip_bad, purpose_of_unnamed=purpose_of_unnamed, doing=doing)
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
