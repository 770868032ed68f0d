"""k-ary randomized response on the person's side: reports per CPU second, at privacy level 1.

The same mechanism everywhere, P(truth) = e / (e + k − 1). askance and OpenDP draw from a cryptographic source, OpenDP
with exact arithmetic for the probability it is given, askance against integer thresholds from which its level is
computed. multi-freq-ldpy and pure-ldp draw from a Mersenne Twister, which is cheaper and protects nobody who can be
observed for a while.

OpenDP takes one value a call, by design: one person's device. For k = 2 there is a way to give it many at once, its
randomized response of a bit vector, meant for the bits of one person.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Environment, Side, Subject, Throughput, WrongResultError

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


def opendp_loop(case: Case, n: int) -> Throughput:
    """Its documented use: a measurement takes one value, so a list comprehension."""
    import opendp.prelude as dp  # type: ignore[import-not-found]

    k = int(case["k"])
    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response(list(range(k)), _keep(k))
    _check_level(measurement.map(1))
    truth = _truth(k, n)
    return Throughput(lambda: [measurement(value) for value in truth], _checker(truth, k))


def opendp_boolean(case: Case, n: int) -> Throughput:
    """Its documented use for yes and no."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measurement = dp.m.make_randomized_response_bool(_keep(2))
    _check_level(measurement.map(1))
    truth = [bool(value) for value in _truth(2, n)]
    return Throughput(lambda: [measurement(value) for value in truth], _checker(truth, 2))


def opendp_bits(case: Case, n: int) -> Throughput:
    """Its best for yes and no: the answers of all people as one vector of bits, each of them flipped by itself."""
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain, flips = dp.bitvector_domain(max_weight=1), 2 * (1 - _keep(2))  # f/2 is the probability of a flip
    measurement = dp.m.make_randomized_response_bitvec(domain, dp.discrete_distance(), f=flips)
    _check_level(measurement.map(1) / 2)  # its map is for vectors that differ in two bits
    truth = np.random.default_rng(_SEED).integers(2, size=n)

    def run() -> Any:
        released = measurement(np.packbits(truth).tobytes())
        return np.unpackbits(np.frombuffer(released, dtype=np.uint8), count=n)

    return Throughput(run, _checker(truth.tolist(), 2))


def _keep(k: int) -> float:
    return math.exp(LEVEL) / (math.exp(LEVEL) + k - 1)


def _check_level(level: float) -> None:
    if not math.isclose(level, LEVEL, rel_tol=1e-9):
        raise WrongResultError(f"the level is {level} instead of {LEVEL}")


def _truth(k: int, n: int) -> list[int]:
    return random.Random(_SEED).choices(range(k), k=n)


def _checker(truth: Sequence[int], k: int) -> Callable[[Any], None]:
    """Reports lie in 0 … k−1 and tell the truth as often as they should, within six standard deviations."""

    def check(reports: Any) -> None:
        if len(reports) != len(truth) or min(reports) < 0 or max(reports) >= k:
            raise WrongResultError(f"{len(reports)} reports from {min(reports)} to {max(reports)}, k = {k}")
        expected = _keep(k)
        seen = sum(int(a) == b for a, b in zip(reports, truth, strict=True)) / len(truth)
        if abs(seen - expected) > 6 * math.sqrt(expected * (1 - expected) / len(truth)):
            raise WrongResultError(f"the truth is told with frequency {seen:.4f} instead of {expected:.4f}")

    return check


MULTI_FREQ = Environment("multi-freq-ldpy", ("multi-freq-ldpy==0.2.5",), packages=("multi-freq-ldpy", "numpy", "numba"))
# Importing any of its oracles imports scikit-learn and statsmodels, which its metadata do not declare.
PURE_LDP = Environment("pure-ldp", ("pure-ldp==1.2.0", "scikit-learn", "statsmodels"), packages=("pure-ldp", "numpy"))
OPENDP = Environment("opendp", ("opendp==0.16.0", "numpy"), packages=("opendp", "numpy"))
_YES_OR_NO: tuple[Case, ...] = ({"k": 2},)

COMPARISON = Comparison(
    name="randomized-response",
    question="How fast are answers noised by k-ary randomized response, at privacy level 1?",
    subject=Subject.NOISING,
    unit="reports/s",
    cases=tuple({"k": k} for k in (2, 16, 256)),
    ours=Side("askance", askance_batch),
    peers=(
        Side("multi-freq-ldpy", multi_freq_ldpy_loop, MULTI_FREQ),
        Side("multi-freq-ldpy in a Numba loop", multi_freq_ldpy_compiled, MULTI_FREQ),
        Side("pure-ldp", pure_ldp, PURE_LDP),
        Side("opendp", opendp_loop, OPENDP),
        Side("opendp, booleans", opendp_boolean, OPENDP, _YES_OR_NO),
        Side("opendp, all answers as one bit vector", opendp_bits, OPENDP, _YES_OR_NO),
        Side("askance, one answer a call", askance_single),
    ),
)
