"""What all channels on statistics share: a device noises φ(x, y), the server averages an unbiased β of what it gets."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import as_floats, refuse_masked, require_generator, shown
from askance._kernels import bits
from askance._kernels.compiler import COMPILED_PAYS_FROM
from askance._words import Place
from askance.categories import Categories
from askance.channels.described import Described
from askance.channels.even_time import in_even_time
from askance.channels.randomness import WordSource, secure_words, seeded_words
from askance.channels.statistics.choices import Averaging as Averaging
from askance.channels.statistics.choices import Calibration as Calibration
from askance.channels.statistics.choices import require_averaging
from askance.channels.statistics.reports import Column, Reports, report_as_json, require_reports
from askance.channels.sum_law import SumLaw
from askance.channels.thresholds import log_rounded_up
from askance.channels.words import Words
from askance.errors import EmptyDataError, InputError, MissingValueError, ShapeError
from askance.models.enumerated import weighted_covariance

# Respondents drawn at a time: whatever is worked out for them stays in the processor's cache.
_PIECE = 1 << 12


@dataclass(frozen=True)
class Enumeration:
    """A channel written out on some statistics, in whole numbers: what `certify` checks entry by entry.

    S(o | φ) = weights[o][φ] / total and β(o) = beta[.][o] / beta_scale, exactly.

    Attributes:
        observations: one label per observation, k of them.
        statistics: the enumerated statistics on their inner scale, d rows of m fractions.
        weights: k rows of m integers; every column sums to `total`.
        total: the common denominator of the weights.
        beta: d rows of k integers.
        beta_scale: the common denominator of β.
    """

    observations: Sequence[str]
    statistics: Sequence[Sequence[Fraction]]
    weights: Sequence[Sequence[int]]
    total: int
    beta: Sequence[Sequence[int]]
    beta_scale: int

    @classmethod
    def of(
        cls,
        reports: Sequence[tuple[str, Sequence[int], Sequence[int]]],
        statistics: Sequence[Sequence[Fraction]],
        total: int,
        beta_scale: int,
    ) -> Enumeration:
        """From the label, the weights (m,) and β (d,) of every report."""
        observations, weights, beta = zip(*reports, strict=True)
        return cls(list(observations), statistics, list(weights), total, list(zip(*beta, strict=True)), beta_scale)


class StatisticsChannel(Described):
    """S(o | φ): a respondent's statistics φ (d numbers) are noised on the device into a small report.

    Reports add up: `sums` turns them into integers, and from the integers of all respondents `mean` gives the unbiased
    μ̂ and `variances` its uncertainty. A subclass says how truth is read and drawn, what is summed, and how sums are
    turned into means. Everything a user meets is here and the same for all.

    Attributes:
        dimension: d, the number of statistics that are estimated.
        columns: what a report consists of.
    """

    dimension: int
    columns: tuple[Column, ...]
    #: Length of the integer sums.
    sums_size: int
    #: What sums are called.
    sums_name = "sums"
    _level: Fraction

    # -- what a subclass provides ----------------------------------------------------------------------------------

    @abstractmethod
    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        """Check some rows of truth and encode them for `_draw`; errors name row `offset` + i."""

    @abstractmethod
    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        """Draw one report per encoded row into the columns `out`, by the compiled or by the plain loop."""

    @abstractmethod
    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """Integer sums over reports, shape (sums_size,)."""

    @abstractmethod
    def _sum_law(self) -> SumLaw:
        """What sums can be, and what they are on average."""

    @abstractmethod
    def _average(self, sums: IntArray, n: int) -> FloatArray:
        """β on the channel's inner scale, averaged over the reports about each statistic, shape (d,)."""

    @abstractmethod
    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """The same mean, and the variance of β among these reports, smoothed so that none is 0; shape (d,) each."""

    def _seen(self, sums: IntArray) -> IntArray | None:
        """How many reports are about each statistic, shape (d,); None where every report is about all of them."""
        return None

    def _drawn_blocks(self, sums: IntArray) -> tuple[str, IntArray | None]:
        """What is drawn, in a word, and how many reports are about each."""
        return "statistic", self._seen(sums)

    @property
    def _sent(self) -> FloatArray | float:
        """How often each statistic is drawn, one number for all or shape (d,)."""
        return 1.0

    def _outer(self, inner: FloatArray) -> FloatArray:
        """φ from the inner scale, an affine function of each statistic, shape (…, d)."""
        return inner

    @property
    def _slope(self) -> FloatArray | float:
        """Of `_outer`, one number for all or shape (d,)."""
        return 1.0

    @abstractmethod
    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        """β(o) of every report, shape (n, d)."""

    @abstractmethod
    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        """The limit of n · Cov(μ̂), shape (d, d); arguments as `mean_covariance`, checked."""

    @abstractmethod
    def largest_ratio(self) -> Fraction:
        """Max over o, φ, φ′ of S(o|φ)/S(o|φ′), exactly, from the thresholds the sampler uses."""

    @abstractmethod
    def worst_observations(self) -> tuple[str, ...]:
        """Labels of observations at which the level is attained: all where they are few, otherwise one or two."""

    @abstractmethod
    def is_unbiased(self) -> bool:
        """Whether β exists: the noised bits still depend on the truth."""

    @abstractmethod
    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """Two truths (one row each) between which the level is attained: what an audit tells apart."""

    @abstractmethod
    def thresholds(self) -> dict[str, Any]:
        """What a device in another language needs to draw the same law: whole numbers over 2⁶², plain JSON."""

    @abstractmethod
    def _fingerprint_parts(self) -> tuple[Any, ...]:
        """What decides the sampler and β, as plain JSON values."""

    #: A tally holds at most so many reports: their sums fit 64 bits.
    most_reports: int = 1 << 48
    #: E[β(o) | φ] may miss φ by this share of it; 0 where β is unbiased exactly.
    bias_bound: float = 0.0

    @cached_property
    def sum_law(self) -> SumLaw:
        """What sums of reports can be, and what they are on average."""
        return self._sum_law()

    @property
    def stated_level(self) -> float:
        """The level that was asked for; `privacy_level` is the one the sampler has."""
        return float(self._level)

    def enumerate_exactly(self) -> Enumeration | None:
        """S and β in whole numbers on the statistics that decide the level; None where there are too many."""
        return None

    def check_reports(self, columns: Mapping[str, AnyArray]) -> None:
        """Refuse what no respondent could have sent, beyond the ranges of the columns."""

    @property
    def statistic_names(self) -> tuple[str, ...]:
        """One name per statistic."""
        return tuple(f"statistic {j}" for j in range(self.dimension))

    @property
    def truth_labels(self) -> Categories | None:
        """The labels of which a respondent has one; None where numbers describe a respondent."""
        return None

    @property
    def truth_width(self) -> int:
        """How many numbers describe one respondent."""
        return self.dimension

    # -- what a user meets -----------------------------------------------------------------------------------------

    def randomize(self, truth: ArrayLike) -> Reports:
        """Noise every row of truth with a cryptographic source.

        This is what protects a person: it takes no seed and cannot be repeated.

        Args:
            truth: one row per respondent, shape (n, truth_width).
        """
        rows = self._rows(truth)
        return self._observe(rows, secure_words(self._many_words(len(rows))))

    @in_even_time
    def randomize_one(self, truth: ArrayLike) -> dict[str, Any]:
        """`randomize` for one respondent, as on a device: the report as plain JSON values.

        For every truth the same steps, as many random words, and a multiple of 20 microseconds.
        """
        return self._report(self._read_one(truth), Words.fresh())

    def report_from_words(self, truth: ArrayLike, words: Iterable[int]) -> tuple[dict[str, Any], int]:
        """The report that `device/1` makes of a truth and of 64-bit words, and how many words it took.

        `randomize_one` is this with the system's words. Known words protect nobody: this is to compare devices in other
        languages with (`askance vectors`), and for `permanent_words`. How many it takes does not depend on the truth.

        >>> from askance import PerValue
        >>> channel = PerValue(3, 1)
        >>> channel.report_from_words([0, 1, 0], [0, 2**63, 2**64 - 1])  # words: surely 1, as it is, surely 0
        ({'bits': '03'}, 3)
        """
        if not self.device_mapping:
            raise InputError(
                f"{self.kind} has no mapping in device/1, because it works with floating-point geometry.",
                remedy="Noise with randomize_one, in Python; docs/device.md lists the channels that have one.",
            )
        stream = Words.given(words)
        return self._report(self._read_one(truth), stream), stream.used

    def device_truth(self) -> dict[str, Any]:
        """What a device needs to read a truth, as plain JSON values."""
        return {}

    def _read_one(self, truth: ArrayLike) -> AnyArray:
        """The truth of one respondent, checked and encoded by the same steps for every truth."""
        return self._read(self._one_row(truth), 0)

    def _one_row(self, truth: ArrayLike) -> AnyArray:
        """The truth of one respondent as a row of floats, whatever its numbers are written as."""
        return self._rows(as_floats(truth, "the statistics", secret=True)[None])

    def _report(self, encoded: AnyArray, words: Words) -> dict[str, Any]:
        """The report of what `_read_one` gave, in steps that depend neither on it nor on whether it is told.

        `_draw` will do where `device/1` has no mapping, unless it goes on until a coin has fallen: how long that takes
        tells, with the report, how it fell.
        """
        out = {column.name: column.empty(1) for column in self.columns}
        self._draw(encoded, words.take, out, compiled=False)
        return report_as_json(self.columns, out, 0)

    def simulate(self, truth: ArrayLike, rng: np.random.Generator) -> Reports:
        """Noise every row of truth with a seeded generator: for experiments, not for people."""
        return self._observe(self._rows(truth), seeded_words(require_generator(rng)))

    def _many_words(self, n: int) -> int:
        """A guess of how many random words n reports take: decides where they come from, nothing else."""
        return n * (1 + self.truth_width)

    def _observe(self, rows: AnyArray, source: WordSource) -> Reports:
        out = {column.name: column.empty(len(rows)) for column in self.columns}
        compiled = len(rows) >= COMPILED_PAYS_FROM
        for start in range(0, len(rows), _PIECE):
            piece = slice(start, start + _PIECE)
            encoded = self._read(rows[piece], start)
            self._draw(encoded, source, {name: values[piece] for name, values in out.items()}, compiled=compiled)
        return Reports(self, out)

    def _rows(self, truth: ArrayLike) -> AnyArray:
        """Truth as an array with one row per respondent."""
        refuse_masked(truth, "the statistics")
        rows = truth if isinstance(truth, np.ndarray) else as_floats(truth, "the statistics", secret=True)
        if rows.ndim != 2 or rows.shape[1] != self.truth_width:
            raise ShapeError(
                f"the statistics have shape {rows.shape}; allowed: (n, {self.truth_width}), one row per respondent.",
                remedy=f"Give {self.truth_width} numbers per respondent, or build the channel for another dimension.",
            )
        return rows

    def sums(self, reports: Reports) -> IntArray:
        """What reports add up to: integers, so that every order and every split gives the same bits."""
        return self._sums(require_reports(reports, self).columns)

    def n_told_by(self, sums: IntArray) -> int | None:
        """How many reports have these sums: they do not tell."""
        return None

    def require_possible(self, sums: IntArray, n: int) -> None:
        """Refuse what no n reports add up to."""
        wrong = self.sum_law.violation(sums, n)
        if wrong is not None:
            raise InputError(
                f"no {n} reports of {self.kind} have these sums: {wrong}.",
                remedy="Sum with Tally(channel).add(reports).",
            )

    def debias(self, reports: Reports) -> FloatArray:
        """β(o) for every report, shape (n, d): E[β(o) | φ] = φ."""
        return self._debias(require_reports(reports, self).columns)

    def statistics(self, truth: ArrayLike) -> FloatArray:
        """φ of every row of truth, shape (n, d): the rows themselves, unless a subclass says otherwise."""
        return self._statistics(self._rows(truth))

    def _statistics(self, rows: AnyArray) -> FloatArray:
        return as_floats(rows, "the statistics", secret=True)

    def mean(self, sums: IntArray, n: int, averaging: Averaging = "within") -> FloatArray:
        """μ̂: the unbiased mean of φ from the sums of n reports, shape (d,); `averaging` as in `estimate_mean`."""
        inner, seen = self._average(sums, n), self._seen(sums)
        if require_averaging(averaging) == "printed" and seen is not None:
            inner = inner * seen / (self._sent * n)
        what, blocks = self._drawn_blocks(sums)
        if averaging == "within" and blocks is not None and not blocks.all():
            missing = np.flatnonzero(blocks == 0)
            raise EmptyDataError(
                f"no report is about {what} {missing[0]} ({len(missing)} of {len(blocks)} were never drawn).",
                remedy='Collect more reports, or take averaging="printed".',
            )
        return self._outer(inner)

    def variances(self, sums: IntArray, n: int, averaging: Averaging = "within") -> FloatArray:
        """n · Var(μ̂_j), estimated from the sums alone, shape (d,)."""
        (mean, variance), seen = self._spread(sums, n), self._seen(sums)
        if require_averaging(averaging) == "within" and seen is not None:
            variance = variance * n / np.maximum(seen, 1)
        elif seen is not None:  # E β² − (E β)², with β over its probability where the statistic was drawn, else 0
            variance = (variance + mean**2) / self._sent - mean**2
        return np.asarray(np.square(self._slope) * variance)

    def mean_covariance(
        self, truth: ArrayLike, weights: ArrayLike | None = None, averaging: Averaging = "within"
    ) -> FloatArray:
        """The limit of n · Cov(μ̂) when row i of `truth` has probability `weights[i]`, shape (d, d)."""
        rows, shares = self._distribution(truth, weights)
        return self._mean_covariance(rows, shares, require_averaging(averaging))

    def excess_covariance(
        self, truth: ArrayLike, weights: ArrayLike | None = None, averaging: Averaging = "within"
    ) -> FloatArray:
        """H = n · Cov(μ̂) − Cov φ: what the channel adds, shape (d, d); with "printed", H = E Cov[β(o) | φ]."""
        rows, shares = self._distribution(truth, weights)
        return np.asarray(
            self._mean_covariance(rows, shares, require_averaging(averaging))
            - weighted_covariance(self._statistics(rows).T, shares)
        )

    def _distribution(self, truth: ArrayLike, weights: ArrayLike | None) -> tuple[AnyArray, FloatArray]:
        rows = self._rows(truth)
        self._read(rows, 0)  # refuses what is not possible
        shares = np.full(len(rows), 1 / max(len(rows), 1)) if weights is None else as_floats(weights, "weights")
        if shares.shape != (len(rows),) or not (shares >= 0).all() or not 0 < shares.sum() < math.inf:
            raise InputError(
                f"weights are {shown(shares.tolist())}; allowed: {len(rows)} numbers of at least 0, not all 0.",
                remedy="Give one probability per row of truth.",
            )
        return rows, shares / shares.sum()

    @cached_property
    def privacy_level(self) -> float:
        """The smallest α with S(o|φ) ≤ e^α S(o|φ′), from the thresholds the sampler uses, rounded up to a float."""
        return self.exact_level()[0]

    def exact_level(self) -> tuple[float, Fraction | None]:
        """The level, rounded up to a float, and e^level; None where that has too many digits to be worked out."""
        ratio = self.largest_ratio()
        return log_rounded_up(ratio), ratio

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the sampler, β and purpose: evidence of equal fingerprints may be merged."""
        parts = [self.kind, *self._fingerprint_parts()]
        content = json.dumps([*parts, {"purpose": self.purpose}] if self.purpose else parts, sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


class BitStatistics(StatisticsChannel):
    """A report is one row of d bits, whose shares π of ones give the statistics: φ = `_outer`(π)."""

    def __init__(self, name: str, dimension: int, description: str) -> None:
        self.dimension = self.sums_size = dimension
        self.columns = (Column(name, "bits", width=dimension, description=description),)

    def _bits(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        """The bits of reports as 0 and 1, shape (n, d)."""
        return bits.unpack(columns[self.columns[0].name], self.dimension).astype(np.float64)

    def _sums(self, columns: Mapping[str, AnyArray]) -> IntArray:
        """How many reports have each bit set."""
        words = columns[self.columns[0].name]
        return bits.count_bits(words, self.dimension, compiled_loop=len(words) >= COMPILED_PAYS_FROM)

    def _average(self, sums: IntArray, n: int) -> FloatArray:
        return np.asarray(sums / n)

    def _spread(self, sums: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
        """π and π(1 − π), smoothed."""
        ones = (sums + 0.5) / (n + 1)
        return ones, ones * (1 - ones)

    def _debias(self, columns: Mapping[str, AnyArray]) -> FloatArray:
        return self._outer(self._bits(columns))


class HasReportLikelihood(ABC):
    """A channel on statistics whose S(o | φ) can be evaluated; all channels of askance are such."""

    @abstractmethod
    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        """Log S(o | φ), shape (n, m); arguments checked."""

    def log_likelihood(self, reports: Reports, truth: ArrayLike) -> FloatArray:
        """Log S(o | φ) for every report and every row of truth (m rows), shape (n, m)."""
        assert isinstance(self, StatisticsChannel)
        rows, _ = self._distribution(truth, None)
        return self._log_likelihood(require_reports(reports, self).columns, rows)


def require_finite(rows: FloatArray, offset: int) -> None:
    """Refuse NaN and infinity, naming the row."""
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise MissingValueError(
            "is missing or infinite",
            argument=Place("statistic", column, offset + row),
            allowed="finite numbers",
            remedy="Leave respondents with missing values out, and count them.",
        )
