"""Tokenised sentences, held as integers."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray
from askance._checks import shown
from askance.errors import EmptyDataError, InputError, LabelError, ShapeError

#: The tag of a token without one.
NO_TAG = -1
# Tags are held in 16 bits.
_MOST_TAGS = 2**15 - 1


def ends_of(sizes: npt.ArrayLike) -> IntArray:
    """0, and where each of several runs of these sizes ends: offsets."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def places_of(starts: IntArray, sizes: IntArray) -> IntArray:
    """Places of several runs: starts[0], …, starts[0] + sizes[0] − 1, starts[1], …

    >>> places_of(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = ends_of(sizes)
    return np.asarray(np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes), dtype=np.int64)


def tag_codes(names: Iterable[str], tagset: Sequence[str], whose: str) -> npt.NDArray[np.int16]:
    """The codes of tags in a tag set, and `NO_TAG` behind them: as it is −1, it takes itself to itself.

    >>> tag_codes(["VB", "DT"], ["DT", "NN", "VB"], "the corpus has")
    array([ 2,  0, -1], dtype=int16)
    """
    place = {name: code for code, name in enumerate(tagset)}
    codes = [place.get(name, name) for name in names]
    unknown = next((code for code in codes if isinstance(code, str)), None)
    if unknown is not None:
        raise LabelError(
            f"{whose} the tag {shown(unknown)}; allowed: {shown(list(tagset))}.", remedy="Take one tag set for all."
        )
    return np.array([*codes, NO_TAG], dtype=np.int16)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences as types (different words) and offsets, with or without tags.

    Token i is the word words[tokens[i]], and sentence s has the tokens from starts[s] to starts[s + 1].

    Attributes:
        words: the types, in the order in which they first appear.
        tokens: type of every token, shape (N,).
        starts: where sentences begin and, last, N; shape (sentences + 1,).
        tagset: names of the tags, sorted; empty where there are none.
        tags: tag of every token, shape (N,), `NO_TAG` where it has none.
        ids: names of the sentences; empty where they have none.

    >>> corpus = Corpus.of([["the", "dog", "the"], ["dogs"]], tags=[["DT", "NN", "DT"], ["NNS"]])
    >>> corpus
    Corpus(2 sentences, 4 tokens, 3 types, 3 tags)
    >>> corpus.tokens, corpus.sentence(0), corpus.tags_of(1)
    (array([0, 1, 0, 2], dtype=int32), ('the', 'dog', 'the'), ('NNS',))
    """

    words: tuple[str, ...]
    tokens: npt.NDArray[np.int32]
    starts: IntArray
    tagset: tuple[str, ...] = ()
    tags: npt.NDArray[np.int16] | None = None
    ids: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        sentences: Iterable[Sequence[str]],
        tags: Iterable[Sequence[str | None]] | None = None,
        *,
        ids: Iterable[str] = (),
        tagset: Iterable[str] | None = None,
    ) -> Corpus:
        """From sentences of words.

        Args:
            sentences: words of each.
            tags: one per word, or None where a word has no tag.
            ids: names of the sentences.
            tagset: the tags that may appear; default: those that do.
        """
        listed, named = _checked(sentences, "a word"), tuple(ids)
        drawn = None if tags is None else _checked(tags, "a tag", may_be_none=True)
        if drawn is not None and [*map(len, drawn)] != [*map(len, listed)]:
            pairs = enumerate(zip(drawn, listed, strict=False))
            row = next((i for i, (own, words) in pairs if len(own) != len(words)), min(len(drawn), len(listed)))
            raise ShapeError(
                f"sentence {row} has another number of tags than of words; allowed: one tag, or None, for every word.",
                remedy="Give matching lists.",
            )
        if named and len(named) != len(listed):
            raise ShapeError(
                f"there are {len(named)} ids and {len(listed)} sentences; allowed: one each.", remedy="Leave ids out."
            )
        builder = CorpusBuilder()
        for number, words in enumerate(listed):
            builder.add(words, None if drawn is None else drawn[number])
        return replace(builder.build(tagset), ids=named)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_tokens(self) -> int:
        """N."""
        return len(self.tokens)

    @cached_property
    def type_counts(self) -> IntArray:
        """How often each type appears, shape (types,)."""
        return np.bincount(self.tokens, minlength=len(self.words))

    @cached_property
    def lengths(self) -> IntArray:
        """Tokens of every sentence, shape (sentences,)."""
        return np.diff(self.starts)

    def span(self, number: int) -> slice:
        """Where the tokens of a sentence are."""
        if not 0 <= number < len(self):
            raise InputError(f"there is no sentence {number}; allowed: 0 to {len(self) - 1}.", remedy="Count from 0.")
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def sentence(self, number: int) -> tuple[str, ...]:
        """The words of a sentence."""
        return tuple(self.words[t] for t in self.tokens[self.span(number)].tolist())

    def sentences(self) -> Iterator[tuple[str, ...]]:
        """The words of all sentences, one after the other."""
        for number in range(len(self)):
            yield self.sentence(number)

    def tags_of(self, number: int) -> tuple[str | None, ...]:
        """The tags of a sentence; None for tokens without one."""
        if self.tags is None:
            span = self.span(number)
            return (None,) * len(range(span.start, span.stop))
        return tuple(None if code == NO_TAG else self.tagset[code] for code in self.tags[self.span(number)].tolist())

    def name(self, number: int) -> str:
        """What a sentence is called in messages."""
        return repr(self.ids[number]) if self.ids else f"{number + 1}"

    def first_with(self, type: int) -> int | None:
        """The number of the first sentence with a type; None where no sentence has it."""
        places = np.flatnonzero(self.tokens == type)
        return int(np.searchsorted(self.starts, places[0], side="right")) - 1 if len(places) else None

    def require_tags(self) -> npt.NDArray[np.int16]:
        """The tags, where every token has one."""
        if self.tags is None or (self.tags == NO_TAG).any():
            missing = self.n_tokens if self.tags is None else int((self.tags == NO_TAG).sum())
            columns = "Give a file with a column of tags, columns separated by tabs (.tsv); plain text (.txt) has none."
            raise InputError(
                f"{missing:,} of {self.n_tokens:,} tokens have no tag; allowed: a tag for every token.",
                remedy=columns if missing == self.n_tokens else "Give a fully labelled corpus.",
            )
        return self.tags

    def take(self, numbers: Iterable[int]) -> Corpus:
        """Some of the sentences, in that order, with all types and tags."""
        chosen = np.fromiter(numbers, dtype=np.int64)
        where = places_of(self.starts[chosen], self.lengths[chosen])
        ids = tuple(self.ids[s] for s in chosen) if self.ids else ()
        tags = None if self.tags is None else self.tags[where]
        return Corpus(self.words, self.tokens[where], ends_of(self.lengths[chosen]), self.tagset, tags, ids)

    def with_tags(self, codes: npt.ArrayLike, tagset: Sequence[str]) -> Corpus:
        """The same sentences with other tags: their codes in a tag set, shape (N,)."""
        tags = np.asarray(codes, dtype=np.int16)
        if tags.shape != self.tokens.shape:
            raise ShapeError(
                f"there are {tags.shape} tags and {self.tokens.shape} tokens; allowed: one each.",
                remedy="Give a tag for every token.",
            )
        return Corpus(self.words, self.tokens, self.starts, tuple(tagset), tags, self.ids)

    def with_tagset(self, tagset: Sequence[str]) -> Corpus:
        """The same tags within a larger tag set."""
        if self.tags is None:
            return Corpus(self.words, self.tokens, self.starts, tuple(tagset), None, self.ids)
        return self.with_tags(tag_codes(self.tagset, tagset, "the corpus has")[self.tags], tagset)

    def with_rest(self, tagset: Sequence[str], rest: str) -> Corpus:
        """The same sentences with one name for all tags that are not in a tag set; words without a tag stay without.

        >>> gold = Corpus.of([["the", "dog", "barks"]], tags=[["DET", "NOUN", None]])
        >>> gold.with_rest(["NOUN", "OTHER"], "OTHER").tags_of(0)
        ('OTHER', 'NOUN', None)
        """
        known = tuple(dict.fromkeys((*tagset, rest)))
        if self.tags is None:
            return self.with_tagset(known)
        # The last code is that of words without a tag, which is -1.
        codes = [known.index(tag) if tag in known else known.index(rest) for tag in self.tagset]
        return self.with_tags(np.array([*codes, -1], dtype=np.int16)[self.tags], known)

    @classmethod
    def join(cls, parts: Sequence[Corpus]) -> Corpus:
        """The sentences of all, one after the other; tag sets are merged.

        >>> Corpus.join([Corpus.of([["a"]], tags=[["Y"]]), Corpus.of([["b", "a"]], tags=[["X", "Y"]])]).tagset
        ('X', 'Y')
        """
        types: dict[str, int] = {}
        tagset = tuple(sorted({name for part in parts for name in part.tagset}))
        tokens, tags, starts, total = [], [], [np.zeros(1, dtype=np.int64)], 0
        ids: list[str] = []
        for part in parts:
            recoded = np.array([types.setdefault(word, len(types)) for word in part.words], dtype=np.int32)
            tokens.append(recoded[part.tokens] if len(recoded) else part.tokens)
            codes = tag_codes(part.tagset, tagset, "a part has")
            tags.append(np.full(part.n_tokens, NO_TAG, dtype=np.int16) if part.tags is None else codes[part.tags])
            starts.append(part.starts[1:] + total)
            total += part.n_tokens
            ids += part.ids or [""] * len(part)
        return cls(
            tuple(types),
            np.concatenate([np.zeros(0, dtype=np.int32), *tokens]),
            np.concatenate(starts),
            tagset,
            np.concatenate([np.zeros(0, dtype=np.int16), *tags]) if any(p.tags is not None for p in parts) else None,
            tuple(ids) if any(ids) else (),
        )

    def __repr__(self) -> str:
        tags = f", {len(self.tagset)} tags" if self.tagset else ""
        return f"Corpus({len(self):,} sentences, {self.n_tokens:,} tokens, {len(self.words):,} types{tags})"


