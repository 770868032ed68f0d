"""How fast 1024 statistics of a respondent become 1024 noised bits."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Target, Throughput, WrongResultError

DIMENSION = 1024
NORM = 8


def wide_channel(n: int) -> tuple[Any, Any]:
    """Per-value release of 1024 bits of which up to 8 are set, and truth of n respondents."""
    import numpy as np

    from askance import PerValue

    truth = np.zeros((n, DIMENSION), dtype=np.bool_)
    truth[np.arange(n)[:, None], np.random.default_rng(7).integers(DIMENSION, size=(n, NORM))] = True
    return PerValue(DIMENSION, 1, max_l1_norm=NORM), truth


def check_means(channel: Any, truth: Any, mean: Any, sums: Any) -> None:
    """Every mean within seven standard errors."""
    import numpy as np

    errors = np.sqrt(channel.variances(sums, len(truth)) / len(truth))
    if (np.abs(mean - truth.mean(axis=0)) > 7 * errors).any():
        raise WrongResultError(f"means are {mean}")


def askance(case: Case, n: int) -> Throughput:
    """`randomize` of booleans, at level 1."""
    channel, truth = wide_channel(n)

    def check(reports: Any) -> None:
        sums = channel.sums(reports)
        check_means(channel, truth, channel.mean(sums, n), sums)

    return Throughput(lambda: channel.randomize(truth), check)


COMPARISON = Comparison(
    name="statistics-wide",
    question="How fast are 1024 statistics noised as 1024 bits?",
    subject=Subject.NOISING,
    unit="reports/s",
    cases=({"statistics": DIMENSION},),
    ours=Side("askance", askance),
    sizes=Sizes(smallest=10_000, largest=100_000),
    target=Target(1e6, at_least=True),
)
