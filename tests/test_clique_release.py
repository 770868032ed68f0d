"""Clique release: level, β and covariances by enumeration, both ways of averaging, the best clique probabilities."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm

from askance import build_channel, certify
from askance._arrays import AnyArray, FloatArray
from askance._kernels import bits
from askance.channels.statistics import CliqueRelease, Enumeration, Reports, SubsetSelection
from askance.errors import EmptyDataError, InputError, MissingValueError, ShapeError

# Every statistical test of this file raises a false alarm with at most this probability.
FALSE_ALARM = 1e-6

CHAIN = CliqueRelease([2, 3, 2], [[0, 1], [1, 2]], 1)
TRIANGLE = CliqueRelease([2, 2, 3], [[0, 1], [2, 0], [1, 2]], "1/2", clique_probabilities=["1/2", "1/4", "1/4"])
UNEVEN = CliqueRelease([3, 2], [["0"], ["1", "0"]], 2)
SMALL = pytest.mark.parametrize("channel", [CHAIN, TRIANGLE, UNEVEN], ids=["chain", "triangle", "uneven"])
#: Eight variables in pairs: tables of 4 to 16 cells.
PAIRS = CliqueRelease([2, 3, 4, 2, 3, 4, 2, 3], list(combinations(range(8), 2)), 1)


def enumerated(channel: CliqueRelease) -> Enumeration:
    exact = channel.enumerate_exactly()
    assert exact is not None
    return exact


def matrix_and_beta(channel: CliqueRelease) -> tuple[FloatArray, FloatArray]:
    """S (k, m) and the printed β (d, k), from whole numbers."""
    exact = enumerated(channel)
    S = np.array([[weight / exact.total for weight in row] for row in exact.weights])
    return S, np.array([[value / exact.beta_scale for value in row] for row in exact.beta])


def records_of(channel: CliqueRelease) -> AnyArray:
    """The records that are enumerated."""
    return np.array(channel.tables.covering_records())


def skewed(records: AnyArray) -> FloatArray:
    """A distribution over records without symmetry."""
    weights = 1.0 + np.arange(len(records)) ** 2 % 7
    return np.asarray(weights / weights.sum())


def reports_of(channel: CliqueRelease, labels: list[str]) -> Reports:
    cliques, sets = zip(*(label.split(":") for label in labels), strict=True)
    width = channel.columns[1].width
    dense = np.array([[int(bit) for bit in text.ljust(width, "0")] for text in sets], dtype=np.uint8)
    return Reports(channel, {"clique": np.array(cliques, dtype=int), "subset": bits.pack(dense)})


def random_records(channel: CliqueRelease, n: int, seed: int) -> AnyArray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, size, n) for size in channel.tables.sizes], axis=1)


# -- the channel written out ------------------------------------------------------------------------------------------


@SMALL
def test_level_and_unbiasedness_are_certified_by_enumeration(channel: CliqueRelease) -> None:
    certificate = certify(channel)
    assert certificate.proved_by == "enumeration"
    assert certificate.unbiased
    assert certificate.worst_observations == channel.worst_observations()
    assert certificate.largest_ratio == max(release.ratio for release in channel.releases)
    assert all(0.99 * channel.stated_level <= math.log(release.ratio) + 1e-15 for release in channel.releases)
    assert channel.privacy_level <= channel.stated_level


def test_wide_channels_are_certified_by_structure() -> None:
    certificate = certify(PAIRS)
    assert (certificate.proved_by, certificate.unbiased, certificate.privacy_level) == ("structure", True, 1.0)
    (worst,) = certificate.worst_observations
    number, subset = str(worst).split(":")
    first, second = (PAIRS.tables.cells_in_all(record)[0, int(number)] for record in PAIRS.worst_pair())
    assert (subset[first], subset[second]) == ("1", "0")
    assert subset.count("1") == PAIRS.releases[int(number)].subset_size


@SMALL
def test_s_is_a_mixture_of_subset_selections(channel: CliqueRelease) -> None:
    """Every clique by itself is the channel of one table on its cells."""
    exact, records = enumerated(channel), records_of(channel)
    rows = iter(exact.weights)
    for number, (clique, release) in enumerate(zip(channel.tables.cliques, channel.releases, strict=True)):
        alone = SubsetSelection(release.cells, channel.parameters()["privacy_level"]).enumerate_exactly()
        assert alone is not None
        shape = [channel.tables.sizes[variable] for variable in clique]
        cells = np.ravel_multi_index(tuple(records[:, clique].T), shape)
        drawn = Fraction(channel._drawn[number], 1 << 62)
        for own in alone.weights:
            expected = [drawn * Fraction(own[cell], alone.total) for cell in cells]
            assert [Fraction(weight, exact.total) for weight in next(rows)] == expected
    assert next(rows, None) is None


@SMALL
def test_printed_covariance_agrees_with_enumeration(channel: CliqueRelease) -> None:
    S, beta = matrix_and_beta(channel)
    records = records_of(channel)
    shares = skewed(records)
    seen = S @ shares
    expected = (beta * seen) @ beta.T - np.outer(beta @ seen, beta @ seen)
    found = channel.mean_covariance(records, shares, "printed")
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    # With "printed" the excess is E Cov[β(o) | φ].
    conditional = sum(
        p * ((beta * s) @ beta.T - np.outer(beta @ s, beta @ s)) for p, s in zip(shares, S.T, strict=True)
    )
    excess = channel.excess_covariance(records, shares, "printed")
    np.testing.assert_allclose(excess, conditional, rtol=1e-10, atol=1e-10)


@SMALL
def test_covariance_within_cliques_agrees_with_enumeration(channel: CliqueRelease) -> None:
    """Given its clique a report is one draw of a known distribution; averages within cliques are independent."""
    S, beta = matrix_and_beta(channel)
    records = records_of(channel)
    shares = skewed(records)
    seen = S @ shares
    owner = np.array([int(label.split(":")[0]) for label in enumerated(channel).observations])
    expected = np.zeros((channel.dimension, channel.dimension))
    for number, probability in enumerate(channel.clique_probabilities):
        own = np.where(owner == number, seen, 0) / probability
        assert own.sum() == pytest.approx(1, abs=1e-12)
        values = beta * probability
        expected += ((values * own) @ values.T - np.outer(values @ own, values @ own)) / probability
    found = channel.mean_covariance(records, shares)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@SMALL
def test_averages_within_are_never_worse(channel: CliqueRelease) -> None:
    records = records_of(channel)
    distributions = [skewed(records), *np.eye(len(records))[::3], np.full(len(records), 1 / len(records))]
    for shares in distributions:
        within, printed = (np.trace(channel.mean_covariance(records, shares, a)) for a in ("within", "printed"))
        assert within < printed
    # The difference is (1/π_c − 1)|μ_c|² for every clique.
    mean = shares @ channel.statistics(records)
    owner = np.repeat(np.arange(len(channel.releases)), channel.tables.cells)
    assert printed - within == pytest.approx(float(mean**2 @ (1 / channel.clique_probabilities - 1)[owner]), rel=1e-9)


@SMALL
def test_sums_as_expected_give_the_truth_and_its_variances(channel: CliqueRelease) -> None:
    records, n = records_of(channel), 1 << 50
    shares = skewed(records)
    mean = shares @ channel.statistics(records)
    owner, outside, gain = channel._by_cell
    drawn = n * channel.clique_probabilities
    sums = np.rint(np.concatenate([drawn[owner] * (outside + gain * mean), drawn])).astype(np.int64)
    for averaging in ("within", "printed"):
        np.testing.assert_allclose(channel.mean(sums, n, averaging), mean, atol=1e-11)
        expected = np.diag(channel.mean_covariance(records, shares, averaging))
        np.testing.assert_allclose(channel.variances(sums, n, averaging), expected, rtol=1e-9)


@SMALL
def test_debias_and_likelihood_agree_with_enumeration(channel: CliqueRelease) -> None:
    S, beta = matrix_and_beta(channel)
    reports = reports_of(channel, list(enumerated(channel).observations))
    np.testing.assert_allclose(channel.debias(reports), beta.T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(channel.log_likelihood(reports, records_of(channel)), np.log(S), rtol=1e-11)


# -- clique probabilities ---------------------------------------------------------------------------------------------


def test_default_probabilities_have_the_least_trace() -> None:
    sizes, cliques = [2, 3, 4], [[0], [0, 1], [1, 2]]
    records = list(product(*map(range, sizes)))
    best = CliqueRelease(sizes, cliques, 1)
    roots = np.sqrt([float(release.total_variance) for release in best.releases])
    np.testing.assert_allclose(best.clique_probabilities, roots / roots.sum(), rtol=1e-8)
    least = np.trace(best.mean_covariance(records))
    assert least == pytest.approx(float(roots.sum()) ** 2, rel=1e-9)
    shifted = [(best.clique_probabilities + 0.01 * np.roll([1, -1, 0], i)).tolist() for i in range(3)]
    for probabilities in ([1 / 3] * 3, *shifted):
        other = CliqueRelease(sizes, cliques, 1, clique_probabilities=probabilities)
        assert np.trace(other.mean_covariance(records)) > least


# -- drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "channel",
    [CHAIN, TRIANGLE, PAIRS, CliqueRelease([5, 30, 3], [[0, 1], [2], [1, 2, 0]], 1)],
    ids=["chain", "triangle", "pairs", "up to 450 cells"],
)
def test_the_compiled_loop_gives_the_bits_of_the_plain_one(
    channel: CliqueRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = random_records(channel, 5000, 3)
    compiled = channel.simulate(records, np.random.default_rng(7))
    sums = channel.sums(compiled)
    monkeypatch.setattr("askance.channels.statistics.base.COMPILED_PAYS_FROM", 1 << 60)
    monkeypatch.setattr("askance.channels.statistics.clique_release.COMPILED_PAYS_FROM", 1 << 60)
    plain = channel.simulate(records.astype(np.uint8), np.random.default_rng(7))
    assert compiled == plain
    np.testing.assert_array_equal(channel.sums(plain), sums)
    assert sums.sum() == 5000 + sum(
        seen * release.subset_size for seen, release in zip(sums[channel.dimension :], channel.releases, strict=True)
    )


@SMALL
def test_reports_follow_s(channel: CliqueRelease) -> None:
    """χ² over all observations of one record; false alarm 1e-6 over the three channels together."""
    exact, records, n = enumerated(channel), records_of(channel), 100_000
    chosen = len(records) - 1
    reports = channel.simulate(np.tile(records[chosen], (n, 1)), np.random.default_rng(len(records)))
    counts = Counter(zip(reports.columns["clique"].tolist(), reports.columns["subset"][:, 0].tolist(), strict=True))
    keys = [(int(number), int(subset[::-1], 2)) for number, subset in (o.split(":") for o in exact.observations)]
    observed = np.array([counts[key] for key in keys])
    expected = np.array([n * (row[chosen] / exact.total) for row in exact.weights])
    assert observed.sum() == n
    assert ((observed - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM / 3, len(expected) - 1)


@pytest.mark.parametrize("averaging", ["within", "printed"])
def test_means_of_a_simulation(averaging: Any) -> None:
    """All cells of all tables against the truth; false alarm 1e-6 over both ways of averaging."""
    n, records = 100_000, random_records(PAIRS, 50, 8)
    shares = skewed(records)
    drawn = records[np.random.default_rng(1).choice(len(records), size=n, p=shares)]
    sums = PAIRS.sums(PAIRS.simulate(drawn, np.random.default_rng(2)))
    mean = shares @ PAIRS.statistics(records)
    z = (PAIRS.mean(sums, n, averaging) - mean) / np.sqrt(PAIRS.variances(sums, n, averaging) / n)
    assert np.abs(z).max() < norm.isf(FALSE_ALARM / 4 / PAIRS.dimension)


def test_parts_add_up_to_the_whole() -> None:
    whole = PAIRS.simulate(random_records(PAIRS, 10_000, 4), np.random.default_rng(5))
    parts = [whole[:17], whole[17:6000], whole[6000:]]
    assert Reports.join(parts) == whole
    np.testing.assert_array_equal(sum(map(PAIRS.sums, parts)), PAIRS.sums(whole))
    np.testing.assert_array_equal(PAIRS.sums(whole[:0]), np.zeros(PAIRS.sums_size))


def test_one_report_of_a_device() -> None:
    report = CHAIN.randomize_one([1, 2, 0])
    assert list(report) == ["clique", "subset"]
    assert report["clique"] in (0, 1)
    assert int(report["subset"], 16).bit_count() == CHAIN.releases[report["clique"]].subset_size


# -- tables -----------------------------------------------------------------------------------------------------------


def test_cells_are_in_c_order_of_the_variables_of_their_clique() -> None:
    assert CHAIN.statistic_names[:6] == ("0,1=0,0", "0,1=0,1", "0,1=0,2", "0,1=1,0", "0,1=1,1", "0,1=1,2")
    assert TRIANGLE.statistic_names[4 + 3] == "2,0=1,1"
    record = np.array([[1, 0, 2]])
    values = TRIANGLE.statistics(record)[0]
    assert [name for name, value in zip(TRIANGLE.statistic_names, values, strict=True) if value] == [
        "0,1=1,0",
        "2,0=2,1",
        "1,2=0,2",
    ]
    for number, clique in enumerate(TRIANGLE.tables.cliques):
        table = TRIANGLE.table(values, clique)
        assert table.shape == tuple(TRIANGLE.tables.sizes[variable] for variable in clique)
        assert table[tuple(record[0, list(clique)])] == table.sum() == 1
        np.testing.assert_array_equal(table, TRIANGLE.table(values, number))
    both = TRIANGLE.table(TRIANGLE.statistics([[1, 0, 2], [0, 0, 0]]), [2, 0])
    assert both.shape == (2, 3, 2)


def test_specifications_rebuild_the_channel() -> None:
    for channel in (CHAIN, TRIANGLE, UNEVEN, PAIRS):
        assert build_channel(channel.specification()) == channel
    assert CliqueRelease([2, 3, 2], [["0", "1"], ["1", "2"]], 1) == CHAIN
    assert CliqueRelease([2, 3, 2], [[1, 0], [1, 2]], 1) != CHAIN
    assert "clique_probabilities" not in CHAIN.parameters()
    assert TRIANGLE.parameters()["clique_probabilities"] == ["1/2", "1/4", "1/4"]


def test_records_of_every_kind_of_number_are_the_same() -> None:
    records = random_records(CHAIN, 50, 1)
    expected = CHAIN.simulate(records, np.random.default_rng(1))
    for kind in (np.uint8, np.uint64, np.float64, np.float32, object):
        assert CHAIN.simulate(records.astype(kind), np.random.default_rng(1)) == expected
    assert CHAIN.simulate(records.tolist(), np.random.default_rng(1)) == expected


# -- refusing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [[0]], 1), "sizes is empty"),
        (([2, 1], [[0]], 1), r"sizes\[1\] is 1; allowed: a whole number, at least 2"),
        (([2, 2], [], 1), "cliques is empty"),
        (([2, 2], [[]], 1), r"cliques\[0\] is \[\]; allowed: at least one variable"),
        (([2, 2], [[0], [0, 0]], 1), r"cliques\[1\] is \[0, 0\]; allowed: at least one variable, each once"),
        (([2, 2], [[0, 2]], 1), r"cliques\[0\] has the variable 2; allowed: 0 to 1"),
        (([2, 2], [["0", "-1"]], 1), r"cliques\[0\] has the variable '-1'"),
        (([2, 2], [["age"]], 1), r"cliques\[0\] has the variable 'age'"),
        (([2, 2], [[True]], 1), r"cliques\[0\] has the variable True"),
        (([2, 2], ["01"], 1), r"cliques\[0\] is '01'; allowed: a list"),
        (([2, 2], [[0, 1], [1, 0]], 1), r"cliques\[1\] has the variables of cliques\[0\]"),
        (([300, 300], [[0], [0, 1]], 1), r"table of cliques\[1\] \[0, 1\] has 90,000 cells; allowed: at most 65,536"),
        (([256] * 24, list(combinations(range(24), 2)), 1), "276 tables have 18,087,936 cells in all"),
        (([2, 2], [[0]], 0), "privacy_level is 0"),
    ],
)
def test_bad_designs_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        CliqueRelease(*arguments)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (["1/2", "1/4", "1/4"], "has 3 entries for 2 cliques"),
        ([1, 0], r"clique_probabilities\[1\] is 0; allowed: above 0"),
        (["1/2", "1/4"], "sums to 0.75"),
    ],
)
def test_bad_clique_probabilities_are_refused(probabilities: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CliqueRelease([2, 2], [[0], [1]], 1, clique_probabilities=probabilities)


def test_bad_records_are_refused_naming_row_and_variable() -> None:
    good = [0, 1, 1]
    for bad, error, message in (
        ([0, 3, 0], InputError, "variable 1 of row 5000 is none of its values; allowed: whole numbers from 0 to 2"),
        ([-1, 0, 0], InputError, "variable 0 of row 5000 is none of its values"),
        ([0, 0.5, 0], InputError, "variable 1 of row 5000 is none of its values"),
        ([0, 0, np.nan], MissingValueError, "variable 2 of row 5000 is missing"),
    ):
        with pytest.raises(error, match=message):
            CHAIN.randomize(np.array([good] * 5000 + [bad]))
    with pytest.raises(ShapeError, match=r"the records have shape \(4, 2\); allowed: \(n, 3\)"):
        CHAIN.randomize(np.zeros((4, 2)))
    with pytest.raises(InputError, match=r"the records\[0\]\[0\] is no number"):
        CHAIN.randomize(np.array([["a", "b", "c"]]))


def test_impossible_reports_are_refused_naming_the_row() -> None:
    """Tables of 6 and 4 cells at level 1: two and one of them are sent."""
    channel = CliqueRelease([2, 3, 2], [[0, 1], [0, 2]], 1)
    for clique, subset, message in (
        (0, 0b000111, r"report 1 has cells \[0, 1, 2\] of clique 0 .* allowed: exactly 2 of 0 to 5"),
        (1, 0b010000, r"report 1 has cells \[4\] of clique 1 .* allowed: exactly 1 of 0 to 3"),
    ):
        columns = {"clique": np.array([0, clique]), "subset": np.array([[0b11], [subset]], dtype=np.uint64)}
        with pytest.raises(InputError, match=message):
            Reports(channel, columns)


def test_cliques_that_were_never_drawn_have_no_mean() -> None:
    reports = reports_of(CHAIN, ["1:110000", "1:000011"])
    with pytest.raises(EmptyDataError, match=r"no report is about clique 0 \(1 of 2 were never drawn\)"):
        CHAIN.mean(CHAIN.sums(reports), 2)
    assert np.isfinite(CHAIN.mean(CHAIN.sums(reports), 2, "printed")).all()


def test_tables_of_other_vectors_and_cliques_are_refused() -> None:
    values = np.zeros(CHAIN.dimension)
    with pytest.raises(ShapeError, match=r"values has shape \(5,\); allowed: \(…, 12\)"):
        CHAIN.table(np.zeros(5), 0)
    with pytest.raises(InputError, match="clique is 2; allowed: a whole number, at least 0 and at most 1"):
        CHAIN.table(values, 2)
    with pytest.raises(InputError, match=r"clique is \[0, 2\]; allowed: one of \[\[0, 1\], \[1, 2\]\]"):
        CHAIN.table(values, [0, 2])
