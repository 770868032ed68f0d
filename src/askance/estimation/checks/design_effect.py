"""Whether a sensitive item changes what is said of the others: a test of list experiments (Blair and Imai 2012).

Where it does not, the shares of items and answer follow from the distribution functions F₁ of the treated and F₀ of the
controls,

    π(y, yes) = F₀(y) − F₁(y),   π(y, no) = F₁(y) − F₀(y − 1),

and none of them is below 0. Those of each answer are tested together, and Bonferroni's correction is for the two tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance.tables import Column, Table, Tabulated, error_column

# From so many cells on, the weights of all their subsets take long: Bonferroni's correction serves.
_MANY = 9
# Of tests.
_LEVEL = 0.05
# Eigenvalues of correlations up to it are 0: cells of n people are told apart by about 1/n.
_SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class DesignEffectTest(Tabulated):
    """Shares of items and answer as the two groups tell them, and whether some are below 0 beyond chance.

    Attributes:
        answers: of every cell, "yes" or "no".
        items: of every cell, how many other items hold.
        shares: π̂, shape (cells,).
        errors: their standard errors.
        p_value: of the hypothesis that no share is below 0, with cells selected as R's `ict.test` does: those far above
            0 on the scale of the other shares are left out, which tests the others harder than their errors allow.
        p_all: of the same with all cells, which holds whatever the shares are. Both are 1 where a group has one person.
        trait: what the list is about.
    """

    answers: tuple[str, ...]
    items: tuple[int, ...]
    shares: FloatArray
    errors: FloatArray
    p_value: float
    p_all: float
    trait: str = "trait"

    def table(self) -> Table:
        """Every cell with its error; the tests below."""
        rows = list(zip(self.answers, self.items, self.shares.tolist(), self.errors.tolist(), strict=True))
        columns = (Column("answer"), Column("items", "count"), Column("share", "decimal"), error_column("decimal"))
        return Table(columns, rows, title=f"Shares of items and answer ({self.trait})", notes=[self.message])

    @property
    def rejected(self) -> bool:
        """Whether R's test speaks of a design effect."""
        return self.p_value < _LEVEL

    @property
    def message(self) -> str:
        """What the test finds, in a line."""
        verdict = "no design effect is seen"
        if self.rejected:
            verdict = (
                "the sensitive item changes other answers" if self.p_all < _LEVEL else "a design effect is suspected"
            )
        lowest = int(np.argmin(self.shares))
        cell = f"the least share is {self.shares[lowest]:.3f} ({self.errors[lowest]:.3f}), {self.answers[lowest]} with "
        return (
            f"design-effect test ({self.trait}): {verdict}, P = {self.p_value:.3g} with cells selected as in R's list, "
            f"{self.p_all:.3g} with all; {cell}{self.items[lowest]} items"
        )


def design_effect_test(
    control: Sequence[float], treated: Sequence[float], trait: str = "trait", spread: FloatArray | None = None
) -> DesignEffectTest:
    """The test, from how often every count was said.

    Args:
        control: of 0 … J items, by those without the sensitive item.
        treated: of 0 … J + 1 items, by those with it.
        trait: what the list is about.
        spread: covariance of F₀ and F₁ at 0 … J, shape (2J + 2, 2J + 2), where people have weights, by which they are
            counted, or stand in clusters; default: that of people who were drawn one by one.

    >>> design_effect_test([25, 50, 25], [22, 47, 28, 3]).shares.round(3)
    array([0.03, 0.06, 0.03, 0.22, 0.44, 0.22])
    >>> test = design_effect_test([5, 70, 25], [25, 50, 20, 5])
    >>> test.p_value < 0.001
    True
    """
    J, n0, n1 = len(control) - 1, float(np.sum(control)), float(np.sum(treated))
    F = np.concatenate([np.cumsum(control) / n0, np.cumsum(treated)[: J + 1] / n1])
    whole = _of_people(F[: J + 1], n0, F[J + 1 :], n1) if spread is None else spread
    one, before = np.eye(J + 1), np.eye(J + 1, k=-1)
    tested, shares, errors = [], [], []
    # Yes: F₀ − F₁, without its last cell; no: F₁ less F₀ one before, without its first.
    for turn, cells in ((np.hstack([one, -one]), slice(0, J)), (np.hstack([-before, one]), slice(1, J + 1))):
        share, own = turn @ F, turn @ whole @ turn.T
        shares.append(share)
        errors.append(np.sqrt(np.diag(own)))
        tested.append((share[cells], own[cells, cells], _one_by_one(share, own, turn, F, (n0, n1), spread)[cells]))
    # How much one person's count varies is not seen, so that nothing can be said against the hypothesis.
    tested = tested if min(n0, n1) > 1 else []
    selected, every = ([1.0, *(_set_p_value(*part, n0 + n1, some) for part in tested)] for some in (True, False))
    return DesignEffectTest(
        ("yes",) * (J + 1) + ("no",) * (J + 1),
        tuple(range(J + 1)) * 2,
        np.concatenate(shares),
        np.concatenate(errors),
        min(1.0, 2 * min(selected)),
        min(1.0, 2 * min(every)),
        trait,
    )


