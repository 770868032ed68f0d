"""Checks of what callers hand in: run once, at the edge, and never again inside.

Probabilities are kept as `Fraction`. A decimal is read as written (0.1 is 1/10, not the nearest binary number) and
texts such as "2/3" are understood, so that a design described as "two sixths" is held exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance.errors import InputError, MissingValueError, ProbabilityError, ShapeError

Number: TypeAlias = int | float | Fraction | str

#: How far given probabilities may be from summing to 1 before they are refused instead of normalised.
SUM_TOLERANCE = Fraction(1, 10**6)


def as_fraction(value: Number, name: str) -> Fraction:
    """Read a number exactly.

    >>> as_fraction(0.1, "p"), as_fraction("2/3", "p")
    (Fraction(1, 10), Fraction(2, 3))
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    try:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ProbabilityError(f"{name} is {value}.", remedy="Give a finite number.")
            return Fraction(repr(value))
        return Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"{name} is {value!r}, which is not a number.", remedy='Write 0.25 or "1/4".') from None


def as_probability(value: Number, name: str) -> Fraction:
    """Read a probability in [0, 1]."""
    probability = as_fraction(value, name)
    if not 0 <= probability <= 1:
        raise ProbabilityError(
            f"{name} is {float(probability):g}; allowed: 0 to 1.", remedy="Give a probability, not a percentage."
        )
    return probability


def as_distribution(values: Iterable[Number], name: str) -> list[Fraction]:
    """Read probabilities that sum to 1; sums off by rounding (at most 1e-6) are normalised away."""
    probabilities = [as_probability(value, f"{name}[{i}]") for i, value in enumerate(values)]
    total = sum(probabilities, Fraction(0))
    if abs(total - 1) > SUM_TOLERANCE:
        raise ProbabilityError(
            f"{name} sums to {float(total):g}; allowed: 1.", remedy="Rescale the probabilities so that they sum to 1."
        )
    return [p / total for p in probabilities]


def as_positive_level(value: Number, name: str = "privacy_level") -> Fraction:
    """Read a privacy level: finite and above 0."""
    level = as_fraction(value, name)
    if not 0 < level <= 30:
        raise InputError(
            f"{name} is {float(level):g}; allowed: above 0, at most 30.",
            remedy="Levels between 0.5 and 4 are usual; use Direct() if no privacy is wanted.",
        )
    return level


def as_parameter(theta: object, dimension: int, name: str = "theta") -> FloatArray:
    """Read θ: a finite vector of the model's dimension."""
    vector = np.asarray(theta, dtype=np.float64)
    if vector.shape != (dimension,):
        raise ShapeError(
            f"{name} has shape {vector.shape}; allowed: ({dimension},).", remedy="Give one number per statistic."
        )
    if not np.isfinite(vector).all():
        raise MissingValueError(f"{name} contains {vector[~np.isfinite(vector)][0]}.", remedy="Give finite numbers.")
    return vector


def require_generator(rng: object) -> np.random.Generator:
    """Insist on an explicit NumPy generator; never a seed, never global state."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng is {rng!r}; allowed: a numpy.random.Generator.",
            remedy="Pass numpy.random.default_rng(seed); to protect real answers call randomize() instead.",
        )
    return rng


def shorten(items: Sequence[object], limit: int = 6) -> str:
    """Show a few of many items in a message."""
    shown = ", ".join(repr(item) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown}, … ({len(items)} in all)"
