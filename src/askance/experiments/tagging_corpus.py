"""The text of the paper's experiment on taggers, or a made-up one."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from askance._arrays import FloatArray
from askance.errors import InputError
from askance.experiments.experiment import Data
from askance.experiments.seeds import trial_seed
from askance.text.corpus.corpus import Corpus
from askance.text.io.tagged_text import read_tagged

#: Where the text comes from.
Source = Literal["conll2000", "simulated"]
#: Training and test file in the folder of ASKANCE_DATA.
FILES = ("conll2000.train.tsv.gz", "conll2000.test.tsv.gz")

# The made-up language: tags and words of each; how many endings a tag has of those there are, and which share of its
# words have a second tag.
_TAGS, _WORDS_OF_A_TAG = 10, 50
_ENDINGS, _OF_A_TAG, _SHARED = 16, 3, 0.2
# Rows of the table of transitions are drawn from a Dirichlet distribution with this parameter: lower, more telling.
_TRANSITIONS = 0.3
_SHORTEST, _LONGEST, _MEAN_ABOVE_SHORTEST = 4, 20, 9.0


def files() -> tuple[Path, Path] | None:
    """The two files of CoNLL-2000 in the folder of ASKANCE_DATA; None where they are not."""
    folder = os.environ.get("ASKANCE_DATA")
    if not folder:
        return None
    train, test = (Path(folder) / name for name in FILES)
    return (train, test) if train.is_file() and test.is_file() else None


def corpora(source: Source, seed: int, sentences: int, test_sentences: int) -> tuple[Corpus, Corpus]:
    """Training and test text.

    Args:
        source: "conll2000": all of it, and the other arguments are not looked at; "simulated": drawn.
        seed: of what is drawn.
        sentences: of the training text.
        test_sentences: of the test text.

    >>> train, test = corpora("simulated", 0, 50, 20)
    >>> len(train), len(test), train.tagset == test.tagset
    (50, 20, True)
    """
    return _simulated(seed, sentences, test_sentences) if source == "simulated" else _read(*_require_files())


def describe(source: Source, seed: int, sentences: int, test_sentences: int) -> Data:
    """What the text is, for the report."""
    train, test = corpora(source, seed, sentences, test_sentences)
    size = (
        f"{len(train):,} training sentences with {train.n_tokens:,} words, {len(test):,} test sentences with "
        f"{test.n_tokens:,}; {len(train.tagset)} tags"
    )
    if source == "simulated":
        digest = hashlib.sha256()
        for corpus in (train, test):
            digest.update("\n".join((*corpus.words, *corpus.tagset)).encode())
            for array in (corpus.tokens, corpus.starts, corpus.require_tags()):
                digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return Data("a made-up language", "simulated", f"A random hidden Markov chain: {size}.", digest.hexdigest())
    digest = hashlib.sha256()
    for path in _require_files():
        digest.update(path.read_bytes())
    note = f"Wall Street Journal, sections 15 to 18 and 20, tags of the Brill tagger: {size}."
    return Data("CoNLL-2000", "real", note, digest.hexdigest())


def _require_files() -> tuple[Path, Path]:
    pair = files()
    if pair is None:
        raise InputError(
            f"the folder of ASKANCE_DATA has no {' and '.join(FILES)}, or is not set; needed: both files.",
            remedy="Set ASKANCE_DATA to the folder of the data, or run the quick version, which makes its text up.",
        )
    return pair


@cache
def _read(train: Path, test: Path) -> tuple[Corpus, Corpus]:
    return read_tagged(train), read_tagged(test)


# -- a made-up language ------------------------------------------------------------------------------------------------


@cache
def _simulated(seed: int, sentences: int, test_sentences: int) -> tuple[Corpus, Corpus]:
    """Sentences of a random hidden Markov chain whose words show their tag, more or less, by their endings."""
    rng = np.random.default_rng(trial_seed(seed, "corpus"))
    names = [f"T{k}" for k in range(_TAGS)]
    transitions = rng.dirichlet(np.full(_TAGS, _TRANSITIONS), size=_TAGS)
    lexicon = _lexicon(rng)
    # A few words of every tag are most of its tokens.
    share = 1 / np.arange(1, _WORDS_OF_A_TAG + 1)
    share /= share.sum()
    drawn_sentences: list[tuple[list[str], list[str]]] = []
    for _ in range(sentences + test_sentences):
        states = _walk(transitions, rng)
        drawn = rng.choice(_WORDS_OF_A_TAG, size=len(states), p=share).tolist()
        words = [lexicon[k][i] for k, i in zip(states, drawn, strict=True)]
        drawn_sentences.append((words, [names[k] for k in states]))
    train, test = drawn_sentences[:sentences], drawn_sentences[sentences:]
    first, second = (
        Corpus.of([words for words, _ in part], [own for _, own in part], tagset=names) for part in (train, test)
    )
    return first, second


def _walk(transitions: FloatArray, rng: np.random.Generator) -> list[int]:
    """The tags of a sentence."""
    length = min(_SHORTEST + int(rng.geometric(1 / (1 + _MEAN_ABOVE_SHORTEST))) - 1, _LONGEST)
    states = [int(rng.integers(len(transitions)))]
    while len(states) < length:
        states.append(int(rng.choice(len(transitions), p=transitions[states[-1]])))
    return states


def _lexicon(rng: np.random.Generator) -> list[list[str]]:
    """The words of every tag, the most frequent first: stems with endings of the tag; some belong to two tags."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    endings = rng.permutation([v + c for v in "aeiou" for c in "dklmnrst"])[:_ENDINGS].tolist()
    words: list[list[str]] = []
    for _ in range(_TAGS):
        own = rng.choice(endings, size=_OF_A_TAG, replace=False).tolist()
        stems = rng.choice(syllables, size=(_WORDS_OF_A_TAG, 2)).tolist()
        words.append(["".join(stem) + str(rng.choice(own)) for stem in stems])
    for k in range(_TAGS):
        for i in np.flatnonzero(rng.random(_WORDS_OF_A_TAG) < _SHARED).tolist():
            words[k][i] = words[int(rng.integers(_TAGS))][int(rng.integers(_WORDS_OF_A_TAG))]
    return words
