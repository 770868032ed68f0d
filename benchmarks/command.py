"""The command line: choose, run, report."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from benchmarks.comparisons import discover
from benchmarks.harness import report
from benchmarks.harness.alternate import Race
from benchmarks.harness.progress import Progress
from benchmarks.harness.results import Results


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Run this comparison; may be given several times.")
@click.option("--repetitions", type=click.IntRange(min=3), default=3, show_default=True, help="Rounds per case.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write a Markdown report here.")
def main(only: tuple[str, ...], repetitions: int, as_json: bool, out: Path | None) -> None:
    """Compare askance with its peers, and with its own targets."""
    found = discover()
    unknown = [name for name in only if name not in found]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(found)}", param_hint="--only")
    results = Results(_command(only, repetitions), _today(), _machine(), repetitions)
    with Progress() as progress:
        for name, (module, comparison) in found.items():
            if not only or name in only:
                Race(comparison, module, results, progress).run()
    if as_json:
        click.echo(report.as_json(results))
    else:
        report.show(results)
    if out is not None:
        out.write_text(report.as_markdown(results), encoding="utf-8")
    if results.failures:
        names = ", ".join(f"{failure.side} ({failure.comparison})" for failure in results.failures)
        click.echo(f"not measured: {names}; the messages are above.", err=True)
        sys.exit(1)


def _command(only: tuple[str, ...], repetitions: int) -> str:
    chosen = "".join(f" --only {name}" for name in only)
    return f"python -m benchmarks{chosen} --repetitions {repetitions}"


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _machine() -> str:
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
