"""`askance plan`: how many respondents, and what they buy, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.channels.survey_designs import NO_YES
from askance.cli.planning.plan_common import (
    GOALS,
    covariate_options,
    goal_options,
    goals_of,
    level_option,
    method_option,
    read_covariates,
    show_plan,
)
from askance.cli.planning.plan_model import model_command, shares_command
from askance.cli.planning.plan_private import field_command, regression_command
from askance.cli.shared.guided import GuidedGroup
from askance.cli.shared.numbers import NUMBER, read_number
from askance.cli.shared.options import option
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.planning import SurveyGuess

_NUMERIC = "Choose numeric columns with --x NAME, and drop incomplete rows first."


@click.group(
    "plan",
    cls=GuidedGroup,
    short_help="How many respondents are needed, and what devices send.",
    sections={
        "One question": ["survey", "shares", "model"],
        "Records on devices": ["regression", "field"],
    },
    examples=[
        "askance plan survey --prevalence 0.2 --standard-error 0.02",
        "askance plan shares --share no=0.8 --share yes=0.2 --privacy-level 1 --respondents 2000",
        "askance plan field people.toml --privacy-level 2 -o channel.toml",
    ],
)
def plan_group() -> None:
    """Before anybody is asked: respondents needed for a goal, or what a number of respondents buys, channel by channel.

    Errors are predicted at a guess of the truth, for large numbers of respondents; what is too few for that is marked.
    For private regressions and fields, this also writes the file that tells devices what to send.
    """


for _command in (model_command, shares_command, regression_command, field_command):
    plan_group.add_command(_command)


@plan_group.command(
    "survey",
    short_help="Respondents or error for one sensitive yes/no question, all designs side by side.",
    apart={"coefficient": ("share",)},
    examples=[
        "askance plan survey --prevalence 0.2 --standard-error 0.02",
        'askance plan survey --prevalence 0.2 --x "age:normal(40,15)" --coefficient age --effect 0.02 --power 0.8',
        "askance plan survey --prevalence 1/10 --respondents 2000 --design crosswise --design warner --privacy-level 1",
    ],
)
@option("--prevalence P", "guessed share of yes in the population, as in 0.2", NUMBER, required=True)
@goal_options(
    "difference to detect  [default with --coefficient: its guess]", "instead of a goal: what so many respondents buy"
)
@option(
    "--design NAME[:P=V,…]",
    "a design, as in forced-response:truth=2/3,yes=1/6 (repeatable)  [default: all yes/no designs]",
    name="designs",
    multiple=True,
)
@level_option("compare all designs at this level, above 0, at most 30  [default: as textbooks set them]")
@option("--share", "plan for the share of yes (the default)")
@option("--coefficient NAME", "plan for this coefficient of a regression instead")
@covariate_options("a covariate", "; with --data a column")
@option("--effects NAME=B,…", "guessed coefficients, in log-odds per unit  [default: 0 each]", default="")
@method_option("one-step")
def survey_command(plot: Path | None, as_json: bool, **given: Any) -> None:
    """Plan a survey with one sensitive yes/no question, all designs side by side.

    Give one goal (--standard-error, --width or --power), and respondents are worked out; or --respondents, and what
    they buy is. Beside each design stands its price: how many respondents do the work of one who is asked directly.
    """
    from askance.planning import Share, plan_survey
    from askance.planning.design_texts import designs_of

    coefficient = given["coefficient"]
    goal = _goal(given)
    guess = _guess(given)
    plan = plan_survey(
        guess.model,
        designs_of(given["designs"], given["privacy_level"]),
        guess.theta,
        guess.x,
        target=Share(NO_YES[1]) if coefficient is None else coefficient,
        method=given["method"],
        confidence=given["confidence"],
        effect=given["effect"],
        **goal,
    )
    where = f"at prevalence {given['prevalence']:g}"
    show_plan(plan, plot, as_json, where, prevalence=given["prevalence"])


def _goal(given: dict[str, Any]) -> dict[str, Any]:
    """The goal as `plan_survey` takes it; exactly one."""
    goals = goals_of(given)
    if given["respondents"] is not None:
        goals["n"] = given["respondents"]
    if not goals and given["effect"] is not None:
        return {"power": 0.8}
    if len(goals) != 1:
        flags = "--standard-error, --width, --respondents, --power"
        found = ", ".join(f"--{name}" for name in (*GOALS, "respondents") if given[name] is not None) or "none"
        found = found.replace("_", "-")
        raise InputError(f"goals given: {found}; allowed: exactly one of {flags}.", remedy="Plan once for each.")
    return goals


def _guess(given: dict[str, Any]) -> SurveyGuess:
    from askance.planning.survey_guess import guess_survey

    effects, coefficient = _read_effects(given["effects"]), given["coefficient"]
    columns = read_covariates(given, given["covariates"], _NUMERIC)
    if given["effect"] is not None and coefficient in columns:
        effects.setdefault(coefficient, given["effect"])  # the truth in which it is to be detected
    return guess_survey(given["prevalence"], effects, columns)


def _read_effects(text: str) -> dict[str, float]:
    effects: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        try:
            effects[name] = read_number(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise InputError(f"--effects has {part!r}; allowed: NAME=NUMBER,….", remedy="Write age=0.02,female=-0.5.")
    return effects
