"""Counts of list experiments that do not go with the number of items, or with which group is which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._words import words
from askance.channels.list_experiment import ListExperiment
from askance.errors import LabelError
from askance.evidence.responses import Responses
from askance.models.hidden import BETWEEN
from askance.survey.tables import Column

# Standard errors that the treated must be below the control group for their difference to be told.
_FEWER = 2.0


def refuse_counts(column: Column, design: ListExperiment, which: AnyArray) -> None:
    """Refuse answers that are no counts, and counts that are too large for the list of their group; others pass.

    With the mistake that is likely.
    """
    if column.kind != "number":
        counts = {str(count) for count in range(design.items + 2)}
        if counts.isdisjoint(str(value).strip() for value in column.values.tolist()):
            raise LabelError(
                f"column {column.name!r} holds no counts; a list of {design.items} items has counts from 0 to "
                f"{design.items}, and one more with the sensitive item.",
                remedy="Name the column of counts left of ~.",
            )
        return
    values = column.values.astype(np.float64)
    most = [values[which == place].max(initial=0.0) for place in range(len(design.arms))]
    for group, (name, channel) in enumerate(design.arms.items()):
        limit = len(channel.observations) - 1
        if most[group] > limit:
            had = "with the sensitive item" if group else "without the sensitive item"
            raise LabelError(
                f"column {column.name!r} holds {most[group]:g} in group {name!r}, {had}; a list of {design.items} "
                f"items has counts from 0 to {limit} there.",
                remedy=_remedy(most, design.items),
            )


def _remedy(most: list[float], items: int) -> str:
    if most[0] == items + 1 > max(most[1:]):
        return words("If the other group had the sensitive item, name it last in {groups}; otherwise correct {items}.")
    needed = max(most[0], max(most[1:]) - 1)
    return words("Correct {items} (the counts speak of {0}), or leave out these rows.", f"{needed:g}")


def on_counts(evidence: Responses[Any], design: ListExperiment) -> Iterator[str]:
    """That nobody counted as many items as there are, and that the treated counted fewer than the control group."""
    control, *treated = (_counts(evidence, channel) for channel in design.arms.values())
    highest = int(max(len(control) - 1, *(len(own) - 2 for own in treated)))
    if highest < design.items:
        yield words("nobody counted more than {0} of {1} items: is {items} right?", highest, design.items)
    for trait, own in zip(design.traits, treated, strict=True):
        (mean, error), (other, its) = _mean(own), _mean(control)
        if mean < other - _FEWER * np.hypot(error, its):
            yield words(
                "those with the sensitive item ({0}) counted fewer items than the control group, {1} against {2} on "
                "average: are the {groups} the right way round, the control group first?",
                *(trait, f"{mean:.2f}", f"{other:.2f}"),
            )


def _counts(evidence: Responses[Any], channel: Any) -> FloatArray:
    """How many of a group said 0, 1, …, up to the largest count that anybody said."""
    said = [int(str(label).rpartition(BETWEEN)[2]) for label in channel.observations.labels]
    counts: FloatArray = np.bincount(said, weights=evidence.of_channel(channel).sums).astype(np.float64)
    return counts[: np.flatnonzero(counts)[-1] + 1]


def _mean(counts: FloatArray) -> tuple[float, float]:
    """Of so many zeros, ones, …, and its standard error."""
    values, n = np.arange(len(counts)), counts.sum()
    mean = values @ counts / n
    return float(mean), float(np.sqrt((values - mean) ** 2 @ counts / n / n))
