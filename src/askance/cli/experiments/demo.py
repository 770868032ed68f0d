"""`askance demo`: a private survey, a private regression and a tagger from counts, start to end, and a page on them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, WholeNumber, option, seed_option
from askance.cli.shared.printing import Text, print_table, show, wants_json
from askance.cli.shared.progress import working

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
def demo_command(out: Path, seed: int, respondents: int) -> None:
    """Simulate a sensitive survey, a regression with private x and y, and a tagger from counts, all with known truth.

    Takes ten to twenty seconds. Numbers (JSON) and pictures of each go to --out, and report.html there tells all three
    stories in one file.
    """

    from askance.experiments.demo_report import PARTS, require_places, write_demo
    from askance.experiments.demo_stories import STORIES
    from askance.formats.disk import as_path

    require_places(as_path(out))
    with working() as doing:
        results, pictures = _run(seed, respondents, doing)
    again = ["askance", "demo", "--out", str(out), "--seed", str(seed), "--respondents", str(respondents)]
    page = write_demo(out, results, pictures, shlex.join(again))
    for name, story in STORIES.items() if not wants_json() else ():
        click.echo(f"{story.heading(results[name]['config'])}\n")
        for table in story.tables(results[name]):
            print_table(table.title, [column.name for column in table.columns], table.rows, whole=True)
    places = [f"picture  {out / name}.png\nnumbers  {out / name}.json" for name in PARTS]
    show(Text("\n".join([*places, f"report   {page}"]), _for_programs(results)))


def _run(
    seed: int, respondents: int, doing: Callable[[str], None]
) -> tuple[dict[str, dict[str, Any]], dict[str, bytes]]:
    """Results and pictures of all parts."""
    from askance.experiments.demo_report import narrow_name
    from askance.experiments.demo_stories import STORIES

    results, pictures = {}, {}
    for number, (name, story) in enumerate(STORIES.items(), start=1):
        title = f"{number}/{len(STORIES)} {name}"
        results[name] = story.run(seed, respondents, lambda step: doing(f"{title}: {step}"))  # noqa: B023
        doing(f"{title}: drawing")
        pictures[name] = story.draw(results[name])
        pictures[narrow_name(name)] = story.draw(results[name], narrow=True)
    return results, pictures


def _for_programs(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The survey's own keys, as they were before there were other parts, and one key for each of these."""
    return {**results["survey"], "regression": results["regression"], "tagger": results["tagger"]}
