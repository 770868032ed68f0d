"""Whether the reports of several groups fit together: their shares, beside those that a fit of all of them expects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.design.covariances import invert_information
from askance.estimation.checks.hausman import HausmanTest, against_zero
from askance.estimation.problems.conditional import Block, times
from askance.estimation.problems.hidden_problem import HiddenPass, HiddenProblem
from askance.estimation.problems.sample import INTERCEPT_NAMES

# Reports that fewer are expected to give are not looked at by themselves.
_FEWEST = 4.5
# Directions in which shares of parameters move expected shares by less are none.
_NO_MOVE = 1e-6


class GroupShares(NamedTuple):
    """Shares of every report within its group, shape (k,), in the order of channels; and a test that they are alike.

    The test is None where the parameters fit any shares: groups and reports are no more than they are. Pearson's
    statistic of all reports, with as many degrees of freedom as there are reports less groups, rejects too seldom, but
    also holds where a share is at its end; few expected reports count as some.
    """

    observed: FloatArray
    expected: FloatArray
    test: HausmanTest | None
    pearson: float
    freedom: int


def group_shares(problem: HiddenProblem, theta: FloatArray) -> GroupShares:
    """Of a likelihood without outcomes, at its maximum θ̂, inside of what is possible.

    With e the shares that were seen less those expected, over all rows, W their covariance at the truth, G how θ moves
    those expected and J the information, Cov e = (W − G J⁻¹ Gᵀ)/n. Without covariates this is Pearson's test, with as
    many degrees of freedom as there are reports less groups less parameters. With covariates the same combinations of
    e are tested: those that intercepts do not move. With weights and clusters Cov e is that of e − G J⁻¹ s, with s the
    score of every row.
    """
    rows, n = problem.rows, problem.rows.total_weight
    cells = _Cells(problem, theta)
    away, W, G, expected = (part / n for part in rows.total(cells.sums))
    group = cells.starts[1:] - cells.starts[:-1]
    sizes = np.repeat([expected[a:b].sum() for a, b in zip(cells.starts, cells.starts[1:], strict=False)], group)
    kept = cells.tested(expected * n)
    observed = (expected + away) / sizes
    of_all = float(((away * n) ** 2 / np.maximum(expected * n, _FEWEST)).sum()), len(away) - len(group)
    root = np.linalg.inv(np.linalg.cholesky(W[np.ix_(kept, kept)]))
    vectors, values, _ = np.linalg.svd(root @ G[kept][:, cells.intercepts])
    N = vectors[:, int((values > _NO_MOVE * values.max(initial=0.0)).sum()) :].T @ root
    if not len(N):
        return GroupShares(observed, expected / sizes, None, *of_all)
    J = problem.likelihood().expected_information(theta)
    moved = N @ G[kept] @ invert_information(J, problem.parameter_names, "the channel")
    covariance, known = N @ W[np.ix_(kept, kept)] @ N.T - moved @ (N @ G[kept]).T, None
    if problem.has_weights or problem.has_clusters:
        spread = problem.spread(lambda block: cells.away(block)[:, kept] @ N.T + cells.scores(block) @ moved.T)
        covariance, known = spread.squares, spread.freedom
    count = problem.n_observations
    size = np.full(len(N), 1 / np.sqrt(count))
    test = against_zero(N @ away[kept], covariance / count, size, known)
    return GroupShares(observed, expected / sizes, test, *of_all)


class _Cells:
    """Every report of every channel, one after the other."""

    def __init__(self, problem: HiddenProblem, theta: FloatArray) -> None:
        self._problem, self._theta = problem, theta
        self.starts = np.cumsum([0, *(len(channel.observations) for channel in problem.channels)])
        model = problem.model
        slopes = tuple(term for term in model.covariates if term.lower() not in INTERCEPT_NAMES)
        self.intercepts: AnyArray = np.array(
            [
                not any(column == term or column.endswith(f":{term}") for term in slopes)
                for variable in model.variables
                for _ in variable.heads
                for column in model.column_names(variable)
            ]
        )

    def tested(self, counts: FloatArray) -> list[int]:
        """All but the commonest report of every channel, and but those that few are expected to give."""
        kept = []
        for start, stop in zip(self.starts.tolist(), self.starts[1:].tolist(), strict=False):
            own = [o for o in range(start, stop) if counts[o] >= _FEWEST]
            commonest = max(own, key=lambda o: round(float(counts[o]), 6), default=None)
            kept += [o for o in own if o != commonest]
        return kept

    def away(self, block: Block) -> FloatArray:
        """1[report] − P(report | x) of every row of a block, 0 in other groups, shape (n, k)."""
        result, start = np.zeros((len(block.codes), self.starts[-1])), self.starts[block.part]
        at = HiddenPass(self._problem.model, self._theta, block.x)
        result[:, start : start + len(block.S)] = -at.probabilities @ block.S.T
        result[np.arange(len(result)), start + block.codes] += 1.0
        return result

    def scores(self, block: Block) -> FloatArray:
        """Minus the score of every row, shape (n, d)."""
        at = HiddenPass(self._problem.model, self._theta, block.x)
        return -at.scores(at.posterior(block.S[block.codes])[0])

    def sums(self, block: Block) -> tuple[FloatArray, ...]:
        """e (k,), W (k, k), G (k, d) and expected reports (k,) of a block, with weights."""
        at, start = HiddenPass(self._problem.model, self._theta, block.x), self.starts[block.part]
        own, size = slice(start, start + len(block.S)), self.starts[-1]
        P = at.probabilities @ block.S.T
        w = times(np.ones(len(P)), block.weights)
        W, G, expected = np.zeros((size, size)), np.zeros((size, self._problem.model.dimension)), np.zeros(size)
        expected[own] = w @ P
        W[own, own] = np.diag(w @ P) - P.T @ (w[:, None] * P)
        G[own] = [w @ at.scores(at.probabilities * S) for S in block.S]
        return w @ self.away(block), W, G, expected
