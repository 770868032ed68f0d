"""Regressions that several test files look at, and the brute force they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from askance import RandomizedResponse, RegressionFit, Responses, Softmax, estimate
from askance._arrays import FloatArray
from askance.channels import FiniteChannel
from askance.estimation.results.results import Result

TERMS = ["Intercept", "female", "age", "level"]


def respondents(n: int = 600, seed: int = 5) -> FloatArray:
    """An intercept, a binary, a continuous and a three-valued column."""
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [np.ones(n), rng.integers(0, 2, n), rng.normal(size=n).round(1), rng.integers(0, 3, n)]
    ).astype(np.float64)


def survey(
    outputs: list[str], x: FloatArray, channel: FiniteChannel | None = None, seed: int = 6
) -> tuple[Softmax, FiniteChannel, Any]:
    rng = np.random.default_rng(seed)
    model = Softmax(outputs, TERMS[: x.shape[1]])
    theta = rng.normal(size=model.dimension, scale=0.5)
    shares = model.probabilities(theta, x)
    truth = np.array(outputs)[
        (shares.cumsum(axis=1) < rng.random(len(x))[:, None]).sum(axis=1).clip(0, len(outputs) - 1)
    ]
    channel = RandomizedResponse.for_privacy_level(3, outputs=outputs) if channel is None else channel
    return model, channel, channel.simulate(truth, rng)


def fitted(outputs: list[str], *, n: int = 600, **extra: Any) -> RegressionFit:
    x = respondents(n)
    model, channel, reports = survey(outputs, x)
    return estimate(model, Responses(channel).add(x, reports, **extra))


def numeric_error(fit: RegressionFit, value: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Delta-method standard errors with central differences."""
    step = 1e-5
    slope = np.stack(
        [(value(fit.theta + step * u) - value(fit.theta - step * u)) / (2 * step) for u in np.eye(len(fit.theta))]
    )
    return np.asarray(np.sqrt(np.einsum("i...,ij,j...->...", slope, fit.covariance, slope)))


def assert_same(left: Result, right: Result) -> None:
    for name, value in vars(left).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_allclose(value, getattr(right, name), rtol=1e-9, atol=1e-12, err_msg=name)
        elif name != "by":  # what the groups are called, not what was found
            assert value == getattr(right, name)


def bare(model: Softmax, theta: FloatArray, channel: FiniteChannel, **changes: Any) -> RegressionFit:
    """A fit as it comes out of a file: no evidence."""
    return replace(
        RegressionFit(
            model=model,
            theta=theta,
            covariance=np.eye(len(theta)) / 100,
            n_observations=100,
            method="marginal",
            covariance_kind="expected",
            converged=True,
            log_likelihood=-50.0,
            raw_statistics=None,
            channel=channel.specification(),
            privacy_level=channel.privacy_level,
        ),
        **changes,
    )
