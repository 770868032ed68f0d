"""Asymptotic covariances of channels on statistics: by their own formulas, and from S written out where it is small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray
from askance._checks import as_parameter
from askance._kernels import bits
from askance._words import Either, words
from askance.channels.statistics.base import Averaging, HasReportLikelihood, StatisticsChannel
from askance.channels.statistics.choices import require_averaging
from askance.channels.statistics.reports import Column, Reports
from askance.design.covariances import invert_information
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.models.enumerated import weighted_covariance
from askance.models.protocols import FiniteModel

#: Σ_marg is computed where there are at most this many possible reports.
MOST_REPORTS = 1 << 14
# Probabilities of all reports of one truth sum to 1 up to the rounding of their logarithms.
_ROUNDING = 1e-9

_MEANS = Either("estimate_mean", "`askance estimate STATE`")


@dataclass(frozen=True)
class StatisticsAsymptotics:
    """Limits of n · Cov(θ̂) at one θ, of a model whose statistics go through a channel; all matrices (d, d).

    Attributes:
        full: Σ_full = I⁻¹, had y been seen.
        moments: Σ_mom = I⁻¹ [n Cov μ̂] I⁻¹, of the moment estimator.
        excess_covariance: H = n Cov μ̂ − I.
        marginal: Σ_marg = (Cov E[φ|o])⁻¹, of the maximum marginal likelihood; None where there is no likelihood, or
            where the possible reports are too many to sum over.
    """

    full: FloatArray
    moments: FloatArray
    excess_covariance: FloatArray
    marginal: FloatArray | None

    @property
    def efficiency(self) -> float | None:
        """Eff = tr(Σ_marg Σ_mom⁻¹) / d: 1 when moments lose nothing; None where Σ_marg is."""
        if self.marginal is None:
            return None
        return float(np.trace(np.linalg.solve(self.moments, self.marginal))) / len(self.full)


def statistics_asymptotics(
    model: FiniteModel, channel: StatisticsChannel, theta: ArrayLike, *, averaging: Averaging = "within"
) -> StatisticsAsymptotics:
    """Σ_full, Σ_mom, H and Σ_marg of a model whose respondents send φ(y) through a channel on statistics.

    Args:
        model: its table holds φ(y) of every output.
        channel: on the d statistics of the model, or on the indicators of its outputs (Cov of the indicators, C, is
            then carried over: n Cov μ̂ = Φ C Φᵀ).
        theta: where, shape (d,).
        averaging: how means are taken, for channels that draw what to release.

    Raises:
        NotIdentifiedError: the model, or the channel, says nothing about some statistic.
        ShapeError: the channel is for another number of statistics.

    >>> from askance import CoordinateRelease, Enumerated
    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> result = statistics_asymptotics(model, CoordinateRelease(2, 1), [5, -1])
    >>> round(np.trace(result.moments)), round(np.trace(result.marginal))
    (42021, 42021)
    """
    require_averaging(averaging)
    theta = as_parameter(theta, model.dimension)
    if not channel.is_unbiased():
        raise NotIdentifiedError(
            f"{channel.kind} says nothing about some statistic.", remedy="Rebuild the channel from its parameters."
        )
    truth, directions, _ = truths_of(model, channel)
    probabilities = np.exp(model.log_probabilities(theta))
    information = model.fisher_information(theta)
    full = invert_information(information, model.parameter_names, "the model")
    total = directions @ channel.mean_covariance(truth, probabilities, averaging) @ directions.T
    marginal = None
    matrix = report_matrix(channel, truth)
    if matrix is not None:
        told = _marginal_information(model.table, probabilities, matrix)
        marginal = invert_information(told, model.parameter_names, "the channel")
    return StatisticsAsymptotics(full, full @ total @ full, total - information, marginal)


class Truths(NamedTuple):
    """What respondents hand to a channel, and how its statistics s give the model's: φ = directions · s + offset.

    Attributes:
        rows: the truth behind every output, m rows.
        directions: shape (d, d′).
        offset: shape (d,).
    """

    rows: AnyArray
    directions: FloatArray
    offset: FloatArray


def truths_of(model: FiniteModel, channel: StatisticsChannel) -> Truths:
    """How a channel's statistics are those of a model; refused where they are not.

    A channel built on the outputs themselves has the indicators of outputs as statistics, so φ = Φ · indicators. So has
    a channel on vectors with as many statistics as there are outputs: one-hot codes. Estimated indicators need not sum
    to 1 there; what is missing is spread evenly, which is free information: φ = Φ (s + (1 − Σs)/m).
    """
    zero = np.zeros(model.dimension)
    outputs = channel.truth_labels
    if outputs is not None:
        if outputs != model.outputs:
            raise IncompatibleEvidenceError(
                f"the model is about {model.outputs.shown()}, the channel about {outputs.shown()}.",
                remedy="Build both from the same labels, in the same order.",
            )
        return Truths(model.outputs.decode(np.arange(len(model.outputs))), model.table, zero)
    outputs_of_model = len(model.outputs)
    if channel.truth_width == channel.dimension == outputs_of_model != model.dimension:
        centre = model.table.mean(axis=1)
        return Truths(np.eye(outputs_of_model), model.table - centre[:, None], centre)
    truth = np.ascontiguousarray(model.table.T)
    shape = (len(truth), channel.dimension)
    if channel.truth_width != model.dimension or shape != truth.shape:
        raise IncompatibleEvidenceError(
            f"the model has {model.dimension} statistics, {channel.kind} estimates {channel.dimension} from "
            f"{channel.truth_width} numbers.",
            remedy=words("Noise {0} numbers; {1} shows the means without a model.", model.dimension, _MEANS),
        )
    if not np.allclose(channel.statistics(truth), truth):
        raise IncompatibleEvidenceError(
            f"{channel.kind} estimates functions of what is noised, not the statistics of the model themselves.",
            remedy=words("Take a channel on vectors, such as coordinate-release; {0} shows the means alone.", _MEANS),
        )
    return Truths(truth, np.eye(model.dimension), zero)


def report_matrix(channel: StatisticsChannel, truth: AnyArray) -> FloatArray | None:
    """S(o | φ) for every possible report o and every row of truth, shape (k, m); None where it cannot be written out.

    >>> from askance import PerValue
    >>> report_matrix(PerValue(2, 1, l1_norm=1), np.eye(2)).round(4)
    array([[0.235 , 0.235 ],
           [0.3875, 0.1425],
           [0.1425, 0.3875],
           [0.235 , 0.235 ]])
    """
    if not isinstance(channel, HasReportLikelihood):
        return None
    reports = all_reports(channel)
    if reports is None:
        return None
    matrix = np.exp(channel.log_likelihood(reports, truth))
    if np.abs(matrix.sum(axis=0) - 1).max() > _ROUNDING:
        raise InputError(
            f"the probabilities of all reports of {channel.kind} sum to {float(matrix.sum(axis=0)[0]):.12g}; allowed: "
            "1.",
            remedy="The likelihood of this channel is broken; rebuild it from its parameters.",
        )
    return matrix


def possible_values(column: Column) -> int:
    """How many values one column of a report can take."""
    if column.kind == "bits":
        return 1 << column.width
    return 1 << 64 if column.kind == "seed" else int(column.limit**column.width)


def all_reports(channel: StatisticsChannel) -> Reports | None:
    """Every possible report once; None where there are more than 2¹⁴ combinations of column values.

    >>> from askance import CoordinateRelease
    >>> all_reports(CoordinateRelease(2, 1)).columns
    {'coordinate': array([0, 0, 1, 1], dtype=uint8), 'bit': array([0, 1, 0, 1], dtype=uint8)}
    """
    sizes = [possible_values(column) for column in channel.columns]
    count = math.prod(sizes)
    if count > MOST_REPORTS:
        return None
    numbers = np.unravel_index(np.arange(count), sizes)
    columns = {c.name: _column_of(c, values) for c, values in zip(channel.columns, numbers, strict=True)}
    try:
        return Reports(channel, columns)
    except InputError:  # some combinations are never sent: they are looked at one by one
        possible = [i for i in range(count) if _is_possible(channel, {k: v[i : i + 1] for k, v in columns.items()})]
        return Reports(channel, {name: values[possible] for name, values in columns.items()})


def _is_possible(channel: StatisticsChannel, columns: dict[str, AnyArray]) -> bool:
    try:
        channel.check_reports(columns)
    except InputError:
        return False
    return True


def _column_of(column: Column, numbers: AnyArray) -> AnyArray:
    """The values of one column from their numbers 0, 1, …."""
    if column.kind == "bits":
        return bits.pack((numbers[:, None] >> np.arange(column.width) & 1).astype(np.uint8))
    if column.kind == "integers":
        digits = np.stack(np.unravel_index(numbers, (column.limit,) * column.width), axis=1)
        return digits.astype(column.dtype)
    return numbers.astype(column.dtype)


def _marginal_information(table: FloatArray, probabilities: FloatArray, matrix: FloatArray) -> FloatArray:
    """Cov E[φ | o], shape (d, d)."""
    frequencies = matrix @ probabilities
    seen = frequencies > 0
    means = (matrix[seen] * probabilities) @ table.T / frequencies[seen, None]
    return weighted_covariance(means.T, frequencies[seen])
