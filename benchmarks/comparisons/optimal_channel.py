"""Finding the optimal channel of 8 outputs, with its proof: CPU seconds on one core. No peer finds such channels."""

from __future__ import annotations

import time

from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target, WrongResultError

_PROVED = 1e-6


def askance(case: Case, n: int) -> Reading:
    """CPU seconds of one search at level 1, from a model to the finished channel."""
    import numpy as np

    from askance import Enumerated, optimal_channel
    from askance.design.optimum.problem import Target as Wanted

    outputs, statistics = int(case["m"]), int(case["d"])
    rng = np.random.default_rng([outputs, statistics])
    model, theta = Enumerated(rng.normal(size=(statistics, outputs))), 0.5 * rng.normal(size=statistics)
    target: Wanted = "moments" if case["target"] == "moments" else "likelihood"

    def read() -> float:
        start = time.process_time()
        channel = optimal_channel(model, 1, theta, target=target)
        seconds = time.process_time() - start
        if not channel.gap <= _PROVED or not channel.is_proved:
            raise WrongResultError(f"a gap of {channel.gap:.2g}, proved: {channel.is_proved}")
        return seconds

    small, point = Enumerated(np.arange(3.0)[None]), np.zeros(1)
    return Reading(read, warm_up=lambda: optimal_channel(small, 1, point, target=target))


def cases(outputs: int, statistics: tuple[int, ...]) -> tuple[Case, ...]:
    """Both targets for every number of statistics."""
    targets = ("likelihood", "moments")
    return tuple({"m": outputs, "d": d, "target": target} for d in statistics for target in targets)


COMPARISON = Comparison(
    name="optimal-channel",
    question=(
        "How long does it take to find the optimal channel of 8 outputs, with its proof? (No peer finds such channels.)"
    ),
    subject=Subject.DESIGN,
    unit="s",
    cases=cases(8, (1, 3, 7)),
    ours=Side("askance", askance),
    target=Target(2.0, at_least=False),
    better="less",
)
