"""Tokenised sentences, held as integers."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray
from askance._checks import shown
from askance.errors import InputError, LabelError, ShapeError

#: The tag of a token without one.
NO_TAG = -1


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
        types: dict[str, int] = {}
        tokens, lengths = _numbered(sentences, types, "a word")
        starts = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))]).astype(np.int64)
        known = None if tagset is None else tuple(sorted(set(tagset)))
        coded = None
        if tags is not None:
            names: dict[str | None, int] = {}
            drawn, own = _numbered(tags, names, "a tag", may_be_none=True)
            if own != lengths:
                row = next((i for i, pair in enumerate(zip(own, lengths, strict=False)) if pair[0] != pair[1]), -1)
                raise ShapeError(
                    f"sentence {row if row >= 0 else min(len(own), len(lengths))} has another number of tags than of "
                    "words; allowed: one tag, or None, for every word.",
                    remedy="Give matching lists.",
                )
            seen = tuple(sorted(name for name in names if name is not None))
            known = seen if known is None else known
            code_of = {name: code for code, name in enumerate(known)}
            unknown = [name for name in seen if name not in code_of]
            if unknown:
                raise LabelError(
                    f"tag {shown(unknown[0])} is not in the tag set; allowed: {shown(list(known))}.",
                    remedy="Correct it, or give a tag set that has it.",
                )
            recoded = np.array([NO_TAG if name is None else code_of[name] for name in names], dtype=np.int16)
            coded = recoded[drawn] if len(recoded) else np.zeros(0, dtype=np.int16)
        named = tuple(ids)
        if named and len(named) != len(lengths):
            raise ShapeError(
                f"there are {len(named)} ids and {len(lengths)} sentences; allowed: one each.", remedy="Leave ids out."
            )
        return cls(tuple(types), tokens, starts, known or (), coded, named)

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
        sizes = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        where = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], sizes)
        ids = tuple(self.ids[s] for s in chosen) if self.ids else ()
        tags = None if self.tags is None else self.tags[where]
        return Corpus(self.words, self.tokens[where], starts, self.tagset, tags, ids)

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
        place = {name: code for code, name in enumerate(tagset)}
        codes = np.array([*(place[name] for name in self.tagset), NO_TAG], dtype=np.int16)  # −1 is the last entry
        return self.with_tags(codes[self.tags], tagset)

    @classmethod
    def join(cls, parts: Sequence[Corpus]) -> Corpus:
        """The sentences of all, one after the other; tag sets are merged.

        >>> Corpus.join([Corpus.of([["a"]], tags=[["Y"]]), Corpus.of([["b", "a"]], tags=[["X", "Y"]])]).tagset
        ('X', 'Y')
        """
        types: dict[str, int] = {}
        tagset = tuple(sorted({name for part in parts for name in part.tagset}))
        place = {name: code for code, name in enumerate(tagset)}
        tokens, tags, starts, total = [], [], [np.zeros(1, dtype=np.int64)], 0
        ids: list[str] = []
        for part in parts:
            recoded = np.array([types.setdefault(word, len(types)) for word in part.words], dtype=np.int32)
            tokens.append(recoded[part.tokens] if len(recoded) else part.tokens)
            names = np.array([*(place[name] for name in part.tagset), NO_TAG], dtype=np.int16)  # −1 is the last entry
            tags.append(np.full(part.n_tokens, NO_TAG, dtype=np.int16) if part.tags is None else names[part.tags])
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


def _numbered(
    rows: Iterable[Sequence[Any]], numbers: dict[Any, int], what: str, *, may_be_none: bool = False
) -> tuple[npt.NDArray[np.int32], list[int]]:
    """The number of every entry, by first appearance (entered into `numbers`), and the lengths of the rows."""
    found, lengths = array("i"), []
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes)):
        raise InputError(
            f"instead of sentences there is {shown(rows)}; allowed: a list of sentences, each a list of texts.",
            remedy='Give [["the", "dog"], ["a", "cat"]], for example.',
        )
    for row in rows:
        if isinstance(row, (str, bytes)) or not isinstance(row, Collection):
            raise InputError(
                f"a sentence is {shown(row)}; allowed: a list of words.", remedy="Split it into tokens first."
            )
        found.extend([numbers.setdefault(entry, len(numbers)) for entry in row])
        lengths.append(len(row))
    wrong = [entry for entry in numbers if not isinstance(entry, str) and not (entry is None and may_be_none)]
    if wrong:
        raise InputError(
            f"{what} is {shown(wrong[0])}; allowed: texts{' and None' if may_be_none else ''}.",
            remedy="Give words and tags as two lists of texts.",
        )
    return np.frombuffer(found, dtype=np.int32).copy() if found else np.zeros(0, dtype=np.int32), lengths
