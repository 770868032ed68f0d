"""What a model offers to the rest of the library: narrow protocols, implemented where they make sense."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from askance._arrays import AnyArray, FloatArray
from askance.categories import Categories

X = TypeVar("X", contravariant=True)


@runtime_checkable
class Model(Protocol[X]):
    """A conditional exponential family p_θ(y | x) = h(y) exp(φ(x, y)ᵀθ − A(θ; x)).

    `x` is None for models without covariates; quantities are then those of the one distribution (shapes (), (d,)
    and (d, d)). With covariates they are per row of x (shapes (n,), (n, d), …).
    """

    @property
    def dimension(self) -> int:
        """The number d of statistics."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One name per statistic."""

    def statistics(self, y: AnyArray, x: X | None = None) -> FloatArray:
        """φ(x, y), shape (n, d)."""

    def log_partition(self, theta: FloatArray, x: X | None = None) -> FloatArray | float:
        """A(θ; x)."""

    def mean_statistics(self, theta: FloatArray, x: X | None = None) -> FloatArray:
        """∇A(θ; x) = E φ(x, y)."""


@runtime_checkable
class HasFisherInformation(Protocol[X]):
    """A model whose information can be computed."""

    def fisher_information(self, theta: FloatArray, x: X | None = None) -> FloatArray:
        """∇²A(θ; x) = Cov φ(x, y)."""


@runtime_checkable
class FiniteModel(Protocol):
    """A model over finitely many outputs, small enough to hold φ of each of them."""

    @property
    def outputs(self) -> Categories:
        """The possible y."""

    @property
    def dimension(self) -> int:
        """The number d of statistics."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One name per statistic."""

    @property
    def table(self) -> FloatArray:
        """Φ, shape (d, m): column y is φ(y)."""

    @property
    def statistic_ranges(self) -> FloatArray:
        """Largest minus smallest value of each statistic, shape (d,)."""

    def log_probabilities(self, theta: FloatArray) -> FloatArray:
        """Log p_θ(y) of every output, shape (m,)."""

    def log_partition(self, theta: FloatArray) -> float:
        """A(θ)."""

    def mean_statistics(self, theta: FloatArray) -> FloatArray:
        """∇A(θ) = E φ(y), shape (d,)."""

    def fisher_information(self, theta: FloatArray) -> FloatArray:
        """∇²A(θ) = Cov φ(y), shape (d, d)."""
