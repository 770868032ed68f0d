"""Figure efficiency-rr: what the moment estimator loses against the maximum likelihood, by the reveal probability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance.channels.randomized_response import RandomizedResponse
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.design.covariances import asymptotics, posterior_means
from askance.design.optimum.channel import optimal_channel
from askance.estimation.entry import estimate
from askance.evidence.tally import Tally
from askance.experiments.efficiency_drawing import draw_channels, draw_efficiency
from askance.experiments.experiment import Experiment, Finding, Plain, Trial
from askance.experiments.printed import Rows
from askance.experiments.seeds import trial_seed
from askance.experiments.tables import number, text_table
from askance.models.enumerated import Enumerated
from askance.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# In place of the limit ε → 0: it moves no digit that is shown.
_SMALLEST = 1e-6
_SHOWN = (_SMALLEST, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
# Privacy levels in tables, which are to fit a phone; the figure has more.
_SHOWN_LEVELS = (0.5, 1, 2, 4)
# Beyond the digits that linear algebra agrees on from one machine to the next.
_DIGITS = 10
# The error of a simulated efficiency is found by leaving out one such group of repetitions after the other.
_GROUPS = 20


class EfficiencyExperiment(Experiment):
    """Eff = tr(Σ_marg Σ_mom⁻¹)/d of k-ary randomized response, for a weak and a strong signal."""

    name = "efficiency"
    title = "What plain moments lose"
    description = (
        "Everybody answers truthfully with the reveal probability, and at random otherwise. The moment estimator of "
        "the paper then needs more answers than the best possible estimator. The figure shows its efficiency, the "
        "average share of the best precision that it reaches, on four outputs with a weak and with a strong signal. "
        "Beside the curves, which are computed, stand simulated surveys; a second figure compares channels of equal "
        "privacy."
    )

    captions: ClassVar = {
        "efficiency": "Efficiency against the reveal probability. Lines are computed; points are from simulated "
        "surveys, with 95 % bars.",
        "channels": "The variance of estimates through several channels of one privacy level, in units of the "
        "optimal channel's. “As printed” is what the paper's formula makes of the level.",
    }

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        """Curves are the same in both; a quick run simulates fewer surveys."""
        return {
            "seed": seed,
            "statistics": [[0, 0, 1, 1], [0, 1, 0, 1]],
            "signals": {"weak": [2.0, -0.1], "strong": [5.0, -1.0], "none": [0.0, 0.0]},
            "reveal_probability": [_SMALLEST, *(round(i / 50, 2) for i in range(1, 51))],
            "privacy_levels": [0.5, 1.0, 2.0, 4.0] if quick else [0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0],
            "simulated_at": [0.3, 0.7] if quick else [0.1, 0.3, 0.5, 0.7, 0.9],
            "surveys": 100 if quick else 1_000,
            "respondents": 10**8,
        }

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        """A curve and a comparison of channels for each signal, and the surveys of each reveal probability."""
        model = {"statistics": config["statistics"]}
        trials = []
        for signal, theta in config["signals"].items():
            truth = {**model, "theta": theta}
            reveal = {"reveal_probabilities": config["reveal_probability"]}
            trials.append(Trial(f"curve-{signal}", efficiency_curve, {**truth, **reveal}, 0.1))
            if signal == "none":
                continue
            levels = {"privacy_levels": config["privacy_levels"]}
            trials.append(Trial(f"channels-{signal}", compare_channels, {**truth, **levels}, 2.0))
            for reveal_probability in config["simulated_at"]:
                key = f"surveys-{signal}-{reveal_probability}"
                survey = {
                    "reveal_probability": reveal_probability,
                    "surveys": config["surveys"],
                    "respondents": config["respondents"],
                    "seed": trial_seed(config["seed"], key),
                }
                trials.append(Trial(key, simulate_surveys, {**truth, **survey}, config["surveys"] / 80))
        return trials

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        """Curves, simulated efficiencies and errors of channels, by signal."""
        signals = [signal for signal in config["signals"] if signal != "none"]
        return {
            "signals": config["signals"],
            "reveal_probability": config["reveal_probability"],
            "curves": {signal: outcomes[f"curve-{signal}"] for signal in config["signals"]},
            "surveys": config["surveys"],
            "respondents": config["respondents"],
            "simulated": {
                signal: [
                    {"reveal_probability": reveal, **outcomes[f"surveys-{signal}-{reveal}"]}
                    for reveal in config["simulated_at"]
                ]
                for signal in signals
            },
            "channels": {signal: outcomes[f"channels-{signal}"] for signal in signals},
        }

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        """The paper's figure, and the comparison of channels."""
        return {"efficiency": draw_efficiency(result), "channels": draw_channels(result)}

    def answer(self, result: Mapping[str, Plain]) -> Plain:
        """The two curves of the figure."""
        return {
            signal: {
                "reveal_probability": list(result["reveal_probability"]),
                "efficiency": list(result["curves"][signal]["efficiency"]),
            }
            for signal in ("weak", "strong")
        }

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        """Efficiencies at a few reveal probabilities, and errors of channels."""
        at = [result["reveal_probability"].index(reveal) for reveal in _SHOWN]
        columns = ["signal", "→ 0", *(number(reveal) for reveal in _SHOWN[1:])]
        rows = [
            [f"{signal}, θ = {_vector(result['signals'][signal])}", *(_share(curve["efficiency"][i]) for i in at)]
            for signal, curve in result["curves"].items()
        ]
        return [
            text_table("Efficiency of moments, by the reveal probability", columns, rows),
            *(_channel_table(signal, rows) for signal, rows in result["channels"].items()),
        ]

    def main_number(self, result: Mapping[str, Plain]) -> str:
        """The efficiency at one half."""
        weak, strong = (_at(result, signal, 0.5) for signal in ("weak", "strong"))
        return f"efficiency at reveal probability 1/2: weak {weak:.4f}, strong {strong:.4f}"

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        """The figure, the two claims of its text, a misprint of the lemma, and what can be had instead."""
        return [*_findings_of_curves(result), *_findings_of_estimators(result), *_findings_of_channels(result)]


