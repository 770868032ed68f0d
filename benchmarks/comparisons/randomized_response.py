"""k-ary randomized response on the person's side: reports per CPU second, at privacy level 1.

The same mechanism everywhere, P(truth) = e / (e + k − 1). askance draws from a cryptographic source; both peers draw
from a Mersenne Twister, which is cheaper and protects nobody who can be observed for a while.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Environment, Side, Throughput, WrongResultError

LEVEL = 1.0
_SEED = 7  # of the true answers only


def askance_batch(case: Case, n: int) -> Throughput:
    """The documented call: all answers at once."""
    import numpy as np

    from askance.channels import RandomizedResponse

    k = int(case["k"])
    channel = RandomizedResponse.for_privacy_level(LEVEL, outputs=k)
    truth = np.random.default_rng(_SEED).integers(k, size=n)
    return Throughput(lambda: channel.randomize(truth), _checker(truth.tolist(), k))


def askance_single(case: Case, n: int) -> Throughput:
    """One answer a call, as the peers work: what a single device would do."""
    from askance.channels import RandomizedResponse

    k = int(case["k"])
    randomize = RandomizedResponse.for_privacy_level(LEVEL, outputs=k).randomize_one
    truth = _truth(k, n)
    return Throughput(lambda: [randomize(value) for value in truth], _checker(truth, k))


def multi_freq_ldpy_loop(case: Case, n: int) -> Throughput:
    """Its documented use: GRR_Client takes one value, so a list comprehension."""
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client  # type: ignore[import-not-found]

    k = int(case["k"])
    truth = _truth(k, n)
    return Throughput(lambda: [GRR_Client(value, k, LEVEL) for value in truth], _checker(truth, k))


def multi_freq_ldpy_compiled(case: Case, n: int) -> Throughput:
    """Its best: GRR_Client is compiled by Numba, so a compiled loop of the caller's own may call it."""
    import numba
    import numpy as np
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

    def loop(values: Any, k: int, level: float) -> Any:
        reports = np.empty_like(values)
        for i in range(values.size):
            reports[i] = GRR_Client(values[i], k, level)
        return reports

    k = int(case["k"])
    compiled = numba.njit(loop)
    truth = np.random.default_rng(_SEED).integers(k, size=n)
    return Throughput(lambda: compiled(truth, k, LEVEL), _checker(truth.tolist(), k))


def pure_ldp(case: Case, n: int) -> Throughput:
    """Its only use: DEClient.privatise takes one value, counted from 1; plain integers are its fastest input."""
    from pure_ldp.frequency_oracles.direct_encoding import DEClient  # type: ignore[import-not-found]

    k = int(case["k"])
    privatise = DEClient(epsilon=LEVEL, d=k).privatise
    truth = _truth(k, n)
    items = [value + 1 for value in truth]
    return Throughput(lambda: [privatise(item) for item in items], _checker(truth, k))


def _truth(k: int, n: int) -> list[int]:
    return random.Random(_SEED).choices(range(k), k=n)


def _checker(truth: Sequence[int], k: int) -> Callable[[Any], None]:
    """Reports lie in 0 … k−1 and tell the truth as often as they should, within six standard deviations."""

    def check(reports: Any) -> None:
        if len(reports) != len(truth) or min(reports) < 0 or max(reports) >= k:
            raise WrongResultError(f"{len(reports)} reports from {min(reports)} to {max(reports)}, k = {k}")
        expected = math.exp(LEVEL) / (math.exp(LEVEL) + k - 1)
        seen = sum(int(a) == b for a, b in zip(reports, truth, strict=True)) / len(truth)
        if abs(seen - expected) > 6 * math.sqrt(expected * (1 - expected) / len(truth)):
            raise WrongResultError(f"the truth is told with frequency {seen:.4f} instead of {expected:.4f}")

    return check


MULTI_FREQ = Environment("multi-freq-ldpy", ("multi-freq-ldpy==0.2.5",), packages=("multi-freq-ldpy", "numpy", "numba"))
# Importing any of its oracles imports scikit-learn and statsmodels, which its metadata do not declare.
PURE_LDP = Environment("pure-ldp", ("pure-ldp==1.2.0", "scikit-learn", "statsmodels"), packages=("pure-ldp", "numpy"))

COMPARISON = Comparison(
    name="randomized-response",
    unit="reports/s",
    cases=tuple({"k": k} for k in (2, 16, 256)),
    ours=Side("askance", askance_batch),
    peers=(
        Side("multi-freq-ldpy", multi_freq_ldpy_loop, MULTI_FREQ),
        Side("multi-freq-ldpy in a Numba loop", multi_freq_ldpy_compiled, MULTI_FREQ),
        Side("pure-ldp", pure_ldp, PURE_LDP),
        Side("askance, one answer a call", askance_single),
    ),
)
