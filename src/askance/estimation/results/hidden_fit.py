"""The fit of several hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import one_of
from askance.errors import InputError
from askance.estimation.freedom import freedom_of, normal_quantile, quantile
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.estimation.problems.sample import Sample, matrix_of, without_covariates
from askance.estimation.results.fit import Fit, ProbabilityTable
from askance.estimation.results.likelihood_ratio import HasCriteria
from askance.estimation.results.maxima import open_signs
from askance.estimation.results.share_intervals import share_interval
from askance.estimation.solvers.profile import profile_interval
from askance.evidence.responses import Responses
from askance.models.hidden import HiddenVariables


@dataclass(frozen=True, eq=False, kw_only=True)
class HiddenFit(HasCriteria, Fit):
    """A fit of `HiddenVariables`.

    Attributes:
        evidence: the reports it was fitted to; None after loading from a file.
        design: turns data into x by its `matrix(data)`, where it was fitted with a formula.
    """

    model: HiddenVariables
    evidence: Responses | None = None
    design: Any = None

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

    def shares(self, variable: str | None = None, x: Any = None, confidence: float = 0.95) -> ProbabilityTable:
        """The share of every value of a hidden variable, averaged over respondents with their sampling weights.

        Errors are given the covariates of those who are averaged over.

        Args:
            variable: its name; None: all of them, in their combinations.
            x: whom to average over: an array (n, p), or a table with the columns of the formula; default: those asked.
            confidence: of the intervals.
        """
        labels, belongs = self._values_of(variable)
        shares, slopes, n = np.zeros(len(labels)), np.zeros((len(labels), len(self.theta))), 0.0
        for part in self._sample(x).pieces:
            at = HiddenPass(self.model, self.theta, part.x, outcomes=False)
            n += float(part.total.sum())
            for k, own in enumerate(belongs):
                inside = part.total[:, None] * at.probabilities * own
                shares[k] += inside.sum()
                slopes[k] += at.scores(inside).sum(axis=0)
        shares, slopes = shares / n, slopes / n
        errors: FloatArray = np.sqrt(np.einsum("ki,ij,kj->k", slopes, self.covariance, slopes))
        ends = share_interval(
            shares, errors, quantile(confidence, freedom_of(self.freedom, slopes)), self.n_observations
        )
        return ProbabilityTable(labels, shares, errors, *ends, confidence)

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
