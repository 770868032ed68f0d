"""What if the design is not what it seems: the same reports, read through other channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import Number
from askance._words import words
from askance.channels.finite import FiniteChannel
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError
from askance.estimation.checks.channel_fit import ChannelTest, channel_fit_test
from askance.estimation.entry import solve
from askance.estimation.results.fit import Fit, ProbabilityTable
from askance.evidence.responses import Responses
from askance.evidence.tally import Tally, of_answers
from askance.evidence.together import Together, several, through_channels
from askance.formats.figure_file import new_figure, write_figure
from askance.models.enumerated import Enumerated
from askance.models.hidden import HiddenVariables
from askance.models.softmax import Softmax
from askance.survey.alternative_channels import Behaviour
from askance.survey.nonresponse import shares_of
from askance.survey.readings import Arms, Trait, readings
from askance.survey.sensitivity_summary import marked_name, sensitivity_summary, sensitivity_table
from askance.tables import Table, Tabulated, as_json

# Readings whose test of fit has a smaller p-value are marked.
_DOUBTFUL = 0.05
# Simulated surveys per reading where there are more than two kinds of reports, and each takes a while.
_FEW_REPLICATES = 99


@dataclass(frozen=True)
class Scenario:
    """One reading of the reports.

    Attributes:
        name: in a few words.
        arms: what the reports of every arm are taken to have come through; without arms, of None.
        fit: None where the channel identifies nothing, or can never have given some of the reports.
        test: whether the channel can have produced the frequencies of the reports.
        refuse_as: where some respondents always give one report, which.
        bias: where a probability of the design is off, which.
    """

    name: str
    arms: Arms
    fit: Fit | None
    test: ChannelTest
    refuse_as: Any = None
    bias: str | None = None

    @property
    def channel(self) -> FiniteChannel:
        """The channel of all reports, where there is one."""
        (channel,) = self.arms.values()
        return channel

    @property
    def plausible(self) -> bool:
        """Whether the reports may have come about so; where not (test of fit: p < 0.05), do not rely on the fit."""
        return self.test.p_value >= _DOUBTFUL

    def shares(self, confidence: float = 0.95) -> ProbabilityTable | None:
        """Share of every output with its interval, for the population; None where nothing is identified."""
        return shares_of(self.fit, confidence)


@dataclass(frozen=True)
class Sensitivity(Tabulated):
    """The planned reading first, then the others."""

    scenarios: tuple[Scenario, ...]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The coefficients."""
        planned = self.scenarios[0].fit
        assert planned is not None
        return planned.parameter_names

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

    def summary(self, confidence: float = 0.95) -> str:
        """A table for people: shares and coefficients of every reading, each with what is known about its error."""
        return sensitivity_summary(self, confidence)

    def table(self, confidence: float = 0.95) -> Table:
        """Every share and coefficient of every reading in a row of its own, with its error and interval."""
        return sensitivity_table(self, confidence)

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values; null where a scenario identifies nothing."""
        return {
            "parameters": list(self.parameter_names),
            "confidence": confidence,
            "scenarios": [
                {
                    "name": scenario.name,
                    "refuse_as": as_json(scenario.refuse_as),
                    "plausible": scenario.plausible,
                    "channel_test": scenario.test.to_json(),
                    "channel": several([channel.specification() for channel in scenario.arms.values()]),
                    **_coefficients(scenario.fit, confidence),
                    "shares": _shares_as_json(scenario.shares(confidence)),
                }
                for scenario in self.scenarios
            ],
        }


def _coefficients(fit: Fit | None, confidence: float) -> dict[str, Any]:
    values = (None,) * 4 if fit is None else (fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
    return dict(zip(("estimates", "std_errors", "lower", "upper"), map(as_json, values), strict=True))


def _shares_as_json(shares: ProbabilityTable | None) -> dict[str, Any] | None:
    if shares is None:
        return None
    columns = (shares.labels, shares.estimate, shares.standard_error, shares.lower, shares.upper)
    return dict(zip(("outputs", "estimates", "std_errors", "lower", "upper"), map(as_json, columns), strict=True))


def sensitivity(
    model: Enumerated | Softmax | HiddenVariables,
    evidence: Tally | Responses | Together,
    *,
    shares: Sequence[Number] = ("0.02", "0.05", "0.1"),
    behaviours: Sequence[Behaviour] = ("truth", "refuse", "random"),
    refuse_as: Any = None,
    biases: Mapping[str, Sequence[Number]] | None = None,
    method: str | None = None,
    **options: Any,
) -> Sensitivity:
    """Fit the same reports under the planned channel and under others that might have been real.

    Where there are several arms, the same share ignores the device in each. Where more is hidden than the answer (who
    cheats, how many items of a list hold), some refuse or report at random whatever is true of them; nobody tells the
    truth, which such reports cannot.

    Args:
        model: what to fit.
        evidence: the reports, through the planned channel.
        shares: shares of respondents who ignore the device.
        behaviours: what they do instead, see `with_noncompliance`.
        refuse_as: the report of those who refuse, or {arm: report}; default: `safest_observation`, about the trait.
        biases: {parameter of the design: shifts of its probability}; who gets the difference, see `with_bias`.
        method: of `estimate`; default: as there.
        options: passed to it.

    >>> from askance import Enumerated, ForcedResponse, Tally
    >>> design = ForcedResponse("2/3", "1/6")
    >>> table = sensitivity(Enumerated.saturated(design.outputs), Tally(design, [640, 360]), shares=["0.1"])
    >>> [scenario.name for scenario in table.scenarios]
    ['as planned', '10 % truth', '10 % refuse (no)', '10 % random']
    >>> print(table.summary())  # doctest: +NORMALIZE_WHITESPACE
    Other readings of the design
    <BLANKLINE>
    reading           share of yes       yes
    ----------------------------------------
    as planned              29.0 %   -0.8954
                         24.6–33.5  (0.1106)
    10 % truth              30.0 %   -0.8473
                         25.8–34.3  (0.1033)
    10 % refuse (no)        35.0 %   -0.6190
                         30.1–40.0  (0.1112)
    10 % random             26.7 %   -1.0116
                         21.8–31.7  (0.1294)
    ----------------------------------------
    below shares: 95 % intervals, for the population; below coefficients: standard errors
    """
    if not isinstance(model, Enumerated | Softmax | HiddenVariables):
        raise InputError(
            "other readings are of fits to the law of the answers, not to means of counts.",
            remedy=words("Leave {method} out."),
        )
    whole = through_channels(evidence)
    planned: Arms = {None: whole.channel} if of_answers(whole) else whole.arms
    trait = Trait(model.values[0], model.factors[0].outputs.labels[0]) if isinstance(model, HiddenVariables) else None
    scenarios = []
    for reading in readings(planned, trait, shares, behaviours, refuse_as, biases or {}):
        reread = _reread(whole, reading.arms)
        try:
            fit = solve(model, reread, method, **options).fit  # its messages stay in its diagnostics
        except (NotIdentifiedError, IncompatibleEvidenceError):
            if reading.arms is planned:
                raise
            fit = None
        quick = reading.arms is planned or all(len(one.observations) == 2 for one in planned.values())
        test = channel_fit_test(reread, replicates=0 if trait else 999 if quick else _FEW_REPLICATES)
        scenarios.append(Scenario(reading.name, reading.arms, fit, test, reading.refuse_as, reading.bias))
    return Sensitivity(tuple(scenarios))


def _reread(evidence: Tally | Responses, arms: Arms) -> Tally | Responses:
    """The same reports, taken as having come through other channels."""
    if of_answers(evidence):
        return Tally(arms[None], evidence.counts)
    return evidence.through(arms)


def plot_sensitivity(table: Sensitivity, parameter: str, path: str | Path | None = None) -> Any:
    """One coefficient under every scenario, with 95 % intervals; returns the figure and writes it where asked."""
    if parameter not in table.parameter_names:
        raise InputError(
            f"there is no parameter {parameter!r}; allowed: {', '.join(table.parameter_names)}.", remedy="Name one."
        )
    j = table.parameter_names.index(parameter)
    names = [marked_name(scenario) for scenario in table.scenarios]
    estimates, errors = table.estimates()[:, j], table.standard_errors()[:, j]
    figure = new_figure(7, 1.2 + 0.32 * len(names))
    axis = figure.subplots()
    places = -np.arange(len(names), dtype=float)
    axis.axvspan(estimates[0] - 1.96 * errors[0], estimates[0] + 1.96 * errors[0], color="#eef3f8")
    axis.axvline(estimates[0], color="#0072b2", linewidth=1)
    axis.axvline(0.0, color="#999999", linewidth=0.8, linestyle=":")
    axis.errorbar(estimates, places, xerr=1.96 * errors, fmt="o", ms=4, capsize=3, color="#333333")
    axis.set_yticks(places, names)
    label = f"{parameter}: estimate and 95 % interval under each reading of the design"
    if not all(scenario.plausible for scenario in table.scenarios):
        label += "\n†: the reports contradict it"
    axis.set_xlabel(label)
    axis.spines[["top", "right"]].set_visible(False)
    if path is not None:
        write_figure(path, figure)
    return figure
