"""Other readings of a survey: the channel of every arm, as planned and as it may have been."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import AnyArray
from askance._checks import Number, as_fraction, as_probability, shown
from askance.channels.finite import FiniteChannel
from askance.errors import InputError
from askance.survey.alternative_channels import (
    Behaviour,
    device_probabilities,
    refusal_of,
    safest_of,
    with_bias,
    with_noncompliance,
)

#: The channel of every arm; of a survey without arms, one.
Arms = Mapping[Any, FiniteChannel]


class Trait(NamedTuple):
    """What is asked about, where more is hidden.

    Attributes:
        codes: its value in every combination of all that is hidden, shape (H,).
        denial: its first label, such as "no".
    """

    codes: AnyArray
    denial: Any


class Reading(NamedTuple):
    """How the reports may have come about.

    Attributes:
        name: in a few words.
        arms: the channel of every arm.
        refuse_as: where some respondents always give one report, which; of every arm where they differ.
        bias: where a probability of the design is off, which.
    """

    name: str
    arms: Arms
    refuse_as: Any = None
    bias: str | None = None


def readings(
    planned: Arms,
    trait: Trait | None,
    shares: Sequence[Number],
    behaviours: Sequence[Behaviour],
    refuse_as: Any,
    biases: Mapping[str, Sequence[Number]],
) -> Iterator[Reading]:
    """Every reading, the planned one first.

    Args:
        planned: the channels as planned.
        trait: where more is hidden than the answer; None: outputs are answers.
        shares: of those who ignore the device, in every arm.
        behaviours: what they do; the truth only where an answer can be told as it is.
        refuse_as: the report of those who refuse, or one for every arm; None: the safest.
        biases: shifts of probabilities, in all arms that have them.
    """
    yield Reading("as planned", planned)
    tellable = trait is None and all(len(one.observations) == len(one.outputs) for one in planned.values())
    labels = refusals(planned, trait, refuse_as)
    one = next(iter(labels.values()))
    same = all(label == one for label in labels.values())
    told = str(one) if same else ", ".join(f"{arm}: {label}" for arm, label in labels.items())
    for share in shares:
        percent = f"{100 * float(as_probability(share, 'share')):g} %"
        for behaviour in behaviours:
            if behaviour == "truth" and not tellable:
                continue
            refused = labels if behaviour == "refuse" else dict.fromkeys(planned)
            arms = {
                arm: with_noncompliance(channel, share, behaviour, refuse_as=refused[arm])
                for arm, channel in planned.items()
            }
            name = f"{percent} refuse ({told})" if behaviour == "refuse" else f"{percent} {behaviour}"
            yield Reading(name, arms, (one if same else labels) if behaviour == "refuse" else None)
    for parameter, shifts in biases.items():
        for shift in shifts:
            biased = _biased(planned, parameter, shift)
            yield Reading(f"{parameter} {float(as_fraction(shift, 'shift')):+g}", biased, bias=parameter)


def _biased(planned: Arms, parameter: str, shift: Number) -> Arms:
    """All arms that have the probability with it shifted; refused where none has."""
    having = [arm for arm, channel in planned.items() if parameter in device_probabilities(channel)]
    return {
        arm: with_bias(channel, parameter, shift) if arm in having or not having else channel
        for arm, channel in planned.items()
    }


def refusals(planned: Arms, trait: Trait | None, refuse_as: Any) -> dict[Any, Any]:
    """What those report in every arm who refuse: as given, or the denial itself, or what points least to the trait.

    A group that tells nothing of the trait, as one with a control question, gets the report of one that does.
    """
    if isinstance(refuse_as, Mapping):
        if list(refuse_as) != list(planned):
            raise InputError(
                f"is given for {shown(list(refuse_as))}",
                argument="refuse_as",
                allowed=f"one report, or one for each of {shown(list(planned))}",
                remedy="Leave it out for the reports that point least to a yes.",
            )
        return {arm: refusal_of(channel, refuse_as[arm]) for arm, channel in planned.items()}
    if trait is not None and refuse_as is None and all(trait.denial in one.observations for one in planned.values()):
        refuse_as = trait.denial
    if refuse_as is not None or trait is None:
        return {arm: refusal_of(channel, refuse_as) for arm, channel in planned.items()}
    about = {arm: about_trait(channel, trait.codes) for arm, channel in planned.items()}
    telling = [arm for arm, table in about.items() if np.ptp(table, axis=1).max() > 1e-9]
    first = planned[telling[0]].observations.labels[safest_of(about[telling[0]])] if telling else None
    return {
        arm: first
        if arm not in telling and first in channel.observations.labels
        else channel.observations.labels[safest_of(about[arm])]
        for arm, channel in planned.items()
    }


def about_trait(channel: FiniteChannel, traits: AnyArray) -> AnyArray:
    """P(o | trait), shape (k, values of the trait), all that else is hidden being equally likely."""
    return np.column_stack([channel.matrix[:, traits == value].mean(axis=1) for value in range(int(traits.max()) + 1)])
