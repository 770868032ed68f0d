"""Surveys with several designs: which rows were asked in which way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten, shown
from askance._words import Either, words
from askance.categories import Label
from askance.channels.armed_design import ArmedDesign as ArmedDesign
from askance.channels.finite import FiniteChannel
from askance.channels.list_experiment import ListExperiment
from askance.errors import InputError, LabelError, NotIdentifiedError
from askance.survey.answers import codes_of, read_reports
from askance.survey.tables import Column, plain_value

# How a design for every arm is given.
_EVERY_ARM = Either("such as {'dice': …, 'direct': …}", "in a file, by --designs")

#: One design for everybody, one for every arm, or a design with arms of its own.
SurveyDesign: TypeAlias = FiniteChannel | Mapping[Any, FiniteChannel] | ArmedDesign


def one_name(arm: str | None, treated: str | None) -> str | None:
    """The column of arms, which list experiments call treated; refuses two."""
    if arm is not None and treated is not None:
        raise InputError(
            words("{arm} is {0} and {treated} {1}, which mean the same; allowed: one.", repr(arm), repr(treated)),
            remedy=words("Leave {treated} out."),
        )
    return treated if arm is None else arm


def law_of(design: SurveyDesign) -> tuple[str, ...]:
    """What a design assumes of what else is hidden, in words; nothing where the answer alone is."""
    return (design.law,) if isinstance(design, ArmedDesign) else ()


def arms_of(design: SurveyDesign, arm: str | None) -> dict[Label, FiniteChannel] | None:
    """The channel of every arm; None where everybody was asked in the same way."""
    if not isinstance(design, Mapping | ArmedDesign):
        if arm is not None and isinstance(design, FiniteChannel):
            raise InputError(
                words("{arm} names the column {0}, but there is one design for all rows.", repr(arm)),
                remedy=words("Leave {arm} out, or give a design for every arm, {0}.", _EVERY_ARM),
            )
        return None
    arms: dict[Label, FiniteChannel] = dict(design if isinstance(design, Mapping) else design.arms)
    if not arms:
        raise InputError("the design has no arms; allowed: at least one.", remedy="Give {'dice': …, 'direct': …}.")
    _check_same_answers(arms)
    if arm is None:
        raise InputError(
            f"the design has {len(arms)} arms ({shorten(list(arms))}), and nothing says which row belongs to which.",
            remedy=words("Name the column that does by {treated=…}.")
            if isinstance(design, ListExperiment)
            else words("Name the column that does by {arm=…}."),
        )
    return arms


def _check_same_answers(arms: Mapping[Label, FiniteChannel]) -> None:
    """Refuse arms that are about different answers, or that are designs with groups of their own."""
    (first, about), *others = arms.items()
    for arm, channel in arms.items():
        if isinstance(channel, ArmedDesign):
            raise InputError(
                f"arm {shown(arm)} is a {channel.kind}, which has groups of its own; allowed: one way of asking.",
                remedy=words("Fit it alone, with the column of its groups as {arm}."),
            )
    for arm, channel in others:
        both = isinstance(about, FiniteChannel) and isinstance(channel, FiniteChannel)
        if both and channel.outputs != about.outputs:
            raise InputError(
                f"arm {shown(arm)} is about {shorten(channel.outputs.labels)}, arm {shown(first)} about "
                f"{shorten(about.outputs.labels)}; allowed: the same answers in the same order.",
                remedy=words("Give all designs the same {outputs}, or fit each arm alone."),
            )


def read_arms(column: Column, arms: Mapping[Label, FiniteChannel], design: SurveyDesign) -> AnyArray:
    """The arm of every row, as its place among all, shape (n,); a design with groups of its own needs all of them."""
    values = column.distinct()
    codes = codes_of(values, list(arms))
    if codes is None:
        strange = [plain_value(value) for value in values if codes_of([value], list(arms)) is None]
        raise LabelError(
            f"column {column.name!r} holds {shorten(strange or values)}; the arms of the design are "
            f"{shorten(list(arms))}.",
            remedy=words("Name the groups of the design so by {groups=…}, or leave out the other rows.")
            if isinstance(design, ArmedDesign)
            else "Give the design an arm for every value, or leave out the other rows.",
        )
    absent = [arm for code, arm in enumerate(arms) if code not in codes.values()]
    if absent and isinstance(design, ArmedDesign):
        raise NotIdentifiedError(
            f"column {column.name!r} has no row of {shorten(absent)}; the design needs all of {shorten(list(arms))}: "
            "one group alone does not tell apart what is hidden.",
            remedy="Check the column, and the rows kept.",
        )
    return np.array([codes[value] for value in column.values.tolist()], dtype=np.int64)


def read_armed_reports(
    column: Column, arms: Mapping[Label, FiniteChannel], which: AnyArray, positive: Any
) -> tuple[AnyArray, list[str]]:
    """Labels of every row's own channel, shape (n,), and how values were read; `positive` may differ by arm."""
    reports = np.empty(len(which), dtype=object)
    readings: list[str] = []
    if isinstance(positive, Mapping) and (strange := [arm for arm in positive if arm not in arms]):
        raise InputError(
            f"is given for {shorten(strange)}",
            argument="positive",
            allowed=f"the arms {shorten(list(arms))}",
            remedy="Correct the names of arms.",
        )
    for code, (arm, channel) in enumerate(arms.items()):
        rows = np.flatnonzero(which == code)
        if rows.size:
            own = positive.get(arm) if isinstance(positive, Mapping) else positive
            try:
                labels, reading = read_reports(column.take(rows), channel, own)
            except LabelError as error:
                raise error.at(f"arm {shown(arm)}") from None
            reports[rows] = labels
            readings += [f"{reading} (arm {shown(arm)})"] if reading else []
    return reports, readings
