"""`askance demo`: a private survey, a private regression and a tagger from counts, start to end, and a page on them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.numbers import WholeNumber
from askance.cli.shared.options import FILE, JSON, option, seed_option
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import one_line_warnings

if TYPE_CHECKING:
    from rich.console import Console

# Simulated people, all in memory.
_MOST = 10**7


@command(
    "demo",
    "Show what can be learned from noised answers and counts.",
    examples=["askance demo", "askance demo --out demo-output --seed 1 --respondents 5000"],
)
@option("--out FOLDER", "where numbers, pictures and report.html go", FILE, default=Path("demo-output"))
@option(
    "--respondents N",
    "how many simulated people answer the survey, 100 or more",
    WholeNumber(100, _MOST, "The default is 20000."),
    default=20_000,
)
@seed_option("seed of everything that is drawn")
@JSON
def demo_command(out: Path, seed: int, respondents: int, as_json: bool) -> None:
    """Simulate a sensitive survey, a regression with private x and y, and a tagger from counts, all with known truth.

    Takes ten to twenty seconds. Numbers (JSON) and pictures of each go to --out, and report.html there tells all three
    stories in one file.
    """
    from rich.console import Console

    from askance.experiments.demo_report import PARTS, require_places, write_demo
    from askance.experiments.demo_stories import STORIES
    from askance.formats.disk import as_path

    require_places(as_path(out))
    with one_line_warnings() as told:
        results, pictures = _run(seed, respondents, Console(stderr=True))
    again = ["askance", "demo", "--out", str(out), "--seed", str(seed), "--respondents", str(respondents)]
    page = write_demo(out, results, pictures, shlex.join(again))
    if as_json:
        print_json({**_for_programs(results), "warnings": told})
        return
    for name, story in STORIES.items():
        click.echo(f"{story.heading(results[name]['config'])}\n")
        for table in story.tables(results[name]):
            print_table(table.title, [column.name for column in table.columns], table.rows, whole=True)
    for name in PARTS:
        click.echo(f"picture  {out / name}.png\nnumbers  {out / name}.json")
    click.echo(f"report   {page}")


def _run(seed: int, respondents: int, console: Console) -> tuple[dict[str, dict[str, Any]], dict[str, bytes]]:
    """Results and pictures of all parts; on a terminal, a line on standard error for each."""
    from askance.experiments.demo_report import narrow_name
    from askance.experiments.demo_stories import STORIES

    results, pictures = {}, {}
    for number, (name, story) in enumerate(STORIES.items(), start=1):
        title = f"{number}/{len(STORIES)} {name}"
        with console.status(title) as status:
            results[name] = story.run(seed, respondents, lambda step: status.update(f"{title}: {step}"))  # noqa: B023
            status.update(f"{title}: drawing")
            pictures[name] = story.draw(results[name])
            pictures[narrow_name(name)] = story.draw(results[name], narrow=True)
        if console.is_terminal:
            console.print(f"{title}: done", highlight=False)
    return results, pictures


def _for_programs(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The survey's own keys, as they were before there were other parts, and one key for each of these."""
    return {**results["survey"], "regression": results["regression"], "tagger": results["tagger"]}
