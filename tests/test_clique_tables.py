"""Clique release with tables told through matrices: exact level, β, draws; subset selection written out is itself."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance import (
    MatrixChannel,
    RandomField,
    RandomizedResponse,
    Responses,
    Tally,
    build_channel,
    certify,
    estimate_field,
    load,
    optimal_channel,
    save,
)
from askance._arrays import AnyArray
from askance._kernels import bits
from askance._kernels.draw import DISCARDED_BITS, TOTAL
from askance.channels.statistics import CliqueRelease, Reports
from askance.channels.statistics.listed_table import ListedTable, solve_exactly
from askance.channels.statistics.table_release import TableRelease, best_probabilities, set_bit
from askance.channels.thresholds import log_rounded_up
from askance.design.field_release import table_noise
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError, ProbabilityError, ShapeError
from askance.formats import channel_to_toml, read_channel, read_reports, write_reports
from askance.models.enumerated import Enumerated
from tests.test_cli import call, parsed

SIZES, CLIQUES = [2, 3, 2], [[0, 1], [1, 2]]
#: Five observations of the four cells of two binary variables; level log 3.
UNEVEN = [
    ["1/2", "1/4", "1/4", "1/6"],
    ["1/6", "1/4", "1/6", "1/4"],
    ["1/12", "1/4", "1/6", "1/6"],
    ["1/8", "1/8", "1/4", "1/4"],
    ["1/8", "1/8", "1/6", "1/6"],
]
LEVEL = "1.1"
MIXED = CliqueRelease([2, 2, 3], [[0, 1], [1, 2], [0]], LEVEL, table_channels=[UNEVEN, None, [[0.6, 0.3], [0.4, 0.7]]])


def written_out(release: TableRelease) -> list[list[Fraction]]:
    """Subset selection as a matrix: one row per subset."""
    rows = [release.weights_of(subset) for subset in release.subsets()]
    return [[Fraction(weight, total) for weight in weights] for weights, total in rows]


def in_both_ways(level: int) -> tuple[CliqueRelease, CliqueRelease]:
    """Subset selection; and the same with all tables written out, under a level with room for rounded thresholds."""
    plain = CliqueRelease(SIZES, CLIQUES, level, clique_probabilities=["3/8", "5/8"])
    matrices = [written_out(release) for release in plain.releases if isinstance(release, TableRelease)]
    both: dict[str, Any] = {"clique_probabilities": ["3/8", "5/8"], "table_channels": matrices}
    return plain, CliqueRelease(SIZES, CLIQUES, Fraction(level) + Fraction(1, 1000), **both)


def as_observations(reports: Reports, listed: CliqueRelease) -> Reports:
    """Reports of subsets as reports of the same subsets, listed."""
    releases = reports.channel.releases  # type: ignore[attr-defined]
    out = np.zeros((len(reports), listed.columns[1].width), dtype=np.uint8)
    for row, (number, words) in enumerate(zip(reports.columns["clique"], reports.columns["subset"], strict=True)):
        subset = tuple(bits.unpack(words[None], releases[number].cells)[0].tolist())
        out[row, releases[number].subsets().index(subset)] = 1
    return Reports(listed, {"clique": reports.columns["clique"], "subset": bits.pack(out)})


def records_of(sizes: list[int], n: int, seed: int) -> AnyArray:
    return np.random.default_rng(seed).integers(0, sizes, (n, len(sizes)))


def optimum(level: float) -> MatrixChannel:
    """Of least error for the first pair of binary variables where cells are uneven."""
    model = Enumerated([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]])
    return optimal_channel(model, level, [1.5, -1, 0.5], target="moments")


# -- exactly ----------------------------------------------------------------------------------------------------------


def test_level_and_beta_are_proved_by_enumeration() -> None:
    certificate = certify(MIXED)
    assert (certificate.proved_by, certificate.unbiased, certificate.holds) == ("enumeration", True, True)
    assert certificate.largest_ratio == max(release.ratio for release in MIXED.releases)
    assert certificate.worst_observations == MIXED.worst_observations()
    listed = MIXED.releases[0]
    assert listed.ratio < Fraction(3) * (1 + Fraction(1, 10**15))
    assert (MIXED.dimension, MIXED.bit_offsets, MIXED.sums_size) == (12, [0, 5, 11, 13], 16)


def _matrices() -> st.SearchStrategy[list[list[Fraction]]]:
    """Columns that sum to 1, all entries within a factor of 20."""

    def scaled(rows: list[list[int]]) -> list[list[Fraction]]:
        return [[Fraction(x, sum(column)) for x, column in zip(r, zip(*rows, strict=True), strict=True)] for r in rows]

    sizes = st.tuples(st.integers(4, 7), st.just(4))
    return sizes.flatmap(
        lambda size: st.lists(
            st.lists(st.integers(1, 20), min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
        )
    ).map(scaled)


@settings(max_examples=40, deadline=None)
@given(matrix=_matrices())
def test_every_matrix_is_proved_or_refused(matrix: list[list[Fraction]]) -> None:
    values = np.linalg.svd(np.array(matrix, dtype=float), compute_uv=False)
    try:
        channel = CliqueRelease([2, 2], [[1, 0]], 8, table_channels=[matrix])
    except NotIdentifiedError:
        assert values[-1] < 1e-10 * values[0]
        return
    certificate = certify(channel)
    assert (certificate.proved_by, certificate.unbiased) == ("enumeration", True)
    assert certificate.privacy_level == certify(MatrixChannel(matrix)).privacy_level
    pair = [channel.tables.cells_in_all(record)[0, 0] for record in channel.worst_pair()]
    (listed,) = channel.releases
    worst = listed.worst_subset(*pair)
    weights, _ = listed.weights_of(worst)
    assert Fraction(weights[pair[0]], weights[pair[1]]) == certificate.largest_ratio


def test_beta_in_whole_numbers_is_that_of_floats_and_the_best() -> None:
    listed = MIXED.releases[0]
    assert isinstance(listed, ListedTable)
    exact = np.array([[Fraction(v, listed.units) for v in listed.beta_of(o)] for o in listed.subsets()]).T
    np.testing.assert_allclose(listed.coefficients, exact.astype(float), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(listed.coefficients.sum(axis=0), 1, atol=1e-12)
    S, q = listed.channel.matrix, listed.channel.matrix.mean(axis=1)
    # All other unbiased β differ by a multiple of what S does not see.
    unseen = np.linalg.svd(S)[0][:, 4:].T
    np.testing.assert_allclose(unseen @ S, 0, atol=1e-14)
    for step in (-0.1, 0.1):
        for cell in range(4):
            other = listed.coefficients + step * np.eye(4)[:, [cell]] @ unseen
            assert np.trace((other * q) @ other.T) > np.trace((listed.coefficients * q) @ listed.coefficients.T)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=3, max_size=5))
def test_equations_are_solved_exactly(rows: list[list[int]]) -> None:
    left = np.array(rows, dtype=object)
    matrix = left.T @ left + np.eye(3, dtype=int).astype(object)
    found, determinant = solve_exactly(matrix.tolist(), left.T.tolist())
    assert (matrix @ np.array(found, dtype=object) == determinant * left.T).all()
    assert determinant == pytest.approx(np.linalg.det(matrix.astype(float)))


# -- drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_words_at_both_ends_of_every_threshold(compiled: bool) -> None:
    """Observation o is drawn from its first word to its last and from no other: weights/2⁶², without tolerance."""
    for listed in (MIXED.releases[0], MIXED.releases[2]):
        assert isinstance(listed, ListedTable)
        ends = np.cumsum(listed.channel.integer_weights, axis=0)
        assert (ends[-1] == TOTAL).all()
        for cell in range(listed.cells):
            first, last = np.append(0, ends[:-1, cell]), ends[:, cell] - 1
            words = np.concatenate([first, last]).astype(np.uint64) << np.uint64(DISCARDED_BITS)
            for low in (0, 3):  # the lowest bits are not looked at
                source = iter([words | np.uint64(low)]).__next__
                drawn = listed.draw(np.full(len(words), cell), lambda n, source=source: source(), compiled=compiled)  # type: ignore[misc]
                assert drawn.tolist() == [*range(listed.bits)] * 2


def test_tables_beyond_one_word() -> None:
    """70 and 90 observations beside 4 cells: bits, counts, likelihood and compiled draws."""
    wide = RandomizedResponse.for_privacy_level(1, outputs=70)
    extra = np.full((90, 3), 1 / 90)
    extra[:3] += np.eye(3) / 200
    channel = CliqueRelease([10, 7, 3], [[0, 1], [2], [0]], 2, table_channels=[wide, extra / extra.sum(axis=0), None])
    records = records_of([10, 7, 3], 6000, 1)
    reports = channel.simulate(records, np.random.default_rng(2))
    sums = channel.sums(reports)
    assert channel.columns[1].width == 90
    assert channel.bit_offsets == [0, 70, 160, 170]
    seen = channel.reports_seen(sums)
    counts = [channel.bit_counts(sums)[a:b].sum() for a, b in zip([0, 70, 160], [70, 160, 170], strict=True)]
    assert counts == (seen * [release.subset_size for release in channel.releases]).tolist()
    told = (
        channel.log_likelihood(reports, records[:9])
        - np.log(channel.clique_probabilities)[reports.columns["clique"].astype(int), None]
    )
    cells = channel.tables.cells_in_all(records[:9])
    for number in (0, 1):
        listed, rows = channel.releases[number], np.flatnonzero(reports.columns["clique"] == number)
        assert isinstance(listed, ListedTable)
        drawn = bits.unpack(reports.columns["subset"][rows], listed.bits).argmax(axis=1)
        np.testing.assert_array_equal(set_bit(reports.columns["subset"][rows]), drawn)
        np.testing.assert_allclose(told[rows], np.log(listed.channel.matrix)[np.ix_(drawn, cells[:, number])])
    certificate = certify(channel)
    assert (certificate.proved_by, certificate.unbiased, certificate.holds) == ("structure", True, True)


# -- estimating -------------------------------------------------------------------------------------------------------


def test_sums_as_expected_give_the_truth_and_its_variances() -> None:
    n, records = 1 << 50, records_of([2, 2, 3], 40, 4)
    mean = MIXED.statistics(records).mean(axis=0)
    parts = [
        n * drawn * release.sent(mean[part])
        for drawn, (_, part, release) in zip(MIXED.clique_probabilities, MIXED._parts(), strict=True)
    ]
    sums = np.rint(np.concatenate([*parts, n * MIXED.clique_probabilities])).astype(np.int64)
    for averaging in ("within", "printed"):
        np.testing.assert_allclose(MIXED.mean(sums, n, averaging), mean, atol=1e-11)
        expected = np.diag(MIXED.mean_covariance(records, averaging=averaging))
        np.testing.assert_allclose(MIXED.variances(sums, n, averaging), expected, rtol=1e-9)


def test_covariance_agrees_with_enumeration() -> None:
    exact, records = MIXED.enumerate_exactly(), np.array(MIXED.tables.covering_records())
    assert exact is not None
    S = np.array([[weight / exact.total for weight in row] for row in exact.weights])
    beta = np.array([[Fraction(value, exact.beta_scale) for value in row] for row in exact.beta]).astype(float)
    shares = np.arange(1.0, len(records) + 1) / np.arange(1.0, len(records) + 1).sum()
    seen = S @ shares
    expected = (beta * seen) @ beta.T - np.outer(beta @ seen, beta @ seen)
    np.testing.assert_allclose(MIXED.mean_covariance(records, shares, "printed"), expected, rtol=1e-9, atol=1e-9)


def test_default_probabilities_have_the_least_trace() -> None:
    roots = np.sqrt([float(release.total_variance) for release in MIXED.releases])
    np.testing.assert_allclose(MIXED.clique_probabilities, roots / roots.sum(), rtol=1e-8)
    variances = [release.total_variance for release in MIXED.releases]
    assert MIXED.parameters()["clique_probabilities"] == [str(p) for p in best_probabilities(variances)]


# -- subset selection written out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1, 2])
def test_subset_selection_as_a_matrix_is_the_same_channel(level: int) -> None:
    plain, listed = in_both_ways(level)
    records = records_of(SIZES, 300, 7)
    np.testing.assert_allclose(listed.mean_covariance(records), plain.mean_covariance(records), rtol=1e-9, atol=1e-9)
    for before, after in zip(plain.releases, listed.releases, strict=True):
        assert float(after.total_variance) == pytest.approx(float(before.total_variance), rel=1e-9)
    reports = plain.simulate(records, np.random.default_rng(8))
    same = as_observations(reports, listed)
    np.testing.assert_allclose(listed.log_likelihood(same, records[:20]), plain.log_likelihood(reports, records[:20]))
    np.testing.assert_allclose(listed.debias(same), plain.debias(reports), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(listed.mean(listed.sums(same), 300), plain.mean(plain.sums(reports), 300), atol=1e-9)
    field = RandomField(SIZES, CLIQUES)
    np.testing.assert_allclose(table_noise(field, listed), table_noise(field, plain), rtol=1e-9)
    margins = RandomField(SIZES, [[0], [2, 1], [1]])
    np.testing.assert_allclose(table_noise(margins, listed), table_noise(margins, plain), rtol=1e-9)


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_fits_are_those_of_subset_selection(method: Any) -> None:
    plain, listed = in_both_ways(1)
    field = RandomField(SIZES, CLIQUES)
    reports = plain.simulate(records_of(SIZES, 3000, 9), np.random.default_rng(10))
    same = as_observations(reports, listed)
    expected, found = (estimate_field(field, each, method=method) for each in (reports, same))
    np.testing.assert_allclose(found.theta, expected.theta, atol=1e-9)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-9)
    # Sums of listed tables hold the likelihood; those of subsets of two cells do not.
    from_sums = estimate_field(field, Tally(listed).add(same), method=method)
    np.testing.assert_allclose(from_sums.theta, expected.theta, atol=1e-9)


@pytest.mark.parametrize("method", ["moments", "one-step", "marginal"])
def test_fits_with_covariates_are_those_of_subset_selection(method: Any) -> None:
    plain, listed = in_both_ways(2)
    field = RandomField(SIZES, CLIQUES, covariates=["a"])
    rng = np.random.default_rng(11)
    x = rng.normal(size=(1500, 1))
    reports = plain.simulate(field.sample(0.5 * rng.normal(size=field.dimension), len(x), rng, x), rng)
    evidence = Responses(plain).add(x, reports), Responses(listed).add(x, as_observations(reports, listed))
    expected, found = (estimate_field(field, each, method=method) for each in evidence)
    assert found.converged
    np.testing.assert_allclose(found.theta, expected.theta, atol=1e-8)
    np.testing.assert_allclose(found.covariance, expected.covariance, atol=1e-8)
    np.testing.assert_allclose(found.raw_statistics, expected.raw_statistics, atol=1e-9)
    np.testing.assert_allclose(found.raw_standard_errors, expected.raw_standard_errors, rtol=1e-9)


# -- writing down -----------------------------------------------------------------------------------------------------


def test_everything_is_written_and_read_again(tmp_path: Path) -> None:
    for channel in (MIXED, MIXED.for_purpose("ages")):
        again = build_channel(json.loads(json.dumps(channel.specification())))
        assert again == channel
        assert again.specification() == channel.specification()
        path = tmp_path / "channel.toml"
        path.write_text(channel_to_toml(channel), encoding="utf-8")
        assert read_channel(path) == channel
    reports = MIXED.simulate(records_of([2, 2, 3], 500, 13), np.random.default_rng(14))
    for suffix in ("jsonl", "parquet"):
        write_reports(tmp_path / f"reports.{suffix}", reports)
        assert read_reports(tmp_path / f"reports.{suffix}") == reports
    tally = Tally(MIXED).add(reports)
    save(tally, tmp_path / "sums.state")
    assert load(tmp_path / "sums.state") == tally
    fit = estimate_field(RandomField([2, 2, 3], [[0, 1], [1, 2]]), tally)
    save(fit, tmp_path / "field.fit")
    assert load(tmp_path / "field.fit").channel == MIXED.specification()
    assert MIXED.thresholds()["tables"][0] == {"columns": MIXED.releases[0].channel.integer_weights.T.tolist()}  # type: ignore[union-attr]


def test_ways_to_give_the_same_channel() -> None:
    best = optimum(1)
    uniform = RandomizedResponse.for_privacy_level(1, outputs=4)
    probabilities = {"clique_probabilities": [0.5, 0.5]}
    for told in (best, uniform, MatrixChannel(UNEVEN, outputs=list("abcd"))):
        rows = [[Fraction(int(weight), TOTAL) for weight in row] for row in told.integer_weights]
        texts = [[str(entry) for entry in row] for row in rows]
        level = log_rounded_up(certify(told).largest_ratio)  # type: ignore[arg-type]
        made = [
            CliqueRelease([2, 2], [[0, 1], [0]], level, table_channels=[each, none], **probabilities)
            for each, none in ((told, None), (rows, []), (texts, None), (texts, ()))
        ]
        assert len({channel.fingerprint for channel in made}) == 1
        assert made[0].releases[0].channel.outputs.are_codes  # type: ignore[union-attr]
    entry = json.dumps([UNEVEN, None])
    flags = ("--sizes", "2,2", "--cliques", "0,1;0", "--privacy-level", LEVEL, "--table-channels", entry)
    said = parsed(call("certify", "clique-release", *flags, "--json"))
    assert build_channel(said["channel"]) == CliqueRelease([2, 2], [[0, 1], [0]], LEVEL, table_channels=[UNEVEN, None])


def test_without_table_channels_nothing_is_new() -> None:
    plain = CliqueRelease(SIZES, CLIQUES, 1)
    ways: list[list[Any] | None] = [None, [None, None], [[], None]]
    for none in ways:
        assert CliqueRelease(SIZES, CLIQUES, 1, table_channels=none) == plain
        assert CliqueRelease(SIZES, CLIQUES, 1, table_channels=none).specification() == plain.specification()
    assert "table_channels" not in plain.parameters()


def test_records_are_noised_by_the_command(tmp_path: Path) -> None:
    channel, variables, people = (tmp_path / name for name in ("channel.toml", "people.toml", "people.csv"))
    made = CliqueRelease([2, 2, 3], [[0, 1], [1, 2]], LEVEL, table_channels=[UNEVEN, None])
    channel.write_text(channel_to_toml(made), encoding="utf-8")
    variables.write_text('cliques = [["a", "b"], ["b", "c"]]\n[variables]\na = 2\nb = 2\nc = 3\n', encoding="utf-8")
    rows = [",".join(map(str, row)) for row in records_of([2, 2, 3], 50, 15).tolist()]
    people.write_text("\n".join(["a,b,c", *rows]) + "\n", encoding="utf-8")
    output = tmp_path / "reports.jsonl"
    given = ("--variables", str(variables), "--input", str(people), "-o", str(output), "--json")
    assert parsed(call("randomize", "records", str(channel), *given))["reports"] == 50
    field = RandomField({"a": 2, "b": 2, "c": 3}, [["a", "b"], ["b", "c"]])
    assert read_reports(output).channel == made.for_purpose(field.purpose)  # type: ignore[union-attr]


# -- refusing ---------------------------------------------------------------------------------------------------------


BLIND = [["1/2", "1/2", "1/4", "1/4"], ["1/2", "1/2", "3/4", "3/4"]]
REFUSED = {
    "too few": ([None], ShapeError, "table_channels has 1 entries for 2 cliques"),
    "no list": (5, InputError, "table_channels"),
    "no matrix": ([None, "much"], InputError, r"table_channels\[1\], of clique \[1\], is no channel"),
    "columns": ([[[0.6, 0.4], [0.4, 0.6]], None], ShapeError, r"of clique \[0, 1\], has 2 columns; allowed: 4"),
    "sums": ([UNEVEN[1:], None], ProbabilityError, r"table_channels\[0\].*is no channel: column 0 of S sums to"),
    "level": ([None, [[0.9, 0.1], [0.1, 0.9]]], ProbabilityError, r"\[1\], has level 2\.19.*at most .*1\.1\. Raise"),
    "no level": ([None, [[1, 0.5], [0, 0.5]]], ProbabilityError, "has no level, as an observation excludes a cell"),
    "rank": ([BLIND, None], NotIdentifiedError, 'has rank 2 for 4 cells: .*no unbiased β.*target="moments"'),
    "zeros": ([None, [[0.4, 0.6], [0.6, 0.4], [0, 0]]], ProbabilityError, r"row 2 of .* is 0 throughout"),
    "entries": ([None, np.full((600_000, 2), 1 / 600_000)], InputError, "600,000 observations of 2 cells"),
}


@pytest.mark.parametrize(("given", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        CliqueRelease([2, 2], [[0, 1], [1]], LEVEL, table_channels=given)


def test_the_level_is_compared_exactly() -> None:
    """Of two neighbouring floats around log 3 the upper one is enough and the lower one is not."""
    matrix = [[0.75, 0.25], [0.25, 0.75]]
    enough = log_rounded_up(Fraction(3))
    assert CliqueRelease([2], [[0]], enough, table_channels=[matrix]).privacy_level == enough
    with pytest.raises(ProbabilityError, match=f"has level {enough!r}"):
        CliqueRelease([2], [[0]], math.nextafter(enough, 0), table_channels=[matrix])


def test_impossible_reports_are_refused() -> None:
    for clique, subset, message in (
        (0, 0b11, r"report 1 has observations \[0, 1\] of clique 0 .* allowed: exactly 1 of 0 to 4"),
        (0, 0b100000, r"report 1 has observations \[5\] of clique 0 .* exactly 1 of 0 to 4"),
        (2, 0, r"report 1 has observations \[\] of clique 2 .* exactly 1 of 0 to 1"),
    ):
        columns = {"clique": np.array([0, clique]), "subset": np.array([[0b1], [subset]], dtype=np.uint64)}
        with pytest.raises(InputError, match=message):
            Reports(MIXED, columns)
    other = CliqueRelease([2, 2, 3], [[0, 1], [1, 2], [0]], LEVEL)
    with pytest.raises(IncompatibleEvidenceError, match="another channel"):
        MIXED.sums(other.simulate([[0, 0, 0]], np.random.default_rng(0)))


def test_bad_text_behind_the_flag_is_refused() -> None:
    for text in ("0.5,0.5", "[", '{"a": 1}'):
        outcome = call("certify", "clique-release", "--sizes", "2", "--cliques", "0", "--privacy-level", "1",
                       "--table-channels", text)  # fmt: skip
        assert outcome.code == 2
        assert "--table-channels" in outcome.err
        assert "JSON" in outcome.err
