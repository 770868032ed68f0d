"""`askance optimal`: the channel of a level that leaves the least error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import askance as lib
from askance.cli.planning.guesses import guess_of_shares, guess_options, read_guess, shares_option
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, Choice, level_option, option, purpose_option
from askance.cli.shared.printing import show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import CHANNEL
from askance.errors import InputError


@command(
    "optimal",
    "Find the channel of a privacy level with the least error.",
    apart={"shares": ("theta", "fit", "prior", "minimax")},
    examples=[
        "askance optimal --share never=0.7 --share once=0.2 --share often=0.1 --privacy-level 1 -o channel.toml",
        "askance optimal habits.json --fit pilot.fit --for shares --privacy-level 1 --method moments -o channel.toml",
    ],
)
@click.argument("model", type=FILE, required=False)
@shares_option("instead of MODEL and another guess: an answer and its guessed share (repeatable; they sum to 1)")
@level_option("what one report may tell, above 0, at most 30; 1 is usual", required=True)
@guess_options
@option("--minimax FILE", "guess: a file as for --prior; the largest error over its rows is made least", FILE)
@option(
    "--for",
    "whose error is to be small: of the model's parameters, or of the shares of answers  "
    "[default: shares with --share, else parameters]",
    Choice(["parameters", "shares"]),
    name="matters",
)
@option(
    "--method",
    "how estimates will be made: likelihood, or moments (the channel then allows unbiased estimates)",
    Choice(["likelihood", "moments"]),
    name="target",
    default="likelihood",
)
@purpose_option("  [default: that of --fit, if any]")
@option("-o, --output FILE", "where the channel goes (.toml)", CHANNEL)
@JSON
def optimal_command(
    model: Path | None, shares: tuple[Any, ...], matters: str | None, output: Path | None, **flags: Any
) -> None:
    """Find the channel of a privacy level with the least error.

    It is made for a question with several answers whose shares are guessed (--share), or for the model that the JSON
    file MODEL describes, with one guess of its parameters (--theta, --fit, --prior or --minimax):

    \b
        {"kind": "saturated", "outputs": ["never", "once", "often"]}
        {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]]}

    A saturated model has a parameter for every answer but the first, its log-odds against the first; an enumerated one
    has a row for every parameter and a column for every answer. The proof comes with the channel: how far its error
    may be above that of the best channel there is.
    """
    from askance.formats import channel_to_toml
    from askance.formats.disk import write_whole

    described, guess, purpose_of_fit = _guessed(model, shares, flags)
    of_shares = matters == "shares" or (matters is None and shares)
    weights, purpose = "shares" if of_shares else None, flags["purpose"]
    with working("searching for the best channel"):
        best = lib.optimal_channel(described, flags["privacy_level"], target=flags["target"], weights=weights, **guess)
    best = best.for_purpose(purpose_of_fit if purpose is None else purpose)
    below = []
    if output is not None:
        write_whole(output, (channel_to_toml(best) + "\n").encode("utf-8"))
        below = [f"written to {output}; prove it with: askance certify file {output}"]
    show(best, below=below, output=None if output is None else str(output))


def _guessed(
    model: Path | None, shares: tuple[Any, ...], flags: dict[str, Any]
) -> tuple[lib.Enumerated, dict[str, Any], str]:
    """The model, the guess as `optimal_channel` takes it, and the purpose of the pilot that was fitted, or ""."""
    from askance.planning.model_file import read_model

    if (model is None) == (not shares):
        raise InputError(
            f"given of MODEL and --share: {'neither' if model is None else 'both'}; allowed: one of them.",
            remedy="Write --share no=0.9 --share yes=0.1, or name the file of a model.",
        )
    if model is None:
        described, theta, _ = guess_of_shares(shares)
        return described, {"theta": theta}, ""
    described = read_model(model)
    guess = read_guess(described, flags)
    if "fit" not in guess:
        return described, guess, ""
    return described, {"prior": lib.Prior.of_fit(guess["fit"])}, str(guess["fit"].channel.get("purpose", ""))
