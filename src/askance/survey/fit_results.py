"""A fit with all that belongs to it: shares, what else is hidden, effects, what arms tell, and a test of the design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from askance._checks import shorten
from askance._words import words
from askance.errors import InputError, NotIdentifiedError
from askance.estimation.checks.channel_fit import ChannelTest, channel_fit_test
from askance.estimation.results.contrasts import Contrasts
from askance.estimation.results.fit import ProbabilityTable
from askance.estimation.results.hidden_fit import HiddenFit
from askance.estimation.results.means_fit import MeansFit
from askance.estimation.results.regression_fit import RegressionFit
from askance.estimation.results.results import MarginalEffects, Prevalence
from askance.survey.arm_agreement import ArmAgreement, arm_agreement
from askance.tables import Table, Tabulated

#: A fit of a formula.
FormulaFit: TypeAlias = RegressionFit | HiddenFit | MeansFit

# What JSON tells of a fit, and of each of its coefficients.
_ABOUT = ("method", "n", "privacy_level", "converged", "log_likelihood", "confidence", "messages")
_FIGURES = ("estimate", "std_error", "lower", "upper", "p_value")


@dataclass(frozen=True, eq=False)
class FitResults(Tabulated):
    """What a fit of a formula tells, as `askance fit` prints it.

    Attributes:
        fit: the fit.
        prevalence: shares of the answer in the population, then those of groups; none where means alone are known.
        hidden: shares of every hidden variable among the respondents, where there are several.
        contrasts: differences between the shares of groups.
        effects: average effects of variables.
        arms: what every arm tells.
        test: whether the design fits the reports; None where more is hidden than the answer, which fits most reports.
        confidence: of the intervals.
        outcome: what the hidden answer changes of the outcome, where the formula has one.
    """

    fit: FormulaFit
    prevalence: Sequence[Prevalence]
    hidden: Mapping[str, ProbabilityTable]
    contrasts: Sequence[Contrasts]
    effects: MarginalEffects | None
    arms: ArmAgreement | None
    test: ChannelTest | None
    confidence: float
    outcome: MarginalEffects | None = None

    @property
    def nuisances(self) -> dict[str, ProbabilityTable]:
        """Shares of hidden variables of which `prevalence` does not tell."""
        return dict(list(self.hidden.items())[bool(self.prevalence) :])

    @property
    def kept(self) -> FormulaFit:
        """The fit with all tables, as files keep it."""
        nuisances = [replace(result.table(), title=f"Shares of {name}") for name, result in self.nuisances.items()]
        others = [self._named(result) for result in self.contrasts]
        others += [self.outcome, self._named(self.effects), *self._arms, self.test]
        shares = map(self._named, self.prevalence)
        return self.fit.with_tables(*shares, *nuisances, *(result for result in others if result is not None))

    @property
    def _whose(self) -> str:
        """The name of the hidden answer, before what is told of it, where the outcome has answers too."""
        return "" if self.outcome is None else f"{next(iter(self.hidden))}: "

    def _named(self, result: Any) -> Any:
        """What is told of the hidden answer, with its name where that is needed."""
        if result is None or not self._whose:
            return result
        table = result.table()
        return replace(table, title=f"{self._whose}{table.title}")

    @property
    def _arms(self) -> list[Table]:
        """What every arm tells; what the messages of the fit say already is not said again."""
        if self.arms is None:
            return []
        table = self.arms.table()
        return [replace(table, notes=[note for note in table.notes if note not in self.fit.messages])]

    def table(self) -> Table:
        """The coefficients."""
        return self.fit.table(self.confidence)

    def summary(self) -> str:
        """All tables for people, one below the other."""
        tables: list[Any] = [*self.prevalence, *self.contrasts]
        parts = [self.fit.summary(self.confidence), *(f"{self._whose}{result.summary()}" for result in tables)]
        for name, shares in self.nuisances.items():
            parts.append(f"{name}, for these respondents as they are\n{shares.summary()}")
        parts += [] if self.outcome is None else [self.outcome.summary()]
        parts += [] if self.effects is None else [f"{self._whose}{self.effects.summary()}"]
        parts += map(str, self._arms)
        text = "\n\n".join(parts)
        if self.test is None or self.test.p_value >= 1:
            return text
        return f"{text}\nfit of the design: {self.test.shown_p_value}; {self.test.message}"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        content = self.fit.to_json(self.confidence)
        named = zip(self.fit.parameter_names, content["parameters"], strict=True)
        told: dict[str, Any] = {
            **{key: value for key, value in content.items() if key in _ABOUT},
            "covariance": self.fit.covariance_kind,
            "channel_test": None if self.test is None else self.test.to_json(),
            "coefficients": [{"name": name, **{key: row[key] for key in _FIGURES}} for name, row in named],
        }
        if self.prevalence:
            first, *others = self.prevalence
            told |= {
                "prevalence": first.to_json(),
                "prevalence_by": {str(shares.by): shares.to_json() for shares in others},
            }
        if self.hidden:
            told["shares"] = {name: result.table().to_json()["rows"] for name, result in self.hidden.items()}
        if self.contrasts:
            told["contrasts"] = [{"by": result.by, **result.to_json()} for result in self.contrasts]
        more = {"outcome_effects": self.outcome, "effects": self.effects, "arms": self.arms}
        return told | {name: result.to_json() for name, result in more.items() if result is not None}


def fit_results(
    fit: FormulaFit, *, by: Sequence[str] = (), effects: bool = False, contrasts: bool = False, confidence: float = 0.95
) -> FitResults:
    """Shares, effects, arms and tests that belong to a fit of a formula, at once.

    Shares of the answer have errors of the population: what a reader takes an interval of a survey for.

    Args:
        fit: of `regress`, not loaded.
        by: columns of the formula whose groups have shares of their own.
        effects: whether to compute average effects of variables.
        contrasts: whether to compute differences between the shares of groups.
        confidence: of the intervals.

    >>> from askance import ForcedResponse, regress
    >>> data = {"said": ["yes", "no", "no"] * 40, "age": list(range(120))}
    >>> results = fit_results(regress("said ~ I(age / 10)", data, ForcedResponse("2/3", "1/6")))
    >>> results.prevalence[0].estimate.round(2), results.test.p_value
    (array([[0.75, 0.25]]), 1.0)
    """
    if isinstance(fit, MeansFit) and not (by or effects or contrasts):
        shares, changes = [], None
    else:
        trait: RegressionFit = fit.trait
        _check_groups(trait, by)
        columns = (None, *dict.fromkeys(by))
        shares = [trait.prevalence(by=name, confidence=confidence, population=True) for name in columns]
        # Of an outcome that nothing but the hidden answer explains, there are no others.
        alone = isinstance(fit, HiddenFit) and bool(fit.model.outcomes) and not trait.design.columns
        changes = trait.marginal_effects(confidence=confidence) if effects and not alone else None
    gaps = [result.contrasts() for result in shares[1:]] if contrasts else []
    if isinstance(fit, RegressionFit):
        assert fit.evidence is not None
        return FitResults(
            fit, shares, {}, gaps, changes, _arms(fit, confidence), channel_fit_test(fit.evidence), confidence
        )
    hidden = {name: fit.shares(name, confidence=confidence) for name in fit.variables}
    outcome = fit.outcome_effects(confidence=confidence) if isinstance(fit, HiddenFit) and fit.model.outcomes else None
    return FitResults(fit, shares, hidden, gaps, changes, None, None, confidence, outcome)


def _check_groups(fit: RegressionFit, by: Sequence[str]) -> None:
    """Refuse groups that the formula does not know."""
    names = list(fit.design.columns)
    for column in by:
        if column not in names:
            raise InputError(
                words(
                    "{by} is {0}; allowed: {1}.", repr(column), shorten(names) or "no column, for the formula has none"
                ),
                remedy=words(
                    "Put it into {formula}: a model that does not know the groups cannot tell their shares apart."
                ),
            )


def _arms(fit: RegressionFit, confidence: float) -> ArmAgreement | None:
    """What every arm tells; None where there are none to compare, of which the messages of the fit speak."""
    if fit.evidence is None or len({chunk.arm for chunk in fit.evidence.chunks}) < 2:
        return None
    try:
        return arm_agreement(fit, confidence=confidence)
    except (InputError, NotIdentifiedError):
        return None
