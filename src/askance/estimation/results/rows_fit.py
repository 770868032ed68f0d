"""What fits to rows with covariates have in common: their evidence, and the likelihood that compares them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from askance._arrays import ArrayLike
from askance.errors import InputError
from askance.estimation.problems.sample import Sample, matrix_of, without_covariates
from askance.estimation.results.fit import Fit
from askance.estimation.results.likelihood_ratio import is_maximum_likelihood, likelihood_ratio_test
from askance.estimation.results.results import LikelihoodRatioTest
from askance.evidence.responses import Responses


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsFit(Fit):
    """A fit to reports with covariates.

    Attributes:
        evidence: the reports it was fitted to; None after loading from a file.
        design: turns data into x by its `matrix(data)`, where it was fitted with a formula; `save` keeps it.
    """

    evidence: Responses | None = None
    design: Any = None

    def _sample(self, x: Any, weights: ArrayLike | None, asked: str) -> Sample:
        """Whom to average over: rows that are given, or those who gave the reports."""
        if x is not None:
            return Sample.of_matrix(matrix_of(x, self.model, self.design), weights)
        if weights is not None:
            raise InputError(
                "weights are given without x; the stored reports keep their own weights.",
                remedy="Give x with its weights, or leave weights out.",
            )
        if self.evidence is None:
            raise without_covariates(asked, self.model, self.design)
        return Sample.of_evidence(self.evidence)

    @property
    def aic(self) -> float:
        """Akaike's criterion, 2 d − 2 ℓ(θ̂); NaN unless θ̂ maximises the likelihood of independent reports.

        "one-step" ends within a fiftieth of a standard error of the maximum, where ℓ is lower by 0.0002.
        """
        return 2 * len(self.theta) - 2 * self.log_likelihood if self._is_maximum_likelihood else math.nan

    @property
    def bic(self) -> float:
        """The Bayesian criterion, d log n − 2 ℓ(θ̂); NaN unless θ̂ maximises the likelihood of independent reports."""
        if not self._is_maximum_likelihood:
            return math.nan
        return len(self.theta) * math.log(self.n_observations) - 2 * self.log_likelihood

    @property
    def _is_maximum_likelihood(self) -> bool:
        return is_maximum_likelihood(self)

    def likelihood_ratio_test(self, restricted: Any) -> LikelihoodRatioTest:
        """Test that the terms missing in `restricted` have no effect: 2 (ℓ(θ̂) − ℓ(θ̂ restricted)) against χ².

        Both must be fits of the same reports by method "marginal" (or "supervised"); one-step fits are allowed, with a
        note. Fits with sampling weights or clusters are refused: their likelihood is not that of the sample.

        Args:
            restricted: a fit with some of the terms of this one.
        """
        return likelihood_ratio_test(self, restricted)
