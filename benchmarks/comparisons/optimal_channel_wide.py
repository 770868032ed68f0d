"""Finding the optimal channel of 12 or 14 outputs, with its proof: CPU seconds on one core."""

from __future__ import annotations

from benchmarks.comparisons.optimal_channel import askance, cases
from benchmarks.harness.comparison import Comparison, Side, Subject, Target

COMPARISON = Comparison(
    name="optimal-channel-wide",
    question="How long does it take to find the optimal channel of 12 or 14 outputs, with its proof?",
    subject=Subject.DESIGN,
    unit="s",
    cases=(*cases(12, (1, 4, 11)), *cases(14, (4,))),
    ours=Side("askance", askance),
    target=Target(60.0, at_least=False),
    better="less",
)
