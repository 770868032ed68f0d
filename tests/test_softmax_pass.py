"""The compiled pass over rows of two outputs, against its twin in NumPy."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from askance import ForcedResponse, RandomizedResponse, Responses, Softmax, estimate
from askance._arrays import FloatArray
from askance._kernels import softmax_pass
from askance._kernels.softmax_pass import EXPECTED, FLAT, OBSERVED, OF_MODEL, POSTERIOR, PRIOR, SQUARED, TARGET
from askance.channels.finite import FiniteChannel
from askance.estimation.problems import conditional
from askance.estimation.problems.conditional import Rows
from askance.evidence.totals import BLOCK

CHANNEL = RandomizedResponse.for_privacy_level(1, outputs=["no", "yes"])
TARGETS = np.array([-0.6, 1.6])
CURVATURES = {
    PRIOR: (FLAT, OF_MODEL, EXPECTED, SQUARED),
    TARGET: (FLAT, OF_MODEL, EXPECTED, SQUARED),
    POSTERIOR: (FLAT, OF_MODEL, OBSERVED, EXPECTED, SQUARED),
}
CASES = [(against, curvature) for against, allowed in CURVATURES.items() for curvature in allowed]


def survey(
    n: int, p: int, *, weighted: bool = False, channel: FiniteChannel = CHANNEL
) -> tuple[Responses, FloatArray, FloatArray]:
    """Evidence, covariates and θ, of no particular truth."""
    rng = np.random.default_rng(n + 100 * p)
    x = rng.normal(size=(n, p))
    x[:, 0] = 1.0
    weights = rng.uniform(0.2, 3.0, size=n) if weighted else None
    observed = rng.choice(channel.observations.labels, n)
    return Responses(channel).add(x, observed, weights=weights), x, rng.normal(size=p) * 0.7


def both(rows: Rows, theta: FloatArray, against: int, curvature: int) -> list[tuple[FloatArray, ...]]:
    """Sums by compiled loops, and by NumPy."""
    found = []
    for rows.compiled in (True, False):
        found.append(rows.sums(theta[None, :], against, curvature))
    return found


def assert_alike(rows: Rows, theta: FloatArray, against: int, curvature: int) -> None:
    mine, plain = both(rows, theta, against, curvature)
    assert [part.shape for part in mine] == [part.shape for part in plain]
    for part, wanted in zip(mine, plain, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=1e-12, atol=1e-12 * rows.n_rows)


def points() -> FloatArray:
    """From 0 to where exp is 0, near both ends and everywhere between."""
    rng = np.random.default_rng(0)
    halves = np.arange(1, 400) * math.log(2) / 2  # where the reduction turns from one power of two to the next
    near = np.concatenate([halves, np.nextafter(halves, 0), np.nextafter(halves, 1e3)])
    return np.concatenate([near, np.logspace(-300, math.log10(708), 60_000), rng.uniform(0, 40, 60_000), [0.0, 708.0]])


def test_exponentials_within_two_units_in_the_last_place() -> None:
    x = -points()
    x = x[x >= -708.0]
    found, wanted = np.array([softmax_pass._exp(value) for value in x]), np.exp(x)
    assert (np.abs(found - wanted) <= 2 * np.spacing(wanted)).all()
    assert softmax_pass._exp(-0.0) == 1.0
    assert softmax_pass._exp(-709.0) == softmax_pass._exp(-math.inf) == 0.0
    assert math.isnan(softmax_pass._exp(math.nan))


def test_logarithms_within_two_units_in_the_last_place() -> None:
    x = np.concatenate([np.exp(-points()), np.linspace(0.5, 2.0, 60_000), np.logspace(-307, 3, 60_000)])
    x = np.concatenate([x[x > 1e-307], np.nextafter(math.sqrt(2), [0.0, 2.0]), [1.0, np.nextafter(1, 0)]])
    found, wanted = np.array([softmax_pass._log(value) for value in x]), np.log(x)
    assert (np.abs(found - wanted) <= 2 * np.spacing(np.abs(wanted))).all()
    assert softmax_pass._log(0.0) == -math.inf
    assert math.isnan(softmax_pass._log(math.nan))


@pytest.mark.parametrize(("against", "curvature"), CASES)
def test_sums_are_those_of_the_twin(against: int, curvature: int) -> None:
    sizes = [(1, 1), (255, 3), (256, 4), (257, 11), (BLOCK + 300, softmax_pass.MOST_TERMS)]
    for (n, p), weighted in product(sizes, (False, True)):
        evidence, _, theta = survey(n, p, weighted=weighted)
        assert_alike(Rows(evidence, 2).aimed([TARGETS], [1.0]), theta, against, curvature)


def test_answers_that_say_it_all_and_logits_that_are_next_to_sure() -> None:
    """S(o|y) = 0 for some o, and probabilities that are 0 up to rounding on both sides."""
    forced = ForcedResponse("2/3", "1/3")  # who is forced says yes: "no" is the truth
    evidence, x, theta = survey(600, 3, channel=forced)
    for scale in (1.0, 30.0, 150.0):
        for against, curvature in CASES:
            assert_alike(Rows(evidence, 2).aimed([TARGETS], [1.0]), theta * scale, against, curvature)
    assert np.abs(x @ theta * 150.0).max() > 300


def test_a_logit_beyond_all_numbers_is_a_sure_answer() -> None:
    evidence, _, _ = survey(4, 1)
    for theta, share in ((1e308, 1.0), (-1e308, 0.0)):
        for mine in both(Rows(evidence, 2), np.array([theta]), POSTERIOR, FLAT):
            q = CHANNEL.matrix[np.concatenate([chunk.codes for chunk in evidence.chunks]), int(share)]
            assert mine[0] == pytest.approx(-np.log(q).sum())


def test_moments_are_those_of_the_twin() -> None:
    for weighted in (False, True):
        evidence, _, _ = survey(BLOCK + 300, 7, weighted=weighted)
        mine, twin = Rows(evidence, 2), Rows(evidence, 2)
        mine.compiled = True
        for part, wanted in zip(mine.moments, twin.moments, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=1e-12, atol=1e-13)


def test_one_machine_code_for_arrays_of_any_kind() -> None:
    """Other orders and types, arrays that may not be written to: none makes the compiler work again, or other bits."""
    evidence, x, theta = survey(1000, 5)
    wanted = both(Rows(evidence, 2), theta, POSTERIOR, OBSERVED)[0]
    compiled = list(softmax_pass._sweep.machine.signatures)
    codes = evidence.chunks[0].codes
    fixed = x.copy()
    fixed.flags.writeable = False
    unaligned = np.frombuffer(b"0" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(x.shape)
    for kind in (np.asfortranarray(x), fixed, unaligned, np.repeat(x, 2, axis=0)[::2]):
        rows = Rows(Responses(CHANNEL).add(kind, CHANNEL.observations.decode(codes.astype(np.int64))), 2)
        for part, other in zip(wanted, both(rows, theta, POSTERIOR, OBSERVED)[0], strict=True):
            assert part.tobytes() == other.tobytes()
    assert list(softmax_pass._sweep.machine.signatures) == compiled


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
@pytest.mark.parametrize("covariance", [None, "robust"])
def test_estimates_are_those_of_the_twin(method: str, covariance: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.ones(20_000), rng.normal(size=(20_000, 3))])
    truth = rng.random(20_000) < 1 / (1 + np.exp(1 - x[:, 1]))
    reports = CHANNEL.simulate(np.where(truth, "yes", "no"), rng)
    evidence, model = Responses(CHANNEL).add(x, reports), Softmax(["no", "yes"], ["one", "a", "b", "c"])
    options = {} if covariance is None else {"covariance": covariance}
    plain = estimate(model, evidence, method, **options)
    monkeypatch.setattr(conditional, "COMPILED_FROM", 0)
    compiled = estimate(model, evidence, method, **options)
    assert (np.abs(compiled.theta - plain.theta) < 1e-6 * plain.standard_errors).all()
    np.testing.assert_allclose(compiled.covariance, plain.covariance, rtol=1e-6)
    assert compiled.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-6)
    assert compiled.diagnostics.messages == plain.diagnostics.messages


def test_a_small_regression_does_not_wake_the_compiler() -> None:
    script = """
import sys
import numpy as np
from askance import RandomizedResponse, Responses, Softmax, estimate
rng = np.random.default_rng(0)
x = np.column_stack([np.ones(500), rng.normal(size=500)])
channel = RandomizedResponse.for_privacy_level(3, outputs=2)
estimate(Softmax(2, ["one", "a"]), Responses(channel).add(x, channel.simulate(rng.integers(0, 2, 500), rng)))
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
