"""`askance plan`: how many respondents, and what they buy, before anybody is asked."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.survey_designs import NO_YES
from askance.cli.misuse import GuidedGroup
from askance.cli.output import print_json, print_table
from askance.cli.plan_private import field_command, regression_command
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.design import Plan, PlannedDesign, SurveyGuess


@click.group("plan", cls=GuidedGroup, short_help="How many respondents are needed, and what devices send.")
def plan_group() -> None:
    """Respondents needed for a goal, or what a number of respondents buys, design by design; and what devices send."""


plan_group.add_command(regression_command)
plan_group.add_command(field_command)


@plan_group.command("survey")
@click.option("--prevalence", type=float, required=True, metavar="P", help="guessed share of yes in the population")
@click.option(
    "--effects", metavar="NAME=B,…", default="", help="guessed coefficients, in log-odds per unit (others: 0)"
)
@click.option(
    "--x",
    "covariates",
    multiple=True,
    metavar="NAME:LAW",
    help="a covariate: age:normal(40,15), educ:uniform(0,10), female:bernoulli(0.5); with --data a column (repeatable)",
)
@click.option("--data", type=click.Path(path_type=Path), help="CSV file with a sample of the covariates instead")
@click.option(
    "--design",
    "designs",
    multiple=True,
    metavar="NAME[:P=V,…]",
    help="a design, as in forced-response:truth=2/3,yes=1/6 (repeatable; default: all yes/no designs)",
)
@click.option("--privacy-level", metavar="LEVEL", help="compare all designs at this level (default: textbook settings)")
@click.option("--coefficient", metavar="NAME", help="plan for this coefficient")
@click.option("--share", is_flag=True, help="plan for the share of yes (the default)")
@click.option("--standard-error", type=float, metavar="S", help="goal: this standard error")
@click.option("--width", type=float, metavar="W", help="goal: an interval that wide from end to end")
@click.option("--power", type=float, metavar="P", help="goal: detect --effect with this probability")
@click.option("--effect", type=float, metavar="E", help="difference to detect (default: the coefficient's guess)")
@click.option("--respondents", type=int, metavar="N", help="instead of a goal: what N respondents buy")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="of intervals; tests have the rest")
@click.option("--method", default="one-step", show_default=True, help="one-step, marginal or moments")
@click.option("--seed", type=int, default=0, show_default=True, help="of the sample drawn from --x")
@click.option("--plot", type=click.Path(path_type=Path), help="draw respondents against standard error into this PNG")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def survey_command(plot: Path | None, as_json: bool, **given: Any) -> None:
    """Plan a survey with one sensitive yes/no question, all designs side by side.

    Examples:

        askance plan survey --prevalence 0.2 --standard-error 0.02

        askance plan survey --prevalence 0.2 --x "age:normal(40,15)" --coefficient age --effect 0.02 --power 0.8
    """
    from askance.design import plan_survey
    from askance.design.asked import Share

    coefficient = given["coefficient"]
    if coefficient is not None and given["share"]:
        raise InputError("--coefficient and --share are both given.", remedy="Plan for one of them at a time.")
    goal = _goal(given)
    guess = _guess(given)
    plan = plan_survey(
        guess.model,
        _channels(given["designs"], given["privacy_level"]),
        guess.theta,
        guess.x,
        target=Share(NO_YES[1]) if coefficient is None else coefficient,
        method=given["method"],
        confidence=given["confidence"],
        effect=given["effect"],
        **goal,
    )
    if plot is not None:
        _draw(plan, plot)
    if as_json:
        print_json({"prevalence": given["prevalence"], **plan.to_json()})
        return
    _print_plan(plan, given["prevalence"])
    if plot is not None:
        click.echo(f"picture  {plot}")


def _goal(given: dict[str, Any]) -> dict[str, Any]:
    """The goal as `plan_survey` takes it; exactly one."""
    names = {"standard_error": "standard_error", "width": "interval_width", "respondents": "n", "power": "power"}
    goals = {names[name]: given[name] for name in names if given[name] is not None}
    if not goals and given["effect"] is not None:
        return {"power": 0.8}
    if len(goals) != 1:
        flags = ", ".join("--" + name.replace("_", "-") for name in names)
        found = ", ".join(sorted(goals)) or "none"
        raise InputError(f"goals given: {found}; allowed: exactly one of {flags}.", remedy="Plan once for each.")
    return goals


def _guess(given: dict[str, Any]) -> SurveyGuess:
    import numpy as np

    from askance.design.survey_guess import guess_survey, sample_covariates

    effects = _read_effects(given["effects"])
    coefficient, seed = given["coefficient"], given["seed"]
    if seed < 0:
        raise InputError(f"--seed is {seed}; allowed: 0 or more.", remedy="The default is 0.")
    if given["data"] is not None:
        columns = _read_columns(given["data"], given["covariates"])
    else:
        columns = sample_covariates(given["covariates"], np.random.default_rng(seed))
    if given["effect"] is not None and coefficient in columns:
        effects.setdefault(coefficient, given["effect"])  # the truth in which it is to be detected
    return guess_survey(given["prevalence"], effects, columns)


def _read_effects(text: str) -> dict[str, float]:
    effects: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        try:
            effects[name] = float(Fraction(value)) if "/" in value else float(value)
        except (ValueError, ZeroDivisionError):
            equals = ""
        if not equals or not name:
            raise InputError(f"--effects has {part!r}; allowed: NAME=NUMBER, …", remedy="Write age=0.02,female=-0.5.")
    return effects


def _read_columns(path: Path, names: tuple[str, ...]) -> dict[str, FloatArray]:
    """Numeric columns of a table: the named ones, or all."""
    import numpy as np

    from askance.survey import read_table

    table = read_table(path)
    if not len(table):
        raise InputError(f"--data {path} has no rows.", remedy="Give a sample of the covariates.")
    columns: dict[str, FloatArray] = {}
    for name in names or table.names:
        column = table[name]
        if column.kind not in ("number", "boolean") or column.missing.any():
            found = f"{int(column.missing.sum())} missing values" if column.missing.any() else f"{column.kind} values"
            raise InputError(
                f"--data {path}: {name} holds {found}; allowed: numbers.",
                remedy="Choose numeric columns with --x NAME, and drop incomplete rows first.",
            )
        columns[name] = np.asarray(column.values, dtype=np.float64)
    return columns


def _channels(texts: tuple[str, ...], privacy_level: str | None) -> list[FiniteChannel]:
    from askance.design.yes_no import design_at_level, textbook_design, yes_no_kinds

    channels = []
    for text in texts or yes_no_kinds():
        kind, colon, parameters = text.partition(":")
        if colon and privacy_level is not None:
            raise InputError(
                f"--design {text} has parameters, and --privacy-level {privacy_level} would replace them.",
                remedy="Give one of them.",
            )
        if colon:
            channels.append(_build(kind, parameters))
        elif kind == "direct":
            channels.append(registry.entry(kind).build({"outputs": list(NO_YES)}))
        elif kind == "randomized-response" and privacy_level is not None:
            channels.append(registry.entry(kind).build({"outputs": list(NO_YES), "privacy_level": privacy_level}))
        else:
            channels.append(textbook_design(kind) if privacy_level is None else design_at_level(kind, privacy_level))
    return channels


def _build(kind: str, text: str) -> FiniteChannel:
    """A design with parameters written as NAME=VALUE, …; commas inside a value belong to it."""
    entry = registry.entry(kind)
    kinds = {parameter.name: parameter.kind for parameter in entry.parameters}
    found: list[list[str]] = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            found.append([name.strip().replace("-", "_"), value])
        elif found:
            found[-1][1] += "," + part
        else:
            raise InputError(f"--design {kind}:{text}: {part!r} is no NAME=VALUE.", remedy="Write warner:question=2/3.")
    given = {name: kinds[name].read(value) if name in kinds else value for name, value in found}
    if "outputs" in kinds:
        given.setdefault("outputs", list(NO_YES))
    return registry.build_answer_channel({"kind": kind, **given})


def _draw(plan: Plan, path: Path) -> None:
    from askance.design.plan_plot import plot_plan

    try:
        plot_plan(plan, path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"--plot {path}: {reason}.", remedy="Give the path of a PNG file.") from None


def _print_plan(plan: Plan, prevalence: float) -> None:
    percent = f"{100 * plan.confidence:g} %"
    what = {
        "n": f"what {plan.direct.n:,} respondents buy",
        "standard_error": f"respondents for a standard error of {plan.wanted:g}",
        "interval_width": f"respondents for a {percent} interval {plan.wanted:g} wide",
        "power": f"respondents for power {plan.wanted:g}",
    }
    title = f"{what[plan.goal]}: {plan.target}\nguessed {plan.value:.4g} at prevalence {prevalence:g}; {plan.method}"
    if plan.effect is not None:
        title += f"; {100 * (1 - plan.confidence):.3g} % test of a difference of {plan.effect:g}"
    bought = ["s.e.", "width", *(["power"] if plan.effect is not None else [])]
    columns = ["design", "parameters", "level", *(bought if plan.goal == "n" else ["respondents"]), "price"]
    print_table(title, columns, [_row(design, plan.goal) for design in (plan.direct, *plan.designs)])
    notes = ["level: privacy level; price: respondents who do the work of one who is asked directly"]
    if plan.goal == "n":
        notes.append(f"s.e.: standard error; width: of the {percent} interval")
    if any(design.rough for design in (plan.direct, *plan.designs)):
        notes.append("≈: too few respondents for these figures to be more than rough; take more, or simulate")
    errors = [design.unit_error for design in plan.designs]
    if len(errors) > 1 and max(errors) / min(errors) - 1 < 1e-6:
        notes.append("these designs tell equally much: they differ in how they feel to respondents")
    click.echo("\n".join(notes))


def _row(design: PlannedDesign, goal: str) -> list[str]:
    shown = {name: value for name, value in design.parameters.items() if name not in ("outputs", "observations")}
    parameters = ", ".join(f"{name} {_short(value)}" for name, value in shown.items())
    level = "none" if math.isinf(design.privacy_level) else f"{design.privacy_level:.3g}"
    mark = "≈" if design.rough else ""
    if goal == "n":
        cells = [f"{mark}{design.standard_error:.3g}", f"{mark}{design.interval_width:.3g}"]
        cells += [] if design.power is None else [f"{mark}{design.power:.1%}"]
    else:
        cells = [f"{mark}{design.n:,}"]
    return [design.design, parameters, level, *cells, f"{design.price:.2f}"]


def _short(value: Any) -> str:
    """A fraction as it is, a long one as a decimal."""
    text = str(value)
    if len(text) <= 8 or not isinstance(value, str):
        return text
    try:
        return f"{float(Fraction(text)):.4f}"
    except ValueError:
        return text
