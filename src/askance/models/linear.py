"""Linear regression: all it takes are the second moments of z = (1, x_1, …, x_p, y)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from askance._arrays import ArrayLike, FloatArray, IntArray
from askance._checks import as_array, as_count, as_floats, number, shape, shown
from askance.errors import InputError, MissingValueError, NotIdentifiedError, ShapeError
from askance.models.named_columns import columns_by_name

# Values beyond this many scales are clipped.
_CLIP = 3.0
# A column between low and high is taken to have a standard deviation of this share of its width until told better.
_SCALE_OF_WIDTH = 0.25


@dataclass(frozen=True)
class Standardised:
    """Respondents in units of scales, and how many values had to be clipped.

    Attributes:
        z: (1, x, y) of every respondent, shape (n, p + 2); x and y standardised and clipped.
        clipped: how many values of each column were clipped, x first, then y, shape (p + 1,).
        names: of these columns.
    """

    z: FloatArray = field(repr=False)
    clipped: IntArray = field(repr=False)
    names: tuple[str, ...]

    @property
    def message(self) -> str:
        """What was clipped, in plain words; empty where nothing was."""
        return clipped_message(self.clipped, len(self.z), self.names) if self.clipped.any() else ""


def clipped_message(clipped: IntArray, n: int, names: Sequence[str]) -> str:
    """How many values of n rows were clipped, and in which column most.

    >>> clipped_message(np.array([3, 1]), 10, ["age", "income"])
    "4 values were clipped, most in 'age' (30.0 % of rows)"
    """
    worst = int(np.argmax(clipped))
    share = 100 * float(clipped[worst]) / max(n, 1)
    return f"{int(clipped.sum()):,} values were clipped, most in {names[worst]!r} ({share:.1f} % of rows)"


class LinearModel:
    """y = w₀ + w·x + noise, through second moments of z = (1, x, y) with x and y standardised by public numbers.

    With A = E[(1, x)(1, x)ᵀ] and b = E[(1, x) y], w = A⁻¹ b; the intercept is a coordinate of its own, so centres need
    not be means. A device standardises, (x_j − centre_j)/scale_j, and clips at ± `clip` scales and at the bounds: every
    coordinate then has a known limit, which is what channels need. Bounds and scales must come from public knowledge
    or from a private pilot (`ScalePilot`), never from the data that are to be protected.

    Args:
        n_features: p.
        x_bounds: (low, high) of the columns of x; numbers, or p numbers each.
        y_bounds: (low, high) of y.
        scales: (centres, scales) of the p columns of x and, last, of y (p + 1 numbers each); default: the middle of
            the bounds, and a quarter of their width.
        clip: in scales (default 3).
        feature_names: of the p columns (default x0, x1, …).
        outcome_name: of y (default "y").

    >>> field = LinearModel(2, x_bounds=([0, 0], [10, 1]), y_bounds=(-1, 1))
    >>> told = field.standardise([[5, 0.75], [20, 0.5]], [0.0, 0.5])
    >>> told.z
    array([[1., 0., 1., 0.],
           [1., 2., 0., 1.]])
    >>> told.message
    "1 values were clipped, most in 'x0' (50.0 % of rows)"
    """

    def __init__(
        self,
        n_features: int,
        *,
        x_bounds: Sequence[ArrayLike] | None = None,
        y_bounds: Sequence[ArrayLike] | None = None,
        scales: Sequence[ArrayLike] | None = None,
        clip: float = _CLIP,
        feature_names: Sequence[str] | None = None,
        outcome_name: str = "y",
    ) -> None:
        self.n_features = as_count(n_features, "n_features", minimum=1, maximum=1000)
        self._named = feature_names is not None
        self.feature_names, self.outcome_name = _read_names(feature_names, outcome_name, self.n_features)
        self.low, self.high = _read_bounds(x_bounds, y_bounds, self.n_features, required=scales is None)
        self.centres, self.scales = self._read_scales(scales)
        #: Whether nobody gave scales, so that they come from the bounds.
        self.scaled_by_bounds = scales is None
        self.clip = float(as_floats(clip, "clip"))
        number(self.clip, "clip", 0, open=True, remedy="3 scales are usual.")
        #: Where x and y are clipped on the standard scale, shape (p + 1,) each.
        with np.errstate(over="ignore"):  # bounds that are further away than a float can tell are clipped, too
            self.least = np.maximum((self.low - self.centres) / self.scales, -self.clip)
            self.most = np.minimum((self.high - self.centres) / self.scales, self.clip)
        if not (self.least < self.most).all():
            column = int(np.argmin(self.least < self.most))
            raise InputError(
                f"{self.names[column]} has centre {self.centres[column]:g} and scale {self.scales[column]:g}; allowed: "
                f"a centre near its bounds, {self.low[column]:g} to {self.high[column]:g}.",
                remedy="Give scales that fit the bounds.",
            )

    def _read_scales(self, scales: Sequence[ArrayLike] | None) -> tuple[FloatArray, FloatArray]:
        if scales is None:
            return (self.low + self.high) / 2, _SCALE_OF_WIDTH * (self.high - self.low)
        centres, widths = _pair(scales, "scales")
        size = self.n_features + 1
        read = [_columns(values, size, name) for values, name in ((centres, "centres of scales"), (widths, "scales"))]
        if not (np.isfinite(read[0]).all() and np.isfinite(read[1]).all() and (read[1] > 0).all()):
            raise InputError(
                f"are {shown(scales)}",
                argument="scales",
                allowed="finite centres and scales above 0",
                remedy="Leave a column that does not vary out.",
            )
        return read[0], read[1]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns of x, then y."""
        return (*self.feature_names, self.outcome_name)

    @property
    def width(self) -> int:
        """k = p + 2: how many coordinates z has."""
        return self.n_features + 2

    @property
    def limits(self) -> FloatArray:
        """The largest |z_i| of every coordinate, shape (p + 2,)."""
        return np.concatenate([[1.0], np.maximum(-self.least, self.most)])

    def with_scales(self, scales: Sequence[ArrayLike]) -> Self:
        """The same field with other centres and scales, such as those of a pilot."""
        return type(self)(
            self.n_features,
            x_bounds=(self.low[:-1], self.high[:-1]),
            y_bounds=(self.low[-1], self.high[-1]),
            scales=scales,
            clip=self.clip,
            feature_names=self.feature_names,
            outcome_name=self.outcome_name,
        )

    # -- on the device ---------------------------------------------------------------------------------------------

    def read(self, x: ArrayLike, y: ArrayLike) -> FloatArray:
        """X and y as one table of finite numbers, shape (n, p + 1)."""
        rows, target = self.read_x(x), as_floats(y, "y", secret=True)
        if target.shape != (len(rows),):
            raise ShapeError(
                f"has {len(rows)} rows and y shape {target.shape}",
                argument="x",
                allowed="one number per row of x",
                remedy="Pass matching columns.",
            )
        table = np.column_stack([rows, target])
        _require_finite(table, self.names)
        return table

    def read_x(self, x: ArrayLike) -> FloatArray:
        """X as a table of finite numbers, shape (n, p)."""
        table = as_floats(columns_by_name(x, self.feature_names) if self._named else x, "x", secret=True)
        shape(table, ("n", self.n_features), "x", "Give one column per feature.", "one row per respondent")
        _require_finite(table, self.names)
        return table

    @property
    def kept(self) -> tuple[FloatArray, FloatArray]:
        """Least and most of every column that is not clipped, in the units of the data, shape (p + 1,) each."""
        return self.centres + self.scales * self.least, self.centres + self.scales * self.most

    @property
    def clips_within_bounds(self) -> bool:
        """Whether values within the bounds may be clipped, because they are more than `clip` scales away."""
        least, most = self.kept
        slack = 1e-9 * self.scales
        return bool(((least > self.low + slack) | (most < self.high - slack)).any())

    def require_kept(self, x: ArrayLike, y: ArrayLike, rows: Sequence[int] | None = None) -> None:
        """Refuse records that would be clipped, where that is not wanted; `rows` are their places in a longer table."""
        table, (least, most) = self.read(x, y), self.kept
        slack = 1e-9 * self.scales
        outside = (table < least - slack) | (table > most + slack)
        if outside.any():
            first, column = map(int, np.argwhere(outside)[0])
            row = first if rows is None else rows[first]
            raise InputError(
                f"{self.names[column]} of row {row + 1} would be clipped; allowed: {least[column]:g} to "
                f"{most[column]:g}.",
                remedy="Correct the record, take wider bounds, scales or clip, or let values be clipped and counted.",
            )

    def standardise(self, x: ArrayLike, y: ArrayLike) -> Standardised:
        """What a device does first: (value − centre)/scale, clipped and counted."""
        table = (self.read(x, y) - self.centres) / self.scales
        clipped = table.clip(self.least, self.most)
        # A value on its bound may miss it by rounding: that is no clipping.
        counts = (np.abs(clipped - table) > 1e-9).sum(axis=0)
        return Standardised(np.column_stack([np.ones(len(table)), clipped]), counts, self.names)

    # -- on the server ---------------------------------------------------------------------------------------------

    @property
    def triangle(self) -> tuple[IntArray, IntArray]:
        """The pairs (i, j), i ≤ j, of coordinates of z in the order of vectors of moments."""
        return np.triu_indices(self.width)

    def moments_of(self, z: ArrayLike) -> FloatArray:
        """The products z_i z_j of every row, shape (n, k(k + 1)/2)."""
        rows = as_floats(z, "z")
        first, second = self.triangle
        return np.asarray(rows[:, first] * rows[:, second])

    def gram(self, moments: ArrayLike) -> FloatArray:
        """A vector of moments as the symmetric matrix E[z zᵀ], shape (p + 2, p + 2)."""
        matrix = np.empty((self.width, self.width))
        first, second = self.triangle
        matrix[first, second] = matrix[second, first] = as_floats(moments, "moments")
        return matrix

    def solve(self, gram: ArrayLike) -> FloatArray:
        """w = A⁻¹ b on the standard scale, from E[z zᵀ], shape (p + 1,)."""
        matrix = as_floats(gram, "gram")
        design, target = matrix[:-1, :-1], matrix[:-1, -1]
        if np.linalg.cond(design) > 1e12:
            raise NotIdentifiedError(
                "the columns of x are linearly dependent, or one of them does not vary: coefficients are not unique.",
                remedy="Leave columns out.",
            )
        return np.asarray(np.linalg.solve(design, target))

    def to_original(self) -> tuple[FloatArray, FloatArray]:
        """Matrix T and vector t: (intercept, coefficients) in the units of the data are T w + t."""
        scale = self.scales[-1]
        matrix = np.diag(scale / np.concatenate([[1.0], self.scales[:-1]]))
        matrix[0, 1:] = -scale * self.centres[:-1] / self.scales[:-1]
        return matrix, self.centres[-1] * np.eye(1, self.n_features + 1)[0]

    def predict(self, theta: ArrayLike, x: ArrayLike) -> FloatArray:
        """w₀ + w·x for (intercept, coefficients) in the units of the data; x is clipped as on the devices."""
        low, high = self.kept
        rows = self.read_x(x).clip(low[:-1], high[:-1])
        coefficients = as_floats(theta, "theta")
        return np.asarray(coefficients[0] + rows @ coefficients[1:])

    def specification(self) -> dict[str, Any]:
        """Plain JSON values that `from_specification` reads."""
        bounds = {"low": self.low.tolist(), "high": self.high.tolist()}
        ends = {name: [None if np.isinf(v) else v for v in values] for name, values in bounds.items()}
        return {
            "features": list(self.feature_names),
            "outcome": self.outcome_name,
            **ends,
            "centres": self.centres.tolist(),
            "scales": self.scales.tolist(),
            "clip": self.clip,
        }

    @classmethod
    def from_specification(cls, specification: Mapping[str, Any]) -> Self:
        """The field that `specification` wrote down."""
        low = [-np.inf if value is None else value for value in specification["low"]]
        high = [np.inf if value is None else value for value in specification["high"]]
        return cls(
            len(specification["features"]),
            x_bounds=(low[:-1], high[:-1]),
            y_bounds=(low[-1], high[-1]),
            scales=(specification["centres"], specification["scales"]),
            clip=specification["clip"],
            feature_names=specification["features"],
            outcome_name=specification["outcome"],
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinearModel) and self.specification() == other.specification()

    def __hash__(self) -> int:
        return hash((self.feature_names, self.centres.tobytes(), self.scales.tobytes(), self.clip))

    def __repr__(self) -> str:
        return f"LinearModel({self.n_features} features, clipped at {self.clip:g} scales)"


