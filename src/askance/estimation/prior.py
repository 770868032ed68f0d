"""The weak prior that acts when the data alone lead outside the model, and only then."""

from __future__ import annotations

import numpy as np

from askance._arrays import FloatArray
from askance.errors import InputError
from askance.models.protocols import FiniteModel

#: Standard deviation of the weak prior, in log-odds across the range of one statistic.
PRIOR_SCALE = 5.0

#: No estimate is followed beyond this many log-odds across the range of one statistic (odds of 10¹¹ to 1): it has run
#: off to infinity.
FARTHEST = 25.0


def prior_precision(model: FiniteModel, prior_scale: float) -> FloatArray:
    """Λ of θ ~ N(0, Λ⁻¹) with θ_j · range_j ~ N(0, prior_scale²), shape (d, d).

    In these units a standard deviation of 5 says that a statistic may well change the odds a hundredfold.
    """
    if not prior_scale > 0:
        raise InputError(f"prior_scale is {prior_scale}; allowed: above 0.", remedy=f"The default is {PRIOR_SCALE}.")
    return np.asarray(np.diag((model.statistic_ranges / prior_scale) ** 2))


def ran_off(theta: FloatArray, model: FiniteModel) -> bool:
    """Whether some coordinate is beyond anything data can show."""
    return bool((np.abs(theta) * model.statistic_ranges > FARTHEST).any())
