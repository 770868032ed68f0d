"""The proposition on sufficient statistics: what S′ must see, and when the law of the observations is kept."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from askance import Enumerated, RandomizedResponse, sufficient_channel

from .exact import Exact, assert_close, exact, inverse, largest_ratio, log_odds, randomized_response, tilted

BASE = exact(["1/3", "1/3", "1/3"])
EPSILON = Fraction(1, 2)
S = randomized_response(EPSILON, BASE)
# One yes/no statistic whose fibres {y : φ(x, y) = f} differ between the two values of x.
TABLES = {"a": [[0, 1, 1]], "b": [[0, 0, 1]]}


def merged(table: list[list[int]]) -> Exact:
    """S′_x(o | f): the average of S over the fibre of f."""
    columns = [S[:, [y for y in range(3) if table[0][y] == f]].mean(axis=1) for f in (0, 1)]
    return np.stack(columns, axis=1)


def law_of_statistic(table: list[list[int]], p: Exact) -> Exact:
    """P(φ(x, y) = f) for f = 0, 1."""
    return exact([sum(p[y] for y in range(3) if table[0][y] == f) for f in (0, 1)])


def test_a_channel_that_sees_x_keeps_the_law_under_the_model() -> None:
    """Row 17, corrected: for each x and every θ, Σ_f P(f) S′_x(o | f) = Σ_y p_θ(y) S(o | y)."""
    for table in TABLES.values():
        for odds in ([Fraction(1, 5)], [Fraction(1)], [Fraction(4)]):
            p = tilted(table, odds)
            assert np.array_equal(merged(table) @ law_of_statistic(table, p), S @ p)


def test_a_channel_that_sees_only_the_statistic_cannot_keep_the_law_for_both_x() -> None:
    """Row 17, printed: two values of θ at x = a determine S′(o | f) completely, and it is wrong at x = b."""
    odds = [[Fraction(1)], [Fraction(4)]]
    laws = np.stack([law_of_statistic(TABLES["a"], tilted(TABLES["a"], t)) for t in odds], axis=1)
    seen = np.stack([S @ tilted(TABLES["a"], t) for t in odds], axis=1)
    only_candidate = seen @ inverse(laws)
    assert np.array_equal(only_candidate, merged(TABLES["a"]))
    p = tilted(TABLES["b"], odds[0])
    assert not np.array_equal(only_candidate @ law_of_statistic(TABLES["b"], p), S @ p)


def test_the_law_is_kept_only_when_the_truth_is_uniform_on_fibres() -> None:
    """Row 17: a truth outside the model with the same law of φ changes the law of o, and S′ cannot follow."""
    table = TABLES["a"]
    even, uneven = exact(["1/2", "1/4", "1/4"]), exact(["1/2", "1/2", "0"])
    assert np.array_equal(law_of_statistic(table, even), law_of_statistic(table, uneven))
    assert np.array_equal(merged(table) @ law_of_statistic(table, even), S @ even)
    assert not np.array_equal(merged(table) @ law_of_statistic(table, uneven), S @ uneven)


def test_the_library_builds_the_corrected_channel_for_each_x() -> None:
    """Row 17: `sufficient_channel` takes the model of one x, keeps the law at every θ, and is at least as private."""
    seen = RandomizedResponse(EPSILON, outputs=3)
    for table in TABLES.values():
        model = Enumerated(table)
        reduced = sufficient_channel(model, seen)
        assert_close(reduced.channel.matrix, merged(table), 1e-12)
        assert largest_ratio(merged(table)) <= largest_ratio(S)
        assert reduced.channel.privacy_level <= seen.privacy_level
        for odds in ([Fraction(1, 5)], [Fraction(4)]):
            theta = log_odds(odds)
            kept = reduced.channel.apply(reduced.model.probabilities(theta))
            assert_close(kept, S @ tilted(table, odds), 1e-12)
