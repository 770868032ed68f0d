"""The yes/no designs of the registry, at textbook parameters or all at one privacy level."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from askance._checks import Number, as_positive_level
from askance.categories import Categories, LabelSet
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.survey_designs import NO_YES
from askance.channels.thresholds import largest_odds
from askance.errors import InputError

# Parameters are rounded down to this many units, so that they can be read; the level is then below by less than 1e-12.
_UNITS = 10**15

# Every design with one free parameter as a symmetric one: p = P(the truer report), p/(1 − p) = e^level.
_AT: dict[str, Callable[[Fraction], dict[str, Any]]] = {
    "warner": lambda p: {"question": p},
    "forced-response": lambda p: {"truth": 2 * p - 1, "yes": 1 - p},
    "unrelated-question": lambda p: {"question": 2 * p - 1, "prevalence": Fraction(1, 2)},
    "crosswise": lambda p: {"prevalence": 1 - p},
    "disguised-response": lambda p: {"red_if_yes": p},
}


def yes_no_kinds() -> tuple[str, ...]:
    """Names of the designs that ask one yes/no question."""
    return tuple(entry.kind for entry in registry.entries() if entry.kind in _AT)


def textbook_design(kind: str) -> FiniteChannel:
    """The design with the parameters of the registry's first example.

    >>> textbook_design("warner")
    Warner(question='2/3', outputs=['no', 'yes'])
    """
    example = registry.entry(_known(kind)).examples[0]
    return registry.build_answer_channel({"kind": kind, **example, "outputs": list(NO_YES)})


def design_at_level(kind: str, privacy_level: Number, outputs: LabelSet = NO_YES) -> FiniteChannel:
    """The design whose level is the given one: p/(1 − p) = e^level for the probability p of the truer report.

    Warner asks the question with probability p; forced response tells the truth with 2p − 1 and forces yes and no
    alike; the unrelated question has prevalence 1/2; the crosswise question prevalence 1 − p. All have then the same
    S, up to the names of the reports, so at one level these designs differ in how they feel, not in what they tell.

    >>> [round(design_at_level(kind, 1).privacy_level, 9) for kind in yes_no_kinds()]
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    level = as_positive_level(privacy_level)
    odds = largest_odds(level)
    p = Fraction(int(odds / (1 + odds) * _UNITS), _UNITS)
    labels = list(Categories.of(outputs, name="outputs").labels)
    return registry.build_answer_channel({"kind": _known(kind), **_AT[kind](p), "outputs": labels})


def _known(kind: str) -> str:
    registry.entry(kind)  # an unknown name is refused there, with the nearest one
    if kind not in _AT:
        raise InputError(
            f"{kind} is not a yes/no design; allowed: {', '.join(yes_no_kinds())}.",
            remedy="Write its parameters out to compare it all the same.",
        )
    return kind
