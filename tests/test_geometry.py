"""Pictures of the geometry: every number against a computation of its own, every drawing from its numbers alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from askance import Coarsened, Enumerated, MatrixChannel, RandomizedResponse, Softmax, Tally
from askance._arrays import FloatArray
from askance.errors import (
    AskanceError,
    EmptyDataError,
    FormatError,
    IncompatibleEvidenceError,
    InputError,
    NotIdentifiedError,
    ShapeError,
)
from askance.geometry import Picture, em_paths, likelihood_picture, simplex_picture
from askance.geometry.likelihood_drawing import draw_likelihood
from askance.geometry.simplex_drawing import draw_simplex

FIGURE_S = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
CURVE = Enumerated([[5, -1, 0]])
STEPS = Enumerated([[2, 1, 0]])
# S p_θ at θ = −1.1, in a million reports.
TWO_MAXIMA = Tally(FIGURE_S, [237_182, 410_351, 352_468])


def log_likelihood(model: Enumerated, tally: Tally, theta: FloatArray) -> FloatArray:
    """The average log-likelihood at many θ (t, d), from its definition."""
    weights = np.exp(theta @ model.table + model.log_base_measure)
    predicted = weights @ tally.channel.matrix.T / weights.sum(axis=1, keepdims=True)
    seen = tally.counts > 0
    return np.asarray(np.log(predicted[:, seen]) @ tally.frequencies[seen])


def slope(model: Enumerated, tally: Tally, theta: FloatArray) -> FloatArray:
    """d/dθ of Σ q̂ log (S p_θ), shape (t,), by the quotient rule on S exp(θφ) / Σ exp(θφ); one statistic."""
    phi, S = model.table[0], tally.channel.matrix
    weights = np.exp(np.outer(theta, phi) + model.log_base_measure)
    inner = (weights * phi) @ S.T / (weights @ S.T)
    return np.asarray(inner @ tally.frequencies - weights @ phi / weights.sum(axis=1))


def down_crossings(model: Enumerated, tally: Tally, grid: FloatArray) -> FloatArray:
    """The θ after which the slope turns from up to down."""
    values = slope(model, tally, grid)
    return np.asarray(grid[:-1][(values[:-1] > 0) & (values[1:] <= 0)])


def drawn(picture: Picture) -> list[Any]:
    """All that a figure shows, as plain values."""
    shown: list[Any] = [text.get_text() for text in picture.figure.texts]
    for axis in picture.figure.axes:
        shown += [axis.get_xlim(), axis.get_ylim(), axis.get_xlabel(), axis.get_ylabel()]
        shown += [np.asarray(line.get_xydata()).tolist() for line in axis.lines]
        shown += [line.get_label() for line in axis.lines]
        shown += [text.get_text() for text in axis.texts]
    return shown


@cache
def simplex_example() -> Picture:
    return simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, [280, 320, 400]), theta=[0.1])


@cache
def outside_example() -> Picture:
    return simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, [441, 502, 57]), theta=[0.1])


@cache
def curve_example() -> Picture:
    return likelihood_picture(STEPS, FIGURE_S, TWO_MAXIMA, theta=[-1.1], em_starts=[-3, 0, 3], em_steps=20, points=101)


@cache
def surface_example() -> Picture:
    channel = RandomizedResponse("1/2", outputs=4)
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]], parameter_names=["first", "second"])
    tally = Tally(channel, [160, 110, 230, 100])
    starts = [[2.0, -3.0], [-3.0, 2.0]]
    return likelihood_picture(model, channel, tally, theta=[1, -0.8], em_starts=starts, em_steps=20, points=21)


EXAMPLES: dict[str, Callable[[], Picture]] = {
    "simplex": simplex_example,
    "outside": outside_example,
    "curve": curve_example,
    "surface": surface_example,
}


# -- the simplex -------------------------------------------------------------------------------------------------------

FAMILIES = {
    "figure": CURVE,
    "steps": STEPS,
    "tie": Enumerated([[1, 1, 0]]),
    "close": Enumerated([[0, 1, 1.001]]),
    "base": Enumerated([[0, 1, 3]], log_base_measure=[0, 30, -4]),
    "tied base": Enumerated([[2, -1, -1]], log_base_measure=[0, 1, 0]),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_points_of_the_family_are_its_members(name: str) -> None:
    model = FAMILIES[name]
    family = simplex_picture(model, FIGURE_S).data["family"]
    theta, p = np.array(family["theta"]), np.array(family["probabilities"])
    scores = theta[:, None] * model.table[0] + model.log_base_measure
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p, weights / weights.sum(axis=1, keepdims=True), atol=1e-14)
    assert (np.diff(theta) > 0).all()
    # Closed: from one limit to the other without a gap that could be seen.
    whole = np.concatenate([family["limits"][:1], p, family["limits"][1:]])
    assert np.linalg.norm(np.diff(whole, axis=0), axis=1).max() <= 0.01
    np.testing.assert_allclose(whole[[0, -1]], whole[[1, -2]], atol=2e-8)


def test_limits_of_the_family() -> None:
    limits = simplex_picture(FAMILIES["tied base"], FIGURE_S).data["family"]["limits"]
    np.testing.assert_allclose(limits[0], np.array([0, np.e, 1]) / (1 + np.e), atol=1e-15)
    assert limits[1] == [1, 0, 0]


@pytest.mark.parametrize("example", [simplex_example, outside_example])
def test_moment_lines_have_their_moment(example: Callable[[], Picture]) -> None:
    data = example().data
    phi = np.array(data["statistics"])
    wanted = {"truth": data["points"]["truth"]["moment"][0], "projection": data["points"]["projection"]["moment"][0]}
    wanted["observed"] = float(phi @ np.linalg.solve(FIGURE_S.matrix, data["frequencies"]))
    for line in data["moment_lines"]:
        assert line["moment"] == pytest.approx(wanted[line["of"]], abs=1e-10)
        for p in line["segment"] + line["through"]:
            assert phi @ p == pytest.approx(line["moment"], abs=1e-12)
            assert sum(p) == pytest.approx(1, abs=1e-12)
        inside = phi.min() <= line["moment"] <= phi.max()
        assert len(line["segment"]) == (2 if inside else 0)
        # Both ends are on the border, so that the line is drawn in its whole length.
        assert all(min(p) == 0 for p in line["segment"])


def test_lines_of_the_examples() -> None:
    """Inside the simplex r̂ is on the line of μ̂; outside it has a line of its own."""
    assert [line["of"] for line in simplex_example().data["moment_lines"]] == ["observed", "truth"]
    lines = outside_example().data["moment_lines"]
    assert [line["of"] for line in lines] == ["observed", "projection", "truth"]
    assert lines[0]["segment"] == []


def test_the_steps_of_estimation_inside_the_simplex() -> None:
    data = simplex_example().data
    points, q = data["points"], np.array([0.28, 0.32, 0.4])
    free = np.linalg.solve(FIGURE_S.matrix, q)
    np.testing.assert_allclose(points["unconstrained"]["probabilities"], free, atol=1e-12)
    np.testing.assert_allclose(points["projection"]["probabilities"], free, atol=1e-12)
    assert points["unconstrained"]["inside"]
    for name in ("family_projection", "moment_estimate"):
        weights = np.exp(np.array(points[name]["theta"]) * CURVE.table[0])
        np.testing.assert_allclose(points[name]["probabilities"], weights / weights.sum(), atol=1e-14)
        assert weights @ CURVE.table[0] / weights.sum() == pytest.approx(CURVE.table[0] @ free, abs=1e-9)
    best = points["maximum_likelihood"]
    tally = Tally(FIGURE_S, [280, 320, 400])
    assert abs(slope(CURVE, tally, np.array(best["theta"]))[0]) < 1e-12
    heights = log_likelihood(CURVE, tally, np.linspace(-8, 8, 20_001)[:, None])
    assert heights.max() <= best["average_log_likelihood"] <= heights.max() + 1e-6


def test_the_steps_of_estimation_outside_the_simplex() -> None:
    """Row 12 of the paper's corrections: S†q̂ = (7, −2, −4), and an argmin that is not the Euclidean projection."""
    far = simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, [1, 0, 0])).data["points"]
    np.testing.assert_allclose(far["unconstrained"]["probabilities"], [7, -2, -4], atol=1e-9)
    np.testing.assert_allclose(far["projection"]["probabilities"], [1, 0, 0], atol=1e-9)
    points = outside_example().data["points"]
    assert not points["unconstrained"]["inside"]
    np.testing.assert_allclose(points["projection"]["probabilities"], [0, 0, 1], atol=1e-9)
    assert points["moment_estimate"]["repaired"]
    grid = np.array([(a, b, 100 - a - b) for a in range(101) for b in range(101 - a)]) / 100
    misfit = ((grid @ FIGURE_S.matrix.T - [0.441, 0.502, 0.057]) ** 2).sum(axis=1)
    np.testing.assert_allclose(grid[misfit.argmin()], [0, 0, 1])


