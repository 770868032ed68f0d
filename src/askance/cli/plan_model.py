"""`askance plan model` and `askance plan shares`: error ↔ respondents ↔ privacy level for any model of one answer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askance.cli.guesses import read_guess
from askance.cli.plan_common import goal_options, goals_of, show_plan
from askance.cli.progress import progress
from askance.errors import InputError, ProbabilityError

if TYPE_CHECKING:
    from askance.models.enumerated import Enumerated
    from askance.planning import Plan, Share

_FILE = click.Path(path_type=Path)
_Function = TypeVar("_Function", bound=Callable[..., Any])
_SHARE = "share:"
# How far shares may be from a sum of 1.
_SUM = Fraction(1, 10**6)


def channel_options(function: _Function) -> _Function:
    """--privacy-level, --channel and --method."""
    for option in reversed(
        [
            click.option("--privacy-level", metavar="LEVEL", help="of every channel (default: sought, see above)"),
            click.option(
                "--channel",
                "channels",
                multiple=True,
                metavar="NAME",
                help="a channel, such as optimal or randomized-response (repeatable; default: all that fit)",
            ),
            click.option("--method", default="best", show_default=True, help="best, one-step, marginal or moments"),
        ]
    ):
        function = option(function)
    return function


@click.command("model", short_help="Respondents, error or privacy level for any model of one answer.")
@click.argument("model", type=_FILE)
@click.option("--theta", metavar="NUMBERS", help="guess of the parameters, as in 5,-1")
@click.option("--fit", type=_FILE, help="guess: this saved fit of a pilot, with what it leaves open")
@click.option("--prior", type=_FILE, help="guess: a CSV file of what may be true; its first line names the parameters")
@click.option(
    "--target",
    metavar="NAME",
    help="a parameter, share:LABEL, or shares for all shares at once (default: all parameters)",
)
@channel_options
@goal_options
def model_command(model: Path, plot: Path | None, as_json: bool, **given: Any) -> None:
    """Plan for the model that the JSON file MODEL describes, all channels side by side.

    Of --privacy-level, --respondents and a goal (--standard-error, --width or --power) give two: the third is worked
    out.

    \b
        {"kind": "saturated", "outputs": ["never", "once", "often"]}
        {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]]}

    Examples:

        askance plan model habits.json --theta 0.5,-1 --privacy-level 1 --standard-error 0.1

        askance plan model habits.json --fit pilot.fit --respondents 20000 --standard-error 0.1 --channel optimal
    """
    from askance.planning.model_file import read_model

    described = read_model(model)
    guess = read_guess(described, given)
    show_plan(_plan(described, _read_target(described, given["target"]), given, **guess), plot, as_json)


@click.command("shares", short_help="Respondents, error or privacy level for one question with several answers.")
@click.option(
    "--share",
    "shares",
    multiple=True,
    required=True,
    metavar="LABEL=P",
    help="an answer and its guessed share, as in yes=0.1 (repeatable; they sum to 1)",
)
@click.option("--target", metavar="LABEL", help="plan for the share of this answer (default: all shares at once)")
@channel_options
@goal_options
def shares_command(shares: tuple[str, ...], target: str | None, plot: Path | None, as_json: bool, **given: Any) -> None:
    """Plan for one question with several answers, whose shares are guessed; all channels side by side.

    Of --privacy-level, --respondents and a goal (--standard-error, --width or --power) give two: the third is worked
    out.

    Examples:

        askance plan shares --share no=0.6 --share maybe=0.3 --share yes=0.1 --privacy-level 1 --standard-error 0.02

        askance plan shares --share no=0.8 --share yes=0.2 --target yes --respondents 2000 --width 0.1
    """
    import numpy as np

    from askance.models.enumerated import Enumerated
    from askance.planning import Share

    guessed = _read_shares(shares)
    model = Enumerated.saturated(list(guessed))
    p = np.array([float(share) for share in guessed.values()])
    wanted = "shares" if target is None else Share(target)
    found = _plan(model, wanted, given, theta=np.log(p[1:] / p[0]))
    show_plan(found, plot, as_json, shares={label: float(share) for label, share in guessed.items()})


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
    typed = text.removeprefix(_SHARE)
    written = {str(label): label for label in model.outputs.labels}
    return Share(written.get(typed, typed))


def _read_shares(texts: tuple[str, ...]) -> dict[str, Fraction]:
    """Labels with shares that sum to 1."""
    shares: dict[str, Fraction] = {}
    for text in texts:
        label, equals, number = text.rpartition("=")
        try:
            share = Fraction(number.strip()) if equals else Fraction(0)
        except (ValueError, ZeroDivisionError):
            share = Fraction(0)
        if not label or not 0 < share < 1:
            raise ProbabilityError(
                f"--share is {text!r}; allowed: LABEL=P with P above 0 and below 1.", remedy="Write --share yes=0.1."
            )
        if label in shares:
            raise InputError(f"--share gives {label!r} twice.", remedy="Give every answer once.")
        shares[label] = share
    total = sum(shares.values(), Fraction(0))
    if len(shares) < 2 or abs(total - 1) > _SUM:
        raise ProbabilityError(
            f"the shares of {len(shares)} answers sum to {float(total):g}; allowed: at least two that sum to 1.",
            remedy="Give the shares of all answers, also of no.",
        )
    return {label: share / total for label, share in shares.items()}
