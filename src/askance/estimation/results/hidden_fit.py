"""The fit of several hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import one_of
from askance.errors import InputError
from askance.estimation.freedom import freedom_of, normal_quantile, quantile
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.sample import Sample, matrix_of, without_covariates
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.results.boundary_intervals import PROFILED, boundary_intervals
from askance.estimation.results.fit import ProbabilityTable
from askance.estimation.results.maxima import open_signs
from askance.estimation.results.rows_fit import RowsFit
from askance.estimation.results.share_intervals import share_interval
from askance.estimation.results.variable_fit import VariableFit
from askance.estimation.solvers.profile import profile_interval
from askance.models.hidden import HiddenVariables


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenFit(RowsFit):
    """A fit of `HiddenVariables`."""

    model: HiddenVariables

    @property
    def variables(self) -> tuple[str, ...]:
        """Hidden variables whose shares can be asked for."""
        return tuple(factor.name for factor in self.model.factors)

    @property
    def alarms(self) -> tuple[str, ...]:
        """Also that the sign of an effect on an outcome hangs on the choice between maxima that are as high."""
        return (*super().alarms, *open_signs(self.model, self.diagnostics.maxima))

    def profile_interval(self, parameter: str, confidence: float = 0.95) -> tuple[float, float]:
        """All values of a parameter that the likelihood does not reject; infinite ends where it may be infinite.

        Unlike `confidence_interval` it holds on a boundary: where nobody cheats, the log-odds of cheating are −∞.
        """
        if self.evidence is None:
            raise InputError("the fit has no evidence: it was loaded.", remedy="Fit again to the data.")
        problem = HiddenProblem(self.model, self.evidence)
        if problem.has_weights or problem.has_clusters:
            raise InputError(
                "a profile of the likelihood does not know of weights and clusters.",
                remedy="Take confidence_interval, which does.",
            )
        place = self._position(parameter)
        ends = profile_interval(problem, problem.inward(self.theta), place, normal_quantile(confidence) ** 2)
        lower, upper = (float(problem.units.outward(np.full(len(self.theta), end))[place]) for end in ends)
        return lower, upper

    @property
    def trait(self) -> VariableFit:
        """The first variable, what the survey is about, as a regression: shares by group, effects, predictions."""
        return self.variable(self.model.factors[0].name)

    def variable(self, name: str) -> VariableFit:
        """One variable as a regression with the errors of the whole fit; refused where it depends on others."""
        names = [factor.name for factor in self.model.factors]
        return VariableFit.of(self, one_of(name, names, "variable", "Name one of the hidden variables."))

    def shares(self, variable: str | None = None, x: Any = None, confidence: float = 0.95) -> ProbabilityTable:
        """The share of every value of a hidden variable, averaged over respondents with their sampling weights.

        Errors are given the covariates of those who are averaged over; `fit.variable(name).prevalence(population=True)`
        has those of the population, and shares by group. Where a share is within three standard errors of 0 or 1, or a
        weak prior acted, its interval is from the profile of the likelihood, which holds on the boundary too.

        Args:
            variable: its name; None: all of them, in their combinations.
            x: whom to average over: an array (n, p), or a table with the columns of the formula; default: those asked.
            confidence: of the intervals.
        """
        labels, belongs = self._values_of(variable)
        sample = self._sample(x)
        everybody = np.ones(sample.n_rows, dtype=bool)
        averages = [ShareAverage(self.model, slice(None), sample, everybody, own) for own in belongs]
        shares = np.array([average(self.theta).value for average in averages])
        slopes = np.array([average(self.theta).gradient for average in averages])
        errors: FloatArray = np.sqrt(np.einsum("ki,ij,kj->k", slopes, self.covariance, slopes))
        z = quantile(confidence, freedom_of(self.freedom, slopes))
        usual = share_interval(shares, errors, z, self.n_observations)
        lower, upper, profiled = boundary_intervals(self, averages, shares, errors, usual, z)
        told = ", ".join(str(label) for label, near in zip(labels, profiled, strict=True) if near)
        notes = (PROFILED.format(told),) if told else ()
        return ProbabilityTable(labels, shares, errors, lower, upper, confidence, notes=notes)

    def _sample(self, x: Any) -> Sample:
        """Whom to average over: rows that are given, or those asked."""
        if x is not None:
            return Sample.of_matrix(matrix_of(x, self.model, self.design))
        if self.evidence is None:
            raise without_covariates("shares", self.model, self.design)
        return Sample.of_evidence(self.evidence)

    def _values_of(self, variable: str | None) -> tuple[tuple[Any, ...], AnyArray]:
        """Labels, and which combinations have each of them, shape (labels, H)."""
        if variable is None:
            return tuple(self.model.outputs.labels), np.eye(len(self.model.outputs), dtype=bool)
        names = [factor.name for factor in self.model.factors]
        place = names.index(one_of(variable, names, "variable", "Name one of the hidden variables."))
        labels = tuple(self.model.factors[place].outputs.labels)
        return labels, self.model.values[place] == np.arange(len(labels))[:, None]
