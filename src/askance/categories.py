"""The labels of a finite set, and the integer codes that the library counts with."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import repeat
from operator import eq
from typing import Any, NoReturn, TypeAlias, Union, cast

import numpy as np

from askance._arrays import AnyArray, ArrayLike, CodeArray, IntArray
from askance._checks import as_column, as_list, is_missing, shorten, shown
from askance._words import Argument, Either, words
from askance.errors import InputError, LabelError, MissingValueError

Label: TypeAlias = int | float | str | bool
#: What callers may write for a set of labels: how many, which ones, or a set that exists already.
LabelSet: TypeAlias = Union[int, Iterable[Label], "Categories"]

# Refuses the value at a position of a column.
_Refuse: TypeAlias = Callable[[int], NoReturn]
#: No set has more labels: codes, counts and thresholds of each are held in memory.
MOST_LABELS = 1 << 24
# Up to here one text is looked for among all labels rather than in a dictionary.
_FEW_LABELS = 16


class Categories:
    """An ordered finite set of labels; label number i has code i.

    Everywhere in askance data are *labels*: members of this set. Without names the labels are the codes 0, 1, …, m−1
    themselves, and encoding costs one look at the smallest and the largest value.

    >>> answers = Categories(["no", "yes"])
    >>> answers.encode(["yes", "no", "yes"])
    array([1, 0, 1])
    >>> answers.decode([1, 0])
    array(['yes', 'no'], dtype='<U3')
    >>> Categories(3).labels
    range(0, 3)
    """

    labels: Sequence[Label]

    def __init__(self, labels: int | Iterable[Label], *, minimum: int = 2, name: str = "labels") -> None:
        if not isinstance(labels, Iterable):
            self.labels = range(_as_size(labels, minimum, name))
            return
        listed = tuple(_as_label(label, name) for label in as_list(labels, name, '["no", "yes"], or their number'))
        if not minimum <= len(listed) <= MOST_LABELS:
            got = f"{len(listed)} {'label' if len(listed) == 1 else 'labels'} ({shorten(listed) or 'none'})"
            written = Either('a list such as ["no", "yes"]', "no,yes", argument=name)
            raise InputError(
                f"has {got}",
                argument=name,
                got=got,
                allowed=f"at least {minimum}, at most {MOST_LABELS:,}",
                remedy=words("Give {0} as {1}, or as a number.", Argument(name), written),
            )
        plain = all(type(label) is int for label in listed) and listed == tuple(range(len(listed)))
        self.labels = range(len(listed)) if plain else listed
        if not plain and len(self._code_of) < len(listed):
            first: dict[Label, int] = {}
            twice = next(label for i, label in enumerate(listed) if first.setdefault(label, i) != i)
            raise InputError(f"label {shown(twice)} of {name} appears twice.", remedy="Give every label once.")

    @classmethod
    def of(cls, labels: LabelSet, *, minimum: int = 2, name: str = "labels") -> Categories:
        """The set itself where it is one already, otherwise a new one; `name` is what errors call it."""
        return labels if isinstance(labels, Categories) else cls(labels, minimum=minimum, name=name)

    @property
    def are_codes(self) -> bool:
        """Whether the labels are the codes 0 … m−1 themselves."""
        return isinstance(self.labels, range)

    @cached_property
    def _code_of(self) -> dict[Label, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @cached_property
    def _lookup(self) -> AnyArray:
        one_kind = len({type(label) for label in self.labels}) == 1
        return np.array(self.labels, dtype=None if one_kind else object)

    @cached_property
    def _are_texts(self) -> bool:
        return not self.are_codes and all(isinstance(label, str) for label in self.labels)

    @cached_property
    def _takes_booleans(self) -> bool:
        """Whether True and False may stand for 1 and 0: two labels do, more do not."""
        return len(self) == 2 or any(isinstance(label, bool) for label in self.labels)

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds every code."""
        return np.min_scalar_type(len(self) - 1)

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        return f"Categories({len(self) if self.are_codes else list(self.labels)!r})"

    def shown(self) -> str:
        """The labels in a message: all of a few, some of many."""
        return f"{len(self)} codes" if self.are_codes else f"[{shorten(self.labels)}]"

    def code(self, label: Label, name: str = "value", *, secret: bool = False) -> int:
        """The code of one label; a `secret` one is never shown in an error.

        A few texts are all compared: a dictionary takes longer for a text whose place another one has, and how long a
        device takes shall not depend on the answer. Whole numbers from 0 on have places of their own.
        """
        if type(label) is str and self._are_texts and len(self) <= _FEW_LABELS:
            place = bytes(map(eq, self.labels, repeat(label))).find(1)
            code = place if place >= 0 else None
        else:
            code = self._find(label)
        if code is None or (type(label) not in (str, int) and self._is_foreign(type(label))):
            raise self._refusal(label, name, secret)
        return code

    def encode(self, values: ArrayLike, name: str = "data", offset: int = 0, *, secret: bool = False) -> CodeArray:
        """Turn labels into codes; a scalar becomes an array of one.

        Args:
            values: labels, shape (n,).
            name: what to call them in an error.
            offset: position of the first value, when this is a piece of a longer column.
            secret: whether they may be somebody's truth: an error then says where, and not what.

        Raises:
            MissingValueError: a value is NaN or None.
            LabelError: a value is no label of this set.
        """
        array = as_column(values, name, secret=secret)

        def refuse(position: int) -> NoReturn:
            value = array[position]
            plain = value.item() if isinstance(value, np.generic) else value
            raise self._refusal(plain, f"{name}[{offset + position}]", secret)

        kind = array.dtype.kind
        if kind == "O" or not self.are_codes:
            return self._look_up(array, refuse)
        if kind in "iu":
            return self._check_codes(array, refuse)
        if kind == "f":
            return self._check_codes(self._whole(array, refuse), refuse)
        if array.size and not (kind == "b" and self._takes_booleans):
            refuse(0)
        return array.astype(np.uint8)

    def _look_up(self, array: AnyArray, refuse: _Refuse) -> IntArray:
        """Codes by dictionary: of texts, mixed labels, and whatever stands in a column of objects."""
        values = array.tolist()
        if array.dtype.kind in "mM":  # durations and dates become numbers in a list
            values = list(array)
        # Among texts nothing equals a label by accident; in a plain array all values are of one type.
        looked_at = () if self._are_texts else values if array.dtype.kind == "O" else values[:1]
        foreign = [kind for kind in set(map(type, looked_at)) if self._is_foreign(kind)]
        if foreign:
            refuse(next(i for i, value in enumerate(values) if type(value) in foreign))
        codes: IntArray | None = None
        with suppress(TypeError):  # a value that cannot be looked up
            codes = np.fromiter(map(self._code_of.get, values, repeat(-1)), dtype=np.int64, count=len(values))
        if codes is None:
            refuse(next(i for i, value in enumerate(values) if self._find(value) is None))
        if codes.size and codes.min() < 0:
            refuse(int(np.argmin(codes)))
        return codes

    def _find(self, value: object) -> int | None:
        """The code of a value, or None; also of one that cannot be looked up (a list) or compared (NA)."""
        try:
            return self._code_of.get(cast(Label, value))
        except TypeError:
            return None

    def _is_foreign(self, kind: type) -> bool:
        """Whether values of a type are never labels, though Python counts 1+0j, and True, as equal to 1."""
        if issubclass(kind, (complex, np.complexfloating, np.datetime64, np.timedelta64)):
            return True
        return issubclass(kind, (bool, np.bool_)) and not self._takes_booleans

    def _check_codes(self, array: CodeArray, refuse: _Refuse) -> CodeArray:
        if array.size and not (array.min() >= 0 and array.max() < len(self)):
            refuse(int(np.argmax((array < 0) | (array >= len(self)))))
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def _whole(self, array: AnyArray, refuse: _Refuse) -> IntArray:
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        if not np.array_equal(whole, array):
            refuse(int(np.argmax(whole != array)))
        return whole

    def _refusal(self, value: object, where: str, secret: bool) -> InputError:
        if is_missing(value):
            remedy = "Drop missing values first, and count them."
            return MissingValueError(argument=where, got=f"missing ({shown(value)})", remedy=remedy)
        got = "" if secret else shown(value)
        return LabelError(
            f"is {got or 'none of the labels'}",
            argument=where,
            got=got,
            allowed=shorten(self.labels),
            remedy="Recode the data, or give the channel these labels.",
        )

    def decode(self, codes: ArrayLike) -> AnyArray:
        """Turn codes into labels."""
        array = np.asarray(codes)
        return array if self.are_codes else np.asarray(self._lookup[array])


