"""Guesses of θ: one, several that may be true, or what a pilot leaves open."""

from __future__ import annotations

from askance._arrays import ArrayLike
from askance._checks import as_parameter
from askance.design.optimum import Prior
from askance.design.optimum.prior import HasEstimate
from askance.errors import InputError


def read_guesses(
    dimension: int, theta: ArrayLike | None, prior: ArrayLike | Prior | None, fit: HasEstimate | None
) -> Prior:
    """The points at which errors are predicted; exactly one of the three.

    >>> read_guesses(1, [0.5], None, None).points
    array([[0.5]])
    """
    given = {"theta": theta, "prior": prior, "fit": fit}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise InputError(
            f"given are {', '.join(names) or 'none'} of theta, prior and fit; allowed: exactly one.",
            remedy="Give theta=[…] for a guess, prior=[[…], …] for several that may be true, fit=… of a pilot.",
        )
    if theta is not None:
        return Prior.of(as_parameter(theta, dimension), dimension=dimension, name="theta")
    if prior is not None:
        return Prior.of(prior, dimension=dimension)
    assert fit is not None
    return Prior.of(Prior.of_fit(fit), dimension=dimension, name="fit")