def efficiency_curve(statistics: Rows, theta: Sequence[float], reveal_probabilities: Sequence[float]) -> Plain:
    """Eff at each reveal probability, and how far the printed lemma is from Σ_mom and Σ_marg, relative, at worst."""
    model = Enumerated(statistics)
    efficiency, from_moments, from_marginal = [], [], []
    for reveal in reveal_probabilities:
        costs = asymptotics(model, _response(model, reveal), theta)
        assert costs.moments is not None  # randomized response has an unbiased β
        efficiency.append(round(costs.efficiency, _DIGITS))
        printed = _printed_variance(model, theta, reveal)
        from_moments.append(_distance(printed, costs.moments))
        from_marginal.append(_distance(printed, costs.marginal))
    return {
        "efficiency": efficiency,
        "lemma_from_moments": round(max(from_moments), 6),
        "lemma_from_marginal": round(max(from_marginal), 6),
    }


def simulate_surveys(
    statistics: Rows, theta: Sequence[float], reveal_probability: float, surveys: int, respondents: int, seed: int
) -> Plain:
    """tr(M* M⁻¹)/d over simulated surveys, for moments and one-step, with its standard error.

    M = n·E(θ̂ − θ)(θ̂ − θ)ᵀ is that of the estimator, and M* that of the best error, Σ_marg Ê[E[φ|o] − E φ], which tends
    to Σ_marg. Both are from the same reports, so that most of the chance falls out of their ratio.
    """
    model, rng = Enumerated(statistics), np.random.default_rng(seed)
    channel = _response(model, reveal_probability)
    best = asymptotics(model, channel, theta).marginal
    means, frequencies = posterior_means(model, channel, np.asarray(theta))
    influence = best @ (means - (means @ frequencies)[:, None])
    least: list[FloatArray] = []
    errors: dict[str, list[FloatArray]] = {"moments": [], "one-step": []}
    for _ in range(surveys):
        tally = Tally(channel, rng.multinomial(respondents, frequencies / frequencies.sum()))
        least.append(influence @ tally.frequencies)
        for method, differences in errors.items():
            differences.append(estimate(model, tally, method).theta - np.asarray(theta))
    outcome = {}
    for method, differences in errors.items():
        value, deviation = _simulated_efficiency(np.array(differences), np.array(least))
        outcome[method] = {"efficiency": round(value, _DIGITS), "standard_error": round(deviation, _DIGITS)}
    return outcome


