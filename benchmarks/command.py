"""The command line: choose, run, report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchmarks.comparisons import discover
from benchmarks.harness import report
from benchmarks.harness.progress import Progress
from benchmarks.harness.session import HOME, Session
from benchmarks.harness.store import StoreError


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Run this comparison; may be given several times.")
@click.option("--missing", is_flag=True, help="Run only what has no stored result.")
@click.option("--render", is_flag=True, help="Write RESULTS.md from the stored results; measure nothing.")
@click.option("--long", is_flag=True, help="With the cases that take very long.")
@click.option("--repetitions", type=click.IntRange(min=3), default=3, show_default=True, help="Rounds per case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=HOME,
    help="Folder for results/ and RESULTS.md instead of benchmarks/.",
)
def main(
    only: tuple[str, ...], missing: bool, render: bool, long: bool, repetitions: int, as_json: bool, out: Path
) -> None:
    """Compare askance with its peers, and with its own targets.

    Every comparison is stored as soon as it is finished: what is interrupted is continued with --missing.
    """
    session = Session(discover(), out)
    unknown = [name for name in only if name not in session.found]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(session.found)}", param_hint="--only")
    try:
        if render:
            session.render()
            return
        with Progress() as progress:
            records = session.measure(session.chosen(only, missing=missing), repetitions, progress, long=long)
    except StoreError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(report.as_json(session.comparisons, records))
    else:
        for record in records:
            report.show(session.comparisons[record.name], record)
    failed = [f"{failure.side} ({record.name})" for record in records for failure in record.failures]
    if failed or session.skipped:
        click.echo(f"not measured: {', '.join(failed + session.skipped)}; the messages are above.", err=True)
        sys.exit(1)
