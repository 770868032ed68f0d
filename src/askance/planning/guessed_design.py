"""Designs with groups of their own in a plan: what is hidden beside the trait has to be guessed too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import FloatArray
from askance._checks import Number, as_list, as_many, as_probability, instance, number
from askance._words import Either, words
from askance.channels.armed_design import ArmedDesign
from askance.channels.list_experiment import ListExperiment
from askance.design.covariances import invert_information
from askance.errors import InputError, ProbabilityError
from askance.estimation.problems.hidden_problem import HiddenPass
from askance.models.hidden import Factor, HiddenVariables

#: A share of yes (of items: the share of each), or the shares of all values.
Guess: TypeAlias = Number | Sequence[Number]
# Shares that should sum to 1 may miss it by this much, as rounded ones do.
_ROUNDED = 1e-3


@dataclass(frozen=True, eq=False)
class GuessedDesign:
    """A design with groups, and guesses of its nuisances: what a plan needs to predict errors through it.

    With p_θ the law of trait and nuisances, w_g the part of group g and S_g its table, one respondent tells

        I = Σ_g w_g Ê Σ_o q_g(o|x)⁻¹ ∇q_g ∇q_gᵀ,   q_g(o|x) = Σ_h S_g(o|h) p_θ(h|x),

    and Σ of the trait is its block of I⁻¹: what is not known of nuisances is part of the error.

    Args:
        design: `StochasticLieDetector`, `ListExperiment` and others with groups of their own.
        guesses: of every nuisance the share of yes; of items of a list the share of each item, or of all numbers 0 …
            J. They do not depend on covariates.
        parts: of all respondents in every group; default: equal ones.

    >>> from askance import Enumerated, Share, StochasticLieDetector, plan_survey
    >>> design = GuessedDesign(StochasticLieDetector(["1/5", "4/5"]), {"honest": "3/4"})
    >>> yes_no, guess = Enumerated.saturated(["no", "yes"]), [-1.0986123]
    >>> row = plan_survey(yes_no, design, guess, target=Share("yes"), standard_error=0.02).designs[0]
    >>> row.n, round(row.price, 2)  # Σ q (1 − q) / (w (p₁ − p₂)²), as the literature has it
    (5430, 11.58)
    """

    design: ArmedDesign
    guesses: Mapping[str, Guess]
    parts: Sequence[Number] | None = None
    _laws: dict[str, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        instance(self.design, ArmedDesign, "design", "a design with groups of its own", "Give others as they are.")
        _, *others = self.design.model(["Intercept"]).factors
        names = [factor.name for factor in others]
        if isinstance(self.design, ListExperiment) and len(self.design.traits) > 1:
            raise InputError(
                f"there are {len(self.design.traits)} sensitive items; allowed in a plan: one.",
                remedy="Plan for each by itself, with its own treated group.",
            )
        if set(self.guesses) != set(names):
            guessed = ", ".join(map(str, self.guesses)) or "none"
            first = names[0]
            raise InputError(
                f"{self.kind} needs guesses of {' and '.join(names)}; given: {guessed}.",
                remedy=words("{0}.", Either(f"Give guesses={{{first!r}: 0.4}}, say", f"Add --guess {first}=0.4, say")),
            )
        self._laws.update({factor.name: _law(factor, self.guesses[factor.name]) for factor in others})

    @property
    def kind(self) -> str:
        """The design's."""
        return self.design.kind

    @property
    def privacy_level(self) -> float:
        """The design's, about the trait."""
        return self.design.privacy_level

    def parameters(self) -> dict[str, Any]:
        """Of the design, as they are typed, and the guesses."""
        stated = {name: value for name, value in self.design.parameters().items() if name != "groups" and value}
        typed = {name: ",".join(map(str, v)) if isinstance(v, list) else v for name, v in stated.items()}
        guessed = {name: ",".join(map(str, _listed(guess))) for name, guess in self.guesses.items()}
        return {**typed, **{f"guessed {name}": text for name, text in guessed.items()}}

    @cached_property
    def _weights(self) -> dict[Any, float]:
        groups = list(self.design.arms)
        if self.parts is None:
            return dict.fromkeys(groups, 1 / len(groups))
        parts = [number(float(as_probability(p, "parts")), "parts", 0, 1, open=True) for p in self.parts]
        as_many(parts, len(groups), "parts", f"parts for {len(groups)} groups", "Give one per group.")
        return dict(zip(groups, _summed_to_one(np.array(parts), "parts").tolist(), strict=True))

    def covariance(self, theta: FloatArray, x: FloatArray, weights: FloatArray, terms: Sequence[str]) -> FloatArray:
        """Σ = n · Cov of the trait's θ̂ by the likelihood, shape (d, d).

        Args:
            theta: of the trait, shape (d,).
            x: a sample of covariates, shape (rows, d).
            weights: of its rows, which sum to 1, shape (rows,).
            terms: names of the columns.
        """
        model: HiddenVariables = self.design.model(list(terms))
        at = HiddenPass(model, self._parameters(model, theta), x)
        information = sum(
            self._weights[group] * at.report_information(channel.matrix, weights)
            for group, channel in self.design.arms.items()
        )
        sigma = invert_information(np.asarray(information), model.parameter_names, "the design")
        return sigma[: len(theta), : len(theta)]

    def difference_in_means(self, theta: FloatArray, x: FloatArray, weights: FloatArray, terms: Sequence[str]) -> float:
        """n · Var of the difference between the mean counts of treated and others: Σ_g Var(count | g)/w_g."""
        design = self.design
        if not isinstance(design, ListExperiment) or design.ceiling or design.floor or design.direct is not None:
            raise InputError(
                f"is moments, but {self.kind} has no difference in means whose errors are known",
                argument="method",
                remedy=words("Plan with {method=best}; lists that take all counts for the truth have one."),
            )
        model = design.model(list(terms))
        p = weights @ HiddenPass(model, self._parameters(model, theta), x).probabilities
        total = 0.0
        for group, channel in design.arms.items():
            counts, q = np.arange(len(channel.matrix)), channel.matrix @ p
            total += float(q @ counts**2 - (q @ counts) ** 2) / self._weights[group]
        return total

    def _parameters(self, model: HiddenVariables, theta: FloatArray) -> FloatArray:
        """θ with the parameters at which nuisances have the guessed laws, whatever the covariates."""
        whole = np.zeros(model.dimension)
        whole[: len(theta)] = theta
        for factor, block in list(zip(model.factors, model.blocks, strict=True))[1:]:
            effects = _effects(factor, self._laws[factor.name])
            width = (block.stop - block.start) // len(factor.table)
            whole[block.start : block.stop : width] = effects  # the intercept is the first column
        return whole


