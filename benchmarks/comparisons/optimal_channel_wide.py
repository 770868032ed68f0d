"""Finding the optimal channel of 12 outputs, with its proof: CPU seconds on one core. No peer finds such channels."""

from __future__ import annotations

from benchmarks.comparisons.optimal_channel import askance, cases
from benchmarks.harness.comparison import Comparison, Side, Target

COMPARISON = Comparison(
    name="optimal-channel-wide",
    unit="s",
    cases=cases(12, (1, 4, 11)),
    ours=Side("askance", askance),
    target=Target(60.0, at_least=False),
)
