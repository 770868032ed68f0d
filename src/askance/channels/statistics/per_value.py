"""Per-value release: every statistic becomes one noised bit, all bits are sent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any, Literal, Self

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, WordArray
from askance._checks import (
    Number,
    as_array,
    as_count,
    as_float,
    as_floats,
    as_positive_level,
    as_probability,
)
from askance._kernels import bits
from askance._kernels.draw import DISCARDED_BITS, TOTAL
from askance._words import Place, words
from askance.channels.randomness import LONGEST_DRAW, WordSource, pieces
from askance.channels.registry import (
    CHOICE_OF_STATISTICS,
    COUNT,
    MATRIX,
    NUMBER,
    PROBABILITY,
    Example,
    Parameter,
    register,
)
from askance.channels.statistics.base import (
    Averaging,
    BitStatistics,
    Calibration,
    Enumeration,
    HasReportLikelihood,
)
from askance.channels.statistics.bounds import Bounds, read_norm
from askance.channels.statistics.calibration import calibrate, calibrate_for_density
from askance.channels.statistics.choices import BOUNDS, CALIBRATION, DIM, SPENT, require_calibration, require_choice
from askance.channels.statistics.domains import BinaryDomain, BoundedDomain, Domain, ListedDomain
from askance.channels.statistics.flips import Flips, draw_dense_bits
from askance.channels.statistics.quick_reading import read_quickly
from askance.channels.statistics.reports import bits_as_json
from askance.channels.sum_law import CountLaw, SumLaw
from askance.channels.words import Words
from askance.errors import InputError, ShapeError
from askance.models.enumerated import Enumerated

# A proof by enumeration lists 2^d observations of all possible statistics; beyond this many entries structure is used.
_ENUMERATED_ENTRIES = 1 << 14
# Sums of bounded statistics may exceed their bound by half of this share; the other half is for rounded thresholds.
_SLACK = Fraction(1, 5 * 10**11)
# Statistics may differ from a listed one by this share of their bound: rounding, not other statistics.
_ROUNDING = 1e-9
# In bits; longer ratios are known by their logarithm.
_LONGEST_RATIO = 1 << 17


@register(
    family="statistics",
    summary="send every statistic as one noised bit",
    use="few statistics are 1 at a time (a small norm), such as one-hot codes and sparse indicators",
    parameters=[
        *(DIM, SPENT, CALIBRATION),
        Parameter("max_l1_norm", NUMBER, "largest sum of the statistics (default: their number)", None),
        Parameter("l1_norm", COUNT, "their sum, where it is always the same", None),
        Parameter("statistics", CHOICE_OF_STATISTICS, "only 0 and 1, or anything between", "binary"),
        Parameter("density", PROBABILITY, "share of ones: treat ones and zeros differently, best for it", None),
        *BOUNDS,
        Parameter("possible", MATRIX, "the possible statistics, where there are few: one row each", None),
    ],
    examples=[
        Example(dim=6, privacy_level=1, max_l1_norm=2),
        Example(dim=6, privacy_level=1, max_l1_norm=4, calibration="paper"),
        Example(dim=5, privacy_level=2, l1_norm=1, density="1/5"),
        Example(dim=3, privacy_level=1, max_l1_norm="3/2", statistics="bounded", lower=-1, statistic_bound=2),
        Example(dim=2, privacy_level=1, statistics="bounded", possible=[[0, 0], ["1/4", "1/4"], [1, 0]]),
    ],
)
class PerValue(BitStatistics, HasReportLikelihood):
    """Make one bit of mean t_j = (φ_j − lower_j)/c_j for every j; a 1 stays with probability p, a 0 rises with s.

    Level: the maximum over pairs of possible statistics of Σ_j log max_o P(o|t_j)/P(o|t′_j). For bits and symmetric
    flips (p = q, s = 1 − q) it is D log(q/(1 − q)) with D the Hamming diameter: min(2δ, d) for norm at most δ,
    2 min(δ, d − δ) for norm exactly δ. The paper's q = e^{α/2δ̄}/(1 + e^{α/2δ̄}) spends αD/(2δ̄).
    n Cov(μ̂) = Cov φ + diag(c² E[π(1 − π)])/(p − s)² with π = s + (p − s)t.

    Args:
        dim: d, the number of statistics.
        privacy_level: α.
        calibration: "exact" (default), or "paper" to keep bits as printed and report the level that really has.
        max_l1_norm: δ̄, a bound on Σ_j t_j (default: d).
        l1_norm: Σ_j t_j, where it is the same for everybody (1 for one-hot codes).
        statistics: "binary" (default): t is 0 or 1; "bounded": anything between.
        density: share of ones among the t_j; flips then treat ones and zeros differently, as is best for it.
        lower: smallest value of each statistic, one number or d.
        statistic_bound: c, largest minus smallest value, one number or d.
        possible: the only possible statistics, one row each, where there are few: the level is then that of the worst
            pair of rows.

    >>> PerValue(6, 1, max_l1_norm=4).privacy_level
    1.0
    >>> PerValue(6, 1, max_l1_norm=4, calibration="paper").privacy_level
    0.75
    >>> channel = PerValue(128, 4, l1_norm=1)
    >>> reports = channel.randomize(np.eye(128))
    >>> reports.columns["bits"].shape  # 128 bits in two words
    (128, 2)
    """

    kind = "per-value"
    device_mapping = "bits"

    def __init__(
        self,
        dim: int,
        privacy_level: Number,
        *,
        calibration: Calibration = "exact",
        max_l1_norm: Number | None = None,
        l1_norm: int | None = None,
        statistics: Literal["binary", "bounded"] = "binary",
        density: Number | None = None,
        lower: ArrayLike = 0.0,
        statistic_bound: ArrayLike = 1.0,
        possible: ArrayLike | None = None,
    ) -> None:
        super().__init__("bits", as_count(dim, "dim", minimum=1, maximum=1 << 24), "the noised bits")
        self.calibration = require_calibration(calibration)
        self._level = as_positive_level(privacy_level)
        binary = require_choice(statistics, "statistics", ("binary", "bounded")) == "binary"
        self._bounds = Bounds(self.dimension, lower, statistic_bound, binary=binary)
        self.max_l1_norm, self._exact_norm = read_norm(max_l1_norm, l1_norm, self.dimension, binary)
        self._possible = None if possible is None else self._read_possible(possible)
        self._domain = self._make_domain()
        self._density = None if density is None else as_probability(density, "density")
        self.flips: Flips = self._make_flips()

    @classmethod
    def for_model(
        cls, model: Enumerated, privacy_level: Number, theta: ArrayLike | None = None, *, tuned: bool = False
    ) -> Self:
        """The channel for the statistics of a model: its outputs are the possible statistics.

        With `tuned`, flips are best for the density of the statistics at θ (default 0).
        """
        low, width = model.table.min(axis=1), model.statistic_ranges
        shares = (model.table.T - low) / width
        binary = bool(np.isin(shares, (0.0, 1.0)).all())
        at = np.zeros(model.dimension) if theta is None else as_floats(theta, "theta")
        density = float((model.probabilities(at) @ shares).mean()) if tuned else None
        return cls(
            model.dimension,
            privacy_level,
            statistics="binary" if binary else "bounded",
            density=density,
            lower=low,
            statistic_bound=width,
            possible=np.unique(model.table.T, axis=0),
        )

    def _read_possible(self, possible: ArrayLike) -> FloatArray:
        listed = as_array(possible, "possible")
        if listed.ndim != 2 or listed.shape[1] != self.dimension or len(listed) < 2:
            raise ShapeError(
                f"has shape {listed.shape}",
                argument="possible",
                allowed=f"at least two rows of {self.dimension} statistics",
                remedy="Give one row per possible vector of statistics.",
            )
        rows = np.array([[as_float(value, "possible") for value in row] for row in listed.tolist()])
        shares = self._bounds.shares(rows, 0).astype(np.float64) + 0.0  # no −0
        norms = shares.sum(axis=1)
        wrong = (norms > float(self.max_l1_norm) + 1e-9) | (self._exact_norm & (norms < float(self.max_l1_norm) - 1e-9))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"row {row} of possible has norm {norms[row]:g}; allowed: {float(self.max_l1_norm):g}.",
                remedy="Leave the norm out: the rows say what is possible.",
            )
        return shares

    def _make_domain(self) -> Domain:
        if self._possible is not None:
            return ListedDomain(self._possible)
        if self._bounds.binary:
            make = BinaryDomain.of_norm if self._exact_norm else BinaryDomain.of_norm_at_most
            return make(self.dimension, math.floor(self.max_l1_norm))
        return BoundedDomain(self.dimension, self.max_l1_norm, _SLACK)

    def _make_flips(self) -> Flips:
        if self.calibration == "paper":
            if self._density is not None:
                raise InputError(
                    "is given with calibration 'paper'", argument="density", remedy="The paper's flips are symmetric."
                )
            return calibrate(BinaryDomain(1, 0), self._level / (2 * self.max_l1_norm))
        if self._density is None:
            return calibrate(self._domain, self._level)
        return calibrate_for_density(self._domain, self._level, float(self._density))

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        shares = self._bounds.shares(truth, offset)
        if self._possible is not None:
            shares = self._snapped(shares, offset)
        if not self._bounds.binary:
            self._refuse_norm(shares.sum(axis=1, dtype=np.float64), offset)
            return np.ascontiguousarray(shares, dtype=np.float64)
        packed = bits.pack(shares.astype(np.uint8, copy=False))
        self._refuse_norm(np.bitwise_count(packed).sum(axis=1), offset)
        return packed

    def _refuse_norm(self, norms: AnyArray, offset: int) -> None:
        """A vector outside the stated norm would be less protected than stated."""
        limit = float(self.max_l1_norm)
        wrong = (norms > limit * (1 + float(_SLACK) / 2)) | (self._exact_norm & (norms < limit))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                "have a wrong sum",
                argument=Place("the statistics", row=row + offset),
                allowed=f"{'exactly' if self._exact_norm else 'at most'} {limit:g}",
                remedy=words("Build the channel with {0}{max_l1_norm}.", "" if self._exact_norm else "a larger "),
            )

    def _snapped(self, shares: AnyArray, offset: int) -> AnyArray:
        """The listed statistics in place of rows that differ from them by rounding; what is not listed is refused.

        Noising a row as it is would not do: where all listed rows agree, any difference is a difference from all.
        """
        assert self._possible is not None
        different, places = np.unique(shares, axis=0, return_inverse=True)
        nearest = np.empty(len(different), dtype=np.intp)
        for number, row in enumerate(different):
            distances = np.abs(self._possible - row).max(axis=1)
            nearest[number] = np.argmin(distances)
            if distances[nearest[number]] > _ROUNDING:
                first = int(np.argmax(places == number))
                raise InputError(
                    "are none of those that are possible",
                    argument=Place("the statistics", row=first + offset),
                    allowed=words("one of the {0} rows of {possible}", len(self._possible)),
                    remedy=words("Add them to {possible}, or build the channel without it."),
                )
        return self._possible[nearest[places]]

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        if not self._bounds.binary:
            span = self.flips.keep - self.flips.raised
            draw_dense_bits(encoded, self.flips.raised, span, source, out["bits"], compiled=compiled)
            return
        flip = bits.flip if compiled else bits.flip_plain
        mask = np.uint64(bits.last_word_mask(self.dimension))
        truth, noised, done = encoded.reshape(-1), out["bits"].reshape(-1), 0
        ones, zeros = bits.planes_of(self.flips.keep), bits.planes_of(self.flips.raised)
        while done < truth.size:
            words = source(min(LONGEST_DRAW, bits.most_words(truth.size - done)))
            done = flip(truth, ones, zeros, encoded.shape[1], mask, words, done, noised)

    @cached_property
    def _word_limits(self) -> tuple[WordArray, WordArray]:
        """Below which words a 1, and a 0, is sent as 1: the thresholds, with room for the two bits not looked at.

        One of each for every word that is drawn at a time: NumPy compares arrays in half the time of a number.
        """
        size = min(self.dimension, LONGEST_DRAW)
        keep, raised = (np.uint64(threshold << DISCARDED_BITS) for threshold in (self.flips.keep, self.flips.raised))
        return np.full(size, keep), np.full(size, raised)

    @cached_property
    def _norms(self) -> tuple[int, int]:
        """How many ones there are at least and at most."""
        most = math.floor(self.max_l1_norm)
        return most if self._exact_norm else 0, most

    def _read_one(self, truth: ArrayLike) -> AnyArray:
        """Which statistics are 1, or T of all of them, shape (d,)."""
        row = read_quickly(truth, whole=self._bounds.binary and self._bounds.plain)
        if row is None:
            row = as_floats(truth, "the statistics", secret=True)
        if row.shape != (self.dimension,) or self._possible is not None or not self._bounds.binary:
            encoded = self._read(self._rows(row[None]), 0)
            return np.asarray(bits.unpack(encoded, self.dimension)[0] == 1 if self._bounds.binary else encoded[0])
        ones = self._bounds.ones(row)
        norm, (least, most) = int(np.count_nonzero(ones)), self._norms
        if (norm < least) | (norm > most):
            self._refuse_norm(np.array([norm]), 0)
        return ones

    def _report(self, encoded: AnyArray, words: Words) -> dict[str, Any]:
        """One word for every bit: it is sent as 1 where the word is below the threshold of its truth."""
        keep, raised = self._word_limits
        if self.dimension <= LONGEST_DRAW:
            sent = self._toss(encoded, words.take(self.dimension), keep, raised)
        else:
            parts = [(encoded[part], words.take(part.stop - part.start)) for part in pieces(self.dimension)]
            sent = np.concatenate([self._toss(t, w, keep[: w.size], raised[: w.size]) for t, w in parts])
        return {"bits": bits_as_json(sent, self.dimension)}

    def _toss(self, truth: AnyArray, words: WordArray, keep: WordArray, raised: WordArray) -> AnyArray:
        if self._bounds.binary:
            return (words < raised) | (truth & (words < keep))
        units = bits.whole_parts(truth, self.flips.keep - self.flips.raised).astype(np.uint64)
        return words < raised + (units << np.uint64(DISCARDED_BITS))

    def device_truth(self) -> dict[str, Any]:
        """Dimension, bounds and norm; where only some statistics are possible, their shares."""
        least = float(self.max_l1_norm) if self._exact_norm else 0.0
        listed = {} if self._possible is None else {"possible": self._possible.tolist()}
        return {**self._bounds.on_devices(), "norm": [least, float(self.max_l1_norm)], **listed}

    # -- estimating ------------------------------------------------------------------------------------------------

    def _sum_law(self) -> SumLaw:
        """Bits are independent given t, so that their number is known as well as Σ t is."""
        low, high = np.zeros(self.dimension), np.ones(self.dimension)
        norms = (float(self.max_l1_norm) * self._exact_norm, float(self.max_l1_norm * (1 + _SLACK)))
        if self._possible is not None:
            low, high = self._possible.min(axis=0), self._possible.max(axis=0)
            norms = float(self._possible.sum(axis=1).min()), float(self._possible.sum(axis=1).max())
        least, most = (self.dimension * self.flips.raise_probability + self.flips.gain * norm for norm in norms)
        return CountLaw(self.flips.ones(low), self.flips.ones(high), "bit", total=(least, most))

    def _outer(self, inner: FloatArray) -> FloatArray:
        """μ̂_j = lower_j + c_j (share of ones − s)/(p − s)."""
        return self._bounds.values(self.flips.debias(inner))

    @property
    def _slope(self) -> FloatArray:
        """c/(p − s): n Var(μ̂_j) = c_j² π_j(1 − π_j)/(p − s)², with π_j the share of ones."""
        return np.asarray(self._bounds.width / self.flips.gain)

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        shares = self._bounds.scaled(truth)
        centred = shares - weights @ shares
        covariance = (centred * weights[:, None]).T @ centred + np.diag(weights @ self.flips.variance(shares))
        return np.asarray(covariance * np.outer(self._bounds.width, self._bounds.width))

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        shares = self._bounds.scaled(truth)
        ones, zeros = np.log(self.flips.ones(shares)), np.log(self.flips.zeros(shares))
        return np.asarray(self._bits(columns) @ (ones - zeros).T + zeros.sum(axis=1))

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """The largest product of ratios over pairs of possible statistics."""
        return self._domain.worst(self.flips).fraction()

    def exact_level(self) -> tuple[float, Fraction | None]:
        """From logarithms to 60 digits: with thousands of statistics the ratio itself would be endless."""
        worst = self._domain.worst(self.flips)
        return worst.level(), worst.fraction() if worst.bits <= _LONGEST_RATIO else None

    def is_unbiased(self) -> bool:
        """Bits of ones and zeros differ."""
        return self.flips.keep > self.flips.raised

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """The two statistics between which the level is attained."""
        first, second = self._domain.worst_pair(self.flips, self.dimension)
        return self._bounds.values(first)[None], self._bounds.values(second)[None]

    def worst_observations(self) -> tuple[str, ...]:
        """The bits that are likeliest under one of the worst pair against the other."""
        exact = self.enumerate_exactly()
        if exact is not None:
            ratios = [Fraction(max(row), min(row)) for row in exact.weights]
            return tuple(o for o, ratio in zip(exact.observations, ratios, strict=True) if ratio == max(ratios))
        first, second = self._domain.worst_pair(self.flips, self.dimension)
        return ("".join("1" if a > b else "0" for a, b in zip(first, second, strict=True)),)

    def enumerate_exactly(self) -> Enumeration | None:
        """On all possible binary statistics."""
        d, points = self.dimension, self._possible_bits()
        if points is None or len(points) << d > _ENUMERATED_ENTRIES:
            return None
        keep, raised = self.flips.keep, self.flips.raised
        ones, reports = [[keep if bit else raised for bit in point] for point in points], []
        for seen in product((0, 1), repeat=d):
            pairs = [zip(row, seen, strict=True) for row in ones]
            weights = [math.prod(p if bit else TOTAL - p for p, bit in row) for row in pairs]
            reports.append(("".join(map(str, seen)), weights, [TOTAL * bit - raised for bit in seen]))
        statistics = [[Fraction(int(point[j])) for point in points] for j in range(d)]
        return Enumeration.of(reports, statistics, TOTAL**d, keep - raised)

    def _possible_bits(self) -> Sequence[Sequence[int]] | None:
        """All possible binary statistics; None where statistics are not binary, or far too many."""
        if not self._bounds.binary or self.dimension > 14:
            return None
        if self._possible is not None:
            return [[int(value) for value in row] for row in self._possible.tolist()]
        norm = math.floor(self.max_l1_norm)
        norms = [norm] if self._exact_norm else range(norm + 1)
        chosen = [set(ones) for size in norms for ones in combinations(range(self.dimension), size)]
        return [[int(j in ones) for j in range(self.dimension)] for ones in chosen]

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        written: dict[str, Any] = {"dim": self.dimension, "privacy_level": str(self._level)}
        if self.calibration != "exact":
            written["calibration"] = self.calibration
        if self._exact_norm:
            written["l1_norm"] = int(self.max_l1_norm)
        elif self.max_l1_norm < self.dimension:
            written["max_l1_norm"] = str(self.max_l1_norm)
        if self._density is not None:
            written["density"] = str(self._density)
        if self._possible is not None:
            written["possible"] = self._bounds.values(self._possible).tolist()
        return written | self._bounds.parameters() | ({} if self._bounds.binary else {"statistics": "bounded"})

    def thresholds(self) -> dict[str, Any]:
        """A 1 is sent as 1 with probability keep/2⁶², a 0 with probability raised/2⁶²."""
        return {"keep": self.flips.keep, "raised": self.flips.raised}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        possible = None if self._possible is None else self._possible.tolist()
        norm = [str(self.max_l1_norm), bool(self._exact_norm), self._bounds.binary]
        return self.dimension, self.flips.keep, self.flips.raised, norm, possible, self._bounds.edges()
