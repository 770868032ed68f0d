"""One of K public random directions: what ball release and quadratic release share.

A device draws a seed, ranks the K directions the seed stands for by how they lie to its secret unit vector u, and
reports the seed with the number of one of them, a good one more likely than another. docs/directions.md says all of it
to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import Number, as_count, as_floats, as_fraction, as_positive_level, number
from askance._kernels import directions
from askance._kernels.compiler import COMPILED_PAYS_FROM
from askance._kernels.draw import DISCARDED_BITS
from askance._words import Place
from askance.channels.randomness import WordSource, pieces
from askance.channels.registry import COUNT, NUMBER, Parameter
from askance.channels.statistics.base import HasReportLikelihood, StatisticsChannel, require_finite
from askance.channels.statistics.choices import SPENT
from askance.channels.statistics.ranked import RankedChoice, ranked_choice
from askance.channels.statistics.reports import Column
from askance.errors import InputError

#: Unit vectors are rounded to multiples of one over this.
FINENESS = 1 << 24
#: With these limits K·|⟨g, u⟩| < 2¹⁶·(25958·2⁷)·(2²⁴ + 2⁷) < 2⁶³: ranks are found in 64-bit integers.
MOST_CANDIDATES = 1 << 16
LARGEST_DIM = (1 << 14) - 1
# Vectors may be longer than the radius by this share of it: rounding, not a wrong radius.
_HAIR = 1e-9
_HALF = np.uint64(2**32 - 1)

#: The parameters of both channels.
PARAMETERS = (
    Parameter("dim", COUNT, "numbers per respondent"),
    SPENT,
    Parameter("radius", NUMBER, "largest Euclidean norm of a respondent's vector", 1),
    Parameter("candidates", COUNT, "directions a device chooses from, a power of two (default: by the level)", None),
)


class DirectionRelease(StatisticsChannel, HasReportLikelihood):
    """Vectors v in R^k with ‖v‖ ≤ ρ, each told by one of K public random directions.

    The vector is lifted to the unit sphere, u = (v, √(ρ² − ‖v‖²))/ρ in R^{k+1}. A seed of 64 random bits, drawn
    without looking at u, stands for g_1, …, g_K, nearly N(0, I). A(u) holds the s of them with the largest ⟨g_i, u⟩,
    or |⟨g_i, u⟩|; ties go to the smaller number. The choice is even in A(u) with probability p, else even in the rest.

    The level is exactly log(high/low) with high = p/s and low = (1 − p)/(K − s):

    1. the seed says nothing about u, so that S(seed, choice | u) = 2⁻⁶⁴ S(choice | seed, u);
    2. whatever u and the seed are, A(u) has exactly s members, so that S(choice | seed, u) is high or low;
    3. no ratio of two such numbers exceeds high/low, and p is the largest integer over 2⁶² with high/low ≤ e^level.

    Nothing in this proof asks how Gaussian the directions are or how u was rounded: that only touches how well vectors
    are told. The directions are integers that are not quite N(0, 1), which biases β by a share of v (or of v vᵀ) of at
    most 4e-5, and 3e-4 with more than 1,024 candidates: checked by computing the gain of u along an axis exactly.
    """

    #: Sums of 2³³ reports stay below 2⁶³.
    most_reports = 1 << 33
    _magnitude: ClassVar[bool]
    #: From where norms are measured, in words after them.
    _measured: str = ""
    _largest_dim: ClassVar[int] = LARGEST_DIM
    #: The compiled and the plain loop that add reports up, and what a sum of squares counts.
    _adders: ClassVar[tuple[Callable[..., None], Callable[..., None]]]
    _square_unit: ClassVar[float] = 1.0
    #: The variance of what is summed in a report without information.
    _uninformed: FloatArray | float

    def __init__(self, dim: int, privacy_level: Number, radius: Number = 1, candidates: int | None = None) -> None:
        self.dim = as_count(dim, "dim", minimum=1, maximum=self._largest_dim)
        self._level = as_positive_level(privacy_level)
        self._radius = _read_radius(radius)
        self.radius = float(self._radius)
        self.choice: RankedChoice = ranked_choice(self._level, _read_candidates(candidates), magnitude=self._magnitude)
        self.columns = (
            Column("seed", "seed", description="stands for the candidate directions"),
            Column("choice", "integer", limit=self.choice.candidates, description="number of one of them, from 0"),
        )

    @property
    def bias_bound(self) -> float:  # type: ignore[override]
        """Largest share by which β misses its target, because directions are integers and not Gaussian."""
        return 4e-5 if self.candidates <= 1024 else 3e-4

    @property
    def sums_size(self) -> int:  # type: ignore[override]
        """Sums and sums of squares of all statistics."""
        return 2 * self.dimension

    @property
    def candidates(self) -> int:
        """K: how many directions a device chooses from."""
        return self.choice.candidates

    @property
    def truth_width(self) -> int:
        """k: how many numbers describe one respondent."""
        return self.dim

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _many_words(self, n: int) -> int:
        return 3 * n

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        """u in units of 2⁻²⁴, int32 (n, k + 1 or k + 2): an even number of entries, the last may be 0."""
        values = as_floats(truth, "the vectors", secret=True)
        require_finite(values, offset)
        with np.errstate(over="ignore"):
            scaled = values / self.radius
            squares = np.einsum("ij,ij->i", scaled, scaled)
        wrong = ~(squares <= (1 + _HAIR) ** 2)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                "is too long",
                argument=Place("the vector", row=row + offset),
                allowed=f"a norm{self._measured} of at most {self.radius:.10g}, the radius",
                remedy="Build the channel with a larger radius, or scale long vectors down and count them.",
            )
        units = np.zeros((len(values), 2 * directions.words_per_candidate(self.dim + 1)), dtype=np.int32)
        units[:, : self.dim] = np.rint(scaled * FINENESS)
        units[:, self.dim] = np.rint(np.sqrt(np.maximum(1 - squares, 0)) * FINENESS)
        return units

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        for rows in pieces(len(encoded), words=3):
            count = rows.stop - rows.start
            words = source(3 * count).copy()  # the next call may overwrite them
            seeds = words[:count]
            ranks = self._ranks(words[count : 2 * count], words[2 * count :], source)
            chosen = np.empty(count, dtype=np.int64)
            choose = directions.choose if compiled else directions.choose_plain
            table = directions.normal_table()
            choose(encoded[rows], seeds, ranks, table, self.candidates, self._magnitude, chosen)
            out["seed"][rows], out["choice"][rows] = seeds, chosen

    def _ranks(self, coins: AnyArray, words: AnyArray, source: WordSource) -> IntArray:
        """The rank to be reported: below s with probability p, and even below s and from s on.

        A number x of 32 bits gives rank ⌊x·size/2³²⌋ unless x·size mod 2³² < 2³² mod size, which leaves equally many x
        for every rank. A word has two such numbers, its low and its high half; if both fail, another word is drawn.
        """
        choice = self.choice
        best = (coins >> np.uint64(DISCARDED_BITS)).astype(np.int64) < choice.keep
        sizes = np.where(best, choice.top, choice.candidates - choice.top).astype(np.uint64)
        ranks = np.zeros(len(sizes), dtype=np.int64)
        left = np.arange(len(sizes))
        while len(left):
            for shift in (0, 32):
                product = ((words >> np.uint64(shift)) & _HALF) * sizes[left]
                even = (product & _HALF) >= np.uint64(2**32) % sizes[left]
                ranks[left[even]] = product[even] >> np.uint64(32)
                left, words = left[~even], words[~even]
            words = source(len(left)).copy() if len(left) else words
        return np.where(best, ranks, choice.top + ranks)

    # -- estimating ------------------------------------------------------------------------------------------------

    def _directions(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """The first k components of the chosen directions, in units of 1/UNIT, shape (n, k)."""
        seeds, chosen = self._told(columns)
        components = np.empty((len(seeds), self.dim), dtype=np.int64)
        make = directions.directions if len(seeds) >= COMPILED_PAYS_FROM else directions.directions_plain
        make(seeds, chosen, directions.normal_table(), self.dim + 1, components)
        return components

    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """Σ of what is summed, and then Σ of its squares, over the statistics."""
        seeds, chosen = self._told(columns)
        sums = np.zeros((2, self.dimension), dtype=np.int64)
        add = self._adders[len(seeds) < COMPILED_PAYS_FROM]
        add(seeds, chosen, directions.normal_table(), self.dim + 1, sums)
        return sums.reshape(-1)

    def _average(self, sums: IntArray, n: int) -> FloatArray:
        return np.asarray(sums[: self.dimension] / n)

    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """Of what is summed over reports, smoothed by one report without information."""
        means = self._average(sums, n)
        spread = np.maximum(sums[self.dimension :] / n * self._square_unit - means**2, 0)
        return means, (n * spread + self._uninformed) / (n + 1)

    @property
    def _leeway(self) -> float:
        """How far moments of directions may be off, beyond doubt: ten times as far as they were found to be."""
        return 1 + 10 * self.bias_bound

    @property
    def _largest_fourth(self) -> float:
        """A bound on E g_j⁴ = 3 + 6(M₂ − 1) u_j² + (M₄ − 6M₂ + 3) u_j⁴."""
        second, fourth = self.choice.second_moment, self.choice.fourth_moment
        return self._leeway * (3 + max(6 * (second - 1), 0) + max(fourth - 6 * second + 3, 0))

    def _told(self, columns: Mapping[str, AnyArray]) -> tuple[AnyArray, IntArray]:
        return np.ascontiguousarray(columns["seed"]), columns["choice"].astype(np.int64)

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        """Log S(choice | seed, u): the seed has the same probability whatever u is."""
        seeds, chosen = self._told(columns)
        units = self._read(truth, 0)
        ranks = np.empty((len(seeds), len(units)), dtype=np.int64)
        rank = directions.ranks if ranks.size >= COMPILED_PAYS_FROM else directions.ranks_plain
        rank(units, seeds, chosen, directions.normal_table(), self.candidates, self._magnitude, ranks)
        levels = np.log([float(self.choice.low), float(self.choice.high)])
        return np.asarray(levels[(ranks < self.choice.top).astype(np.int64)])

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """high/low, exactly."""
        return self.choice.high / self.choice.low

    def worst_observations(self) -> tuple[str, ...]:
        """In words: seeds are too many to list."""
        return (f"any seed, and one of its best {self.choice.top} of {self.candidates} directions",)

    def is_unbiased(self) -> bool:
        """The best directions are likelier than the others."""
        return self.choice.gain > 0

    def _corner(self, axis: int, sign: float = 1.0) -> FloatArray:
        """One row: ± the radius along an axis; 0 beyond the last axis, which is the axis of the lift."""
        return sign * self.radius * np.eye(1, self.dim, axis)

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written: dict[str, Any] = {"dim": self.dim, "privacy_level": str(self._level)}
        if self._radius != 1:
            written["radius"] = str(self._radius)
        return written | {"candidates": self.candidates}

    def thresholds(self) -> dict[str, Any]:
        """K, s, and p over 2⁶²: with probability p the choice is one of the s best of K candidates."""
        return {"candidates": self.candidates, "top": self.choice.top, "keep": self.choice.keep}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        choice = [self.choice.candidates, self.choice.top, self.choice.keep]
        return self.dim, str(self._radius), choice, FINENESS, directions.TABLE_DIGEST


def _read_radius(radius: Number) -> Fraction:
    remedy, limits = "Give the largest Euclidean norm a respondent's vector can have.", "above 0 (1e-100 to 1e100)"
    value = as_fraction(radius, "radius")
    return number(value, "radius", Fraction(1, 10**100), 10**100, allowed=limits, remedy=remedy)


def _read_candidates(candidates: int | None) -> int | None:
    if candidates is None:
        return None
    count = as_count(candidates, "candidates", minimum=2, maximum=MOST_CANDIDATES)
    if count & (count - 1):
        raise InputError(
            argument="candidates",
            got=count,
            allowed=f"a power of two, 2 to {MOST_CANDIDATES:,}",
            remedy=f"Take {1 << count.bit_length()}, or leave it out: enough for 98 % of what is possible are taken.",
        )
    return count