@pytest.mark.parametrize(("counts", "corner"), [([1, 0, 0], 0), ([0, 0, 1], 1)])
def test_where_only_a_limit_of_the_family_has_the_moment(counts: list[int], corner: int) -> None:
    """φ is extreme at outputs 0 and 1: with r̂ there no θ has its moment, the closed family does."""
    point = simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S, counts)).data["points"]["family_projection"]
    assert point["theta"] is None
    assert point["probabilities"] == np.eye(3)[corner].tolist()


def test_the_likeliest_member_may_be_a_limit() -> None:
    channel = RandomizedResponse("1/2", outputs=3)
    tally = Tally(channel, [90, 5, 5])
    best = simplex_picture(STEPS, channel, tally).data["points"]["maximum_likelihood"]
    assert (best["theta"], best["probabilities"]) == (None, [1, 0, 0])
    heights = log_likelihood(STEPS, tally, np.linspace(-20, 20, 2001)[:, None])
    assert heights.max() <= best["average_log_likelihood"] + 1e-15


def test_a_channel_that_cannot_see_the_statistic() -> None:
    """No β: no moment estimate, but r̂ and p̂ with the line of r̂."""
    channel = Coarsened([[0, 1], [2]])
    data = simplex_picture(CURVE, channel, Tally(channel, [60, 40])).data
    assert data["points"]["moment_estimate"] is None
    np.testing.assert_allclose(data["points"]["projection"]["probabilities"], [0.3, 0.3, 0.4], atol=1e-12)
    assert [line["of"] for line in data["moment_lines"]] == ["projection"]
    assert data["moment_lines"][0]["moment"] == pytest.approx(1.2)
    Picture(data).figure.canvas.draw()