def _listed(guess: Guess) -> list[Number]:
    """One number or several."""
    return [guess] if isinstance(guess, str) or not isinstance(guess, Sequence) else list(guess)


def _law(factor: Factor, guess: Guess) -> FloatArray:
    """The shares of all values of a nuisance; one number is the share of yes, or of each of the items."""
    count = len(factor.outputs)
    name = f"the guess of {factor.name}"
    shares = [float(as_probability(p, name)) for p in as_list(_listed(guess), name, "0.8")]
    for share in shares:
        number(
            share, name, 0, 1, open=True, remedy="At 0 and 1 nothing varies: guess 0.02, say.", error=ProbabilityError
        )
    if len(shares) == 1:
        (share,) = shares
        return np.array([comb(count - 1, k) * share**k * (1 - share) ** (count - 1 - k) for k in range(count)])
    as_many(shares, count, name, f"one share, or {count}", "Give the share of every value.")
    return _summed_to_one(np.array(shares), name)


def _effects(factor: Factor, law: FloatArray) -> FloatArray:
    """Parameters at which a variable has a law, shape (T,): Φᵀη + c = log p − log h."""
    places, wanted = np.vstack([factor.table, np.ones(len(law))]).T, np.log(law) - factor.log_base
    effects = np.linalg.lstsq(places, wanted, rcond=None)[0]
    if np.abs(places @ effects - wanted).max() > _ROUNDED:
        raise InputError(
            f"the guessed shares of {factor.name} are of no binomial distribution, which the design assumes.",
            remedy="Guess one share, that of each item, or plan with the multinomial law.",
        )
    return np.asarray(effects[:-1], dtype=np.float64)


def _summed_to_one(shares: FloatArray, name: str) -> FloatArray:
    total = float(shares.sum())
    number(total, f"the sum of {name}", 1 - _ROUNDED, 1 + _ROUNDED, remedy="Give shares that add up to 1.")
    return np.asarray(shares / total)
