"""The result of fitting a random field to noised tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._threads import one_thread
from askance.categories import Label
from askance.errors import InputError
from askance.estimation.freedom import normal_quantile
from askance.estimation.problems.field_tables import MeasuredField
from askance.estimation.results.fit import Fit
from askance.estimation.results.fit_table import fit_line, fit_notes
from askance.estimation.results.results import Result
from askance.estimation.results.share_intervals import share_interval
from askance.models.random_field import RandomField
from askance.tables import Column, Table, Tabulated, estimate_columns

#: A prior that moves no cell by more than this share of its standard error leaves 95 % intervals above 94 %.
NOTICEABLE_PULL = 0.25


@dataclass(frozen=True)
class FieldDiagnostics(Result):
    """How far the tables as they came out of the channel are from those of the fitted field, and why.

    Attributes:
        negative_cells: how many unbiased cells lie below 0 (or above 1).
        distance: rᵀC⁺r with r = μ̂ − μ(θ̂): how far the two are apart, in units of their noise.
        degrees_of_freedom: what the distance is on average where the model is right.
        p_value: probability of a larger distance where the model is right.
        parameters: how many numbers decide the distribution.
        effective_parameters: how many of them the reports determine; the others are left to the prior.
        prior_pull: the largest shift of a cell by the prior, in standard errors of that cell.
        enough_reports: the number of reports with which about half of the parameters would be determined by them.
        iterations: evaluations of the solver.
    """

    negative_cells: int = 0
    distance: float = math.nan
    degrees_of_freedom: float = math.nan
    p_value: float = math.nan
    parameters: int = 0
    effective_parameters: float = math.nan
    prior_pull: float = math.nan
    enough_reports: int = 0
    iterations: int = 0

    @property
    def repaired(self) -> bool:
        """Whether the prior moved some cell noticeably: by more than a quarter of its standard error."""
        return not self.prior_pull <= NOTICEABLE_PULL

    @property
    def messages(self) -> tuple[str, ...]:
        """What a reader should know, in plain words."""
        messages = []
        if self.negative_cells:
            messages.append(
                f"{self.negative_cells} cells of the unbiased tables are no probabilities; those fitted are"
            )
        if math.isnan(self.prior_pull):
            messages.append("no covariance was worked out: there are no intervals")
        elif self.repaired:
            messages.append(
                f"the prior moved a cell by up to {self.prior_pull:.2g} standard errors and left "
                f"{self.effective_parameters:.0f} of {self.parameters} parameters to the reports: intervals describe "
                "the posterior; they cover at their rate on average over fields like the prior's, not for every cell"
            )
        else:
            messages.append("the prior moved no cell noticeably: intervals cover at their nominal rate")
        if self.p_value < 1e-3:
            messages.append(
                f"the tables are further from the field than noise explains (p = {self.p_value:.2g}): the variables "
                "depend on each other in more ways than its cliques allow, or the channel was another one"
            )
        return tuple(messages)


@dataclass(frozen=True, eq=False)
class MarginalTable(Result, Tabulated):
    """The joint distribution of some variables; arrays have their sizes as shape.

    Attributes:
        variables: names.
        labels: of every variable.
        estimate: the probability of every cell.
        standard_error: of the estimate.
        lower: lower ends of the intervals, which stay between 0 and 1 (`share_interval`).
        upper: upper ends.
        confidence: of the intervals.
    """

    variables: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float

    def rows(self) -> Iterator[tuple[tuple[Label, ...], float, float, float, float]]:
        """Labels, estimate, standard error, lower and upper end of every cell."""
        columns = (self.estimate, self.standard_error, self.lower, self.upper)
        for labels, *values in zip(
            product(*self.labels), *(column.ravel().tolist() for column in columns), strict=True
        ):
            yield labels, *values

    def table(self) -> Table:
        """The probability of every cell, with its error and interval."""
        return Table(
            (*map(Column, self.variables), *estimate_columns(self.confidence, "share", "decimal")),
            [(*labels, *values) for labels, *values in self.rows()],
            title=f"Shares of {', '.join(self.variables)}",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FieldEstimate(Fit):
    """What fits of random fields share, with covariates and without.

    Attributes:
        model: the field.
        covariance_kind: "posterior": the prior has a part in every fit of a field.
        prior_scale: standard deviation of the normal prior on every parameter.
        measured: the variables of every table that was measured.
        raw_statistics: their cells as they came out of the channel, unbiased, shape (m,).
        raw_standard_errors: of these.
        diagnostics: when and how much the repair acted.
    """

    model: RandomField
    covariance_kind: str = "posterior"
    prior_scale: float
    measured: tuple[tuple[str, ...], ...]
    raw_statistics: FloatArray
    raw_standard_errors: FloatArray
    diagnostics: FieldDiagnostics = dataclass_field(default_factory=FieldDiagnostics)

    def __post_init__(self) -> None:
        super().__post_init__()
        least = self.raw_standard_errors.min(initial=0.0)
        if not self.prior_scale > 0 or least < 0:
            raise InputError(
                f"prior_scale is {self.prior_scale}, the smallest error {least:.6g}; allowed: above 0, and at least 0.",
                remedy="Take the fit as askance gave it.",
            )

    @property
    def field(self) -> RandomField:
        """The model."""
        return self.model

    @property
    def raw_tables(self) -> dict[tuple[str, ...], FloatArray]:
        """The unbiased tables as they came out of the channel; cells may be negative, and tables disagree."""
        return split_tables(self.model, self.measured, self.raw_statistics)

    @property
    def _has_covariance(self) -> bool:
        return bool(np.isfinite(self.covariance[0, 0]))

    def _positions(self, variables: Sequence[int | str]) -> tuple[int, ...]:
        """Numbers of variables that are given by name or position."""
        return tuple(self.model.variables.index(v) if isinstance(v, str) else int(v) for v in variables)

    def _named(self, clique: Iterable[int]) -> tuple[str, ...]:
        """Names of variables."""
        return tuple(self.model.variables[v] for v in clique)

    def _line(self, covariates: str = "") -> str:
        """What was fitted to what, in one line."""
        parts = f"{len(self.model.variables)} variables, {len(self.model.cliques)} cliques{covariates}"
        return fit_line(self, f"field of {parts}")

    def _details(self, confidence: float) -> dict[str, Any]:
        return {
            "prior_scale": self.prior_scale,
            "variables": {name: list(known.labels) for name, known in self.model.categories.items()},
            "diagnostics": self.diagnostics.to_json() | {"repaired": self.repaired},
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class FieldFit(FieldEstimate):
    """θ̂ of a random field with its covariance, and the tables that follow from it.

    Tables of parameters overlap; the prior decides between equal ones, and single parameters mean little: look at
    tables. The covariance is the posterior one; NaN where none was worked out. Methods are "moments", "ridge",
    "one-step" and "marginal"; the log-likelihood is Σ log P(o | which clique) at θ̂.
    """

    @cached_property
    def statistics(self) -> FloatArray:
        """μ(θ̂): the cells of all cliques of the fitted field, shape (d,)."""
        return self.model.mean_statistics(self.theta)

    # -- tables ----------------------------------------------------------------------------------------------------

    @one_thread
    def tables(self, confidence: float = 0.95) -> dict[tuple[str, ...], MarginalTable]:
        """The fitted table of every clique, by the names of its variables."""
        covariance, result = self._covariance_of_statistics, {}
        for number, clique in enumerate(self.model.cliques):
            part = slice(self.model.offsets[number], self.model.offsets[number + 1])
            estimate = self.statistics[part].reshape([self.model.sizes[v] for v in clique])
            variances = np.diagonal(covariance)[part]
            result[self._named(clique)] = table_with_errors(
                self.model, clique, estimate, variances, self.n_observations, confidence
            )
        return result

    @cached_property
    def _covariance_of_statistics(self) -> FloatArray:
        """I Σ I, shape (d, d)."""
        if not self._has_covariance:
            return self.covariance
        information = self.model.total_information(self.theta)
        return np.asarray(information @ self.covariance @ information)

    @one_thread
    def marginal(self, variables: Sequence[int | str], confidence: float = 0.95) -> MarginalTable:
        """The joint distribution of any variables, with delta-method errors."""
        estimate = self.model.marginal(self.theta, variables)  # refuses what are no variables
        wanted = self._positions(variables)
        if not self._has_covariance:
            return table_with_errors(
                self.model, wanted, estimate, np.full(estimate.size, np.nan), self.n_observations, confidence
            )
        slopes = MeasuredField(self.model, [wanted]).jacobian(self.theta)
        variances = np.einsum("ij,jk,ik->i", slopes, self.covariance, slopes)
        return table_with_errors(self.model, wanted, estimate, variances, self.n_observations, confidence)

    @property
    def raw_errors(self) -> dict[tuple[str, ...], FloatArray]:
        """The standard errors of the unbiased tables."""
        return split_tables(self.model, self.measured, self.raw_standard_errors)

    def unbiased(self, variables: Sequence[str]) -> FloatArray:
        """The table of some variables as it came out of the channel, summed from a larger one where need be.

        NaN where no measured table has all of them.
        """
        for names, table in sorted(self.raw_tables.items(), key=lambda item: item[1].size):
            if set(variables) <= set(names):
                summed = table.sum(axis=tuple(i for i, name in enumerate(names) if name not in variables))
                left = [name for name in names if name in variables]
                return np.asarray(summed.transpose([left.index(name) for name in variables]))
        sizes = dict(zip(self.model.variables, self.model.sizes, strict=True))
        return np.full([sizes[name] for name in variables], np.nan)

    # -- records ---------------------------------------------------------------------------------------------------

    def sample(self, size: int, rng: np.random.Generator) -> dict[str, AnyArray]:
        """Synthetic records drawn from the fitted field: columns of labels by the names of variables."""
        return self.model.decode(self.model.sample(self.theta, size, rng))

    # -- for people and programs -----------------------------------------------------------------------------------

    def table(self, confidence: float = 0.95) -> Table:
        """Every cell of every clique, fitted and unbiased."""
        rows = [
            (", ".join(names), ", ".join(map(str, labels)), *figures, unbiased)
            for names, cells in self.tables(confidence).items()
            for (labels, *figures), unbiased in zip(cells.rows(), self.unbiased(names).ravel().tolist(), strict=True)
        ]
        shares = estimate_columns(confidence, "share", "decimal")
        return Table(
            (Column("variables", "heading"), Column("cell"), *shares, Column("unbiased", "decimal")),
            rows,
            title=self._line(),
            notes=fit_notes(self, confidence),
            alarms=self.alarms,
            most_rows=len(rows),
        )

    def _details(self, confidence: float) -> dict[str, Any]:
        """Fitted and unbiased tables; parameters and covariances are in files."""
        errors = self.raw_errors
        return {
            **super()._details(confidence),
            "tables": [table.to_json() for table in self.tables(confidence).values()],
            "raw_tables": [
                {"variables": names, "estimate": table, "standard_error": errors[names]}
                for names, table in self.raw_tables.items()
            ],
        }


def enough_reports(informed: FloatArray, precision: float, parameters: int, n: int) -> int:
    """The number of reports at which half of the parameters are determined: precision grows in proportion to it."""
    low, high = -20.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        precise = 2.0**middle * informed
        share = float(np.sum(precise / (precise + max(precision, 1e-300))))
        low, high = (low, middle) if share >= parameters / 2 else (middle, high)
    return int(min(math.ceil(n * 2.0**high), 1 << 62))


def split_tables(
    field: RandomField, measured: Sequence[tuple[str, ...]], values: FloatArray
) -> dict[tuple[str, ...], FloatArray]:
    """Cells of all measured tables, one after the other, as tables by the names of their variables."""
    sizes, start, result = dict(zip(field.variables, field.sizes, strict=True)), 0, {}
    for names in measured:
        shape = [sizes[name] for name in names]
        end = start + math.prod(shape)
        result[names] = values[start:end].reshape(shape)
        start = end
    return result


def table_with_errors(
    field: RandomField, clique: Sequence[int], estimate: FloatArray, variances: FloatArray, n: int, confidence: float
) -> MarginalTable:
    """A table of probabilities (sizes of the clique's variables) with intervals, from n reports."""
    errors = np.sqrt(np.maximum(variances, 0)).reshape(estimate.shape)
    lower, upper = share_interval(estimate, errors, normal_quantile(confidence), n)
    certain = errors == 0  # structural zeros
    names = tuple(field.variables[v] for v in clique)
    return MarginalTable(
        variables=names,
        labels=tuple(tuple(field.categories[name].labels) for name in names),
        estimate=estimate,
        standard_error=errors,
        lower=np.where(certain, estimate, lower),
        upper=np.where(certain, estimate, upper),
        confidence=confidence,
    )
