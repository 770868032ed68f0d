"""Unary encoding of 128 labels on the person's side, from labels to reports: reports per CPU second, at level 1.

The same mechanism everywhere: a label becomes 128 bits of which one is set, and every bit is kept with probability
√e/(√e + 1). askance and OpenDP draw from a cryptographic source and send 128 bits; OpenDP draws with exact arithmetic.
multi-freq-ldpy and pure-ldp draw from a Mersenne Twister and send 128 numbers of eight bytes.

OpenDP's randomized response of a bit vector takes one person's bits a call. Bits are flipped each by itself, so many
people's can be given as one long vector: a row of its own.
"""

from __future__ import annotations

import math
from typing import Any

from benchmarks.comparisons.randomized_response import MULTI_FREQ, OPENDP, PURE_LDP
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Throughput, WrongResultError

LEVEL = 1.0
LABELS = 128
_SEED = 7  # of the true labels only
KEEP = math.exp(LEVEL / 2) / (math.exp(LEVEL / 2) + 1)


def askance_batch(case: Case, n: int) -> Throughput:
    """The documented call: the statistics of all respondents at once."""
    import numpy as np

    from askance import PerValue
    from askance._kernels import bits

    channel, labels, one_hot = PerValue(LABELS, 1, l1_norm=1), truth(n), np.eye(LABELS, dtype=np.uint8)
    return Throughput(
        lambda: channel.randomize(one_hot[labels]),
        lambda reports: _check_bits(bits.unpack(reports.columns["bits"], LABELS), labels),
    )


def askance_single(case: Case, n: int) -> Throughput:
    """One respondent a call, as the peers work: what a single device would do."""
    import numpy as np

    from askance import PerValue

    randomize = PerValue(LABELS, 1, l1_norm=1).randomize_one
    labels, one_hot = truth(n), np.eye(LABELS, dtype=np.uint8)

    def check(reports: Any) -> None:
        packed = np.array([list(bytes.fromhex(report["bits"])) for report in reports], dtype=np.uint8)
        _check_bits(np.unpackbits(packed, axis=1, count=LABELS, bitorder="little"), labels)

    return Throughput(lambda: [randomize(one_hot[label]) for label in labels.tolist()], check)


def multi_freq_ldpy_loop(case: Case, n: int) -> Throughput:
    """Its documented use: UE_Client takes one value, so a list comprehension."""
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client  # type: ignore[import-not-found]

    labels = truth(n)
    values = labels.tolist()
    return Throughput(
        lambda: [UE_Client(value, LABELS, LEVEL, False) for value in values],
        lambda reports: _check_bits(reports, labels),
    )


def multi_freq_ldpy_compiled(case: Case, n: int) -> Throughput:
    """Its best: UE_Client is compiled by Numba, so a compiled loop of the caller's own may call it."""
    import numba
    import numpy as np
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

    def loop(values: Any, k: int, level: float) -> Any:
        reports = np.empty((values.size, k), dtype=np.uint8)
        for i in range(values.size):
            reports[i] = UE_Client(values[i], k, level, False)
        return reports

    compiled, labels = numba.njit(loop), truth(n)
    return Throughput(lambda: compiled(labels, LABELS, LEVEL), lambda reports: _check_bits(reports, labels))


def pure_ldp(case: Case, n: int) -> Throughput:
    """Its only use: UEClient.privatise takes one value, counted from 1."""
    from pure_ldp.frequency_oracles.unary_encoding import UEClient  # type: ignore[import-not-found]

    privatise, labels = UEClient(epsilon=LEVEL, d=LABELS).privatise, truth(n)
    items = (labels + 1).tolist()
    return Throughput(lambda: [privatise(item) for item in items], lambda reports: _check_bits(reports, labels))


def _opendp_measurement() -> Any:
    """Its randomized response of a bit vector; its parameter f is twice the probability of a flip."""
    import opendp.prelude as dp  # type: ignore[import-not-found]

    dp.enable_features("contrib")
    domain, distance = dp.bitvector_domain(max_weight=1), dp.discrete_distance()
    measurement = dp.m.make_randomized_response_bitvec(domain, distance, f=2 * (1 - KEEP))
    if not math.isclose(measurement.map(1), LEVEL, rel_tol=1e-9):
        raise WrongResultError(f"the level is {measurement.map(1)} instead of {LEVEL}")
    return measurement


def opendp_loop(case: Case, n: int) -> Throughput:
    """Its documented use: one person's bits, packed, a call; every label's bits are packed before."""
    import numpy as np

    measurement, labels = _opendp_measurement(), truth(n)
    one_hot = [bits.tobytes() for bits in np.packbits(np.eye(LABELS, dtype=np.uint8), axis=1)]
    values = labels.tolist()
    return Throughput(
        lambda: [measurement(one_hot[value]) for value in values],
        lambda reports: _check_bits(_unpacked(b"".join(reports)), labels),
    )


def opendp_together(case: Case, n: int) -> Throughput:
    """Its best: the bits of all people as one vector."""
    import numpy as np

    measurement, labels = _opendp_measurement(), truth(n)
    one_hot = np.packbits(np.eye(LABELS, dtype=np.uint8), axis=1)
    return Throughput(
        lambda: measurement(one_hot[labels].tobytes()), lambda reports: _check_bits(_unpacked(reports), labels)
    )


def _unpacked(reports: bytes) -> Any:
    import numpy as np

    return np.unpackbits(np.frombuffer(reports, dtype=np.uint8)).reshape(-1, LABELS)


def truth(n: int) -> Any:
    """Labels that are not all equally frequent."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    return np.minimum(rng.integers(LABELS, size=n), rng.integers(LABELS, size=n))


def _check_bits(reports: Any, labels: Any) -> None:
    """Bits are 0 and 1; true ones and others are set as often as they should, within six standard deviations."""
    import numpy as np

    dense = np.asarray(reports)
    if dense.shape != (len(labels), LABELS) or not np.isin(dense, (0, 1)).all():
        raise WrongResultError(f"the reports have shape {dense.shape}")
    kept = dense[np.arange(len(labels)), labels].sum()
    for seen, expected, count in (
        (kept, KEEP, len(labels)),
        (dense.sum() - kept, 1 - KEEP, len(labels) * (LABELS - 1)),
    ):
        if abs(seen / count - expected) > 6 * math.sqrt(expected * (1 - expected) / count):
            raise WrongResultError(f"bits are set with frequency {seen / count:.4f} instead of {expected:.4f}")


COMPARISON = Comparison(
    name="unary-encoding",
    question="How fast are 128 labels noised as 128 bits, at privacy level 1?",
    subject=Subject.NOISING,
    unit="reports/s",
    cases=({"labels": LABELS},),
    ours=Side("askance", askance_batch),
    peers=(
        Side("multi-freq-ldpy", multi_freq_ldpy_loop, MULTI_FREQ),
        Side("multi-freq-ldpy in a Numba loop", multi_freq_ldpy_compiled, MULTI_FREQ),
        Side("pure-ldp", pure_ldp, PURE_LDP),
        Side("opendp", opendp_loop, OPENDP),
        Side("opendp, all people as one bit vector", opendp_together, OPENDP),
        Side("askance, one report a call", askance_single),
    ),
    # A peer's report takes a kilobyte.
    sizes=Sizes(smallest=2_000, largest=50_000),
)
