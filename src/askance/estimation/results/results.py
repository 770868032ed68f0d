"""What a regression is asked for, as small tables: arrays with names, and plain JSON values of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from askance._arrays import FloatArray
from askance.estimation.results.result_tables import (
    effects_table,
    one_share_text,
    predictions_table,
    prevalence_table,
)
from askance.tables import Column, Table, Tabulated, as_json, columns_of_test

if TYPE_CHECKING:
    from askance.estimation.results.contrasts import Contrasts

__all__ = ["as_json"]  # others know it from here

#: What comes with every guess about a single respondent.
POSTERIOR_WARNING = (
    "These are guesses of a model about groups of similar respondents, not knowledge about any one of them. The "
    "respondents were promised that nobody can tell their answer: publishing these numbers, or linking them to names, "
    "may break that promise."
)


class Result:
    """A frozen dataclass of arrays and plain values."""

    def to_json(self) -> dict[str, Any]:
        """Every field as plain JSON values; NaN and infinity become null, degrees of freedom where there are any."""
        content = {field.name: as_json(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in content.items() if name != "degrees_of_freedom" or value is not None}


@dataclass(frozen=True, eq=False)
class Prevalence(Result, Tabulated):
    """Average probability of every output, overall or by group; arrays of shape (groups, m).

    Attributes:
        groups: labels of the groups; ("all",) when there are none.
        outputs: labels of the m outputs.
        n_respondents: how many respondents each group was averaged over, shape (groups,).
        estimate: Ê p_θ̂(y | x).
        standard_error: of the estimate.
        lower: lower ends of the intervals, computed on the log-odds scale.
        upper: upper ends.
        confidence: of the intervals.
        population: whether the sampling of x is part of the errors; otherwise they are conditional on these x.
        by: the name of the column that made the groups, where it has one.
        covariance: of all estimates together, shape (groups, m, groups, m); None where they are more than 500. It is
            not in `to_json`.
        degrees_of_freedom: of the intervals, where the errors come from few clusters; None: they are normal.
        notes: what a reader should know.
    """

    groups: tuple[Any, ...]
    outputs: tuple[Any, ...]
    n_respondents: FloatArray
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    population: bool
    by: str | None = None
    covariance: FloatArray | None = None
    degrees_of_freedom: FloatArray | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Every field but the covariance as plain JSON values."""
        return {name: value for name, value in super().to_json().items() if name != "covariance"}

    def contrasts(
        self,
        reference: Any = None,
        *,
        between: Literal["groups", "answers"] | None = None,
        ratio: bool = False,
        confidence: float | None = None,
    ) -> Contrasts:
        """Differences between shares, or their ratios, with errors from their joint covariance (the delta method).

        Shares of groups of one fit are correlated, so that their errors alone do not tell that of a difference. Two
        sets of covariates are two groups: `fit.prevalence(both, by=labels).contrasts()`.

        Args:
            reference: the group (or answer) that all others are compared with; default: every pair.
            between: what is compared: "groups", of the same answer, or "answers" within each group; default: groups
                where there are several.
            ratio: whether to divide instead of subtract; errors are then those of the logarithm, and intervals and
                p-values are computed on its scale.
            confidence: of the intervals; default: that of the shares.
        """
        from askance.estimation.results.contrasts import contrasts_of

        return contrasts_of(self, reference, between, ratio=ratio, confidence=confidence)

    def table(self) -> Table:
        """Shares by group, in percent: of two answers the second alone, of more all."""
        return prevalence_table(self)

    def summary(self) -> str:
        """The table for people; without groups, one line per answer."""
        return one_share_text(self) if self.groups == ("all",) else super().summary()


@dataclass(frozen=True, eq=False)
class MarginalEffects(Result, Tabulated):
    """Average effect of every column of x but the intercept; arrays of shape (terms, m); rows sum to 0.

    Attributes:
        terms: names of the columns.
        kinds: "slope" (the derivative) or "0 → 1" (the discrete change of a binary column), one per term.
        outputs: labels of the m outputs.
        estimate: the average effect on the probability of each output.
        standard_error: of the estimate.
        p_value: two-sided, of no effect.
        lower: lower ends of the intervals.
        upper: upper ends.
        confidence: of the intervals.
        degrees_of_freedom: of the intervals, where the errors come from few clusters; None: they are normal.
    """

    terms: tuple[str, ...]
    kinds: tuple[str, ...]
    outputs: tuple[Any, ...]
    estimate: FloatArray
    standard_error: FloatArray
    p_value: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    degrees_of_freedom: FloatArray | None = None

    def table(self) -> Table:
        """Effects in percentage points: of two answers the second alone, of more all."""
        return effects_table(self)


@dataclass(frozen=True, eq=False)
class Predictions(Result, Tabulated):
    """p_θ̂(y | x) of every row; arrays of shape (n, m).

    Attributes:
        outputs: labels of the m outputs.
        estimate: the probabilities.
        standard_error: of the estimate.
        lower: lower ends of the intervals, computed on the log-odds scale: they stay between 0 and 1.
        upper: upper ends.
        confidence: of the intervals.
    """

    outputs: tuple[Any, ...]
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float

    def table(self) -> Table:
        """Probabilities of the rows, counted from 0, in percent: of two answers the second alone, of more all."""
        return predictions_table(self)


@dataclass(frozen=True, eq=False)
class Posteriors(Predictions):
    """P(hidden answer = y | x, o) of every row; arrays of shape (n, m). Read `message` before using it.

    Attributes:
        prior: p_θ̂(y | x): the same without the report.
        privacy_level: of the channel: a report changes the odds of two outputs by a factor of at most e^level.
        message: why these numbers need care.
    """

    prior: FloatArray
    privacy_level: float
    message: str

    def table(self) -> Table:
        """Probabilities of the rows, counted from 0, in percent: of two answers the second alone, of more all."""
        return predictions_table(self, "given covariates and report", f"note: {self.message}")


@dataclass(frozen=True)
class LikelihoodRatioTest(Result, Tabulated):
    """Test that the terms left out of a restricted fit have no effect.

    Attributes:
        statistic: 2 (ℓ(θ̂) − ℓ(θ̂ restricted)).
        degrees_of_freedom: number of restrictions.
        p_value: probability of a larger statistic under χ².
        dropped: the terms that were tested.
        notes: what a reader should know.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    dropped: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """The statistic, its degrees of freedom and its p-value."""
        figures = (self.statistic, self.degrees_of_freedom, self.p_value)
        return Table(
            (Column("left out"), *columns_of_test()),
            [(", ".join(self.dropped), *figures)],
            title="Likelihood-ratio test: the terms left out have no effect",
            notes=[f"note: {note}" for note in self.notes],
        )
