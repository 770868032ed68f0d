"""The smallest comparison, known to the last figure: what the tests of the harness measure."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.harness.comparison import (
    Case,
    Comparison,
    Reading,
    Side,
    Subject,
    Target,
    Throughput,
    WrongResultError,
    no_warm_up,
)

#: What the contenders read, one value a repetition.
OURS, OTHERS = (6.0, 8.0, 12.0), (3.0, 2.0, 4.0)


def _reader(values: tuple[float, ...]) -> Callable[[Case, int], Reading]:
    def build(case: Case, n: int) -> Reading:
        left = iter(values)
        return Reading(lambda: next(left), warm_up=no_warm_up)

    return build


def _failing(case: Case, n: int) -> Throughput:
    def refuse(result: int) -> None:
        raise WrongResultError(f"the result is {result}")

    return Throughput(lambda: 7, refuse)


COMPARISON = Comparison(
    name="tiny",
    question="Is it tiny?",
    subject=Subject.COUNTING,
    unit="things",
    cases=({"size": 1}, {"size": 2}),
    ours=Side("askance", _reader(OURS)),
    peers=(Side("other", _reader(OTHERS), cases=({"size": 2},)), Side("failing", _failing)),
    target=Target(7.0, at_least=True),
)
