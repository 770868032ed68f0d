"""`askance plan model` and `askance plan shares`: error ↔ respondents ↔ privacy level for any model of one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askance._checks import did_you_mean
from askance.cli.planning.guesses import guess_options, read_guess, read_shares
from askance.cli.planning.plan_common import check_plot, goal_options, goals_of, show_plan
from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.progress import one_line_warnings, progress
from askance.errors import LabelError

if TYPE_CHECKING:
    from askance.models.enumerated import Enumerated
    from askance.planning import Plan, Share

_FILE = click.Path(path_type=Path)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_SHARE = "share:"


def channel_options(function: _Function) -> _Function:
    """--privacy-level, --channel and --method."""
    for option in reversed(
        [
            click.option(
                "--privacy-level",
                metavar="LEVEL",
                help="what one report may tell, the same for every channel, above 0, at most 30; 1 is usual",
            ),
            click.option(
                "--channel",
                "channels",
                multiple=True,
                metavar="NAME",
                help="a channel, such as optimal or randomized-response (repeatable)  [default: all that fit]",
            ),
            click.option(
                "--method",
                metavar="NAME",
                default="best",
                show_default=True,
                help="how estimates will be made: one-step, marginal (both by the likelihood), moments, or best",
            ),
        ]
    ):
        function = option(function)
    return function


@click.command(
    "model",
    cls=GuidedCommand,
    short_help="Respondents, error or privacy level for any model of one answer.",
    examples=[
        "askance plan model habits.json --theta 0.5,-1 --privacy-level 1 --standard-error 0.1",
        "askance plan model habits.json --fit pilot.fit --respondents 20000 --standard-error 0.1 --channel optimal",
    ],
)
@click.argument("model", type=_FILE)
@guess_options
@click.option(
    "--target",
    metavar="NAME",
    help="what is to be learned: a parameter, share:LABEL, or shares for all shares at once  [default: all parameters]",
)
@channel_options
@goal_options()
def model_command(model: Path, plot: Path | None, as_json: bool, **given: Any) -> None:
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

    check_plot(plot)
    described = read_model(model)
    guess = read_guess(described, given)
    with one_line_warnings() as told:
        found = _plan(described, _read_target(described, given["target"]), given, **guess)
    show_plan(found, plot, as_json, warnings=told)


@click.command(
    "shares",
    cls=GuidedCommand,
    short_help="Respondents, error or privacy level for one question with several answers.",
    examples=[
        "askance plan shares --share no=0.6 --share maybe=0.3 --share yes=0.1 --privacy-level 1 --standard-error 0.02",
        "askance plan shares --share no=0.8 --share yes=0.2 --target yes --respondents 2000 --width 0.1",
    ],
)
@click.option(
    "--share",
    "shares",
    multiple=True,
    required=True,
    metavar="LABEL=P",
    help="an answer and its guessed share, as in yes=0.1, yes=10% or yes=1/10 (repeatable; they sum to 1)",
)
@click.option("--target", metavar="LABEL", help="plan for the share of this answer  [default: all shares at once]")
@channel_options
@goal_options("with --target: the difference from a reference share to detect, as in 0.05")
def shares_command(shares: tuple[str, ...], target: str | None, plot: Path | None, as_json: bool, **given: Any) -> None:
    """Plan for one question with several answers, whose shares are guessed; all channels side by side.

    Of --privacy-level, --respondents and a goal (--standard-error, --width or --power) give two: the third is worked
    out.
    """
    import numpy as np

    from askance.models.enumerated import Enumerated
    from askance.planning import Share

    check_plot(plot)
    guessed = read_shares(shares)
    model = Enumerated.saturated(list(guessed))
    p = np.array([float(share) for share in guessed.values()])
    wanted = "shares" if target is None else Share(_read_answer(target, guessed))
    with one_line_warnings() as told:
        found = _plan(model, wanted, given, theta=np.log(p[1:] / p[0]))
    show_plan(found, plot, as_json, warnings=told, shares={label: float(share) for label, share in guessed.items()})


def _plan(model: Enumerated, target: str | Share | None, given: dict[str, Any], **guess: Any) -> Plan:
    from askance.planning import plan

    with progress() as doing:
        doing("predicting errors through all channels")
        return plan(
            model,
            given["channels"] or None,
            privacy_level=given["privacy_level"],
            target=target,
            n=given["respondents"],
            effect=given["effect"],
            method=given["method"],
            confidence=given["confidence"],
            **goals_of(given),
            **guess,
        )


def _read_target(model: Enumerated, text: str | None) -> str | Share | None:
    from askance.planning import Share

    if text is None or text in model.parameter_names or not text.startswith(_SHARE):
        return text
    # Labels may be numbers: what is typed is compared with how they are written.
    written = {str(label): label for label in model.outputs.labels}
    return Share(written[_read_answer(text.removeprefix(_SHARE), written)])


def _read_answer(typed: str, known: Iterable[str]) -> str:
    """One of the answers."""
    labels = list(known)
    if typed not in labels:
        raise LabelError(
            f"--target asks for the share of {typed!r}; answers are {', '.join(labels)}.",
            remedy=did_you_mean(typed, labels, "Give one of these."),
        )
    return typed
