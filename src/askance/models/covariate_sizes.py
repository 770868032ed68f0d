"""Covariates that are too large or too small to compute with."""

from __future__ import annotations

from askance.errors import InputError

#: The variance of a coefficient goes with the inverse square of its covariate's size, and is to be a number.
SMALLEST, LARGEST = 1e-140, 1e140


def require_size(name: str, largest: float) -> None:
    """Refuse a covariate by the largest size of its values, unless all are 0."""
    if largest != 0 and not SMALLEST <= largest <= LARGEST:
        raise InputError(
            f"the largest value of the {name} is {largest:.3g} in size; allowed: {SMALLEST:g} to {LARGEST:g}, since "
            "variances of coefficients go with squares.",
            remedy="Measure it in another unit.",
        )
