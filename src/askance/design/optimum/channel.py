"""The channel of a level that leaves an estimate the least error: an ordinary channel with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import Number, as_parameter, as_positive_level, shown
from askance._kernels.draw import TOTAL
from askance.categories import LabelSet
from askance.channels.matrix import MatrixChannel
from askance.channels.statistics.choices import require_choice
from askance.design.covariances import asymptotics, invert_information
from askance.design.optimum.prior import Prior
from askance.design.optimum.problem import ChannelProblem, Target
from askance.design.optimum.realise import name_subsets, usable_ratio, whole_weights
from askance.design.optimum.search import Found, search
from askance.design.weights import read_weights
from askance.errors import InputError, NotIdentifiedError
from askance.models.enumerated import Enumerated

# The relative gap the search stops at; what is reported is measured on the finished channel.
_TOLERANCE = 1e-8
# Where some parameters do not matter at all, they still count so much: they must stay estimable.
_LEAST_WEIGHT = 1e-9
#: Outputs of a model at most.
MOST_OUTPUTS = 64
# Below, rows are so nearly constant that floats cannot tell designs apart.
_LEAST_LEVEL = Fraction(1, 10**4)


@dataclass(frozen=True)
class Optimality:
    """What is known of an optimal channel.

    Attributes:
        target: whose error is least: "likelihood" (tr W Σ_marg) or "moments" (tr W Σ_mom with the best β).
        stated_level: the level that was asked for; `privacy_level` is the certified one.
        value: the error of this very channel, tr W Σ: averaged over the prior, or the largest over the θ given.
        lower_bound: no channel of the level has a smaller error.
        is_proved: whether every possible row was looked at; beyond 20 different statistics the bound is that of a
            local search.
        has_unbiased_beta: whether moments can be used; the optimum for the likelihood may have none.
        weights: W, shape (d, d).
        points: the θ it was made for, shape (K, d).
        shares: how much each of them counts, shape (K,).
    """

    target: Target
    stated_level: float
    value: float
    lower_bound: float
    is_proved: bool
    has_unbiased_beta: bool
    weights: FloatArray
    points: FloatArray
    shares: FloatArray

    @property
    def gap(self) -> float:
        """(value − lower_bound)/value."""
        return 1 - self.lower_bound / self.value

    @property
    def methods(self) -> tuple[str, ...]:
        """Of `estimate`, those that work with the channel."""
        return ("one-step", "moments", "marginal", "projection") if self.has_unbiased_beta else ("marginal",)


class OptimalChannel(MatrixChannel):
    """A `MatrixChannel` that was found by `optimal_channel`; it is saved, sent and loaded as any other.

    What is known of it is in `optimality`; its attributes are those of the channel too.
    """

    def __init__(self, matrix: Any, *, outputs: LabelSet, observations: LabelSet, optimality: Optimality) -> None:
        super().__init__(matrix, outputs=outputs, observations=observations)
        self.optimality = optimality
        self.target, self.stated_level = optimality.target, optimality.stated_level
        self.value, self.lower_bound, self.gap = optimality.value, optimality.lower_bound, optimality.gap
        self.is_proved, self.methods = optimality.is_proved, optimality.methods
        self.has_unbiased_beta = optimality.has_unbiased_beta
        self.weights, self.points, self.shares = optimality.weights, optimality.points, optimality.shares

    def to_json(self) -> dict[str, Any]:
        """Plain values; the channel under "channel"."""
        names = (
            "target",
            "stated_level",
            "privacy_level",
            "value",
            "lower_bound",
            "gap",
            "is_proved",
            "has_unbiased_beta",
        )
        arrays = {name: getattr(self, name).tolist() for name in ("weights", "points", "shares")}
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "methods": list(self.methods), **arrays, "channel": self.specification()}

    def summary(self) -> str:
        """In words: what respondents say how often, what it is worth, and how it is estimated."""
        error = "the likelihood" if self.target == "likelihood" else "moments with the best unbiased β"
        lines = [
            f"{len(self.observations)} observations of {len(self.outputs)} outputs at privacy level "
            f"{self.privacy_level:.6g}, of least error by {error}:"
        ]
        low, high = self.integer_weights.min(axis=1) / TOTAL, self.integer_weights.max(axis=1) / TOTAL
        width = max(len(str(label)) for label in self.observations.labels)
        for label, inside, outside in zip(self.observations.labels, high, low, strict=True):
            lines.append(f"  says {str(label).ljust(width)}  {inside:.4%} of the time if so, {outside:.4%} if not")
        proof = "" if self.is_proved else " by local search"
        lines.append(f"tr Σ = {self.value:,.6g}, at most {self.gap:.2g} of it above what any channel reaches{proof}.")
        if not self.has_unbiased_beta:
            lines.append("No unbiased β exists: moments and one-step cannot start from it.")
        lines.append(f"Estimate with: {', '.join(self.methods)}.")
        return "\n".join(lines)


def optimal_channel(
    model: Enumerated,
    privacy_level: Number,
    theta: ArrayLike | None = None,
    *,
    prior: ArrayLike | Prior | None = None,
    minimax: ArrayLike | None = None,
    target: Target = "likelihood",
    weights: ArrayLike | None = None,
) -> OptimalChannel:
    """The channel of a privacy level with the least tr W Σ: exact, with a proof.

    All rows that an optimal channel can have are known (each says "the truth is in A", e^α times as often if it is),
    and the error is convex in how often each is used. It is minimised over all 2^m − 2 of them for up to 14 different
    statistics, by column generation beyond.

    Give exactly one of `theta`, `prior` and `minimax`.

    Args:
        model: what is to be learned, over at most 64 outputs.
        privacy_level: from 10⁻⁴ to 30; the channel spends it whole.
        theta: a guess of θ, shape (d,).
        prior: several θ, shape (K, d), over which the error is averaged; a `Prior` has weights, `Prior.of_fit` is what
            a pilot leaves open.
        minimax: several θ, shape (K, d): the largest error over them is made least.
        target: "likelihood", for estimates by the likelihood; "moments", for the moment estimator with the best β,
            which then exists.
        weights: how much every parameter matters, shape (d,), or W, shape (d, d) (default: all alike).

    Raises:
        NotIdentifiedError: the model cannot tell some statistics apart, whatever the channel.

    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> channel = optimal_channel(model, 1, [5, -1])
    >>> round(channel.value, 1), channel.gap < 1e-6, channel.privacy_level <= 1, channel.has_unbiased_beta
    (21908.2, True, True, False)
    >>> round(optimal_channel(model, 1, [5, -1], target="moments").value, 1)
    22568.1
    """
    level = as_positive_level(privacy_level)
    if level < _LEAST_LEVEL:
        raise InputError(
            f"privacy_level is {shown(level)}; allowed: 0.0001 to 30.",
            remedy="Levels between 0.5 and 4 are usual; nearly nothing is told below.",
        )
    require_choice(target, "target", ("likelihood", "moments"))
    points, worst = _read_points(model, theta, prior, minimax)
    matrix = read_weights(weights, model.dimension)
    positive = matrix + _LEAST_WEIGHT * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    problem = ChannelProblem(model, usable_ratio(level), points, target, positive)
    _require_identified(problem)
    found = search(problem, worst=worst, tolerance=_TOLERANCE)
    return _finished(problem, found, level, worst)


def _finished(problem: ChannelProblem, found: Found, level: Fraction, worst: bool) -> OptimalChannel:
    """The channel itself, measured as it is."""
    model, groups = problem.model, problem.groups
    # Small subsets first, then frequent ones; among equals the outputs decide, not the last digits.
    often = np.array([float(f"{x:.6g}") for x in found.x])
    order = np.lexsort((*~found.subsets[::-1], -often, found.subsets.sum(axis=0)))
    subsets, x = found.subsets[:, order], found.x[order]
    weights = whole_weights(subsets, x, level)[:, groups]
    rows = [[Fraction(int(w), TOTAL) for w in row] for row in weights]
    names = name_subsets(subsets, groups, model.outputs)
    plain = MatrixChannel(rows, outputs=model.outputs, observations=names)
    limits = [asymptotics(model, plain, theta) for theta in problem.prior.points]
    sigmas = [limit.marginal if problem.target == "likelihood" else limit.moments for limit in limits]
    if any(sigma is None for sigma in sigmas):
        raise NotIdentifiedError(
            "the channel that was found has no unbiased β to within rounding.",
            remedy='Take target="likelihood", or a channel such as RandomizedResponse.',
        )
    errors = np.array([float(np.sum(problem.weights * cast(FloatArray, sigma))) for sigma in sigmas])
    value = float(errors.max() if worst else problem.prior.weights @ errors)
    optimality = Optimality(
        target=problem.target,
        stated_level=float(level),
        value=value,
        lower_bound=min(found.bound, value),
        is_proved=found.proved,
        has_unbiased_beta=limits[0].moments is not None,
        weights=problem.weights,
        points=problem.prior.points,
        shares=found.shares,
    )
    return OptimalChannel(rows, outputs=model.outputs, observations=names, optimality=optimality)


def _read_points(
    model: Enumerated, theta: ArrayLike | None, prior: ArrayLike | Prior | None, minimax: ArrayLike | None
) -> tuple[Prior, bool]:
    """Where errors are looked at, and whether the worst counts."""
    if not isinstance(model, Enumerated):
        raise InputError(
            f"model is {shown(model)}; allowed: an Enumerated model.",
            remedy="Build one from the table of its statistics; for tables of a random field there is plan_field.",
        )
    if len(model.outputs) > MOST_OUTPUTS:
        raise InputError(
            f"the model has {len(model.outputs)} outputs; allowed: at most {MOST_OUTPUTS}.",
            remedy="Merge outputs, or take subset selection, which is nearly as good when there are many.",
        )
    given = {"theta": theta, "prior": prior, "minimax": minimax}
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise InputError(
            f"given are {', '.join(names) or 'none'} of theta, prior and minimax; allowed: exactly one.",
            remedy="Give theta=[…] for a guess, prior=[[…], …] for several that may be true.",
        )
    if theta is not None:
        return Prior.of(as_parameter(theta, model.dimension), dimension=model.dimension, name="theta"), False
    if prior is not None:
        return Prior.of(prior, dimension=model.dimension), False
    return Prior.of(cast(ArrayLike, minimax), dimension=model.dimension, name="minimax"), True


def _require_identified(problem: ChannelProblem) -> None:
    for theta in problem.prior.points:
        invert_information(problem.model.fisher_information(theta), problem.model.parameter_names, "the model")
