"""One hidden variable of several, as a regression: what covariates say of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance.errors import InputError
from askance.estimation.freedom import quantile
from askance.estimation.problems.sample import Sample
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.results.boundary_intervals import PROFILED, boundary_intervals
from askance.estimation.results.effects import Sampling
from askance.estimation.results.fit import Fit
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.results.results import Posteriors, Prevalence
from askance.models.hidden import Factor, HiddenVariables
from askance.models.softmax import Covariates, Softmax

if TYPE_CHECKING:
    from askance.estimation.results.hidden_fit import HiddenFit


@dataclass(frozen=True)
class _SomeColumns:
    """A design of which a variable has some columns only."""

    design: Any
    places: list[int]

    def matrix(self, data: Any) -> Covariates:
        """x of new data, shape (n, p)."""
        x: Covariates = self.design.matrix(data)
        return x[:, self.places]

    @property
    def columns(self) -> Any:
        """Of the table that the design is about."""
        return self.design.columns

    @property
    def respondents(self) -> Any:
        """The rows that it learned from."""
        return self.design.respondents


@dataclass(frozen=True, eq=False, kw_only=True)
class VariableFit(RegressionFit):
    """A variable of a `HiddenFit` that depends on no other one: its regression, with the errors of the whole fit.

    Attributes:
        whole: the fit of all variables.
        name: of this one.
    """

    whole: HiddenFit
    name: str

    @classmethod
    def of(cls, whole: HiddenFit, name: str) -> VariableFit:
        """The view of a variable that is softmax in its covariates."""
        factor, block = _part(whole, name)
        if factor.after or not np.array_equal(factor.table, np.eye(len(factor.outputs))[1:]) or factor.log_base.any():
            raise InputError(
                f"{name!r} is no regression by itself: it depends on {', '.join(factor.after) or 'a law of its own'}.",
                remedy=f"Take shares({name!r}).",
            )
        places = [whole.model.terms.index(term) for term in factor.terms]
        evidence, design = whole.evidence, whole.design
        if places != list(range(len(whole.model.terms))):
            evidence = evidence and evidence.widened([chunk.x[:, places] for chunk in evidence.chunks])
            design = None if design is None else _SomeColumns(design, places)
        kept = {field.name: getattr(whole, field.name) for field in fields(Fit)}
        own = {
            "model": Softmax(factor.outputs, factor.terms),
            "theta": whole.theta[block],
            "covariance": whole.covariance[block, block],
            "freedom": whole.freedom and whole.freedom.turned(np.eye(len(whole.theta))[block]),
            "evidence": evidence,
            "design": design,
            "whole": whole,
            "name": name,
            "kept_tables": (),
        }
        return cls(**kept | own)

    @property
    def _is_maximum_likelihood(self) -> bool:
        return False  # the likelihood is of all variables together

    def likelihood_ratio_test(self, restricted: Any) -> NoReturn:
        """Refused: the likelihood is that of the whole fit."""
        raise InputError(
            f"{self.name!r} is one of several hidden variables, which have one likelihood.",
            remedy="Compare the whole fits: fit.likelihood_ratio_test(restricted).",
        )

    def posterior(self, x: Any, observed: ArrayLike, confidence: float = 0.95) -> Posteriors:
        """Refused: a report tells of all hidden variables at once."""
        raise InputError(
            f"reports tell of all hidden variables at once, not of {self.name!r} alone.", remedy="Take predict(x)."
        )

    def _at_ends(self, shares: Prevalence, sample: Sample, codes: IntArray, population: bool) -> Prevalence:
        """With intervals from the likelihood's profile."""
        lower, upper, told = shares.lower.copy(), shares.upper.copy(), []
        freedom = np.full(lower.shape, np.inf) if shares.degrees_of_freedom is None else shares.degrees_of_freedom
        quantiles = quantile(shares.confidence, freedom)
        for g, group in enumerate(shares.groups):
            averages = self._averages(sample, codes == g)
            lower[g], upper[g], profiled = boundary_intervals(
                self.whole,
                averages,
                shares.estimate[g],
                shares.standard_error[g],
                (lower[g], upper[g]),
                quantiles[g],
                self._sampling(sample, codes == g) if population else None,
            )
            told += [str(group)] if profiled.any() else []
        notes = () if not told else (PROFILED.format(", ".join(told)),)
        return replace(shares, lower=lower, upper=upper, notes=notes)

    def _averages(self, sample: Sample, rows: Any) -> list[ShareAverage]:
        """Of every value, over some respondents."""
        factor, block = _part(self.whole, self.name)
        alone, values = HiddenVariables([factor]), np.arange(len(factor.outputs))
        return [ShareAverage(alone, block, sample, rows, values == k) for k in values]

    def _sampling(self, sample: Sample, rows: Any) -> Callable[[FloatArray], FloatArray]:
        """Variances of the shares over samples of respondents, as a function of θ of the whole fit, (K,)."""
        _, block = _part(self.whole, self.name)
        codes: IntArray = np.asarray(~rows, dtype=np.int64)  # the group is 0, all others 1

        def variances(theta: FloatArray) -> FloatArray:
            P = [self.model.probabilities(theta[block], piece.x) for piece in sample.pieces]
            w = np.concatenate([piece.total for piece in sample.pieces]) * rows
            mean = np.tile(w @ np.concatenate(P) / w.sum(), (2, 1))
            return np.asarray(Sampling.of(self.model, theta[block], sample, codes, mean).variances[0])

        return variances


def _part(whole: HiddenFit, name: str) -> tuple[Factor, slice]:
    """A variable of a model, and its parameters."""
    place = whole.variables.index(name)
    return whole.model.factors[place], whole.model.blocks[place]
