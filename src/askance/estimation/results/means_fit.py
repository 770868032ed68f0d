"""The fit of means of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from askance._arrays import FloatArray
from askance._checks import one_of
from askance._words import words
from askance.errors import InputError
from askance.estimation.freedom import freedom_of, quantile
from askance.estimation.results.fit import ProbabilityTable
from askance.estimation.results.rows_fit import RowsFit
from askance.estimation.results.share_intervals import share_interval
from askance.models.count_means import CountMeans


@dataclass(frozen=True, eq=False, kw_only=True)
class MeansFit(RowsFit):
    """A fit of `CountMeans`: shares of yes/no variables by least squares."""

    model: CountMeans

    @property
    def variables(self) -> tuple[str, ...]:
        """Yes/no variables: those whose largest value is 1."""
        return tuple(name for name, size in zip(self.model.variables, self.model.sizes, strict=True) if size == 1)

    @property
    def trait(self) -> NoReturn:
        """Refused: means are no regression of an answer with a law."""
        raise InputError(
            words(
                f"{{0}} is known by means alone ({{method={self.method}}}), which have no law for predictions, "
                "{effects} or shares {by} group; allowed here: shares.",
                repr(self.variables[0]),
            ),
            remedy=words("Take its shares, or fit by {method=marginal}."),
        )

    def shares(self, variable: str | None = None, x: Any = None, confidence: float = 0.95) -> ProbabilityTable:
        """The share of a yes/no variable, averaged over respondents with their sampling weights.

        Linear means may be below 0 or above 1, and so may their shares and intervals.

        Args:
            variable: its name; default: the first.
            x: whom to average over: an array (n, p), or a table with the columns of the formula; default: those asked.
            confidence: of the intervals.
        """
        own = self.variables
        name = own[0] if variable is None else one_of(variable, own, "variable", "Name a yes/no variable.")
        share, slopes, n = 0.0, np.zeros(len(self.theta)), 0.0
        for part in self._sample(x, None, "shares").pieces:
            means = self.model.part(name, self.theta, part.x)
            n += float(part.total.sum())
            share += float(part.total @ means.mean)
            slopes[self.model.blocks[name]] += means.z.T @ (part.total * means.slope)
        estimate: FloatArray = np.array([1 - share / n, share / n])
        errors: FloatArray = np.full(2, np.sqrt(slopes @ self.covariance @ slopes) / n)
        freedom = np.full(2, freedom_of(self.freedom, slopes))
        z = quantile(confidence, freedom)
        if self.model.link == "linear":
            ends: tuple[FloatArray, FloatArray] = (estimate - z * errors, estimate + z * errors)
        else:
            ends = share_interval(estimate, errors, z, self.n_observations)
        known = None if self.freedom is None else freedom
        return ProbabilityTable(("no", "yes"), estimate, errors, *ends, confidence, degrees_of_freedom=known)
