"""Whether likelihood and corrected scores tell the same of a hidden cause, from the influence of every row on both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import invert_information
from askance.estimation.freedom import KnownTo
from askance.estimation.problems.conditional import Block
from askance.estimation.problems.corrected_score import StackedOutcomes
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem

# Differences that vary by less than this share of the errors of what is compared are 0 by construction.
_SAME = 1e-6


@dataclass(frozen=True)
class HausmanTest:
    """Differences that are 0 but for chance, where what is assumed holds: of two estimates, of shares and their fit.

    Attributes:
        difference: shape (k,).
        covariance: of the difference, shape (k, k).
        statistic: differenceᵀ covariance⁻¹ difference, in the directions in which it can differ from 0; where there
            are few clusters F, Hotelling's.
        degrees_of_freedom: the number of these directions.
        p_value: probability of a larger statistic under χ² or F; NaN where there are too few clusters, 1 where nothing
            can differ.
        denominator: degrees of freedom below, of F; infinite where the statistic is χ².
    """

    difference: FloatArray
    covariance: FloatArray
    statistic: float
    degrees_of_freedom: int
    p_value: float
    denominator: float = np.inf

    @property
    def text(self) -> str:
        """The statistic, its degrees of freedom and P."""
        if np.isnan(self.p_value):
            return f"too few clusters for {self.degrees_of_freedom} df"
        name, more = ("χ²", "") if np.isinf(self.denominator) else ("F", f" and {self.denominator:.1f}")
        return f"{name} = {self.statistic:.2f} on {self.degrees_of_freedom}{more} df, P = {self.p_value:.3g}"


def against_zero(difference: FloatArray, covariance: FloatArray, size: FloatArray, known: KnownTo) -> HausmanTest:
    """That a difference is 0.

    Args:
        difference: shape (k,).
        covariance: of it, shape (k, k).
        size: standard errors of what is compared, shape (k,): what varies much less does not vary.
        known: of how many clusters the covariance is.
    """
    from scipy.special import chdtrc, fdtrc

    values, vectors = np.linalg.eigh(covariance / np.outer(size, size))
    told = values > _SAME**2
    wald, q = float((((difference / size) @ vectors)[told] ** 2 / values[told]).sum()), int(told.sum())
    if q == 0 or known is None:
        return HausmanTest(difference, covariance, wald, q, float(chdtrc(q, wald)) if q else 1.0)
    below = known.number - q + 1
    if below <= 0:
        return HausmanTest(difference, covariance, wald, q, np.nan, below)
    statistic = wald * below / (known.number * q)
    return HausmanTest(difference, covariance, statistic, q, float(fdtrc(q, below, statistic)), below)


def hausman_test(problem: HiddenProblem, likelihood: FloatArray, corrected: FloatArray) -> HausmanTest:
    """Of the effects of what is hidden on outcomes.

    With s_i the score of row i, c_i its corrected score, H and G minus their mean slopes, row i moves the difference by
    H⁻¹ s_i − G⁻¹ c_i; the covariance is that of these, with weights and clusters. Differences of two variances, which
    may be negative and need one of the estimates to be efficient, are not used.

    Args:
        problem: model and evidence.
        likelihood: θ̂ where the likelihood is highest, in units of the problem.
        corrected: θ̂ of the corrected score, in units of the problem.
    """
    effects = np.array(problem.model.effects)
    score = StackedOutcomes.corrected(problem)
    gamma = corrected[score.place]
    names = problem.parameter_names
    one = invert_information(problem.likelihood().hessian(likelihood), names, "the likelihood")[effects]
    other = score.bread(gamma)[effects - score.place.start]

    def influence(block: Block) -> FloatArray:
        at = HiddenPass(problem.model, likelihood, block.x)
        own = at.scores(at.posterior(block.S[block.codes])[0])
        return np.asarray(own @ one.T - score.scores(block, gamma) @ other.T)

    difference = (likelihood - corrected)[effects]
    n, spread = problem.n_observations, problem.spread(influence)
    size = np.sqrt(np.diag(problem.spread(lambda block: score.scores(block, gamma) @ other.T).squares) / n)
    return against_zero(difference, np.asarray(spread.squares / n), size, spread.freedom)
