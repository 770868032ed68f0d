"""Several fits side by side, as papers print them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askance._checks import shown
from askance.errors import InputError
from askance.estimation.results.fit import Fit
from askance.estimation.results.fit_table import describe_channel, level_text
from askance.tables import Backend, Column, Table, Tabulated, as_json, estimate_columns, shown_value

# p-values below which an estimate has one star, two or three.
_STARS = (0.05, 0.01, 0.001)


@dataclass(frozen=True, eq=False)
class FitComparison(Tabulated):
    """A column for every fit: coefficients over their standard errors, and how each fit came about.

    Attributes:
        fits: by the name of their column.
        stars: whether estimates are marked by their p-values.

    >>> from askance import ForcedResponse, regress
    >>> rng = np.random.default_rng(5)
    >>> age, design = rng.uniform(20, 60, 3000), ForcedResponse("2/3", "1/6")
    >>> truth = np.where(rng.random(3000) < 1 / (1 + np.exp(3 - age / 20)), "yes", "no")
    >>> data = {"said": design.simulate(truth, rng), "decades": age / 10}
    >>> empty = regress("said ~ 1", data, design, method="marginal")
    >>> full = regress("said ~ decades", data, design, method="marginal")
    >>> print(compare_fits({"empty": empty, "age": full}))
    term               empty       age
    ----------------------------------
    coefficients (standard errors)
    Intercept        -0.8568   -2.6497
                    (0.0630)  (0.2677)
    decades                     0.4377
                              (0.0598)
    <BLANKLINE>
    fit
    reports            3,000     3,000
    log-likelihood  -1969.28  -1938.29
    AIC              3940.55   3880.58
    method          marginal  marginal
    errors          expected  expected
    privacy level      1.609     1.609
    ----------------------------------
    design: forced-response: truth 2/3, yes 1/6, no 1/6
    """

    fits: Mapping[str, Fit]
    stars: bool = False

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Of all fits, in the order in which they come."""
        return tuple(dict.fromkeys(name for fit in self.fits.values() for name in fit.parameter_names))

    def table(self) -> Table:
        """The layout of papers; cells are texts. Numbers stand in `tidy`."""
        columns = [Column("", "heading", "part"), Column("term"), *(Column(n, align="right") for n in self.fits)]
        rows: list[tuple[str, ...]] = []
        for name in self.parameter_names:
            cells = [self._cells(fit, name) for fit in self.fits.values()]
            rows.append(("coefficients (standard errors)", name, *(estimate for estimate, _ in cells)))
            rows.append(("coefficients (standard errors)", "", *(error for _, error in cells)))
        described = [_about(fit) for fit in self.fits.values()]
        rows += [("fit", name, *(about[name] for about in described)) for name in described[0]]
        alarms = [f"{name}: {alarm}" for name, fit in self.fits.items() for alarm in fit.alarms]
        return Table(columns, rows, notes=self._notes(), alarms=alarms, most_rows=len(rows))

    def tidy(self, confidence: float = 0.95) -> Table:
        """A row for every parameter of every fit, with all digits: what `to_frame` and `to_csv` hold."""
        by_t = any(fit.freedom is not None for fit in self.fits.values())
        rows = [
            (name, *row)
            for name, fit in self.fits.items()
            for row in fit.coefficient_rows(confidence, fit.parameter_names, by_t=by_t)
        ]
        columns = (
            Column("fit", "heading"),
            Column("parameter"),
            *estimate_columns(confidence, tests="t" if by_t else "z"),
        )
        return Table(columns, rows, notes=self._notes(), most_rows=len(rows))

    def to_frame(self, backend: Backend | None = None) -> Any:
        """A row for every parameter of every fit as a data frame; see `Table.to_frame`."""
        return self.tidy().to_frame(backend)

    def to_csv(self) -> str:
        """A row for every parameter of every fit as CSV."""
        return self.tidy().to_csv()

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values of every fit."""
        return {
            "fits": [
                {"name": name, **fit.to_json(confidence), "aic": as_json(_criterion(fit))}
                for name, fit in self.fits.items()
            ]
        }

    def _cells(self, fit: Fit, name: str) -> tuple[str, str]:
        """Estimate and standard error; empty where the fit has no such parameter."""
        if name not in fit.parameter_names:
            return "", ""
        place = fit.parameter_names.index(name)
        p, error = fit.p_values[place], shown_value(fit.standard_errors[place], "number")
        stars = "*" * sum(bool(p < least) for least in _STARS) if self.stars else ""
        return shown_value(fit.theta[place], "number") + stars, f"({error})"

    def _notes(self) -> list[str]:
        designs: dict[str, list[str]] = {}
        for name, fit in self.fits.items():
            designs.setdefault(describe_channel(fit.channel), []).append(name)
        alone = len(designs) == 1
        notes = [f"design: {d}" if alone else f"design of {', '.join(names)}: {d}" for d, names in designs.items()]
        if len({fit.n_observations for fit in self.fits.values()}) > 1:
            notes.append("the fits are of different numbers of reports: do not compare their likelihoods")
        if self.stars:
            notes.append("; ".join(f"{'*' * k}: P < {p:g}" for k, p in enumerate(_STARS, 1)))
        notes += [f"{name}: the solver did not converge" for name, fit in self.fits.items() if not fit.converged]
        return notes


def compare_fits(fits: Mapping[str, Fit] | Sequence[Fit] | Fit, *, stars: bool = False) -> FitComparison:
    """Put fits side by side.

    Args:
        fits: by the names of their columns; without names they are numbered (1), (2), …
        stars: whether to mark estimates whose p-values are below .05, .01 and .001.
    """
    fits = [fits] if isinstance(fits, Fit) else fits
    named = fits if isinstance(fits, Mapping) else {f"({place})": fit for place, fit in enumerate(fits, start=1)}
    strange = [fit for fit in named.values() if not isinstance(fit, Fit)]
    if not named or strange:
        raise InputError(
            argument="fits",
            got=shown(type(strange[0]).__name__ if strange else named),
            allowed="fits, by their names",
            remedy='Write compare_fits({"model 1": fit, …}).',
        )
    return FitComparison({str(name): fit for name, fit in named.items()}, stars)


def _criterion(fit: Fit) -> float:
    return float(getattr(fit, "aic", math.nan))


def _about(fit: Fit) -> dict[str, str]:
    """How a fit came about, in a few cells."""
    height = fit.log_likelihood if math.isfinite(fit.log_likelihood) else np.nan
    return {
        "reports": f"{fit.n_observations:,}",
        "log-likelihood": shown_value(height, "decimal", 2),
        "AIC": shown_value(_criterion(fit), "decimal", 2),
        "method": fit.method,
        "errors": fit.covariance_kind,
        "privacy level": level_text(fit.privacy_level),
    }
