"""`askance reproduce`: the figures of the paper, computed again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import one_of
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, WholeNumber, json_option, option, seed_option
from askance.cli.shared.printing import print_json, print_table, wants_json
from askance.cli.shared.progress import working
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.experiments.experiment import Experiment

# Processes; more than any machine that this is for has processors.
_MOST_WORKERS = 1024
_VERDICTS = {"agrees": "agree", "differs": "differ", "beyond": "beyond"}


@command(
    "reproduce",
    "Compute the figures of the paper again.",
    examples=[
        "askance reproduce all --quick",
        "askance reproduce efficiency --quick --json",
        "askance reproduce all --out reproduce-output --replot",
    ],
)
@click.argument("experiment", default="all", metavar="[efficiency|simplex|nonconvex|privacy|tagging|all]")
@option("--out FOLDER", "folder for results, figures and report.html", FILE, default=Path("reproduce-output"))
@option("--quick", "smaller configs on generated data: minutes in all")
@seed_option("seed of everything that is random")
@json_option("print the numbers of the figures as JSON")
@option("--replot", "draw again from the results in --out, however they were run; run nothing")
@option(
    "--workers N",
    "processes, each with one thread; results do not depend on how many  [default: one for each processor]",
    WholeNumber(1, _MOST_WORKERS, "Leave it out to use all processors."),
)
def reproduce_command(experiment: str, out: Path, replot: bool, **run_as: Any) -> None:
    """Compute figures of the paper again: efficiency, simplex, nonconvex, privacy, tagging, or all of them.

    Trials run in parallel, and the outcome of each is kept in --out: the same command goes on where it was stopped.
    Results are JSON, figures are drawn from them alone, and report.html tells what agrees with the paper, what does
    not, and why. Real data are read from the folder that the environment variable ASKANCE_DATA names.
    """
    from askance.experiments import runner
    from askance.experiments.report import write_report

    chosen = _chosen(experiment, out, replot=replot)
    documents = {}
    try:
        with working() as doing:
            for name, described in chosen.items():
                if replot:
                    doing(f"{name}: drawing")
                    documents[name] = runner.replot(described, out)
                else:
                    documents[name] = runner.run_experiment(described, out, progress=doing, **run_as)
            doing("writing the report")
            report = write_report(out)
    except KeyboardInterrupt:
        click.echo(f"\nWhat is done is kept in {out}; the same command goes on from there.", err=True)
        raise click.Abort from None
    if wants_json():
        answers = {name: chosen[name].answer(document["result"]) for name, document in documents.items()}
        print_json(answers if experiment == "all" else answers[experiment])
        return
    _print(chosen, documents)
    click.echo(f"report  {report}")


def _chosen(name: str, out: Path, *, replot: bool) -> dict[str, Experiment]:
    """The experiments asked for; to draw all again, those that have been run."""
    from askance.experiments.catalogue import EXPERIMENTS

    if one_of(name, [*EXPERIMENTS, "all"], "the experiment", "See `askance reproduce --help`.") != "all":
        return {name: EXPERIMENTS[name]}
    there = [known for known in EXPERIMENTS if not replot or (out / known / "result.json").is_file()]
    if not there:
        raise InputError(
            f"--replot finds no result in {out}.",
            remedy="Run without --replot first, or give the folder of a run with --out.",
        )
    return {known: EXPERIMENTS[known] for known in there}


def _print(chosen: Mapping[str, Experiment], documents: Mapping[str, Mapping[str, Any]]) -> None:
    rows = []
    for name, document in documents.items():
        verdicts = [finding["verdict"] for finding in document["findings"]]
        counts = [f"{verdicts.count(key)} {word}" for key, word in _VERDICTS.items() if key in verdicts]
        rows.append((name, chosen[name].main_number(document["result"]), ", ".join(counts)))
    print_table("", ["experiment", "main number", "findings"], rows)