def test_a_channel_that_says_nothing() -> None:
    channel = MatrixChannel([["1/2"] * 3, ["1/2"] * 3])
    tally = Tally(channel, [5, 6])
    assert simplex_picture(CURVE, channel, tally).data["points"]["maximum_likelihood"] is None
    data = likelihood_picture(CURVE, channel, tally).data
    assert (data["maxima"], data["moment_estimate"], data["higher_at_infinity"]) == ([], None, False)
    Picture(data).figure.canvas.draw()


def test_more_observations_than_outputs() -> None:
    """S†q̂ need not sum to 1; it is shown as it is."""
    channel = MatrixChannel([[0.5, 0.1, 0.2], [0.2, 0.5, 0.1], [0.2, 0.2, 0.4], [0.1, 0.2, 0.3]])
    picture = simplex_picture(CURVE, channel, Tally(channel, [30, 30, 10, 30]))
    free = picture.data["points"]["unconstrained"]
    wanted = np.linalg.lstsq(channel.matrix, [0.3, 0.3, 0.1, 0.3], rcond=None)[0]
    np.testing.assert_allclose(free["probabilities"], wanted, atol=1e-12)
    assert not free["inside"]
    picture.figure.canvas.draw()


# -- the likelihood ----------------------------------------------------------------------------------------------------


