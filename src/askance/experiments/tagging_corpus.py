"""The paper's experiment on taggers: its text (or a made-up one), and its two estimators by stochastic steps."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.errors import InputError
from askance.experiments.experiment import Data, Plain
from askance.experiments.seeds import trial_seed
from askance.text.corpus import Corpus
from askance.text.count_likelihood import CountLikelihood
from askance.text.count_moments import moment_counts
from askance.text.evaluation import evaluate_tags
from askance.text.features import TokenFeatures
from askance.text.node_model import log_probabilities
from askance.text.regions import Region, RegionCounts
from askance.text.tagged_text import read_tagged

if TYPE_CHECKING:
    from scipy import sparse

#: Where the text comes from.
Source = Literal["conll2000", "simulated"]
#: Training and test file in the folder of ASKANCE_DATA.
FILES = ("conll2000.train.tsv.gz", "conll2000.test.tsv.gz")

# The made-up language: how many endings a tag has of those there are, and how many of its words have a second tag.
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
    found = files()
    if found is None:
        raise InputError(
            f"the folder of ASKANCE_DATA has no {' and '.join(FILES)}, or is not set; needed: both files.",
            remedy="Set ASKANCE_DATA to the folder of the data, or run the quick version, which makes its text up.",
        )
    return found


@cache
def _read(train: Path, test: Path) -> tuple[Corpus, Corpus]:
    return read_tagged(train), read_tagged(test)


# -- a made-up language ------------------------------------------------------------------------------------------------


@cache
def _simulated(
    seed: int, sentences: int, test_sentences: int, tags: int = 10, words_of_a_tag: int = 50
) -> tuple[Corpus, Corpus]:
    """Sentences of a random hidden Markov chain whose words show their tag, more or less, by their endings."""
    rng = np.random.default_rng(trial_seed(seed, "corpus"))
    names = [f"T{k}" for k in range(tags)]
    transitions = rng.dirichlet(np.full(tags, _TRANSITIONS), size=tags)
    lexicon = _lexicon(tags, words_of_a_tag, rng)
    # A few words of every tag are most of its tokens.
    share = 1 / np.arange(1, words_of_a_tag + 1)
    share /= share.sum()
    found: list[tuple[list[str], list[str]]] = []
    for _ in range(sentences + test_sentences):
        states = _walk(transitions, rng)
        drawn = rng.choice(words_of_a_tag, size=len(states), p=share).tolist()
        words = [lexicon[k][i] for k, i in zip(states, drawn, strict=True)]
        found.append((words, [names[k] for k in states]))
    train, test = found[:sentences], found[sentences:]
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


def _lexicon(tags: int, size: int, rng: np.random.Generator) -> list[list[str]]:
    """The words of every tag, the most frequent first: stems with endings of the tag; some belong to two tags."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    endings = rng.permutation([v + c for v in "aeiou" for c in "dklmnrst"])[:_ENDINGS].tolist()
    words: list[list[str]] = []
    for _ in range(tags):
        own = rng.choice(endings, size=_OF_A_TAG, replace=False).tolist()
        stems = rng.choice(syllables, size=(size, 2)).tolist()
        words.append(["".join(stem) + str(rng.choice(own)) for stem in stems])
    for k in range(tags):
        for i in np.flatnonzero(rng.random(size) < _SHARED).tolist():
            words[k][i] = words[int(rng.integers(tags))][int(rng.integers(size))]
    return words


