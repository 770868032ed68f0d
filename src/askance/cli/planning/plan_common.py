"""What all `askance plan` commands about respondents share: goals, tables of numbers, and how plans are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.numbers import NUMBER, WholeNumber
from askance.cli.shared.options import (
    FILE,
    JSON,
    Decorator,
    Function,
    confidence_option,
    option,
    options,
    seed_option,
)
from askance.cli.shared.printing import print_json, print_table, terminal_width
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import PICTURE
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.planning import Plan

#: Flags of goals, and what Python calls them.
GOALS = {"standard_error": "standard_error", "width": "interval_width", "power": "power"}


#: The difference that a test is to detect, where nothing more can be said of it.
_EFFECT = "difference to detect  [default for a parameter: its guess]"


def goal_options(effect: str = _EFFECT, respondents: str = "how many are asked") -> Callable[[Function], Function]:
    """--standard-error, --width, --power, --effect, --respondents, --confidence, --plot, --json.

    Args:
        effect: the help of --effect.
        respondents: the help of --respondents.
    """
    return options(
        option("--respondents N", respondents, WholeNumber()),
        option("--standard-error S", "goal: this standard error, as in 0.02", NUMBER),
        option("--width W", "goal: a confidence interval that wide from end to end", NUMBER),
        option("--power P", "goal: detect --effect with this probability, as in 0.8", NUMBER),
        option("--effect E", effect, NUMBER),
        confidence_option("confidence of intervals; tests raise a false alarm in the rest"),
        option("--plot FILE", "draw the plan (.png, .svg, .pdf)", PICTURE),
        JSON,
    )


def level_option(help: str, **more: Any) -> Decorator:
    """--privacy-level."""
    return option("--privacy-level LEVEL", help, **more)


def covariate_options(x: str, data: str) -> Callable[[Function], Function]:
    """--x, --data and --seed: who will be asked; with the help of the first two."""
    return options(
        option(
            "--x NAME:LAW",
            f"{x}: age:normal(40,15), educ:uniform(0,10), female:bernoulli(0.5){data} (repeatable)",
            name="covariates",
            multiple=True,
        ),
        option("--data FILE", "a table with a sample of the columns, instead of laws", FILE),
        seed_option("seed of the sample drawn from the laws of --x"),
    )


def method_option(default: str) -> Decorator:
    """--method."""
    text = "how estimates will be made: one-step, marginal (both by the likelihood), moments, or best"
    return option("--method NAME", text, default=default)


def goals_of(given: dict[str, Any]) -> dict[str, Any]:
    """The goals that were given, by the names that Python has for them."""
    return {GOALS[name]: given[name] for name in GOALS if given[name] is not None}


def read_covariates(given: dict[str, Any], names: tuple[str, ...], remedy: str) -> dict[str, FloatArray]:
    """The columns of --data (those of `names`, or all), or a sample from the laws of --x."""
    import numpy as np

    from askance.planning import sample_covariates
    from askance.survey import read_table
    from askance.survey.number_tables import numeric_columns

    if given["data"] is None:
        return sample_covariates(given["covariates"], np.random.default_rng(given["seed"]))
    return numeric_columns(read_table(given["data"]), given["data"], names, "--data", remedy)


def plan_and_show(
    subject: Any,
    channels: Sequence[Any] | str | None,
    given: dict[str, Any],
    *,
    where: str = "",
    more: dict[str, Any] | None = None,
    **guess: Any,
) -> None:
    """Plan, draw and print.

    Args:
        subject: the model that is planned for.
        channels: to compare; None for all that fit.
        given: the options of the command: goals, and perhaps a privacy level and a method.
        where: more words about what was guessed.
        more: fields that are put first in the JSON.
        guess: what is guessed, and what is to be learned.
    """
    from askance.planning import plan

    with working("predicting errors through all channels") as (told, _):
        found = plan(
            subject,
            channels,
            privacy_level=given["privacy_level"],
            n=given["respondents"],
            effect=given["effect"],
            confidence=given["confidence"],
            **({"method": given["method"]} if "method" in given else {}),
            **goals_of(given),
            **guess,
        )
    show_plan(found, given["plot"], given["as_json"], where, told, **(more or {}))


def show_plan(
    plan: Plan, plot: Path | None, as_json: bool, guess: str = "", warnings: Sequence[str] = (), **more: Any
) -> None:
    """Draw and print a plan.

    Args:
        plan: the plan.
        plot: where the picture goes, if anywhere.
        as_json: whether to print JSON.
        guess: more words about what was guessed.
        warnings: that came with it, put last in the JSON.
        more: fields that are put first in the JSON.
    """
    if plot is not None:
        _draw(plan, plot)
    if as_json:
        print_json({**more, **plan.to_json(), "warnings": list(warnings)})
        return
    from askance.planning.plan_table import PARAMETERS, guess_of, has_parameters, notes_of, table_within, title_of

    columns, *rows = table_within(plan, terminal_width())
    print_table(f"{title_of(plan)}\n{guess_of(plan, guess)}", columns, rows, whole=True)
    notes = notes_of(plan)
    if has_parameters(plan) and PARAMETERS not in columns:
        notes.append("parameters of the designs: in a wider window, or with --json")
    click.echo("\n".join(notes))
    if plot is not None:
        click.echo(f"picture  {plot}")


def _draw(plan: Plan, path: Path) -> None:
    try:
        plan.plot(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"--plot {path}: {reason}.", remedy="Give the path of a .png, .svg or .pdf file.") from None
