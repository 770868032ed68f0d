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


def design_effect_test(control: Sequence[int], treated: Sequence[int], trait: str = "trait") -> DesignEffectTest:
    """The test, from how often every count was said.

    Args:
        control: of 0 … J items, by those without the sensitive item.
        treated: of 0 … J + 1 items, by those with it.
        trait: what the list is about.

    >>> design_effect_test([25, 50, 25], [22, 47, 28, 3]).shares.round(3)
    array([0.03, 0.06, 0.03, 0.22, 0.44, 0.22])
    >>> test = design_effect_test([5, 70, 25], [25, 50, 20, 5])
    >>> test.p_value < 0.001
    True
    """
    counts: list[IntArray] = [np.asarray(control), np.asarray(treated)]
    n0, n1 = (int(part.sum()) for part in counts)
    F0, F1 = (np.cumsum(part) / part.sum() for part in counts)
    J, below = len(control) - 1, np.append(0.0, np.cumsum(control) / n0)[:-1]
    tested, shares, errors = [], [], []
    for upper, lower, cells in ((F0, F1[: J + 1], slice(0, J)), (F1[: J + 1], below, slice(1, J + 1))):
        sizes = (n0, n1) if upper is F0 else (n1, n0)
        spread = _spread(upper, sizes[0]) + _spread(lower, sizes[1])
        shares.append(upper - lower)
        errors.append(np.sqrt(np.diag(spread)))
        welch = [_welch(upper[j], sizes[0], lower[j], sizes[1]) for j in range(J + 1)]
        tested.append(((upper - lower)[cells], spread[cells, cells], np.array(welch)[cells]))
    # How much one person's count varies is not seen, so that nothing can be said against the hypothesis.
    tested = tested if min(n0, n1) > 1 else []
    chosen, whole = ([1.0, *(_set_p_value(*part, n0 + n1, selected) for part in tested)] for selected in (True, False))
    return DesignEffectTest(
        ("yes",) * (J + 1) + ("no",) * (J + 1),
        tuple(range(J + 1)) * 2,
        np.concatenate(shares),
        np.concatenate(errors),
        min(1.0, 2 * min(chosen)),
        min(1.0, 2 * min(whole)),
        trait,
    )


def _spread(F: FloatArray, n: int) -> FloatArray:
    """Covariance of an empirical distribution function, (min(F, F′) − F F′) / n."""
    return np.asarray((np.minimum.outer(F, F) - np.outer(F, F)) / n)


def _welch(upper: float, n: int, lower: float, m: int) -> float:
    """P of Welch's one-sided t-test that a share is not below another; 1 where neither varies, or one cannot."""
    from scipy.special import stdtr

    if min(n, m) < 2:
        return 1.0
    parts = np.array([upper * (1 - upper) / (n - 1), lower * (1 - lower) / (m - 1)])
    if not parts.sum() > 0:
        return 1.0
    freedom = parts.sum() ** 2 / (parts**2 / [n - 1, m - 1]).sum()
    return float(stdtr(freedom, (upper - lower) / math.sqrt(parts.sum())))


def _set_p_value(shares: FloatArray, spread: FloatArray, welch: FloatArray, n: int, selected: bool) -> float:
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
    found: list[int] = []
    for j in cells.tolist():
        same = (i for i in found if np.allclose([shares[i], *spread[i]], [shares[j], *spread[j]], rtol=0, atol=1e-15))
        if next(same, None) is None:
            found.append(j)
    return found


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