def test_the_figure_has_two_maxima() -> None:
    """Figure inv_LL at θ* = −1.1: maxima at −1.1 and 2.265, zero slope, downward curvature, and no other."""
    data = curve_example().data
    places = np.array([each["theta"][0] for each in data["maxima"]])
    assert places.round(3).tolist() == [-1.1, 2.265]
    assert np.abs(slope(STEPS, TWO_MAXIMA, places)).max() < 1e-13
    # With t = e^θ the slope is a polynomial over a positive one; its roots are the stationary points.
    Z, N = np.poly1d([1, 1, 1]), [np.poly1d(row) for row in FIGURE_S.matrix]
    total = -Z.deriv() * N[0] * N[1] * N[2]
    for q, a, b, c in zip(TWO_MAXIMA.frequencies.tolist(), N, N[1:] + N[:1], N[2:] + N[:2], strict=True):
        total = total + q * a.deriv() * b * c * Z
    roots = total.roots[(np.abs(total.roots.imag) < 1e-9) & (total.roots.real > 0)].real
    np.testing.assert_allclose(np.sort(places), np.log(np.sort(roots))[[0, 2]], atol=1e-8)
    around = slope(STEPS, TWO_MAXIMA, (places[:, None] + [-1e-3, 1e-3]).ravel())
    assert (around[::2] > 0).all()
    assert (around[1::2] < 0).all()
    assert len(down_crossings(STEPS, TWO_MAXIMA, np.linspace(-15, 15, 100_001))) == 2
    assert not data["higher_at_infinity"]


def test_the_curve_and_the_marks_have_their_heights() -> None:
    data = curve_example().data
    axis = np.array(data["axes"][0])
    np.testing.assert_allclose(
        data["average_log_likelihood"], log_likelihood(STEPS, TWO_MAXIMA, axis[:, None]), atol=1e-13
    )
    for mark in [*data["maxima"], data["moment_estimate"], data["one_step"], data["truth"]]:
        wanted = log_likelihood(STEPS, TWO_MAXIMA, np.array([mark["theta"]]))[0]
        assert mark["average_log_likelihood"] == pytest.approx(wanted, abs=1e-13)
        assert axis[0] < mark["theta"][0] < axis[-1]
    moment = STEPS.table[0] @ np.linalg.solve(FIGURE_S.matrix, TWO_MAXIMA.frequencies)
    assert data["moment_estimate"]["moment"][0] == pytest.approx(moment, abs=1e-9)
    limits = [float(TWO_MAXIMA.frequencies @ np.log(FIGURE_S.matrix[:, y])) for y in (2, 0)]
    assert [each["average_log_likelihood"] for each in data["limits"]] == pytest.approx(limits, abs=1e-13)


def test_a_likelihood_that_rises_to_infinity() -> None:
    """θ* = −1.5, below −ln 4: one maximum, and a slope up for ever on the right."""
    q = FIGURE_S.apply(STEPS.probabilities([-1.5]))
    data = likelihood_picture(STEPS, FIGURE_S, Tally(FIGURE_S, (q * 1e6).round().astype(int)), em_starts=[6]).data
    assert [round(each["theta"][0], 3) for each in data["maxima"]] == [-1.5]
    assert [each["rises"] for each in data["limits"]] == [False, True]
    assert not data["higher_at_infinity"]
    assert data["em"][0]["maximum"] is None
    certain = likelihood_picture(STEPS, FIGURE_S, Tally(FIGURE_S, [1, 0, 0])).data
    assert certain["higher_at_infinity"]
    Picture(certain).figure.canvas.draw()


weights = st.lists(st.integers(1, 20), min_size=3, max_size=3)


@settings(max_examples=12, deadline=None)
@given(st.lists(weights, min_size=3, max_size=3), st.lists(st.integers(0, 200), min_size=3, max_size=3))
def test_a_finer_grid_finds_no_other_maximum(columns: list[list[int]], counts: list[int]) -> None:
    assume(sum(counts) > 0 and np.linalg.matrix_rank(np.array(columns)) == 3)
    channel = MatrixChannel([[f"{column[o]}/{sum(column)}" for column in columns] for o in range(3)])
    tally = Tally(channel, counts)
    found = likelihood_picture(STEPS, channel, tally, points=11).data["maxima"]
    places = np.sort([each["theta"][0] for each in found])
    inner = places[np.abs(places) < 12]
    finer = down_crossings(STEPS, tally, np.linspace(-12, 12, 30_001))
    np.testing.assert_allclose(inner, finer, atol=1e-3)
    assert (np.abs(slope(STEPS, tally, places)) < 1e-12).all()


