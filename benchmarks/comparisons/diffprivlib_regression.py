"""Linear regression on California housing, centred test R²: ours with every respondent noised, diffprivlib's with none.

The two do not promise the same. Ours is local: a record is noised before it leaves its owner. diffprivlib's is central:
one trusted server sees all records and noises the sums of its objective, b = Σxy and A = Σxxᵀ, with far less noise for
the same level. As shipped it minimises the noisy objective even where noise has left it without a minimum. The third
row takes exactly those noisy A and b, repairs A as ours (`repair_design`, told the standard error of their noise), and
solves.

The same data for all: eight raw columns, standardised by public means and deviations (those of the training part) and
clipped at ±3; the median of eleven splits, a fifth for testing (one run-away split would decide a mean), other ones in
every repetition, the same for all contenders. Needs ASKANCE_DATA, the folder with california.csv.gz.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Environment, Reading, Side, Subject, no_warm_up

# Of one repetition.
_SPLITS = 11
_CLIP = 3.0


class Split:
    """One split: raw training and test parts, and the training part's means and deviations (x first, y last)."""

    def __init__(self, number: int) -> None:
        import numpy as np

        table = _housing()
        self.seed = number
        order = np.random.default_rng(number).permutation(len(table))
        self.train, self.test = np.split(table[order], [round(0.8 * len(table))])
        self.centres, self.deviations = self.train.mean(axis=0), self.train.std(axis=0)

    def standard(self, table: Any) -> Any:
        """Standardised and clipped."""
        return ((table - self.centres) / self.deviations).clip(-_CLIP, _CLIP)

    def score(self, intercept: float, coefficients: Any) -> float:
        """1 − Σ(y − ŷ)²/Σ(y − ȳ)² on the test part, for coefficients on the standard scale; y is not clipped."""
        y = (self.test[:, -1] - self.centres[-1]) / self.deviations[-1]
        errors = y - intercept - self.standard(self.test)[:, :-1] @ coefficients
        return float(1 - (errors**2).sum() / ((y - y.mean()) ** 2).sum())


@cache
def _housing() -> Any:
    """Eight columns and the house value."""
    import numpy as np

    folder = os.environ.get("ASKANCE_DATA")
    if not folder:
        raise RuntimeError("set ASKANCE_DATA to the folder with california.csv.gz")
    return np.loadtxt(Path(folder) / "california.csv.gz", delimiter=",", skiprows=1)


def _median_score(score: Callable[[Split, float], float], case: Case) -> Reading:
    numbers = count()

    def read() -> float:
        return median(score(Split(next(numbers)), float(case["level"])) for _ in range(_SPLITS))

    return Reading(read, warm_up=no_warm_up)


def askance(case: Case, n: int) -> Reading:
    """Ours, with all defaults."""

    def score(split: Split, level: float) -> float:
        import numpy as np

        from askance.errors import RepairWarning
        from askance.estimation.linear import simulate_linear

        x, y = split.train[:, :-1], split.train[:, -1]
        scales = (split.centres, split.deviations)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepairWarning)
            fit = simulate_linear(x, y, level, np.random.default_rng([split.seed, round(level)]), scales=scales)
        slopes = fit.slopes * split.deviations[:-1] / split.deviations[-1]
        intercept = fit.intercept + fit.slopes @ split.centres[:-1] - split.centres[-1]
        return split.score(intercept / split.deviations[-1], slopes)

    return _median_score(score, case)


def _diffprivlib_fit(split: Split, level: float) -> Any:
    """Its fit; columns are centred by public means already, yet its own private centring is left on, as shipped."""
    from diffprivlib.models import LinearRegression  # type: ignore[import-not-found]

    class Remembering(LinearRegression):  # type: ignore[misc]
        def _preprocess_data(self, *data: Any, **options: Any) -> Any:
            found = LinearRegression._preprocess_data(*data, **options)
            self.noised_means = found[2], found[3]
            return found

    train, bounds = split.standard(split.train), (-_CLIP, _CLIP)
    model = Remembering(epsilon=level, bounds_X=bounds, bounds_y=bounds, random_state=split.seed)
    return model.fit(train[:, :-1], train[:, -1])


def diffprivlib(case: Case, n: int) -> Reading:
    """Theirs, as shipped: a general minimiser on the noisy objective, bounded below or not."""

    def score(split: Split, level: float) -> float:
        fit = _diffprivlib_fit(split, level)
        return split.score(float(fit.intercept_), fit.coef_)

    return _median_score(score, case)


def diffprivlib_repaired(case: Case, n: int) -> Reading:
    """The noisy coefficients and means of the very same fit; A repaired, A w = b solved."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))  # the repair itself needs NumPy alone

    def score(split: Split, level: float) -> float:
        import numpy as np

        from askance.estimation.problems.moment_repair import repair_design

        fit = _diffprivlib_fit(split, level)
        _, products, squares = fit._obj_coefs
        rows, columns = len(split.train), len(squares)
        # Of the level, p/(p + 1) goes in equal parts to Σy², the p sums Σx_i y and the p(p + 1)/2 sums Σx_i x_j, whose
        # products lie between −9 and 9 (its noised means move that by a percent).
        share = level * columns / (columns + 1) / (1 + columns + columns * (columns + 1) / 2)
        noise = math.sqrt(2) * 2 * _CLIP**2 / share / rows
        design = np.eye(columns + 1)  # the intercept comes first; columns are centred, so it meets none of them
        design[1:, 1:] = squares / rows
        slopes = np.linalg.solve(repair_design(design, noise).repaired[1:, 1:], products[:, 0] / rows)
        x_mean, y_mean = fit.noised_means
        return split.score(float(y_mean - x_mean @ slopes), slopes)

    return _median_score(score, case)


DIFFPRIVLIB = Environment(
    "diffprivlib", ("diffprivlib==0.6.6", "scikit-learn==1.6.1"), ("diffprivlib", "scikit-learn", "numpy")
)

COMPARISON = Comparison(
    name="diffprivlib-regression",
    question=(
        "How good is a linear regression on California housing (centred test R²) when every respondent is "
        "noised, beside a trusted server that noises sums?"
    ),
    subject=Subject.REGRESSION,
    unit="R²",
    cases=tuple({"level": level} for level in (1, 2, 4, 8)),
    ours=Side("askance, local", askance),
    peers=(
        Side("diffprivlib, central, as shipped", diffprivlib, DIFFPRIVLIB),
        Side("diffprivlib, central, our repair", diffprivlib_repaired, DIFFPRIVLIB),
    ),
    by_difference=True,
    data=("california.csv.gz",),
)
