"""Figure surface_F: the exponential family and the equations of a sample in the simplex of three outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from askance._arrays import FloatArray
from askance.estimation.entry import project
from askance.evidence.tally import Tally
from askance.experiments.experiment import Experiment, Finding, Plain, Trial
from askance.experiments.narrow import key_below
from askance.experiments.printed import PRINTED_CHANNEL, Rows, Texts, printed_pair, report_frequencies
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import text_table
from askance.geometry import Picture, simplex_picture
from askance.geometry.simplex import line_segment
from askance.geometry.style import GREEN, VERMILION, number_text, reports_text, vector_text
from askance.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What the figure with the two equations shows; the other figure has all points and the moment lines.
_POINTS_OF_EQUATIONS = ("truth", "projection", "family_projection")
_POINTS = {
    "truth": "truth",
    "unconstrained": "S†q̂",
    "projection": "r̂, closest distribution",
    "family_projection": "p̂, member with the moment of r̂",
    "moment_estimate": "moment estimate",
    "maximum_likelihood": "maximum likelihood",
}


class SimplexExperiment(Experiment):
    """The family of φ = (5, −1, 0), two lines of equations, r̂ and p̂ of a sample."""

    name = "simplex"
    title = "The geometry of two-step estimation"
    description = (
        "Every distribution over three outputs is a point of a triangle, and the model is a curve in it. What was "
        "observed gives two equations, two straight lines; where they meet is r̂, the distribution that explains the "
        "observations. The second step of the estimator moves from r̂ to the member p̂ of the model with the same "
        "moment, along the moment line. The second figure shows this line beside that of the truth."
    )

    captions: ClassVar = {
        "two_equations": "The two equations of a sample, the point r̂ where they meet, and p̂, the member of the "
        "model with the same moment.",
        "moment_lines": "The moment line of the sample, and that of the truth: all distributions on a line have "
        "the same moment. Where a line crosses the model is the estimate.",
    }

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        """One sample to draw, and many to count how often S†q̂ leaves the triangle."""
        return {
            "seed": seed,
            "statistics": [[5, -1, 0]],
            "channel": PRINTED_CHANNEL,
            "theta": [0.1],
            "reports": 1_000,
            "counted": {"reports": [100, 1_000, 10_000], "samples": 2_000 if quick else 20_000},
            # Frequencies for which the nearest point of the triangle is another corner than the right one.
            "misleading": [441, 502, 57],
        }

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        """The picture, the count, and the misleading frequencies."""
        model = {"statistics": config["statistics"], "channel": config["channel"]}
        sampled = {**model, "theta": config["theta"]}
        seeds = {key: trial_seed(config["seed"], key) for key in ("sample", "outside")}
        return [
            Trial("sample", draw_sample, {**sampled, "reports": config["reports"], "seed": seeds["sample"]}),
            Trial("outside", count_outside, {**sampled, **config["counted"], "seed": seeds["outside"]}),
            Trial("misleading", project_both_ways, {**model, "counts": config["misleading"]}),
        ]

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        """The data of the picture with the equations, and the checks."""
        return {**outcomes["sample"], "outside": outcomes["outside"], "misleading": outcomes["misleading"]}

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        """The paper's figure with the two equations; the same with the moment lines and all estimates."""
        picture = result["picture"]
        few = {key: picture["points"][key] if key in _POINTS_OF_EQUATIONS else None for key in picture["points"]}
        equations, lines = (
            Picture({**picture, "moment_lines": [], "points": few}).figure,
            Picture(dict(picture)).figure,
        )
        _add_equations(equations, result["equations"])
        for figure in (equations, lines):
            key_below(figure, figure.axes[:1], 7.4)
            title = f"The family of $\\varphi$ = {vector_text(picture['statistics'])}"
            figure.suptitle(f"{title}, {reports_text(picture['n_observations'])}", fontsize=11)
        return {"two_equations": equations, "moment_lines": lines}

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        """The points of the picture, and how often S†q̂ is no distribution."""
        points = {name: result["picture"]["points"][name] for name in _POINTS}
        rows = [
            [_POINTS[name], *(f"{p:.4f}" for p in point["probabilities"]), f"{point['moment'][0]:.4f}"]
            for name, point in points.items()
            if point is not None
        ]
        outside = [[f"{row['reports']:,}", _share(row["outside"])] for row in result["outside"]]
        return [
            text_table("Points of the figure", ["point", "p(1)", "p(2)", "p(3)", "moment"], rows),
            text_table("Samples whose S†q̂ lies outside the triangle", ["reports", "share"], outside),
        ]

    def main_number(self, result: Mapping[str, Plain]) -> str:
        """r̂ and p̂."""
        points = result["picture"]["points"]
        r, p = (_vector(points[name]["probabilities"]) for name in ("projection", "family_projection"))
        return f"r̂ = {r}, p̂ = {p}"

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        """Where the lines meet, the dimension of the family, S†q̂, and the metric of the first step."""
        points, rows = result["picture"]["points"], [equation["row"] for equation in result["equations"]]
        values = [equation["value"] for equation in result["equations"]]
        meet = np.linalg.solve([*rows, [1, 1, 1]], [*values, 1])
        r = points["projection"]["probabilities"]
        inside = bool(points["unconstrained"]["inside"])
        apart = float(np.abs(meet - r).max())
        few, many = result["outside"][0], result["outside"][-1]
        misled = result["misleading"]
        return [
            Finding(
                "Two moment equations pin down the data distribution.",
                f"The two lines meet at {_vector(meet.tolist())}, "
                + ("which is r̂." if inside else f"outside the triangle; r̂ is {_vector(r)}."),
                "agrees" if inside and apart < 1e-9 else "differs",
                "" if inside else "Noise carries S†q̂ out of the triangle.",
            ),
            Finding(
                "The example has d = 2.",
                "The features 5, −1, 0 are one statistic, and the family is a curve: d = 1.",
                "differs",
                "A misprint: two features would fill the whole triangle.",
            ),
            Finding(
                "r̂ is computed directly as S†q̂.",
                f"With {few['reports']:,} reports S†q̂ lies outside the triangle in {_share(few['outside'])} of "
                f"{few['samples']:,} samples, with {many['reports']:,} in {_share(many['outside'])}.",
                "differs",
                "S†q̂ is the minimum over the triangle only when it lies in it.",
            ),
            Finding(
                "Outside, r̂ is not the nearest point of the triangle either.",
                f"For q̂ = (.441, .502, .057), S†q̂ is {_vector(misled['unconstrained'])}; the nearest point is "
                f"{_vector(misled['nearest'])}, and the distribution that explains q̂ best is "
                f"{_vector(misled['argmin'])}.",
                "beyond",
            ),
        ]