@cache
def nine_outputs() -> tuple[Enumerated, Tally, FloatArray]:
    """Two independent copies of the figure: the likelihood is a sum, and its maxima are all pairs of maxima."""
    phi = STEPS.table[0]
    model = Enumerated([np.repeat(phi, 3), np.tile(phi, 3)])
    channel = MatrixChannel(np.kron(FIGURE_S.matrix, FIGURE_S.matrix).astype(np.float64))
    one = Tally(FIGURE_S, [237, 410, 352])
    tally = Tally(channel, np.outer(one.counts, one.counts).ravel())
    places = down_crossings(STEPS, one, np.linspace(-6, 6, 200_001))
    return model, tally, places


def test_all_maxima_of_a_surface_are_found() -> None:
    model, tally, places = nine_outputs()
    assert len(places) == 2
    data = likelihood_picture(model, tally.channel, tally, points=11).data
    found = np.array(sorted(np.round(each["theta"], 6).tolist() for each in data["maxima"]))
    np.testing.assert_allclose(found, [(a, b) for a in places for b in places], atol=1e-4)
    step = 1e-4
    for each in data["maxima"]:
        theta = np.array(each["theta"])
        shifts = theta + step * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]])
        centre, *ring = log_likelihood(model, tally, shifts)
        assert max(ring) < centre
    one = Tally(FIGURE_S, [237, 410, 352])
    assert np.abs([slope(STEPS, one, np.array(each["theta"])) for each in data["maxima"]]).max() < 1e-12
    heights = [each["average_log_likelihood"] for each in data["maxima"]]
    assert heights == sorted(heights, reverse=True)


def test_the_surface_has_its_heights() -> None:
    data = surface_example().data
    a, b = data["axes"]
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1]])
    tally = Tally(RandomizedResponse("1/2", outputs=4), [160, 110, 230, 100])
    wanted = log_likelihood(model, tally, np.array([(x, y) for y in b for x in a])).reshape(len(b), len(a))
    np.testing.assert_allclose(data["average_log_likelihood"], wanted, atol=1e-13)
    assert len(data["maxima"]) == 1


def test_the_window() -> None:
    axes = likelihood_picture(STEPS, FIGURE_S, TWO_MAXIMA, window=(-2, 1), points=11).data["axes"]
    assert (axes[0][0], axes[0][-1], len(axes[0])) == (-2, 1, 11)
    for wrong in [(1, -2), (0, 0), (0, np.inf), (1, 2, 3), [(-1, 1), (-1, 1)]]:
        with pytest.raises(InputError, match="window is"):
            likelihood_picture(STEPS, FIGURE_S, TWO_MAXIMA, window=wrong)


# -- EM ----------------------------------------------------------------------------------------------------------------


def one_em_step(model: Enumerated, tally: Tally, theta: FloatArray) -> FloatArray:
    """Σ_o q̂(o) E_θ[φ | o], from Bayes' rule."""
    p = np.exp(theta @ model.table)
    joint = tally.channel.matrix * (p / p.sum())
    posterior = joint / joint.sum(axis=1, keepdims=True)
    return np.asarray(model.table @ (tally.frequencies @ posterior))


def test_em_iterates_match_expected_statistics_and_never_fall() -> None:
    for path in em_paths(STEPS, FIGURE_S, TWO_MAXIMA, [-3, 0, 1, 3.0], 40):
        heights = log_likelihood(STEPS, TWO_MAXIMA, path.iterates)
        np.testing.assert_allclose(path.average_log_likelihood, heights, atol=1e-13)
        assert (np.diff(heights) >= -1e-15).all()
        assert len(path.iterates) == 41
        for before, after in zip(path.iterates, path.iterates[1:], strict=False):
            wanted = one_em_step(STEPS, TWO_MAXIMA, before)
            np.testing.assert_allclose(STEPS.mean_statistics(after), wanted, atol=1e-9)


@pytest.mark.parametrize("start", [-4.0, 0.5, 1.0, 1.3, 5.0])
def test_em_ends_at_the_maximum_up_the_slope(start: float) -> None:
    """With one statistic the EM map is increasing, so that it passes no stationary point."""
    (path,) = em_paths(STEPS, FIGURE_S, TWO_MAXIMA, [start], 5)
    minimum = 1.13  # of the likelihood, between the maxima
    below, above = slope(STEPS, TWO_MAXIMA, np.array([1.1, 1.16]))
    assert below < 0 < above
    assert path.maximum == (0 if start < minimum else 1)


