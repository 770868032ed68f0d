"""A chain over the tags of a sentence: p(y | words) ∝ exp(Σ scores of tokens + Σ scores of neighbouring tags)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import require_generator
from askance._kernels import chain_viterbi
from askance.errors import ShapeError
from askance.text.chain.features import ChainFeatures
from askance.text.chain.fit import ChainParameters
from askance.text.chain.inference import backward, forward
from askance.text.chain.layout import Batch, ChainLayout
from askance.text.chain.potentials import ChainPotentials, TokenPlaces
from askance.text.corpus.corpus import Corpus, tag_codes

# Tokens whose scores are held at a time.
_TOKENS_AT_ONCE = 1 << 15


class ChainModel:
    """A conditional random field on a chain.

    The score of tags y for a sentence of L words is

        first(y_1) + Σ_t x_tᵀ θ[:, y_t] + Σ_{t ≥ 2} edges[y_{t−1}, y_t] + last(y_L),

    where x_t has the features of the word at t and, with a radius, of the words around it. Sums over all tag sequences
    are exact, except that a score more than 41 below the best of its token (or of all edges) is taken as that. Arrays
    keep the precision of the parameters; sums over tokens are taken in 64 bits.

    Args:
        features: what is seen of words.
        tagset: names of the K tags.
        parameters: θ, edges, first and last.

    >>> from askance.text import FeatureConfig
    >>> features = ChainFeatures.learn(["a", "b"], FeatureConfig.only("word"))
    >>> edges = np.log([[0.9, 0.1], [0.2, 0.8]])
    >>> start = np.log([0.5, 0.5])
    >>> model = ChainModel(features, ["X", "Y"], ChainParameters(np.eye(2), edges, start, np.zeros(2)))
    >>> corpus = Corpus.of([["a", "a", "b"]])
    >>> model.best_tags(corpus), model.marginals(corpus).round(3)
    (array([0, 0, 0]), array([[0.769, 0.231],
           [0.768, 0.232],
           [0.609, 0.391]]))
    """

    def __init__(self, features: ChainFeatures, tagset: Sequence[str], parameters: ChainParameters) -> None:
        self.features, self.tagset, self.parameters = features, tuple(tagset), parameters.checked()
        k = len(self.tagset)
        wanted = {"theta": (len(features), k), "edges": (k, k), "first": (k,), "last": (k,)}
        for name, shape in wanted.items():
            own = getattr(self.parameters, name).shape
            if own != shape:
                raise ShapeError(
                    f"{name} has the shape {own}; allowed: {shape}, {len(features)} features and {k} tags.",
                    remedy="Take parameters of these features and tags.",
                )

    def potentials(self, corpus: Corpus) -> ChainPotentials:
        """The scores of a corpus."""
        parameters, start = self.parameters, 0
        tables: dict[int, AnyArray] = {}
        for distance, matrix in self.features.matrices(corpus.words).items():
            stop = start + matrix.shape[1]
            tables[distance] = np.asarray(matrix.astype(parameters.theta.dtype) @ parameters.theta[start:stop])
            start = stop
        return ChainPotentials(
            TokenPlaces.of(corpus, self.features.distances), tables, parameters.edges, parameters.first, parameters.last
        )

    def best_tags(self, corpus: Corpus) -> IntArray:
        """The codes of the tags with the highest score (Viterbi), shape (N,)."""
        potentials = self.potentials(corpus)
        codes = np.empty(corpus.n_tokens, dtype=np.int64)
        edges = np.ascontiguousarray(potentials.edges)
        for starts in _pieces(corpus):
            tokens = np.arange(starts[0], starts[-1])
            chain_viterbi.best_sequences(
                starts - starts[0], potentials.scores(tokens), edges, codes[starts[0] : starts[-1]]
            )
        return codes

    def marginals(self, corpus: Corpus) -> AnyArray:
        """P(tag | sentence) of every token, shape (N, K)."""
        return self._sums(corpus)[0]

    def log_partition(self, corpus: Corpus) -> FloatArray:
        """Log Z of every sentence, shape (sentences,)."""
        return self._sums(corpus)[1]

    def _sums(self, corpus: Corpus) -> tuple[AnyArray, FloatArray]:
        potentials, k = self.potentials(corpus), len(self.tagset)
        marginals = np.empty((corpus.n_tokens, k), dtype=potentials.edges.dtype)
        partition, pairs = np.zeros(len(corpus)), np.zeros((k, k))
        for batch, sentences in _batches(corpus):
            sums = forward(batch, *potentials.rows(batch.tokens), potentials)
            backward(batch, sums, potentials, pairs, None)
            marginals[batch.tokens] = sums.alpha * sums.beta
            partition[sentences] = sums.log_partition(batch)
        return marginals, partition

    def log_likelihood(self, corpus: Corpus) -> FloatArray:
        """Log p(tags | words) of every sentence of a labelled corpus, shape (sentences,)."""
        tags = tag_codes(corpus.tagset, self.tagset, "the corpus has")[corpus.require_tags()].astype(np.int64)
        potentials = self.potentials(corpus)
        score = np.empty(corpus.n_tokens)
        for starts in _pieces(corpus):
            tokens = np.arange(starts[0], starts[-1])
            score[tokens] = potentials.scores(tokens)[np.arange(len(tokens)), tags[tokens]]
        inner = np.flatnonzero(~potentials.places.is_first)
        score[inner] += potentials.edges[tags[inner - 1], tags[inner]]
        owner = np.repeat(np.arange(len(corpus)), corpus.lengths)
        return np.asarray(np.bincount(owner, score, len(corpus)) - self.log_partition(corpus))

    def sample(self, corpus: Corpus, rng: np.random.Generator) -> IntArray:
        """Codes of tags drawn from p(y | words), shape (N,); for simulation."""
        require_generator(rng)
        potentials, codes = self.potentials(corpus), np.empty(corpus.n_tokens, dtype=np.int64)
        alpha = np.empty((corpus.n_tokens, len(self.tagset)), dtype=potentials.edges.dtype)
        for batch, _ in _batches(corpus):
            alpha[batch.tokens] = forward(batch, *potentials.rows(batch.tokens), potentials).alpha
        chain_viterbi.draw_sequences(corpus.starts, alpha, potentials.factors, rng.random(corpus.n_tokens), codes)
        return codes

    def __repr__(self) -> str:
        return f"ChainModel({len(self.tagset)} tags, {self.features!r})"


def _batches(corpus: Corpus) -> Iterator[tuple[Batch, IntArray]]:
    """Sentences that have tokens, in batches, and their numbers."""
    filled = np.flatnonzero(corpus.lengths)
    for batch in ChainLayout.of(corpus.starts[filled], corpus.starts[filled + 1]).batches:
        yield batch, filled[batch.stretches]


def _pieces(corpus: Corpus) -> Iterator[IntArray]:
    """Starts of some sentences at a time, and where the last of them ends."""
    first = 0
    while first < len(corpus):
        last = int(np.searchsorted(corpus.starts, corpus.starts[first] + _TOKENS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), len(corpus))
        yield corpus.starts[first : last + 1]
        first = last
