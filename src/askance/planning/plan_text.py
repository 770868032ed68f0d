"""A plan as paragraphs for a preregistration."""

from __future__ import annotations

import math

from askance._version import __version__
from askance.errors import InputError
from askance.planning.counts import Counted
from askance.planning.hypothesis import Hypothesis
from askance.planning.plan_table import listed, parameters_of
from askance.planning.result import Plan, PlannedDesign

_SIDES = {"two-sided": "two-sided", "greater": "one-sided (greater)", "less": "one-sided (less)"}
_RULES = {
    "score": "a score test, which compares the estimate with its standard error under the null hypothesis",
    "wald": "a Wald test, which compares the estimate with its estimated standard error",
    "exact": "an exact binomial test, each side of which rejects with at most its level under the null hypothesis",
}


def paragraphs(plan: Plan, design: str | None = None) -> str:
    """One for every design, or that of one of them: design, level, hypothesis, respondents, power, and how it follows.

    Args:
        plan: the plan.
        design: its name, "direct" for the direct question.
    """
    rows = list(plan.designs) if design is None else [row for row in listed(plan) if row.design == design]
    if not rows:
        names = ", ".join(row.design for row in listed(plan))
        raise InputError(argument="design", got=repr(design), allowed=names, remedy="Leave it out for all of them.")
    return "\n\n".join(_paragraph(plan, row) for row in rows)


def _paragraph(plan: Plan, row: PlannedDesign) -> str:
    parts = [_asked(plan, row), _guess(plan)]
    if plan.test is None:
        parts.append(_precision(plan, row))
    else:
        parts += [_hypothesis(plan.test), *_power(plan, plan.test, row)]
    return " ".join([*parts, f"Computed with askance {__version__}."])


def _asked(plan: Plan, row: PlannedDesign) -> str:
    """How many are asked, and how."""
    if plan.against is None:
        return f"{row.n:,} respondents will be asked {_through(row)}."
    part = float(plan.against.part)
    how = "in the same way"
    if plan.against.design is not None:
        how = f"through the design {plan.against.design.kind}"
    return (
        f"{row.n:,} respondents will be asked in two arms: {1 - part:.4g} of them {_through(row)}, "
        f"and {part:.4g} of them, the other arm, {how}."
    )


def _through(row: PlannedDesign) -> str:
    parameters = parameters_of(row)
    level = "no privacy guarantee" if math.isinf(row.privacy_level) else f"privacy level {row.privacy_level:.4g}"
    return f"through the design {row.design} ({parameters}{'; ' if parameters else ''}{level})"


def _guess(plan: Plan) -> str:
    guesses = f", on average over {plan.guesses} guesses" if plan.guesses > 1 else ""
    if plan.value is None:
        return f"What is planned for is the {plan.target}{guesses}."
    if plan.against is not None:
        share = float(plan.against.share)
        return (
            f"The {plan.target} is guessed to be {plan.value:.4g}: {plan.value + share:.4g} against {share:.4g} in the "
            f"other arm{guesses}."
        )
    return f"The {plan.target} is guessed to be {plan.value:.4g}{guesses}."


def _precision(plan: Plan, row: PlannedDesign) -> str:
    return (
        f"Its estimate ({row.method}) then has a standard error of {row.standard_error:.3g}, and the "
        f"{100 * plan.confidence:g} % confidence interval is {row.interval_width:.3g} wide, as predicted at the guess "
        "for large numbers of respondents."
    )


def _hypothesis(test: Hypothesis) -> str:
    shared = ""
    if test.hypotheses > 1:
        shared = f" (a level of {test.level * test.hypotheses:.4g}, divided by {test.hypotheses} tests)"
    return (
        f"It is tested against a null value of {test.null:.4g}, {_SIDES[test.alternative]}, at a nominal level of "
        f"{test.level:.4g}{shared}, by {_RULES[test.rule]}."
    )


def _power(plan: Plan, test: Hypothesis, row: PlannedDesign) -> list[str]:
    normal = f"{row.power:.4g} by the normal approximation"
    errors = f"standard errors: {row.standard_error:.4g} at the guess, {row.null_error:.4g} under the null hypothesis"
    if row.counted is None:
        first = f"The power is {normal} ({errors})."
        if test.rule == "wald":
            first = f"The power is {normal} (standard error at the guess: {row.standard_error:.4g})."
        return [first, f"{row.n:,} is the smallest number that this formula gives."] if _sought(plan) else [first]
    told = [
        _region(row.counted, row.n),
        f"The power is {row.counted.power:.4g} and the true level {row.counted.size:.4g}, both summed exactly over the "
        f"binomial distribution of the number of these reports; the power is {normal} ({errors}).",
    ]
    if _sought(plan):
        told.append(
            f"{row.n:,} is the smallest number from which on the exact power is never below {plan.wanted:g}; with "
            "fewer respondents it is above for some numbers and below for others, since reports are counted in whole "
            "numbers."
        )
    return told


def _sought(plan: Plan) -> bool:
    return plan.unknown == "n" and plan.goal == "power"


def _region(counted: Counted, n: int) -> str:
    """Which numbers of reports reject."""
    sides = []
    if counted.at_most >= 0:
        sides.append(f"at most {counted.at_most:,}")
    if counted.at_least <= n:
        sides.append(f"at least {counted.at_least:,}")
    if not sides:
        return f"No number of reports of {n:,} rejects the null hypothesis."
    return f"The null hypothesis is rejected if {' or '.join(sides)} of the {n:,} reports are {counted.report!r}."
