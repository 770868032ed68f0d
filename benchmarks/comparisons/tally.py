"""How fast reports are counted: 10⁷ of them over 16 categories in one call."""

from __future__ import annotations

from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Target, Throughput, WrongResultError

_CATEGORIES = 16


def askance(case: Case, n: int) -> Throughput:
    """`Tally(channel).add(reports)`; reports are spread evenly, or all the same (the counter's worst case)."""
    import numpy as np

    from askance.channels import RandomizedResponse
    from askance.evidence import Tally

    channel = RandomizedResponse.for_privacy_level(1, outputs=_CATEGORIES)
    drawn = np.random.default_rng(7).integers(_CATEGORIES, size=n, dtype=np.uint8)
    data = drawn if case["data"] == "uniform" else np.full(n, 3)
    reports = data.astype(str(case["type"]))

    def check(tally: Tally) -> None:
        if not np.array_equal(tally.counts, np.bincount(reports, minlength=_CATEGORIES)):
            raise WrongResultError(f"counts are {tally.counts}")

    return Throughput(lambda: Tally(channel).add(reports), check)


COMPARISON = Comparison(
    name="tally",
    question="How fast are 10⁷ reports over 16 categories counted?",
    subject=Subject.COUNTING,
    unit="reports/s",
    cases=tuple({"type": kind, "data": data} for kind in ("uint8", "int64") for data in ("uniform", "all equal")),
    ours=Side("askance", askance),
    sizes=Sizes(smallest=10**7, largest=10**7),
    target=Target(200e6, at_least=True),
)
