"""Training a tagger on labelled tokens: ours on types, python-crfsuite and scikit-learn on tokens, the same features.

CoNLL-2000, every token with its label, features of the word alone (askance's, for all). The model is the same too:
logistic regression of the tag, penalty λ/2 ‖θ‖² with λ = .3. For crfsuite every token is a sequence of its own, so that
it has no transitions; it and scikit-learn stop where they do by default. Data are prepared before the clock starts, in
the form each takes fastest. Needs ASKANCE_DATA, the folder with conll2000.train.tsv.gz and conll2000.test.tsv.gz.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.harness.comparison import (
    Case,
    Comparison,
    Environment,
    Side,
    Sizes,
    Subject,
    Throughput,
    WrongResultError,
)

L2 = 0.3
# Which column of a corpus has the tags: 44 of the Penn treebank, 17 of Universal Dependencies.
_TAGS_IN = {"conll2000": 1, "ud.en_ewt": 2}
#: Files that every comparison on CoNLL-2000 needs.
CONLL = ("conll2000.train.tsv.gz", "conll2000.test.tsv.gz")
CRFSUITE = Environment("crfsuite", ("python-crfsuite==0.9.11", "numpy", "scipy"), ("python-crfsuite", "numpy"))
SCIKIT_LEARN = Environment("scikit-learn", ("scikit-learn==1.9.1",), ("scikit-learn", "numpy", "scipy"))
CASES: tuple[Case, ...] = ({"corpus": "CoNLL-2000, 212 k labelled tokens"},)
# Who does not reach this on the test file has not done the work.
_LEAST_ACCURACY = 0.945


@cache
def sentences(part: str, corpus: str = "conll2000") -> list[list[tuple[str, str]]]:
    """Words and tags of every sentence of the train or test file."""
    folder = os.environ.get("ASKANCE_DATA")
    if not folder:
        raise RuntimeError(f"set ASKANCE_DATA to the folder with the files of {corpus}")
    found: list[list[tuple[str, str]]] = [[]]
    with gzip.open(Path(folder) / f"{corpus}.{part}.tsv.gz", "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            if line == "\n":
                found.append([])
            else:
                columns = line.rstrip("\n").split("\t")
                found[-1].append((columns[0], columns[_TAGS_IN[corpus]]))
    return [sentence for sentence in found if sentence]


def pairs(part: str, corpus: str = "conll2000") -> list[tuple[str, str]]:
    """Words and tags of all tokens."""
    return [pair for sentence in sentences(part, corpus) for pair in sentence]


def words_of(part: str, corpus: str = "conll2000") -> list[str]:
    """The different words, as they appear."""
    return list(dict.fromkeys(word for word, _ in pairs(part, corpus)))


def features(corpus: str = "conll2000") -> Any:
    """Askance's features of the words of the train file; they need NumPy and SciPy alone."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
    from askance.text.corpus.features import TokenFeatures

    return TokenFeatures.learn(words_of("train", corpus))


def feature_lists(learned: Any, words: list[str]) -> dict[str, list[str]]:
    """The names of the features of every word, as crfsuite takes them."""
    matrix, names = learned.matrix(words), learned.names
    ends, columns = matrix.indptr.tolist(), matrix.indices.tolist()
    return {w: [names[c] for c in columns[a:b]] for w, a, b in zip(words, ends, ends[1:], strict=False)}


def accuracy(tag_of: dict[str, str]) -> float:
    """On the test file, from the tag of every word."""
    tokens = pairs("test")
    return sum(tag_of[word] == tag for word, tag in tokens) / len(tokens)


def check(tag_of: dict[str, str]) -> None:
    """Refuse a tagger that does not tag."""
    if not accuracy(tag_of) >= _LEAST_ACCURACY:
        raise WrongResultError(f"accuracy {accuracy(tag_of):.4f}")


def askance_labels(corpus: str = "conll2000") -> Any:
    """The labelled tokens as askance holds them."""
    from askance.text import Corpus, RegionCounts

    train = sentences("train", corpus)
    return RegionCounts.of_labels(
        Corpus.of([[w for w, _ in s] for s in train], tags=[[t for _, t in s] for s in train])
    )


def askance_tags(tagger: Any) -> dict[str, str]:
    """The tag of every word of the test file."""
    words = words_of("test")
    return {w: tagger.tagset[c] for w, c in zip(words, tagger.word_tags(words).tolist(), strict=True)}


def crfsuite_data(learned: Any) -> tuple[list[Any], list[list[str]]]:
    """Every token as a sequence of its own."""
    import pycrfsuite

    lists = feature_lists(learned, words_of("train"))
    items = {word: pycrfsuite.ItemSequence([names]) for word, names in lists.items()}
    tokens = pairs("train")
    return [items[word] for word, _ in tokens], [[tag] for _, tag in tokens]


def crfsuite_train(data: tuple[list[Any], list[list[str]]], path: str, steps: int | None = None) -> None:
    """L-BFGS until crfsuite's own stopping rule, or for a few steps; its penalty is c2 ‖θ‖²."""
    import pycrfsuite

    limit = {} if steps is None else {"max_iterations": steps}
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c2": L2 / 2, **limit}, verbose=False)
    for item, tag in zip(*data, strict=True):
        trainer.append(item, tag)
    trainer.train(path)


def askance(case: Case, n: int) -> Throughput:
    """Ours, from labelled tokens to a tagger."""
    from askance.text import CountTagger

    labels = askance_labels()
    return Throughput(lambda: CountTagger("moments", l2=L2).fit(labels), lambda tagger: check(askance_tags(tagger)))


def crfsuite(case: Case, n: int) -> Throughput:
    """Theirs, without transitions."""
    import pycrfsuite

    learned = features()
    data = crfsuite_data(learned)
    path = str(Path(tempfile.mkdtemp()) / "node.crfsuite")

    def look(_: None) -> None:
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        lists = feature_lists(learned, words_of("test"))
        check({word: tagger.tag([names])[0] for word, names in lists.items()})

    return Throughput(lambda: crfsuite_train(data, path), look, warm_up=lambda: crfsuite_train(data, path, steps=1))


def scikit_learn(case: Case, n: int) -> Throughput:
    """Logistic regression on a sparse matrix of tokens, with its default solver and stopping rule."""
    import warnings

    import numpy as np
    from sklearn.linear_model import LogisticRegression

    learned, words = features(), words_of("train")
    row = {word: i for i, word in enumerate(words)}
    tokens = pairs("train")
    design = learned.matrix(words)[[row[word] for word, _ in tokens]].astype(np.float64)
    tags = np.array([tag for _, tag in tokens])
    warnings.filterwarnings("ignore")  # it runs out of its 100 iterations, and says so

    def look(model: Any) -> None:
        seen = words_of("test")
        check(dict(zip(seen, model.predict(learned.matrix(seen).astype(np.float64)).tolist(), strict=True)))

    return Throughput(
        lambda: LogisticRegression(C=1 / L2).fit(design, tags),
        look,
        warm_up=lambda: LogisticRegression(C=1 / L2, max_iter=1).fit(design, tags),
    )


COMPARISON = Comparison(
    name="tagger-node",
    question=(
        "How fast is a tagger without transitions trained on CoNLL-2000's labelled tokens, the same features for all?"
    ),
    subject=Subject.TAGGING,
    unit="fits/s",
    cases=CASES,
    ours=Side("askance", askance),
    peers=(Side("python-crfsuite", crfsuite, CRFSUITE), Side("scikit-learn", scikit_learn, SCIKIT_LEARN)),
    sizes=Sizes(1, 1),
    data=CONLL,
)
