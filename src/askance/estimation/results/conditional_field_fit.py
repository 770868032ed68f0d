"""The result of fitting a random field with public covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._checks import as_floats, columns_by_name
from askance._threads import one_thread
from askance.categories import Label
from askance.errors import ShapeError
from askance.estimation.problems.tilted_field import TiltedField
from askance.estimation.results.effects import quadratic, with_digits
from askance.estimation.results.field_fit import FieldDiagnostics, FieldEstimate, MarginalTable, table_with_errors
from askance.estimation.results.fit import normal_quantile
from askance.estimation.results.results import Result, as_json
from askance.models.field_rows import DistinctRows
from askance.models.random_field import RandomField
from askance.models.softmax import Covariates

# Averages are over all rows of x; their errors take derivatives at no more than this many, evenly spread.
_ROWS_OF_ERRORS = 1000


@dataclass(frozen=True, eq=False)
class CovariateEffects(Result):
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


@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionalFieldFit(FieldEstimate):
    """θ̂ of a random field with covariates, p_θ(y | x), with its covariance, and what follows from it.

    Attributes:
        field: what was fitted.
        theta: θ̂, shape (d,), in the units of x. Tables overlap, and adding a number to the coefficients of all values
            of a variable changes nothing: look at `effects` and `marginal`, not at single parameters.
        covariance: of θ̂, shape (d, d); NaN where none was worked out. With the prior's where the reports say nothing.
        x: the covariates of the respondents.
        method: "moments", "one-step" or "marginal".
        prior_scale: standard deviation of the normal prior: on the cells of tables, and on coefficients of covariates
            that are centred and have standard deviation 1.
        n_observations: number of reports.
        converged: whether the solver converged.
        log_likelihood: Σ log P(o | x, which clique) at θ̂; −∞ where it was not asked for.
        measured: the variables of every table that was measured.
        raw_statistics: their cells as they came out of the channel, unbiased, averaged over respondents, shape (m,).
        raw_standard_errors: of these.
        channel: specification of the channel.
        privacy_level: of the channel.
        diagnostics: when and how much the repair acted; distances are those of all moments, with covariates.
        alarm: why the reports cannot have come through the channel; empty where they can.
        factor: F with F Fᵀ = covariance, shape (d, d), which keeps its digits where covariates are far from 0; None
            after loading from a file.
    """

    field: RandomField
    theta: FloatArray
    covariance: FloatArray
    x: DistinctRows
    method: str
    prior_scale: float
    n_observations: int
    converged: bool
    log_likelihood: float
    measured: tuple[tuple[str, ...], ...]
    raw_statistics: FloatArray
    raw_standard_errors: FloatArray
    channel: Mapping[str, Any]
    privacy_level: float
    diagnostics: FieldDiagnostics = dataclass_field(default_factory=FieldDiagnostics)
    alarm: str = ""
    factor: FloatArray | None = None

    @property
    def messages(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        return (*self.alarms, *self.diagnostics.messages)

    # -- effects and tables ----------------------------------------------------------------------------------------

    @one_thread
    def effects(self, variable: int | str, confidence: float = 0.95) -> CovariateEffects:
        """How the covariates change the log-odds of a variable's values, per unit of each."""
        blocks = self.field.coefficients(np.arange(self.field.dimension), variable).astype(np.int64)
        name = variable if isinstance(variable, str) else self.field.variables[variable]
        z, labels = normal_quantile(confidence), tuple(self.field.categories[name].labels)
        others, first = blocks[:, 1:], blocks[:, :1]
        estimate = self.theta[others] - self.theta[first]
        variances = self.covariance[others, others] + self.covariance[first, first] - 2 * self.covariance[others, first]
        errors = np.sqrt(np.maximum(variances, 0))
        return CovariateEffects(
            variable=name,
            reference=labels[0],
            labels=labels[1:],
            terms=self.field.terms,
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
        per_row = self.field.marginal(self.theta, variables, DistinctRows(rows.different, np.arange(len(counts))))
        estimate = np.asarray(np.tensordot(counts, per_row, axes=1))
        wanted = self._positions(variables)
        if not self._has_covariance:
            return table_with_errors(
                self.field, wanted, estimate, np.full(estimate.size, np.nan), self.n_observations, confidence
            )
        chosen, weights = np.arange(len(counts)), counts
        if len(counts) > _ROWS_OF_ERRORS:
            # Evenly spread over respondents, so that a row that many of them have counts as often.
            points = (np.arange(_ROWS_OF_ERRORS) + 0.5) / _ROWS_OF_ERRORS
            drawn = np.minimum(np.searchsorted(np.cumsum(counts), points), len(counts) - 1)
            chosen, times = np.unique(drawn, return_counts=True)
            weights = times / _ROWS_OF_ERRORS
        weights = weights[:, None]
        slopes = TiltedField(self.field, [wanted]).slopes(self.theta, 0, rows.different[chosen], weights)[0]
        if self.factor is not None:
            variances = np.square(slopes @ self.factor).sum(axis=1)
        else:
            variances = with_digits(quadratic(slopes, self.covariance), quadratic(abs(slopes), abs(self.covariance)))
        return table_with_errors(self.field, wanted, estimate, variances, self.n_observations, confidence)

    @one_thread
    def tables(self, x: Covariates = None, confidence: float = 0.95) -> dict[tuple[str, ...], MarginalTable]:
        """The table of every clique given x, as in `marginal`, by the names of its variables."""
        names = map(self._named, self.field.cliques)
        return {each: self.marginal(each, x, confidence) for each in names}

    def _rows(self, x: Covariates) -> DistinctRows:
        if x is None:
            return self.x
        given = x if hasattr(x, "toarray") else as_floats(columns_by_name(x, self.field.terms), "x")
        if given.ndim == 0 or (given.ndim == 2 and not given.shape[0]):
            raise ShapeError(
                f"x has shape {given.shape}; allowed: ({len(self.field.terms)},) or (n, {len(self.field.terms)}).",
                remedy=f"Give rows of {', '.join(self.field.terms)}.",
            )
        return self.field.distinct_rows(given[None] if given.ndim == 1 else given)

    # -- records ---------------------------------------------------------------------------------------------------

    def sample(self, x: Covariates, rng: np.random.Generator) -> dict[str, AnyArray]:
        """One synthetic record for every row of x (n, p): columns of labels by the names of variables."""
        rows = self._rows(x)
        return self.field.decode(self.field.sample(self.theta, len(rows.inverse), rng, rows))

    # -- for people and programs -----------------------------------------------------------------------------------

    def summary(self, confidence: float = 0.95) -> str:
        """A table for people: the effect of every covariate on every variable."""
        ending = "yes" if self.converged else "NO"
        lines = [
            *(f"ALARM: {alarm}\n" for alarm in self.alarms),
            f"field of {len(self.field.variables)} variables, {len(self.field.cliques)} cliques, "
            f"{len(self.field.terms)} covariates   method {self.method}   reports {self.n_observations:,}   "
            f"privacy level {self.privacy_level:.4g}   converged {ending}",
            "change of log-odds per unit of a covariate, given all other variables",
        ]
        for variable in self.field.variables:
            effects = self.effects(variable, confidence)
            cells = [f"{label}: {term}" for term in effects.terms for label in effects.labels]
            heading = f"{variable} (against {effects.reference})"
            width = max(map(len, [heading, *cells]))
            interval = f"{100 * confidence:g} % interval"
            lines += ["", f"{heading:<{width}}  {'effect':>9}  {'std. error':>10}  {interval:>19}"]
            columns = (effects.estimate, effects.standard_error, effects.lower, effects.upper)
            for cell, *numbers in zip(cells, *(each.ravel().tolist() for each in columns), strict=True):
                estimate, error, low, high = numbers
                lines.append(f"{cell:<{width}}  {estimate:>9.4f}  {error:>10.4f}  {f'{low:.4f} … {high:.4f}':>19}")
        return "\n".join([*lines, "", *(f"note: {message}" for message in self.diagnostics.messages)])

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values: parameters, effects, unbiased tables and diagnostics; tables given x come from `marginal`."""
        content: dict[str, Any] = as_json(
            {
                **self._origin(),
                "cliques": list(map(self._named, self.field.cliques)),
                "covariates": self.field.terms,
                "parameters": dict(zip(self.field.parameter_names, self.theta.tolist(), strict=True)),
                "effects": [self.effects(variable, confidence).to_json() for variable in self.field.variables],
                "raw_tables": [{"variables": names, "estimate": table} for names, table in self.raw_tables.items()],
                "diagnostics": self.diagnostics.to_json() | {"repaired": self.diagnostics.repaired},
                "messages": self.messages,
            }
        )
        return content
