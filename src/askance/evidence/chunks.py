"""Rows of reports with covariates: what a chunk holds, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np

from askance._arrays import AnyArray, ArrayLike, CodeArray, FloatArray, IntArray
from askance._checks import as_floats
from askance.channels.finite import FiniteChannel
from askance.channels.reports import Reports
from askance.errors import InputError, MissingValueError, ShapeError
from askance.evidence.tally import C
from askance.models.softmax import Covariates

# Collapsing is tried when a sample of this many rows has at most this share of different ones.
_PROBED_ROWS = 2000
_WORTH_COLLAPSING = 0.5


@dataclass(frozen=True)
class Chunk(Generic[C]):
    """Some rows that were seen through one channel.

    Attributes:
        x: covariates (n, p).
        reports: codes of the observations, shape (n,), of a channel on answers; otherwise `Reports`.
        multiplicity: how many equal rows were collapsed into each; None: 1.
        weights: sampling weights; None: 1.
        clusters: labels of groups of respondents whose reports may depend on each other; None: everybody alone.
        channel: how these rows were seen; `Responses` of one channel fills it in.
        arm: the name of that way among those of the survey, for two arms may have the same channel; None: not said.
        replicates: replicate weights, shape (n, R); None: there are none.
        labels: of groups that shares are asked of, shape (n,), where an engine holds the rows.
    """

    x: Covariates
    reports: Any
    multiplicity: FloatArray | None = None
    weights: FloatArray | None = None
    clusters: AnyArray | None = None
    channel: C = None  # type: ignore[assignment]
    arm: Any = None
    replicates: FloatArray | None = None
    labels: AnyArray | None = None

    @property
    def codes(self) -> CodeArray:
        """Codes of noised answers, shape (n,)."""
        return np.asarray(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def n_observations(self) -> int:
        """How many reports the rows stand for."""
        return len(self) if self.multiplicity is None else round(float(self.multiplicity.sum()))

    @property
    def sums(self) -> IntArray:
        """What the reports add up to; sampling weights are not used."""
        if not isinstance(self.channel, FiniteChannel):
            return self.channel.sums(self.reports)
        counts = np.bincount(self.codes, weights=self.multiplicity, minlength=self.channel.sums_size)
        return np.rint(counts).astype(np.int64)

    def take(self, rows: slice | AnyArray) -> Chunk[C]:
        """Some of the rows: a slice, or their places; slices share the arrays."""
        x = _view(self.x, rows) if isinstance(rows, slice) else self.x[rows]
        own = (self.multiplicity, self.weights, self.clusters, self.replicates, self.labels)
        count, weights, clusters, replicates, labels = (None if part is None else part[rows] for part in own)
        reports = _some(self.reports, rows)
        return Chunk(x, reports, count, weights, clusters, self.channel, self.arm, replicates, labels)

    def through(self, channel: Any) -> Chunk[Any]:
        """The same rows, taken as having come through another channel."""
        reports = Reports(channel, self.reports.columns) if isinstance(self.reports, Reports) else self.reports
        return replace(self, reports=reports, channel=channel)

    def collapses(self) -> bool:
        """Whether there seem to be many equal rows, which may be folded into one."""
        if self.weights is not None or self.clusters is not None:
            return False
        if not isinstance(self.x, np.ndarray) or isinstance(self.reports, Reports):
            return False
        step = max(1, len(self) // _PROBED_ROWS)
        sample = np.ascontiguousarray(self.x[::step])
        return len(np.unique(_as_bytes(sample))) <= _WORTH_COLLAPSING * len(sample)


def collapsed(chunks: tuple[Chunk[C], ...]) -> tuple[Chunk[C], ...]:
    """Chunks of one arm as one, with equal rows folded into one, where it pays."""
    if not chunks or not all(chunk.collapses() for chunk in chunks):
        return chunks
    x = np.concatenate([chunk.x for chunk in chunks])
    codes = np.concatenate([chunk.codes for chunk in chunks])
    multiplicity = np.concatenate([np.ones(len(c)) if c.multiplicity is None else c.multiplicity for c in chunks])
    rows = np.ascontiguousarray(np.column_stack([x, codes.astype(np.float64)]) + 0.0)  # −0 and 0 are one value
    _, first, place = np.unique(_as_bytes(rows), return_index=True, return_inverse=True)
    folded = np.asarray(np.bincount(place, weights=multiplicity), dtype=np.float64)
    return (Chunk(x[first], codes[first], folded, channel=chunks[0].channel, arm=chunks[0].arm),)


def joined_by_arm(chunks: Sequence[Chunk[C]]) -> list[Chunk[C]]:
    """Chunks of plain codes as one of every arm, arms in the order in which they come."""
    by_arm: dict[Any, list[Chunk[C]]] = {}
    for chunk in chunks:
        by_arm.setdefault((chunk.channel.fingerprint, chunk.arm), []).append(chunk)
    return [own[0] if len(own) == 1 else _joined(own) for own in by_arm.values()]


def _joined(chunks: Sequence[Chunk[C]]) -> Chunk[C]:
    def whole(name: str) -> Any:
        parts = [getattr(chunk, name) for chunk in chunks]
        return None if parts[0] is None else np.concatenate(parts)

    if isinstance(chunks[0].x, np.ndarray):
        x = whole("x")
    else:
        from scipy.sparse import vstack

        x = vstack([chunk.x for chunk in chunks], format="csr")
    names = ("reports", "multiplicity", "weights", "clusters")
    return replace(chunks[0], x=x, **{name: whole(name) for name in names})


def thin(chunk: Chunk[C], share: int) -> list[Chunk[C]]:
    """One row in `share` of a block, drawn at random: always the same places."""
    places = np.random.default_rng(0).choice(len(chunk), size=max(1, len(chunk) // share), replace=False)
    return [chunk.take(np.sort(places))] if len(chunk) else []


def _some(reports: Any, rows: slice | AnyArray) -> Any:
    """Some reports, which were checked when they came."""
    if not isinstance(reports, Reports):
        return reports[rows]
    return Reports(reports.channel, {name: values[rows] for name, values in reports.columns.items()})


def _view(x: Covariates, piece: slice) -> Covariates:
    """Some rows without a copy of them, not to be written to: slices of a sparse matrix would be copies."""
    if isinstance(x, np.ndarray):
        rows = x[piece]
        rows.flags.writeable = False
        return rows
    start, stop, _ = piece.indices(x.shape[0])
    ends = x.indptr[start : stop + 1]
    inside = slice(int(ends[0]), int(ends[-1]))
    return type(x)((x.data[inside], x.indices[inside], ends - ends[0]), shape=(stop - start, x.shape[1]), copy=False)


def _as_bytes(rows: FloatArray) -> AnyArray:
    """Rows as single items, so that sorting compares them whole."""
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


# -- reading -----------------------------------------------------------------------------------------------------------


def names_of(x: object) -> tuple[str, ...] | None:
    """The names of columns, where x has some (a data frame)."""
    names = getattr(x, "columns", None)
    return tuple(names) if names is not None and all(isinstance(name, str) for name in names) else None


def read_covariates(x: Covariates, n: int) -> Covariates:
    """Finite numbers, shape (n, p): an array of floats, or a sparse matrix by rows."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise MissingValueError("x is a masked array with masked entries.", remedy="Drop incomplete rows first.")
    matrix = x.tocsr() if hasattr(x, "tocsr") else as_floats(x, "x")
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ShapeError(f"x has shape {matrix.shape}; allowed: (reports, columns).", remedy="Give a table.")
    if matrix.shape[0] != n:
        raise ShapeError(f"x has {matrix.shape[0]} rows for {n} reports.", remedy="Give one row per report.")
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    with np.errstate(over="ignore", invalid="ignore"):  # finite numbers may have a sum that is none
        suspect = not np.isfinite(values.sum())
    if suspect and not np.isfinite(values).all():
        row, column = _first_not_finite(matrix)
        raise MissingValueError(
            f"column {column} of row {row} of x is {matrix[row, column]}; allowed: finite numbers.",
            remedy="Drop or fill incomplete rows first, and count them.",
        )
    return matrix


