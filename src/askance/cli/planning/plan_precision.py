"""`askance plan regression` and `askance plan field` without -o: error ↔ respondents ↔ privacy level."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askance._checks import did_you_mean
from askance.cli.devices.record_tables import label_of
from askance.cli.planning.guesses import read_numbers
from askance.cli.planning.plan_common import GOALS, goals_of, read_columns
from askance.cli.shared.numbers import SEED
from askance.cli.shared.progress import progress
from askance.errors import InputError, LabelError

if TYPE_CHECKING:
    from askance.estimation.results.field_fit import FieldFit
    from askance.models.linear import LinearModel
    from askance.models.random_field import RandomField
    from askance.planning import Plan

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: The section of the help, and the options in it.
PRECISION = "Respondents, error or privacy level, instead of -o"
PRECISION_OPTIONS = ("target", "theta", "covariates", "data", "seed", *GOALS, "effect", "confidence", "plot")
_COLUMNS = "Give a table with these columns, all numbers."


def people_options(function: _Function) -> _Function:
    """--theta, --x, --data and --seed: who will be asked, and what is guessed of them."""
    for option in reversed(
        [
            click.option(
                "--theta",
                metavar="X,X,…",
                help="guess: intercept, a coefficient per column, and the standard deviation of what they leave open",
            ),
            click.option(
                "--x",
                "covariates",
                multiple=True,
                metavar="NAME:LAW",
                help="spread of a column: age:normal(40,15), educ:uniform(0,10), female:bernoulli(0.5) (repeatable)",
            ),
            click.option(
                "--data",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="a table with a sample of the columns, instead of laws",
            ),
            click.option(
                "--seed",
                metavar="S",
                type=SEED,
                default=0,
                show_default=True,
                help="seed of the sample drawn from the laws of --x",
            ),
        ]
    ):
        function = option(function)
    return function


def refuse_goals(given: dict[str, Any], also: tuple[str, ...] = ()) -> None:
    """Refuse, where a file is to be written, what only a plan has a use for."""
    names = (*GOALS, "effect", "target", "theta", "covariates", "data", "plot", *also)
    idle = [name for name in names if given.get(name)]
    if idle:
        flag = "--x" if idle[0] == "covariates" else f"--{idle[0].replace('_', '-')}"
        raise InputError(
            f"{flag} is given with -o; allowed: one of them.",
            remedy="Plan first, without -o; then write the file, with -o.",
        )


def precision_of_regression(field: LinearModel, channel: str, privacy_level: str | None, given: dict[str, Any]) -> Plan:
    """What respondents are worth for the coefficients, through every encoding of their records."""
    import numpy as np

    from askance.planning import sample_covariates

    if given["theta"] is None:
        raise InputError(
            "neither -o nor --theta is given.",
            remedy="Give -o release.json for the file that devices read; to plan, guess intercept, "
            f"{', '.join(field.feature_names)} and the deviation of what they leave open: --theta 1,…,20.",
        )
    names = tuple(field.feature_names)
    if given["data"] is not None:
        columns = read_columns(given["data"], names, "--data", _COLUMNS)
    else:
        columns = sample_covariates(given["covariates"], np.random.default_rng(given["seed"]))
    missing = [name for name in names if name not in columns]
    if missing:
        raise InputError(
            f"{missing[0]!r} is not described; needed: {', '.join(names)}.",
            remedy=f'Write --x "{missing[0]}:normal(40,15)", or give --data FILE.',
        )
    x = np.column_stack([columns[name] for name in names])
    guess = {"theta": read_numbers(given["theta"]), "x": x, "target": given["target"]}
    return _plan(field, channel, privacy_level, given, **guess)


def precision_of_field(
    field: RandomField, pilot: FieldFit | None, channel: str, privacy_level: str | None, given: dict[str, Any]
) -> Plan:
    """What respondents are worth for the tables; guessed is the fit of a pilot, or else that cells are alike."""
    import numpy as np

    if given["respondents"] is None and not goals_of(given):
        raise InputError(
            "neither -o nor a goal is given.",
            remedy="Give -o channel.toml for the file that devices read; to plan, --respondents or --standard-error.",
        )
    guess: dict[str, Any] = {"theta": np.zeros(field.dimension)} if pilot is None else {"fit": pilot}
    guess["target"] = _cell(field, given["target"])
    return _plan(field, channel, privacy_level, given, **guess)


def _plan(model: Any, channel: str, privacy_level: str | None, given: dict[str, Any], **guess: Any) -> Plan:
    from askance.planning import plan

    with progress() as doing:
        doing("predicting errors through all channels")
        return plan(
            model,
            None if channel == "auto" else channel,
            privacy_level=privacy_level,
            n=given["respondents"],
            effect=given["effect"],
            confidence=given["confidence"],
            **goals_of(given),
            **guess,
        )


def _cell(field: RandomField, text: str | None) -> dict[str, Any] | None:
    """VARIABLE=LABEL,… as a cell; labels may be numbers, and are compared with how they are written."""
    if text is None:
        return None
    cell: dict[str, Any] = {}
    for part in text.split(","):
        name, _, typed = (piece.strip() for piece in part.partition("="))
        if name not in field.variables:
            raise InputError(
                f"--target is {text!r}; allowed: VARIABLE=LABEL,… of {', '.join(field.variables)}.",
                remedy=did_you_mean(name, field.variables, "Leave it out for all tables at once."),
            )
        known = field.categories[name]
        label = label_of(typed, known)
        if label is None:
            written = [str(each) for each in known]
            raise LabelError(
                f"--target asks for {name} = {typed!r}; labels are {', '.join(written)}.",
                remedy=did_you_mean(typed, written, "Give one of these."),
            )
        cell[name] = label
    return cell
