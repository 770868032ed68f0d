"""`askance plan model` and `askance plan shares`: error ↔ respondents ↔ privacy level for any model of one answer."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

import askance as lib
from askance._checks import did_you_mean
from askance.cli.planning.guesses import guess_of_shares, guess_options, read_guess, shares_option
from askance.cli.planning.plan_common import goal_options, method_option, plan_and_show
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, level_option, option, options
from askance.errors import LabelError

_SHARE = "share:"
_channel_options = options(
    level_option("what one report may tell, the same for every channel, above 0, at most 30; 1 is usual"),
    option(
        "--channel NAME",
        "a channel, such as optimal or randomized-response (repeatable)  [default: all that fit]",
        name="channels",
        multiple=True,
    ),
    method_option("best"),
)


@command(
    "model",
    "Respondents, error or privacy level for any model of one answer.",
    examples=[
        "askance plan model habits.json --theta 0.5,-1 --privacy-level 1 --standard-error 0.1",
        "askance plan model habits.json --fit pilot.fit --respondents 20000 --standard-error 0.1 --channel optimal",
    ],
)
@click.argument("model", type=FILE)
@guess_options
@option(
    "--target NAME",
    "what is to be learned: a parameter, share:LABEL, or shares for all shares at once  [default: all parameters]",
)
@_channel_options
@goal_options()
def model_command(model: Path, **flags: Any) -> None:
    """Plan for the model that the JSON file MODEL describes, all channels side by side.

    Of --privacy-level, --respondents and a goal (--standard-error, --width or --power) give two: the third is worked
    out. Give one guess of the parameters: --theta, --fit or --prior.

    \b
        {"kind": "saturated", "outputs": ["never", "once", "often"]}
        {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]]}

    A saturated model has a parameter for every answer but the first, its log-odds against the first; an enumerated one
    has a row for every parameter and a column for every answer.
    """
    from askance.planning.model_file import read_model

    described = read_model(model)
    guess = read_guess(described, flags)
    target = _read_target(described, flags["target"])
    plan_and_show(described, flags["channels"] or None, flags, target=target, **guess)


@command(
    "shares",
    "Respondents, error or privacy level for one question with several answers.",
    examples=[
        "askance plan shares --share no=0.6 --share maybe=0.3 --share yes=0.1 --privacy-level 1 --standard-error 0.02",
        "askance plan shares --share no=0.8 --share yes=0.2 --target yes --respondents 2000 --width 0.1",
    ],
)
@shares_option(
    "an answer and its guessed share, as in yes=0.1, yes=10% or yes=1/10 (repeatable; they sum to 1)", required=True
)
@option("--target LABEL", "plan for the share of this answer  [default: all shares at once]")
@_channel_options
@goal_options("with --target: the difference from a reference share to detect, as in 0.05")
def shares_command(shares: tuple[Any, ...], target: str | None, **flags: Any) -> None:
    """Plan for one question with several answers, whose shares are guessed; all channels side by side.

    Of --privacy-level, --respondents and a goal (--standard-error, --width or --power) give two: the third is worked
    out.
    """
    model, theta, guessed = guess_of_shares(shares)
    wanted = "shares" if target is None else lib.Share(_read_answer(target, guessed))
    more = {"shares": guessed}
    plan_and_show(model, flags["channels"] or None, flags, target=wanted, more=more, theta=theta)


def _read_target(model: lib.Enumerated, text: str | None) -> str | lib.Share | None:
    if text is None or text in model.parameter_names or not text.startswith(_SHARE):
        return text
    # Labels may be numbers: what is typed is compared with how they are written.
    written = {str(label): label for label in model.outputs.labels}
    return lib.Share(written[_read_answer(text.removeprefix(_SHARE), written)])


def _read_answer(typed: str, known: Iterable[str]) -> str:
    """One of the answers."""
    labels = list(known)
    if typed not in labels:
        raise LabelError(
            f"--target asks for the share of {typed!r}; answers are {', '.join(labels)}.",
            remedy=did_you_mean(typed, labels, "Give one of these."),
        )
    return typed