def _as_size(labels: object, minimum: int, name: str) -> int:
    whole = isinstance(labels, (int, np.integer)) and not isinstance(labels, bool)
    if not whole or not minimum <= cast(int, labels) <= MOST_LABELS:
        raise InputError(
            argument=name,
            got=shown(labels),
            allowed=f"a number of labels, at least {minimum} and at most {MOST_LABELS:,}",
            remedy='Give a number such as 4, or a list such as ["no", "yes"].',
        )
    return int(cast(int, labels))


def _as_label(label: object, name: str) -> Label:
    """Read one label; refused is what a file could not keep, or an array would change."""
    plain = label.item() if isinstance(label, np.generic) else label
    reason = ""
    if not isinstance(plain, (int, float, str)):
        reason = "it is neither a text nor a number"
    elif isinstance(plain, float) and not math.isfinite(plain):
        reason = "it is not finite"
    elif isinstance(plain, int) and not -(2**63) <= plain < 2**63:
        reason = "it has more than 64 bits"
    elif isinstance(plain, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in plain):
        reason = "it contains a character that cannot be kept (NUL, or half of a surrogate pair)"
    if reason:
        raise InputError(
            f"label {shown(label)} of {name} is not usable: {reason}.", remedy="Use texts, whole numbers or booleans."
        )
    return cast(Label, plain)