# -- a few regions at a time -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A few regions with the words and features that they have, so that a step on them touches nothing else.

    Attributes:
        regions: over a corpus of their own words.
        types: the number that each of these words has in the whole corpus, shape (t,).
        design: features of the words, shape (t, f), of which only those that some of them has.
        transposed: shape (f, t).
        columns: the number that each feature has in the whole design, shape (f,).
        totals: tokens of each word, shape (t, 1).
    """

    regions: RegionCounts
    types: IntArray
    design: sparse.csr_array
    transposed: sparse.csr_array
    columns: IntArray
    totals: AnyArray


def pieces(regions: RegionCounts, design: sparse.csr_array, at_once: int, rng: np.random.Generator) -> list[Piece]:
    """Regions in random order, so many at a time.

    Args:
        regions: all of them.
        design: features of the types of their corpus, shape (T, F).
        at_once: regions of a piece.
        rng: order of the regions.
    """
    order = rng.permutation(len(regions))
    return [_piece(regions.take(order[i : i + at_once]), design) for i in range(0, len(order), at_once)]


def _piece(part: RegionCounts, design: sparse.csr_array) -> Piece:
    from scipy import sparse

    starts = np.concatenate([[0], np.cumsum(part.lengths)]).astype(np.int64)
    where = np.arange(starts[-1]) + np.repeat(part.start - starts[:-1], part.lengths)
    types, tokens = np.unique(part.corpus.tokens[where], return_inverse=True)
    words = tuple(part.corpus.words[t] for t in types.tolist())
    own = Corpus(words, tokens.astype(np.int32), starts)
    regions = RegionCounts(
        own, part.tagset, starts[:-1], starts[1:], part.closed, part.offsets, part.tag, part.low, part.high
    )
    rows = design[types]
    columns, places = np.unique(rows.indices, return_inverse=True)
    matrix = sparse.csr_array((rows.data, places, rows.indptr), shape=(len(types), len(columns)))
    totals = regions.token_counts.astype(design.dtype)[:, None]
    return Piece(regions, types.astype(np.int64), matrix, matrix.T.tocsr(), columns.astype(np.int64), totals)


def stochastic_steps(
    parts: Sequence[Piece],
    theta: AnyArray,
    passes: int,
    step: float,
    rng: np.random.Generator,
    counts: Callable[[int, AnyArray], AnyArray],
    after: Callable[[int], None],
) -> None:
    """θ += step / √pass · mean over the tokens of a piece of x (C − p)ᵀ, piece after piece in random order, in place.

    Args:
        parts: a few regions each.
        theta: shape (F, K).
        passes: over all pieces.
        step: its length in the first pass.
        rng: order of the pieces.
        counts: C from the number of a piece and log p of its words.
        after: told how many passes are done.
    """
    for turn in range(passes):
        for j in rng.permutation(len(parts)).tolist():
            part = parts[j]
            log_p = log_probabilities(part.design, theta[part.columns])
            residual = counts(j, log_p) - part.totals * np.exp(log_p)
            length = step / (float(part.totals.sum()) * np.sqrt(1 + turn))
            theta[part.columns] += theta.dtype.type(length) * (part.transposed @ residual)
        after(turn + 1)


# -- looking on the way ------------------------------------------------------------------------------------------------


class Trace:
    """Accuracy on the way, and processor seconds up to there without those of looking.

    Args:
        train: labelled, only to look at.
        test: the same.
        tagset: of the estimates.
    """

    def __init__(self, train: Corpus, test: Corpus, tagset: tuple[str, ...]) -> None:
        self._texts, self._tagset = (train, test), tagset
        self.passes: list[int | None] = []
        self.accuracy: list[tuple[float, float]] = []
        self.seconds: list[float] = []
        self.used, self._since = 0.0, time.process_time()

    def look(self, passes: int | None, tags_of: Callable[[Corpus], IntArray]) -> None:
        """Score the tags that a model gives now, after so many passes over the regions (None: solved directly)."""
        self.lap()
        train, test = (evaluate_tags(text, tags_of(text), self._tagset).accuracy for text in self._texts)
        self.passes.append(passes)
        self.accuracy.append((train, test))
        self.seconds.append(self.used)
        self._since = time.process_time()

    def lap(self) -> float:
        """Seconds used up to now."""
        self.used += time.process_time() - self._since
        self._since = time.process_time()
        return self.used

    def go_on(self, used: float) -> None:
        """Forget what was used since, and let the clock run from so many seconds."""
        self.used, self._since = used, time.process_time()


# -- the paper's estimators --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """What an estimator is given.

    Attributes:
        train: the training text; estimators see its words only.
        regions: what is counted in it.
        settings: of the config.
        passes: over the regions, for steps on a few of them at a time.
        seed: of the order of regions.
    """

    train: Corpus
    regions: RegionCounts
    settings: Mapping[str, Plain]
    passes: int
    seed: int


def node_tags(features: TokenFeatures, theta: AnyArray) -> Callable[[Corpus], IntArray]:
    """The likeliest tag of every token by its word alone."""
    return lambda text: np.asarray(features.matrix(text.words) @ theta).argmax(axis=1)[text.tokens]


def marginal_by_beam(problem: Problem, trace: Trace) -> None:
    """The paper's MargML: gradients of the likelihood of a few regions at a time, sums by a beam."""
    settings, rng = problem.settings, np.random.default_rng(problem.seed)
    features = TokenFeatures.learn(problem.train.words)
    design = features.matrix(problem.train.words)
    parts = pieces(problem.regions, design, settings["regions_at_once"], rng)
    likelihoods = [CountLikelihood(p.regions, method="beam", beam=settings["beam"], threads=1) for p in parts]
    theta = np.zeros((len(features), len(problem.regions.tagset)), dtype=design.dtype)
    stochastic_steps(
        parts,
        theta,
        problem.passes,
        settings["marginal_step"],
        rng,
        lambda j, log_p: likelihoods[j](log_p)[1],
        lambda done: trace.look(done, node_tags(features, theta)),
    )


def moments_by_sgd(problem: Problem, trace: Trace) -> None:
    """The paper's MomML: k passes over counts for P(tag | word), then k over the sentences for θ, for every k."""
    settings, train, tagset = problem.settings, problem.train, problem.regions.tagset
    features = TokenFeatures.learn(train.words)
    design = features.matrix(train.words)
    whole = [Region(s, 0, n, {}, closed=False) for s, n in enumerate(train.lengths.tolist())]
    order = np.random.default_rng(problem.seed)
    parts = pieces(RegionCounts.of(train, tagset, whole), design, settings["regions_at_once"], order)
    prepared = trace.lap()
    for passes in range(1, problem.passes + 1):
        trace.go_on(prepared)
        counts_rng, words_rng = (np.random.default_rng([problem.seed, i]) for i in range(2))
        found = moment_counts(problem.regions, design, method="sgd", iterations=passes, rng=counts_rng)
        given = found.label_given_token
        theta = np.zeros((len(features), len(tagset)), dtype=design.dtype)
        stochastic_steps(
            parts,
            theta,
            passes,
            settings["moment_step"],
            words_rng,
            lambda j, log_p, given=given: parts[j].totals * given[parts[j].types],  # type: ignore[misc]
            lambda done: None,
        )
        trace.look(passes, node_tags(features, theta))
