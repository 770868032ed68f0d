"""The fit of several hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import one_of
from askance.errors import InputError
from askance.estimation.freedom import freedom_of, normal_quantile, quantile
from askance.estimation.problems.hidden_problem import HiddenProblem
from askance.estimation.problems.share_average import ShareAverage
from askance.estimation.results.boundary_intervals import PROFILED, boundary_intervals
from askance.estimation.results.fit import ProbabilityTable
from askance.estimation.results.maxima import open_signs
from askance.estimation.results.outcome_effects import outcome_effects, predict_outcome
from askance.estimation.results.results import MarginalEffects, Predictions
from askance.estimation.results.rows_fit import RowsFit
from askance.estimation.results.share_intervals import share_interval
from askance.estimation.results.variable_fit import VariableFit
from askance.estimation.solvers.profile import profile_interval
from askance.models.hidden import HiddenVariables

# What one answer has, and several hidden variables have each.
_OF_ANSWERS = ("prevalence", "marginal_effects", "predict")


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
        return (*super().alarms, *open_signs(self.model, self.diagnostics.maxima, prior=self.repaired))

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
        return self.variable(self.variables[0])

    def variable(self, name: str) -> VariableFit:
        """One variable as a regression with the errors of the whole fit; refused where it depends on others."""
        return VariableFit.of(self, one_of(name, self.variables, "variable", "Name one of the hidden variables."))

    def outcome_effects(self, x: Any = None, outcome: str | None = None, confidence: float = 0.95) -> MarginalEffects:
        """Average change of an outcome when a hidden answer goes from its first value to another, all else as it is.

        Of categories the change of every probability, of counts and numbers that of the mean; errors are conditional
        on the covariates. Other hidden answers are as they are given the covariates.

        Args:
            x: whom to average over, as in `shares`; default: those asked.
            outcome: its name; default: the first.
            confidence: of the intervals.
        """
        return outcome_effects(self, x, outcome, confidence)

    def predict_outcome(self, x: Any, outcome: str | None = None, confidence: float = 0.95) -> Predictions:
        """Probabilities of the categories of an outcome, or its mean, for every row of x, whatever the hidden answer.

        Args:
            x: a table with the columns of the formula, or an array of covariates.
            outcome: its name; default: the first.
            confidence: of the intervals, which are about the mean and not about single outcomes.
        """
        return predict_outcome(self, x, outcome, confidence)

    def shares(self, variable: str | None = None, x: Any = None, confidence: float = 0.95) -> ProbabilityTable:
        """The share of every value of a hidden variable, averaged over respondents with their sampling weights.

        Errors are given the covariates of those who are averaged over; `fit.variable(name).prevalence(population=True)`
        has those of the population, and shares by group. Where a share is within eight standard errors of 0 or 1, or a
        weak prior acted, its interval is from the profile of the likelihood, which holds on the boundary too.

        Args:
            variable: its name; None: all of them, in their combinations.
            x: whom to average over: an array (n, p), or a table with the columns of the formula; default: those asked.
            confidence: of the intervals.
        """
        labels, belongs = self._values_of(variable)
        sample = self._sample(x, None, "shares")
        everybody = np.ones(sample.n_rows, dtype=bool)
        averages = [ShareAverage(self.model, slice(None), sample, everybody, own) for own in belongs]
        shares = np.array([average(self.theta).value for average in averages])
        slopes = np.array([average(self.theta).gradient for average in averages])
        errors: FloatArray = np.sqrt(np.einsum("ki,ij,kj->k", slopes, self.covariance, slopes))
        freedom = freedom_of(self.freedom, slopes)
        z = quantile(confidence, freedom)
        usual = share_interval(shares, errors, z, self.n_observations)
        lower, upper, profiled = boundary_intervals(self, averages, shares, errors, usual, z)
        told = ", ".join(str(label) for label, near in zip(labels, profiled, strict=True) if near)
        notes = (PROFILED.format("all" if profiled.all() else told),) if told else ()
        if variable is None and len(self.variables) > 1:
            notes = (f"answers are those of {' & '.join(self.variables)}", *notes)
        known = None if self.freedom is None else freedom
        return ProbabilityTable(labels, shares, errors, lower, upper, confidence, notes=notes, degrees_of_freedom=known)

    def _values_of(self, variable: str | None) -> tuple[tuple[Any, ...], AnyArray]:
        """Labels, and which combinations have each of them, shape (labels, H)."""
        if variable is None:
            return tuple(self.model.outputs.labels), np.eye(len(self.model.outputs), dtype=bool)
        place = self.variables.index(one_of(variable, self.variables, "variable", "Name one of the hidden variables."))
        labels = tuple(self.model.factors[place].outputs.labels)
        return labels, self.model.values[place] == np.arange(len(labels))[:, None]

    if not TYPE_CHECKING:  # others are no attributes to a checker either

        def __getattr__(self, name: str) -> NoReturn:
            """What a regression of an answer has, and where it is here."""
            own = f"; take fit.trait.{name}(…)" if name in _OF_ANSWERS else ""
            more = ", or fit.predict_outcome(x)" if name == "predict" and self.model.outcomes else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{own}{more}")
