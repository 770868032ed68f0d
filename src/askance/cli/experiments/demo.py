"""`askance demo`: a private survey, a private regression, a tagger from counts and a collector that is killed."""

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
    """Simulate a sensitive survey, a regression with private x and y, a tagger from counts, and a campaign on a real
    server, all with known truth.

    Takes about half a minute. Numbers (JSON) and pictures of each go to --out, and report.html there tells all stories
    in one file. The campaign needs askance[collect].
    """

    from askance.experiments.demo_report import require_places, write_demo
    from askance.experiments.demo_stories import STORIES
    from askance.formats.disk import as_path

    require_places(as_path(out))
    with working() as doing:
        results, pictures = _run(seed, respondents, doing)
    again = ["askance", "demo", "--out", str(out), "--seed", str(seed), "--respondents", str(respondents)]
    page = write_demo(out, results, pictures, shlex.join(again))
    for name, result in results.items() if not wants_json() else ():
        click.echo(f"{STORIES[name].heading(result['config'])}\n")
        for table in STORIES[name].tables(result):
            print_table(table.title, [column.name for column in table.columns], table.rows, whole=True)
    left_out = [
        f"left out {name}: it needs {', '.join(STORIES[name].missing)}" for name in STORIES if name not in results
    ]
    places = [f"picture  {out / name}.png\nnumbers  {out / name}.json" for name in results]
    show(Text("\n".join([*left_out, *places, f"report   {page}"]), _for_programs(results)))


def _run(
    seed: int, respondents: int, doing: Callable[[str], None]
) -> tuple[dict[str, dict[str, Any]], dict[str, bytes]]:
    """Results and pictures of all stories that can be told here."""
    from askance.experiments.demo_report import narrow_name
    from askance.experiments.demo_stories import STORIES

    results, pictures = {}, {}
    told = {name: story for name, story in STORIES.items() if not story.missing}
    for number, (name, story) in enumerate(told.items(), start=1):
        title = f"{number}/{len(told)} {name}"
        results[name] = story.run(seed, respondents, lambda step: doing(f"{title}: {step}"))  # noqa: B023
        doing(f"{title}: drawing")
        pictures[name] = story.draw(results[name])
        pictures[narrow_name(name)] = story.draw(results[name], narrow=True)
    return results, pictures


def _for_programs(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The survey's own keys, as they were before there were other stories, and one key for each of these."""
    return {**results["survey"], **{name: result for name, result in results.items() if name != "survey"}}
