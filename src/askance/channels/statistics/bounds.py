"""Statistics between known bounds: φ_j in [lower_j, lower_j + c_j], used as t_j = (φ_j − lower_j)/c_j in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray
from askance._checks import Number, as_count, as_float, as_floats, as_fraction, shown
from askance._words import Place, words
from askance.channels.statistics.base import require_finite
from askance.errors import InputError, ShapeError

# Statistics may miss their bounds by this share of the bound: rounding, not a wrong bound.
_HAIR = 1e-12


class Bounds:
    """Where statistics lie.

    Args:
        dimension: d.
        lower: the smallest value, one number or one per statistic.
        statistic_bound: c, the largest minus the smallest, one number or one per statistic.
        binary: whether statistics take only their two extreme values.
    """

    def __init__(self, dimension: int, lower: ArrayLike, statistic_bound: ArrayLike, *, binary: bool) -> None:
        self.dimension, self.binary = dimension, binary
        self.lower = per_statistic(lower, dimension, "lower")
        self.width = per_statistic(statistic_bound, dimension, "statistic_bound")
        if not (self.width > 0).all():
            raise InputError(
                argument="statistic_bound",
                got=shown(statistic_bound),
                allowed="above 0",
                remedy="Give the largest minus the smallest value of every statistic.",
            )
        self.plain = bool((self.lower == 0).all() and (self.width == 1).all())

    def shares(self, rows: AnyArray, offset: int) -> AnyArray:
        """t = (φ − lower)/c, checked: booleans or 0/1 as they are where nothing has to be scaled, else floats."""
        if self.plain and rows.dtype.kind in "bu" and rows.dtype.itemsize == 1:
            if rows.dtype.kind == "u" and rows.size and rows.max() > 1:
                row, column = np.argwhere(rows > 1)[0]
                raise self._outside(row + offset, int(column))
            return rows
        values = as_floats(rows, "the statistics", secret=True)
        require_finite(values, offset)
        shares = values if self.plain else (values - self.lower) / self.width
        wrong = (shares < -_HAIR) | (shares > 1 + _HAIR)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise self._outside(row + offset, int(column))
        shares = shares.clip(0, 1)
        if self.binary:
            rounded = np.rint(shares)
            between = np.abs(shares - rounded) > _HAIR
            if between.any():
                row, column = np.argwhere(between)[0]
                low, high = self._interval(int(column))
                raise InputError(
                    "lies between its bounds",
                    argument=Place("statistic", column, row + offset),
                    allowed=f"{low:g} or {high:g}, because the channel is for binary statistics",
                    remedy=words("Build the channel with {statistics=bounded}."),
                )
            return rounded.astype(np.uint8)
        return shares

    def ones(self, row: AnyArray) -> AnyArray:
        """Which statistics of one respondent (d,) are at their upper bound, checked; only where they are binary.

        Few steps, the same for all values that `shares` would round; whatever else comes is judged there.
        """
        if self.plain and row.dtype.kind == "b":
            return row
        half, hair = self._halves
        shares = row if self.plain else (row - self.lower) / self.width
        ones = shares > half
        if np.count_nonzero(abs(shares - ones) <= hair) < row.size:
            return np.asarray(self.shares(row[None], 0)[0] == 1)
        return np.asarray(ones)

    @cached_property
    def _halves(self) -> tuple[FloatArray, FloatArray]:
        """1/2 and what rounding may do, for every statistic: NumPy compares arrays in half the time of a number."""
        return np.full(self.dimension, 0.5), np.full(self.dimension, _HAIR)

    def scaled(self, rows: AnyArray) -> FloatArray:
        """t = (φ − lower)/c of rows that are known to lie within their bounds."""
        return np.asarray((rows - self.lower) / self.width)

    def values(self, shares: FloatArray) -> FloatArray:
        """φ = lower + c t."""
        return np.asarray(self.lower + self.width * shares)

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """All statistics at their largest, and all at their smallest; shape (1, d) each."""
        return (self.lower + self.width)[None], self.lower[None].copy()

    def parameters(self) -> dict[str, Any]:
        """The registry's parameters that describe the bounds, where they are not the defaults."""
        written: dict[str, Any] = {}
        if (self.lower != 0).any():
            written["lower"] = numbers_as_json(self.lower)
        if (self.width != 1).any():
            written["statistic_bound"] = numbers_as_json(self.width)
        return written

    def on_devices(self) -> dict[str, Any]:
        """What a device needs to turn statistics into shares."""
        bounds = {"lower": numbers_as_json(self.lower), "statistic_bound": numbers_as_json(self.width)}
        return {"dim": self.dimension, **bounds, "binary": self.binary}

    def edges(self) -> list[list[float]]:
        """What a fingerprint has of them."""
        return [self.lower.tolist(), self.width.tolist()]

    def _interval(self, column: int) -> tuple[float, float]:
        return float(self.lower[column]), float(self.lower[column] + self.width[column])

    def _outside(self, row: int, column: int) -> InputError:
        low, high = self._interval(column)
        return InputError(
            "lies outside its bounds",
            argument=Place("statistic", column, row),
            allowed=f"{low:g} to {high:g}",
            remedy=words(
                "Widen {lower} and {statistic_bound}, or clip the statistics on the device and count how often."
            ),
        )


def per_statistic(values: ArrayLike, dimension: int, name: str) -> FloatArray:
    """One finite number per statistic, shape (d,), from one for all or one for each; texts are read exactly.

    >>> per_statistic("1/2", 2, "lower")
    array([0.5, 0.5])
    """
    if isinstance(values, (str, Sequence)):  # exact numbers as in files and on the command line
        listed = [values] if isinstance(values, str) else values
        values = [as_float(value, name) for value in listed]
    array = as_floats(values, name)
    array = np.broadcast_to(array, dimension).copy() if array.size == 1 else array
    if array.shape != (dimension,):
        raise ShapeError(
            f"has shape {array.shape}",
            argument=name,
            allowed=f"one number, or {dimension}",
            remedy="Give one number for all statistics, or one for each.",
        )
    if not np.isfinite(array).all():
        raise InputError(
            argument=name, got=shown(array.tolist()), allowed="finite numbers", remedy="Give finite bounds."
        )
    return array + 0.0  # no −0, which is another text in a fingerprint


def numbers_as_json(values: FloatArray) -> float | list[float]:
    """One number where all are the same, else all of them."""
    return float(values[0]) if (values == values[0]).all() else [float(value) for value in values]


def read_norm(largest: Number | None, exact: int | None, dimension: int, binary: bool) -> tuple[Fraction, bool]:
    """The bound on the norm, and whether it is always attained."""
    if exact is not None:
        if largest is not None or not binary:
            raise InputError(
                f"is {shown(exact)} {'with max_l1_norm' if binary else 'with bounded statistics'}",
                argument="l1_norm",
                allowed="alone, and with binary statistics",
                remedy=words("Give {max_l1_norm}."),
            )
        return Fraction(as_count(exact, "l1_norm", minimum=1, maximum=max(dimension - 1, 1))), True
    if largest is None:
        return Fraction(dimension), False
    norm = as_fraction(largest, "max_l1_norm")
    if not 0 < norm <= dimension or (binary and norm < 1):
        raise InputError(
            f"max_l1_norm is {shown(norm)}; allowed: {'1' if binary else 'above 0'} to {dimension}, the number of "
            "statistics.",
            remedy="Give the largest number of ones (for bounded statistics: the largest sum) of one respondent.",
        )
    return norm, False
