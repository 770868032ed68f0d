"""Optimal tables of a random field: the error by enumeration, the bound, and what can be asked for instead."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from askance import (
    CliqueRelease,
    Enumerated,
    Prior,
    RandomField,
    certify,
    estimate_field,
    field_release,
    optimal_channel,
)
from askance._arrays import FloatArray
from askance._kernels import bits
from askance.channels.statistics.reports import Reports
from askance.cli.command import askance as root
from askance.design import optimal_cliques
from askance.design.optimum.cliques import _candidates
from askance.errors import InputError, NotIdentifiedError
from askance.formats import channel_to_toml, read_channel

TRIANGLE = RandomField([2, 3, 2], [[0, 1], [0, 2], [1, 2]])
CHAIN = RandomField([2, 2, 2, 2], [[0, 1], [1, 2], [2, 3]])
THETA = {field: np.random.default_rng(7).normal(size=field.dimension) for field in (TRIANGLE, CHAIN)}


def every_report(channel: CliqueRelease) -> Reports:
    """All that can be sent, once each."""
    width = max(release.bits for release in channel.releases)
    rows = [(c, subset) for c, release in enumerate(channel.releases) for subset in release.subsets()]
    padded = np.array([list(subset) + [0] * (width - len(subset)) for _, subset in rows], dtype=np.uint8)
    return Reports(channel, {"clique": np.array([c for c, _ in rows], dtype=np.uint8), "subset": bits.pack(padded)})


def error_by_enumeration(field: RandomField, channel: CliqueRelease, theta: FloatArray) -> float:
    """Σ over all cells t of the field's tables of ∇tᵀ J⁺ ∇t, with J = Cov E[φ | report] over all records."""
    model = field.enumerated()
    p, phi = model.probabilities(theta), model.table
    centred = phi - (phi @ p)[:, None]
    S = np.exp(channel.log_likelihood(every_report(channel), field.records()))
    np.testing.assert_allclose(S.sum(axis=0), 1)
    g = (S * p) @ centred.T
    J = g.T @ (g / (S @ p)[:, None])
    slopes = (centred * p) @ centred.T  # φ are the indicators of the cells
    return float(np.trace(slopes @ np.linalg.pinv(J, rcond=1e-10, hermitian=True) @ slopes))


@pytest.mark.parametrize("field", [TRIANGLE, CHAIN], ids=["triangle", "chain"])
@pytest.mark.parametrize("level", [0.5, 1, 3])
def test_the_error_is_that_of_enumeration_and_no_other_design_has_less(field: RandomField, level: float) -> None:
    theta = THETA[field]
    found = optimal_cliques(field, level, theta)
    assert found.value == pytest.approx(error_by_enumeration(field, found.channel, theta), rel=1e-7)
    assert 0 <= found.gap < 0.01
    assert found.is_proved == (field is TRIANGLE)  # the chain's record of 16 cells has more rows than are looked at
    assert 0.99 * level <= certify(found.channel).privacy_level <= level
    equal = [Fraction(1, len(field.cliques))] * len(field.cliques)
    uniform = CliqueRelease(field.sizes, field.cliques, level, clique_probabilities=equal)
    assert found.uniform == pytest.approx(error_by_enumeration(field, uniform, theta), rel=1e-7)
    others = [uniform, CliqueRelease(field.sizes, field.cliques, level), field_release(field, level)]
    rng = np.random.default_rng(1)
    pairs = [[i, j] for i in range(len(field.sizes)) for j in range(i)]
    for _ in range(5):
        parts = rng.multinomial(1000 - len(pairs), np.ones(len(pairs)) / len(pairs)) + 1
        shares = [Fraction(int(part), 1000) for part in parts]
        others.append(CliqueRelease(field.sizes, pairs, level, clique_probabilities=shares))
    for other in others:
        assert error_by_enumeration(field, other, theta) > found.lower_bound


def test_telling_the_whole_record_is_the_optimal_channel_of_one_answer() -> None:
    """With the record as the only table the design is a channel on its outputs: the other optimiser finds the same."""
    field = RandomField([2, 2, 2], [[0, 1], [0, 2], [1, 2]])
    theta = np.random.default_rng(3).normal(size=field.dimension)
    found = optimal_cliques(field, 1, theta, tables=[[0, 1, 2]])
    full = field.enumerated()
    p = full.probabilities(theta)
    centred = (full.table - (full.table @ p)[:, None]) * np.sqrt(p)
    basis, sizes, _ = np.linalg.svd(centred.T, full_matrices=False)
    scores = (basis[:, sizes > 1e-9 * sizes[0]] / np.sqrt(p)[:, None]).T
    slopes = full.table @ (scores * p).T
    model = Enumerated(scores, log_base_measure=np.log(p))
    channel = optimal_channel(model, 1, np.zeros(len(scores)), weights=slopes.T @ slopes)
    assert found.lower_bound == pytest.approx(channel.value, rel=1e-5)
    assert found.value == pytest.approx(channel.value, rel=0.01)  # some of it goes through randomized response


