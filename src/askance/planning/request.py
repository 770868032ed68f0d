"""What is asked of every channel alike, and what each answers: one row of a plan."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from askance._words import words
from askance.channels.list_experiment import ListExperiment
from askance.channels.statistics.moment_release import MomentRelease
from askance.errors import AskanceError, InputError
from askance.planning.counts import MOST_COUNTED, Counted, CountTest
from askance.planning.goals import Goal
from askance.planning.guessed_design import GuessedDesign
from askance.planning.levels import smallest_level
from askance.planning.result import PlannedDesign
from askance.planning.subject import AnyDesign, Builder, Limit, Subject

# Where predicted log-odds are off by more than this (root mean square), the normal approximation behind all figures is
# rough. For direct questions it is the rule of ten cases of the rarer answer per parameter.
_ROUGH = 1 / 3
# Stands for the logarithm of an error without bounds.
_NOT_BUILT = 700.0
# A list whose errors under the null are below this share of those at the guess has .42 to .73 of a planned power of .8.
_MUCH_LESS = 0.9
# Respondents of which a logarithm can be taken.
_LEAST_NEEDED = 1e-300


@dataclass(frozen=True)
class Request:
    """What is asked of every channel alike.

    Attributes:
        subject: model, guesses and target.
        goal: how precise.
        method: the estimator that was asked for.
        n: respondents; None where they are sought.
        level: at which named channels are built; None where it is sought, or all channels are given.
    """

    subject: Subject
    goal: Goal
    method: str
    n: int | None
    level: Fraction | None

    @property
    def unknown(self) -> str:
        """What is solved for."""
        if self.goal.name == "n":
            return "precision"
        return "n" if self.n is None else "privacy_level"

    @cached_property
    def null_subject(self) -> Subject | None:
        """Where the null hypothesis holds; None where errors there do not matter."""
        test = self.goal.test
        return None if test is None or test.rule == "wald" else self.subject.at(test.null)

    def null_sigma(self, design: AnyDesign | None, sigma: float) -> float:
        """σ₀, with which estimates are compared."""
        if self.null_subject is None:
            return sigma
        counted = self._counted(design)
        if counted is not None:
            return counted.reports.sigma(counted.hypothesis.null)
        limit = self.null_subject.direct() if design is None else self.null_subject.limit(design)
        found = math.sqrt(self.null_subject.mean(limit.variances))
        if limit.method != "moments" and found < _MUCH_LESS * sigma and _is_list(design):
            raise InputError(
                "is score, but under the null hypothesis hardly anybody says yes to all items of a list, which makes "
                f"errors there {found / sigma:.2g} of those at the guess: so much power is not there",
                argument="test",
                remedy=words("Plan with {test=wald}, or the difference in means with {method=moments}."),
            )
        return found

    def _counted(self, design: AnyDesign | None) -> CountTest | None:
        """The test as one of the number of yes reports, where it is one."""
        test, reports = self.goal.test, self.subject.yes_reports(design)
        return None if test is None or reports is None else CountTest(test, reports)

    def row(self, name: str, design: AnyDesign | None, limit: Limit, direct_variance: float) -> PlannedDesign:
        """Turn σ² into respondents, or respondents into precision."""
        (sigma, null_sigma), counted, n = self.sigmas(design, limit), self._counted(design), self.n
        self._require_counted(counted, name)
        if n is None and counted is not None and self.goal.name == "power":
            n = counted.smallest_n(self.goal.wanted)
            counted = None if n is None else counted  # what follows from a formula is not called exact
        if n is None:
            n = self.goal.respondents(sigma, null_sigma, name)
        error = sigma / math.sqrt(n)
        parameters, level = self._described(design)
        return PlannedDesign(
            design=name,
            parameters=parameters,
            privacy_level=level,
            unit_error=sigma,
            n=int(n),
            standard_error=error,
            interval_width=2 * self.goal.quantile * error,
            power=self.goal.power(error, null_sigma / math.sqrt(n)),
            null_error=None if self.goal.test is None else null_sigma / math.sqrt(n),
            counted=None if counted is None or n > MOST_COUNTED else Counted.of(counted, n),
            price=sigma**2 / direct_variance,
            rough=limit.roughness / math.sqrt(n) > _ROUGH,
            method=limit.method,
            worst_error=math.sqrt(float(limit.variances.max()) / n),
            bias=limit.bias,
            tends_to=limit.tends_to,
            channel=design,
        )

    def _require_counted(self, counted: CountTest | None, name: str) -> None:
        """Refuse an exact test of what is not counted."""
        if counted is None and self.goal.test is not None and self.goal.test.rule == "exact":
            raise InputError(
                f"is exact, but the {self.subject.label} through {name} is not learned from a number of yes reports",
                argument="test",
                remedy=words("Plan one share of two outputs without covariates, or with {test=score}."),
            )

    def _described(self, design: AnyDesign | None) -> tuple[dict[str, Any], float]:
        if design is None:
            return dict(self.subject.direct_parameters), math.inf
        channel = design.channel if isinstance(design, MomentRelease) else design
        return channel.parameters(), channel.privacy_level

    def at_level(self, name: str, build: Builder, direct: float) -> PlannedDesign:
        """The channel of a family at the level, or at the smallest that reaches the goal."""
        if self.unknown != "privacy_level":
            assert self.level is not None
            design = build(self.level)
            return self.row(name, design, self.subject.limit(design), direct)
        assert self.n is not None
        known = dict[Fraction, tuple[AnyDesign, Limit]]()
        told = dict[Fraction, list[warnings.WarningMessage]]()  # of the channels on the way nobody hears

        def excess(level: Fraction) -> float:
            try:
                with warnings.catch_warnings(record=True) as told[level]:
                    warnings.simplefilter("always")
                    design = build(level)
                    known[level] = design, self.subject.limit(design)
            except AskanceError:
                if not known:
                    raise
                return _NOT_BUILT  # some channels cannot be built at large levels
            needed = self.goal.needed(*self.sigmas(*known[level]))
            return math.log(max(needed, _LEAST_NEEDED) / (self.n or 1)) - 1e-11  # last digits cost no step of the level

        level = smallest_level(excess)
        if level is None or level not in known:
            largest = max(known)
            error, null_error = (sigma / math.sqrt(self.n) for sigma in self.sigmas(*known[largest]))
            raise OutOfReachError(
                f"even at level {float(largest):g} {self.n:,} respondents have {self.goal.shown(error, null_error)}.",
                remedy="Take another channel, or more respondents.",
            )
        for warning in told[level]:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        return self.row(name, *known[level], direct)

    def sigmas(self, design: AnyDesign | None, limit: Limit) -> tuple[float, float]:
        """σ at the guess, and under the null."""
        sigma = math.sqrt(self.subject.mean(limit.variances))
        return sigma, self.null_sigma(design, sigma)


def _is_list(design: AnyDesign | None) -> bool:
    return isinstance(design, GuessedDesign) and isinstance(design.design, ListExperiment)


class OutOfReachError(InputError):
    """No privacy level takes a channel to the goal."""