class CorpusBuilder:
    """Takes sentences one at a time, so that a file is never held as texts.

    Args:
        no_tag: what stands for "no tag", beside None.

    >>> builder = CorpusBuilder(no_tag=["_"])
    >>> builder.add(["the", "dog"], ["DT", "_"])
    >>> builder.add(["dogs"])
    >>> corpus = builder.build()
    >>> corpus, corpus.tags_of(0)
    (Corpus(2 sentences, 3 tokens, 3 types, 1 tags), ('DT', None))
    """

    def __init__(self, no_tag: Collection[str] = ()) -> None:
        self._no_tag = {None, *no_tag}
        self._types: dict[str, int] = {}
        self._names: dict[str | None, int] = {None: 0}
        self._tokens, self._tags, self._ends = array("i"), array("i"), array("q", [0])
        self._ids: list[str] = []
        self._has_tags = False

    @property
    def n_tokens(self) -> int:
        """Tokens so far."""
        return len(self._tokens)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, words: Sequence[str], tags: Sequence[str | None] | None = None, id: str = "") -> None:
        """One more sentence; tags, where there are some, one per word."""
        types, names = self._types, self._names
        self._tokens.extend([types.setdefault(word, len(types)) for word in words])
        if tags is not None:
            self._has_tags = True
            self._tags.extend([0] * (int(self._ends[-1]) - len(self._tags)))  # sentences before that had none
            self._tags.extend([names.setdefault(tag, len(names)) for tag in tags])
        self._ends.append(len(self._tokens))
        if id or self._ids:
            self._ids.extend([""] * (len(self) - 1 - len(self._ids)))
            self._ids.append(id)

    def require_sentences(self, name: str) -> None:
        """Refuse a file without any."""
        if not len(self):
            raise EmptyDataError(f"{name} has no sentence.", remedy="Give a file with at least one token.")

    def build(self, tagset: Iterable[str] | None = None) -> Corpus:
        """The corpus, with the tags that may appear, sorted; default: those that do."""
        used = sorted(name for name in self._names if name is not None and name not in self._no_tag)
        known = tuple(used if tagset is None else sorted(set(tagset)))
        if len(known) > _MOST_TAGS:
            raise InputError(
                f"there are {len(known):,} different tags; allowed: at most {_MOST_TAGS:,}.",
                remedy="Choose a column that holds tags, not words.",
            )
        code_of = {name: code for code, name in enumerate(known)}
        unknown = [name for name in used if name not in code_of]
        if unknown:
            raise LabelError(
                f"tag {shown(unknown[0])} is not in the tag set; allowed: {shown(list(known))}.",
                remedy="Correct it, or give a tag set that has it.",
            )
        tags = None
        if self._has_tags:
            self._tags.extend([0] * (len(self._tokens) - len(self._tags)))
            recoded = [NO_TAG if name in self._no_tag else code_of[str(name)] for name in self._names]
            tags = np.array(recoded, dtype=np.int16)[np.array(self._tags, dtype=np.int32)]
        ids = tuple(id or str(number) for number, id in enumerate(self._ids, 1))
        return Corpus(
            tuple(self._types),
            np.array(self._tokens, dtype=np.int32),
            np.array(self._ends, dtype=np.int64),
            known,
            tags,
            ids,
        )


def _checked(rows: Iterable[Sequence[Any]], what: str, *, may_be_none: bool = False) -> list[Sequence[Any]]:
    """Rows of texts."""
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes)):
        raise InputError(
            f"instead of sentences there is {shown(rows)}; allowed: a list of sentences, each a list of texts.",
            remedy='Give [["the", "dog"], ["a", "cat"]], for example.',
        )
    listed: list[Sequence[Any]] = []
    for row in rows:
        if isinstance(row, (str, bytes)) or not isinstance(row, Collection):
            raise InputError(
                f"a sentence is {shown(row)}; allowed: a list of words.", remedy="Split it into tokens first."
            )
        listed.append(row)
    kinds = {str, type(None)} if may_be_none else {str}
    for entry in (entry for row in listed if not set(map(type, row)) <= kinds for entry in row):
        if not isinstance(entry, str) and not (entry is None and may_be_none):
            raise InputError(
                f"{what} is {shown(entry)}; allowed: texts{' and None' if may_be_none else ''}.",
                remedy="Give words and tags as two lists of texts.",
            )
    return listed
