"""What a survey is to learn: a coefficient, a share, or all of them, as functions of θ whose error can be planned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter, did_you_mean, shown
from askance._words import words
from askance.categories import Label
from askance.design.conditional_covariances import read_sample
from askance.design.weights import share_slopes
from askance.errors import InputError
from askance.models.enumerated import Enumerated
from askance.models.softmax import Covariates, Softmax

#: The target of all shares at once; a parameter of this name goes first.
SHARES = "shares"


@dataclass(frozen=True)
class Share:
    """The share of an output: with covariates, the mean of p_θ(y | x).

    Attributes:
        output: its label.
        population: whether the share in the population is meant, of which every survey draws other people (then the
            variance of p_θ(y | x) over x is added), or that among the very people who are asked.

    >>> Share("yes")
    Share(output='yes', population=True)
    """

    output: Label
    population: bool = True


@dataclass(frozen=True)
class Asked:
    """Numbers g_1(θ) … g_T(θ) to be learned, usually one, at a guess of θ.

    Attributes:
        label: in words.
        value: g(θ); None where there are several.
        gradients: ∇g_t(θ), shape (T, d).
        theta: the guess, shape (d,).
        log_odds: for every output Ê a aᵀ, shape (d, d), where a = ∇ of its log-odds at x.
        is_share: whether it is a share.
        between: Var p_θ(y | x) over x for a share in the population (averaged over several), else 0.
        x: the sample of covariates (n, p); None without.
        shares: weights of its rows, which sum to 1, (n,); None without.
    """

    label: str
    value: float | None
    gradients: FloatArray
    theta: FloatArray
    log_odds: tuple[FloatArray, ...]
    is_share: bool = False
    between: float = 0.0
    x: FloatArray | None = None
    shares: FloatArray | None = None

    def variance(self, covariance: FloatArray) -> float:
        """σ² = ∇gᵀ Σ ∇g + Var_x, for Σ = n · Cov θ̂; the mean over t where there are several g_t."""
        return float(np.einsum("td,de,te->", self.gradients, covariance, self.gradients)) / len(self.gradients) + float(
            self.between
        )

    @property
    def weights(self) -> FloatArray:
        """W with tr W Σ = σ² but for what x adds, shape (d, d)."""
        return np.asarray(self.gradients.T @ self.gradients / len(self.gradients))

    def largest_error(self, covariance: FloatArray) -> float:
        """√n times the standard error of g_t(θ̂), the largest over t."""
        return float(np.sqrt(np.einsum("td,de,te->t", self.gradients, covariance, self.gradients).max()))

    def log_odds_error(self, covariance: FloatArray) -> float:
        """√n times the error of predicted log-odds: the largest, over outputs, of root mean squares over x."""
        return float(np.sqrt(max(np.einsum("ij,ji->", covariance, square) for square in self.log_odds)))


def ask(
    model: Softmax | Enumerated,
    theta: ArrayLike,
    x: Covariates | None,
    weights: ArrayLike | None,
    target: str | Share | None,
) -> Asked:
    """The target as a function of θ at a guess.

    Args:
        model: with covariates or without.
        theta: the guess, shape (d,).
        x: a sample of the covariates, shape (rows, p); None without.
        weights: how much each row counts.
        target: the name of a parameter, `Share(output)`, "shares" (all of them) or None (all parameters).

    >>> asked = ask(Enumerated.saturated(["no", "yes"]), [0.0], None, None, Share("yes"))
    >>> asked.value, asked.gradients
    (0.5, array([[0.25]]))
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
    if weights is not None:
        raise InputError(
            "weights are given, but the model has no covariates.",
            remedy="Weights say how much each row of x counts; leave them out.",
        )
    p = model.probabilities(theta)
    slopes = share_slopes(model, theta)
    with np.errstate(divide="ignore", invalid="ignore"):
        steepness = np.nan_to_num(slopes / (p * (1 - p))[:, None])
    log_odds = tuple(np.outer(row, row) for row in steepness)
    if isinstance(target, Share):
        y = model.outputs.code(target.output, "target")
        return Asked(_name(target), float(p[y]), slopes[[y]], theta, log_odds, is_share=True)
    if target == SHARES and target not in model.parameter_names:
        return Asked(_ALL_SHARES, None, slopes, theta, log_odds, is_share=True)
    return _parameters(model, theta, target, log_odds)


_ALL_SHARES = "share, root mean square over all outputs"


def _conditional(
    model: Softmax, theta: FloatArray, x: FloatArray, shares: FloatArray, target: str | Share | None
) -> Asked:
    size, terms = len(model.outputs) - 1, len(model.terms)
    second = x.T @ (x * shares[:, None])
    blocks = [np.zeros((size, terms, size, terms)) for _ in range(size)]
    for b, block in enumerate(blocks):
        block[b, :, b, :] = second
    log_odds = tuple(block.reshape(size * terms, size * terms) for block in blocks)
    all_shares = target == SHARES and target not in model.parameter_names
    if not isinstance(target, Share) and not all_shares:
        return replace(_parameters(model, theta, target, log_odds), x=x, shares=shares)
    p = model.probabilities(theta, x)
    wanted = [model.outputs.code(target.output, "target")] if isinstance(target, Share) else range(size + 1)
    gradients, between = [], []
    for y in wanted:
        slope = p[:, [y]] * (np.eye(size + 1)[y] - p)  # ∂p_y/∂logit, (n, m)
        gradients.append(((slope[:, 1:] * shares[:, None]).T @ x).ravel())
        between.append(float(shares @ (p[:, y] - shares @ p[:, y]) ** 2))
    own = isinstance(target, Share) and not target.population
    return Asked(
        label=_name(target) if isinstance(target, Share) else _ALL_SHARES,
        value=float(shares @ p[:, wanted[0]]) if isinstance(target, Share) else None,
        gradients=np.array(gradients),
        between=0.0 if own else float(np.mean(between)),
        is_share=True,
        theta=theta,
        x=x,
        shares=shares,
        log_odds=log_odds,
    )


def _parameters(
    model: Softmax | Enumerated, theta: FloatArray, name: str | Share | None, log_odds: tuple[FloatArray, ...]
) -> Asked:
    every = np.eye(model.dimension)
    if name is None:
        return Asked(ALL_PARAMETERS, None, every, theta, log_odds)
    j = place_of(name, model.parameter_names, words("For the share of an output give {Share(output)}."))
    return Asked(f"coefficient {name!r}", float(theta[j]), every[[j]], theta, log_odds)


#: The label where no target is given.
ALL_PARAMETERS = "parameter, root mean square over all"


def place_of(name: object, names: tuple[str, ...], remedy: str) -> int:
    """Where a parameter is; refused where it is none.

    >>> place_of("age", ("Intercept", "age"), "")
    1
    """
    if not isinstance(name, str) or name not in names:
        raise InputError(
            f"there is no coefficient {shown(name)}; allowed: {', '.join(names)}.",
            remedy=did_you_mean(name, names, remedy),
        )
    return names.index(name)


def _name(target: Share) -> str:
    return f"share of {target.output!r}"
