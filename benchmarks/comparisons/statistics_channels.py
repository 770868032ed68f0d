"""How fast channels on tables of labels draw: subset selection, and one of 28 tables of a record of eight variables."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Side, Subject, Target, Throughput, WrongResultError

VARIABLES = 8
_VALUES = 4  # of every variable


def _channel_and_truth(case: Case, n: int) -> tuple[Any, Any]:
    from itertools import combinations

    import numpy as np

    from askance.channels.statistics import CliqueRelease, SubsetSelection

    rng = np.random.default_rng(7)
    if case["channel"] == "subset-selection":
        outputs = int(case["outputs"])
        return SubsetSelection(outputs, 1), rng.integers(outputs, size=n)
    pairs = [list(pair) for pair in combinations(range(VARIABLES), 2)]
    records = rng.integers(_VALUES, size=(n, VARIABLES), dtype=np.uint8)
    return CliqueRelease([_VALUES] * VARIABLES, pairs, 1), records


def askance(case: Case, n: int) -> Throughput:
    """`randomize`, at level 1."""
    import numpy as np

    channel, truth = _channel_and_truth(case, n)

    def check(reports: Any) -> None:
        mean = channel.mean(channel.sums(reports), n)
        expected = channel.statistics(truth).mean(axis=0)
        errors = np.sqrt(channel.variances(channel.sums(reports), n) / n)
        if (np.abs(mean - expected) > 6.5 * errors).any():
            raise WrongResultError(f"means are {mean}")

    return Throughput(lambda: channel.randomize(truth), check)


COMPARISON = Comparison(
    name="statistics-channels",
    question="How fast are tables of labels noised: subset selection, and one of 28 tables of eight variables?",
    subject=Subject.NOISING,
    unit="reports/s",
    cases=(
        {"channel": "subset-selection", "outputs": 16},
        {"channel": "subset-selection", "outputs": 64},
        {"channel": "clique-release", "tables": "all 28 pairs of 8 variables"},
    ),
    ours=Side("askance", askance),
    target=Target(5e6, at_least=True),
)
