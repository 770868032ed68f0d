"""`askance plan`: how many respondents, and what they buy, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import askance as lib
from askance._checks import shorten
from askance.channels.survey_designs import NO_YES
from askance.cli.planning.plan_common import (
    OF_TESTS,
    covariate_options,
    goal_options,
    method_option,
    read_covariates,
    show_plan,
)
from askance.cli.planning.plan_model import model_command, shares_command
from askance.cli.planning.plan_private import field_command, regression_command
from askance.cli.shared.errors import the_one
from askance.cli.shared.guided import GuidedGroup, command
from askance.cli.shared.options import FILE, NUMBER, Read, level_option, option, read_number, read_pair
from askance.cli.shared.progress import working
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.channels.finite import FiniteChannel
    from askance.planning import GuessedDesign, SurveyGuess

_EFFECTS = Read(
    lambda text: {name: read_number(value) for name, value in map(read_pair, filter(str.strip, text.split(",")))},
    "NAME=NUMBER,…",
    "Write age=0.02,female=-0.5.",
)


def _read_guess(text: str) -> tuple[str, list[str]]:
    name, shares = read_pair(text)
    return name, shares.split(",")


_GUESS = Read(
    _read_guess,
    "NAME=SHARE, or NAME=SHARE,SHARE,…",
    "Write honest=0.8, or items=0.4.",
)
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


@command(
    "survey",
    "Respondents or error for one sensitive yes/no question, all designs side by side.",
    apart={"coefficient": ("share", "against")},
    needs={"against_design": ("against",), "against_part": ("against",)},
    sections={
        "Designs to compare": ["designs", "guesses", "codebook", "question", "privacy_level", "method"],
        "A difference between two groups or arms": ["against", "against_design", "against_part"],
        "A coefficient of a regression": ["share", "coefficient", "covariates", "data", "seed", "effects"],
    },
    examples=[
        "askance plan survey --prevalence 0.2 --standard-error 0.02",
        'askance plan survey --prevalence 0.2 --x "age:normal(40,15)" --coefficient age --effect 0.02 --power 0.8',
        "askance plan survey --prevalence 0.2 --null 0.1 --alternative greater --power 0.9 --design warner --text",
        "askance plan survey --prevalence 0.2 --against 0.12 --against-design direct --power 0.8",
        "askance plan survey --prevalence 0.2 --standard-error 0.03 --design list-experiment:items=3 --guess items=0.4",
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
@option(
    "--guess NAME=SHARE",
    "of designs with groups: who is honest, cheats, …, as in honest=0.8; of a list items=0.4, the share of each item, "
    "or items=0.1,0.3,0.4,0.2, those of 0, 1, … items (repeatable)",
    _GUESS,
    name="guesses",
    multiple=True,
)
@option("--codebook FILE", "compare the designs of a question in the codebook of the study, instead of --design", FILE)
@option("--question NAME", "with --codebook: which question  [default: the only one with a design]")
@level_option("compare all designs at this level, above 0, at most 30  [default: as textbooks set them]")
@option("--against P", "compare with this guessed share in another group or arm: plan for the difference", NUMBER)
@option("--against-design NAME[:P=V,…]", "how the other arm is asked, as in direct  [default: as the others]")
@option("--against-part P", "the part of all respondents in the other arm  [default: 1/2]", NUMBER)
@option("--share", "plan for the share of yes (the default)")
@option("--coefficient NAME", "plan for this coefficient of a regression instead")
@covariate_options("a covariate", "; with --data a column")
@option("--effects NAME=B,…", "guessed coefficients, in log-odds per unit  [default: 0 each]", _EFFECTS, default="")
@method_option("one-step")
def survey_command(plot: Path | None, **flags: Any) -> None:
    """Plan a survey with one sensitive yes/no question, all designs side by side.

    Give one goal (--standard-error, --width or --power), and respondents are worked out; or --respondents, and what
    they buy is. Beside each design stands its price: how many respondents do the work of one who is asked directly.
    """
    goal, coefficient, prevalence = _goal(flags), flags["coefficient"], flags["prevalence"]
    guess = _guess(flags)
    with working("predicting errors through all designs"):
        plan = lib.plan_survey(
            guess.model,
            _designs(flags),
            guess.theta,
            guess.x,
            target=lib.Share(NO_YES[1]) if coefficient is None else coefficient,
            method=flags["method"],
            confidence=flags["confidence"],
            effect=flags["effect"],
            against=_other_arm(flags),
            **{name: flags[name] for name in OF_TESTS},
            **goal,
        )
    show_plan(plan, plot, f"at prevalence {prevalence:g}", text=flags["text"], prevalence=prevalence)


def _other_arm(flags: dict[str, Any]) -> lib.OtherArm | None:
    """The share it is compared with, and how it is asked."""
    from askance.planning.design_texts import designs_of

    if flags["against"] is None:
        return None
    design = flags["against_design"]
    part = flags["against_part"]
    return lib.OtherArm(
        flags["against"], None if design is None else designs_of([design])[0], "1/2" if part is None else part
    )


def _designs(flags: dict[str, Any]) -> list[FiniteChannel | GuessedDesign]:
    """The designs of --design, or of the question of a codebook."""
    from askance.channels.armed_design import ArmedDesign
    from askance.collect.campaign_file import read_study
    from askance.planning.design_texts import designs_of, guessed

    path, name = flags["codebook"], flags["question"]
    if path is None:
        if name is not None:
            raise InputError("--question is given without --codebook.", remedy="Add it, or leave both out.")
        return designs_of(flags["designs"], flags["privacy_level"], _guesses(flags))
    for option_name in ("designs", "privacy_level"):
        if flags[option_name]:
            raise InputError(
                f"--{option_name.rstrip('s').replace('_', '-')} and --codebook are given, and both say the designs.",
                remedy="Give one of them.",
            )
    codebook = read_study(path)
    if name is None and len(codebook.hidden) != 1:
        raise InputError(
            f"{path} has {len(codebook.hidden)} questions with a design; allowed without --question: one.",
            remedy=f"Add --question, one of {shorten(codebook.hidden) or 'none'}.",
        )
    design = codebook.design(name or codebook.hidden[0])
    if isinstance(design, ArmedDesign):
        return [guessed(design, _guesses(flags))]
    return list(codebook.channels(name or codebook.hidden[0]))


def _guesses(flags: dict[str, Any]) -> dict[str, list[str]]:
    """Of what is hidden beside the trait; each once."""
    guesses: dict[str, list[str]] = {}
    for name, shares in flags["guesses"]:
        if name in guesses:
            raise InputError(f"--guess {name} is given twice.", remedy="Guess it once.")
        guesses[name] = shares
    return guesses


def _goal(flags: dict[str, Any]) -> dict[str, Any]:
    """The goal as `plan_survey` takes it; exactly one."""
    names = {"standard-error": "standard_error", "width": "interval_width", "respondents": "n", "power": "power"}
    goals = {flag: flags[name] for flag, name in names.items()}
    tested = any(flags[name] is not None for name in ("effect", "null", "against"))
    if tested and not any(value is not None for value in goals.values()):
        return {"power": 0.8}
    name = names[the_one("goals", goals, "Plan once for each.")]
    return {name: flags[name]}


def _guess(flags: dict[str, Any]) -> SurveyGuess:
    from askance.planning.survey_guess import guess_survey

    effects, coefficient = dict(flags["effects"] or {}), flags["coefficient"]
    columns = read_covariates(flags, flags["covariates"], _NUMERIC)
    if flags["effect"] is not None and coefficient in columns:
        effects.setdefault(coefficient, flags["effect"])  # the truth in which it is to be detected
    return guess_survey(flags["prevalence"], effects, columns)


for _command in (survey_command, model_command, shares_command, regression_command, field_command):
    plan_group.add_command(_command)
