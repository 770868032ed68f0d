"""What noised reports say about the tables of a random field: unbiased tables, and how far off they may be."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from itertools import chain, groupby, pairwise
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_count, as_floats, shown
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.per_value import PerValue
from askance.channels.statistics.reports import Reports
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError, ShapeError
from askance.evidence.tally import Tally, of_statistics
from askance.models.random_field import RandomField

#: Gives Cov φ of the measured statistics under the model, shape (m, m), to who needs it.
ModelCovariance: TypeAlias = Callable[[], FloatArray]

# Of a covariance of shares that sum to 1, eigenvalues below this share of the largest are that sum.
_SINGULAR = 1e-11


class BlockMatrix:
    """A symmetric matrix of square blocks along the diagonal.

    Args:
        blocks: (k, k) for k coordinates each, or (k,) for a diagonal block; they follow one another.

    >>> BlockMatrix([np.array([2.0, 3.0]), np.array([[1.0, 1.0], [1.0, 1.0]])]) @ np.array([1.0, 1.0, 2.0, 3.0])
    array([2., 3., 5., 5.])
    """

    def __init__(self, blocks: Iterable[FloatArray]) -> None:
        self._runs = _runs(blocks)

    def __matmul__(self, other: FloatArray) -> FloatArray:
        """Times a vector (m,), or a matrix (m, k)."""
        out, start = np.empty_like(other), 0
        for run in self._runs:
            count, size = run.shape[:2]
            part = slice(start, start + count * size)
            rows = other[part].reshape(count, size, -1)
            product = run @ rows if run.ndim == 3 else run[:, :, None] * rows
            out[part] = product.reshape(other[part].shape)
            start = part.stop
        return out

    def rank(self) -> int:
        """Of all blocks together."""
        return sum(
            int(np.count_nonzero(run)) if run.ndim == 2 else int(np.linalg.matrix_rank(run, hermitian=True).sum())
            for run in self._runs
        )


def _runs(blocks: Iterable[FloatArray]) -> list[FloatArray]:
    """Neighbours of one shape in one array, (count, k, k) or (count, k): NumPy takes them at once."""
    runs = [list(run) for _, run in groupby(blocks, key=np.shape)]
    return [run[0][None] if len(run) == 1 else np.stack(run) for run in runs]


class TableEvidence(ABC):
    """Unbiased tables of some cliques, one after the other, and the covariance of their noise.

    Attributes:
        cliques: the variables of every table, by position.
        statistics: μ̂, all cells of all tables, shape (m,); unbiased, so cells may be negative.
        standard_errors: of μ̂, estimated without a model, shape (m,).
        n_observations: number of reports.
        channel: specification of the channel.
        privacy_level: of the channel; infinite without one.
    """

    cliques: tuple[tuple[int, ...], ...]
    statistics: FloatArray
    standard_errors: FloatArray
    n_observations: int
    channel: Mapping[str, Any]
    privacy_level: float

    @abstractmethod
    def precision(self, mean: FloatArray, covariance: ModelCovariance) -> BlockMatrix:
        """C⁺, the (pseudo-)inverse of Cov(μ̂), where the truth is `mean` (m,), with Cov φ under the model."""


class NoisyTables(TableEvidence):
    """Tables that somebody has measured, each cell with its own independent error: not from a channel of askance.

    Args:
        statistics: the shares of all cells of all cliques of the field, in its order, shape (d,).
        standard_errors: of every cell above 0, one number or d.
        n_observations: how many records are behind them.

    >>> NoisyTables([0.4, 0.62], 0.01, 1000).statistics
    array([0.4 , 0.62])
    """

    def __init__(self, statistics: ArrayLike, standard_errors: ArrayLike, n_observations: int) -> None:
        self.statistics = as_floats(statistics, "statistics")
        errors = as_floats(standard_errors, "standard_errors")
        if self.statistics.ndim != 1 or not np.isfinite(self.statistics).all():
            raise ShapeError(
                f"statistics has shape {self.statistics.shape}, or is not finite; allowed: (d,), one number per cell.",
                remedy="Put the tables of all cliques one after the other.",
            )
        if errors.shape not in ((), self.statistics.shape) or not ((errors > 0) & (errors < math.inf)).all():
            raise InputError(
                f"standard_errors are {shown(errors.tolist())}; allowed: one number above 0, or one per cell.",
                remedy="Give the deviation of the noise of every cell; for exact tables, one such as 1e-9.",
            )
        self.standard_errors = np.broadcast_to(errors, self.statistics.shape).astype(np.float64)
        self.n_observations = as_count(n_observations, "n_observations", minimum=1)
        self.cliques, self.channel, self.privacy_level = (), {"kind": "noisy-tables"}, math.inf

    def precision(self, mean: FloatArray, covariance: ModelCovariance) -> BlockMatrix:
        """1/s² of every cell."""
        return BlockMatrix([1 / self.standard_errors**2])

    def __repr__(self) -> str:
        return f"NoisyTables({len(self.statistics)} cells, {self.n_observations} records)"


class FromChannel(TableEvidence):
    """Tables from sums of reports."""

    def __init__(self, tally: Tally[StatisticsChannel], cliques: Sequence[tuple[int, ...]]) -> None:
        self.cliques, self.tally = tuple(cliques), tally
        self.statistics, self.standard_errors = tally.mean(), tally.standard_errors()
        self.n_observations = tally.n_observations
        self.channel, self.privacy_level = tally.channel.specification(), tally.channel.privacy_level


class CliqueEvidence(FromChannel):
    """Sums of clique release: tables of different respondents, so that noise is independent between tables."""

    def __init__(self, tally: Tally[StatisticsChannel], channel: CliqueRelease) -> None:
        super().__init__(tally, channel.tables.cliques)
        self._channel = channel

    def precision(self, mean: FloatArray, covariance: ModelCovariance) -> BlockMatrix:
        """Per table n_c V_c⁺ with V_c the covariance of a debiased report; singular, as the cells sum to 1."""
        channel = self._channel
        shares = [mean[start:end] for start, end in pairwise(channel.tables.offsets)]
        spreads = [release.covariance(own / own.sum()) for release, own in zip(channel.releases, shares, strict=True)]
        inverses = [np.linalg.pinv(run, rcond=_SINGULAR, hermitian=True) for run in _runs(spreads)]
        seen = channel.reports_seen(self.tally.sums).tolist()
        return BlockMatrix(count * block for count, block in zip(seen, chain.from_iterable(inverses), strict=True))


class BitEvidence(FromChannel):
    """Sums of per-value release: every respondent sends a bit of every cell of every table."""

    def __init__(self, tally: Tally[StatisticsChannel], channel: PerValue, cliques: Sequence[tuple[int, ...]]) -> None:
        super().__init__(tally, cliques)
        self._flips = channel.flips

    def precision(self, mean: FloatArray, covariance: ModelCovariance) -> BlockMatrix:
        """n (Cov φ + diag E[π(1 − π)]/(p − s)²)⁻¹: a cell is 1 with probability μ, its bit is noised either way."""
        of_zero, of_one = self._flips.variance(np.array([0.0, 1.0]))
        spread = covariance() + np.diag((1 - mean) * of_zero + mean * of_one)
        return BlockMatrix([np.asarray(self.n_observations * np.linalg.inv(spread), dtype=np.float64)])


class CoordinateEvidence(FromChannel):
    """Sums of coordinate release: every respondent sends one cell."""

    def precision(self, mean: FloatArray, covariance: ModelCovariance) -> BlockMatrix:
        """1/s² of every cell."""
        return BlockMatrix([1 / self.standard_errors**2])


def read_evidence(field: RandomField, evidence: Tally[StatisticsChannel] | Reports | NoisyTables) -> TableEvidence:
    """Evidence about a field; refused where it is about other tables.

    Clique release may have measured any tables of the field's variables. Of per-value and coordinate release the
    statistics are the cells of the field's cliques, in its order.
    """
    if isinstance(evidence, NoisyTables):
        _require_width(field, len(evidence.statistics), "the tables")
        seen = copy(evidence)  # the caller's own may serve other fields
        seen.cliques = field.cliques
        return seen
    if isinstance(evidence, Reports):
        evidence = Tally(evidence.channel).add(evidence)
    if not of_statistics(evidence):
        raise InputError(
            f"evidence is {shown(evidence)}; allowed with a field: a Tally of noised tables, Reports or NoisyTables.",
            remedy="Sum reports with Tally(channel).add(reports).",
        )
    channel = evidence.channel
    if not evidence.n_observations:
        raise EmptyDataError("there are no reports.", remedy="Add reports to the tally before estimating.")
    if isinstance(channel, CliqueRelease):
        require_sizes(field, channel)
        require_purpose(field, channel)
        return CliqueEvidence(evidence, channel)
    _require_width(field, channel.dimension, channel.kind)
    if isinstance(channel, PerValue) and _are_indicators(channel):
        return BitEvidence(evidence, channel, field.cliques)
    if isinstance(channel, CoordinateRelease) and _are_indicators(channel):
        return CoordinateEvidence(evidence, field.cliques)
    raise IncompatibleEvidenceError(
        f"{channel!r} does not noise the cells of tables as zeros and ones.",
        remedy="Take CliqueRelease, or PerValue of field.statistics(records).",
    )


def require_sizes(field: RandomField, channel: CliqueRelease) -> None:
    """Refuse reports about variables with other numbers of values."""
    if channel.tables.sizes != field.sizes:
        raise IncompatibleEvidenceError(
            f"the field has variables of {shown(list(field.sizes))} values, the channel of "
            f"{shown(list(channel.tables.sizes))}.",
            remedy="Build both from the same variables, in the same order.",
        )


def require_purpose(field: RandomField, channel: StatisticsChannel) -> None:
    """Refuse reports that were planned for variables with other names, labels, or another order of them."""
    if channel.purpose.startswith("field:") and channel.purpose != field.purpose:
        raise IncompatibleEvidenceError(
            f"the reports are about other variables than {shown(list(field.variables))}: their names, labels or order "
            "differ from those the channel was planned for.",
            remedy="Describe the variables as they were when the channel was planned.",
        )


def _require_width(field: RandomField, width: int, what: str) -> None:
    if width != field.offsets[-1]:
        raise IncompatibleEvidenceError(
            f"the field's cliques have {field.offsets[-1]} cells, {what} has {width}.",
            remedy="Noise field.statistics(records), or build the field with the cliques that were noised.",
        )


def _are_indicators(channel: StatisticsChannel) -> bool:
    """Whether the channel's statistics lie between 0 and 1."""
    parameters = channel.specification()
    low, width = (np.atleast_1d(parameters.get(name, usual)) for name, usual in (("lower", 0), ("statistic_bound", 1)))
    return all(float(value) == 0 for value in low.tolist()) and all(float(value) == 1 for value in width.tolist())
