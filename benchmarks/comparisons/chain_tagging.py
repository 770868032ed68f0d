"""Tagging with a chain (Viterbi): tokens per CPU second, ours and python-crfsuite's, the same features.

Sentences of words in, tags out. Both are trained on CoNLL-2000's labelled sentences as in `chain-training`, crfsuite
for fifty steps only, which changes its tags a little and its speed not at all. crfsuite gets the names of the features
of every token from a table made before, or, in the last row, all sentences in its own form: making features anew would
take longer than tagging. Ours makes them for the different words, on the clock.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.comparisons.chain_training import chain_data, chain_lists, check_tags, train_chain
from benchmarks.comparisons.tagger_node import CONLL, CRFSUITE, L2, askance_labels, features, sentences
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Throughput

_TOKENS = 47_377
_PEER_STEPS = 50


def askance(case: Case, n: int) -> Throughput:
    """Ours."""
    from askance.text import CountTagger

    tagger = CountTagger("chain", l2=L2, radius=0).fit(askance_labels())
    texts = [[word for word, _ in sentence] for sentence in sentences("test")]
    return Throughput(
        lambda: tagger.predict(texts), lambda found: check_tags([tag for sentence in found for tag in sentence])
    )


def crfsuite(ready: bool) -> Callable[[Case, int], Throughput]:
    """Theirs, from lists of features, or from its own form of them."""

    def build(case: Case, n: int) -> Throughput:
        import pycrfsuite

        learned = features()
        path = str(Path(tempfile.mkdtemp()) / "chain.crfsuite")
        train_chain(chain_data(learned), path, {"max_iterations": _PEER_STEPS})
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        lists = chain_lists(learned, "test")
        texts = [pycrfsuite.ItemSequence(rows) for rows in lists] if ready else lists
        return Throughput(
            lambda: [tagger.tag(text) for text in texts],
            lambda found: check_tags([tag for sentence in found for tag in sentence]),
        )

    return build


COMPARISON = Comparison(
    name="chain-tagging",
    question="How fast does a chain tag CoNLL-2000's test sentences (Viterbi)?",
    subject=Subject.TAGGING,
    unit="tokens/s",
    cases=({"corpus": "CoNLL-2000 test, 47 k tokens"},),
    ours=Side("askance", askance),
    peers=(
        Side("python-crfsuite", crfsuite(ready=False), CRFSUITE),
        Side("python-crfsuite, sentences in its own form", crfsuite(ready=True), CRFSUITE),
    ),
    sizes=Sizes(_TOKENS, _TOKENS),
    data=CONLL,
)
