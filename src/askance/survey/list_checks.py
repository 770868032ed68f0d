"""What a fit of a list experiment is printed with: the law it assumes, and tests of what it assumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import instance
from askance.channels.list_experiment import ITEMS, ListExperiment
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.checks.design_effect import DesignEffectTest, design_effect_test
from askance.estimation.checks.list_hausman import MeansAndLikelihood, means_and_likelihood
from askance.estimation.entry import solve
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.means_problem import MeansProblem
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.results import LikelihoodRatioTest
from askance.models.count_means import CountMeans
from askance.models.hidden import HiddenVariables
from askance.survey.direct_lists import placebo_messages
from askance.tables import Column, Table, Tabulated, columns_of_test

_LEVEL = 0.05
_ON_BOUNDARY = (
    "no Hausman test: the likelihood is at the boundary of what is possible, where its statistic has no χ² distribution"
)


@dataclass(frozen=True, eq=False)
class ListChecks(Tabulated):
    """Tests of a fit of a list experiment.

    Attributes:
        design_effect: of every sensitive item; empty with weights, clusters or a direct question, of which it does not
            know.
        law: the multinomial law of the items against the binomial one; None where the likelihood has no place for it.
        hausman: likelihood against means; None where there is no likelihood, or it is at its boundary.
        messages: what they say, a line each.
    """

    design_effect: tuple[DesignEffectTest, ...]
    law: LikelihoodRatioTest | None
    hausman: MeansAndLikelihood | None
    messages: tuple[str, ...]

    def table(self) -> Table:
        """The tests with a statistic; what all of them say stands below."""
        rows = []
        if self.law is not None:
            rows.append(("items binomial", self.law.statistic, self.law.degrees_of_freedom, self.law.p_value))
        if self.hausman is not None:
            test = self.hausman.test
            rows.append(("likelihood as means", test.statistic, test.degrees_of_freedom, test.p_value))
        return Table((Column("hypothesis"), *columns_of_test()), rows, title="Tests of a list", notes=self.messages)


def list_checks(fit: HiddenFit, design: ListExperiment) -> ListChecks:
    """The design-effect test, the law of the items and a Hausman test; `regress` puts what they say into the fit.

    Args:
        fit: of this design, with its evidence.
        design: of the survey.
    """
    instance(design, ListExperiment, "design", "a ListExperiment", "Give the design of the fit.")
    if fit.evidence is None:
        raise InputError("the fit has no evidence: it was loaded.", remedy="Fit again to the data.")
    first = fit.evidence.chunks[0]
    plain = first.weights is None and first.clusters is None
    effects = tuple(_design_effects(fit, design)) if plain and design.direct is None else ()
    law, hausman, on_hausman = None, None, ""
    if isinstance(fit.model, HiddenVariables):
        law = _law_test(fit, design) if plain and not fit.repaired else None
        hausman, on_hausman = _hausman(fit, design)
    rejected = any(test.rejected for test in effects)
    told = [
        _law_in_words(fit, design),
        *(test.message for test in effects),
        *(placebo_messages(fit.evidence) if design.direct is not None else ()),
        "" if law is None else _on_law(law),
        on_hausman if hausman is None else _on_hausman(hausman, design, rejected),
    ]
    return ListChecks(effects, law, hausman, tuple(filter(None, told)))


def _design_effects(fit: HiddenFit, design: ListExperiment) -> Iterator[DesignEffectTest]:
    assert fit.evidence is not None
    control, *treated = (fit.evidence.of_channel(channel).sums for channel in design.arms.values())
    for trait, own in zip(design.traits, treated, strict=True):
        yield design_effect_test(control.tolist(), own.tolist(), trait)


def _law_in_words(fit: HiddenFit, design: ListExperiment) -> str:
    model: Any = fit.model
    if not isinstance(model, CountMeans):
        return design.law
    if design.direct is not None:
        return "no law is assumed: those who admit, and the difference in means among those who deny"
    if model.link == "linear":
        return "no law is assumed: the means of both groups are linear in the covariates, or approximated so"
    return "no law is assumed: the share is logistic in the covariates, and so is the mean number of items"


# -- the law of the items ----------------------------------------------------------------------------------------------


def _law_test(fit: HiddenFit, design: ListExperiment) -> LikelihoodRatioTest | None:
    """Twice the difference of log-likelihoods; None where the other law is at its boundary."""
    from scipy.special import chdtrc

    binomial = design.control_law == "binomial"
    given = {**design.parameters(), "control_law": "multinomial" if binomial else "binomial"}
    model = ListExperiment(**given).model(fit.design.terms if fit.design is not None else fit.model.terms)
    if model.dimension == fit.model.dimension:  # one item: both are the same
        return None
    other, _ = solve(model, fit.evidence, starts=[_converted(fit, model, binomial)])
    if other.repaired or not other.converged:
        return None
    statistic = 2 * abs(fit.log_likelihood - other.log_likelihood)
    freedom = abs(model.dimension - fit.model.dimension)
    return LikelihoodRatioTest(statistic, freedom, float(chdtrc(freedom, statistic)), ("binomial law of the items",))


def _converted(fit: HiddenFit, model: HiddenVariables, from_binomial: bool) -> FloatArray:
    """θ̂ in the other law: the same where a binomial one is written as a multinomial one, else near it."""
    theta = np.zeros(model.dimension)
    for mine, its, block, own in zip(fit.model.factors, model.factors, fit.model.blocks, model.blocks, strict=True):
        values = fit.theta[block].reshape(len(mine.table), -1)
        if mine.name == ITEMS and from_binomial:
            values = np.arange(1, len(its.outputs))[:, None] * values
            values[:, : 1 if "Intercept" in its.terms else 0] += (mine.log_base[1:] - mine.log_base[0])[:, None]
        elif mine.name == ITEMS:
            values = values[-1:] / len(values)
        theta[own] = values.ravel()
    return theta


def _on_law(law: LikelihoodRatioTest) -> str:
    verdict = "rejected" if law.p_value < _LEVEL else "not rejected"
    return (
        f"a binomial law of the items is {verdict} against a multinomial one: χ² = {law.statistic:.2f} on "
        f"{law.degrees_of_freedom} df, P = {law.p_value:.3g}"
    )


# -- likelihood against means ------------------------------------------------------------------------------------------


def _hausman(fit: HiddenFit, design: ListExperiment) -> tuple[MeansAndLikelihood | None, str]:
    """The test, or why there is none."""
    if design.ceiling or design.floor or design.direct is not None or fit.model.outcomes:
        return None, ""
    if fit.repaired:
        return None, _ON_BOUNDARY
    terms: Any = fit.model.terms
    linear = design.model(terms, "linear")
    try:
        delta = solve(linear, fit.evidence).fit.theta
        problem, means = HiddenProblem(fit.model, fit.evidence), MeansProblem(linear, fit.evidence)  # type: ignore[arg-type]
        return means_and_likelihood(problem, problem.inward(fit.theta), means, delta), ""
    except NotIdentifiedError:
        return None, "no Hausman test: a group does not tell all effects by itself"


def _on_hausman(found: MeansAndLikelihood, design: ListExperiment, rejected: bool) -> str:
    pairs = zip(design.traits, found.likelihood, found.means, strict=True)
    shares = ", ".join(f"{trait} {100 * one:.1f} % against {100 * other:.1f} %" for trait, one, other in pairs)
    test, head = found.test, f"Hausman test of the likelihood against the difference in means ({shares})"
    if not test.degrees_of_freedom:
        return f"{head}: both are the same"
    figures = f"χ² = {test.statistic:.2f} on {test.degrees_of_freedom} df, P = {test.p_value:.3g}"
    if test.p_value >= _LEVEL:
        return f"{head}: {figures}; they agree"
    if design.dependent:
        return f"{head}: {figures}; they differ: there is a design effect"
    hint = "rejects too" if rejected else "does not reject, which speaks for the first"
    return (
        f"{head}: {figures}; they differ: items are not independent of the answer given the covariates (dependent), or "
        f"there is a design effect; the design-effect test {hint}"
    )
