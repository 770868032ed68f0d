"""What if the design is not what it seems: the same reports, read through other channels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import Number, as_probability
from askance._kernels.draw import TOTAL
from askance.channels.finite import FiniteChannel
from askance.channels.matrix import MatrixChannel
from askance.channels.registry import build_answer_channel
from askance.errors import AskanceWarning, InputError, NotIdentifiedError
from askance.estimation.fit import Fit
from askance.estimation.methods import estimate
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally
from askance.models.enumerated import Enumerated
from askance.models.softmax import Softmax

#: What those do who ignore the device: tell the truth, always give the first observation ("no"), or any at random.
Behaviour: TypeAlias = Literal["truth", "refuse", "random"]


def with_noncompliance(channel: FiniteChannel, share: Number, behaviour: Behaviour) -> MatrixChannel:
    """S′ = (1 − c) S + c S₀: a share c of respondents ignores the device.

    Args:
        channel: S, the design as planned.
        share: c.
        behaviour: S₀: "truth" (they tell the truth; needs as many observations as outputs), "refuse" (they always
            give the first observation, "no" in the yes/no designs) or "random" (all observations equally likely).

    >>> from askance import ForcedResponse
    >>> with_noncompliance(ForcedResponse("2/3", "1/6"), 0.1, "refuse").matrix.round(3)
    array([[0.85, 0.25],
           [0.15, 0.75]])
    """
    c = as_probability(share, "share")
    k, m = len(channel.observations), len(channel.outputs)
    if behaviour == "truth":
        if k != m:
            raise InputError(
                f"the design has {k} observations for {m} outputs, so nobody can report the truth itself.",
                remedy="Use behaviour 'refuse' or 'random'.",
            )
        other = [[Fraction(o == y) for y in range(m)] for o in range(k)]
    elif behaviour == "refuse":
        other = [[Fraction(o == 0)] * m for o in range(k)]
    elif behaviour == "random":
        other = [[Fraction(1, k)] * m for _ in range(k)]
    else:
        raise InputError(f"behaviour is {behaviour!r}; allowed: truth, refuse, random.", remedy="Choose one of them.")
    planned = channel.integer_weights
    mixed = [[(1 - c) * Fraction(int(planned[o, y]), TOTAL) + c * other[o][y] for y in range(m)] for o in range(k)]
    return MatrixChannel(mixed, outputs=channel.outputs, observations=channel.observations)


def with_bias(channel: FiniteChannel, parameter: str, shift: Number) -> FiniteChannel:
    """The same design with one of its probabilities off by `shift`: a device that is not what it should be."""
    specification = channel.specification()
    if parameter not in specification or parameter in ("kind", "outputs", "observations"):
        names = [name for name in specification if name not in ("kind", "outputs", "observations")]
        raise InputError(
            f"{channel.kind} has no probability {parameter!r}; allowed: {', '.join(names)}.", remedy="Name one."
        )
    value = Fraction(str(specification[parameter])) + Fraction(str(shift))
    changed = {**specification, parameter: str(value)}
    if channel.kind == "forced-response" and parameter != "no":
        changed.pop("no")  # what remains goes to the forced no
    return build_answer_channel(changed)


@dataclass(frozen=True)
class Scenario:
    """One reading of the reports: its name, the channel, and the fit (None where it identifies nothing)."""

    name: str
    channel: FiniteChannel
    fit: Fit | None


@dataclass(frozen=True)
class Sensitivity:
    """The planned reading first, then the others."""

    scenarios: tuple[Scenario, ...]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The coefficients."""
        planned = self.scenarios[0].fit
        assert planned is not None
        return planned.model.parameter_names

    def estimates(self) -> FloatArray:
        """θ̂ of every scenario, shape (scenarios, d); NaN where there is no fit."""
        return np.array([s.fit.theta if s.fit else np.full(len(self.parameter_names), np.nan) for s in self.scenarios])

    def standard_errors(self) -> FloatArray:
        """Standard errors of every scenario, shape (scenarios, d)."""
        missing = np.full(len(self.parameter_names), np.nan)
        return np.array([s.fit.standard_errors if s.fit else missing for s in self.scenarios])

    def shifts(self) -> FloatArray:
        """(θ̂ − planned θ̂) in planned standard errors, shape (scenarios, d)."""
        return np.asarray((self.estimates() - self.estimates()[0]) / self.standard_errors()[0])

    def to_json(self) -> dict[str, Any]:
        """Plain values; null where a scenario identifies nothing."""
        return {
            "parameters": list(self.parameter_names),
            "scenarios": [
                {
                    "name": scenario.name,
                    "channel": scenario.channel.specification(),
                    "estimates": None if scenario.fit is None else scenario.fit.theta.tolist(),
                    "std_errors": None if scenario.fit is None else scenario.fit.standard_errors.tolist(),
                }
                for scenario in self.scenarios
            ],
        }