def test_em_of_two_parameters() -> None:
    model, tally, _ = nine_outputs()
    data = likelihood_picture(model, tally.channel, tally, points=11).data
    paths = em_paths(model, tally.channel, tally, [[-1, 3], [3, -1], [3, 3], [-1, -1]], 3)
    for path, signs in zip(paths, [(-1, 1), (1, -1), (1, 1), (-1, -1)], strict=True):
        assert path.maximum is not None
        assert tuple(np.sign(data["maxima"][path.maximum]["theta"])) == signs
        assert (np.diff(log_likelihood(model, tally, path.iterates)) >= -1e-15).all()


def test_em_in_the_picture_is_em() -> None:
    paths = em_paths(STEPS, FIGURE_S, TWO_MAXIMA, [-3, 0, 3], 20)
    data = curve_example().data["em"]
    assert [each["iterates"] for each in data] == [path.iterates.tolist() for path in paths]
    assert [each["maximum"] for each in data] == [path.maximum for path in paths] == [0, 0, 1]


def test_em_stops_where_it_rests() -> None:
    (path,) = em_paths(Enumerated([[0, 1]]), RandomizedResponse("9/10", outputs=2), _even_tally(), [0.3], 500)
    assert len(path.iterates) < 100
    assert path.iterates[-1] == pytest.approx(0, abs=1e-8)


def _even_tally() -> Tally:
    return Tally(RandomizedResponse("9/10", outputs=2), [50, 50])


# -- pictures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_picture_is_redrawn_from_its_json(name: str) -> None:
    picture = EXAMPLES[name]()
    text = picture.to_json()
    again = Picture.from_json(text)
    assert again.data == picture.data == json.loads(text)
    assert drawn(again) == drawn(picture)
    draw = draw_simplex if picture.data["kind"] == "simplex" else draw_likelihood
    assert [line.get_label() for axis in draw(json.loads(text)).axes for line in axis.lines] == [
        line.get_label() for axis in picture.figure.axes for line in axis.lines
    ]
    assert picture.figure is picture.figure


@pytest.mark.parametrize("name", EXAMPLES)
def test_all_words_are_on_the_sheet(name: str) -> None:
    figure = EXAMPLES[name]().figure
    figure.canvas.draw()
    sheet = figure.bbox.padded(1)
    texts = [text for axis in figure.axes for text in axis.texts] + list(figure.texts)
    legends = [axis.get_legend() for axis in figure.axes] + list(figure.legends)
    for thing in [*texts, *(legend for legend in legends if legend is not None)]:
        box = thing.get_window_extent()
        assert sheet.x0 <= box.x0 <= box.x1 <= sheet.x1, thing
        assert sheet.y0 <= box.y0 <= box.y1 <= sheet.y1, thing


def test_corner_words_do_not_overlap_even_when_long() -> None:
    outputs = ["a very long answer number one", "price in $ and more $ of it", "a very long answer number three"]
    model = Enumerated([[5, -1, 0]], outputs=outputs)
    figure = simplex_picture(model, MatrixChannel(np.eye(3), outputs=outputs)).figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts if "varphi" in text.get_text()]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_saved_files_repeat_to_the_byte(tmp_path: Path, ending: str, begins: bytes) -> None:
    paths = tmp_path / f"first.{ending}", tmp_path / f"second.{ending.upper()}"
    simplex_example().save(paths[0])
    Picture.from_json(simplex_example().to_json()).save(str(paths[1]))
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(begins)
    assert first == second


def test_saving_is_whole_or_nothing(tmp_path: Path) -> None:
    picture = simplex_example()
    for name in ("picture", "picture.jpg", "picture.json"):
        with pytest.raises(InputError, match=r"allowed: \.png, \.svg, \.pdf"):
            picture.save(tmp_path / name)
    with pytest.raises(FormatError, match="cannot write"):
        picture.save(tmp_path / "nowhere" / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_no_picture() -> None:
    for text in ("{", "[1]", "3"):
        with pytest.raises(FormatError, match=r"to_json"):
            Picture.from_json(text)
    for data in ({}, {"kind": "map"}, {"kind": ["simplex"]}):
        with pytest.raises(FormatError, match="allowed: simplex, likelihood"):
            _ = Picture(data).figure
    with pytest.raises(FormatError, match="lack outputs"):
        draw_simplex({"kind": "simplex", "version": 1})
    with pytest.raises(FormatError, match="kind and version"):
        draw_likelihood(simplex_example().data)
    with pytest.raises(FormatError, match="kind and version"):
        draw_simplex({**simplex_example().data, "version": 2})


def test_matplotlib_is_loaded_for_drawing_only() -> None:
    code = "import askance.geometry, sys; print('matplotlib' in sys.modules, 'scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == (
        "False False\n"
    )


