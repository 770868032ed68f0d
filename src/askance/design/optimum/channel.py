"""The channel of a level that leaves an estimate the least error: an ordinary channel with a proof."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import HIGHEST_LEVEL, Number, as_parameter, as_positive_level, instance, number, shown
from askance._kernels.draw import TOTAL
from askance._threads import one_thread
from askance._words import words
from askance.categories import LabelSet
from askance.channels.matrix import MatrixChannel
from askance.channels.statistics.choices import require_choice
from askance.design.covariances import asymptotics, invert_information
from askance.design.optimum.blind_spots import warn_of_blind_spots
from askance.design.optimum.prior import Prior, require_one_guess
from askance.design.optimum.problem import ChannelProblem, Target
from askance.design.optimum.realise import USUAL_LEVELS, name_subsets, usable_ratio, whole_weights
from askance.design.optimum.search import Found, search
from askance.design.weights import Weights, weights_at
from askance.errors import ConvergenceWarning, InputError, NotIdentifiedError
from askance.models.enumerated import Enumerated

# The relative gap the search stops at; what is reported is measured on the finished channel.
_TOLERANCE = 1e-8
# Where some combination of parameters hardly matters, it still counts so much of the average, in units of what the
# outputs themselves would tell: it must stay estimable.
_LEAST_WEIGHT = 1e-7
# A gap above this is no proof of an optimum: a warning says so.
_PROVED_GAP = 1e-4
#: Outputs of a model at most.
MOST_OUTPUTS = 64
# Below, rows are so nearly constant that floats cannot tell designs apart.
_LEAST_LEVEL = Fraction(1, 10**4)
# Outputs below, at a guess, are impossible for all that n respondents can tell.
_LEAST_PROBABILITY = 1e-8


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
        weights: W that was used, shape (d, d) (where what was given is singular, with a little on what does not
            matter; of several θ that at the first), or "shares".
        points: the θ it was made for, shape (K, d).
        shares: how much each of them counts, shape (K,).
    """

    target: Target
    stated_level: float
    value: float
    lower_bound: float
    is_proved: bool
    has_unbiased_beta: bool
    weights: FloatArray | str
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
        arrays = {name: getattr(self, name).tolist() for name in ("points", "shares")}
        arrays["weights"] = self.weights if isinstance(self.weights, str) else self.weights.tolist()
        plain = {name: getattr(self, name) for name in names}
        return {**plain, "methods": list(self.methods), **arrays, "channel": self.specification()}

    def summary(self) -> str:
        """In words: what respondents say how often, what it is worth, and how it is estimated."""
        error = "the likelihood" if self.target == "likelihood" else "moments with the best unbiased β"
        if isinstance(self.weights, str):
            error += ", of the shares of all outputs"
        lines = [
            f"{len(self.observations)} observations of {len(self.outputs)} outputs at privacy level "
            f"{self.privacy_level:.6g}, of least error by {error}:"
        ]
        low, high = self.integer_weights.min(axis=1) / TOTAL, self.integer_weights.max(axis=1) / TOTAL
        width = max(len(str(label)) for label in self.observations.labels)
        for label, inside, outside in zip(self.observations.labels, high, low, strict=True):
            lines.append(f"  says {str(label).ljust(width)}  {inside:.4%} of the time if so, {outside:.4%} if not")
        proof = "" if self.is_proved else " (as far as the search goes)"
        plain = not isinstance(self.weights, str) and np.array_equal(self.weights, np.eye(len(self.weights)))
        error = f"tr {'' if plain else 'W '}Σ = {self.value:,.6g}"
        lines.append(f"{error}, at most {self.gap:.2g} of it above what any channel reaches{proof}.")
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
    weights: Weights = None,
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
        weights: how much every parameter matters, shape (d,), or W, shape (d, d) (default: all alike); "shares" where
            the shares of the outputs matter rather than the parameters, as in most surveys.

    Raises:
        NotIdentifiedError: the model cannot tell some statistics apart, whatever the channel.

    Warns:
        BlindSpotWarning: the channel is good at the θ given, but cannot tell them apart, or goes blind between them.

    >>> model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> channel = optimal_channel(model, 1, [5, -1])
    >>> round(channel.value, 1), channel.gap < 1e-6, channel.privacy_level <= 1, channel.has_unbiased_beta
    (21908.2, True, True, False)
    >>> round(optimal_channel(model, 1, [5, -1], target="moments").value, 1)
    22568.1
    """
    level = as_positive_level(privacy_level)
    number(level, "privacy_level", _LEAST_LEVEL, HIGHEST_LEVEL, remedy=USUAL_LEVELS)
    require_choice(target, "target", ("likelihood", "moments"))
    with one_thread:
        points, worst = _read_points(model, theta, prior, minimax)
        problem = ChannelProblem(model, usable_ratio(level), points, target, np.zeros((0, 0, 0)))
        _require_usable(problem)
        matrices = np.array([_usable_weights(weights, model, theta) for theta in points.points])
        problem = replace(problem, weights=matrices)
        design = search(problem, worst=worst, tolerance=_TOLERANCE)
        channel = _finished(problem, design, level, worst, weights)
        if not channel.has_unbiased_beta:  # a β that is unbiased for all θ would tell them all apart
            warn_of_blind_spots(model, channel, points.points, stacklevel=2)
        return channel


def _finished(problem: ChannelProblem, design: Found, level: Fraction, worst: bool, weights: Weights) -> OptimalChannel:
    """The channel itself, measured as it is."""
    model, groups = problem.model, problem.groups
    # Small subsets first, then frequent ones; among equals the outputs decide, not the last digits.
    often = np.array([float(f"{x:.6g}") for x in design.x])
    order = np.lexsort((*~design.subsets[::-1], -often, design.subsets.sum(axis=0)))
    subsets, x = design.subsets[:, order], design.x[order]
    thresholds = whole_weights(subsets, x, level)[:, groups]
    rows = [[Fraction(int(w), TOTAL) for w in row] for row in thresholds]
    names = name_subsets(subsets, groups, model.outputs)
    plain = MatrixChannel(rows, outputs=model.outputs, observations=names)
    limits = [asymptotics(model, plain, theta) for theta in problem.prior.points]
    sigmas = [limit.marginal if problem.target == "likelihood" else limit.moments for limit in limits]
    if any(sigma is None for sigma in sigmas):
        raise NotIdentifiedError(
            "the channel that was found has no unbiased β to within rounding.",
            remedy='Take target="likelihood", or a channel such as RandomizedResponse.',
        )
    pairs = zip(problem.weights, sigmas, strict=True)
    errors = np.array([float(np.sum(matrix * cast(FloatArray, sigma))) for matrix, sigma in pairs])
    value = float(errors.max() if worst else problem.prior.weights @ errors)
    # Nor does any channel tell more than the outputs themselves would.
    full = [float(np.sum(matrix * limit.full)) for matrix, limit in zip(problem.weights, limits, strict=True)]
    bound = max(design.bound, float(max(full) if worst else problem.prior.weights @ full))
    optimality = Optimality(
        target=problem.target,
        stated_level=float(level),
        value=value,
        lower_bound=min(bound, value),
        is_proved=design.proved and abs(1 - bound / value) <= _PROVED_GAP,
        has_unbiased_beta=limits[0].moments is not None,
        weights=weights if isinstance(weights, str) else problem.weights[0],
        points=problem.prior.points,
        shares=design.shares,
    )
    if design.proved and not optimality.is_proved:
        warnings.warn(
            f"the search ended {optimality.gap:.2g} above its bound: this channel may not be the best.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return OptimalChannel(rows, outputs=model.outputs, observations=names, optimality=optimality)


def require_small_model(model: object) -> Enumerated:
    """Refuse what is no `Enumerated` model, and one of more outputs than can be searched."""
    remedy = "Build one from the table of its statistics; for tables of a random field there is field_release."
    known = instance(model, Enumerated, "model", "an Enumerated model", remedy)
    if len(known.outputs) > MOST_OUTPUTS:
        raise InputError(
            f"the model has {len(known.outputs)} outputs; allowed: at most {MOST_OUTPUTS}.",
            remedy="Merge outputs, or take subset selection, which is nearly as good when there are many.",
        )
    return known


def _read_points(
    model: Enumerated, theta: ArrayLike | None, prior: ArrayLike | Prior | None, minimax: ArrayLike | None
) -> tuple[Prior, bool]:
    """Where errors are looked at, and whether the worst counts."""
    require_small_model(model)
    require_one_guess(theta=theta, prior=prior, minimax=minimax)
    if theta is not None:
        return Prior.of(as_parameter(theta, model.dimension), dimension=model.dimension, name="theta"), False
    if prior is not None:
        return Prior.of(prior, dimension=model.dimension), False
    return Prior.of(cast(ArrayLike, minimax), dimension=model.dimension, name="minimax"), True


def _usable_weights(weights: Weights, model: Enumerated, theta: FloatArray) -> FloatArray:
    """W at θ, positive definite: what does not matter at all is given a little weight."""
    W = weights_at(weights, model, theta)
    information = model.fisher_information(theta)
    full = invert_information(information, model.parameter_names, "the model")
    root = np.linalg.cholesky(full)
    sizes = np.linalg.eigvalsh(root.T @ W @ root)
    least = _LEAST_WEIGHT * float(sizes.mean())
    return W if sizes.min() > least else np.asarray(W + least * information)


def _require_usable(problem: ChannelProblem) -> None:
    """Refuse a model that cannot tell its statistics apart, and a guess that leaves some of its outputs impossible."""
    model = problem.model
    # At θ = 0 first: what no θ makes right is the model's fault.
    for theta in [np.zeros(model.dimension), *problem.prior.points]:
        p = np.bincount(problem.groups, model.probabilities(theta))
        if theta.any() and p.min() < _LEAST_PROBABILITY:
            label = model.outputs.labels[int(np.argmax(problem.groups == int(p.argmin())))]
            raise InputError(
                words(
                    "with {theta} = {0} output {1} has probability {2}; allowed: at least {3}.",
                    *(shown(theta.tolist()), repr(label), f"{p.min():.2g}", f"{_LEAST_PROBABILITY:g}"),
                ),
                remedy="Give a less extreme guess: no number of respondents would tell more about such an output.",
            )
        invert_information(model.fisher_information(theta), model.parameter_names, "the model")
