"""The one entry to estimation, and the only place that warns of what methods found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias, overload

from askance._arrays import FloatArray
from askance._checks import did_you_mean, instance, shown
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.base import Averaging, StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.reports import Reports
from askance.channels.statistics.scale_pilot import ScalePilot, Scales
from askance.errors import InputError
from askance.estimation.checks.surprise import alarms_of
from askance.estimation.fits import fit_of
from askance.estimation.methods.corrected import fit_corrected
from askance.estimation.methods.field_estimation import fit_field
from askance.estimation.methods.least_squares import fit_least_squares
from askance.estimation.methods.linear_estimation import fit_linear
from askance.estimation.methods.marginal import fit_marginal
from askance.estimation.methods.moments import fit_moments
from askance.estimation.methods.one_step import fit_one_step
from askance.estimation.methods.pilot import fit_pilot
from askance.estimation.methods.projection import Divergence, fit_projection, nearest_distribution
from askance.estimation.methods.replicated import with_replicates
from askance.estimation.methods.supervised import fit_supervised
from askance.estimation.methods.wide import fit_wide
from askance.estimation.outcome import Notice, Outcome, tell
from askance.estimation.problems.conditional_field_problem import ConditionalFieldProblem
from askance.estimation.problems.conditional_moments import WIDE_FROM
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.problems.field_problem import FieldProblem
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.linear_problem import LinearProblem
from askance.estimation.problems.means_problem import MeansProblem
from askance.estimation.problems.pairs import pair_of
from askance.estimation.problems.pilot_problem import PilotProblem
from askance.estimation.problems.responses_problem import ResponsesProblem
from askance.estimation.problems.statistics_problem import StatisticsProblem
from askance.estimation.problems.tally_problem import TallyProblem
from askance.estimation.results.conditional_field_fit import ConditionalFieldFit
from askance.estimation.results.field_fit import FieldFit
from askance.estimation.results.fit import DistributionFit, Fit
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.linear_fit import LinearFit
from askance.estimation.results.mean_statistics import MeanStatistics, means_of
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.candidates import Candidates
from askance.evidence.held import HeldResponses, on_engine
from askance.evidence.protocols import Engine
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally, of_answers
from askance.evidence.together import Together, whole_of
from askance.models.count_means import CountMeans
from askance.models.enumerated import Enumerated
from askance.models.hidden import HiddenVariables
from askance.models.linear import LinearModel
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax

Method: TypeAlias = Callable[..., Outcome]
TableEvidence: TypeAlias = Tally[StatisticsChannel] | Reports | NoisyTables

METHODS: dict[str, Method] = {
    "one-step": fit_one_step,
    "moments": fit_moments,
    "marginal": fit_marginal,
    "supervised": fit_supervised,
    "projection": fit_projection,
}


def _named(function: Method, *names: str) -> dict[str, Method]:
    return {name: partial(function, method=name) for name in names}


#: The methods of every kind of problem, the default first; and why there are no others.
_METHODS: dict[type, tuple[Mapping[str, Method], str, str]] = {
    TallyProblem: (METHODS, "", "Leave it out for the default, one-step."),
    ResponsesProblem: (METHODS, "", "Leave it out for the default, one-step."),
    MeansProblem: ({"least-squares": fit_least_squares}, " with means of counts", "Leave it out."),
    HiddenProblem: (
        {"marginal": fit_marginal, "moments": fit_corrected},
        " with hidden variables",
        "Leave it out for the default, marginal.",
    ),
    StatisticsProblem: (
        {"moments": fit_moments},
        " with sums of noised statistics",
        "Leave the method out: the sums keep means, not the reports a likelihood needs.",
    ),
    FieldProblem: (
        _named(fit_field, "moments", "ridge", "one-step", "marginal"),
        " with a field",
        "Leave it out for the default.",
    ),
    ConditionalFieldProblem: (
        _named(fit_field, "marginal", "moments", "one-step"),
        " with a field",
        "Leave it out for the default.",
    ),
    LinearProblem: ({"moments": fit_linear}, " with linear regression", "Leave it out."),
    PilotProblem: ({"marginal": fit_pilot}, " with a pilot", "Leave it out."),
}


@overload
def estimate(
    model: Enumerated, evidence: Tally[Any] | Candidates | Together, method: str | None = ..., **options: Any
) -> DistributionFit: ...


@overload
def estimate(
    model: Softmax, evidence: Responses | Together, method: str | None = ..., **options: Any
) -> RegressionFit: ...


@overload
def estimate(
    model: HiddenVariables, evidence: Responses | Together, method: str | None = ..., **options: Any
) -> HiddenFit: ...


@overload
def estimate(model: CountMeans, evidence: Responses, method: str | None = ..., **options: Any) -> MeansFit: ...


@overload
def estimate(model: RandomField, evidence: TableEvidence, method: str | None = ..., **options: Any) -> FieldFit: ...


@overload
def estimate(
    model: RandomField, evidence: Responses[CliqueRelease], method: str | None = ..., **options: Any
) -> ConditionalFieldFit: ...


@overload
def estimate(
    model: RandomField, evidence: Together, method: str | None = ..., **options: Any
) -> FieldFit | ConditionalFieldFit: ...


@overload
def estimate(
    model: LinearModel | MomentRelease,
    evidence: Reports | Tally[StatisticsChannel],
    method: str | None = ...,
    **options: Any,
) -> LinearFit: ...


@overload
def estimate(
    model: ScalePilot, evidence: Tally[StatisticsChannel], method: str | None = ..., **options: Any
) -> Scales: ...


@overload
def estimate(
    model: Enumerated | Softmax,
    evidence: Tally[Any] | Responses | Together,
    method: str | None = ...,
    **options: Any,
) -> Fit: ...


def estimate(
    model: Any, evidence: Any, method: str | None = None, *, engine: Engine | None = None, **options: Any
) -> Any:
    """Estimate θ from evidence.

    Args:
        model: what to fit.
        evidence: what was seen, and through which channel; of several kinds at once: `Together`.
        method: "one-step" (default: as precise as maximum likelihood, without its search), "moments" (the paper's, and
            the only one for sums of noised statistics), "marginal" (maximum marginal likelihood), "supervised" (the
            outputs themselves were seen) or "projection". A `RandomField` has methods of its own: see `estimate_field`.
            Linear regression has one: see `estimate_linear`.
            Its model is a `LinearModel`, or the `MomentRelease` that devices had.
        engine: of `askance.scale`, which holds the rows of `Responses` and sums over them, here or on other machines;
            bits do not depend on it. Default: sums run over the rows in memory.
        options: passed to the method; see `fit_one_step`, `fit_moments`, `fit_marginal`, `fit_supervised`,
            `fit_projection`, `estimate_field`, `estimate_linear`.

    Warns:
        RepairWarning: the reports alone led out of the model or said too little; what was done about it.
        MultipleMaximaWarning: starts of "marginal" ended in different places.
        ConvergenceWarning: an iteration stopped before it converged.
        ImpossibleReportsWarning: the reports cannot have come through their channel.

    >>> import numpy as np
    >>> from askance import Enumerated, RandomizedResponse, Tally
    >>> model = Enumerated.saturated(["no", "yes"])
    >>> channel = RandomizedResponse.for_privacy_level(1, outputs=["no", "yes"])
    >>> rng = np.random.default_rng(8)
    >>> truth = model.sample([-1.0], 20_000, rng)
    >>> fit = estimate(model, Tally(channel).add(channel.simulate(truth, rng)))
    >>> lower, upper = fit.confidence_interval()
    >>> bool(lower[0] < -1.0 < upper[0])
    True
    """
    solved = solve(model, evidence if engine is None else _on_engine(evidence, engine), method, **options)
    tell(solved.notices)
    return solved.fit


def _on_engine(evidence: Any, engine: Engine) -> HeldResponses[Any]:
    """Rows with covariates; of all else there is little, and no sum over rows."""
    rows = whole_of(evidence)
    if not isinstance(rows, Responses) or not all(isinstance(channel, FiniteChannel) for channel in rows.channels):
        raise InputError(
            f"evidence is {shown(rows)}; allowed with an engine: Responses of answers.",
            remedy="Leave the engine out: what tallies hold does not grow with the number of reports.",
        )
    return on_engine(rows, engine)


class Solved(NamedTuple):
    """A fit, and what its user is to be warned of."""

    fit: Any
    notices: tuple[Notice, ...]


def solve(model: Any, evidence: Any, method: str | None = None, **options: Any) -> Solved:
    """`estimate` that says nothing: for what warns in words of its own."""
    pair = pair_of(model, evidence)
    methods, where, usual = next(_METHODS[kind] for kind in pair.problem.__mro__ if kind in _METHODS)
    name = next(iter(methods)) if method is None else method
    if not isinstance(name, str) or name not in methods:
        raise InputError(
            f"is {shown(method)}; allowed{where}: {', '.join(methods)}",
            argument="method",
            remedy=did_you_mean(method, methods, usual),
        )
    function = methods[name]
    if isinstance(model, Softmax) and model.dimension > WIDE_FROM:
        function = partial(fit_wide, method=name)
    _check_options(name, function, options)
    with one_thread:
        problem = pair.build(model, whole_of(evidence))
        alarms = () if problem.tested is None else alarms_of(problem.tested)
        outcome = with_replicates(problem, function(problem, **options), options.get("weighting", "best"))
        fit = fit_of(problem, outcome, alarms[0].text if alarms else "")
    notices = (notice._replace(text=f"{outcome.method}: {notice.text}") for notice in outcome.notices)
    return Solved(fit, (*alarms, *notices))


def _check_options(method: str, function: Method, options: Mapping[str, Any]) -> None:
    """Refuse options that a method does not have."""
    allowed = [name for name in list(inspect.signature(function).parameters)[1:] if name != "method"]
    for name in options:
        if name not in allowed:
            raise InputError(
                f"{method} has no option {name!r}; allowed: {', '.join(allowed)}.",
                remedy=did_you_mean(name, allowed, "Take one of these, or another method."),
            )


def estimate_mean(evidence: Tally[Any], averaging: Averaging = "within") -> MeanStatistics:
    """The mean of every statistic, from reports through a channel on statistics; or, of answers, their shares.

    No model is needed, and nothing is repaired: shares add up to 1 and have the right mean and error, however many
    there are, but those of rare answers may be below 0 by chance. `estimate` gives shares that are possible.

    Args:
        evidence: sums of noised statistics, or counts of noised answers.
        averaging: where each report tells of some statistics alone: "within" those that tell of one, or as "printed" in
            the paper, over all reports with weights 1/probability.

    >>> import numpy as np
    >>> from askance import CoordinateRelease, RandomizedResponse, Tally
    >>> channel = CoordinateRelease(2, 1)
    >>> truth = np.tile([0.25, 1.0], (50_000, 1))
    >>> tally = Tally(channel).add(channel.simulate(truth, np.random.default_rng(3)))
    >>> lower, upper = estimate_mean(tally).confidence_interval(0.999)
    >>> bool((lower < truth[0]).all() and (truth[0] < upper).all())
    True
    >>> few = Tally(RandomizedResponse("1/2", outputs=["a", "b", "c"]), [650, 200, 150])
    >>> estimate_mean(few).mean.round(4)
    array([ 0.9667,  0.0667, -0.0333])
    """
    instance(evidence, Tally, "evidence", "a Tally", "Add reports up with Tally(channel).add(reports).")
    with one_thread:
        means, alarms = means_of(evidence, averaging), alarms_of(evidence)
    tell(alarms)
    return replace(means, alarm=alarms[0].text if alarms else "")


def project(evidence: Tally, divergence: Divergence = "euclidean") -> FloatArray:
    """r̂ = argmin over all distributions r of D(q̂, S r), shape (m,): the first of the two steps of "projection".

    >>> from askance import MatrixChannel, Tally
    >>> S = [["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]]
    >>> project(Tally(MatrixChannel(S), [441, 502, 57])).round(4)
    array([0., 0., 1.])
    """
    if not of_answers(evidence):
        raise InputError(
            f"evidence is {evidence!r}; allowed: a Tally.", remedy="Count with Tally(channel).add(reports)."
        )
    with one_thread:
        r, notices = nearest_distribution(evidence, divergence)
    tell(Notice(kind, f"projection: {text}") for kind, text in notices)
    return r
