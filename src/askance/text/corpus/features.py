"""What is seen of a word: the word, its beginnings and ends, its shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import repeat
from typing import Any

import numpy as np

from askance._arrays import SparseRows
from askance._checks import did_you_mean, shown
from askance.errors import FormatError, InputError
from askance.text.corpus.word_classes import WordClasses

_RUNS = re.compile(r"(.)\1+", re.DOTALL)
# The value of features that a word has or has not.
_PRESENT = ""
# What the kinds of features begin with that are classes of words.
_CLASS = "class"


@dataclass(frozen=True)
class FeatureConfig:
    """Which features words have.

    Attributes:
        word: the word as it is written.
        lower: the word in lower case.
        shape: letters as X and x, digits as d, everything else as it is, runs as one: "McKay-2001" is "XxXx-d".
        prefixes: lengths of beginnings. Two of them do as well as four on held-out sentences, and better where few tags
            are asked for.
        suffixes: lengths of ends.
        capital: whether it begins with a capital letter.
        digit: whether there is a digit in it.
        hyphen: whether there is a hyphen in it.
        bias: a feature that every word has.

    >>> FeatureConfig.only("lower", suffixes=(3,)).suffixes
    (3,)
    """

    word: bool = True
    lower: bool = True
    shape: bool = True
    prefixes: tuple[int, ...] = (1, 3)
    suffixes: tuple[int, ...] = (1, 2, 3, 4)
    capital: bool = True
    digit: bool = True
    hyphen: bool = True
    bias: bool = True

    def __post_init__(self) -> None:
        for name in ("prefixes", "suffixes"):
            value = getattr(self, name)
            lengths = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
            if not all(type(length) is int and 1 <= length <= 100 for length in lengths):
                raise InputError(
                    f"{name} is {shown(value)}; allowed: whole numbers from 1 to 100.", remedy="Write (1, 2, 3, 4)."
                )
            object.__setattr__(self, name, tuple(sorted(set(lengths))))
        for name, value in asdict(self).items():
            if name not in ("prefixes", "suffixes") and type(value) is not bool:
                raise InputError(f"{name} is {shown(value)}; allowed: True or False.", remedy="Write True or False.")

    @classmethod
    def only(cls, *kinds: str, prefixes: tuple[int, ...] = (), suffixes: tuple[int, ...] = ()) -> FeatureConfig:
        """No features but these.

        >>> FeatureConfig.only("lower", suffixes=(3,)).kinds
        ('lower', 'suffix3')
        """
        wrong = [kind for kind in kinds if kind not in (*_VALUED, *_FLAGS)]
        if wrong:
            raise InputError(
                f"a kind of feature is {shown(wrong[0])}; allowed: {', '.join((*_VALUED, *_FLAGS))}.",
                remedy=did_you_mean(wrong[0], (*_VALUED, *_FLAGS), "Choose among these."),
            )
        return cls(**{kind: kind in kinds for kind in (*_VALUED, *_FLAGS)}, prefixes=prefixes, suffixes=suffixes)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds of features, in the order of their columns."""
        valued = (kind for kind in _VALUED if getattr(self, kind))
        flags = (kind for kind in _FLAGS if getattr(self, kind))
        prefixes, suffixes = (f"prefix{n}" for n in self.prefixes), (f"suffix{n}" for n in self.suffixes)
        return (*valued, *prefixes, *suffixes, *flags)


