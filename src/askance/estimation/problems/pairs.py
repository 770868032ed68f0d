"""Which evidence tells about which model: one table of pairs, from which the refusals follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from askance._checks import shown
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.reports import Reports
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.errors import InputError
from askance.estimation.problems.conditional_field_problem import ConditionalFieldProblem
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.problems.field_problem import FieldProblem
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.linear_problem import LinearProblem
from askance.estimation.problems.means_problem import MeansProblem
from askance.estimation.problems.pilot_problem import PilotProblem
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.problems.statistics_problem import StatisticsProblem
from askance.estimation.problems.sums import StatisticsSum, TallySum
from askance.estimation.problems.tally_problem import TallyProblem
from askance.evidence.protocols import Seen
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally
from askance.evidence.together import Together, whole_of
from askance.models.count_means import CountMeans
from askance.models.enumerated import Enumerated
from askance.models.hidden import HiddenVariables
from askance.models.linear import LinearModel
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax


class Pair(NamedTuple):
    """A kind of model with a kind of evidence.

    Attributes:
        model: class of the model.
        evidence: class of the evidence.
        of_statistics: whether the channel of the evidence noises statistics rather than answers; None: it has none.
        problem: class of the problem they make.
        build: makes it.
    """

    model: type
    evidence: type
    of_statistics: bool | None
    problem: type
    build: Callable[[Any, Any], Any]

    @property
    def name(self) -> str:
        """Of the evidence, in words."""
        kind = "noised statistics" if self.of_statistics else "answers"
        return f"a Tally of {kind}" if self.evidence is Tally else self.evidence.__name__

    def fits(self, evidence: object) -> bool:
        """Whether evidence is of this kind."""
        channels = evidence.channels if isinstance(evidence, Seen) else (getattr(evidence, "channel", None),)
        noised = any(isinstance(channel, StatisticsChannel) for channel in channels)
        of_statistics = None if self.of_statistics is None else noised
        return isinstance(evidence, self.evidence) and of_statistics is self.of_statistics


def _of_parts(problem: type) -> Callable[[Any, Together], Any]:
    """Makes problems of parts, each of which goes with the model by itself."""
    return lambda model, evidence: problem(model, evidence, [problem_of(model, part) for part in evidence.parts])


PAIRS = (
    Pair(Enumerated, Tally, False, TallyProblem, TallyProblem),
    Pair(Enumerated, Tally, True, StatisticsProblem, StatisticsProblem),
    Pair(Enumerated, Together, False, TallySum, _of_parts(TallySum)),
    Pair(Enumerated, Together, True, StatisticsSum, _of_parts(StatisticsSum)),
    Pair(Softmax, Responses, False, ResponsesProblem, ResponsesProblem),
    Pair(HiddenVariables, Responses, False, HiddenProblem, HiddenProblem),
    Pair(CountMeans, Responses, False, MeansProblem, MeansProblem),
    Pair(RandomField, Tally, True, FieldProblem, FieldProblem.of),
    Pair(RandomField, Reports, True, FieldProblem, FieldProblem.of),
    Pair(RandomField, NoisyTables, None, FieldProblem, FieldProblem.of),
    Pair(RandomField, Together, None, FieldProblem, FieldProblem.of),
    Pair(RandomField, Responses, True, ConditionalFieldProblem, ConditionalFieldProblem.of),
    Pair(LinearModel, Tally, True, LinearProblem, LinearProblem),
    Pair(LinearModel, Reports, True, LinearProblem, LinearProblem),
    Pair(MomentRelease, Tally, True, LinearProblem, LinearProblem),
    Pair(MomentRelease, Reports, True, LinearProblem, LinearProblem),
    Pair(ScalePilot, Tally, True, PilotProblem, PilotProblem),
)

# How evidence of a model is collected.
_COLLECTED = {
    Enumerated: "Tally(channel).add(reports)",
    Softmax: "Responses(channel).add(x, reports)",
    CountMeans: "Responses(channel).add(x, reports)",
    HiddenVariables: "Responses(channel).add(x, reports)",
    RandomField: "Tally(channel).add(reports)",
    LinearModel: "Tally(release.channel).add(reports)",
    MomentRelease: "Tally(release.channel).add(reports)",
    ScalePilot: "Tally(pilot.channel).add(reports)",
}


def problem_of(model: object, evidence: object) -> Any:
    """Model and evidence as a problem that methods solve; refused where they do not go together.

    >>> from askance import Warner
    >>> design = Warner("3/4")
    >>> type(problem_of(Enumerated.saturated(design.outputs), Tally(design, [60, 40]))).__name__
    'TallyProblem'
    """
    return pair_of(model, evidence).build(model, whole_of(evidence))


def pair_of(model: object, evidence: object) -> Pair:
    """The row of the table; refuses what is no model or no evidence, the two in the wrong order, and other evidence."""
    rows = [pair for pair in PAIRS if isinstance(model, pair.model)]
    if not rows:
        swapped = isinstance(evidence, tuple(_COLLECTED))
        raise InputError(
            f"model is {shown(model)}; allowed: an Enumerated, a Softmax or a LinearModel, a RandomField, or the "
            "MomentRelease or ScalePilot of a linear model.",
            remedy="Give the model first, then the evidence: estimate(model, tally)."
            if swapped
            else "Build one, such as Enumerated.saturated(channel.outputs).",
        )
    evidence = whole_of(evidence)
    for pair in rows:
        if pair.fits(evidence):
            return pair
    names = " or ".join(pair.name for pair in rows if pair.evidence is not Together)
    collected = f"Collect the reports with {_COLLECTED[rows[0].model]}."
    raise InputError(
        f"evidence is {shown(evidence)}; allowed with {rows[0].model.__name__}: {names}.",
        remedy="Estimate from every part alone." if isinstance(evidence, Together) else collected,
    )