def draw_sample(statistics: Rows, channel: Texts, theta: Sequence[float], reports: int, seed: int) -> Plain:
    """The picture's data for a sample, and its first two equations Σ_y S(o|y) p(y) = q̂(o) as lines."""
    model, seen = printed_pair(statistics, channel)
    tally = Tally(seen, np.random.default_rng(seed).multinomial(reports, report_frequencies(model, seen, theta)))
    picture = simplex_picture(model, seen, tally, theta)
    equations = [
        {"observation": o + 1, "row": row.tolist(), "value": float(q), "segment": line_segment(row, float(q))}
        for o, (row, q) in enumerate(zip(seen.matrix[:2], tally.frequencies, strict=False))
    ]
    return {"picture": picture.data, "equations": equations}


def count_outside(
    statistics: Rows, channel: Texts, theta: Sequence[float], reports: Sequence[int], samples: int, seed: int
) -> Plain:
    """The share of samples whose S†q̂ has a negative entry, by the number of reports."""
    (model, seen), rng = printed_pair(statistics, channel), np.random.default_rng(seed)
    inverse, frequencies = np.linalg.pinv(seen.matrix), report_frequencies(model, seen, theta)
    rows = []
    for n in reports:
        free = rng.multinomial(n, frequencies, size=samples) / n @ inverse.T
        rows.append({"reports": n, "samples": samples, "outside": float((free < -1e-12).any(axis=1).mean())})
    return rows


def project_both_ways(statistics: Rows, channel: Texts, counts: Sequence[int]) -> Plain:
    """S†q̂, the point of the triangle nearest to it, and r̂ = argmin ‖q̂ − S p‖²."""
    _, seen = printed_pair(statistics, channel)
    tally = Tally(seen, counts)
    free = np.linalg.pinv(seen.matrix) @ tally.frequencies
    return {
        "unconstrained": _rounded(free),
        "nearest": _rounded(_nearest(free)),
        "argmin": _rounded(project(tally)),
    }


def _nearest(point: FloatArray) -> FloatArray:
    """The distribution nearest to a point of Σp = 1, Euclidean: subtract a constant, cut at 0."""
    ordered = np.sort(point)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(point) + 1)
    shift = excess[np.nonzero(ordered > excess)[0][-1]]
    return np.asarray(np.maximum(point - shift, 0))


def _add_equations(figure: Figure, equations: Sequence[Mapping[str, Plain]]) -> None:
    """The two lines on the triangle."""
    axis = figure.axes[0]
    corners = _corners(axis)
    for equation, style, colour in zip(equations, (":", "--"), (GREEN, VERMILION), strict=True):
        o = equation["observation"]
        words = f"equation of observation {o}\n$\\Sigma_y\\,S({o}|y)\\,p(y)$ = {number_text(equation['value'])}"
        ends = np.array(equation["segment"] or np.empty((0, 3))) @ corners
        axis.plot(*ends.T, style, color=colour, lw=2.2, zorder=2.2, label=words)


def _corners(axis: Axes) -> FloatArray:
    """Where the three outputs are on the sheet, shape (3, 2): the triangle is the first thing drawn on it."""
    from matplotlib.patches import Polygon

    triangle = next(patch for patch in axis.patches if isinstance(patch, Polygon))
    return np.asarray(triangle.get_xy(), dtype=np.float64)[:3]


def _share(value: float) -> str:
    """A share of samples.

    >>> _share(0.3164), _share(0.0)
    ('31.6%', 'none')
    """
    return f"{value:.1%}" if value else "none"


def _rounded(values: FloatArray) -> list[float]:
    return [round(float(value), 9) + 0.0 for value in values]


def _vector(values: Sequence[float]) -> str:
    return f"({', '.join(f'{value + 0.0:.3f}' for value in values)})".replace("-", "−")


#: The experiment.
SIMPLEX = SimplexExperiment()
