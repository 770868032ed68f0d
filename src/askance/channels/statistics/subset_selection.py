"""Subset selection: a few labels are sent, the true one rather often among them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray
from askance._checks import Number, as_column, as_count, as_positive_level
from askance._kernels import bits
from askance.categories import Categories, Label, LabelSet
from askance.channels.randomness import WordSource
from askance.channels.registry import COUNT, LABELS, Example, Parameter, labels_as_json, register
from askance.channels.reports import impossible_report
from askance.channels.statistics.base import Averaging, BitStatistics, Enumeration, HasReportLikelihood
from askance.channels.statistics.choices import SPENT
from askance.channels.statistics.reports import bits_as_json
from askance.channels.statistics.table_release import MOST_CELLS, SubsetSampler, TableRelease, members
from askance.channels.sum_law import CountLaw, SumLaw
from askance.channels.words import Words
from askance.errors import InputError

# A proof by enumeration lists all subsets against all outputs; beyond this many entries structure is used.
_ENUMERATED_ENTRIES = 1 << 14


@register(
    family="statistics",
    summary="send a few labels, the true one rather often among them",
    use="there are many labels: from about 1.4 (e^level + 1) of them on it beats randomized response for shares",
    parameters=[
        Parameter("outputs", LABELS, "number of outputs, or their labels"),
        SPENT,
        Parameter("subset_size", COUNT, "how many labels are sent (default: the number of least variance)", None),
    ],
    examples=[
        Example(outputs=4, privacy_level=1),
        Example(outputs=9, privacy_level=1),
        Example(outputs=["never", "once", "often"], privacy_level=2, subset_size=2),
        Example(outputs=6, privacy_level="1/2", subset_size=3),
    ],
)
class SubsetSelection(BitStatistics, HasReportLikelihood):
    """Send s of w labels: the true one with probability p = s e^α/(s e^α + w − s), the rest uniform among the others.

    The statistics are the indicators of the labels, their means the shares of the labels. Exact level:
    log [p/(1 − p) · (w − s)/s] = α. With a = p and b = (s − p)/(w − 1), how often a label is sent when it is true and
    when it is not, share = (sent − b)/(a − b). The default s is the one of least variance, about w/(e^α + 1); it
    becomes 1, which is k-ary randomized response, above level 0.55, 1.67, 2.33, 3.79 for 4, 9, 16, 64 labels.

    Args:
        outputs: labels, or their number; 2 to 65,536.
        privacy_level: α.
        subset_size: s, from 1 to w − 1.

    >>> channel = SubsetSelection(["a", "b", "c", "d", "e", "f", "g", "h", "i"], 1)
    >>> channel.privacy_level, channel.subset_size
    (1.0, 2)
    >>> rng = np.random.default_rng(5)
    >>> reports = channel.simulate(["a", "a", "a", "c", "c"] * 50_000, rng)
    >>> channel.mean(channel.sums(reports), len(reports)).round(1) + 0.0
    array([0.6, 0. , 0.4, 0. , 0. , 0. , 0. , 0. , 0. ])
    """

    kind = "subset-selection"
    device_mapping = "subset"

    def __init__(self, outputs: LabelSet, privacy_level: Number, subset_size: int | None = None) -> None:
        self.outputs = Categories.of(outputs, name="outputs")
        super().__init__("subset", len(self.outputs), "the labels that are sent")
        if self.dimension > MOST_CELLS:
            raise InputError(
                f"has {self.dimension:,} labels",
                argument="outputs",
                allowed=f"at most {MOST_CELLS:,}, because a report has one bit for each",
                remedy="Join rare labels, or take randomized-response.",
            )
        self._level = as_positive_level(privacy_level)
        size = subset_size
        if size is not None:
            size = as_count(size, "subset_size", minimum=1, maximum=self.dimension - 1)
        self.release: TableRelease = TableRelease.for_privacy_level(self.dimension, self._level, size)

    @property
    def subset_size(self) -> int:
        """s."""
        return self.release.subset_size

    @property
    def statistic_names(self) -> tuple[str, ...]:
        """The labels."""
        return tuple(map(str, self.outputs.labels))

    @property
    def truth_labels(self) -> Categories:
        """The outputs."""
        return self.outputs

    @property
    def truth_width(self) -> int:
        """One label."""
        return 1

    # -- drawing ---------------------------------------------------------------------------------------------------

    @cached_property
    def _sampler(self) -> SubsetSampler:
        return SubsetSampler([self.release], np.ones(1))

    def _many_words(self, n: int) -> int:
        return n * (2 + bits.words_for(self.dimension))

    def _rows(self, truth: ArrayLike) -> AnyArray:
        return as_column(truth, "truth", secret=True)

    def _read(self, truth: AnyArray, offset: int) -> AnyArray:
        return self.outputs.encode(truth, "truth", offset, secret=True).astype(np.int64, copy=False)

    def _statistics(self, rows: AnyArray) -> FloatArray:
        return np.eye(self.dimension)[self._read(rows, 0)]

    def _draw(self, encoded: AnyArray, source: WordSource, out: Mapping[str, AnyArray], *, compiled: bool) -> None:
        only = np.zeros(len(encoded), dtype=np.int64)
        self._sampler.draw(only, encoded, source, out["subset"], compiled=compiled)

    def _read_one(self, truth: ArrayLike) -> AnyArray:
        return np.array([self.outputs.code(cast(Label, truth), "truth", secret=True)])

    def _report(self, encoded: AnyArray, words: Words) -> dict[str, Any]:
        return {"subset": bits_as_json(self.release.told(int(encoded[0]), words), self.dimension)}

    def device_truth(self) -> dict[str, Any]:
        """The labels."""
        return {"outputs": labels_as_json(self.outputs)}

    def check_reports(self, columns: Mapping[str, AnyArray]) -> None:
        """Refuse subsets of another size."""
        only = np.zeros(len(columns["subset"]), dtype=np.int64)
        row = self._sampler.first_impossible(only, columns["subset"])
        if row is not None:
            ones = int(bits.unpack(columns["subset"][row : row + 1], self.dimension).sum())
            raise impossible_report(row, f"{ones} labels in column 'subset'", f"exactly {self.subset_size}")

    # -- estimating ------------------------------------------------------------------------------------------------

    def _sum_law(self) -> SumLaw:
        low, high = self.release.sent_range()
        return CountLaw(low, high, "label", size=np.array([self.subset_size]))

    def _outer(self, inner: FloatArray) -> FloatArray:
        """The share of every label, (share of reports that have it − b)/(a − b)."""
        return self.release.debias(inner)

    @property
    def _slope(self) -> float:
        """1/(a − b): n Var(μ̂) = π(1 − π)/(a − b)², with π the share of reports that have the label."""
        return 1 / self.release.gain

    def _mean_covariance(self, truth: AnyArray, weights: FloatArray, averaging: Averaging) -> FloatArray:
        shares = np.bincount(self._read(truth, 0), weights, minlength=self.dimension)
        return self.release.covariance(np.asarray(shares, dtype=np.float64))

    def _log_likelihood(self, columns: Mapping[str, AnyArray], truth: AnyArray) -> FloatArray:
        sets, codes = columns["subset"], self._read(truth, 0)
        inside = members(sets, np.broadcast_to(codes, (len(sets), len(codes))))
        return np.asarray(self.release.log_probabilities[inside])

    # -- proving ---------------------------------------------------------------------------------------------------

    def largest_ratio(self) -> Fraction:
        """p/(1 − p) · (w − s)/s: of any subset, between a label in it and one out of it."""
        return self.release.ratio

    def is_unbiased(self) -> bool:
        """The true label is sent more often than others."""
        return self.release.units > 0

    def worst_pair(self) -> tuple[AnyArray, AnyArray]:
        """The first and the second label; any two will do."""
        return self.outputs.decode(np.array([0])), self.outputs.decode(np.array([1]))

    def worst_observations(self) -> tuple[str, ...]:
        """All subsets, as one bit per label; one that tells the first two labels apart where they are many."""
        exact = self.enumerate_exactly()
        if exact is not None:
            return tuple(exact.observations)
        size = self.subset_size
        return ("1" + "0" * (self.dimension - size) + "1" * (size - 1),)

    def enumerate_exactly(self) -> Enumeration | None:
        """On all labels."""
        release, w = self.release, self.dimension
        if release.number_of_subsets * w > _ENUMERATED_ENTRIES:
            return None
        seen = release.subsets()
        without, with_it, total = release.weights()
        return Enumeration(
            observations=["".join(map(str, subset)) for subset in seen],
            statistics=[[Fraction(int(i == j)) for i in range(w)] for j in range(w)],
            weights=[[with_it if bit else without for bit in subset] for subset in seen],
            total=total,
            beta=[[release.beta(subset[j]) for subset in seen] for j in range(w)],
            beta_scale=release.units,
        )

    # -- describing ------------------------------------------------------------------------------------------------

    def parameters(self) -> dict[str, Any]:
        """The parameters of the registry, from which the same thresholds are built again."""
        return {
            "outputs": labels_as_json(self.outputs),
            "privacy_level": str(self._level),
            "subset_size": self.subset_size,
        }

    def thresholds(self) -> dict[str, Any]:
        """The true label is among the `subset_size` sent ones with probability inside/2⁶²; the others are uniform."""
        return {"subset_size": self.release.subset_size, "inside": self.release.keep}

    def _fingerprint_parts(self) -> tuple[Any, ...]:
        return labels_as_json(self.outputs), self.subset_size, self.release.keep