def _of_people(F0: FloatArray, n0: float, F1: FloatArray, n1: float) -> FloatArray:
    """Covariance of two empirical distribution functions, (min(F, F′) − F F′) / n each."""
    size = len(F0)
    result = np.zeros((2 * size, 2 * size))
    for place, F, n in ((slice(0, size), F0, n0), (slice(size, None), F1, n1)):
        result[place, place] = (np.minimum.outer(F, F) - np.outer(F, F)) / n
    return result


def _one_by_one(
    share: FloatArray, spread: FloatArray, turn: FloatArray, F: FloatArray, n: tuple[float, float], known_spread: Any
) -> FloatArray:
    """P of one-sided tests that a share is not below 0: Welch's t, or normal where a spread was given."""
    from scipy.special import ndtr

    error = np.sqrt(np.diag(spread))
    if known_spread is not None:
        return np.where(error > 0, ndtr(share / np.where(error > 0, error, 1.0)), 1.0)
    upper, lower, sizes = turn.clip(0) @ F, (-turn).clip(0) @ F, n if turn[0, 0] > 0 else n[::-1]
    return np.array([_welch(a, sizes[0], b, sizes[1]) for a, b in zip(upper.tolist(), lower.tolist(), strict=True)])


def _welch(upper: float, n: float, lower: float, m: float) -> float:
    """P of Welch's one-sided t-test that a share is not below another; 1 where neither varies, or one cannot."""
    from scipy.special import stdtr

    if min(n, m) < 2:
        return 1.0
    parts = np.array([upper * (1 - upper) / (n - 1), lower * (1 - lower) / (m - 1)])
    if not parts.sum() > 0:
        return 1.0
    freedom = parts.sum() ** 2 / (parts**2 / [n - 1, m - 1]).sum()
    return float(stdtr(freedom, (upper - lower) / math.sqrt(parts.sum())))


def _set_p_value(shares: FloatArray, spread: FloatArray, welch: FloatArray, n: float, selected: bool) -> float:
    """P that shares of at least 0 are estimated so far below it: a mixture of χ² distributions; 1 without cells."""
    from scipy.optimize import nnls
    from scipy.special import chdtrc

    kept = np.diag(spread) > 0
    if selected and len(shares) > 1 and shares.std() > 0:
        kept &= (shares != 0) & ~(math.sqrt(n) * shares / shares.std(ddof=1) > math.sqrt(math.log(n)))
    if not kept.any():
        return 1.0
    cells = _distinct(np.flatnonzero(kept), shares, spread)
    shares, spread = shares[cells], spread[np.ix_(cells, cells)]
    if len(shares) == 1 or len(shares) >= _MANY or _singular(spread):
        return float(min(1.0, len(shares) * welch[cells].min()))
    root = np.linalg.cholesky(np.linalg.inv(spread)).T
    distance = nnls(root, root @ shares)[1] ** 2 if (shares < 0).any() else 0.0
    weights = _mixture(spread)
    return float(sum(w * (chdtrc(k, distance) if k else float(distance <= 0)) for k, w in enumerate(weights)))


def _distinct(cells: IntArray, shares: FloatArray, spread: FloatArray) -> list[int]:
    """The cells without those that repeat another, as where a count occurs in neither group."""
    kept: list[int] = []
    for j in cells.tolist():
        same = (i for i in kept if np.allclose([shares[i], *spread[i]], [shares[j], *spread[j]], rtol=0, atol=1e-15))
        if next(same, None) is None:
            kept.append(j)
    return kept


def _singular(spread: FloatArray) -> bool:
    """Whether some cells follow from others."""
    scale = np.sqrt(np.diag(spread))
    return bool(np.linalg.eigvalsh(spread / np.outer(scale, scale))[0] < _SINGULAR)


def _mixture(spread: FloatArray) -> FloatArray:
    """P that the nearest point of the positive orthant to N(0, Σ), in the metric Σ⁻¹, has k zeros, shape (d + 1,).

    Zeros A and the rest B come about independently: Σ_AA⁻¹ Z_A < 0, and Z_B given Z_A = 0 above 0.
    """
    d, weights = len(spread), np.zeros(len(spread) + 1)
    for k in range(d + 1):
        for zeros in combinations(range(d), k):
            A, B = list(zeros), [i for i in range(d) if i not in zeros]
            inverse: FloatArray = np.asarray(np.linalg.inv(spread[np.ix_(A, A)]), dtype=np.float64)
            cross = spread[np.ix_(B, A)]
            weights[k] += _orthant(inverse) * _orthant(spread[np.ix_(B, B)] - cross @ inverse @ cross.T)
    return weights


def _orthant(covariance: FloatArray) -> float:
    """P(N(0, C) > 0)."""
    d, scale = len(covariance), np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    if d <= 3:
        angles: Any = np.arcsin(correlation[np.triu_indices(d, 1)].clip(-1.0, 1.0)).sum()
        return 0.5**d + float(angles) / (2 * math.pi) * 0.5 ** max(d - 2, 0)
    from scipy.stats import multivariate_normal

    law = multivariate_normal(np.zeros(d), correlation, allow_singular=True, seed=np.random.default_rng(0))
    return float(law.cdf(np.zeros(d)))
