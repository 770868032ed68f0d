"""Unary encoding of 128 labels on the server's side, from reports to shares: reports per CPU second, at level 1.

Every contender is given reports as its own client makes them: askance and OpenDP 128 packed bits, the other peers 128
numbers of eight bytes. askance checks them on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from benchmarks.comparisons.randomized_response import MULTI_FREQ, OPENDP, PURE_LDP
from benchmarks.comparisons.unary_encoding import KEEP, LABELS, LEVEL, truth
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Target, Throughput, WrongResultError

_SEED = 8


def askance(case: Case, n: int) -> Throughput:
    """The documented call."""
    import numpy as np

    from askance import PerValue, Tally
    from askance.channels import Reports

    channel, labels = PerValue(LABELS, 1, l1_norm=1), truth(n)
    columns = dict(channel.simulate(np.eye(LABELS)[labels], np.random.default_rng(_SEED)).columns)
    return Throughput(lambda: Tally(channel).add(Reports(channel, columns)).mean(), _checker(labels))


def multi_freq_ldpy(case: Case, n: int) -> Throughput:
    """Its documented call: UE_Aggregator_MI takes a list of vectors."""
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI  # type: ignore[import-not-found]

    labels = truth(n)
    reports = list(_noised(labels, "float64"))
    return Throughput(lambda: UE_Aggregator_MI(reports, LEVEL, False), _checker(labels, clipped=True))


def pure_ldp(case: Case, n: int) -> Throughput:
    """Its documented calls: UEServer.aggregate_all, then estimate_all."""
    from pure_ldp.frequency_oracles.unary_encoding import UEServer  # type: ignore[import-not-found]

    server, labels = UEServer(epsilon=LEVEL, d=LABELS), truth(n)
    reports, every = list(_noised(labels, "int64")), range(1, LABELS + 1)

    def run() -> Any:
        server.reset()
        server.aggregate_all(reports)
        return server.estimate_all(every, suppress_warnings=True) / n

    return Throughput(run, _checker(labels))


def opendp(case: Case, n: int) -> Throughput:
    """Its documented call: debias_randomized_response_bitvec takes a list of packed bits and gives counts."""
    import numpy as np
    import opendp.prelude as dp  # type: ignore[import-not-found]

    dp.enable_features("contrib")
    labels, flips = truth(n), 2 * (1 - KEEP)
    reports = [bits.tobytes() for bits in np.packbits(_noised(labels, "uint8"), axis=1)]
    return Throughput(lambda: np.array(dp.m.debias_randomized_response_bitvec(reports, flips)) / n, _checker(labels))


def _noised(labels: Any, dtype: str) -> Any:
    """Reports as the peers' clients give them, made quickly."""
    import numpy as np

    kept = np.where(np.arange(LABELS) == labels[:, None], KEEP, 1 - KEEP)
    return (np.random.default_rng(_SEED).random(kept.shape) < kept).astype(dtype)


def _checker(labels: Any, *, clipped: bool = False) -> Callable[[Any], None]:
    """Shares are those of the labels, within six standard errors; clipped ones sum to 1 and are off by more."""
    import numpy as np

    shares = np.bincount(labels, minlength=LABELS) / len(labels)
    error = math.sqrt(KEEP * (1 - KEEP) / len(labels)) / (2 * KEEP - 1)

    def check(found: Any) -> None:
        if np.shape(found) != (LABELS,) or np.abs(found - shares).max() > (12 if clipped else 6) * error:
            raise WrongResultError(f"shares are {found}")

    return check


COMPARISON = Comparison(
    name="unary-encoding-sums",
    question="How fast do these reports become shares of the 128 labels?",
    subject=Subject.COUNTING,
    unit="reports/s",
    cases=({"labels": LABELS},),
    ours=Side("askance", askance),
    peers=(
        Side("multi-freq-ldpy", multi_freq_ldpy, MULTI_FREQ),
        Side("pure-ldp", pure_ldp, PURE_LDP),
        Side("opendp", opendp, OPENDP),
    ),
    # A peer's report takes a kilobyte.
    sizes=Sizes(smallest=2_000, largest=50_000),
    target=Target(20e6, at_least=True),
)
