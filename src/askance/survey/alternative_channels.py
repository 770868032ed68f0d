"""Channels that may have been real instead of the planned one: people who ignore the device, biased devices."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import Number, as_fraction, as_probability, shorten, shown
from askance._kernels.draw import TOTAL
from askance.channels.finite import FiniteChannel
from askance.channels.matrix import MatrixChannel
from askance.channels.registry import PROBABILITY, build_answer_channel, entry
from askance.errors import InputError, ProbabilityError

#: What those do who ignore the device: tell the truth, always give the observation that points least to anything but
#: the first output ("no"), or any at random.
Behaviour: TypeAlias = Literal["truth", "refuse", "random"]

# Probabilities that are the outcomes of one throw: where one is off, the others are too.
_OUTCOMES = {"forced-response": ("truth", "yes", "no")}


def safest_observation(channel: FiniteChannel) -> Any:
    """The observation o with the largest S(o | first output) / max over other outputs y of S(o | y).

    It is what people say who do not want to be taken for anything but the first output ("no"): "no" itself in most
    designs, "same" in the crosswise design with a rare innocuous statement. The first of several that are equal.

    >>> from askance import Crosswise, ForcedResponse
    >>> safest_observation(ForcedResponse("2/3", "1/6")), safest_observation(Crosswise("1/6"))
    ('no', 'same')
    """
    return channel.observations.labels[safest_of(channel.matrix)]


def safest_of(matrix: FloatArray) -> int:
    """`safest_observation` of a table P(o | y), as its row."""
    first, others = matrix[:, 0], matrix[:, 1:].max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(first > 0, first / others, 0.0)  # infinite for what the first output alone can produce
    safest = ratio >= ratio.max() * (1 - 1e-9)  # probabilities are rounded to whole numbers out of 2⁶²
    return int(np.argmax(safest))


def with_noncompliance(
    channel: FiniteChannel, share: Number, behaviour: Behaviour, *, refuse_as: Any = None
) -> MatrixChannel:
    """S′ = (1 − c) S + c S₀: a share c of respondents ignores the device.

    Args:
        channel: S, the design as planned.
        share: c.
        behaviour: S₀: "truth" (they tell the truth; needs as many observations as outputs, and where these have
            other names, as in the crosswise design, takes for each output the one that stands for it), "refuse" (they
            always give one observation) or "random" (all observations equally likely).
        refuse_as: with "refuse", that observation; default: `safest_observation`, "no" in most yes/no designs.

    >>> from askance import ForcedResponse
    >>> with_noncompliance(ForcedResponse("2/3", "1/6"), 0.1, "refuse").matrix.round(3)
    array([[0.85, 0.25],
           [0.15, 0.75]])
    """
    c = as_probability(share, "share")
    k, m = len(channel.observations), len(channel.outputs)
    if behaviour == "truth":
        if k != m:
            raise InputError(
                f"the design has {k} observations for {m} outputs, so nobody can report the truth itself.",
                remedy="Use behaviour 'refuse' or 'random'.",
            )
        told = _plain_reports(channel)
        other = [[Fraction(o == told[y]) for y in range(m)] for o in range(k)]
    elif behaviour == "refuse":
        refusal = refusal_of(channel, refuse_as)
        other = [[Fraction(label == refusal)] * m for label in channel.observations.labels]
    elif behaviour == "random":
        other = [[Fraction(1, k)] * m for _ in range(k)]
    else:
        raise InputError(
            argument="behaviour", got=shown(behaviour), allowed="truth, refuse, random", remedy="Choose one of them."
        )
    planned = channel.integer_weights
    mixed = [[(1 - c) * Fraction(int(planned[o, y]), TOTAL) + c * other[o][y] for y in range(m)] for o in range(k)]
    other_law = MatrixChannel(mixed, outputs=channel.outputs, observations=channel.observations)
    return other_law.for_purpose(channel.purpose)


def _plain_reports(channel: FiniteChannel) -> list[int]:
    """For every output the observation that says it plainly: of the same name, or else those that match best."""
    from scipy.optimize import linear_sum_assignment

    outputs, observations = list(channel.outputs.labels), list(channel.observations.labels)
    if set(outputs) == set(observations):
        return [observations.index(label) for label in outputs]
    identity = list(range(len(outputs)))
    matched = linear_sum_assignment(channel.matrix.T, maximize=True)[1].tolist()
    better = channel.matrix[matched, identity].sum() > channel.matrix[identity, identity].sum() + 1e-12
    return list(matched) if better else identity


def refusal_of(channel: FiniteChannel, refuse_as: Any) -> Any:
    """The label of the observation that those give who refuse."""
    if refuse_as is None:
        return safest_observation(channel)
    labels = channel.observations.labels
    # A command line knows texts only.
    meant = [label for label in labels if label == refuse_as] or [label for label in labels if str(label) == refuse_as]
    if not meant:
        raise InputError(
            argument="refuse_as",
            got=shown(refuse_as),
            allowed=shorten(labels),
            remedy="Name one report of the design, or leave it out for the one that points least to a yes.",
        )
    return meant[0]


def with_bias(channel: FiniteChannel, parameter: str, shift: Number) -> FiniteChannel:
    """The same design with one of its probabilities off by `shift`: a device that is not what it should be.

    Where the probability is one of several outcomes of a throw (truth, yes and no of a forced response), the others
    make up for it in proportion, q′ = q (1 − p′) / (1 − p): a die that shows some faces too rarely shows all others
    more often. Other probabilities of the design stay as they are.

    >>> from askance import ForcedResponse, Warner
    >>> with_bias(Warner("0.7"), "question", "0.02").matrix.round(2)
    array([[0.72, 0.28],
           [0.28, 0.72]])
    >>> with_bias(ForcedResponse("0.6", "0.1"), "truth", "-0.2").parameters()
    {'truth': '2/5', 'yes': '3/20', 'no': '9/20', 'outputs': ['no', 'yes']}
    """
    planned = device_probabilities(channel)
    if parameter not in planned:
        raise InputError(
            f"{channel.kind} has no probability {parameter!r}; allowed: {', '.join(planned) or 'none'}.",
            remedy="Name one." if planned else "Fit the reports with another matrix instead.",
        )
    step = as_fraction(shift, f"the shift of {parameter}")
    before, after = planned[parameter], planned[parameter] + step
    if not 0 <= after <= 1:
        raise ProbabilityError(
            f"{parameter} is {shown(before)}, and a shift of {shown(step)} makes it {shown(after)}; allowed: 0 to 1.",
            remedy=f"Shift it by {shown(-before)} to {shown(1 - before)}.",
        )
    others = [name for name in _OUTCOMES.get(channel.kind, ()) if name != parameter]
    biased = {parameter: after}
    for name in others:
        share = planned[name] / (1 - before) if before < 1 else Fraction(1, len(others))
        biased[name] = share * (1 - after)
    return build_answer_channel({**channel.specification(), **{name: str(value) for name, value in biased.items()}})


def device_probabilities(channel: FiniteChannel) -> dict[str, Fraction]:
    """The probabilities that describe the device of a design, by name: those that can be biased.

    >>> from askance import UnrelatedQuestion
    >>> device_probabilities(UnrelatedQuestion("3/4", "1/4"))
    {'question': Fraction(3, 4), 'prevalence': Fraction(1, 4)}
    """
    parameters = channel.parameters()
    names = [parameter.name for parameter in entry(channel.kind).parameters if parameter.kind is PROBABILITY]
    return {name: Fraction(str(parameters[name])) for name in names if parameters.get(name) is not None}
