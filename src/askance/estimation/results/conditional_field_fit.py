"""The result of fitting a random field with public covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import as_floats
from askance._threads import one_thread
from askance.categories import Label
from askance.errors import InputError, ShapeError
from askance.estimation.freedom import normal_quantile
from askance.estimation.problems.tilted_field import TiltedField
from askance.estimation.results.effects import quadratic, with_digits
from askance.estimation.results.field_fit import FieldEstimate, MarginalTable, table_with_errors
from askance.estimation.results.fit_table import fit_notes
from askance.estimation.results.results import Result
from askance.models.field_rows import DistinctRows
from askance.models.named_columns import columns_by_name
from askance.models.softmax import Covariates
from askance.tables import Column, Table, Tabulated, estimate_columns

# Averages are over all rows of x; their errors take derivatives at no more than this many, evenly spread.
_ROWS_OF_ERRORS = 1000


@dataclass(frozen=True, eq=False)
class CovariateEffects(Result, Tabulated):
    """How covariates change the log-odds of a variable's values against its first; arrays of shape (p, values − 1).

    Effects are those on the variable given all others: odds ratios, as in logistic regression.

    Attributes:
        variable: its name.
        reference: the label that the others are compared with.
        labels: the other labels.
        terms: names of the covariates.
        estimate: change of the log-odds per unit of the covariate.
        standard_error: of the estimate.
        lower: lower ends of the intervals.
        upper: upper ends.
        confidence: of the intervals.
    """

    variable: str
    reference: Label
    labels: tuple[Label, ...]
    terms: tuple[str, ...]
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float

    def table(self) -> Table:
        """Changes of the log-odds of every value, by covariate."""
        figures = (self.estimate, self.standard_error, self.lower, self.upper)
        rows = [
            (f"{label} (against {self.reference})", term, *(values[i, j].item() for values in figures))
            for j, label in enumerate(self.labels)
            for i, term in enumerate(self.terms)
        ]
        columns = (Column("value", "heading"), Column("term"), *estimate_columns(self.confidence))
        return Table(columns, rows, title=f"Effects on the log-odds of {self.variable}")


@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionalFieldFit(FieldEstimate):
    """θ̂ of a random field with covariates, p_θ(y | x), with its covariance, and what follows from it.

    θ̂ is in the units of x. Tables overlap, and adding a number to the coefficients of all values of a variable changes
    nothing: look at `effects` and `marginal`, not at single parameters. The covariance has the prior's part where the
    reports say nothing; the prior is on the cells of tables, and on coefficients of covariates that are centred and
    have standard deviation 1. Raw statistics are averaged over respondents; the distances of the diagnostics are those
    of all moments, with covariates. Methods are "moments", "one-step" and "marginal"; the log-likelihood is −∞ where it
    was not asked for.

    Attributes:
        x: the covariates of the respondents; None after loading from a file.
        factor: F with F Fᵀ = covariance, shape (d, d), which keeps its digits where covariates are far from 0; None
            where there is none.
    """

    x: DistinctRows | None = None
    factor: FloatArray | None = None

    # -- effects and tables ----------------------------------------------------------------------------------------

    @one_thread
    def effects(self, variable: int | str, confidence: float = 0.95) -> CovariateEffects:
        """How the covariates change the log-odds of a variable's values, per unit of each."""
        blocks = self.model.coefficients(np.arange(self.model.dimension), variable).astype(np.int64)
        name = variable if isinstance(variable, str) else self.model.variables[variable]
        z, labels = normal_quantile(confidence), tuple(self.model.categories[name].labels)
        others, first = blocks[:, 1:], blocks[:, :1]
        estimate = self.theta[others] - self.theta[first]
        variances = self.covariance[others, others] + self.covariance[first, first] - 2 * self.covariance[others, first]
        errors = np.sqrt(np.maximum(variances, 0))
        return CovariateEffects(
            variable=name,
            reference=labels[0],
            labels=labels[1:],
            terms=self.model.terms,
            estimate=estimate,
            standard_error=errors,
            lower=estimate - z * errors,
            upper=estimate + z * errors,
            confidence=confidence,
        )

    @one_thread
    def marginal(self, variables: Sequence[int | str], x: Covariates = None, confidence: float = 0.95) -> MarginalTable:
        """The joint distribution of any variables given x, with delta-method errors.

        Args:
            variables: names or positions.
            x: covariates (p,) of one respondent; or (n, p), over which the distribution is averaged: a group, or
                a population. Default: the respondents. Errors are those of θ̂, given these x.
            confidence: of the intervals.
        """
        rows = self._rows(x)
        counts = np.bincount(rows.inverse, minlength=len(rows.different)) / len(rows.inverse)
        per_row = self.model.marginal(self.theta, variables, DistinctRows(rows.different, np.arange(len(counts))))
        estimate = np.asarray(np.tensordot(counts, per_row, axes=1))
        wanted = self._positions(variables)
        if not self._has_covariance:
            return table_with_errors(
                self.model, wanted, estimate, np.full(estimate.size, np.nan), self.n_observations, confidence
            )
        chosen, weights = np.arange(len(counts)), counts
        if len(counts) > _ROWS_OF_ERRORS:
            # Evenly spread over respondents, so that a row that many of them have counts as often.
            points = (np.arange(_ROWS_OF_ERRORS) + 0.5) / _ROWS_OF_ERRORS
            drawn = np.minimum(np.searchsorted(np.cumsum(counts), points), len(counts) - 1)
            chosen, times = np.unique(drawn, return_counts=True)
            weights = times / _ROWS_OF_ERRORS
        weights = weights[:, None]
        slopes = TiltedField(self.model, [wanted]).slopes(self.theta, 0, rows.different[chosen], weights)[0]
        if self.factor is not None:
            variances = np.square(slopes @ self.factor).sum(axis=1)
        else:
            variances = with_digits(quadratic(slopes, self.covariance), quadratic(abs(slopes), abs(self.covariance)))
        return table_with_errors(self.model, wanted, estimate, variances, self.n_observations, confidence)

    @one_thread
    def tables(self, x: Covariates = None, confidence: float = 0.95) -> dict[tuple[str, ...], MarginalTable]:
        """The table of every clique given x, as in `marginal`, by the names of its variables."""
        names = map(self._named, self.model.cliques)
        return {variable: self.marginal(variable, x, confidence) for variable in names}

    def _rows(self, x: Covariates) -> DistinctRows:
        if x is None and self.x is not None:
            return self.x
        if x is None:
            raise InputError(
                "x is not given, and the covariates of respondents are never written to a file with a fit.",
                remedy=f"Give x: rows of {', '.join(self.model.terms)}.",
            )
        rows = x if hasattr(x, "toarray") else as_floats(columns_by_name(x, self.model.terms), "x")
        if rows.ndim == 0 or (rows.ndim == 2 and not rows.shape[0]):
            raise ShapeError(
                f"x has shape {rows.shape}; allowed: ({len(self.model.terms)},) or (n, {len(self.model.terms)}).",
                remedy=f"Give rows of {', '.join(self.model.terms)}.",
            )
        return self.model.distinct_rows(rows[None] if rows.ndim == 1 else rows)

    # -- records ---------------------------------------------------------------------------------------------------

    def sample(self, x: Covariates, rng: np.random.Generator) -> dict[str, AnyArray]:
        """One synthetic record for every row of x (n, p): columns of labels by the names of variables."""
        rows = self._rows(x)
        return self.model.decode(self.model.sample(self.theta, len(rows.inverse), rng, rows))

    # -- for people and programs -----------------------------------------------------------------------------------

    def table(self, confidence: float = 0.95) -> Table:
        """The effect of every covariate on every variable."""
        rows: list[tuple[Any, ...]] = []
        for effects in (self.effects(variable, confidence) for variable in self.model.variables):
            heading = f"{effects.variable} (against {effects.reference})"
            cells = [f"{label}: {term}" for term in effects.terms for label in effects.labels]
            figures = (effects.estimate, effects.standard_error, effects.lower, effects.upper)
            rows += zip([heading] * len(cells), cells, *(values.ravel().tolist() for values in figures), strict=True)
        columns = estimate_columns(confidence, "effect", "decimal")
        return Table(
            (Column("variable", "heading"), Column("value: covariate", key="cell"), *columns),
            rows,
            title=self._line(f", {len(self.model.terms)} covariates"),
            notes=[
                "change of log-odds per unit of a covariate, given all other variables",
                *fit_notes(self, confidence),
            ],
            alarms=self.alarms,
            most_rows=len(rows),
        )

    def _details(self, confidence: float) -> dict[str, Any]:
        """Parameters, effects and unbiased tables; tables given x come from `marginal`."""
        return {
            **super()._details(confidence),
            "cliques": list(map(self._named, self.model.cliques)),
            "covariates": self.model.terms,
            "parameters": dict(zip(self.parameter_names, self.theta.tolist(), strict=True)),
            "effects": [self.effects(variable, confidence).to_json() for variable in self.model.variables],
            "raw_tables": [{"variables": names, "estimate": table} for names, table in self.raw_tables.items()],
        }
