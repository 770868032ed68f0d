"""What a fit of a list experiment is printed with: the law it assumes, and tests of what it assumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import instance
from askance.channels.finite import FiniteChannel
from askance.channels.list_experiment import ITEMS, ListExperiment
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.checks.design_effect import DesignEffectTest, design_effect_test
from askance.estimation.checks.list_hausman import MeansAndLikelihood, means_and_likelihood
from askance.estimation.entry import solve
from askance.estimation.problems.conditional import times
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.means_problem import MeansProblem
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.results import LikelihoodRatioTest
from askance.estimation.results.rows_fit import RowsFit
from askance.evidence.responses import Responses
from askance.evidence.totals import keyed_sums
from askance.models.hidden import BETWEEN, HiddenVariables
from askance.survey.direct_lists import placebo_messages
from askance.survey.list_counts import on_counts
from askance.tables import Column, Table, Tabulated, columns_of_test

_LEVEL = 0.05
# Fewer clusters say too little of how the cells of two groups vary together.
_FEWEST_CLUSTERS = 30
_BY_LIKELIHOOD = "the method marginal has a Hausman test of the likelihood against these means"
_LAW_UNTESTED = "the law of the items is not tested: likelihood ratios do not know of weights and clusters"
_ON_BOUNDARY = (
    "no Hausman test: the likelihood is at the boundary of what is possible, where its statistic has no χ² distribution"
)


@dataclass(frozen=True, eq=False)
class ListChecks(Tabulated):
    """Tests of a fit of a list experiment.

    Attributes:
        design_effect: of every sensitive item, with weights and clusters; empty with fewer than 30 clusters, which say
            too little of how cells vary together.
        law: the multinomial law of the items against the binomial one; None where the likelihood has no place for it,
            and with weights or clusters.
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


def list_checks(fit: RowsFit, design: ListExperiment) -> ListChecks:
    """The design-effect test, the law of the items and a Hausman test; `regress` puts what they say into the fit.

    Args:
        fit: of this design, with its evidence.
        design: of the survey.

    >>> from askance import ListExperiment, regress
    >>> design = ListExperiment(2)
    >>> data = {"count": [0, 1, 1, 2, 0, 1, 2, 3] * 50, "treated": [0, 0, 0, 0, 1, 1, 1, 1] * 50}
    >>> fit = regress("count ~ 1", data, design, arm="treated")
    >>> [test.rejected for test in list_checks(fit, design).design_effect]
    [False]
    """
    instance(design, ListExperiment, "design", "a ListExperiment", "Give the design of the fit.")
    if fit.evidence is None:
        raise InputError("the fit has no evidence: it was loaded.", remedy="Fit again to the data.")
    first = fit.evidence.chunks[0]
    plain = first.weights is None and first.clusters is None
    few = _few_clusters(fit.evidence)
    effects = () if few else tuple(_design_effects(fit.evidence, design))
    law, hausman, on_hausman = None, None, _BY_LIKELIHOOD
    if isinstance(fit, HiddenFit):
        law = _law_test(fit, design) if plain and not fit.repaired else None
        hausman, on_hausman = _hausman(fit, design)
    rejected = any(test.rejected for test in effects)
    told = [
        _law_in_words(fit, design),
        *on_counts(fit.evidence, design),
        few,
        *(test.message for test in effects),
        *(placebo_messages(fit.evidence) if design.direct is not None else ()),
        _LAW_UNTESTED if not plain and isinstance(fit, HiddenFit) else "" if law is None else _on_law(law),
        on_hausman if hausman is None else _on_hausman(hausman, design, rejected),
    ]
    return ListChecks(effects, law, hausman, tuple(filter(None, told)))


def _few_clusters(evidence: Responses[Any]) -> str:
    """Why clusters are too few for the design-effect test; "" where there are enough or none."""
    if evidence.chunks[0].clusters is None:
        return ""
    count = len(np.unique(np.concatenate([np.asarray(chunk.clusters) for chunk in evidence.chunks])))
    few = f"no design-effect test: {count} clusters say too little of how cells vary together"
    return few if count < _FEWEST_CLUSTERS else ""


def _design_effects(evidence: Responses[Any], design: ListExperiment) -> Iterator[DesignEffectTest]:
    """Of every sensitive item, from counts alone where there is a direct question beside them."""
    first, channels = evidence.chunks[0], list(design.arms.values())
    told = [_counts_of(channel) for channel in channels]
    plain = first.weights is None and first.clusters is None
    parts = [evidence.of_channel(channel) for channel in channels]
    counts: list[FloatArray] = [
        np.bincount(own, weights=part.sums if plain else _weighed(part)).astype(np.float64)
        for own, part in zip(told, parts, strict=True)
    ]
    whole = sum(float(part.sum()) for part in counts)
    for place, trait in enumerate(design.traits, 1):
        groups = {channels[k].fingerprint: (told[k], counts[k], k > 0) for k in (0, place)}
        spread = None if plain else _spread_of(evidence, groups)
        control, treated = (counts[k] * (evidence.n_observations / whole) for k in (0, place))
        yield design_effect_test(control.tolist(), treated.tolist(), trait, spread)