def compare_channels(statistics: Rows, theta: Sequence[float], privacy_levels: Sequence[float]) -> Plain:
    """tr Σ of each channel and estimator at each level; "as printed" at the level that the paper claims for it."""
    model = Enumerated(statistics)
    d, outputs = model.dimension, len(model.outputs)
    rows = []
    for level in privacy_levels:
        answers = asymptotics(model, RandomizedResponse.for_privacy_level(level, outputs=outputs), theta)
        exact = asymptotics(model, CoordinateRelease(d, level), theta)
        paper = CoordinateRelease(d, level, calibration="paper")
        printed = asymptotics(model, paper, theta, averaging="printed")
        assert answers.moments is not None
        rows.append(
            {
                "privacy_level": level,
                "printed_level": paper.privacy_level,
                "coordinate_release_efficiency": round(cast(float, exact.efficiency), _DIGITS),
                "errors": {
                    "coordinate release, as printed": _trace(printed.moments),
                    "randomized response, moments": _trace(answers.moments),
                    "randomized response, one-step": _trace(answers.marginal),
                    "coordinate release": _trace(exact.moments),
                    "optimal channel": float(f"{optimal_channel(model, level, theta=theta).value:.6g}"),
                },
            }
        )
    return rows


def _response(model: Enumerated, reveal: float) -> RandomizedResponse:
    # From the text of the number: 0.1 is one tenth, not the binary fraction next to it.
    return RandomizedResponse(Fraction(str(reveal)), outputs=len(model.outputs))


def _printed_variance(model: Enumerated, theta: Sequence[float], reveal: float) -> FloatArray:
    """I⁻¹ + I⁻¹ H I⁻¹ with H = (1−ε)/ε² Cov φ(y′) + (1−ε)/ε E(φ(y) − E φ(y′))(…)ᵀ and y′ uniform, as printed."""
    phi, p = model.table, model.probabilities(theta)
    centred = phi - phi.mean(axis=1, keepdims=True)
    H = (1 - reveal) / reveal**2 * centred @ centred.T / phi.shape[1] + (1 - reveal) / reveal * (
        centred * p
    ) @ centred.T
    full = np.linalg.inv(model.fisher_information(np.asarray(theta)))
    return np.asarray(full + full @ H @ full)


def _distance(a: FloatArray, b: FloatArray) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


def _trace(covariance: FloatArray) -> float:
    return float(f"{np.trace(covariance):.{_DIGITS}g}")


def _simulated_efficiency(errors: FloatArray, least: FloatArray) -> tuple[float, float]:
    """The efficiency of errors (r, d) against the least possible ones (r, d), and its jackknife standard error."""

    def efficiency(some: AnyArray) -> float:
        a, b = errors[some], least[some]
        return float(np.trace(np.linalg.solve(a.T @ a, b.T @ b))) / len(a.T)

    groups = np.arange(len(errors)) % _GROUPS
    left_out = np.array([efficiency(groups != group) for group in range(_GROUPS)])
    spread = (_GROUPS - 1) / _GROUPS * float(((left_out - left_out.mean()) ** 2).sum())
    return efficiency(groups >= 0), math.sqrt(spread)


def _at(result: Mapping[str, Plain], signal: str, reveal: float) -> float:
    return float(result["curves"][signal]["efficiency"][result["reveal_probability"].index(reveal)])


def _share(efficiency: float) -> str:
    """Four digits; 1 is 1.

    >>> _share(0.81599), _share(1.0)
    ('0.8160', '1')
    """
    return "1" if round(efficiency, 4) == 1 else f"{efficiency:.4f}"


def _near(distance: float) -> str:
    """A relative distance in words.

    >>> _near(0.0), _near(0.02)
    ('to five digits', 'to within 2%')
    """
    return "to five digits" if distance < 1e-5 else f"to within {distance:.0%}"


def _vector(values: Sequence[float]) -> str:
    return f"({', '.join(number(value) for value in values)})"


def _channel_table(signal: str, rows: Sequence[Mapping[str, Plain]]) -> Table:
    rows = [row for row in rows if row["privacy_level"] in _SHOWN_LEVELS] or rows
    columns = ["channel and estimator", *(f"level {number(row['privacy_level'])}" for row in rows)]
    names = list(rows[0]["errors"])
    return text_table(
        f"Total asymptotic variance tr Σ at a privacy level, {signal} signal",
        columns,
        [[name, *(number(row["errors"][name]) for row in rows)] for name in names],
    )


