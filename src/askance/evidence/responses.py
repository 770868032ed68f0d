"""Reports with covariates: who said what, in chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from askance._arrays import AnyArray, ArrayLike, CodeArray, FloatArray
from askance.channels.differences import differences, way_out
from askance.channels.finite import FiniteChannel
from askance.errors import IncompatibleEvidenceError, InputError, MissingValueError, ShapeError
from askance.models.softmax import Covariates

# Collapsing is tried when a sample of this many rows has at most this share of different ones.
_PROBED_ROWS = 2000
_WORTH_COLLAPSING = 0.5


@dataclass(frozen=True)
class Chunk:
    """Some rows: covariates (n, p), codes of the reports (n,), how often each row stands for, weights, clusters.

    `multiplicity` counts equal rows that were collapsed into one; `weights` are sampling weights. Clusters are codes of
    groups of respondents whose reports may depend on each other. None means 1, 1, and every respondent alone.
    """

    x: Covariates
    codes: CodeArray
    multiplicity: FloatArray | None = None
    weights: FloatArray | None = None
    clusters: AnyArray | None = None

    @property
    def n_observations(self) -> int:
        """How many reports the rows stand for."""
        return len(self.codes) if self.multiplicity is None else round(float(self.multiplicity.sum()))


@dataclass(frozen=True, eq=False)
class Responses:
    """Reports through one channel with the covariates of those who gave them.

    A value like `Tally`: `add` and `merge` return new evidence that shares the chunks; x is kept without copying, so do
    not change the array afterwards. With covariates the fit needs
    the sample of x, so the rows are kept; `collapse` folds equal rows into one where there are few different ones.

    >>> from askance import ForcedResponse
    >>> design = ForcedResponse("2/3", "1/6")
    >>> men = Responses(design).add(np.array([[1.0, 0.0]] * 3), ["no", "yes", "no"])
    >>> women = Responses(design).add(np.array([[1.0, 1.0]] * 2), ["yes", "yes"])
    >>> (men + women).n_observations
    5
    """

    channel: FiniteChannel
    chunks: tuple[Chunk, ...] = field(default=())

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return sum(chunk.n_observations for chunk in self.chunks)

    def add(
        self,
        x: Covariates,
        observed: ArrayLike,
        *,
        weights: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """This evidence and more reports.

        Args:
            x: covariates, shape (n, p): an array or a SciPy sparse matrix.
            observed: labels out of the channel's observations, shape (n,).
            weights: sampling weights, positive, shape (n,).
            clusters: labels of groups of respondents whose reports may depend on each other, shape (n,).
        """
        codes = self.channel.observations.encode(observed, "observed")
        matrix = _read_covariates(x, len(codes))
        chunk = Chunk(matrix, codes, None, _read_weights(weights, len(codes)), _read_clusters(clusters, len(codes)))
        if self.chunks:
            _require_same_kind(self.chunks[0], chunk)
        return type(self)(self.channel, (*self.chunks, chunk) if len(codes) else self.chunks)

    def for_purpose(self, purpose: str) -> Self:
        """This evidence, of that question: where nothing says of which it is; refused where it is of another."""
        return type(self)(self.channel.named(purpose), self.chunks)

    def merge(self, other: Self) -> Self:
        """The evidence of both; refused when the channels, the columns or the kinds of weights differ."""
        if not isinstance(other, Responses):
            raise IncompatibleEvidenceError(
                f"cannot merge reports with {other!r}; allowed: Responses.", remedy="Add rows with add(x, observed)."
            )
        if self.channel.fingerprint != other.channel.fingerprint:
            raise IncompatibleEvidenceError(
                f"cannot merge reports through different channels: {self.channel!r} and {other.channel!r}. "
                f"{differences(self.channel, other.channel)}",
                remedy=way_out(self.channel, other.channel) or "Keep evidence of different channels apart.",
            )
        if self.chunks and other.chunks:
            _require_same_kind(self.chunks[0], other.chunks[0])
        return type(self)(self.channel, self.chunks + other.chunks)

    def __add__(self, other: Self) -> Self:
        return self.merge(other) if isinstance(other, Responses) else NotImplemented

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum(parts) works

    def collapse(self) -> Self:
        """The same evidence with equal rows folded into one, where a probe says that it pays.

        Rows with sampling weights or clusters, and sparse ones, are left as they are.
        """
        if len(self.chunks) == 0 or not all(_collapses(chunk) for chunk in self.chunks):
            return self
        x = np.concatenate([chunk.x for chunk in self.chunks])
        codes = np.concatenate([chunk.codes for chunk in self.chunks])
        counted = [chunk.multiplicity for chunk in self.chunks]
        multiplicity = np.concatenate(
            [np.ones(len(c.codes)) if m is None else m for c, m in zip(self.chunks, counted, strict=True)]
        )
        rows = np.ascontiguousarray(np.column_stack([x, codes.astype(np.float64)]) + 0.0)  # −0 and 0 are one value
        _, first, place = np.unique(_as_bytes(rows), return_index=True, return_inverse=True)
        folded = np.asarray(np.bincount(place, weights=multiplicity), dtype=np.float64)
        return type(self)(self.channel, (Chunk(x[first], codes[first], folded),))

    def thinned(self, share: int) -> Self:
        """One row in `share` of every chunk, drawn at random: a sample for a first look, not for results."""
        rng = np.random.default_rng(0)
        chunks = []
        for c in self.chunks:
            rows = np.sort(rng.choice(len(c.codes), size=max(1, len(c.codes) // share), replace=False))
            optional = [None if part is None else part[rows] for part in (c.multiplicity, c.weights, c.clusters)]
            chunks.append(Chunk(c.x[rows], c.codes[rows], *optional))
        return type(self)(self.channel, tuple(chunks))

    def __repr__(self) -> str:
        return f"Responses({self.n_observations} reports through {self.channel!r})"


def in_proportion(weights: Sequence[FloatArray | None]) -> list[FloatArray | None]:
    """Sampling weights of every chunk times a power of two that leaves the largest of all between ½ and 1.

    Only proportions matter, and sums of weights near the ends of what numbers can hold would not be numbers.

    >>> in_proportion([np.array([3e307, 1.5e308]), None])[0].round(3)
    array([0.167, 0.834])
    """
    largest = max((float(part.max()) for part in weights if part is not None), default=1.0)
    exponent = math.frexp(largest)[1]
    return [None if part is None else np.ldexp(part, -exponent) for part in weights]


def _collapses(chunk: Chunk) -> bool:
    if chunk.weights is not None or chunk.clusters is not None or not isinstance(chunk.x, np.ndarray):
        return False
    step = max(1, len(chunk.codes) // _PROBED_ROWS)
    sample = np.ascontiguousarray(chunk.x[::step])
    return len(np.unique(_as_bytes(sample))) <= _WORTH_COLLAPSING * len(sample)


def _require_same_kind(first: Chunk, other: Chunk) -> None:
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


def _as_bytes(rows: FloatArray) -> AnyArray:
    """Rows as single items, so that sorting compares them whole."""
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def _read_covariates(x: Covariates, n: int) -> Covariates:
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise MissingValueError("x is a masked array with masked entries.", remedy="Drop incomplete rows first.")
    if hasattr(x, "tocsr"):
        matrix = x.tocsr()
        values = matrix.data
    else:
        matrix = np.asarray(x, dtype=np.float64)
        values = matrix
        if matrix.ndim != 2:
            raise ShapeError(f"x has shape {matrix.shape}; allowed: (reports, columns).", remedy="Give a table.")
    if matrix.shape[0] != n:
        raise ShapeError(f"x has {matrix.shape[0]} rows for {n} reports.", remedy="Give one row per report.")
    with np.errstate(over="ignore", invalid="ignore"):  # finite numbers may have a sum that is none
        suspect = not np.isfinite(values.sum())
    if suspect and not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(np.atleast_1d(values)))[0]
        raise MissingValueError(
            f"x holds {values[tuple(where)]} (position {tuple(int(i) for i in where)}).",
            remedy="Drop or fill incomplete rows first, and count them.",
        )
    return matrix


def _read_weights(weights: ArrayLike | None, n: int) -> FloatArray | None:
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


def _read_clusters(clusters: ArrayLike | None, n: int) -> AnyArray | None:
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
