"""The labels of a finite set, and the integer codes that the library counts with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, TypeAlias, Union

import numpy as np

from askance._arrays import AnyArray, ArrayLike, CodeArray, IntArray
from askance._checks import shorten
from askance.errors import InputError, LabelError, MissingValueError, ShapeError

Label: TypeAlias = int | float | str | bool
#: What callers may write for a set of labels: how many, which ones, or a set that exists already.
LabelSet: TypeAlias = Union[int, Iterable[Label], "Categories"]


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

    def __init__(self, labels: int | Iterable[Label], *, minimum: int = 2) -> None:
        if isinstance(labels, (int, np.integer)):
            self.labels = range(int(labels))
        elif isinstance(labels, str):
            raise InputError(f"labels is the text {labels!r}.", remedy='Give a list such as ["no", "yes"].')
        else:
            given = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
            plain = all(type(label) is int for label in given) and given == tuple(range(len(given)))
            self.labels = range(len(given)) if plain else given
        if len(self.labels) < minimum:
            raise InputError(f"there are {len(self.labels)} labels; allowed: at least {minimum}.", remedy="Add labels.")
        if not self.are_codes:
            self._check_names()

    @classmethod
    def of(cls, labels: LabelSet, *, minimum: int = 2) -> Categories:
        """The set itself where it is one already, otherwise a new one."""
        return labels if isinstance(labels, Categories) else cls(labels, minimum=minimum)

    def _check_names(self) -> None:
        for label in self.labels:
            if not isinstance(label, (int, float, str)) or label != label:
                raise InputError(f"label {label!r} is not usable.", remedy="Use texts, whole numbers or booleans.")
        if len(self._code_of) < len(self.labels):
            twice = next(label for i, label in enumerate(self.labels) if label in self.labels[:i])
            raise InputError(f"label {twice!r} appears twice.", remedy="Give every label once.")

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

    @property
    def code_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds every code."""
        return np.min_scalar_type(len(self) - 1)

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash(self.labels)

    def __repr__(self) -> str:
        return f"Categories({len(self) if self.are_codes else list(self.labels)!r})"

    def code(self, label: Label, name: str = "value") -> int:
        """The code of one label."""
        code = self._code_of.get(label)
        if code is None:
            raise self._refusal(label, name)
        return code

    def encode(self, values: ArrayLike, name: str = "data", offset: int = 0) -> CodeArray:
        """Turn labels into codes; a scalar becomes an array of one.

        Args:
            values: labels, shape (n,).
            name: what to call them in an error.
            offset: position of the first value, when this is a piece of a longer column.

        Raises:
            MissingValueError: a value is NaN or None.
            LabelError: a value is no label of this set.
        """
        array = np.atleast_1d(np.asarray(values))
        if array.ndim != 1:
            raise ShapeError(f"{name} has shape {array.shape}; allowed: one dimension.", remedy="Pass one column.")
        if self.are_codes and array.dtype.kind in "iu":
            return self._check_codes(array, name, offset)
        if self.are_codes and array.dtype.kind == "f":
            return self._check_codes(self._whole(array, name, offset), name, offset)
        codes: IntArray = np.fromiter(
            map(self._code_of.get, array.tolist(), repeat(-1)), dtype=np.int64, count=array.size
        )
        if codes.size and codes.min() < 0:
            self._refuse(array, int(np.argmin(codes)), name, offset)
        return codes

    def _check_codes(self, array: CodeArray, name: str, offset: int) -> CodeArray:
        if array.size and not (array.min() >= 0 and array.max() < len(self)):
            self._refuse(array, int(np.argmax((array < 0) | (array >= len(self)))), name, offset)
        return array

    def _whole(self, array: AnyArray, name: str, offset: int) -> IntArray:
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
        if not np.array_equal(whole, array):
            self._refuse(array, int(np.argmax(whole != array)), name, offset)
        return whole

    def _refuse(self, array: AnyArray, position: int, name: str, offset: int) -> None:
        value = array[position]
        raise self._refusal(value.item() if isinstance(value, np.generic) else value, f"{name}[{offset + position}]")

    def _refusal(self, value: object, where: str) -> InputError:
        if value is None or value != value:
            return MissingValueError(
                f"{where} is missing ({value!r}).", remedy="Drop missing values first, and count them."
            )
        return LabelError(
            f"{where} is {value!r}; allowed: {shorten(self.labels)}.",
            remedy="Recode the data, or give the channel these labels.",
        )

    def decode(self, codes: ArrayLike) -> AnyArray:
        """Turn codes into labels."""
        array = np.asarray(codes)
        return array if self.are_codes else np.asarray(self._lookup[array])
