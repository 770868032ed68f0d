"""The one entry to estimation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, overload

from askance._checks import did_you_mean, shown
from askance._threads import one_thread
from askance.channels.described import Described
from askance.channels.finite import FiniteChannel
from askance.channels.statistics.reports import Reports
from askance.errors import InputError
from askance.estimation.checks.surprise import alarm_of
from askance.estimation.methods.field_estimation import estimate_field
from askance.estimation.methods.marginal import fit_marginal
from askance.estimation.methods.moments import fit_moments
from askance.estimation.methods.one_step import fit_one_step
from askance.estimation.methods.projection import fit_projection
from askance.estimation.methods.supervised import fit_supervised
from askance.estimation.methods.wide import fit_wide
from askance.estimation.problems.field_evidence import NoisyTables
from askance.estimation.problems.responses_problem import WIDE_FROM, ResponsesProblem
from askance.estimation.problems.statistics_problem import StatisticsProblem
from askance.estimation.problems.tally_problem import TallyProblem
from askance.estimation.protocols import MomentProblem
from askance.estimation.results.field_fit import FieldFit
from askance.estimation.results.fit import DistributionFit, Fit
from askance.estimation.results.regression_fit import RegressionFit
from askance.evidence.responses import Responses
from askance.evidence.tally import StatisticsTally, Tally, of_answers, of_statistics
from askance.models.enumerated import Enumerated
from askance.models.random_field import RandomField
from askance.models.softmax import Softmax

Evidence: TypeAlias = Tally | StatisticsTally | Responses
FieldEvidence: TypeAlias = StatisticsTally | Reports | NoisyTables

METHODS: dict[str, Callable[..., Fit]] = {
    "one-step": fit_one_step,
    "moments": fit_moments,
    "marginal": fit_marginal,
    "supervised": fit_supervised,
    "projection": fit_projection,
}


@overload
def estimate(
    model: Enumerated, evidence: Tally | StatisticsTally, method: str | None = ..., **options: Any
) -> DistributionFit: ...


@overload
def estimate(model: Softmax, evidence: Responses, method: str | None = ..., **options: Any) -> RegressionFit: ...


@overload
def estimate(model: RandomField, evidence: FieldEvidence, method: str | None = ..., **options: Any) -> FieldFit: ...


@overload
def estimate(model: Enumerated | Softmax, evidence: Evidence, method: str | None = ..., **options: Any) -> Fit: ...


def estimate(
    model: Enumerated | Softmax | RandomField,
    evidence: Evidence | FieldEvidence,
    method: str | None = None,
    **options: Any,
) -> Fit | FieldFit:
    """Estimate θ from evidence.

    Args:
        model: what to fit.
        evidence: what was seen, and through which channel.
        method: "one-step" (default: as precise as maximum likelihood, without its search), "moments" (the paper's, and
            the only one for sums of noised statistics), "marginal" (maximum marginal likelihood), "supervised" (the
            outputs themselves were seen) or "projection". A `RandomField` has methods of its own: see `estimate_field`.
        options: passed to the method; see `fit_one_step`, `fit_moments`, `fit_marginal`, `fit_supervised`,
            `fit_projection`.

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
    if isinstance(model, RandomField):
        found: FieldFit = estimate_field(model, evidence, method, **options)  # type: ignore[arg-type]
        return found
    if method is None:
        method = "moments" if of_statistics(evidence) else "one-step"
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            f"method is {shown(method)}; allowed: {', '.join(METHODS)}.",
            remedy=did_you_mean(method, METHODS, "Leave it out for the default, one-step."),
        )
    _check_kinds(model, evidence)
    function = METHODS[method]
    if isinstance(model, Softmax) and model.dimension > WIDE_FROM:
        function = partial(fit_wide, method=method)
    allowed = [name for name in list(inspect.signature(function).parameters)[1:] if name != "method"]
    for name in options:
        if name not in allowed:
            raise InputError(
                f"{method} has no option {name!r}; allowed: {', '.join(allowed)}.",
                remedy=did_you_mean(name, allowed, "Take one of these, or another method."),
            )
    with one_thread:
        problem = _problem(model, evidence, method)  # type: ignore[arg-type]
        alarm = alarm_of(evidence)  # type: ignore[arg-type]
        fit = function(problem, **options)
        return replace(fit, alarm=alarm) if alarm else fit


def _problem(model: Enumerated | Softmax, evidence: Evidence, method: str) -> MomentProblem:
    """Model and evidence as a problem; refused where the method needs a likelihood and there is none."""
    if isinstance(model, Softmax):
        assert isinstance(evidence, Responses)
        return ResponsesProblem(model, evidence)
    if of_statistics(evidence):
        if method != "moments":
            raise InputError(
                f"method is {method!r}; allowed with sums of noised statistics: moments.",
                remedy="Leave the method out: the sums keep means, not the reports a likelihood needs.",
            )
        return StatisticsProblem(model, evidence)
    assert of_answers(evidence)
    return TallyProblem(model, evidence)


def _check_kinds(model: object, evidence: object) -> None:
    """Refuse what is no model or no evidence, the two in the wrong order, and evidence of another kind of model."""
    if not isinstance(model, (Enumerated, Softmax)):
        swapped = isinstance(evidence, (Enumerated, Softmax))
        raise InputError(
            f"model is {shown(model)}; allowed: an Enumerated or a Softmax model, or a RandomField.",
            remedy="Give the model first, then the evidence: estimate(model, tally)."
            if swapped
            else "Build one, such as Enumerated.saturated(channel.outputs).",
        )
    wanted, example, channels = (
        ((Responses,), "Responses(channel).add(x, reports)", FiniteChannel)
        if isinstance(model, Softmax)
        else ((Tally,), "Tally(channel).add(reports)", Described)
    )
    if not isinstance(evidence, wanted) or not isinstance(evidence.channel, channels):
        kind = " of answers" if channels is FiniteChannel else ""
        names = " or ".join(each.__name__ for each in wanted)
        raise InputError(
            f"evidence is {shown(evidence)}; allowed with {type(model).__name__}: {names}{kind}.",
            remedy=f"Collect the reports with {example}.",
        )
