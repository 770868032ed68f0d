"""Whether a channel that was made for a few θ can tell them apart, and the θ between them."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from askance._arrays import FloatArray
from askance.channels.finite import FiniteChannel
from askance.design.covariances import invert_information, marginal_information
from askance.errors import BlindSpotWarning
from askance.models.enumerated import Enumerated

# Places that are looked at on the way from one θ to the next. Near a fold of θ ↦ S p_θ information grows with the
# square of the distance, so that one of them has less than 1/200 of what there is half a way off.
_STEPS = 32
# Less than this share of what there is at the θ that were given is a blind spot.
_LITTLE = 0.1
# The same for the distance of S p at two of them, beside what their information promises.
_ALIKE = 0.05
# Nearer θ than this, as squared distance in standard errors of one report, differ by rounding: nobody tells them apart.
_ONE_PLACE = 1e-20


class BlindSpot(NamedTuple):
    """Where a channel fails, though it is good at the θ it was made for.

    Attributes:
        first: one of these θ, shape (d,).
        second: the next, shape (d,).
        between: on the way from one to the other, where least is told, shape (d,).
        share: information there over the smaller one of the two; or, where S p of the two is nearly the same, how far
            they are apart over how far their information promises.
        is_alike: whether it is the two themselves that are not told apart.
    """

    first: FloatArray
    second: FloatArray
    between: FloatArray
    share: float
    is_alike: bool


def blind_spot(model: Enumerated, channel: FiniteChannel, points: FloatArray) -> BlindSpot | None:
    """The worst place between points of θ, shape (K, d); None where there is none.

    Along the shortest tree that joins the points, the least eigenvalue of I^{−½} J I^{−½} (the share of the full
    information that is told in the worst direction) is compared with that at the ends. With d + 1 observations, places
    where it is 0 are walls: θ on the two sides of one have the same S p.

    >>> from askance import Enumerated, MatrixChannel
    >>> model = Enumerated([[-1, 0, 1]])
    >>> ends_or_not = MatrixChannel([["3/4", "1/4", "3/4"], ["1/4", "3/4", "1/4"]])
    >>> found = blind_spot(model, ends_or_not, np.array([[-1.0], [1.0]]))
    >>> found.between, round(found.share, 12)
    (array([0.]), 0.0)
    """
    points = np.unique(points, axis=0)
    alike = _least_apart(model, channel, points)
    if alike is not None:
        return alike
    worst: BlindSpot | None = None
    for i, j in _shortest_tree(points):
        between, share = _worst_between(model, channel, points[i], points[j])
        if share < (_LITTLE if worst is None else worst.share):
            worst = BlindSpot(points[i], points[j], between, share, is_alike=False)
    return worst


def warn_of_blind_spots(model: Enumerated, channel: FiniteChannel, points: FloatArray, *, stacklevel: int) -> None:
    """Warn where `blind_spot` finds one.

    Args:
        model: what is to be learned.
        channel: that was made for the points.
        points: shape (K, d).
        stacklevel: of the warning, counted from the caller.
    """
    spot = blind_spot(model, channel, points)
    if spot is None:
        return
    first, second, between = (_shown(theta) for theta in (spot.first, spot.second, spot.between))
    what = (
        f"the channel hardly tells θ = {first} and θ = {second} apart, though it was made for both"
        if spot.is_alike
        else f"between θ = {first} and θ = {second} the channel goes blind: at θ = {between} it has {spot.share:.2g} "
        "of the information that it has at these two, and may not tell which side of it is true"
    )
    warnings.warn(
        f"{what}. Give θ between them too, {between} at least; a channel for moments tells all θ apart.",
        BlindSpotWarning,
        stacklevel=stacklevel + 1,
    )


def _shown(theta: FloatArray) -> str:
    few = ", ".join(f"{value:.4g}" for value in theta[:8] + 0.0)
    return f"({few}{', …' if len(theta) > 8 else ''})"


def _told(model: Enumerated, channel: FiniteChannel, theta: FloatArray) -> float:
    """The least eigenvalue of I^{−½} J I^{−½}."""
    full = invert_information(model.fisher_information(theta), model.parameter_names, "the model")
    root = np.linalg.cholesky(full)
    return max(float(np.linalg.eigvalsh(root.T @ marginal_information(model, channel, theta) @ root)[0]), 0.0)


def _worst_between(
    model: Enumerated, channel: FiniteChannel, first: FloatArray, second: FloatArray
) -> tuple[FloatArray, float]:
    """Where least is told on the straight way between two θ, and how much beside the ends."""
    way = first + np.linspace(0, 1, _STEPS + 1)[:, None] * (second - first)
    told = [_told(model, channel, theta) for theta in way]
    least = int(np.argmin(told))
    return way[least], told[least] / min(told[0], told[-1])


def _least_apart(model: Enumerated, channel: FiniteChannel, points: FloatArray) -> BlindSpot | None:
    """Two points whose S p is nearly the same: Σ_o 2(q − q′)²/(q + q′) is far below δᵀJδ at both."""
    seen = np.array([channel.apply(model.probabilities(theta)) for theta in points])
    informations = np.array([marginal_information(model, channel, theta) for theta in points])
    worst: BlindSpot | None = None
    for i in range(1, len(points)):
        both, ways = seen[:i] + seen[i], points[:i] - points[i]
        apart = 2 * np.sum((seen[:i] - seen[i]) ** 2 / np.where(both > 0, both, 1), axis=1)
        promised = np.minimum(
            np.einsum("kd,de,ke->k", ways, informations[i], ways),
            np.einsum("kd,kde,ke->k", ways, informations[:i], ways),
        )
        shares = np.divide(apart, promised, out=np.ones(i), where=promised > _ONE_PLACE)
        j = int(shares.argmin())
        if shares[j] < (_ALIKE if worst is None else worst.share):
            worst = BlindSpot(points[j], points[i], points[j], float(shares[j]), is_alike=True)
    if worst is None:
        return None
    return worst._replace(between=_worst_between(model, channel, worst.first, worst.second)[0])


def _shortest_tree(points: FloatArray) -> list[tuple[int, int]]:
    """Pairs that join all points, K − 1 of them, of least length in all: the nearest point is joined next."""
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    near, through = distances[0].copy(), np.zeros(len(points), dtype=np.int64)  # of every point to those joined so far
    near[0], pairs = np.inf, list[tuple[int, int]]()
    for _ in range(len(points) - 1):
        nearest = int(near.argmin())
        pairs.append((int(through[nearest]), nearest))
        closer = (distances[nearest] < near) & np.isfinite(near)
        near[closer], through[closer], near[nearest] = distances[nearest][closer], nearest, np.inf
    return pairs
