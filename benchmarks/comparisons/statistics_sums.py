"""How fast reports of 1024 noised bits are checked, summed and turned into means."""

from __future__ import annotations

from typing import Any

from benchmarks.comparisons.statistics_wide import DIMENSION, check_means, wide_channel
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Target, Throughput


def askance(case: Case, n: int) -> Throughput:
    """`Tally(channel).add(reports).mean()`, the reports made of their columns."""
    import numpy as np

    from askance import Tally
    from askance.channels import Reports

    channel, truth = wide_channel(n)
    columns = dict(channel.simulate(truth, np.random.default_rng(7)).columns)

    def run() -> Any:
        tally = Tally(channel).add(Reports(channel, columns))
        return tally.mean(), tally

    def check(result: Any) -> None:
        mean, tally = result
        check_means(channel, truth, mean, tally.sums)

    return Throughput(run, check)


COMPARISON = Comparison(
    name="statistics-sums",
    question="How fast do reports of 1024 bits become means?",
    subject=Subject.COUNTING,
    unit="reports/s",
    cases=({"statistics": DIMENSION},),
    ours=Side("askance", askance),
    sizes=Sizes(smallest=100_000, largest=100_000),
    target=Target(20e6, at_least=True),
)
