"""The fit of a regression, with what a researcher asks of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from askance._arrays import ArrayLike, FloatArray
from askance._checks import shorten
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel
from askance.errors import AskanceWarning, InputError, UnmodelledGroupsWarning
from askance.estimation.problems.basis import Basis, BasisEstimate
from askance.estimation.problems.held_sample import HeldSample
from askance.estimation.problems.sample import (
    Sample,
    find_terms,
    group_rows,
    is_matrix,
    matrix_of,
    without_intercept,
)
from askance.estimation.results import effects, prediction
from askance.estimation.results.fit_table import describe_channel, regression_table
from askance.estimation.results.results import MarginalEffects, Posteriors, Predictions, Prevalence
from askance.estimation.results.rows_fit import RowsFit
from askance.estimation.results.variable_effects import variable_effects
from askance.evidence.candidates import seen_through
from askance.evidence.held import HeldResponses
from askance.evidence.responses import Responses
from askance.evidence.together import SEVERAL
from askance.models.softmax import Covariates, Softmax
from askance.tables import Table

# Of groups whose share may follow from one report.
_ALONE = (
    "one respondent: {}; where the formula has this group, its share follows from that single report and says nothing "
    "of others: merge the group with another, or leave it out of a publication"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionFit(RowsFit):
    """A fit of a model with covariates.

    Wherever x is asked for, it is an array or a SciPy sparse matrix with one column per term; when the fit knows its
    `design`, a data frame or a dict of columns does as well.

    Attributes:
        in_basis: the estimate in a basis that keeps its digits, where x itself does not.
        replicates: with replicate weights: the estimate with each set, in that basis if any, shape (R, d); not saved.

    >>> import numpy as np
    >>> from askance import ForcedResponse, Responses, Softmax, estimate
    >>> rng = np.random.default_rng(3)
    >>> model = Softmax(["no", "yes"], ["Intercept", "female", "age"])
    >>> x = np.column_stack([np.ones(4000), rng.integers(0, 2, 4000), rng.normal(size=4000)])
    >>> answers = (rng.random(4000) < model.probabilities([-1.0, 0.5, 0.3], x)[:, 1]).astype(int)
    >>> channel = ForcedResponse("2/3", "1/6")
    >>> reports = channel.simulate(np.array(["no", "yes"])[answers], rng)
    >>> fit = estimate(model, Responses(channel).add(x, reports))
    >>> women_and_men = fit.prevalence(by="female")
    >>> women_and_men.groups, women_and_men.estimate[:, 1].round(2)
    ((0, 1), array([0.27, 0.38]))
    >>> fit.marginal_effects().kinds
    ('0 → 1', 'slope')
    >>> fit.predict([[1, 0, 0.0]]).estimate.round(2)
    array([[0.73, 0.27]])
    """

    model: Softmax
    in_basis: BasisEstimate | None = None
    replicates: FloatArray | None = None

    def table(self, confidence: float = 0.95) -> Table:
        """The coefficients, in a block per output when there are several; what was fitted to what and how; notes."""
        return regression_table(self, confidence)

    @property
    def trait(self) -> RegressionFit:
        """What the survey is about, as a regression: the fit itself; where more is hidden, a part of it."""
        return self

    def prevalence(
        self,
        x: Any = None,
        by: Any = None,
        weights: ArrayLike | None = None,
        confidence: float = 0.95,
        *,
        population: bool = False,
    ) -> Prevalence:
        """Average of p_θ̂(y | x) over respondents: how common every answer is, overall or by group.

        The errors are conditional on the sampled x: they hold for these respondents (or those given), and come from
        the uncertainty of θ̂ alone. With `population=True` the variance of the mean over another sample of
        respondents like these is added (over other clusters, where the evidence has clusters), and the errors are
        about the population they were drawn from. That sum presumes that the model is right, so that θ̂ and the
        sampled x are uncorrelated. With replicate weights every share is computed again with each set of them, and its
        error is the spread of these. Intervals are those of `share_interval`.

        Args:
            x: covariates of the respondents to average over; default: those who gave the reports, as often and with
                the weights that they were given with.
            by: groups: the name of a column of the formula, the name or number of a column of x, or, when x is given,
                one label per row. A column that the formula does not have (of clusters, weights, or the data given
                for x) brings an `UnmodelledGroupsWarning`.
            weights: sampling weights of the rows of x, when x is given.
            confidence: of the intervals.
            population: whether to add the sampling variance of x.
        """
        sample, groups = self._grouped(x, by, weights)
        name = by if isinstance(by, str) else None
        self._warn_about_unmodelled(name)
        at = basis_estimate(self)
        again = self._replicates(x, at.basis) if population and self.covariance_kind == "replicates" else None
        with one_thread:
            shares = effects.prevalence(
                self.model, at, sample, groups, name, confidence=confidence, population=population, again=again
            )
        shares = self._at_ends(shares, sample, groups[1], population)
        alone = [label for label, n in zip(shares.groups, shares.n_respondents, strict=True) if n == 1]
        if x is not None or by is None or not alone:
            return shares
        return replace(shares, notes=(*shares.notes, _ALONE.format(shorten(alone))))

    def _at_ends(self, shares: Prevalence, sample: Sample, codes: Any, population: bool) -> Prevalence:
        """The shares, with other intervals where some are near 0 or 1; here they are as they are."""
        return shares

    def _grouped(self, x: Any, by: Any, weights: ArrayLike | None) -> tuple[Sample, tuple[tuple[Any, ...], Any]]:
        """Respondents in the basis of θ̂, the labels of their groups, and the group of each."""
        sample, data = self._sample(x, weights, "prevalence"), None if is_matrix(x) else x
        if isinstance(sample, HeldSample):
            with one_thread:
                sample, of_blocks = sample.grouped(by, self.model)
            return replace(sample, basis=basis_estimate(self).basis), of_blocks
        if x is None and isinstance(by, str) and by not in self.model.terms:
            sample, data = self._in_order_of_the_table(sample)
        groups = group_rows(sample, by, self.model, data, has_x=x is not None)
        return replace(sample, basis=basis_estimate(self).basis), groups

    def marginal_effects(
        self,
        x: Any = None,
        confidence: float = 0.95,
        *,
        weights: ArrayLike | None = None,
        variables: Sequence[str] | Mapping[str, float | None] | None = None,
        terms: Sequence[str] | None = None,
    ) -> MarginalEffects:
        """Average effect of every variable of the formula on the probability of every output, all else as it is.

        Of numbers the slope ∂p/∂v through all columns that the variable is in (age and age², interactions); of 0 and 1
        the change from 0 to 1; of categories the change from the level that the others are compared with to each of
        these; of numbers in calculations that jump, as `I(age > 30)`, the change when they go up by 1. Errors are
        conditional on x.

        Without a formula, where x is an array, and with `terms`, effects are those of columns of x, one by one: that
        age and age² belong to one respondent, or that several columns code one region, is not known then, and the
        effect of such a column alone may be one that nobody can experience.

        Args:
            x: covariates of the respondents to average over; default: those who gave the reports.
            confidence: of the intervals.
            weights: sampling weights of the rows of x, when x is given.
            variables: which variables; {"age": 10} for the change when age goes up by 10. Default: all of the formula.
            terms: columns of x instead; default without a formula: all but the intercept.
        """
        if terms is None and (table := self._table_of(x)) is not None:
            return self._variable_effects(table, x, weights, variables, confidence)
        sample = self._sample(x, weights, "marginal_effects")
        if variables is not None:
            raise InputError(
                "variables are given with terms, or where x has no named columns; allowed: one of them, and variables "
                "where the fit has a formula.",
                remedy="Give a table with the columns of the formula, or name columns of x: terms=[…].",
            )
        shared = shared_variables(self.model.terms, getattr(self.design, "columns", ()))
        if shared and terms is None:
            warnings.warn(
                f"{shorten(shared)} enter several columns (squares, interactions, levels): each row is the effect of "
                "one column with the others held, not of the variable; compare predictions instead.",
                AskanceWarning,
                stacklevel=2,
            )
        reference = sample if self.evidence is None else _respondents(self.evidence)
        columns = without_intercept(self.model, reference) if terms is None else find_terms(self.model, terms)
        at = basis_estimate(self)
        sample = replace(sample, basis=at.basis)
        with one_thread:
            return effects.marginal_effects(self.model, at, sample, reference, columns, confidence=confidence)

    def _table_of(self, x: Any) -> Any:
        """The data with named columns that x is made of, where the fit knows the formula; None elsewhere."""
        if not hasattr(self.design, "changes") or (x is not None and is_matrix(x)):
            return None
        return self.design.respondents if x is None else x

    def _variable_effects(
        self, table: Any, x: Any, weights: ArrayLike | None, variables: Any, confidence: float
    ) -> MarginalEffects:
        sample = self._sample(x, weights, "marginal_effects")
        if x is None:
            sample, table = self._in_order_of_the_table(sample)
        names = self.design.columns if variables is None else [variables] if isinstance(variables, str) else variables
        steps = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names)
        if not steps:
            raise InputError("there is no variable to compute an effect of.", remedy="Take prevalence() instead.")
        at = basis_estimate(self)
        with one_thread:
            changes = self.design.changes(table, steps)
            return variable_effects(self.model, at, replace(sample, basis=at.basis), changes, confidence=confidence)

    def predict(self, x: Any, confidence: float = 0.95) -> Predictions:
        """p_θ̂(y | x) of every row of x, with delta-method intervals computed on the log-odds scale."""
        rows = self._rows(x)
        with one_thread:
            return prediction.predict(self.model, basis_estimate(self), rows, confidence)

    def posterior(self, x: Any, observed: ArrayLike, confidence: float = 0.95) -> Posteriors:
        """P(hidden answer = y | x, o) of every respondent: for analysis, not for publication.

        Warning: these are guesses of a model about groups of similar respondents (same x, same report), not knowledge
        about any one of them. Respondents answered because they were promised that nobody can tell their answer;
        publishing these numbers, or linking them to names, may break that promise. Through a private channel they stay
        close to what the covariates alone say: the odds of any two outputs change by a factor of at most
        e^privacy_level when a report is heard. The covariates themselves are under no such guarantee.

        Args:
            x: covariates, one row per respondent.
            observed: what each of them reported, labels out of the channel's observations.
            confidence: of the intervals, which describe the uncertainty of θ̂.
        """
        rows = self._rows(x)
        with one_thread:
            return prediction.posterior(self.model, basis_estimate(self), rows, observed, self._channel(), confidence)

    def _rows(self, x: Any) -> Covariates:
        """Covariates in that basis."""
        basis = basis_estimate(self).basis
        return self._matrix(x) if basis is None else basis.covariates(self._matrix(x))

    def _channel(self) -> FiniteChannel:
        if self.channel.get("kind") == SEVERAL:
            raise InputError(
                f"the reports came through several channels ({describe_channel(self.channel)}), and it is not said "
                "which; allowed here: a fit of one.",
                remedy="Fit the respondents of one design, or take predict(x).",
            )
        return seen_through(self.channel) if self.evidence is None else self.evidence.channel

    def _sample(self, x: Any, weights: ArrayLike | None, asked: str) -> Sample:
        """Whom to average over, wherever their rows are."""
        if x is None and weights is None and self.evidence is not None:
            return _respondents(self.evidence)
        return super()._sample(x, weights, asked)

    def _replicates(self, x: Any, basis: Basis | None) -> effects.Again:
        """θ̂ and the respondents with every set of replicate weights, which other respondents do not have."""
        if x is not None or self.evidence is None or self.replicates is None or self.evidence.replication is None:
            raise InputError(
                "the shares of a population are those of the respondents with their replicate weights, which neither "
                "other respondents nor saved fits have.",
                remedy="Fit again, and leave x out; or leave out population=True.",
            )
        evidence = self.evidence
        samples = (replace(Sample.of_evidence(evidence.replicate(r)), basis=basis) for r in range(len(self.replicates)))
        return effects.Again(self.evidence.replication, tuple(zip(self.replicates, samples, strict=True)))

    def _in_order_of_the_table(self, sample: Sample) -> tuple[Sample, Any]:
        """The respondents of the fit in the order of the table that a formula was fitted to, and that table."""
        table = getattr(self.design, "respondents", None)
        if table is None or all(bool((piece.count == 1).all()) for piece in sample.pieces):
            return sample, table
        # Equal rows were folded into one, which is not done to weights and clusters.
        return Sample.of_matrix(self._matrix(table)), table

    def _warn_about_unmodelled(self, by: str | None) -> None:
        known = getattr(self.design, "columns", None)
        if by is None or known is None or by in known or by in self.model.terms:
            return
        warnings.warn(
            f"the formula does not have {by!r}: its groups differ here only as far as their covariates do, and errors "
            "do not know of other differences. Put it into the formula to estimate its shares.",
            UnmodelledGroupsWarning,
            stacklevel=3,
        )

    def _matrix(self, x: Any) -> Covariates:
        return matrix_of(x, self.model, self.design)


def _respondents(evidence: Responses) -> Sample:
    """Those who gave the reports, wherever their rows are."""
    return HeldSample.of(evidence) if isinstance(evidence, HeldResponses) else Sample.of_evidence(evidence)


def shared_variables(terms: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The columns of a table that several terms are made of.

    >>> shared_variables(["Intercept", "age", "I(age ** 2)", "female"], ["age", "female"])
    ['age']
    """
    pattern = r"(?<![\w.]){}(?![\w.])"
    return [
        column for column in columns if sum(bool(re.search(pattern.format(re.escape(column)), t)) for t in terms) > 1
    ]


def basis_estimate(fit: RegressionFit) -> BasisEstimate:
    """θ̂ and its covariance with their digits, the basis they are about, and how well the covariance is known."""
    return fit.in_basis or BasisEstimate(None, fit.theta, fit.covariance, fit.freedom)
