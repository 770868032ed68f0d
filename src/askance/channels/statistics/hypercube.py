"""The hypercube channel: a corner of the cube that leans towards all statistics at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, WordArray
from askance._checks import Number, as_count, as_positive_level
from askance._kernels import bits, signs
from askance._kernels.draw import TOTAL
from askance.channels.randomness import LONGEST_DRAW, WordSource
from askance.channels.registry import Example, register
from askance.channels.statistics.base import Averaging, BitStatistics, Enumeration, HasReportLikelihood
from askance.channels.statistics.bounds import Bounds
from askance.channels.statistics.calibration import calibrate
from askance.channels.statistics.choices import BOUNDS, DIM, SPENT
from askance.channels.statistics.domains import BinaryDomain
from askance.channels.statistics.flips import Flips, draw_dense_bits
from askance.channels.sum_law import CountLaw, SumLaw

# A proof by enumeration lists 2^d observations of 2^d statistics.
_ENUMERATED_DIMENSION = 7
# Up to here the share of ties is worked out in whole numbers; beyond, the next term of its series is below 1e-17.
_EXACT_PAIRS = 1 << 10
# Likelihoods are worked out for so many numbers at a time.
_LIKELIHOOD_NUMBERS = 1 << 21


@register(
    family="statistics",
    summary="send a corner of the cube that leans towards the statistics",
    use="statistics are dense and matter equally, the level is small, and every report shall be about all of them "
    "(coordinate release is about one at a time, and varies less)",
    parameters=[DIM, SPENT, *BOUNDS],
    examples=[
        Example(dim=3, privacy_level=1),
        Example(dim=4, privacy_level="1/2", lower=-1, statistic_bound=2),
        Example(dim=1, privacy_level=2, lower=[5], statistic_bound=["1/2"]),
    ],
)
class Hypercube(BitStatistics, HasReportLikelihood):
    """Round x = 2t − 1 to a corner V of the cube, draw a corner o at random, turn it towards or away from V, send it.

    Here t = (φ − lower)/c is in [0, 1]^d, and V is in {−1, 1}^d with P(V_j = 1) = t_j, independent (a statistic at one
    of its bounds is not rounded). A coin says "towards" with probability q. A uniform o in {−1, 1}^d is replaced by −o
    where ⟨o, V⟩ < 0 and the coin says towards, or ⟨o, V⟩ > 0 and it says away. This is the mechanism of Duchi, Jordan
    and Wainwright for vectors bounded in every coordinate.

    **Level**, exactly log(q/(1 − q)). A corner with ⟨o, V⟩ > 0 is sent when o or −o was drawn and the coin says
    towards, so S(o|V) = 2q/2^d; likewise 2(1 − q)/2^d where ⟨o, V⟩ < 0, and 1/2^d where it is 0 (no turning; even d
    only). As q ≥ ½, all lie between the two, whose ratio is q/(1 − q); it is attained at every o, between V = o and
    V = −o. For other statistics S(o|x) is a mean over V of these values, so no ratio is larger.

    **Mean**. |⟨o, V⟩|/d is the mean over j of V_j times the turned o_j, the same for all j, and turning away changes
    its sign; so E[o_j|V] = V_j (2q − 1) E|⟨o, V⟩|/d. With m = ⌊d/2⌋ that is V_j/B,

        B = 2^{d−1} / ((2q − 1) C(d − 1, ⌊(d − 1)/2⌋)) = 4^m / ((2q − 1) C(2m, m)),

    about √(πd/2)/(2q − 1), and E[o|x] = x/B. Turning keeps {o, −o}, and o oᵀ is the same for both, so E[o oᵀ|x] = I
    and x̂ = B · (mean of o) has n Cov(x̂) = B² I − x̄ x̄ᵀ exactly; φ̂ = lower + c(1 + x̂)/2.

    **Against coordinate release**, whose averages have n Cov(x̂) → d (diag(1/(2q − 1)²) − diag(x̄²)): as B² is at least
    d/(2q − 1)² (π/2 times that for large d) and (aᵀx̄)² ≤ d Σ a_j² x̄_j², no aᵀx̂ varies less here. What speaks for this
    channel is that every report is about all statistics, so that no average is ever empty and Cov holds for every n.

    Args:
        dim: d, the number of statistics.
        privacy_level: α; the coin has the largest q with q/(1 − q) ≤ e^α.
        lower: smallest value of each statistic, one number or d.
        statistic_bound: c, largest minus smallest value, one number or d.

    >>> channel = Hypercube(4, 1)
    >>> channel.privacy_level, round(channel.scale, 3)
    (1.0, 5.771)
    >>> rng = np.random.default_rng(5)
    >>> reports = channel.simulate(np.tile([0.0, 0.2, 0.5, 1.0], (400_000, 1)), rng)
    >>> channel.mean(channel.sums(reports), len(reports)).round(1) + 0.0
    array([0. , 0.2, 0.5, 1. ])
    """

    kind = "hypercube"

    def __init__(
        self, dim: int, privacy_level: Number, *, lower: ArrayLike = 0.0, statistic_bound: ArrayLike = 1.0
    ) -> None:
        super().__init__("signs", as_count(dim, "dim", minimum=1, maximum=1 << 24), "a corner of the cube, 1 for +1")
        self._level = as_positive_level(privacy_level)
        self._bounds = Bounds(self.dimension, lower, statistic_bound, binary=False)
        #: The coin: towards with probability keep/2⁶², away with raised/2⁶².
        self.coin: Flips = calibrate(BinaryDomain(1, 0), self._level)

    @cached_property
    def scale(self) -> float:
        """B: how much longer than a sign its unbiased estimate is."""
        return 1 / (self.coin.gain * _share_of_ties(self.dimension // 2))

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _many_words(self, n: int) -> int:
        return n * (1 + bits.words_for(self.dimension))

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        """Packed bits where all statistics are at their bounds, otherwise t as floats."""
        shares = self._bounds.shares(truth, offset)
        if shares.dtype.kind != "f":
            return bits.pack(shares)
        corners = shares == 1
        if (corners | (shares == 0)).all():
            return bits.pack(corners)
        return np.ascontiguousarray(shares)

    def _read_one(self, truth: ArrayLike) -> AnyArray:
        """Statistics as floats, also at their bounds: the short cut for bits would tell that they are."""
        return self._bounds.shares(self._one_row(truth), 0)

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        corners = self._round(encoded, source, compiled=compiled) if encoded.dtype.kind == "f" else encoded
        drawn, mask = out["signs"], np.uint64(bits.last_word_mask(self.dimension))
        flat = drawn.reshape(-1)
        for start in range(0, flat.size, LONGEST_DRAW):
            piece = flat[start : start + LONGEST_DRAW]
            piece[:] = source(piece.size)
        drawn[:, -1] &= mask
        turn = signs.turn if compiled else signs.turn_plain
        for start in range(0, len(corners), LONGEST_DRAW):
            rows = slice(start, min(start + LONGEST_DRAW, len(corners)))
            coins = source(rows.stop - rows.start)
            turn(corners[rows], coins, self.coin.keep, self.dimension, mask, drawn[rows])

    def _round(self, shares: FloatArray, source: WordSource, *, compiled: bool) -> WordArray:
        """V, packed: +1 with probability ⌊2⁶² t⌋/2⁶², one random word for each."""
        corners = np.zeros((len(shares), bits.words_for(self.dimension)), dtype=np.uint64)
        draw_dense_bits(shares, 0, TOTAL, source, corners, compiled=compiled)
        return corners

    # -- estimating ------------------------------------------------------------------------------------------------

    def _sum_law(self) -> SumLaw:
        """P(+1) = (1 + x/B)/2."""
        high = np.full(self.dimension, 0.5 + 0.5 / self.scale)
        return CountLaw(1 - high, high, "sign")

    def _outer(self, inner: FloatArray) -> FloatArray:
        """φ̂ = lower + c t̂ with t̂ = ½ + B (share of +1 − ½): (1 + x̂)/2 with x̂ = B · mean of the signs."""
        return self._bounds.values(0.5 + self.scale * (inner - 0.5))

    @property
    def _slope(self) -> FloatArray:
        """c B: n Var(μ̂_j) = c_j² B² π_j(1 − π_j) = c_j²(B² − x̄_j²)/4, with π_j the share of +1."""
        return np.asarray(self._bounds.width * self.scale)

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        signed = 2 * (weights @ self._bounds.scaled(truth)) - 1
        covariance = np.diag(np.full(self.dimension, self.scale**2)) - np.outer(signed, signed)
        return np.asarray(covariance * np.outer(self._bounds.width, self._bounds.width) / 4)

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        """Log of 2^{1−d} (q P(⟨o, V⟩ > 0) + (1 − q) P(⟨o, V⟩ < 0) + ½ P(⟨o, V⟩ = 0)).

        The places where V agrees with o are independent, with probability t_j or 1 − t_j: their number is a sum of
        independent coins, whose distribution is built up coin by coin.
        """
        shares = self._bounds.scaled(truth).clip(0, 1)
        dense, values = self._bits(columns), self._values_by_agreements()
        if np.isin(shares, (0.0, 1.0)).all():
            agreements = dense @ shares.T + (1 - dense) @ (1 - shares.T)
            likelihood = values[np.rint(agreements).astype(np.int64)]
        else:
            likelihood = np.empty((len(dense), len(shares)))
            rows = max(_LIKELIHOOD_NUMBERS // (len(shares) * (self.dimension + 1)), 1)
            for start in range(0, len(dense), rows):
                seen = dense[start : start + rows, None, :]
                agreeing = seen * shares + (1 - seen) * (1 - shares)
                likelihood[start : start + rows] = np.tensordot(values, _count_distribution(agreeing), axes=1)
        return np.asarray(np.log(likelihood) - (self.dimension - 1) * math.log(2))

    def _values_by_agreements(self) -> FloatArray:
        """2^{d−1} S(o|V) when o and V agree in 0, …, d places, shape (d + 1,)."""
        inner = 2 * np.arange(self.dimension + 1) - self.dimension
        towards, away = self.coin.keep_probability, self.coin.raise_probability
        return np.where(inner > 0, towards, np.where(inner < 0, away, 0.5))

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """q/(1 − q), between opposite corners."""
        return max(self.coin.up, self.coin.down)

    def worst_observations(self) -> tuple[str, ...]:
        """Every corner; one where they are many."""
        if self.dimension > _ENUMERATED_DIMENSION:
            return ("1" * self.dimension,)
        return tuple("".join(map(str, corner)) for corner in product((0, 1), repeat=self.dimension))

    def is_unbiased(self) -> bool:
        """The coin says towards more often than away."""
        return self.coin.keep > self.coin.raised

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """All statistics at their largest, and all at their smallest."""
        return self._bounds.extremes()

    def enumerate_exactly(self) -> Enumeration | None:
        """On all corners, of which other statistics are mixtures."""
        d = self.dimension
        if d > _ENUMERATED_DIMENSION:
            return None
        corners = list(product((0, 1), repeat=d))
        towards, away = 2 * self.coin.keep, 2 * self.coin.raised
        by_agreements = [away if 2 * a < d else towards if 2 * a > d else TOTAL for a in range(d + 1)]
        # t̂ = ½ ± B/2 with B = 2^{d−1} 2⁶²/((keep − raised) C(d − 1, ⌊(d − 1)/2⌋))
        least = (self.coin.keep - self.coin.raised) * math.comb(d - 1, (d - 1) // 2)
        longest = TOTAL << (d - 1)
        return Enumeration(
            observations=["".join(map(str, seen)) for seen in corners],
            statistics=[[Fraction(corner[j]) for corner in corners] for j in range(d)],
            weights=[
                [by_agreements[sum(a == b for a, b in zip(seen, corner, strict=True))] for corner in corners]
                for seen in corners
            ],
            total=TOTAL << d,
            beta=[[least + (longest if seen[j] else -longest) for seen in corners] for j in range(d)],
            beta_scale=2 * least,
        )

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        return {"dim": self.dimension, "privacy_level": str(self._level)} | self._bounds.parameters()

    def thresholds(self) -> dict[str, Any]:
        """Signs agree with the corner (rather than disagree) with probability agree/2⁶²."""
        return {"agree": self.coin.keep}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        return self.dimension, self.coin.keep, self.coin.raised, self._bounds.edges()


def _share_of_ties(pairs: int) -> float:
    """C(2m, m)/4^m: how often 2m fair coins fall m to m.

    >>> _share_of_ties(2)  # 6 of 16
    0.375
    """
    if pairs <= _EXACT_PAIRS:
        return float(Fraction(math.comb(2 * pairs, pairs), 4**pairs))
    u = 1 / pairs
    series = 1 - u / 8 + u**2 / 128 + 5 * u**3 / 1024 - 21 * u**4 / 32768 - 399 * u**5 / 262144
    return series / math.sqrt(math.pi * pairs)


def _count_distribution(probabilities: FloatArray) -> FloatArray:
    """How many of d independent coins fall 1: for coins (…, d) the probabilities of 0, …, d, shape (d + 1, …)."""
    size = probabilities.shape[-1]
    counts = np.zeros((size + 1, *probabilities.shape[:-1]))
    counts[0] = 1
    for j in range(size):
        one = probabilities[..., j]
        counts[1 : j + 2] = counts[1 : j + 2] * (1 - one) + counts[: j + 1] * one
        counts[0] *= 1 - one
    return counts
