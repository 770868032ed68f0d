"""Which features a chain sees at a token: those of its word, and of the words around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from askance._arrays import SparseRows
from askance._checks import shown
from askance.errors import InputError
from askance.formats.fields import Fields
from askance.text.corpus.features import FeatureConfig, TokenFeatures
from askance.text.corpus.word_classes import WordClasses

_FARTHEST = 5


class ChainFeatures:
    """Features of a word, and of its neighbours at the distances −radius … radius.

    Columns are those of the word, then those of the words at −1, 1, −2, 2, …

    Attributes:
        word: features of the word itself.
        around: features of neighbours, the same at all distances; None with radius 0.
        radius: how far they are looked at.

    >>> around = FeatureConfig.only("lower")
    >>> features = ChainFeatures.learn(["walked"], FeatureConfig.only("word", suffixes=(2,)), around, radius=1)
    >>> features.distances, features.sizes
    ((0, -1, 1), (2, 1, 1))
    """

    def __init__(self, word: TokenFeatures, around: TokenFeatures | None = None, radius: int = 0) -> None:
        check_radius(radius)
        self.word, self.around, self.radius = word, around if radius else None, radius if around is not None else 0

    @classmethod
    def learn(
        cls,
        words: Sequence[str],
        config: FeatureConfig | None = None,
        around: FeatureConfig | None = None,
        radius: int = 0,
        classes: WordClasses | None = None,
    ) -> ChainFeatures:
        """The features of these words.

        Args:
            words: the types of the training data.
            config: which kinds of features the word has.
            around: which kinds its neighbours have.
            radius: how far neighbours are looked at.
            classes: classes that words, and their neighbours, are in.
        """
        neighbours = None if around is None or not radius else TokenFeatures.learn(words, around, classes)
        return cls(TokenFeatures.learn(words, config, classes), neighbours, radius)

    @property
    def distances(self) -> tuple[int, ...]:
        """0, −1, 1, −2, 2, …"""
        return (0, *(sign * d for d in range(1, self.radius + 1) for sign in (-1, 1)))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many columns there are for each distance."""
        return tuple(len(self.word if d == 0 or self.around is None else self.around) for d in self.distances)

    def __len__(self) -> int:
        return sum(self.sizes)

    def matrices(self, words: Sequence[str]) -> dict[int, SparseRows]:
        """By distance, which word has which feature, shape (words + 1, columns): the last row is no word."""
        matrices = {0: _with_empty_row(self.word.matrix(words))}
        if self.around is not None:
            beside = _with_empty_row(self.around.matrix(words))
            matrices |= dict.fromkeys(self.distances[1:], beside)
        return matrices

    def specification(self) -> dict[str, Any]:
        """Plain values for a file; see `from_specification`."""
        around = None if self.around is None else self.around.specification()
        return {"word": self.word.specification(), "around": around, "radius": self.radius}

    @classmethod
    def from_specification(cls, specification: Mapping[str, Any]) -> ChainFeatures:
        """The features that `specification` described."""
        fields = Fields(specification, "the features of the chain")
        word, around = fields.read("word", dict), fields.read("around", dict, optional=True)
        neighbours = None if around is None else TokenFeatures.from_specification(around)
        return cls(TokenFeatures.from_specification(word), neighbours, fields.read("radius", int))

    def __repr__(self) -> str:
        return f"ChainFeatures({len(self):,} features, radius {self.radius})"


def check_radius(radius: object) -> None:
    """Refuse what is no distance to look at words."""
    if type(radius) is not int or not 0 <= radius <= _FARTHEST:
        raise InputError(
            argument="radius",
            got=shown(radius),
            allowed=f"whole numbers from 0 to {_FARTHEST}",
            remedy="1 suits most texts.",
        )


def _with_empty_row(matrix: SparseRows) -> SparseRows:
    import numpy as np
    from scipy import sparse

    ends = np.append(matrix.indptr, matrix.indptr[-1])
    return sparse.csr_array((matrix.data, matrix.indices, ends), shape=(matrix.shape[0] + 1, matrix.shape[1]))
