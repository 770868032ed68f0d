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


def surveyed(
    people: int = 5 * 8192 + 77,
    outputs: int = 2,
    *,
    arms: int = 1,
    weighted: bool = False,
    clusters: int = 0,
    years: bool = False,
) -> tuple[Softmax, Responses]:
    """Evidence of several blocks of rows, with continuous covariates."""
    rng = np.random.default_rng(7)
    labels = ["no", "yes", "never"][:outputs]
    x = np.column_stack([np.ones(people), rng.normal(size=(people, 3))])
    x[:, 2] = x[:, 2] > 0
    if years:
        x[:, 1] = 2000 + np.round(5 * x[:, 1])
        x[:, 2] = x[:, 1] ** 2
    model = Softmax(labels, ["Intercept", "a", "b", "c"])
    high = rng.random(people) < 1 / (1 + np.exp(1 - 0.5 * x[:, 3]))
    truth = np.array(labels)[np.where(high, 1 + rng.integers(0, outputs - 1, people), 0)]
    channels = [RandomizedResponse.for_privacy_level(level, outputs=labels) for level in (2, 3)][:arms]
    named = dict(zip("ab", channels, strict=False))
    arm = np.array(list(named))[rng.integers(0, arms, people)]
    said = np.select([arm == name for name in named], [own.simulate(truth, rng) for own in channels], truth)
    own: dict[str, Any] = {"weights": rng.gamma(2.0, 1.0, people)} if weighted else {}
    own |= {"clusters": rng.integers(0, clusters, people)} if clusters else {}
    if arms == 1:
        return model, Responses(channels[0]).add(x, said, **own)
    return model, Responses(named).add(x, said, arm=arm, **own)
