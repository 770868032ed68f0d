"""The result of estimation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance.errors import InputError
from askance.estimation.checks.sound import require_covariance, require_sound
from askance.estimation.freedom import Freedom, normal_quantile, quantile, two_sided
from askance.estimation.outcome import Diagnostics
from askance.estimation.results.fit_table import fit_line, fit_notes
from askance.estimation.results.share_intervals import share_interval
from askance.models.enumerated import Enumerated
from askance.tables import Column, Table, Tabulated, as_json, columns_of_test, estimate_columns

# F with fewer degrees of freedom below says nothing: there are not as many clusters as it takes.
_LEAST_DENOMINATOR = 0.5
# Hypotheses whose estimates have a correlation matrix with an eigenvalue below this say the same to within rounding.
_DEPENDENT = 1e-12


class Interval(NamedTuple):
    """Lower and upper ends, shape (d,) each."""

    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True)
class WaldTest(Tabulated):
    """Test of linear hypotheses on θ.

    Attributes:
        statistic: W = (Lθ̂ − c)ᵀ (L Σ Lᵀ)⁻¹ (Lθ̂ − c), with a χ² distribution; or, where Σ comes from few clusters and
            `denominator` is finite, F = (η − q + 1)/(η q) · W (Hotelling's; `Freedom.joint` has η).
        degrees_of_freedom: q, the number of restrictions.
        p_value: probability of a larger statistic.
        hypotheses: what is tested, in words.
        denominator: η − q + 1; infinite where the statistic is χ².
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    hypotheses: tuple[str, ...] = ()
    denominator: float = math.inf

    @property
    def text(self) -> str:
        """In one line.

        >>> WaldTest(4.2, 2, 0.122).text, WaldTest(2.1, 2, 0.211, denominator=5.44).text
        ('χ² = 4.20 on 2 df, P = 0.122', 'F = 2.10 on 2 and 5.4 df, P = 0.211')
        """
        name, more = ("χ²", "") if math.isinf(self.denominator) else ("F", f" and {self.denominator:.1f}")
        return f"{name} = {self.statistic:.2f} on {self.degrees_of_freedom}{more} df, P = {self.p_value:.3g}"

    def table(self) -> Table:
        """The statistic, its degrees of freedom and its p-value."""
        by, more = ("χ²", ()) if math.isinf(self.denominator) else ("F", (self.denominator,))
        row = ("; ".join(self.hypotheses), self.statistic, self.degrees_of_freedom, *more, self.p_value)
        return Table((Column("hypotheses"), *columns_of_test(by)), [row], title="Wald test")

    def to_json(self) -> dict[str, Any]:
        """Plain values; no denominator where the statistic is χ²."""
        content: dict[str, Any] = as_json(vars(self))
        if math.isinf(self.denominator):
            del content["denominator"]
        return content


@dataclass(frozen=True)
class ProbabilityTable(Tabulated):
    """Estimated probability of every output with its interval; arrays of shape (m,).

    Attributes:
        unbiased: where `estimate` is something else, such as the mean of a posterior.
        notes: what a reader should know.
        degrees_of_freedom: of t, where the errors come from few clusters; None: quantiles are normal.
    """

    labels: tuple[Any, ...]
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float = 0.95
    unbiased: FloatArray | None = None
    notes: tuple[str, ...] = ()
    degrees_of_freedom: FloatArray | None = None

    def table(self) -> Table:
        """The share of every answer, with its error and interval; all of them are shown."""
        figures = [self.estimate, self.standard_error, self.lower, self.upper]
        columns = [Column("answer"), *estimate_columns(self.confidence, "share", "decimal")]
        if self.unbiased is not None:
            figures, columns = [*figures, self.unbiased], [*columns, Column("unbiased", "decimal")]
        rows = list(zip(self.labels, *(values.tolist() for values in figures), strict=True))
        return Table(columns, rows, notes=[f"{100 * self.confidence:g} % intervals", *self.notes], most_rows=len(rows))


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(Tabulated):
    """θ̂ with its covariance, and how it came about; what a model adds to it stands in the classes below.

    Attributes:
        model: what was fitted.
        theta: θ̂, shape (d,).
        covariance: estimated Cov(θ̂), shape (d, d); NaN where no valid one is known.
        n_observations: number of reports.
        method: the estimator.
        covariance_kind: "expected", "observed", "robust" or "posterior" (a prior acted).
        converged: whether the solver converged; never silently false.
        log_likelihood: Σ log P(o) at θ̂; −∞ where sums of reports have none.
        raw_statistics: μ̂ = mean of β, unbiased, as it came out of the channel; None where no β is used.
        channel: specification of the channel.
        privacy_level: of the channel; infinite when there is no guarantee.
        diagnostics: what happened on the way.
        alarm: why the reports cannot have come through the channel; empty where they can.
        kept_tables: what was computed while the respondents were at hand, and is kept with the fit; see `with_tables`.
        freedom: how well a covariance is known that comes from few clusters; None: quantiles are normal.
    """

    model: Any
    theta: FloatArray
    covariance: FloatArray
    n_observations: int
    method: str
    covariance_kind: str
    converged: bool
    log_likelihood: float
    raw_statistics: FloatArray | None
    channel: Mapping[str, Any]
    privacy_level: float
    diagnostics: Any = field(default_factory=Diagnostics)
    alarm: str = ""
    kept_tables: tuple[Table, ...] = ()
    freedom: Freedom | None = None

    def __post_init__(self) -> None:
        require_sound(self.theta, self.covariance, self.n_observations, self.privacy_level)

    # -- what a reader should know -----------------------------------------------------------------------------------

    @property
    def alarms(self) -> tuple[str, ...]:
        """What a reader must know before anything else: the alarm, where there is one."""
        return (self.alarm,) if self.alarm else ()

    @property
    def messages(self) -> tuple[str, ...]:
        """What a reader should know, in plain words, alarms first."""
        return (*self.alarms, *self.diagnostics.messages)

    @property
    def repaired(self) -> bool:
        """Whether something beside the data decided, because they led outside the model: a prior, a ridge."""
        return bool(self.diagnostics.repaired)

    def with_tables(self, *results: Table | Tabulated) -> Self:
        """The fit with the tables of further results, which files keep and reports show.

        A file holds no respondents, and shares or effects of those who were asked cannot be computed from it: they are
        kept as tables. `save(fit.with_tables(fit.prevalence(), fit.marginal_effects()), path)`.
        """
        tables = (result.table() if isinstance(result, Tabulated) else result for result in results)
        return replace(self, kept_tables=(*self.kept_tables, *tables))

    # -- errors and tests ----------------------------------------------------------------------------------------------

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Of the entries of θ̂."""
        names: tuple[str, ...] = self.model.parameter_names
        return names

    @property
    def coefficients(self) -> FloatArray:
        """θ̂, shape (d,), in the order of `parameter_names`, `standard_errors` and `confidence_interval`."""
        return self.theta

    @property
    def standard_errors(self) -> FloatArray:
        """Square roots of the diagonal of the covariance, shape (d,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Of the t distribution of every parameter, shape (d,); infinite where it is normal.

        NaN where one cluster alone says something of a parameter: nothing tells how far clusters differ in it.
        """
        d = len(self.theta)
        return np.full(d, np.inf) if self.freedom is None else self.freedom.of(np.eye(d))

    def confidence_interval(self, confidence: float = 0.95) -> Interval:
        """θ̂ ± z · standard error, or t for z where there are few clusters; see `covariance` for what it covers."""
        reach = quantile(confidence, self.degrees_of_freedom) * self.standard_errors
        return Interval(self.theta - reach, self.theta + reach)

    def wald_test(
        self,
        parameters: Sequence[str] | str | None = None,
        value: ArrayLike = 0.0,
        *,
        contrasts: ArrayLike | None = None,
    ) -> WaldTest:
        """Test that the named parameters (default: all), or the rows of `contrasts` times θ, equal `value`."""
        L = self._contrasts(parameters, contrasts)
        target = np.asarray(value, dtype=np.float64)
        if target.shape not in ((), (len(L),)) or not np.isfinite(target).all():
            raise InputError(
                f"value has shape {target.shape} or is not finite; allowed: a number, or {len(L)} of them.",
                remedy="Test against 0 by leaving it out.",
            )
        spread = L @ self.covariance @ L.T
        size = np.sqrt(np.diag(spread))
        testable = np.isfinite(spread).all() and (size > 0).all()
        if not testable or np.linalg.eigvalsh(spread / np.outer(size, size))[0] < _DEPENDENT:
            raise InputError(
                f"the hypotheses {np.round(L, 6).tolist()} cannot be tested: a row is zero, repeats others, or this "
                "fit has no covariance for it.",
                remedy="Name every parameter once in `parameters`, or give independent rows in `contrasts`.",
            )
        difference = L @ self.theta - target
        in_words = _in_words(L, self.parameter_names, np.broadcast_to(target, len(L)))
        test = self._tested(float(difference @ np.linalg.solve(spread, difference)), L)
        return replace(test, hypotheses=in_words)

    def _tested(self, wald: float, L: FloatArray) -> WaldTest:
        """By χ², or by F where the covariance comes from few clusters."""
        from scipy.special import chdtrc, fdtrc

        q = len(L)
        if self.freedom is None:
            return WaldTest(wald, q, float(chdtrc(q, wald)))
        eta = self.freedom.joint(L)
        if not eta - q + 1 > _LEAST_DENOMINATOR:
            raise InputError(
                f"there are too few clusters to test {q} hypotheses at once: the spread of clusters has "
                f"{'no' if math.isnan(eta) else f'{eta:.2g}'} degrees of freedom; allowed: at least {q}.",
                remedy="Test fewer at a time.",
            )
        statistic = wald * (eta - q + 1) / (eta * q)
        return WaldTest(statistic, q, float(fdtrc(q, eta - q + 1, statistic)), denominator=eta - q + 1)

    def _contrasts(self, parameters: Sequence[str] | str | None, contrasts: ArrayLike | None) -> FloatArray:
        """L, one row per hypothesis on θ."""
        dimension = len(self.theta)
        if contrasts is None:
            names = self.parameter_names if parameters is None else parameters
            names = (names,) if isinstance(names, str) else names
            if not len(names):
                raise InputError("parameters is empty.", remedy="Name at least one, or leave it out to test all.")
            return np.eye(dimension)[[self._position(name) for name in names]]
        rows = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
        if rows.shape[1] != dimension:
            raise InputError(
                f"contrasts has {rows.shape[1]} columns; allowed: {dimension}, one per parameter.",
                remedy="Give one row per hypothesis.",
            )
        return rows

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p-value of θ_j = 0 for each parameter, shape (d,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return two_sided(self.theta / self.standard_errors, self.degrees_of_freedom)

    def _position(self, name: str) -> int:
        if name not in self.parameter_names:
            raise InputError(
                f"there is no parameter {name!r}; allowed: {', '.join(self.parameter_names)}.",
                remedy="Parameters are named after statistics, or after category and term.",
            )
        return self.parameter_names.index(name)

    # -- for people and programs -------------------------------------------------------------------------------------

    def summary(self, confidence: float = 0.95) -> str:
        """The table for people."""
        return self.table(confidence).to_text()

    def table(self, confidence: float = 0.95) -> Table:
        """Every parameter with its error, its test against 0 and its interval; what was fitted to what, and how."""
        return Table(
            (Column("parameter"), *self.coefficient_columns(confidence)),
            self.coefficient_rows(confidence, self.parameter_names),
            title=fit_line(self),
            notes=fit_notes(self, confidence),
            alarms=self.alarms,
        )

    def coefficient_columns(self, confidence: float) -> tuple[Column, ...]:
        """What `coefficient_rows` holds beside names."""
        return estimate_columns(confidence, tests="z" if self.freedom is None else "t")

    def coefficient_rows(
        self, confidence: float, *names: Sequence[str], by_t: bool | None = None
    ) -> list[tuple[Any, ...]]:
        """Names, θ̂, standard errors, z (or t and its degrees of freedom), p-values and intervals of all parameters."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.theta / self.standard_errors
        by_t = self.freedom is not None if by_t is None else by_t
        tests = (z, self.degrees_of_freedom) if by_t else (z,)
        figures = (self.theta, self.standard_errors, *tests, self.p_values, *self.confidence_interval(confidence))
        return list(zip(*names, *(values.tolist() for values in figures), strict=True))

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values: how the fit came about, and what its model says."""
        content: dict[str, Any] = as_json(
            {
                "method": self.method,
                "n": self.n_observations,
                "privacy_level": self.privacy_level,
                "channel": dict(self.channel),
                "converged": self.converged,
                "log_likelihood": self.log_likelihood,
                "confidence": confidence,
                **self._details(confidence),
                "messages": self.messages,
            }
        )
        return content

    def _details(self, confidence: float) -> dict[str, Any]:
        """What the model adds to `to_json`."""
        return {"parameters": self.table(confidence).to_json()["rows"], "covariance_kind": self.covariance_kind}


def _in_words(contrasts: FloatArray, names: Sequence[str], values: FloatArray) -> tuple[str, ...]:
    """Hypotheses as people write them.

    >>> _in_words(np.array([[1.0, 0.0], [2.0, -1.0]]), ["age", "female"], np.array([0.0, 0.5]))
    ('age = 0', '2 age − female = 0.5')
    """
    texts = []
    for row, value in zip(contrasts.tolist(), values.tolist(), strict=True):
        parts = [
            f"{' − ' if factor < 0 else ' + '}{'' if abs(factor) == 1 else f'{abs(factor):g} '}{name}"
            for factor, name in zip(row, names, strict=True)
            if factor
        ]
        left = "".join(parts)
        texts.append(f"{left[3:] if left.startswith(' +') else left[1:]} = {value:g}")
    return tuple(texts)


@dataclass(frozen=True, eq=False, kw_only=True)
class DistributionFit(Fit):
    """A fit of a model without covariates: one distribution over the outputs.

    Attributes:
        raw_covariance: of `raw_statistics`, shape (d, d), where they belong to no distribution and a prior acted; None
            elsewhere.

    >>> from askance import ForcedResponse, Tally, estimate
    >>> design = ForcedResponse("2/3", "1/6")
    >>> fit = estimate(Enumerated.saturated(design.outputs), Tally(design, [600, 400]))
    >>> fit.probabilities().estimate.round(3)  # (400/1000 − 1/6) / (2/3) say yes
    array([0.65, 0.35])
    >>> fit.privacy_level == design.privacy_level
    True
    """

    model: Enumerated
    raw_covariance: FloatArray | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.raw_covariance is not None:
            require_covariance(self.raw_covariance, len(self.theta), "raw_covariance")

    @property
    def statistics(self) -> FloatArray:
        """μ(θ̂): the statistics of the fitted model, always possible ones; compare `raw_statistics`."""
        return self.model.mean_statistics(self.theta)

    def probabilities(self, confidence: float = 0.95) -> ProbabilityTable:
        """p_θ̂(y) of every output, with delta-method errors and intervals within [0, 1] (`share_interval`).

        Where a prior acted and every output has a share of its own, errors are those of the unbiased shares
        (`unbiased_shares`), and intervals hold what these, moved to 0 or 1 where they are beyond, do not contradict,
        and p_θ̂: the posterior of a share whose unbiased estimate is below 0 is too narrow, and forcing many shares
        above 0 takes from those that are large.
        """
        p, unbiased = self.model.probabilities(self.theta), self.unbiased_shares
        if unbiased is not None:
            shares, errors = unbiased
            possible = shares.clip(0.0, 1.0)
            lower, upper = share_interval(possible, errors, normal_quantile(confidence), self.n_observations)
            ends = np.minimum(lower, p), np.maximum(upper, p)
            return ProbabilityTable(tuple(self.model.outputs.labels), p, errors, *ends, confidence, shares)
        slopes = p[:, None] * (self.model.table.T - self.statistics)
        errors = np.sqrt(np.einsum("yi,ij,yj->y", slopes, self.covariance, slopes))
        lower, upper = share_interval(p, errors, normal_quantile(confidence), self.n_observations)
        return ProbabilityTable(tuple(self.model.outputs.labels), p, errors, lower, upper, confidence)

    @cached_property
    def unbiased_shares(self) -> tuple[FloatArray, FloatArray] | None:
        """Shares that add up to 1 and have the right mean, but may be below 0, and their errors, each of shape (m,).

        Only where a prior acted and the statistics say the share of every output, Σ_y p(y) (1, φ(y)) = (1, μ); None
        elsewhere: then `probabilities` are such shares themselves, or there are none.
        """
        if self.raw_covariance is None or self.raw_statistics is None:
            return None
        system = np.vstack([np.ones(self.model.table.shape[1]), self.model.table])
        if len(system) != system.shape[1]:
            return None
        inverse = np.linalg.inv(system)
        shares = inverse @ np.concatenate([[1.0], self.raw_statistics])
        inner = inverse[:, 1:]
        variances = ((inner @ self.raw_covariance) * inner).sum(axis=1)
        return shares, np.sqrt(variances.clip(0.0))
