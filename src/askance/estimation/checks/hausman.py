"""Whether likelihood and corrected scores tell the same of a hidden cause, from the influence of every row on both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import invert_information
from askance.estimation.problems.conditional import Block
from askance.estimation.problems.corrected_score import StackedOutcomes
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem


@dataclass(frozen=True)
class HausmanTest:
    """Two estimates of the same effects that differ only by chance where both are consistent.

    Attributes:
        difference: likelihood less corrected score, shape (q,).
        covariance: of the difference, shape (q, q).
        statistic: differenceᵀ covariance⁻¹ difference.
        degrees_of_freedom: q.
        p_value: probability of a larger statistic under χ².
    """

    difference: FloatArray
    covariance: FloatArray
    statistic: float
    degrees_of_freedom: int
    p_value: float


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
    from scipy.special import chdtrc

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
    covariance = problem.spread(influence) / problem.n_observations
    statistic = float(difference @ np.linalg.pinv(covariance, hermitian=True) @ difference)
    return HausmanTest(difference, covariance, statistic, len(effects), float(chdtrc(len(effects), statistic)))
