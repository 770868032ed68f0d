"""`askance optimal`: the channel of a level that leaves the least error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from askance.cli.guesses import read_guess
from askance.cli.output import print_json
from askance.cli.progress import progress

_FILE = click.Path(path_type=Path)


@click.command("optimal", short_help="Find the channel of a privacy level with the least error.")
@click.argument("model", type=_FILE)
@click.option("--privacy-level", metavar="LEVEL", required=True, help="of one answer; the channel spends it whole")
@click.option("--theta", metavar="NUMBERS", help="guess of the parameters, as in 5,-1")
@click.option("--fit", type=_FILE, help="guess: this saved fit of a pilot, with what it leaves open")
@click.option("--prior", type=_FILE, help="guess: a CSV file of parameters that may be true; the error is averaged")
@click.option("--minimax", type=_FILE, help="guess: a CSV file of parameters; the largest error is made least")
@click.option(
    "--target",
    default="likelihood",
    show_default=True,
    help="whose error is least: likelihood, or moments (an unbiased β then exists)",
)
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="write the channel here (.toml)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def optimal_command(
    model: Path, privacy_level: str, target: str, output: Path | None, as_json: bool, **given: Any
) -> None:
    """Find the channel of a privacy level with the least error, for the model that the JSON file MODEL describes.

    \b
        {"kind": "saturated", "outputs": ["never", "once", "often"]}
        {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]]}

    The proof comes with it: how far the error may be above that of the best channel there is. Examples:

        askance optimal habits.json --theta 0.5,-1 --privacy-level 1

        askance optimal habits.json --fit pilot.fit --privacy-level 1 --target moments -o channel.toml
    """
    from askance.cli.outputs import CHANNELS, refuse_other, require_writable
    from askance.design import Prior, optimal_channel
    from askance.formats import channel_to_toml
    from askance.formats.disk import write_whole
    from askance.planning.model_file import read_model

    if output is not None:
        require_writable(output, "-o", CHANNELS)
        refuse_other(output, "channel")
    described = read_model(model)
    guess = read_guess(described, given)
    if "fit" in guess:
        guess = {"prior": Prior.of_fit(guess["fit"])}
    with progress() as doing:
        doing("searching for the best channel")
        found = optimal_channel(described, privacy_level, target=target, **guess)  # type: ignore[arg-type]
    if output is not None:
        write_whole(output, (channel_to_toml(found) + "\n").encode("utf-8"))
    if as_json:
        print_json({**found.to_json(), "output": None if output is None else str(output)})
        return
    click.echo(found.summary())
    if output is not None:
        click.echo(f"written to {output}; prove it with: askance certify file {output}")