# -- what is refused ---------------------------------------------------------------------------------------------------

TWO = RandomizedResponse("1/2", outputs=2)
THREE = Enumerated([[5, -1, 0], [0, 1, 0], [1, 1, 3]])
NAMED = MatrixChannel(np.eye(3), outputs=["a", "b", "c"])
REPORTS = Tally(FIGURE_S, [1, 2, 3])
REFUSED: dict[str, tuple[Callable[[], object], type[AskanceError], str]] = {
    "outputs": (lambda: simplex_picture(Enumerated([[0, 1]]), TWO), ShapeError, "2 outputs; allowed: 3"),
    "statistics": (
        lambda: simplex_picture(Enumerated(np.eye(3)[1:]), FIGURE_S),
        ShapeError,
        "model has 2 statistics; allowed: 1",
    ),
    "many statistics": (
        lambda: likelihood_picture(THREE, FIGURE_S, REPORTS),
        ShapeError,
        "model has 3 statistics; allowed: 1 or 2",
    ),
    "EM statistics": (lambda: em_paths(THREE, FIGURE_S, REPORTS, [[0, 0, 0]]), ShapeError, "3 statistics"),
    "constant": (lambda: simplex_picture(Enumerated([[1, 1, 1]]), FIGURE_S), NotIdentifiedError, "statistic 0"),
    "model": (lambda: simplex_picture(FIGURE_S, CURVE), InputError, "model is .*MatrixChannel"),  # type: ignore[arg-type]
    "softmax": (
        lambda: likelihood_picture(Softmax(["a", "b"], ["x"]), TWO, REPORTS),  # type: ignore[arg-type]
        InputError,
        "model is Softmax",
    ),
    "channel": (lambda: simplex_picture(CURVE, [[1]]), InputError, "channel is"),  # type: ignore[arg-type]
    "other outputs": (lambda: simplex_picture(CURVE, NAMED), IncompatibleEvidenceError, "the model is about"),
    "no tally": (
        lambda: likelihood_picture(CURVE, FIGURE_S, [1, 2, 3]),  # type: ignore[arg-type]
        InputError,
        r"observed is \[1, 2, 3\]; allowed: a Tally",
    ),
    "other channel": (
        lambda: simplex_picture(CURVE, RandomizedResponse("1/2", outputs=3), REPORTS),
        IncompatibleEvidenceError,
        "allowed: through the channel given",
    ),
    "empty": (
        lambda: simplex_picture(CURVE, FIGURE_S, Tally(FIGURE_S)),
        EmptyDataError,
        "0 reports; allowed: at least 1",
    ),
    "empty likelihood": (lambda: likelihood_picture(CURVE, FIGURE_S, Tally(FIGURE_S)), EmptyDataError, "0 reports"),
    "theta": (lambda: simplex_picture(CURVE, FIGURE_S, theta=[1, 2]), ShapeError, "theta has shape"),
    "no starts": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, []), EmptyDataError, "starts is empty; allowed"),
    "starts": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, [[1, 2]]), ShapeError, r"starts\[0\] has shape"),
    "text": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, ["x"]), AskanceError, r"starts\[0\]"),
    "steps": (lambda: em_paths(CURVE, FIGURE_S, REPORTS, [0], 0), InputError, "steps is 0; allowed"),
    "points": (lambda: likelihood_picture(CURVE, FIGURE_S, REPORTS, points=3), InputError, "points is 3; allowed"),
    "em_starts": (
        lambda: likelihood_picture(CURVE, FIGURE_S, REPORTS, em_starts=[]),
        EmptyDataError,
        "em_starts is empty",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, error, match = REFUSED[name]
    with pytest.raises(error, match=match) as caught:
        call()
    assert isinstance(caught.value, AskanceError)
    assert caught.value.remedy
