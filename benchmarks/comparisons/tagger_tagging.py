"""Tagging: sentences of words in, tags out, tokens per CPU second; ours and python-crfsuite's, the same features.

Both are trained as in `tagger-node`, crfsuite for fifty steps only, which changes its tags a little and its speed not
at all. crfsuite gets the names of the features of every word from a table made before: making them anew for every token
would take longer than tagging. Ours makes them for the different words, on the clock.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.comparisons.tagger_node import (
    CONLL,
    CRFSUITE,
    L2,
    askance_labels,
    crfsuite_data,
    crfsuite_train,
    feature_lists,
    features,
    sentences,
    words_of,
)
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Throughput

_TOKENS = 47_377
_PEER_STEPS = 50


def askance(case: Case, n: int) -> Throughput:
    """Ours."""
    from askance.text import CountTagger

    tagger = CountTagger("moments", l2=L2).fit(askance_labels())
    texts = [[word for word, _ in sentence] for sentence in sentences("test")]
    return Throughput(lambda: tagger.predict(texts))


def crfsuite(case: Case, n: int) -> Throughput:
    """Theirs."""
    import pycrfsuite

    learned = features()
    path = str(Path(tempfile.mkdtemp()) / "node.crfsuite")
    crfsuite_train(crfsuite_data(learned), path, steps=_PEER_STEPS)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    lists = feature_lists(learned, words_of("test"))
    texts = [[word for word, _ in sentence] for sentence in sentences("test")]
    return Throughput(lambda: [tagger.tag([lists[word] for word in text]) for text in texts])


COMPARISON = Comparison(
    name="tagger-tagging",
    question="How fast does it tag CoNLL-2000's test sentences?",
    subject=Subject.TAGGING,
    unit="tokens/s",
    cases=({"corpus": "CoNLL-2000 test, 47 k tokens"},),
    ours=Side("askance", askance),
    peers=(Side("python-crfsuite", crfsuite, CRFSUITE),),
    sizes=Sizes(_TOKENS, _TOKENS),
    data=CONLL,
)
