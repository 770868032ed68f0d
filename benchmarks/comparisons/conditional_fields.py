"""Fitting a random field given two public covariates to 20,000 noised reports, no two of the same x: CPU seconds.

No peer fits such fields to noised tables. The small field is the one of docs/private-fields.md.
"""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, WrongResultError

_RESPONDENTS, _LEVEL = 20_000, 3
_SMALL, _LARGE = "3 variables, 2 pairs", "6 of 3 values, 15 pairs"


def _field(case: Case) -> Any:
    from askance import RandomField

    if case["field"] == _SMALL:
        variables = {"smokes": ["no", "yes"], "age": ["young", "middle", "old"], "ill": ["no", "yes"]}
        pairs = [["smokes", "age"], ["age", "ill"]]
    else:
        variables = {f"v{i}": ["a", "b", "c"] for i in range(6)}
        pairs = [list(pair) for pair in combinations(variables, 2)]
    return RandomField(variables, pairs, covariates=["income", "year"])


def askance(case: Case, n: int) -> Reading:
    """From covariates and reports to a fit with its covariance."""
    import numpy as np

    from askance import Responses, estimate_field, field_release

    rng, field = np.random.default_rng(4), _field(case)
    x = np.column_stack([rng.gamma(2, 0.5, _RESPONDENTS), rng.normal(size=_RESPONDENTS)])
    channel = field_release(field, privacy_level=_LEVEL, channel="cliques")
    reports = channel.simulate(field.sample(np.zeros(field.dimension), _RESPONDENTS, rng, x), rng)

    def read() -> float:
        start = time.process_time()
        fit = estimate_field(field, Responses(channel).add(x, reports))
        seconds = time.process_time() - start
        if not fit.converged or not np.isfinite(fit.standard_errors).all():
            raise WrongResultError(f"converged: {fit.converged}")
        return seconds

    def warm_up() -> Any:
        return estimate_field(field, Responses(channel).add(x[:2_000], reports[:2_000]))

    return Reading(read, warm_up)


COMPARISON = Comparison(
    name="conditional-fields",
    question="How long does it take to fit a random field given covariates, 20,000 different ones?",
    subject=Subject.FIELDS,
    unit="s",
    cases=({"field": _SMALL}, {"field": _LARGE}),
    ours=Side("askance", askance),
    better="less",
)
