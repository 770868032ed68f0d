"""What a method found, before anybody makes a result of it or says anything about it."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from askance._arrays import FloatArray
from askance.errors import AskanceWarning
from askance.estimation.freedom import Freedom

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


class Notice(NamedTuple):
    """What a caller is to be warned of: the kind of warning, and a sentence without its full stop."""

    kind: type[AskanceWarning]
    text: str


def tell(notices: Iterable[Notice]) -> None:
    """Warn, at the line outside of this package from which it was called."""
    level, frame = 1, sys._getframe()
    # Decorators that hold a lock or a limit leave frames of `contextlib` in between.
    inside = (_PACKAGE, contextlib.__file__)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    for notice in notices:
        warnings.warn(f"{notice.text}.", notice.kind, stacklevel=level)


@dataclass(frozen=True)
class LocalMaximum:
    """One maximum of a non-convex likelihood: where, how high (total log-likelihood), how many starts ended there."""

    theta: tuple[float, ...]
    log_likelihood: float
    starts: int


@dataclass(frozen=True)
class Diagnostics:
    """What happened on the way.

    Attributes:
        iterations: steps of the solver.
        repaired: whether a weak prior acted because the data alone led outside the model.
        damped: whether the one-step estimator took less than its full step.
        maxima: the different maxima found by the starts of a non-convex fit, best first.
        escaped_starts: how many starts ran off to infinity.
        messages: what a reader should know, in plain words.
    """

    iterations: int = 0
    repaired: bool = False
    damped: bool = False
    maxima: tuple[LocalMaximum, ...] = ()
    escaped_starts: int = 0
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcome:
    """What a method found, in the coordinates of its problem; a `Fit` is made of both.

    Attributes:
        theta: θ̂, shape (d,).
        covariance: of θ̂, shape (d, d); NaN where no valid one is known.
        method: the estimator.
        covariance_kind: "expected", "observed", "robust", "posterior" (a prior acted) or "none".
        converged: whether the solver converged.
        diagnostics: what happened on the way, of the kind that the problem's fits have.
        raw_statistics: μ̂ = mean of β, unbiased; None where no β is used.
        raw_covariance: of `raw_statistics`, where they belong to no distribution and a prior acted.
        log_likelihood: Σ log P(o | x) at θ̂ of a random field, where its method used it; of others the problem knows it.
        prior_scale: of the prior that every fit of a random field has; None elsewhere.
        freedom: degrees of freedom of contrasts, where the covariance comes from few clusters; None: normal quantiles.
        replicates: θ̂ with every set of replicate weights, shape (R, d); None where there are none.
        notices: what the caller is to be warned of.
    """

    theta: FloatArray
    covariance: FloatArray
    method: str
    covariance_kind: str
    converged: bool
    diagnostics: Any
    raw_statistics: FloatArray | None = None
    raw_covariance: FloatArray | None = None
    log_likelihood: float = -math.inf
    prior_scale: float | None = None
    freedom: Freedom | None = None
    replicates: FloatArray | None = None
    notices: tuple[Notice, ...] = ()
