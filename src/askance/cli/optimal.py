"""`askance optimal`: the channel of a level that leaves the least error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.guesses import read_guess, read_shares
from askance.cli.output import print_json
from askance.cli.progress import progress
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.models.enumerated import Enumerated

_FILE = click.Path(path_type=Path)


@click.command("optimal", short_help="Find the channel of a privacy level with the least error.")
@click.argument("model", type=_FILE, required=False)
@click.option(
    "--share",
    "shares",
    multiple=True,
    metavar="LABEL=P",
    help="instead of MODEL and --theta: an answer and its guessed share (repeatable; they sum to 1)",
)
@click.option("--privacy-level", metavar="LEVEL", required=True, help="of one answer; the channel spends it whole")
@click.option("--theta", metavar="NUMBERS", help="guess of the parameters, as in 5,-1")
@click.option("--fit", type=_FILE, help="guess: this saved fit of a pilot, with what it leaves open")
@click.option(
    "--prior", type=_FILE, help="guess: a CSV file with a column for every parameter; the error is averaged over rows"
)
@click.option("--minimax", type=_FILE, help="guess: such a file; the largest error over its rows is made least")
@click.option(
    "--for", "matters", metavar="WHAT", help="what matters: parameters, or shares (default: shares with --share)"
)
@click.option(
    "--by",
    "target",
    default="likelihood",
    show_default=True,
    help="how it will be estimated: likelihood, or moments (an unbiased β then exists)",
)
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="write the channel here (.toml)")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def optimal_command(
    model: Path | None,
    shares: tuple[str, ...],
    privacy_level: str,
    matters: str | None,
    target: str,
    output: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Find the channel of a privacy level with the least error.

    It is made for a question with several answers whose shares are guessed (--share), or for the model that the JSON
    file MODEL describes:

    \b
        {"kind": "saturated", "outputs": ["never", "once", "often"]}
        {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]]}

    The proof comes with it: how far the error may be above that of the best channel there is. Examples:

        askance optimal --share never=0.7 --share once=0.2 --share often=0.1 --privacy-level 1 -o channel.toml

        askance optimal habits.json --fit pilot.fit --for shares --privacy-level 1 --by moments -o channel.toml
    """
    from askance.cli.outputs import CHANNELS, refuse_other, require_writable
    from askance.design import Prior, optimal_channel
    from askance.formats import channel_to_toml
    from askance.formats.disk import write_whole
    from askance.planning.model_file import read_model

    if output is not None:
        require_writable(output, "-o", CHANNELS)
        refuse_other(output, "channel")
    if matters not in (None, "parameters", "shares"):
        raise InputError(f"--for is {matters!r}; allowed: parameters, shares.", remedy="Leave it out for the default.")
    if (model is None) == (not shares):
        raise InputError(
            "give either MODEL or --share, not both and not neither.", remedy="Write --share no=0.9 --share yes=0.1."
        )
    if model is None:
        described, guess = _guessed_shares(shares, given)
    else:
        described = read_model(model)
        guess = read_guess(described, given)
    if "fit" in guess:
        guess = {"prior": Prior.of_fit(guess["fit"])}
    if matters is None:
        matters = "shares" if shares else "parameters"
    with progress() as doing:
        doing("searching for the best channel")
        found = optimal_channel(
            described,
            privacy_level,
            target=target,  # type: ignore[arg-type]
            weights="shares" if matters == "shares" else None,
            **guess,
        )
    if output is not None:
        write_whole(output, (channel_to_toml(found) + "\n").encode("utf-8"))
    if as_json:
        print_json({**found.to_json(), "output": None if output is None else str(output)})
        return
    click.echo(found.summary())
    if output is not None:
        click.echo(f"written to {output}; prove it with: askance certify file {output}")


def _guessed_shares(texts: tuple[str, ...], given: dict[str, Any]) -> tuple[Enumerated, dict[str, Any]]:
    """Every distribution over the answers, and the guess."""
    import numpy as np

    from askance.models.enumerated import Enumerated

    other = [f"--{name}" for name, value in given.items() if value is not None]
    if other:
        raise InputError(
            f"--share is the guess, and {', '.join(other)} is given too.", remedy="Give one of them; others need MODEL."
        )
    shares = read_shares(texts)
    p = np.array([float(share) for share in shares.values()])
    return Enumerated.saturated(list(shares)), {"theta": np.log(p[1:] / p[0])}
