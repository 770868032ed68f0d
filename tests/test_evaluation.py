"""Accuracy, its interval, and the scores of single tags."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from askance.errors import EmptyDataError, ShapeError
from askance.text.corpus.corpus import Corpus
from askance.text.tagger.evaluation import evaluate_tags

GOLD = Corpus.of([["a", "b", "c"], ["b", "d"]], tags=[["X", "Y", None], ["Y", "Z"]])


def test_scores_by_hand() -> None:
    found = evaluate_tags(GOLD, [1, 0, 0, 1, 1], ("W", "X"), is_unknown=[False, True, False, True])
    assert (found.accuracy, found.tokens, found.unknown_tokens, found.unknown_word_accuracy) == (0.25, 4, 3, 0.0)
    scores = {score.tag: score for score in found.tags}
    assert (scores["X"].precision, scores["X"].recall, scores["X"].f1) == (1 / 3, 1.0, 0.5)
    assert math.isnan(scores["W"].recall)
    assert math.isnan(scores["Y"].precision)
    assert scores["Y"].tokens == 2
    assert found.confusions == (("Y", "W", 1), ("Y", "X", 1), ("Z", "X", 1))
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["tags"][0] == {"tag": "W", "precision": 0.0, "recall": None, "f1": 0.0, "tokens": 0}
    # Sentences have 1 of 2 and 0 of 2 right: residuals 1 − .5 and 0 − .5, m/(m − 1) = 2, 4 tokens.
    assert found.standard_error == pytest.approx(math.sqrt((0.25 + 0.25) * 2) / 4)
    # Wilson's below, with .25 · .75 / error² = 3 tokens: where (.25 − p)² = z² p (1 − p) / 3. Only one sentence holds a
    # right token, and two that are alike leave room for others above.
    lower, upper = found.interval()
    assert (0.25 - lower) ** 2 == pytest.approx(1.959964**2 * lower * (1 - lower) / 3, rel=1e-6)
    assert upper == pytest.approx(1 - 0.75 * 0.025 ** (1 / 2))
    assert found.tally == (2, 2, 1)


def test_intervals_know_that_words_of_a_sentence_go_together() -> None:
    rng = np.random.default_rng(0)
    right = np.repeat(rng.random(400) < 0.8, 10)
    gold = Corpus.of([["w"] * 10 for _ in range(400)], tags=[["X"] * 10 for _ in range(400)])
    found = evaluate_tags(gold, np.where(right, 0, 1), ("X", "Y"))
    assert found.standard_error == pytest.approx(math.sqrt(found.accuracy * (1 - found.accuracy) / 399), rel=1e-9)


def test_what_is_refused() -> None:
    with pytest.raises(ShapeError, match="one each for every token"):
        evaluate_tags(GOLD, [0, 1], ("X", "Y"))
    with pytest.raises(EmptyDataError, match="no token has a true tag"):
        evaluate_tags(Corpus.of([["a"]], tags=[[None]]), [0], ("X",))
    assert math.isnan(evaluate_tags(Corpus.of([["a"]], tags=[["X"]]), [0], ("X",)).standard_error)
