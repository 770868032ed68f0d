"""`askance demo`: a simulated sensitive survey, start to end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from askance.cli.output import print_json, print_table
from askance.errors import InputError


@click.command("demo", short_help="Simulate a sensitive survey and estimate it.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("demo-output"),
    show_default=True,
    help="folder for the results",
)
@click.option("--seed", type=int, default=0, show_default=True, help="seed of the simulation")
@click.option("--respondents", type=int, default=20_000, show_default=True, help="how many people answer")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def demo_command(out: Path, seed: int, respondents: int, as_json: bool) -> None:
    """Simulate a sensitive survey with known truth and estimate it at three privacy levels with three methods."""
    from rich.console import Console

    from askance.experiments.survey import SurveyConfig, draw_survey, run_survey
    from askance.formats.disk import as_path, write_whole

    if respondents < 100:
        raise InputError(f"--respondents is {respondents}; allowed: at least 100.", remedy="The default is 20000.")
    if seed < 0:
        raise InputError(f"--seed is {seed}; allowed: 0 or more.", remedy="The default is 0.")
    config = replace(SurveyConfig(), seed=seed, respondents=respondents)
    with Console(stderr=True).status("asking") as status:
        result = run_survey(config, lambda step: status.update(step))
        status.update("drawing")
        picture = draw_survey(result)
    try:
        as_path(out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"--out is {out}: {error.strerror}.", remedy="Choose a folder that exists or can be made."
        ) from None
    write_whole(out / "survey.png", picture)
    write_whole(out / "survey.json", (json.dumps(result, indent=2) + "\n").encode())
    if as_json:
        print_json(result)
        return
    _print_result(result)
    click.echo(f"picture  {out / 'survey.png'}\nnumbers  {out / 'survey.json'}")


def _print_result(result: dict[str, Any]) -> None:
    config = result["config"]
    click.echo(f"“{config['question']}”  {config['respondents']:,} simulated respondents, seed {config['seed']}\n")
    for level in result["levels"]:
        title = (
            f"privacy level {level['privacy_level']:g}, certified: the truth is told {level['truth_told']:.0%} of the "
            "time\n"
            f"shares in percent, with {100 * config['confidence']:g} % intervals"
        )
        estimates = level["estimates"]
        rows = []
        for i, answer in enumerate(config["answers"]):
            cells = [
                f"{100 * row['share'][i]:.1f} ({100 * row['lower'][i]:.1f}–{100 * row['upper'][i]:.1f})"
                for row in estimates.values()
            ]
            rows.append((answer, f"{100 * result['true_shares'][i]:.1f}", f"{100 * level['reported'][i]:.1f}", *cells))
        print_table(title, ["answer", "truth", "said", *estimates], rows)