def test_a_prior_of_one_point_is_a_guess_and_several_are_averaged() -> None:
    theta = THETA[CHAIN]
    single, same = optimal_cliques(CHAIN, 1, theta), optimal_cliques(CHAIN, 1, prior=[theta])
    assert single.channel == same.channel
    both = optimal_cliques(CHAIN, 1, prior=Prior.weighted([theta, -theta], [3, 1], dimension=CHAIN.dimension))
    errors = [error_by_enumeration(CHAIN, both.channel, at) for at in (theta, -theta)]
    assert both.value == pytest.approx(0.75 * errors[0] + 0.25 * errors[1], rel=1e-7)
    assert both.value >= 0.75 * single.lower_bound + 0.25 * optimal_cliques(CHAIN, 1, -theta).lower_bound


def test_fits_of_its_reports_scatter_as_predicted() -> None:
    """Mean squared error of all cells against value/n: 60 surveys, a ratio 5 standard errors from 1 is an alarm."""
    theta, n = THETA[CHAIN], 40_000
    found, rng = optimal_cliques(CHAIN, 2, THETA[CHAIN]), np.random.default_rng(11)
    truth = CHAIN.mean_statistics(theta)
    errors = []
    for _ in range(60):
        reports = found.channel.simulate(CHAIN.sample(theta, n, rng), rng)
        fit = estimate_field(CHAIN, reports, "marginal", covariance=False)
        errors.append(n * float(np.sum((fit.statistics - truth) ** 2)))
    spread = np.std(errors) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - found.value) < 5 * spread


def test_it_is_saved_described_and_asked_for_by_name(tmp_path: Path) -> None:
    found = optimal_cliques(TRIANGLE, 1)
    path = tmp_path / "channel.toml"
    path.write_text(channel_to_toml(found.channel))
    assert read_channel(path) == found.channel == field_release(TRIANGLE, 1, channel="optimal")
    assert f"{found.value:.6g}" in found.summary()
    told = found.to_json()
    assert told["channel"] == found.channel.specification()
    assert told["gap"] == found.gap


def test_the_command_writes_the_channel(tmp_path: Path) -> None:
    described, written = tmp_path / "people.toml", tmp_path / "channel.toml"
    described.write_text('cliques = [["a", "b"], ["b", "c"]]\n[variables]\na = 2\nb = 2\nc = ["no", "yes"]\n')
    done = CliRunner().invoke(
        root, ["plan", "field", str(described), "--privacy-level", "1", "--channel", "optimal", "-o", str(written)]
    )
    assert done.exit_code == 0, done.output
    channel = read_channel(written)
    assert isinstance(channel, CliqueRelease)
    assert channel.tables.sizes == (2, 2, 2)
    wrong = CliRunner().invoke(
        root,
        ["plan", "field", str(described), "--privacy-level", "1", "--pilot-fit", str(written), "-o", f"{written}.toml"],
    )
    assert "is not an askance file" in str(wrong.exception)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: optimal_cliques(CHAIN, 0), "privacy_level is 0"),
        (lambda: optimal_cliques(CHAIN, 1, [1.0]), f"{CHAIN.dimension}"),
        (lambda: optimal_cliques(CHAIN, 1, THETA[CHAIN], prior=[THETA[CHAIN]]), "both given"),
        (lambda: optimal_cliques(CHAIN, 1, largest_table=1), "largest_table is 1"),
        (lambda: optimal_cliques(CHAIN, 1, tables=[[0, 9]]), "9"),
        (lambda: optimal_cliques(CHAIN, 1, tables=[[0, 1]]), "say nothing about"),
        (lambda: optimal_cliques(RandomField([9, 9], [[0, 1]]), 1), "80 free parameters; allowed: at most 72"),
        (lambda: optimal_cliques(RandomField([2, 2], [[0, 1]], covariates=1), 1), "covariates"),
        (lambda: optimal_cliques("field", 1), "allowed: a RandomField"),  # type: ignore[arg-type]
        (lambda: field_release(CHAIN, 1, theta=THETA[CHAIN]), "theta is given"),
        (lambda: field_release(CHAIN, 1, channel="best"), "did you mean|allowed"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_done_is_said(call: object, said: str) -> None:
    with pytest.raises((InputError, NotIdentifiedError), match=said):
        call()  # type: ignore[operator]


@pytest.mark.parametrize("level", [0.001, 0.1, 8, 15, 30])
def test_extreme_levels_are_never_worse_than_uniform_and_bounded_by_full_information(level: float) -> None:
    field = RandomField([2, 2, 2], [[0, 1], [0, 2], [1, 2]])
    found = optimal_cliques(field, level)
    assert found.gain > 0
    assert 0 <= found.gap < 0.01
    assert found.lower_bound >= 2.25 * (1 - 1e-9)  # had the records been seen: Σ of p(1 − p) over twelve cells of 1/4


def test_tables_that_were_left_out_are_no_proof() -> None:
    pairs = [[i, j] for i in range(8) for j in range(i)]
    assert _candidates(RandomField([2] * 8, pairs), 9, None)[1] is False
    assert _candidates(CHAIN, 9, None)[1] is True


def test_an_extreme_guess_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="guess of θ a cell of the table of 0, 1 has probability"):
        optimal_cliques(CHAIN, 1, 40 * THETA[CHAIN])
