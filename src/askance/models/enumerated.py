"""A model over a finite set of outputs, given by its table of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray
from askance._checks import as_count, as_floats, as_list, as_many, as_parameter, require_generator, shape
from askance.categories import Categories, LabelSet
from askance.errors import InputError, MissingValueError, ShapeError


class Enumerated:
    """p_θ(y) = h(y) exp(φ(y)ᵀθ − A(θ)) over y ∈ {0, …, m−1}, by its table Φ (d, m): column y is φ(y).

    The brute-force reference of every other model: all quantities are sums over the m outputs.

    Args:
        table: Φ, shape (d, m).
        outputs: labels of the m outputs (default: 0 … m−1).
        parameter_names: names of the d statistics (default: `statistic 0`, …).
        log_base_measure: log h(y), shape (m,) (default: 0, every output counts once).

    >>> model = Enumerated([[5.0, -1.0, 0.0]])
    >>> model.probabilities([0.0])
    array([0.33333333, 0.33333333, 0.33333333])
    >>> model.mean_statistics([0.2]).round(4)
    array([2.8152])
    """

    def __init__(
        self,
        table: ArrayLike,
        *,
        outputs: LabelSet | None = None,
        parameter_names: Sequence[str] | None = None,
        log_base_measure: ArrayLike | None = None,
    ) -> None:
        phi = np.array(as_floats(table, "the table of statistics"), order="C")
        if phi.ndim != 2 or 0 in phi.shape:
            raise ShapeError(
                f"the table of statistics has shape {phi.shape}; allowed: (statistics, outputs).",
                remedy="Give one row per statistic and one column per output.",
            )
        if not np.isfinite(phi).all():
            row, column = np.argwhere(~np.isfinite(phi))[0]
            raise MissingValueError(
                f"statistic {row} of output {column} is {phi[row, column]}; allowed: finite numbers.",
                remedy="Leave impossible outputs out of the table; every other output has a value of every statistic.",
            )
        self.dimension, size = phi.shape
        self.outputs = Categories.of(size if outputs is None else outputs, name="outputs")
        as_many(self.outputs, size, "outputs", f"labels for {size} columns of statistics", "Give one label per column.")
        default = [f"statistic {j}" for j in range(self.dimension)]
        names = default if parameter_names is None else as_list(parameter_names, "parameter_names", '["trend"]')
        self.parameter_names = tuple(str(name) for name in names)
        if len(set(self.parameter_names)) != self.dimension:
            raise InputError(
                f"has {len(self.parameter_names)} names, {len(set(self.parameter_names))} different",
                argument="parameter_names",
                allowed=f"{self.dimension} different ones",
                remedy="Name every statistic once.",
            )
        base = np.zeros(size)
        if log_base_measure is not None:
            base = as_floats(log_base_measure, "log_base_measure").copy()
        shape(base, (size,), "log_base_measure", "Give one number per output.")
        if not np.isfinite(base).all():
            y = int(np.argmin(np.isfinite(base)))
            raise MissingValueError(
                f"log_base_measure[{y}] is {base[y]}; allowed: finite numbers.",
                remedy="Leave impossible outputs out of the table.",
            )
        phi.flags.writeable = base.flags.writeable = False
        self.table, self.log_base_measure = phi, base

    @classmethod
    def saturated(cls, outputs: LabelSet) -> Enumerated:
        """Every distribution over the outputs: one indicator per output but the first, which is the reference.

        θ is then the vector of log-odds against the first output.

        >>> Enumerated.saturated(["no", "yes"]).parameter_names
        ('yes',)
        """
        categories = Categories.of(outputs, name="outputs")
        table = np.eye(len(categories))[1:]
        return cls(table, outputs=categories, parameter_names=[str(label) for label in categories.labels[1:]])

    @cached_property
    def statistic_ranges(self) -> FloatArray:
        """Largest minus smallest value of each statistic, shape (d,)."""
        return np.asarray(np.ptp(self.table, axis=1))

    def statistics(self, y: ArrayLike, x: None = None) -> FloatArray:
        """φ(y) for labels y, shape (n, d)."""
        return np.asarray(self.table.T[self.outputs.encode(y, "y", secret=True)])

    def _scores(self, theta: ArrayLike) -> FloatArray:
        return np.asarray(as_parameter(theta, self.dimension) @ self.table + self.log_base_measure)

    def log_partition(self, theta: ArrayLike, x: None = None) -> float:
        """A(θ) = log Σ_y h(y) exp(φ(y)ᵀθ)."""
        scores = self._scores(theta)
        top = scores.max()
        return float(top + np.log(np.exp(scores - top).sum()))

    def log_probabilities(self, theta: ArrayLike) -> FloatArray:
        """Log p_θ(y) of every output, shape (m,)."""
        scores = self._scores(theta)
        scores = scores - scores.max()
        return np.asarray(scores - np.log(np.exp(scores).sum()))

    def probabilities(self, theta: ArrayLike) -> FloatArray:
        """p_θ(y) of every output, shape (m,)."""
        return np.asarray(np.exp(self.log_probabilities(theta)))

    def mean_statistics(self, theta: ArrayLike, x: None = None) -> FloatArray:
        """μ = ∇A(θ) = E φ(y), shape (d,)."""
        return np.asarray(self.table @ self.probabilities(theta))

    def fisher_information(self, theta: ArrayLike, x: None = None) -> FloatArray:
        """I = ∇²A(θ) = Cov φ(y), shape (d, d).

        Centred before it is squared, so it keeps its relative precision when p_θ is nearly a point mass.
        """
        return weighted_covariance(self.table, self.probabilities(theta))

    def sample(self, theta: ArrayLike, size: int, rng: np.random.Generator) -> AnyArray:
        """Draw `size` outputs from p_θ, as labels."""
        count, p = as_count(size, "size"), self.probabilities(theta)
        draws = require_generator(rng).choice(len(self.outputs), size=count, p=p)
        return self.outputs.decode(draws.astype(self.outputs.code_dtype))

    def __repr__(self) -> str:
        return f"Enumerated({self.dimension} statistics of {len(self.outputs)} outputs)"


def weighted_covariance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ_y w(y) (v(y) − v̄)(v(y) − v̄)ᵀ / Σ w for columns v(y) of `values` (d, m), shape (d, d)."""
    total = weights.sum()
    # Differences from the first column: what is constant is then 0 exactly, and not the rounding of its mean.
    values = values - values[:, :1]
    centred = values - (values @ weights / total)[:, None]
    return np.asarray((centred * weights) @ centred.T / total)
