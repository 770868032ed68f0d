"""A campaign before anybody is asked: how telling it is, what is sent, what can be learned from the planned answers."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.subset_selection import SubsetSelection
from askance.collect.campaign import Asked, Campaign
from askance.collect.device_reports import DeviceReports
from askance.collect.store.entry import ID_BYTES
from askance.collect.submission import Form
from askance.collect.tokens import new_tokens
from askance.errors import AskanceError
from askance.formats.report_schema import report_line
from askance.models.enumerated import Enumerated
from askance.planning import Share, plan_survey


@dataclass(frozen=True)
class Learned:
    """What the planned answers say about a question.

    Attributes:
        target: what is estimated: the share of a label, or the mean of a statistic.
        guess: at which value.
        standard_error: of the estimate from all planned answers.
        direct_error: the same without noise; None where that has no meaning.
    """

    target: str
    guess: float
    standard_error: float
    direct_error: float | None


@dataclass(frozen=True)
class Check:
    """What `askance collect check` says.

    Attributes:
        campaign: that was checked.
        payload: an example of what is sent.
        length: bytes of what is sent: the same for everybody.
        learned: by question.
    """

    campaign: Campaign
    payload: str
    length: int
    learned: Mapping[str, Learned | None]

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        campaign, counted = self.campaign, self.campaign.counting
        learned = {name: value and vars(value) for name, value in self.learned.items()}
        return {
            "campaign": campaign.name,
            "kind": campaign.kind,
            "fingerprint": campaign.fingerprint,
            "level": None if math.isinf(campaign.level) else campaign.level,
            "at_most_level": None if campaign.at_most_level is None else float(campaign.at_most_level),
            "planned_n": campaign.planned_n,
            "questions": [
                {"name": question.name, "level": question.level, "learned": learned[question.name]}
                for question in campaign.questions
            ],
            "stretches": None if counted is None else len(counted.stretches),
            "counts": None if counted is None else len(counted.stretches) * counted.times,
            "payload": self.payload,
            "bytes": self.length,
        }


def check(campaign: Campaign) -> Check:
    """Work out what a campaign tells of people, and what it tells about them all.

    >>> from askance import Warner
    >>> asked = Asked("smokes", {"en": "Do you smoke?"}, Warner("3/4"), expected_share=0.25)
    >>> small = Campaign("small", "survey", {"en": "Small"}, ("en",), (asked,), planned_n=2344, access="open")
    >>> round(check(small).learned["smokes"].standard_error, 4)
    0.02
    """
    payload, length = _example(campaign)
    learned = {question.name: _learned(question, campaign.planned_n) for question in campaign.questions}
    return Check(campaign, payload, length, learned)


def _example(campaign: Campaign) -> tuple[str, int]:
    """Something that could be sent, and how long all such are."""
    id = secrets.token_bytes(ID_BYTES)
    if campaign.kind == "devices":
        channel = campaign.questions[0].channel
        assert channel is not None
        line = report_line(channel, _some_truth(channel), id.hex())
        return line, DeviceReports(campaign).least_bytes
    form = Form(campaign)
    token = None if campaign.access == "open" else new_tokens(1)[0]
    content: dict[str, Any] = {name: reader.examples()[0] for name, reader in form.readers.items()}
    if campaign.counting is not None:
        content = {"stretch": 0, "counts": [0] * len(campaign.counting.tags), "seconds": 3.5, "replaces": None}
    return form.write(id, content, token).decode().rstrip(), form.length


def _some_truth(channel: Any) -> Any:
    """A label, or numbers that a device may have."""
    if isinstance(channel, FiniteChannel | SubsetSelection):
        return channel.outputs.labels[0]
    smallest, other = _records(channel)
    try:
        channel.randomize_one(smallest)
    except AskanceError:  # such as one-hot records
        return other
    return smallest


def _records(channel: Any) -> tuple[list[float], list[float]]:
    """Numbers that are as small as their bounds allow, and the same with the first as large as it may be."""
    bounds = channel.specification()
    smallest = np.broadcast_to(bounds.get("lower", 0.0), channel.truth_width).tolist()
    width = np.broadcast_to(bounds.get("statistic_bound", 1.0), channel.truth_width)
    return smallest, [smallest[0] + float(width[0]), *smallest[1:]]


def _learned(question: Asked, n: int) -> Learned | None:
    """The error of a share or a mean; None of open numbers, and where a channel has no estimate of its own."""
    channel = question.channel
    if isinstance(channel, SubsetSelection):
        return _label_error(channel, n)
    if isinstance(channel, StatisticsChannel):
        return _mean_error(channel, n)
    if channel is None:
        return _open_error(question, n)
    labels = channel.outputs.labels
    share = question.expected_share or 1 / len(labels)
    shares = [(1 - share) / (len(labels) - 1)] * (len(labels) - 1) + [share]
    theta = np.log(np.array(shares[1:]) / shares[0])
    try:
        plan = plan_survey(Enumerated.saturated(list(labels)), channel, theta, target=Share(labels[-1]), n=n)
    except AskanceError:  # such a channel tells something about models, and no share by itself
        return None
    planned = plan.designs[0].standard_error
    return Learned(f"share of {labels[-1]}", share, planned, math.sqrt(share * (1 - share) / n))


def _open_error(question: Asked, n: int) -> Learned | None:
    if isinstance(question.values, range):
        return None
    share = question.expected_share or 1 / len(question.values)
    error = math.sqrt(share * (1 - share) / n)
    return Learned(f"share of {question.values[-1]}", share, error, error)


def _label_error(channel: SubsetSelection, n: int) -> Learned:
    """Of the share of a label, where all labels are equally common."""
    labels = channel.outputs.labels
    share = 1 / len(labels)
    variance = float(np.diag(channel.mean_covariance(list(labels))).max())
    return Learned(f"share of {labels[-1]}", share, math.sqrt(variance / n), math.sqrt(share * (1 - share) / n))


def _mean_error(channel: StatisticsChannel, n: int) -> Learned | None:
    """Of the statistic that is told worst, in a record of least numbers, or, where there is none, the other one."""
    for record in _records(channel):
        try:
            covariance = channel.mean_covariance(np.array([record]))
        except AskanceError:  # such rows are no truth of this channel
            continue
        return Learned("mean of a statistic", record[-1], math.sqrt(float(np.diag(covariance).max()) / n), None)
    return None
