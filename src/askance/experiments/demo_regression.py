"""A simulated private regression with known truth: x and y of every respondent stay on the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.channels.statistics.reports import report_as_json
from askance.design.certificate import certify
from askance.design.regression_release import regression_release
from askance.estimation.linear import estimate_linear, fit_exact
from askance.estimation.results.linear_fit import LinearFit
from askance.experiments.narrow import finish, panels
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import number, text_table
from askance.formats.figure_file import figure_bytes
from askance.geometry.style import BLUE, DARK, VERMILION
from askance.models.linear import LinearModel
from askance.tables import Table


@dataclass(frozen=True)
class RegressionConfig:
    """What is simulated: normal x within 3 scales of their centres, and y = θ₀ + xᵀθ₁.. + normal noise.

    Attributes:
        outcome: the name of y.
        columns: the names of x.
        lower: public bounds of x, then y.
        upper: the same.
        centres: public guesses of where most people are, of x, then y.
        scales: and of how far they spread.
        theta: the truth: intercept, then one coefficient a column.
        spread: standard deviation of y around its mean.
        respondents: how many people report.
        privacy_levels: of one report.
        confidence: of intervals.
        seed: of everything that is drawn.
    """

    outcome: str = "well-being"
    columns: tuple[str, ...] = ("hours of sleep", "drinks a week", "stress")
    lower: tuple[float, ...] = (0, 0, 0, 0)
    upper: tuple[float, ...] = (14, 20, 100, 100)
    centres: tuple[float, ...] = (7, 8, 50, 51)
    scales: tuple[float, ...] = (1.2, 2.5, 15, 11)
    theta: tuple[float, ...] = (50, 4, -1.5, -0.3)
    spread: float = 6.0
    respondents: int = 200_000
    privacy_levels: tuple[float, ...] = (2.0, 3.0, 4.0)
    confidence: float = 0.95
    seed: int = 0


def run_regression(config: RegressionConfig, progress: Callable[[str], None] = lambda step: None) -> dict[str, Any]:
    """Simulate the people, let their devices report at every level, and estimate; the result is plain JSON.

    >>> small = RegressionConfig(respondents=5_000, privacy_levels=(8.0,))
    >>> result = run_regression(small)
    >>> [row["name"] for row in result["exact"]["parameters"]]
    ['Intercept', 'hours of sleep', 'drinks a week', 'stress']
    """
    rng = np.random.default_rng(trial_seed(config.seed, "regression"))
    field = LinearModel(
        len(config.columns),
        x_bounds=(config.lower[:-1], config.upper[:-1]),
        y_bounds=(config.lower[-1], config.upper[-1]),
        scales=(config.centres, config.scales),
        feature_names=config.columns,
    )
    x, y = _people(config, rng)
    levels = []
    for level in config.privacy_levels:
        progress(f"privacy level {level:g}")
        # share_within=1: nobody is shrunk, so that intervals are about the coefficients themselves.
        release = regression_release(field, level, n_respondents=config.respondents, share_within=1)
        reports = release.simulate(x, y, rng)
        levels.append(
            {
                "privacy_level": certify(release.channel).privacy_level,
                "encoding": release.encoding,
                "first_report": report_as_json(release.channel.columns, reports.columns, 0),
                **_estimates(estimate_linear(release, reports), config.confidence),
            }
        )
    return {
        "config": asdict(config),
        "first_respondent": [round(float(value), 2) for value in (*x[0], y[0])],
        "levels": levels,
        "exact": _estimates(fit_exact(field, x, y), config.confidence),
    }


def _people(config: RegressionConfig, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """x of shape (n, p) and y of shape (n,), within the bounds."""
    centres, scales = np.array(config.centres[:-1]), np.array(config.scales[:-1])
    x = centres + scales * rng.normal(size=(config.respondents, len(centres))).clip(-3, 3)
    x = x.clip(config.lower[:-1], config.upper[:-1])
    y = config.theta[0] + x @ np.array(config.theta[1:]) + rng.normal(0, config.spread, config.respondents)
    return x, y.clip(config.lower[-1], config.upper[-1])


def _estimates(fit: LinearFit, confidence: float) -> dict[str, Any]:
    told = fit.to_json(confidence)
    parameters = [
        {key: value if key == "name" else round(value, 12) for key, value in row.items()} for row in told["parameters"]
    ]
    return {
        "parameters": parameters,
        "intervals_cover": told["intervals_cover"],
        "repaired": told["repair"]["acted"],
        "messages": told["messages"],
    }


def regression_tables(result: Mapping[str, Any]) -> list[Table]:
    """Truth, least squares on the open records, and the estimate at every level, each with its interval."""
    config, levels = result["config"], result["levels"]
    fits = [result["exact"], *levels]
    names = ["open records", *(f"level {level['privacy_level']:g}" for level in levels)]
    rows = []
    for i, true in enumerate(config["theta"]):
        cells = [fit["parameters"][i] for fit in fits]
        texts = [f"{number(c['estimate'], 3)} ± {number(c['upper'] - c['estimate'], 2)}" for c in cells]
        rows.append((cells[0]["name"], number(true), *texts))
    title = f"coefficients of {config['outcome']}, with {100 * config['confidence']:g} % intervals"
    return [text_table(title, ("per unit of", "truth", *names), rows)]


def draw_regression(result: Mapping[str, Any], *, narrow: bool = False) -> bytes:
    """Draw the result: one panel a coefficient, truth as a line, estimates with intervals by privacy level.

    Args:
        result: of `run_regression`.
        narrow: whether panels stand one below the other, as a phone shows them.

    Returns:
        the picture, as PNG.
    """
    config, levels = result["config"], result["levels"]
    fits = [*levels, result["exact"]]
    names = [*(f"{level['privacy_level']:g}" for level in levels), "open\nrecords"]
    figure, axes = panels(len(config["columns"]), 3.8, narrow=narrow)
    for i, (axis, column) in enumerate(zip(axes, config["columns"], strict=True), start=1):
        axis.axhline(config["theta"][i], color=VERMILION, lw=1.2, label="truth")
        for place, fit in enumerate(fits):
            row, is_open = fit["parameters"][i], fit is result["exact"]
            reach = [[row["estimate"] - row["lower"]], [row["upper"] - row["estimate"]]]
            axis.errorbar(place, row["estimate"], yerr=reach, fmt="o", ms=5, capsize=4, color=DARK if is_open else BLUE)
        axis.set_xticks(range(len(fits)), names)
        axis.set_xlim(-0.5, len(fits) - 0.5)
        axis.set_xlabel("privacy level")
        finish(axis, f"per unit of {column}")
    axes[0].set_ylabel(f"coefficient, with {100 * config['confidence']:g} % interval")
    axes[-1].legend(frameon=False, fontsize=9)
    figure.suptitle(f"{config['outcome']}: {config['respondents']:,} respondents, x and y private", fontsize=11)
    return figure_bytes(figure, "png")
