"""The paper's geometry in the simplex of three outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter
from askance.channels.finite import FiniteChannel
from askance.design.covariances import invert_information
from askance.estimation.entry import project
from askance.estimation.outcome import Outcome
from askance.estimation.problems.matching import match_moments
from askance.estimation.problems.tally_problem import TallyProblem
from askance.evidence.tally import Tally
from askance.geometry.estimates import fitted, member, moments_and_one_step, plain
from askance.geometry.family import family_curve, family_limit
from askance.geometry.inputs import as_problem, require_model, require_pair
from askance.geometry.maxima import find_peaks, limits
from askance.geometry.picture import Picture
from askance.geometry.style import VERSION
from askance.models.enumerated import Enumerated

# Neighbouring points of the curve, in probability: below what a picture of 1,000 pixels can show.
_SPACING = 0.01
# Moments closer than this share of the statistic's range have one line.
_SAME_LINE = 1e-9
# As in `closest_distribution`: where S†q̂ counts as a distribution.
_ON_PLANE = 1e-12


def simplex_picture(
    model: Enumerated, channel: FiniteChannel, observed: Tally | None = None, theta: ArrayLike | None = None
) -> Picture:
    """The family {p_θ} in the simplex of three outputs, and the two steps of estimation from what was observed.

    With reports: the line {p : E_p φ = μ̂} and the moment estimate on it, r̂ = argmin ‖q̂ − S p‖² over the simplex, the
    unconstrained S†q̂, p̂ = argmin KL(r̂ ‖ p) in the closed family (it has the moment of r̂), and the likeliest member.
    With θ: the truth and its line {p : E_p φ = μ(θ)}.

    Args:
        model: three outputs, one statistic.
        channel: S, about these outputs.
        observed: what was reported through the channel; None: only the family (and the truth) is drawn.
        theta: the true θ, shape (1,), where it is known.

    Returns:
        A picture. `data["points"]` has `truth`, `moment_estimate`, `projection` (r̂), `unconstrained` (S†q̂),
        `family_projection` (p̂) and `maximum_likelihood`, each None where there is none; `theta` is None at a limit
        of the family. `data["moment_lines"]` has the ends of each line in the simplex, none where it passes by.

    >>> from askance import MatrixChannel
    >>> channel = MatrixChannel([["1/3", "1/6", "1/4"], ["1/3", "1/6", "1/2"], ["1/3", "2/3", "1/4"]])
    >>> picture = simplex_picture(Enumerated([[5, -1, 0]]), channel, Tally(channel, [441, 502, 57]))
    >>> [round(x, 6) for x in picture.data["points"]["projection"]["probabilities"]]
    [0.0, 0.0, 1.0]
    >>> picture.data["points"]["unconstrained"]["inside"]
    False
    """
    require_model(model, (1,), outputs=3)
    require_pair(model, channel)
    invert_information(model.fisher_information(np.zeros(1)), model.parameter_names, "the model")
    points: dict[str, Any] = dict.fromkeys(
        ("truth", "unconstrained", "projection", "family_projection", "moment_estimate", "maximum_likelihood")
    )
    lines: list[dict[str, Any]] = []
    if observed is not None:
        problem = as_problem(model, channel, observed)
        fits = moments_and_one_step(problem)
        moments = None if fits is None else fits[0]
        points |= _steps(problem, moments)
        lines += _lines_of_reports(model, moments, points["projection"]["moment"][0])
    if theta is not None:
        points["truth"] = member(model, as_parameter(theta, 1))
        lines.append(_line(model, "truth", points["truth"]["moment"][0]))
    data = {
        "kind": "simplex",
        "version": VERSION,
        "outputs": [str(label) for label in model.outputs.labels],
        "statistic": model.parameter_names[0],
        "statistics": model.table[0].tolist(),
        "n_observations": None if observed is None else observed.n_observations,
        "frequencies": None if observed is None else observed.frequencies.tolist(),
        "family": _family(model),
        "moment_lines": lines,
        "points": points,
    }
    return Picture(data)


def _family(model: Enumerated) -> dict[str, Any]:
    curve = family_curve(model, _SPACING)
    return {
        "theta": curve.theta.tolist(),
        "probabilities": curve.probabilities.tolist(),
        "limits": curve.limits.tolist(),
    }


def _steps(problem: TallyProblem, moments: Outcome | None) -> dict[str, Any]:
    """What the reports lead to, point by point."""
    model, evidence = problem.model, problem.evidence
    r = project(evidence)
    free = np.linalg.pinv(problem.channel.matrix) @ evidence.frequencies
    inside = bool(free.min() >= 0 and abs(free.sum() - 1) < _ON_PLANE)
    return {
        "unconstrained": {"probabilities": free.tolist(), "moment": (model.table @ free).tolist(), "inside": inside},
        "projection": {"probabilities": r.tolist(), "moment": (model.table @ r).tolist()},
        "family_projection": _member_with(model, model.table @ r),
        "moment_estimate": None if moments is None else fitted(problem, moments),
        "maximum_likelihood": _likeliest(problem),
    }


def _member_with(model: Enumerated, moment: FloatArray) -> dict[str, Any]:
    """The member of the closed family with a moment (1,) that some distribution has."""
    solution = match_moments(model, moment)
    if solution.converged:
        return member(model, solution.theta)
    middle = (model.table.max() + model.table.min()) / 2
    return _limit_point(model, 1 if moment[0] > middle else -1)


def _limit_point(model: Enumerated, sign: int) -> dict[str, Any]:
    """A limit of the family: no θ has it."""
    p = family_limit(model, sign)
    return {"theta": None, "probabilities": p.tolist(), "moment": (model.table @ p).tolist()}


def _likeliest(problem: TallyProblem) -> dict[str, Any] | None:
    """The likeliest member of the closed family; None where the likelihood is flat."""
    members = [(peak.average_log_likelihood, member(problem.model, peak.theta)) for peak in find_peaks(problem).maxima]
    members += [
        (peak.average_log_likelihood, _limit_point(problem.model, peak.sign)) for peak in limits(problem) if peak.rises
    ]
    if not members:
        return None
    height, point = max(members, key=lambda pair: pair[0])
    return {**point, "average_log_likelihood": plain(height)}


def _lines_of_reports(model: Enumerated, moments: Outcome | None, projected: float) -> list[dict[str, Any]]:
    """The line of μ̂ where β exists, and that of r̂ where it is another."""
    lines = []
    if moments is not None and moments.raw_statistics is not None:
        lines.append(_line(model, "observed", float(moments.raw_statistics[0])))
    span = float(model.statistic_ranges[0])
    if all(abs(line["moment"] - projected) > _SAME_LINE * span for line in lines):
        lines.append(_line(model, "projection", projected))
    return lines


def _line(model: Enumerated, of: str, moment: float) -> dict[str, Any]:
    """{p : E_p φ = μ}: where it enters and leaves the simplex, and two points of it wherever it runs."""
    phi = model.table[0]
    # The line lies in the plane Σp = 1 and across φ: its direction is φ × 1, and it passes the centre at the point
    # that differs from it by a multiple of φ − mean φ.
    centred = phi - phi.mean()
    nearest = 1 / 3 + centred * (moment - phi.mean()) / (centred @ centred)
    direction = np.cross(phi, np.ones(3))
    direction = direction / np.linalg.norm(direction)
    return {
        "of": of,
        "moment": moment,
        "segment": line_segment(phi, moment),
        "through": [nearest.tolist(), (nearest + direction).tolist()],
    }


def line_segment(row: FloatArray, value: float) -> list[list[float]]:
    """Where {p : row·p = value} enters and leaves the simplex: the points of its edges that fulfil it, at most two.

    >>> line_segment(np.array([1.0, 0.0, 0.0]), 0.5)
    [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    """
    ends: list[list[float]] = []
    for a, b in ((0, 1), (1, 2), (2, 0)):
        if row[a] == row[b]:
            continue
        share = (value - row[a]) / (row[b] - row[a])
        point = np.zeros(3)
        point[a], point[b] = 1 - share, share
        if 0 <= share <= 1 and all(np.abs(point - other).max() > _SAME_LINE for other in ends):
            ends.append(point.tolist())
    return ends
