"""One number x in [−1, 1], noised into one of a few codes: a window around the number, and two signs.

**Window.** The number is a point i of the grid 0, …, G, standing for x = 2i/G − 1. One of N = G + w outputs is drawn:
an output in the window i ≤ o < i + w has weight `high`, every other one has weight `low`. With T = w·high + G·low,

    E[o | i] = (low · N(N − 1)/2 + (high − low) Σ_{o=i}^{i+w−1} o)/T,

where the sum is w i + w(w − 1)/2: linear in i. Both o and i are symmetric about (N − 1)/2 and G/2, hence

    β(o) = (2o − N + 1) T / (G w (high − low))        has E[β(o) | i] = x, exactly.

Its second moment is m₀ + m₂ x² on the grid, with m₂ = T/(w (high − low)) > 1. As the outputs become many this is the
piecewise mechanism of Wang et al. (2019), with a window whose length is free; with N = 2 and w = 1 it is the binary
mechanism of Duchi et al.

**Signs.** A sign with E[sign | x] proportional to x: + has weight raised + (keep − raised) i/G, − the rest of
K = keep + raised. β = ±K/(keep − raised), whose second moment A² is the same for all x.

**Both.** Window and signs are mixed: T + K = 2⁶², and as both parts are unbiased, so is the mixture. Its variance is
γ(m₀ + m₂ x²) + (1 − γ)A² − x² with γ = T/2⁶²; with γ = 1/m₂ it is the same for all x, and its largest value the least.

**Between grid points** x is rounded at random to one of its two neighbours, so that the mean stays x (the second moment
is then interpolated, at most m₂/G² more). That uses the number, but it happens before the codes are drawn: what is seen
is a mixture of two columns of the table, and no ratio of mixtures is larger than the largest of the columns'.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

import numpy as np

from askance._arrays import FloatArray, IntArray
from askance._checks import shown
from askance._kernels.draw import TOTAL
from askance.channels.thresholds import largest_odds
from askance.errors import ProbabilityError

#: Windows are looked for among so many outputs. At levels above about 10, more would be better still.
MOST_OUTPUTS = 64
# Fewer codes are taken where they cost at most this share of the variance: tables and sums stay small.
_FOR_FEWER_CODES = 0.01


@dataclass(frozen=True)
class Staircase:
    """A table of whole numbers: code c has probability weights[i][c]/2⁶² at grid point i.

    Codes 0 … N − 1 are the outputs of the window; N is the sign −, and N + 1 the sign +, where there are signs.

    Attributes:
        window: w, how many outputs are near a grid point.
        grid: G, the number of steps between −1 and 1; N = G + w.
        high: weight of an output in the window.
        low: weight of an output outside it.
        keep: weight of the sign + at x = 1 (0: there are no signs).
        raised: weight of the sign + at x = −1.

    >>> third = TOTAL // 3 + 1
    >>> coin = Staircase(window=1, grid=1, high=TOTAL - third, low=third)
    >>> coin.beta == (-coin.beta[1], coin.beta[1]), coin.is_unbiased(), round(float(coin.ratio), 9)
    (True, True, 2.0)
    """

    window: int
    grid: int
    high: int
    low: int
    keep: int = 0
    raised: int = 0

    @property
    def outputs(self) -> int:
        """N."""
        return self.grid + self.window

    @property
    def codes(self) -> int:
        """How many codes there are."""
        return self.outputs + (2 if self.keep else 0)

    @cached_property
    def weights(self) -> tuple[tuple[int, ...], ...]:
        """The table: G + 1 rows of whole numbers that sum to 2⁶²."""
        rows = []
        for i in range(self.grid + 1):
            row = [self.high if i <= o < i + self.window else self.low for o in range(self.outputs)]
            if self.keep:
                plus = self.raised + (self.keep - self.raised) // self.grid * i
                row += [self.keep + self.raised - plus, plus]
            rows.append(tuple(row))
        return tuple(rows)

    @cached_property
    def beta(self) -> tuple[Fraction, ...]:
        """β of every code: E[β | x] = x."""
        mass = self.window * self.high + self.grid * self.low
        step = Fraction(mass, self.grid * self.window * (self.high - self.low))
        values = [(2 * o - self.outputs + 1) * step for o in range(self.outputs)]
        if self.keep:
            sign = Fraction(self.keep + self.raised, self.keep - self.raised)
            values += [-sign, sign]
        return tuple(values)

    @cached_property
    def _whole_beta(self) -> tuple[list[int], int]:
        """β as whole numbers over a common denominator."""
        scale = math.lcm(*(value.denominator for value in self.beta))
        return [value.numerator * (scale // value.denominator) for value in self.beta], scale

    def is_unbiased(self) -> bool:
        """Whether rows sum to 2⁶² and Σ_c weights[i][c] β(c) = (2i/G − 1) 2⁶² for every i, in whole numbers."""
        beta, scale = self._whole_beta
        return all(
            min(row) > 0
            and sum(row) == TOTAL
            and self.grid * sum(w * b for w, b in zip(row, beta, strict=True)) == (2 * i - self.grid) * TOTAL * scale
            for i, row in enumerate(self.weights)
        )

    @cached_property
    def code_ratios(self) -> tuple[Fraction, ...]:
        """For every code, its largest probability over its smallest."""
        return tuple(Fraction(max(column), min(column)) for column in zip(*self.weights, strict=True))

    @property
    def ratio(self) -> Fraction:
        """e^level of one number: the largest ratio of the table."""
        return max(self.code_ratios)

    @cached_property
    def second_moments(self) -> tuple[Fraction, ...]:
        """E[β² | i] at every grid point."""
        beta, scale = self._whole_beta
        squares = [b * b for b in beta]
        return tuple(
            Fraction(sum(w * s for w, s in zip(row, squares, strict=True)), TOTAL * scale * scale)
            for row in self.weights
        )

    @cached_property
    def cumulative(self) -> IntArray:
        """Cumulative thresholds of every row, shape (G + 1, codes)."""
        return np.cumsum(np.array(self.weights, dtype=np.int64), axis=1)

    @cached_property
    def probabilities(self) -> FloatArray:
        """The table as floats, shape (G + 1, codes)."""
        return np.array(self.weights, dtype=np.float64) / TOTAL

    @cached_property
    def values(self) -> FloatArray:
        """β as floats, shape (codes,)."""
        return np.array([float(value) for value in self.beta])

    def second_moment(self, shares: FloatArray) -> FloatArray:
        """E[β² | x] for x = 2t − 1, any t in [0, 1]: linear between grid points, as rounding makes it."""
        moments = [float(value) for value in self.second_moments]
        return np.interp(shares * self.grid, np.arange(self.grid + 1), moments)

    def worst_variance(self) -> float:
        """The largest Var(β | x) over x in [−1, 1], rounding included."""
        moments = np.array([float(value) for value in self.second_moments])
        left = 2 * np.arange(self.grid) / self.grid - 1
        slope = np.diff(moments) * self.grid / 2
        # Between grid points it is a parabola in x, highest at half the slope or at an end.
        top = np.clip(slope / 2, left, left + 2 / self.grid)
        return float((moments[:-1] + slope * (top - left) - top**2).max())


@cache
def best_staircase(level: Fraction) -> Staircase:
    """The table of least worst variance at that level, or one with fewer codes that is at most 1 % worse.

    All windows of up to 64 outputs are tried, alone and mixed with signs.

    >>> table = best_staircase(Fraction(1))
    >>> (table.outputs, table.window, table.codes), round(table.worst_variance(), 3)
    ((5, 2, 7), 4.291)
    """
    limit = largest_odds(level)
    window, grid, mixed = _best_shape(float(limit - 1))
    table = _mixture(limit, window, grid) if mixed else _window_alone(limit, window, grid)
    if table.high <= table.low or (mixed and table.keep <= table.raised):
        raise ProbabilityError(
            f"a level of {shown(level)} for one statistic leaves no difference between small and large in 62 bits.",
            remedy="Raise the level, or spread it over fewer statistics.",
        )
    return table


def _best_shape(excess: float) -> tuple[int, int, bool]:
    """(w, G, whether signs are mixed in) at e^level = 1 + excess.

    Only sums, products and quotients of floats: every machine finds the same table.
    """
    outputs, window = (axis.ravel() for axis in np.mgrid[2 : MOST_OUTPUTS + 1, 1:MOST_OUTPUTS])
    window, outputs = window[window < outputs], outputs[window < outputs]
    grid = outputs - window
    low = 1 / (excess * window + outputs)
    kept = excess * low * window  # (high − low) w over the mass of the window
    spread = low * outputs * (outputs**2 - 1.0) + kept * (window**2 - 1.0)
    constant, slope = spread / (3 * (kept * grid) ** 2), 1 / kept  # m₀ and m₂
    sign = ((excess + 2) / excess) ** 2
    mixed = constant * kept + (1 - kept) * sign + 1.0 / grid**2
    # Alone, the variance is largest in the outermost step: at its end, or before it where rounding outweighs.
    left = 1 - 2 / grid
    top = np.clip(slope * (1 - 1 / grid), left, 1)
    alone = constant + slope * ((left + 1) * top - left) - top * top
    # Whole weights of a window alone sum to 2⁶² only if no odd number divides both w and N.
    common = np.gcd(window, outputs)
    alone[(common & (common - 1)) > 0] = np.inf
    costs, codes = np.concatenate([alone, mixed]), np.concatenate([outputs, outputs + 2])
    good = np.flatnonzero(costs <= (1 + _FOR_FEWER_CODES) * costs.min())
    fewest = good[codes[good] == codes[good].min()]
    best = int(fewest[np.argmin(costs[fewest])])
    at = best % window.size
    return int(window[at]), int(grid[at]), best >= window.size


def _window_alone(limit: Fraction, window: int, grid: int) -> Staircase:
    """The largest ratio up to the limit with w·high + G·low = 2⁶²."""
    low = math.ceil(TOTAL / (limit * window + grid))
    while (TOTAL - grid * low) % window:
        low += 1
    return Staircase(window, grid, (TOTAL - grid * low) // window, low)


def _mixture(limit: Fraction, window: int, grid: int) -> Staircase:
    """A window with probability 1/m₂ = w(high − low)/T, signs with the rest, both with ratios just within the limit."""
    mass = Fraction(window) * (limit - 1) / (limit * window + grid)
    low = math.ceil(mass * TOTAL / (limit * window + grid))
    # Even weights leave the signs an even mass, which then splits into whole steps along any grid.
    low += low % 2
    high = 2 * (math.floor(limit * low) // 2)
    rest = TOTAL - window * high - grid * low
    raised = math.ceil(rest / (limit + 1))
    while (rest - 2 * raised) % grid:
        raised += 1
    return Staircase(window, grid, high, low, rest - raised, raised)