def sensitivity(
    model: Enumerated | Softmax,
    evidence: Tally | Responses,
    *,
    shares: Sequence[Number] = ("0.02", "0.05", "0.1"),
    behaviours: Sequence[Behaviour] = ("truth", "refuse", "random"),
    biases: Mapping[str, Sequence[Number]] | None = None,
    method: str = "one-step",
    **options: Any,
) -> Sensitivity:
    """Fit the same reports under the planned channel and under others that might have been real.

    Args:
        model: what to fit.
        evidence: the reports, through the planned channel.
        shares: shares of respondents who ignore the device.
        behaviours: what they do instead.
        biases: {parameter of the design: shifts of its probability}.
        method: of `estimate`.
        options: passed to it.

    >>> from askance import Enumerated, ForcedResponse, Tally
    >>> design = ForcedResponse("2/3", "1/6")
    >>> table = sensitivity(Enumerated.saturated(design.outputs), Tally(design, [640, 360]), shares=["0.1"])
    >>> [scenario.name for scenario in table.scenarios]
    ['as planned', '10 % truth', '10 % refuse', '10 % random']
    """
    planned = evidence.channel
    alternatives: list[tuple[str, FiniteChannel]] = [("as planned", planned)]
    square = len(planned.observations) == len(planned.outputs)
    for share in shares:
        percent = f"{100 * float(as_probability(share, 'share')):g} %"
        for behaviour in behaviours:
            if behaviour != "truth" or square:
                alternatives.append((f"{percent} {behaviour}", with_noncompliance(planned, share, behaviour)))
    for parameter, shifts in (biases or {}).items():
        for shift in shifts:
            alternatives.append((f"{parameter} {float(Fraction(str(shift))):+g}", with_bias(planned, parameter, shift)))
    scenarios = []
    for name, channel in alternatives:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AskanceWarning)  # the fit's own messages stay in its diagnostics
                fit = estimate(model, _reread(evidence, channel), method, **options)
        except NotIdentifiedError:
            if channel is planned:
                raise
            fit = None
        scenarios.append(Scenario(name, channel, fit))
    return Sensitivity(tuple(scenarios))


def _reread(evidence: Tally | Responses, channel: FiniteChannel) -> Tally | Responses:
    """The same reports, taken as having come through another channel."""
    if isinstance(evidence, Tally):
        return Tally(channel, evidence.counts)
    return replace(evidence, channel=channel)


def plot_sensitivity(table: Sensitivity, parameter: str, path: str | Path | None = None) -> Any:
    """One coefficient under every scenario, with 95 % intervals; returns the figure and writes it where asked."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if parameter not in table.parameter_names:
        raise InputError(
            f"there is no parameter {parameter!r}; allowed: {', '.join(table.parameter_names)}.", remedy="Name one."
        )
    j = table.parameter_names.index(parameter)
    names = [scenario.name for scenario in table.scenarios]
    estimates, errors = table.estimates()[:, j], table.standard_errors()[:, j]
    figure = Figure(figsize=(7, 1.2 + 0.32 * len(names)), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    places = -np.arange(len(names), dtype=float)
    axis.axvspan(estimates[0] - 1.96 * errors[0], estimates[0] + 1.96 * errors[0], color="#eef3f8")
    axis.axvline(estimates[0], color="#0072b2", linewidth=1)
    axis.axvline(0.0, color="#999999", linewidth=0.8, linestyle=":")
    axis.errorbar(estimates, places, xerr=1.96 * errors, fmt="o", ms=4, capsize=3, color="#333333")
    axis.set_yticks(places, names)
    axis.set_xlabel(f"{parameter}: estimate and 95 % interval under each reading of the design")
    axis.spines[["top", "right"]].set_visible(False)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
