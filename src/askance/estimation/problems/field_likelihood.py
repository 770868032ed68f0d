"""How well tables fit what was seen, as functions of the true cells μ of the measured tables.

All of it depends on θ through μ(θ) alone, so that ∇_θ = I ∇_μ and the curvature is I ∇²_μ I, with I the information of
the field: one solver serves all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np

from askance._arrays import FloatArray, IntArray, WordArray
from askance._checks import shown
from askance._kernels import bits
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.reports import Reports
from askance.errors import InputError
from askance.estimation.problems.field_evidence import BlockMatrix, NoisyTables
from askance.evidence.tally import Tally
from askance.evidence.together import Together


class TableLoss(Protocol):
    """A convex function of μ, the cells of all measured tables, shape (m,): a negative log-likelihood."""

    def value(self, mean: FloatArray) -> float:
        """g(μ)."""

    def gradient(self, mean: FloatArray) -> FloatArray:
        """∇g(μ), shape (m,)."""

    def curvature(self, mean: FloatArray) -> BlockMatrix:
        """∇²g(μ), (m, m) in blocks."""


class GaussianLoss:
    """½ rᵀC⁺r with r = μ̂ − μ: the debiased tables are Gaussian around the true ones.

    >>> loss = GaussianLoss(np.array([0.4, 0.6]), BlockMatrix([np.array([100.0, 100.0])]))
    >>> round(loss.value(np.array([0.5, 0.5])), 6)
    1.0
    """

    def __init__(self, statistics: FloatArray, precision: BlockMatrix) -> None:
        self._statistics, self._precision = statistics, precision

    def value(self, mean: FloatArray) -> float:
        """½ rᵀC⁺r."""
        residual = self._statistics - mean
        return 0.5 * float(residual @ (self._precision @ residual))

    def gradient(self, mean: FloatArray) -> FloatArray:
        """−C⁺r."""
        return self._precision @ (mean - self._statistics)

    def curvature(self, mean: FloatArray) -> BlockMatrix:
        """C⁺."""
        return self._precision


class ReportLoss:
    """−Σ_o k_o log P(o) over the different reports o of clique release, k_o how often each was seen.

    A report is a clique and a subset S of the cells of its table: P(S) = a₀ + (a₁ − a₀) Σ_{cells in S} μ, with a₀ and
    a₁ the probability of the subset where the true cell is out of it, or in it. Where a table is told through a matrix
    the report is an observation o, and P(o) = Σ S[o, cell] μ.
    """

    def __init__(self, channel: CliqueRelease, clique: IntArray, sets: FloatArray, counts: FloatArray) -> None:
        """`clique` (K,), `sets` (K, bits of the widest table) of zeros and ones, `counts` (K,)."""
        offsets, self._tables = channel.tables.offsets, []
        for number, release in enumerate(channel.releases):
            own = clique == number
            rows, low, gain = release.likelihood_terms(sets[own, : release.bits])
            self._tables.append((slice(offsets[number], offsets[number + 1]), rows, counts[own], low, gain))

    @classmethod
    def of_reports(cls, reports: Reports) -> ReportLoss:
        """From reports, collapsed to the different ones."""
        channel = require_cliques(reports)
        words: WordArray = np.column_stack([reports.columns["clique"].astype(np.uint64), reports.columns["subset"]])
        different, counts = np.unique(words, axis=0, return_counts=True)
        widest = max(release.bits for release in channel.releases)
        sets = bits.unpack(np.ascontiguousarray(different[:, 1:]), widest).astype(np.float64)
        return cls(channel, different[:, 0].astype(np.int64), sets, counts.astype(np.float64))

    @classmethod
    def of_sums(cls, tally: Tally[StatisticsChannel]) -> ReportLoss:
        """From sums, which hold the likelihood where every report has one bit set."""
        channel = require_cliques(tally)
        large = [i for i, release in enumerate(channel.releases) if release.subset_size > 1]
        if large:
            raise InputError(
                f"the subsets of clique {large[0]} have {channel.releases[large[0]].subset_size} cells: sums of such "
                "reports do not hold their likelihood.",
                remedy="Give the Reports themselves, or take method 'moments'.",
            )
        widths = [release.bits for release in channel.releases]
        clique = np.repeat(np.arange(len(widths)), widths)
        sets = np.concatenate([np.eye(count, max(widths)) for count in widths])
        return cls(channel, clique, sets, channel.bit_counts(tally.sums).astype(np.float64))

    @property
    def width(self) -> int:
        """The cells of all tables."""
        return int(self._tables[-1][0].stop)

    def value(self, mean: FloatArray) -> float:
        """−Σ k log P."""
        return -sum(
            float(counts @ np.log(low + gain * (sets @ mean[part]))) for part, sets, counts, low, gain in self._tables
        )

    def gradient(self, mean: FloatArray) -> FloatArray:
        """−Σ k ∇P/P."""
        out = np.empty_like(mean)
        for part, sets, counts, low, gain in self._tables:
            out[part] = -gain * ((counts / (low + gain * (sets @ mean[part]))) @ sets)
        return out

    def curvature(self, mean: FloatArray) -> BlockMatrix:
        """Σ k ∇P ∇Pᵀ/P²."""
        blocks = []
        for part, sets, counts, low, gain in self._tables:
            weights = counts * (gain / (low + gain * (sets @ mean[part]))) ** 2
            blocks.append((sets * weights[:, None]).T @ sets)
        return BlockMatrix(blocks)


class JoinedLoss:
    """The sum of losses of parts, whose tables follow one another."""

    def __init__(self, parts: Sequence[ReportLoss]) -> None:
        ends = [0, *accumulate(part.width for part in parts)]
        self._parts = [(part, slice(start, end)) for part, (start, end) in zip(parts, pairwise(ends), strict=True)]

    def value(self, mean: FloatArray) -> float:
        """−Σ k log P over all parts."""
        return sum(part.value(mean[own]) for part, own in self._parts)

    def gradient(self, mean: FloatArray) -> FloatArray:
        """Of every part by its own tables."""
        return np.concatenate([part.gradient(mean[own]) for part, own in self._parts])

    def curvature(self, mean: FloatArray) -> BlockMatrix:
        """Of every part by its own tables."""
        return BlockMatrix.joined(part.curvature(mean[own]) for part, own in self._parts)


def report_loss(evidence: Reports | Tally[StatisticsChannel] | NoisyTables | Together) -> TableLoss:
    """The likelihood of the reports themselves; refused where there is none."""
    if isinstance(evidence, Together):
        return JoinedLoss([_of_one(part) for part in evidence.parts])
    return _of_one(evidence)


def _of_one(evidence: Reports | Tally[StatisticsChannel] | NoisyTables) -> ReportLoss:
    if isinstance(evidence, NoisyTables):
        raise InputError("tables have no likelihood of reports.", remedy="Leave the method out, or take 'ridge'.")
    return ReportLoss.of_reports(evidence) if isinstance(evidence, Reports) else ReportLoss.of_sums(evidence)


def require_cliques(evidence: Reports | Tally[StatisticsChannel]) -> CliqueRelease:
    """Refuse evidence of a channel whose likelihood needs more than the tables of cliques."""
    channel = evidence.channel
    if not isinstance(channel, CliqueRelease):
        raise InputError(
            f"the likelihood of a field is known for clique release, not for {shown(channel.kind)}.",
            remedy="Take method 'moments', which needs means alone.",
        )
    return channel
