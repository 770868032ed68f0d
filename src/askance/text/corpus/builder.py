"""A corpus that grows sentence by sentence."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from askance._checks import shown
from askance.errors import EmptyDataError, InputError, LabelError
from askance.text.corpus.corpus import NO_TAG, Corpus

# Tags are held in 16 bits.
_MOST_TAGS = 2**15 - 1


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
        """The corpus.

        Args:
            tagset: the tags that may appear; default: those that do. Sorted.
        """
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
        if self._tags:
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
