"""Slips of the experiments section that a small computation shows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from askance.text import Corpus, sample_regions

from .exact import exact, largest_ratio
from .structured import exact_keep_probability, per_value

# -- the coefficient of determination ---------------------------------------------------------------------------------


def printed_r2(y: list[Fraction], predicted: list[Fraction]) -> Fraction:
    """‖Xw − Y‖²/‖Y‖²."""
    return sum(((a - b) ** 2 for a, b in zip(y, predicted, strict=True)), Fraction(0)) / sum(a**2 for a in y)


def centred_r2(y: list[Fraction], predicted: list[Fraction]) -> Fraction:
    """1 − ‖Xw − Y‖²/‖Y − Ȳ‖²."""
    mean = sum(y, Fraction(0)) / len(y)
    return 1 - printed_r2(y, predicted) * sum(a**2 for a in y) / sum((a - mean) ** 2 for a in y)


def test_the_printed_coefficient_is_one_minus_the_uncentred_one() -> None:
    """Row 15: a perfect prediction scores 0 as printed, and worse predictions score higher."""
    y = [Fraction(x) for x in (1, 2, 4, 5)]
    near, far = [a + Fraction(1, 10) for a in y], [a + 1 for a in y]
    assert printed_r2(y, y) == 0
    assert printed_r2(y, near) < printed_r2(y, far)
    assert 1 - printed_r2(y, y) == 1
    assert 1 - printed_r2(y, near) > 1 - printed_r2(y, far)


def test_the_uncentred_coefficient_rewards_knowing_the_mean() -> None:
    """Row 15: predicting the mean alone has centred R² 0, and uncentred R² as large as the mean is far from 0."""
    for shift, uncentred in ((0, Fraction(18, 23)), (100, Fraction(21218, 21223))):
        y = [Fraction(x + shift) for x in (1, 2, 4, 5)]
        mean = [sum(y, Fraction(0)) / 4] * 4
        assert centred_r2(y, mean) == 0
        assert 1 - printed_r2(y, mean) == uncentred


@pytest.mark.parametrize(
    ("mean", "deviation", "uncentred", "digits"),
    [
        pytest.param(206_855.8169, 115_392.8204, 0.763, 3, id="California housing, median value"),
        pytest.param(1998.4664, 10.9370, 0.99997, 5, id="songs, year"),
    ],
)
def test_what_the_mean_alone_scores_on_the_two_data_sets(
    mean: float, deviation: float, uncentred: float, digits: int
) -> None:
    """Row 15, the numbers: a sample of two values with the published mean and deviation scores the same."""
    y = [Fraction(mean - deviation), Fraction(mean + deviation)]
    middle = [(y[0] + y[1]) / 2] * 2
    assert round(float(1 - printed_r2(y, middle)), digits) == uncentred


# -- regions ----------------------------------------------------------------------------------------------------------


def covered(starts: range, window: int) -> set[int]:
    """The positions that some region contains."""
    return {position for start in starts for position in range(start, start + window)}


@pytest.mark.parametrize(("length", "window"), [(9, 6), (5, 2), (4, 1), (3, 3)])
def test_the_printed_starts_never_reach_the_last_token(length: int, window: int) -> None:
    """Row 16: starts {1..L−w} miss position L; {1..L−w+1} see every position and stay inside the sentence."""
    everything = set(range(1, length + 1))
    assert length not in covered(range(1, length - window + 1), window)
    assert covered(range(1, length - window + 2), window) == everything
    if length == window:
        assert not range(1, length - window + 1)


def test_sampled_regions_reach_the_last_token() -> None:
    """Row 16: the library draws all starts from which a window fits, and takes short sentences whole."""
    corpus = Corpus.of([list("abcdef")] * 400 + [["g"]], tags=[["X"] * 6] * 400 + [["X"]])
    regions = sample_regions(corpus, window=4, tags="all", rng=np.random.default_rng(0))
    starts = {regions.region(r).start for r in range(400)}
    assert starts == {0, 1, 2}
    assert (regions.region(400).start, regions.region(400).end) == (0, 1)


# -- features of the tagger -------------------------------------------------------------------------------------------

WORDS, TAGS = ["the", "dog", "the"], ["DT", "NN", "DT"]
FEATURES = {"word": lambda word: word, "suffix": lambda word: word[-1:]}


def indicator(feature: str, value: str, tag: str, position: int) -> int:
    """1[g(x_i) = a, y[i] = b]."""
    return int(FEATURES[feature](WORDS[position]) == value and TAGS[position] == tag)


def test_the_sum_over_positions_belongs_to_the_sentence_and_not_to_the_node() -> None:
    """Row 18: φ = Σ_j φ_j counts "the/DT" twice; with the printed φ_j it is counted L = 3 times as often."""
    positions = range(len(WORDS))
    counts = sum(indicator("word", "the", "DT", i) for i in positions)
    corrected = [indicator("word", "the", "DT", j) for j in positions]
    printed = [sum(indicator("word", "the", "DT", i) for i in positions) for _ in positions]
    assert counts == 2
    assert sum(corrected) == counts
    assert sum(printed) == len(WORDS) * counts


def test_the_feature_function_is_an_index_and_not_summed() -> None:
    """Row 18: summed over g, "suffix e with DT" and "word e with DT" become one statistic."""
    positions = range(len(WORDS))
    by_index = {g: sum(indicator(g, "e", "DT", i) for i in positions) for g in FEATURES}
    summed = {g: sum(indicator(other, "e", "DT", i) for other, i in product(FEATURES, positions)) for g in FEATURES}
    assert by_index == {"word": 0, "suffix": 2}
    assert summed == {"word": 2, "suffix": 2}


# -- three values released at once ------------------------------------------------------------------------------------


def test_a_triple_noised_value_by_value_has_three_times_the_level() -> None:
    """Row 19: (x_i², x_i·x_j, x_j²) for x ∈ {0,1}: each value alone at ratio 3, together 27; by diameter it is 3."""
    triples = exact([[a * a, a * b, b * b] for a, b in product((0, 1), repeat=2)]).T
    single = Fraction(3, 4)
    assert [largest_ratio(per_value(row[None, :], single).S) for row in triples] == [3, 3, 3]
    assert largest_ratio(per_value(triples, single).S) == 27
    accounted = largest_ratio(per_value(triples, exact_keep_probability(float(np.log(3)) / 3)).S)
    assert float(accounted) == pytest.approx(3, abs=1e-12)