def _first_not_finite(x: Covariates) -> tuple[int, int]:
    if isinstance(x, np.ndarray):
        row, column = np.argwhere(~np.isfinite(x))[0]
        return int(row), int(column)
    place = int(np.argmax(~np.isfinite(x.data)))
    return int(np.searchsorted(x.indptr, place, side="right")) - 1, int(x.indices[place])


def read_weights(weights: ArrayLike | None, n: int) -> FloatArray | None:
    """Sampling weights, one per report."""
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise ShapeError(f"weights has shape {array.shape} for {n} reports.", remedy="Give one weight per report.")
    if not (array > 0).all() or not np.isfinite(array).all():
        raise InputError(
            f"weights are between {array.min()} and {array.max()}; allowed: above 0, finite.",
            remedy="Leave out respondents of weight 0.",
        )
    return array


def read_clusters(clusters: ArrayLike | None, n: int) -> AnyArray | None:
    """Labels of clusters, one per report."""
    if clusters is None:
        return None
    array = np.asarray(clusters)
    if array.shape != (n,):
        raise ShapeError(f"clusters has shape {array.shape} for {n} reports.", remedy="Give one cluster per report.")
    lost = np.array([label is None for label in array]) if array.dtype == object else array != array
    if lost.any():
        raise MissingValueError(
            f"clusters[{int(np.argmax(lost))}] is missing.", remedy="Drop these respondents, or give each a cluster."
        )
    return array


def require_same_kind(first: Chunk[Any], other: Chunk[Any]) -> None:
    """Refuse rows that do not fit together: other columns, or weights and clusters for some only."""
    if other.x.shape[1] != first.x.shape[1]:
        raise ShapeError(
            f"x has {other.x.shape[1]} columns, the evidence so far {first.x.shape[1]}.",
            remedy="Give the same columns in the same order.",
        )
    if (other.weights is None) != (first.weights is None) or (other.clusters is None) != (first.clusters is None):
        raise InputError(
            "some reports have weights or clusters and some have not.", remedy="Give them for all or for none."
        )


def weight_of(chunk: Chunk[Any], exponent: int) -> tuple[FloatArray]:
    """Σ of the sampling weights of a block, in units of 2^exponent."""
    assert chunk.weights is not None
    shares = np.ldexp(chunk.weights, -exponent)
    return (np.asarray((shares if chunk.multiplicity is None else shares * chunk.multiplicity).sum()),)


def all_clusters(evidence: Any) -> AnyArray:
    """Labels of all clusters of `Responses`, in order: a pass over the rows."""
    return np.asarray(evidence.total(_clusters_in, np.union1d))


def _clusters_in(chunk: Chunk[Any]) -> AnyArray:
    return np.unique(np.asarray(chunk.clusters))


def in_proportion(weights: Sequence[FloatArray | None]) -> list[FloatArray | None]:
    """Sampling weights of every chunk times a power of two that leaves the largest of all between ½ and 1.

    Only proportions matter, and sums of weights near the ends of what numbers can hold would not be numbers.

    >>> in_proportion([np.array([3e307, 1.5e308]), None])[0].round(3)
    array([0.167, 0.834])
    """
    largest = max((float(part.max()) for part in weights if part is not None), default=1.0)
    exponent = math.frexp(largest)[1]
    return [None if part is None else np.ldexp(part, -exponent) for part in weights]
