"""What a channel offers: narrow protocols, implemented where they make sense."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.channels.observation import ObservationFunction
from askance.models.protocols import FiniteModel

Y = TypeVar("Y", contravariant=True)
O = TypeVar("O", covariant=True)  # noqa: E741 - the paper's letter for an observation


@runtime_checkable
class Channel(Protocol[Y, O]):
    """S(o | y): how an output y is seen as an observation o."""

    def randomize(self, truth: Y) -> O:
        """Draw o from a cryptographic source: what protects a person's answer. Takes no seed."""

    def simulate(self, truth: Y, rng: np.random.Generator) -> O:
        """Draw o from a seeded generator: for experiments and tests, never to protect anybody."""


@runtime_checkable
class HasLikelihood(Protocol):
    """A channel whose S(o | y) can be evaluated."""

    def log_likelihood(self, observed: AnyArray) -> FloatArray:
        """Log S(o | y) for every observation and every y, shape (n, m)."""


@runtime_checkable
class Private(Protocol):
    """A channel with a guarantee."""

    @property
    def privacy_level(self) -> float:
        """The smallest valid level, computed from what the sampler does; infinite when there is none."""


@runtime_checkable
class LinearChannel(Protocol):
    """A channel from which an unbiased β can be built."""

    def observation_function(self, model: FiniteModel, frequencies: FloatArray | None = None) -> ObservationFunction:
        """β with E[β(o) | y] = φ(y)."""