def _require_finite(table: FloatArray, names: Sequence[str]) -> None:
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise MissingValueError(
            f"{names[column]} of row {row + 1} is missing or infinite; allowed: finite numbers.",
            remedy="Leave respondents with missing values out, and count them.",
        )


def _read_names(features: Sequence[str] | None, outcome: str, size: int) -> tuple[tuple[str, ...], str]:
    names = tuple(f"x{j}" for j in range(size)) if features is None else tuple(features)
    if (
        not all(isinstance(name, str) for name in (*names, outcome))
        or len(names) != size
        or len({*names, str(outcome)}) != size + 1
    ):
        raise InputError(
            f"feature_names are {shown(list(names))} and outcome_name is {shown(outcome)}; allowed: {size} names, and "
            "another for the outcome.",
            remedy="Name every column once.",
        )
    return names, outcome


def _pair(ends: Sequence[ArrayLike], name: str) -> tuple[ArrayLike, ArrayLike]:
    if isinstance(ends, (str, bytes, Mapping)) or not hasattr(ends, "__len__") or len(ends) != 2:
        raise InputError(
            argument=name,
            got=shown(ends),
            allowed="two, such as (0, 10), or ([0, 18], [1, 90]) for two columns",
            remedy="Give (low, high), or (lows, highs) with one number per column.",
        )
    return ends[0], ends[1]


