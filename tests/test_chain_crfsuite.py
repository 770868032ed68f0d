"""The supervised chain against python-crfsuite: the same optimum, the same best sequences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from askance.text import ChainFeatures, ChainModel, Corpus, FeatureConfig
from askance.text.chain.evidence import ChainObjective, LabelledEvidence
from askance.text.chain.fit import ChainFit
from askance.text.chain.layout import ChainLayout
from askance.text.chain.potentials import TokenPlaces
from tests.chain_fits import fit_chain

L2 = 0.3
TAGS = ("A", "B", "C", "D")
CONFIG = FeatureConfig.only("word", "capital", "bias", suffixes=(1,))


def drawn_corpus(sentences: int, seed: int) -> Corpus:
    """Tags of a Markov chain, words that their tags make likely."""
    rng = np.random.default_rng(seed)
    step = rng.dirichlet(np.full(len(TAGS), 0.4), len(TAGS))
    words = [f"{'X' if i % 3 else 'x'}{i}{'abc'[i % 3]}" for i in range(25)]
    emit = rng.dirichlet(np.full(len(words), 0.2), len(TAGS))
    texts, tags = [], []
    for _ in range(sentences):
        codes = [int(rng.integers(len(TAGS)))]
        for _ in range(int(rng.integers(0, 9))):
            codes.append(int(rng.choice(len(TAGS), p=step[codes[-1]])))
        tags.append([TAGS[code] for code in codes])
        texts.append([words[int(rng.choice(len(words), p=emit[code]))] for code in codes])
    return Corpus.of(texts, tags, tagset=TAGS)


def items(features: ChainFeatures, corpus: Corpus) -> list[list[list[str]]]:
    """Names of features of every token; the first and the last of a sentence have one more."""
    matrices, found = features.matrices(corpus.words), []
    names = {0: features.word.names, 1: features.around.names if features.around is not None else ()}
    for s in range(len(corpus)):
        kinds = corpus.tokens[corpus.span(s)].tolist()
        rows = []
        for t in range(len(kinds)):
            row = []
            for d in features.distances:
                if 0 <= t + d < len(kinds):
                    matrix, kind = matrices[d], kinds[t + d]
                    columns = matrix.indices[matrix.indptr[kind] : matrix.indptr[kind + 1]]
                    row += [f"{d}|{names[min(abs(d), 1)][c]}" for c in columns]
            rows.append(row)
        rows[0].append("first")
        rows[-1].append("last")
        found.append(rows)
    return found


def our_fit(corpus: Corpus, features: ChainFeatures) -> ChainFit:
    places = TokenPlaces.of(corpus, features.distances)
    assert corpus.tags is not None
    evidence = LabelledEvidence(places, ChainLayout.of(corpus.starts[:-1], corpus.starts[1:]), corpus.tags, len(TAGS))
    designs = {d: matrix.astype(np.float64) for d, matrix in features.matrices(corpus.words).items()}
    objective = ChainObjective([evidence], places, len(TAGS), 1)
    return fit_chain(designs, objective, l2=L2, max_iterations=2000, tolerance=1e-12)


def their_fit(corpus: Corpus, features: ChainFeatures, path: Path) -> tuple[float, Any]:
    """Minus the objective at their optimum, and their tagger."""
    options = {
        "c2": L2 / 2,  # theirs is c2 ‖θ‖²
        "feature.possible_states": True,
        "feature.possible_transitions": True,
        "max_iterations": 5000,
        "epsilon": 1e-9,
        "delta": 1e-12,
    }
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=options, verbose=False)
    for s, sentence in enumerate(items(features, corpus)):
        trainer.append(sentence, list(corpus.tags_of(s)))
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return float(trainer.logparser.iterations[-1]["loss"]), tagger


@pytest.mark.parametrize("radius", [0, 1])
def test_optimum_and_best_sequences_are_those_of_crfsuite(radius: int, tmp_path: Path) -> None:
    corpus, new = drawn_corpus(80, 1), drawn_corpus(60, 2)
    features = ChainFeatures.learn(corpus.words, CONFIG, FeatureConfig.only("word"), radius)
    fit = our_fit(corpus, features)
    loss, tagger = their_fit(corpus, features, tmp_path / "model")
    assert fit.converged
    assert -fit.objective == pytest.approx(loss, rel=1e-6)

    model = ChainModel(features, TAGS, fit.parameters)
    ours = [TAGS[code] for code in model.best_tags(new).tolist()]
    theirs, probabilities = [], []
    for sentence in items(features, new):
        theirs += tagger.tag(sentence)
        probabilities += [[tagger.marginal(tag, t) for tag in TAGS] for t in range(len(sentence))]
    assert ours == theirs
    np.testing.assert_allclose(model.marginals(new), probabilities, atol=1e-3)
