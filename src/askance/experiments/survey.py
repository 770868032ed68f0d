"""A simulated sensitive survey with known truth: what noised answers can still tell, level by level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.channels.randomized_response import RandomizedResponse
from askance.design.certificate import certify
from askance.estimation.entry import estimate
from askance.estimation.results.fit import DistributionFit
from askance.evidence.tally import Tally
from askance.experiments.narrow import finish, panels
from askance.experiments.tables import text_table
from askance.formats.figure_file import figure_bytes
from askance.models.enumerated import Enumerated
from askance.tables import Table


@dataclass(frozen=True)
class SurveyConfig:
    """What is simulated: answers on an ordered scale, whose log-odds follow θ₁·step + θ₂·step² (`trend`)."""

    question: str = "How often did you keep money you should have paid in tax?"
    answers: tuple[str, ...] = ("never", "once", "a few times", "most years", "every year")
    trend: tuple[float, ...] = (-0.9, 0.05)
    respondents: int = 20_000
    privacy_levels: tuple[float, ...] = (1.0, 2.0, 4.0)
    methods: tuple[str, ...] = ("moments", "one-step", "marginal")
    confidence: float = 0.95
    seed: int = 0


def run_survey(config: SurveyConfig, progress: Callable[[str], None] = lambda step: None) -> dict[str, Any]:
    """Simulate the survey at every level and estimate it with every method; the result is plain JSON."""
    rng = np.random.default_rng(config.seed)
    steps = np.arange(len(config.answers))
    model = Enumerated([steps, steps**2], outputs=config.answers, parameter_names=["trend", "curvature"])
    truth = model.sample(config.trend, config.respondents, rng)
    shares = np.bincount(model.outputs.encode(truth), minlength=len(config.answers)) / config.respondents
    levels = []
    for level in config.privacy_levels:
        progress(f"privacy level {level:g}")
        channel = RandomizedResponse.for_privacy_level(level, outputs=config.answers)
        tally = Tally(channel).add(channel.simulate(truth, rng))
        fits = {method: estimate(model, tally, method) for method in config.methods}
        levels.append(
            {
                "privacy_level": certify(channel).privacy_level,
                "truth_told": channel.reveal_probability,
                "reported": _rounded(tally.frequencies),
                "estimates": {method: _estimates(fit, config.confidence) for method, fit in fits.items()},
            }
        )
    return {"config": asdict(config), "true_shares": _rounded(shares), "levels": levels}


def _estimates(fit: DistributionFit, confidence: float) -> dict[str, Any]:
    table = fit.probabilities(confidence)
    return {
        "share": _rounded(table.estimate),
        "standard_error": _rounded(table.standard_error),
        "lower": _rounded(table.lower),
        "upper": _rounded(table.upper),
        "converged": fit.converged,
        "repaired": fit.diagnostics.repaired,
    }


def _rounded(values: FloatArray) -> list[float]:
    return [round(float(value), 12) for value in values]


def survey_tables(result: Mapping[str, Any]) -> list[Table]:
    """One table a privacy level: the truth, what was said, and every method's shares with intervals, in percent."""
    config, tables = result["config"], []
    for level in result["levels"]:
        title = (
            f"privacy level {level['privacy_level']:g}, certified: the truth is told {level['truth_told']:.0%} of the "
            "time:\n"
            f"shares in percent, with {100 * config['confidence']:g} % intervals"
        )
        estimates = level["estimates"]
        rows = []
        for i, answer in enumerate(config["answers"]):
            cells = [
                f"{100 * row['share'][i]:.1f} ({100 * row['lower'][i]:.1f}–{100 * row['upper'][i]:.1f})"
                for row in estimates.values()
            ]
            rows.append((answer, f"{100 * result['true_shares'][i]:.1f}", f"{100 * level['reported'][i]:.1f}", *cells))
        tables.append(text_table(title, ("answer", "truth", "said", *estimates), rows))
    return tables


def draw_survey(result: dict[str, Any], *, narrow: bool = False) -> bytes:
    """Draw the result: one panel a privacy level, truth as bars, estimates with intervals, reports as grey marks.

    Args:
        result: of `run_survey`.
        narrow: whether panels stand one below the other, as a phone shows them.

    Returns:
        the picture, as PNG.
    """
    config, answers = result["config"], result["config"]["answers"]
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]
    figure, axes = panels(len(result["levels"]), 4.2, narrow=narrow, sharey=True)
    places = np.arange(len(answers))
    for axis, level in zip(axes, result["levels"], strict=True):
        axis.bar(places, result["true_shares"], width=0.8, color="#e4e4e4", label="truth")
        axis.plot(places, level["reported"], "x", color="#777777", label="reported")
        for i, (method, row) in enumerate(level["estimates"].items()):
            share = np.array(row["share"])
            reach = [share - np.array(row["lower"]), np.array(row["upper"]) - share]
            offset = 0.22 * (i - (len(level["estimates"]) - 1) / 2)
            axis.errorbar(places + offset, share, yerr=reach, fmt="o", ms=4, capsize=3, color=colours[i], label=method)
        axis.set_xticks(places, [answer.replace(" ", "\n") for answer in answers], fontsize=9)
        finish(axis, f"privacy level {level['privacy_level']:.3g}: truth told {level['truth_told']:.0%} of the time")
    axes[0].set_ylabel(f"share, with {100 * config['confidence']:g} % intervals")
    axes[-1].legend(frameon=False, fontsize=9)
    between = "\n" if narrow else "  "
    title = f"“{config['question']}”{between}{config['respondents']:,} respondents, each answer noised"
    figure.suptitle(title, fontsize=11)
    return figure_bytes(figure, "png")
