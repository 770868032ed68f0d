"""Intervals of accuracy: Wilson's by sentences, and exact where sentences are all alike."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from askance.errors import InputError
from askance.text.corpus.corpus import Corpus
from askance.text.tagger.evaluation import Evaluation, SentenceTally, accuracy_interval, evaluate_tags


def scored(right: list[list[bool]]) -> Evaluation:
    """Sentences whose tokens are right or wrong."""
    gold = Corpus.of([["w"] * len(row) for row in right], tags=[["X"] * len(row) for row in right])
    return evaluate_tags(gold, [int(not each) for row in right for each in row], ("X", "Y"))


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.999])
def test_all_right_and_all_wrong_are_bounded_by_sentences(confidence: float) -> None:
    alike = ((1 - confidence) / 2) ** (1 / 600)  # the chance of 600 such sentences in a row is α/2
    assert scored([[True] * 7] * 600).interval(confidence) == pytest.approx((alike, 1), rel=1e-12)
    assert scored([[False] * 7] * 600).interval(confidence) == pytest.approx((0, 1 - alike), rel=1e-12)


def test_sentences_that_are_all_alike_are_no_certainty() -> None:
    found = scored([[True, False, False]] * 50)  # thirds, whose rounding must not look like a spread
    assert found.standard_error == 0
    alike = 0.025 ** (1 / 50)
    assert found.interval() == pytest.approx((alike / 3, 1 - alike * 2 / 3))


def test_few_mistakes_promise_no_more_than_none() -> None:
    clean = [True] * 10
    lower = [scored([[False, *clean[1:]]] * k + [clean] * (600 - k)).interval()[0] for k in range(5)]
    assert lower[0] < 0.994
    assert all(before >= after for before, after in pairwise(lower))


def test_elsewhere_it_is_wilsons() -> None:
    rng = np.random.default_rng(0)
    found = scored([list(rng.random(10) < 0.9) for _ in range(200)])
    p, e, z = found.accuracy, found.standard_error, 1.959963984540054
    for end in found.interval():  # where p̂ is just not contradicted: (p̂ − p)² = z² p (1 − p) / n*
        assert (p - end) ** 2 == pytest.approx(z**2 * end * (1 - end) * e**2 / (p * (1 - p)))
    many = scored([list(rng.random(10) < 0.9) for _ in range(20_000)])
    for end, sign in zip(many.interval(), (-1, 1), strict=True):  # and p̂ ± z e with many sentences
        assert end == pytest.approx(many.accuracy + sign * z * many.standard_error, abs=2e-5)


@pytest.mark.parametrize(("rate", "gather"), [(0.001, False), (0.001, True), (0.01, True), (0.1, False), (0.1, True)])
def test_intervals_hold_the_truth(rate: float, gather: bool) -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        wrong = 8 * (rng.random(200) < rate) if gather else rng.binomial(8, rate, 200)  # whole sentences, or tokens
        p = 1 - wrong.sum() / 1600
        e = math.sqrt(((8 - wrong - 8 * p) ** 2).sum() * 200 / 199) / 1600
        tally = SentenceTally(200, int((wrong > 0).sum()), int((wrong < 8).sum()))
        lower, upper = accuracy_interval(p, e, tally, 0.95)
        held += lower <= 1 - rate <= upper
    assert held >= 0.92 * 400


def test_one_sentence_and_bad_confidence() -> None:
    assert all(map(math.isnan, scored([[True]]).interval()))
    with pytest.raises(InputError, match="confidence"):
        scored([[True]] * 3).interval(1.0)