def _columns(values: ArrayLike, size: int, name: str) -> FloatArray:
    """One number for all columns, or one for each."""
    array = as_floats(as_array(values, name), name)
    if array.ndim > 1 or array.size not in (1, size):
        raise ShapeError(
            f"has shape {array.shape}",
            argument=name,
            allowed=f"one number, or {size}",
            remedy="Give one number for all columns, or one for each.",
        )
    return np.broadcast_to(array, size).astype(np.float64)


def _read_bounds(
    x_bounds: Sequence[ArrayLike] | None, y_bounds: Sequence[ArrayLike] | None, size: int, *, required: bool
) -> tuple[FloatArray, FloatArray]:
    """Low and high of every column; infinite where none are needed."""
    low, high = np.full(size + 1, -np.inf), np.full(size + 1, np.inf)
    for bounds, name, part in ((x_bounds, "x_bounds", slice(0, size)), (y_bounds, "y_bounds", slice(size, size + 1))):
        if bounds is None:
            if required:
                raise InputError(
                    "is missing",
                    argument=name,
                    allowed="(low, high), from public knowledge",
                    remedy="Give bounds that do not depend on the data, or public scales=(centres, scales).",
                )
            continue
        ends = _pair(bounds, name)
        low[part], high[part] = (_columns(end, part.stop - part.start, name) for end in ends)
        wrong = ~(low[part] < high[part]) | (required & ~np.isfinite(high[part] - low[part]))
        if wrong.any():
            j = int(np.argmax(wrong))
            raise InputError(
                f"{name} of column {j} are {low[part][j]:g} and {high[part][j]:g}; allowed: finite, low below high.",
                remedy="Give (low, high), or (lows, highs) with one number per column, from public knowledge.",
            )
    return low, high
