"""The marginal likelihood over θ, with its maxima and the estimates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_count, as_floats, as_parameter, shown
from askance.channels.finite import FiniteChannel
from askance.errors import InputError
from askance.estimation.problems.tally_problem import TallyProblem
from askance.evidence.tally import Tally
from askance.geometry.em import EmPath, as_starts, as_steps, follow_em
from askance.geometry.estimates import fitted, member, moments_and_one_step, plain
from askance.geometry.inputs import as_problem, require_model, require_pair
from askance.geometry.maxima import Peaks, find_peaks, limits
from askance.geometry.picture import Picture
from askance.geometry.style import VERSION
from askance.models.enumerated import Enumerated

# Around what is to be seen the window has this share of its extent, and at least so many log-odds, on each side.
_MARGIN_SHARE, _LEAST_MARGIN = 0.3, 1.5

# Points of a curve, and along each side of contours: as many as usual, and at most.
_SIZES = {1: (401, 10_001), 2: (81, 401)}


def likelihood_picture(
    model: Enumerated,
    channel: FiniteChannel,
    observed: Tally,
    *,
    theta: ArrayLike | None = None,
    em_starts: Sequence[ArrayLike] | None = None,
    em_steps: int = 100,
    window: ArrayLike | None = None,
    points: int | None = None,
) -> Picture:
    """θ ↦ Ê log Σ_y S(o|y) p_θ(y), a curve for one statistic and contours for two, with all its local maxima.

    Args:
        model: one or two statistics.
        channel: S, about the outputs of the model.
        observed: what was reported through the channel.
        theta: the true θ, shape (d,), where it is known.
        em_starts: where EM begins, as in `em_paths`; None: EM is not drawn.
        em_steps: how many iterations of EM are kept.
        window: lowest and highest θ, shape (d, 2); for one statistic two numbers do. Default: all that is marked.
        points: of the curve (default 401), or along each side of the contours (default 81).

    Returns:
        A picture. `data["maxima"]` are best first; `data["limits"]` (one statistic) say what becomes of the likelihood
        as θ → ±∞, `rises` where it grows on the way; `data["higher_at_infinity"]` says that no maximum is the highest;
        `data["em"]` has `maximum`, the index of where each path ends (None: at none).

    >>> from askance import MatrixChannel
    >>> channel = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
    >>> observed = Tally(channel, [237_182, 410_351, 352_468])
    >>> picture = likelihood_picture(Enumerated([[2, 1, 0]]), channel, observed, em_starts=[-3, 3])
    >>> [round(each["theta"][0], 2) for each in picture.data["maxima"]]
    [-1.1, 2.26]
    >>> [path["maximum"] for path in picture.data["em"]]
    [0, 1]
    """
    dimension = require_model(model, (1, 2)).dimension
    problem = as_problem(model, require_pair(model, channel), observed)
    usual, most = _SIZES[dimension]
    size = as_count(usual if points is None else points, "points", minimum=11, maximum=most)
    starts = [] if em_starts is None else as_starts(em_starts, dimension, "em_starts")
    steps = as_steps(em_steps, "em_steps")
    truth = None if theta is None else as_parameter(theta, dimension)
    asked = None if window is None else _as_window(window, dimension)
    peaks, fits = find_peaks(problem), moments_and_one_step(problem)
    paths = follow_em(problem, starts, steps, peaks.maxima)
    marked = [maximum.theta for maximum in peaks.maxima] + [iterate for path in paths for iterate in path.iterates]
    marked += ([] if fits is None else [fit.theta for fit in fits]) + ([] if truth is None else [truth])
    data = {
        "kind": "likelihood",
        "version": VERSION,
        "parameters": list(model.parameter_names),
        "n_observations": observed.n_observations,
        "frequencies": observed.frequencies.tolist(),
        **_heights(problem, _window(problem, marked) if asked is None else asked, size),
        **_peaks(problem, peaks),
        "moment_estimate": None if fits is None else fitted(problem, fits[0]),
        "one_step": None if fits is None else fitted(problem, fits[1]),
        "truth": None if truth is None else _true_member(problem, truth),
        "em": [_path(path) for path in paths],
    }
    return Picture(data)


def _peaks(problem: TallyProblem, peaks: Peaks) -> dict[str, Any]:
    """The maxima, and what there is at infinity."""
    members = [(peak, member(problem.model, peak.theta)) for peak in peaks.maxima]
    best = max((peak.average_log_likelihood for peak in peaks.maxima), default=-np.inf)
    ends = limits(problem) if problem.model.dimension == 1 else []
    return {
        "maxima": [{**point, "average_log_likelihood": peak.average_log_likelihood} for peak, point in members],
        "higher_at_infinity": bool(peaks.highest_at_infinity > best),
        "limits": [
            {"sign": peak.sign, "average_log_likelihood": plain(peak.average_log_likelihood), "rises": peak.rises}
            for peak in ends
        ],
    }


def _path(path: EmPath) -> dict[str, Any]:
    return {
        "iterates": path.iterates.tolist(),
        "average_log_likelihood": [plain(height) for height in path.average_log_likelihood],
        "maximum": path.maximum,
    }


def _true_member(problem: TallyProblem, theta: FloatArray) -> dict[str, Any]:
    """The truth, with its average log-likelihood."""
    height = plain(-problem.likelihood().value(theta))
    return {**member(problem.model, theta), "average_log_likelihood": height}


def _heights(problem: TallyProblem, window: FloatArray, size: int) -> dict[str, Any]:
    """The axes of the grid, and the average log-likelihood on it: (t,), or (t, t) with one row per second parameter."""
    likelihood = problem.likelihood()
    axes = [np.linspace(low, high, size) for low, high in window]
    if len(axes) == 1:
        heights: list[Any] = [plain(-likelihood.value(np.array([theta]))) for theta in axes[0]]
    else:
        heights = [[plain(-likelihood.value(np.array([a, b]))) for a in axes[0]] for b in axes[1]]
    return {"axes": [axis.tolist() for axis in axes], "average_log_likelihood": heights}


def _window(problem: TallyProblem, marked: list[FloatArray]) -> FloatArray:
    """The range of what is marked and a margin around it, shape (d, 2); θ = 0 where nothing is."""
    dimension = problem.model.dimension
    points = np.array(marked) if marked else np.zeros((1, dimension))
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.maximum(_MARGIN_SHARE * (high - low), _LEAST_MARGIN / problem.model.statistic_ranges)
    return np.stack([low - margin, high + margin], axis=1)


def _as_window(window: ArrayLike, dimension: int) -> FloatArray:
    """Lowest and highest θ, shape (d, 2)."""
    ends = as_floats(window, "window")
    if dimension == 1 and ends.shape == (2,):
        ends = ends[None]
    if ends.shape != (dimension, 2) or not np.isfinite(ends).all() or (ends[:, 0] >= ends[:, 1]).any():
        example = "(-3, 4)" if dimension == 1 else "[(-3, 4), (-2, 2)]"
        raise InputError(
            argument="window",
            got=shown(window),
            allowed=f"for each of the {dimension} parameters a lowest and a higher number",
            remedy=f"Give one such as {example}, or leave it out.",
        )
    return ends