def _findings_of_curves(result: Mapping[str, Plain]) -> Sequence[Finding]:
    ends = {signal: (_at(result, signal, _SMALLEST), _at(result, signal, 1.0)) for signal in result["curves"]}
    falling = all(bool(np.all(np.diff(result["curves"][signal]["efficiency"]) > 0)) for signal in ("weak", "strong"))
    lowest = min(result["curves"]["none"]["efficiency"])
    return [
        Finding(
            "The efficiency of moments decreases as the reveal probability goes to 0.",
            f"From 1 to {ends['weak'][0]:.4f} (weak) and {ends['strong'][0]:.4f} (strong); "
            f"{'it falls all the way' if falling else 'it does not fall all the way'}.",
            "agrees" if falling else "differs",
        ),
        Finding(
            "The strong signal loses more than the weak one.",
            f"At reveal probability 1/2 the efficiency is {_at(result, 'strong', 0.5):.4f} for the strong signal and "
            f"{_at(result, 'weak', 0.5):.4f} for the weak one.",
            "agrees" if _at(result, "strong", 0.5) < _at(result, "weak", 0.5) else "differs",
        ),
        Finding(
            "At θ = 0 moments lose nothing.",
            f"The efficiency there is {number(round(lowest, 4))} at every reveal probability, where answers at random "
            "are all equally likely.",
            "agrees" if round(lowest, 6) == 1 else "differs",
        ),
    ]


def _findings_of_estimators(result: Mapping[str, Plain]) -> Sequence[Finding]:
    curves = [result["curves"][signal] for signal in ("weak", "strong")]
    near, far = (max(curve[f"lemma_from_{of}"] for curve in curves) for of in ("moments", "marginal"))
    one_step = [point["one-step"] for rows in result["simulated"].values() for point in rows]
    mean = sum(point["efficiency"] for point in one_step) / len(one_step)
    deviation = math.sqrt(sum(point["standard_error"] ** 2 for point in one_step)) / len(one_step)
    return [
        Finding(
            "The lemma on randomized response announces the variance of the maximum marginal likelihood.",
            f"Its formula is the variance of the moment estimator ({_near(near)}); from the variance of the maximum "
            f"marginal likelihood it is up to {far:.0%} away.",
            "differs",
            "A misprint: the formula itself is right.",
        ),
        Finding(
            "One scoring step from the moment estimate takes the whole loss back.",
            f"In {result['surveys']:,} simulated surveys for each point the one-step estimator has an average "
            f"efficiency of {mean:.3f} ± {1.96 * deviation:.3f}, measured against the least possible error on the same "
            "reports; in the limit it is 1.",
            "beyond",
        ),
    ]


def _findings_of_channels(result: Mapping[str, Plain]) -> Sequence[Finding]:
    rows = {signal: next(r for r in rows if r["privacy_level"] == 1) for signal, rows in result["channels"].items()}
    strong = rows["strong"]["errors"]
    lowest = min(row["coordinate_release_efficiency"] for rows in result["channels"].values() for row in rows)
    return [
        Finding(
            "Coordinate release that keeps its bit with probability e^(α/2)/(1 + e^(α/2)) is α-private.",
            f"It is, but spends only α/2 (level {number(rows['strong']['printed_level'])} where 1 is meant). On the "
            f"strong signal tr Σ is {number(strong['coordinate release, as printed'])} as printed and "
            f"{number(strong['coordinate release'])} when the level is spent and averages are within coordinates.",
            "differs",
            "One bit is sent, and the ratio of its probabilities is e^(α/2); half of the level is left over.",
        ),
        Finding(
            "Through coordinate release, averaged within coordinates, moments lose nothing on this model.",
            f"Their efficiency is {'1 to four digits' if round(lowest, 4) == 1 else f'at least {lowest:.4f}'} for both "
            "signals at every level.",
            "beyond",
        ),
        Finding(
            "The best channel of a level is known.",
            f"At level 1 on the strong signal tr Σ is {number(strong['optimal channel'])}, against "
            f"{number(strong['randomized response, moments'])} of randomized response with moments, "
            f"{number(strong['randomized response, one-step'])} with one step and "
            f"{number(strong['coordinate release'])} of coordinate release.",
            "beyond",
        ),
    ]


#: The experiment.
EFFICIENCY = EfficiencyExperiment()