def _weighed(evidence: Responses[Any]) -> FloatArray:
    """The weight of every report of one channel."""
    size = len(evidence.channel.observations)
    return np.asarray(sum(np.bincount(c.codes, weights=c.weights, minlength=size) for c in evidence.chunks))


def _counts_of(channel: FiniteChannel) -> IntArray:
    """The count that every report says, with a direct answer before it or without."""
    return np.array([int(str(label).split(BETWEEN)[-1]) for label in channel.observations.labels], dtype=np.int64)


def _spread_of(evidence: Responses[Any], groups: Mapping[str, tuple[IntArray, FloatArray, bool]]) -> FloatArray:
    """Covariance of the distribution functions of controls and one treated group at 0 … J, with weights and clusters.

    A row of a group moves its F by w (1[count ≤ j] − F) / W, with W the weight of its group.

    Args:
        evidence: of all groups.
        groups: of these two, by their channel: the count of every report, the weight of every count, and which it is.
    """
    size = min(len(counts) for _, counts, _ in groups.values())
    rows = []
    for chunk in evidence.chunks:
        moved = np.zeros((len(chunk), 2 * size))
        if chunk.channel.fingerprint in groups:
            told, counts, treated = groups[chunk.channel.fingerprint]
            below = told[chunk.codes][:, None] <= np.arange(size)
            start = size if treated else 0
            moved[:, start : start + size] = (below - np.cumsum(counts)[:size] / counts.sum()) / counts.sum()
        rows.append(times(moved, chunk.weights))
    every = np.concatenate(rows)
    if evidence.chunks[0].clusters is None:
        return np.asarray(every.T @ every)
    names = np.concatenate([np.asarray(chunk.clusters) for chunk in evidence.chunks])
    keys, place = np.unique(names, return_inverse=True)
    sums = keyed_sums(place, every).sums
    if evidence.strata is not None:
        apart = evidence.strata.of(keys).apart(sums)
    else:
        apart = (sums - sums.mean(axis=0)) * np.sqrt(len(sums) / (len(sums) - 1))
    return np.asarray(apart.T @ apart)


def _law_in_words(fit: RowsFit, design: ListExperiment) -> str:
    if not isinstance(fit, MeansFit):
        return design.law
    if design.direct is not None:
        return "no law is assumed: those who admit, and the difference in means among those who deny"
    if fit.model.link == "linear":
        return "no law is assumed: the means of both groups are linear in the covariates, or approximated so"
    return "no law is assumed: the share is logistic in the covariates, and so is the mean number of items"


# -- the law of the items ----------------------------------------------------------------------------------------------


def _law_test(fit: HiddenFit, design: ListExperiment) -> LikelihoodRatioTest | None:
    """Twice the difference of log-likelihoods; None where the other law is at its boundary."""
    from scipy.special import chdtrc

    binomial = design.control_law == "binomial"
    other = {**design.parameters(), "control_law": "multinomial" if binomial else "binomial"}
    model = ListExperiment(**other).model(fit.design.terms if fit.design is not None else fit.model.terms)
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
    if fit.model.outcomes:
        return None, ""
    if design.ceiling or design.floor:
        return None, "no Hausman test: means take all counts for the truth, and some are thought to lie"
    if design.direct is not None:
        return None, "no Hausman test: means beside a direct question have no covariates; compare the method moments"
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


def _on_hausman(pair: MeansAndLikelihood, design: ListExperiment, rejected: bool) -> str:
    pairs = zip(design.traits, pair.likelihood, pair.means, strict=True)
    shares = ", ".join(f"{trait} {100 * one:.1f} % against {100 * other:.1f} %" for trait, one, other in pairs)
    test, head = pair.test, f"Hausman test of the likelihood against the difference in means ({shares})"
    if not test.degrees_of_freedom:
        return f"{head}: both are the same"
    if not test.p_value < _LEVEL:
        return f"{head}: {test.text}{'' if np.isnan(test.p_value) else '; they agree'}"
    if design.dependent:
        return f"{head}: {test.text}; they differ: there is a design effect"
    hint = "rejects too" if rejected else "does not reject, which speaks for the first"
    return (
        f"{head}: {test.text}; they differ: items are not independent of the answer given the covariates "
        f"(dependent), or there is a design effect; the design-effect test {hint}"
    )
