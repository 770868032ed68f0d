"""Whether the likelihood of a list experiment tells the same as its means, from the influence of every row on both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance.design.covariances import invert_information
from askance.estimation.checks.hausman import HausmanTest, against_zero
from askance.estimation.problems.conditional import Block, times
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.estimation.problems.means_problem import MeansProblem


class MeansAndLikelihood(NamedTuple):
    """The test, and the shares that both say on average over the rows, one per sensitive item."""

    test: HausmanTest
    likelihood: tuple[float, ...]
    means: tuple[float, ...]


def means_and_likelihood(
    problem: HiddenProblem, theta: FloatArray, means: MeansProblem, delta: FloatArray
) -> MeansAndLikelihood:
    """Of every trait: the linear regression of p_θ(yes | x) on z, less δ, that of the difference in means.

    With treatment at random both estimate the same linear approximation, whether it is the truth or not. Row i moves
    the second by A⁻¹ψ_i, and the first by G⁻¹[z_i (p_i − z_i·π) + D H⁻¹ s_i], with π the approximation, G = Ê z zᵀ,
    D = Ê z ∇p and H⁻¹ s_i the row's influence on θ. The covariance is that of the difference of the two, with weights
    and clusters; no difference of variances is taken.

    Args:
        problem: of the likelihood.
        theta: where it is highest, inside of what is possible: on the boundary there is no χ².
        means: of the same evidence, linear.
        delta: its estimate.
    """
    sizes = zip(means.model.variables, means.model.sizes, strict=True)
    parts = [_Projection(problem, theta, means, name) for name, size in sizes if size == 1]
    places = np.concatenate([np.arange(part.own.start, part.own.stop) for part in parts])
    inverse, n = means.inverse(delta)[places], problem.n_observations
    of_theta = invert_information(problem.likelihood().hessian(theta), problem.parameter_names, "the likelihood")

    def influence(block: Block) -> FloatArray:
        at = HiddenPass(problem.model, theta, block.x)
        own = at.scores(at.posterior(block.S[block.codes])[0]) @ of_theta.T
        linear = means.equations(block, delta) @ inverse.T
        return np.asarray(np.hstack([part.influence(block, at, own) for part in parts]) - linear)

    difference = np.concatenate([part.pi for part in parts]) - delta[places]
    spread = problem.spread(influence)
    size = np.sqrt(np.diag(inverse @ means.score_covariance(means.rows, delta, 0) @ inverse.T) / n)
    test = against_zero(difference, np.asarray(spread.squares / n), size, spread.freedom)
    averages = tuple(float(part.mean_z @ delta[part.own]) for part in parts)
    return MeansAndLikelihood(test, tuple(part.average for part in parts), averages)


class _Projection:
    """π = G⁻¹ Ê z p_θ(yes | x) of one trait, and how rows and θ move it."""

    def __init__(self, problem: HiddenProblem, theta: FloatArray, means: MeansProblem, name: str) -> None:
        self._terms = [problem.model.terms.index(term) for term in means.model.variables[name]]
        place = [factor.name for factor in problem.model.factors].index(name)
        self._yes = (problem.model.values[place] == 1).astype(np.float64)
        self.own = means.model.blocks[name]

        def sums(block: Block) -> tuple[FloatArray, ...]:
            at, z = HiddenPass(problem.model, theta, block.x), self._columns(block)
            inside = at.probabilities * self._yes
            slopes = at.scores(inside)
            p, counted = inside.sum(axis=1), times(z, block.weights)
            ones = np.ones(len(z)) if block.weights is None else block.weights
            return counted.T @ z, counted.T @ p, counted.T @ slopes, np.asarray(ones @ p), counted.sum(axis=0)

        n = problem.rows.total_weight
        gram, moment, slopes, share, mean = (part / n for part in problem.rows.total(sums))
        self._inverse = np.linalg.inv(gram)
        self.pi: FloatArray = self._inverse @ moment
        self._slopes, self.average, self.mean_z = self._inverse @ slopes, float(share), mean

    def _columns(self, block: Block) -> FloatArray:
        z = block.x[:, self._terms]
        return np.asarray(z if isinstance(z, np.ndarray) else z.toarray())

    def influence(self, block: Block, at: HiddenPass, on_theta: FloatArray) -> FloatArray:
        """How every row moves π, shape (n, q)."""
        z = self._columns(block)
        residual = (at.probabilities * self._yes).sum(axis=1) - z @ self.pi
        return np.asarray((residual[:, None] * z) @ self._inverse.T + on_theta @ self._slopes.T)
