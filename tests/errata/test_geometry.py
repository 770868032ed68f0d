"""The geometry of two-step estimation, and deterministic supervision."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from askance import Coarsened, Enumerated, MatrixChannel, Tally, estimate, project
from askance.errors import ImpossibleReportsWarning
from askance.estimation.problems.likelihood import MarginalLikelihood
from askance.estimation.problems.matching import match_moments

from .exact import FIGURE_S, Exact, Floats, channel, exact, floats, identity, inverse

S = exact(FIGURE_S)


def kl(q: Floats, predicted: Floats) -> float:
    """KL(q ‖ predicted)."""
    seen = q > 0
    return float(q[seen] @ np.log(q[seen] / predicted[seen]))


def euclidean_projection(point: Exact) -> Exact:
    """The distribution closest to a point in the plain Euclidean distance."""
    descending = sorted(point, reverse=True)
    shifts = [(sum(descending[: i + 1]) - 1) / Fraction(i + 1) for i in range(len(point))]
    shift = max(s for s, value in zip(shifts, descending, strict=True) if value > s)
    return exact([max(x - shift, Fraction(0)) for x in point])


def is_constrained_minimum(r: Exact, q: Exact) -> bool:
    """Whether r minimises ‖q − S r‖² over the simplex: the optimality conditions, without rounding."""
    slope = S.T @ (S @ r - q)
    level = min(slope)
    return bool(sum(r) == 1 and min(r) >= 0 and all(s == level for s, x in zip(slope, r, strict=True) if x > 0))


def test_the_divergence_is_convex_and_not_concave_in_the_distribution() -> None:
    """Row 11: on every chord between distributions the middle lies below the mean of the ends."""
    q = np.array([0.2, 0.5, 0.3])
    corners = [np.array(p) for p in ([0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2])]
    matrix = floats(S)
    gaps = []
    for a, b in product(corners, repeat=2):
        ends = (kl(q, matrix @ a) + kl(q, matrix @ b)) / 2
        gaps.append(ends - kl(q, matrix @ (a + b) / 2))
    assert min(gaps) > -1e-15
    assert max(gaps) > 0.01  # concave would need ≤ 0


def test_the_pseudo_inverse_leaves_the_simplex() -> None:
    """Row 12: q̂ = e₁ gives S†q̂ = (7, −2, −4), which is no distribution; the constrained minimum is one."""
    q = exact([1, 0, 0])
    assert np.array_equal(inverse(S) @ q, exact([7, -2, -4]))
    r = project(Tally(channel(S), [1, 0, 0]))
    assert is_constrained_minimum(exact([1, 0, 0]), q)
    np.testing.assert_allclose(r, [1, 0, 0], atol=1e-9)


def test_the_projection_is_in_the_metric_of_s_and_not_the_euclidean_one() -> None:
    """Row 12: q̂ = (.441, .502, .057): clipping S†q̂ to the nearest distribution says (1,0,0), the argmin is (0,0,1)."""
    q = exact(["441/1000", "502/1000", "57/1000"])
    free = inverse(S) @ q
    assert min(free) < 0
    assert np.array_equal(euclidean_projection(free), exact([1, 0, 0]))
    assert not is_constrained_minimum(exact([1, 0, 0]), q)
    assert is_constrained_minimum(exact([0, 0, 1]), q)
    np.testing.assert_allclose(project(Tally(channel(S), [441, 502, 57])), [0, 0, 1], atol=1e-9)


def test_inside_the_simplex_the_pseudo_inverse_is_the_answer() -> None:
    """Row 12, where the printed rule is right."""
    r = exact(["1/2", "1/3", "1/6"])
    q = S @ r
    counts = [int(x * 72) for x in q]
    assert exact(counts).tolist() == [x * 72 for x in q]
    np.testing.assert_allclose(project(Tally(channel(S), counts)), floats(r), atol=1e-12)


def test_estimators_can_agree_although_no_distribution_explains_the_observations() -> None:
    """Row 13: S·P has a third coordinate of 1/4 always, q* = (.3, .3, .4) is outside, and both estimates are 0."""
    seen = MatrixChannel([["1/2", "1/4"], ["1/4", "1/2"], ["1/4", "1/4"]])
    model = Enumerated([[-1, 1]])
    third = {float(seen.apply(np.array([1 - p, p]))[2]) for p in np.linspace(0, 1, 11)}
    assert third == {0.25}
    outside = Tally(seen, [300, 300, 400])
    for method in ("marginal", "moments", "projection"):
        with pytest.warns(ImpossibleReportsWarning, match=r"40 % of reports, where the channel gives 25 %"):
            fit = estimate(model, outside, method=method)
        np.testing.assert_allclose(fit.theta, [0.0], atol=1e-9)
    # What the paper has in mind does happen: without the symmetry they differ in the limit.
    lopsided = Tally(seen, [350, 250, 400])
    with pytest.warns(ImpossibleReportsWarning):
        marginal, projected = (estimate(model, lopsided, method).theta for method in ("marginal", "projection"))
    assert np.abs(marginal - projected).max() > 0.1


def test_the_family_of_figure_surface_f_is_a_curve() -> None:
    """Row 14: one statistic (5, −1, 0) moves p_θ in one direction; two of three outputs would fill the simplex."""

    def directions(model: Enumerated) -> int:
        """The rank of ∂p_θ/∂θ."""
        theta = np.full(model.dimension, 0.3)
        slopes = model.probabilities(theta)[:, None] * (model.table.T - model.mean_statistics(theta))
        return int(np.linalg.matrix_rank(slopes))

    figure = Enumerated([[5, -1, 0]])
    assert figure.dimension == 1
    assert directions(figure) == 1
    assert directions(Enumerated([[5, -1, 0], [0, 1, 0]])) == 2 == len(figure.outputs) - 1


GROUPS = [["a", "b", "c"], ["d"], ["e", "f"]]


def test_the_pseudo_inverse_of_deterministic_supervision() -> None:
    """Right as printed: S† = Sᵀ diag(S1)⁻¹ = Sᵀ(SSᵀ)⁻¹ meets the four conditions of a pseudo-inverse."""
    seen = Coarsened(GROUPS)
    matrix = exact(seen.matrix.astype(int).tolist())
    printed = matrix.T @ np.diag(1 / matrix.sum(axis=1))
    assert np.array_equal(printed, matrix.T @ inverse(matrix @ matrix.T))
    assert np.array_equal(matrix @ printed @ matrix, matrix)
    assert np.array_equal(printed @ matrix @ printed, printed)
    assert np.array_equal(matrix @ printed, identity(3))
    assert np.array_equal(printed @ matrix, (printed @ matrix).T)
    np.testing.assert_allclose(np.linalg.pinv(seen.matrix), floats(printed), atol=1e-12)


@pytest.mark.parametrize("counts", [[30, 50, 20], [7, 1, 90]])
def test_moments_are_one_em_iteration_from_zero_under_deterministic_supervision(counts: list[int]) -> None:
    """Right as printed: the E-step at θ = 0 spreads each group evenly, the M-step matches its statistics."""
    seen = Coarsened(GROUPS)
    model = Enumerated([[0, 1, 2, 0, 1, 3], [1, 0, 1, 2, 0, 0]], outputs=seen.outputs)
    tally = Tally(seen, counts)
    spread_evenly = exact(
        [Fraction(counts[o], sum(counts) * len(group)) for o, group in enumerate(GROUPS) for _ in group]
    )
    np.testing.assert_allclose(project(tally), floats(spread_evenly), atol=1e-12)
    likelihood = MarginalLikelihood(model, seen, tally.frequencies)
    np.testing.assert_allclose(likelihood.expected_outputs(np.zeros(2)), floats(spread_evenly), atol=1e-12)
    one_iteration = match_moments(model, model.table @ floats(spread_evenly)).theta
    fit = estimate(model, tally, method="projection")
    np.testing.assert_allclose(fit.theta, one_iteration, atol=1e-9)
    # A second iteration goes on, so one iteration is not the maximum of the likelihood.
    second = match_moments(model, model.table @ likelihood.expected_outputs(fit.theta)).theta
    assert np.abs(second - fit.theta).max() > 1e-3
