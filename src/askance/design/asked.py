"""What a survey is to learn: a coefficient or a share, as a function of θ whose error can be planned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter
from askance.categories import Label
from askance.design.conditional_covariances import read_sample
from askance.errors import InputError
from askance.models.enumerated import Enumerated
from askance.models.softmax import Covariates, Softmax


@dataclass(frozen=True)
class Share:
    """The share of an output: with covariates, the mean of p_θ(y | x).

    Attributes:
        output: its label.
        population: whether the share in the population is meant, of which every survey draws other people (then the
            variance of p_θ(y | x) over x is added), or that among the very people who are asked.
    """

    output: Label
    population: bool = True


@dataclass(frozen=True)
class Asked:
    """One number g(θ) to be learned, at a guess of θ.

    Attributes:
        label: in words.
        value: g(θ).
        gradient: ∇g(θ), shape (d,).
        between: Var p_θ(y | x) over x for a share in the population, else 0.
        is_share: whether it is a share.
        theta: the guess, shape (d,).
        x: the sample of covariates (n, p); None without.
        shares: weights of its rows, which sum to 1, (n,); None without.
        log_odds: for every output Ê a aᵀ, shape (d, d), where a = ∇ of its log-odds at x.
    """

    label: str
    value: float
    gradient: FloatArray
    between: float
    is_share: bool
    theta: FloatArray
    x: FloatArray | None
    shares: FloatArray | None
    log_odds: tuple[FloatArray, ...]

    def variance(self, covariance: FloatArray) -> float:
        """σ² = ∇gᵀ Σ ∇g + Var_x, for Σ = n · Cov θ̂."""
        return float(self.gradient @ covariance @ self.gradient) + self.between

    def log_odds_error(self, covariance: FloatArray) -> float:
        """√n times the error of predicted log-odds: the largest, over outputs, of root mean squares over x."""
        return float(np.sqrt(max(np.einsum("ij,ji->", covariance, square) for square in self.log_odds)))


def ask(
    model: Softmax | Enumerated,
    theta: ArrayLike,
    x: Covariates | None,
    weights: ArrayLike | None,
    target: str | Share,
) -> Asked:
    """The target as a function of θ at a guess.

    >>> asked = ask(Enumerated.saturated(["no", "yes"]), [0.0], None, None, Share("yes"))
    >>> asked.value, asked.gradient
    (0.5, array([0.25]))
    """
    theta = as_parameter(theta, model.dimension)
    if isinstance(model, Softmax):
        if x is None:
            raise InputError(
                f"the model has covariates ({', '.join(model.terms)}), but x is not given.",
                remedy="Give a sample of x, or describe it with `sample_covariates`.",
            )
        return _conditional(model, theta, *read_sample(x, weights, model.terms), target)
    if x is not None:
        raise InputError("x is given, but the model has no covariates.", remedy="Use Softmax, or leave x out.")
    p = model.probabilities(theta)
    slopes = p[:, None] * (model.table.T - model.mean_statistics(theta))
    with np.errstate(divide="ignore", invalid="ignore"):
        steepness = np.nan_to_num(slopes / (p * (1 - p))[:, None])
    log_odds = tuple(np.outer(row, row) for row in steepness)
    if isinstance(target, Share):
        y = model.outputs.code(target.output, "target")
        return Asked(_name(target), float(p[y]), slopes[y], 0.0, True, theta, None, None, log_odds)
    return _coefficient(model, theta, target, None, None, log_odds)


def _conditional(model: Softmax, theta: FloatArray, x: FloatArray, shares: FloatArray, target: str | Share) -> Asked:
    size, terms = len(model.outputs) - 1, len(model.terms)
    second = x.T @ (x * shares[:, None])
    blocks = [np.zeros((size, terms, size, terms)) for _ in range(size)]
    for b, block in enumerate(blocks):
        block[b, :, b, :] = second
    log_odds = tuple(block.reshape(size * terms, size * terms) for block in blocks)
    if not isinstance(target, Share):
        return _coefficient(model, theta, target, x, shares, log_odds)
    y = model.outputs.code(target.output, "target")
    p = model.probabilities(theta, x)
    slope = p[:, [y]] * (np.eye(size + 1)[y] - p)  # ∂p_y/∂logit, (n, m)
    gradient = np.asarray(((slope[:, 1:] * shares[:, None]).T @ x).ravel())
    value = float(shares @ p[:, y])
    between = float(shares @ (p[:, y] - value) ** 2) if target.population else 0.0
    return Asked(_name(target), value, gradient, between, True, theta, x, shares, log_odds)


def _coefficient(
    model: Softmax | Enumerated,
    theta: FloatArray,
    name: str,
    x: FloatArray | None,
    shares: FloatArray | None,
    log_odds: tuple[FloatArray, ...],
) -> Asked:
    if name not in model.parameter_names:
        raise InputError(
            f"there is no coefficient {name!r}; allowed: {', '.join(model.parameter_names)}.",
            remedy="For the share of an output give Share(output).",
        )
    j = model.parameter_names.index(name)
    gradient = np.eye(model.dimension)[j]
    return Asked(f"coefficient {name!r}", float(theta[j]), gradient, 0.0, False, theta, x, shares, log_odds)


def _name(target: Share) -> str:
    return f"share of {target.output!r}"