class TokenFeatures:
    """Binary features of a word alone, one column for each value seen in training.

    A word has at most one value of each kind. Columns are ordered by kind, then by value, so they do not depend on the
    order of the words. A word that was not seen has the features it shares with words that were.

    Attributes:
        config: the kinds of features.
        values: by kind, its values in the order of their columns.
        classes: classes that words are in, as further kinds "class0", "class1", …; None: none.

    >>> features = TokenFeatures.learn(["walked", "talked"], FeatureConfig(prefixes=(), suffixes=(2,), lower=False))
    >>> features.names
    ('word=talked', 'word=walked', 'shape=x', 'suffix2=ed', 'bias')
    >>> features.matrix(["talked", "hiked"]).toarray()
    array([[1., 0., 1., 1., 1.],
           [0., 0., 1., 1., 1.]], dtype=float32)
    """

    def __init__(
        self, config: FeatureConfig, values: Mapping[str, Sequence[str]], classes: WordClasses | None = None
    ) -> None:
        self.config, self.classes = config, classes
        self.values = {kind: tuple(values[kind]) for kind in _kinds(config, classes)}
        self._columns: list[dict[str | None, int]] = []
        for known in self.values.values():
            first = len(self)
            self._columns.append({value: first + i for i, value in enumerate(known)})

    @classmethod
    def learn(
        cls, words: Sequence[str], config: FeatureConfig | None = None, classes: WordClasses | None = None
    ) -> TokenFeatures:
        """The features of these words.

        Args:
            words: the types of the training data; how often each is given does not matter.
            config: which kinds of features; default: all of `FeatureConfig`.
            classes: classes that words are in.
        """
        _require_words(words)
        config = FeatureConfig() if config is None else config
        seen_by_kind = ((kind, set(_read(words, kind, classes))) for kind in _kinds(config, classes))
        values = {kind: sorted(value for value in seen if value is not None) for kind, seen in seen_by_kind}
        return cls(config, values, classes)

    def __len__(self) -> int:
        return sum(map(len, self._columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column, shape (F,)."""
        return tuple(
            kind if value == _PRESENT and kind in _FLAGS else f"{kind}={value}"
            for kind, known in self.values.items()
            for value in known
        )

    def matrix(self, words: Sequence[str]) -> SparseRows:
        """Which word has which feature: zeros and ones, shape (words, F), float32; unknown features are left out."""
        from scipy import sparse

        _require_words(words)
        columns = np.empty((len(words), len(self._columns)), dtype=np.int32)
        for position, (kind, known) in enumerate(zip(self.values, self._columns, strict=True)):
            places = map(known.get, _read(words, kind, self.classes), repeat(-1))
            columns[:, position] = np.fromiter(places, dtype=np.int32, count=len(words))
        present = columns >= 0
        ends = np.zeros(len(words) + 1, dtype=np.int32)
        np.cumsum(present.sum(axis=1), out=ends[1:])
        indices = columns[present]
        ones = np.ones(len(indices), dtype=np.float32)
        return sparse.csr_array((ones, indices, ends), shape=(len(words), len(self)))

    def specification(self) -> dict[str, Any]:
        """Plain values for a file; see `from_specification`."""
        classes = {} if self.classes is None else {"classes": self.classes.specification()}
        values = {kind: list(known) for kind, known in self.values.items()}
        return {"config": asdict(self.config), "values": values, **classes}

    @classmethod
    def from_specification(cls, specification: Mapping[str, Any]) -> TokenFeatures:
        """The features that `specification` described."""
        try:
            config = FeatureConfig(**specification["config"])
            described = specification.get("classes")
            classes = None if described is None else WordClasses.from_specification(described)
            values = {kind: specification["values"][kind] for kind in _kinds(config, classes)}
        except (KeyError, TypeError, InputError) as error:
            raise FormatError(
                f"the features of words cannot be read: {shown(error)}.", remedy="Write the file again."
            ) from error
        for kind, known in values.items():
            texts = isinstance(known, list) and all(isinstance(value, str) for value in known)
            if not texts or len(set(known)) != len(known):
                raise FormatError(
                    f"the values of {kind} are {shown(known)}; allowed: different texts.",
                    remedy="Write the file again.",
                )
        return cls(config, values, classes)

    def __eq__(self, other: object) -> bool:
        mine = self.config, self.values, self.classes
        return isinstance(other, TokenFeatures) and mine == (other.config, other.values, other.classes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TokenFeatures({len(self):,} features)"


class _Shapes(dict[str, str]):
    """Shapes with their runs cut, worked out once each: a text has few."""

    def __missing__(self, key: str) -> str:
        self[key] = cut = _RUNS.sub(r"\1", key)
        return cut


class _Letters(dict[int, str]):
    """What a character is in a shape."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kind = "d" if letter.isdigit() else letter
        if letter.isalpha():
            kind = "X" if letter.isupper() or letter.istitle() else "x"
        self[code] = kind
        return kind


def _shapes(words: Sequence[str]) -> list[str]:
    letters, shapes = _Letters(), _Shapes()
    return [shapes[word.translate(letters)] for word in words]


def _digits(words: Sequence[str]) -> list[str | None]:
    # Most words are letters and nothing else: one look at the whole word spares a look at each letter.
    return [_PRESENT if not word.isalpha() and any(map(str.isdigit, word)) else None for word in words]


# Features that have a value for every word, and those that a word has or has not.
_VALUED: dict[str, Callable[[Sequence[str]], Sequence[str]]] = {
    "word": lambda words: words,
    "lower": lambda words: [word.lower() for word in words],
    "shape": _shapes,
}
_FLAGS: dict[str, Callable[[Sequence[str]], list[str | None]]] = {
    "capital": lambda words: [_PRESENT if word[:1].isupper() else None for word in words],
    "digit": _digits,
    "hyphen": lambda words: [_PRESENT if "-" in word else None for word in words],
    "bias": lambda words: [_PRESENT] * len(words),
}


def _kinds(config: FeatureConfig, classes: WordClasses | None) -> tuple[str, ...]:
    """Names of the kinds of features, those of classes last."""
    return (*config.kinds, *(f"{_CLASS}{i}" for i in range(0 if classes is None else len(classes.sizes))))


def _read(words: Sequence[str], kind: str, classes: WordClasses | None = None) -> Sequence[str | None]:
    """The value of every word of one kind of feature; None where it has none."""
    if classes is not None and kind.startswith(_CLASS):
        return classes.of(words, int(kind[len(_CLASS) :]))
    if kind in _VALUED:
        return _VALUED[kind](words)
    if kind in _FLAGS:
        return _FLAGS[kind](words)
    length = int(kind[len("prefix") :])
    if kind.startswith("prefix"):
        return [word[:length] if len(word) >= length else None for word in words]
    return [word[-length:] if len(word) >= length else None for word in words]


def _require_words(words: Sequence[str]) -> None:
    if isinstance(words, str):
        raise InputError(f"words are {shown(words)}; allowed: a list of words.", remedy=f"Write [{shown(words)}].")
    wrong = next((word for word in words if not isinstance(word, str)), None)
    if wrong is not None:
        raise InputError(f"a word is {shown(wrong)}; allowed: texts.", remedy="Turn it into a text with str().")
