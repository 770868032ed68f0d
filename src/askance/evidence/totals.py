"""Sums over blocks of rows, in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

from askance._arrays import AnyArray, FloatArray, IntArray
from askance.errors import InputError

#: Rows of a block: with ten covariates, about half a megabyte, which stays in the processor's cache.
BLOCK = 8192

Rows = TypeVar("Rows")
Part = TypeVar("Part")
#: Sums of stretches of blocks, by (level, place): of the 2^level blocks from place · 2^level on.
Branches: TypeAlias = dict[tuple[int, int], Any]


class KeyedSums(NamedTuple):
    """Keys in order, shape (g,), and the sums of the rows of each, shape (g, d)."""

    keys: AnyArray
    sums: FloatArray


def add(earlier: tuple[FloatArray, ...], later: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """The sum of arrays, one by one, in place of the earlier ones: the usual `merge`."""
    for mine, other in zip(earlier, later, strict=True):
        np.add(mine, other, out=mine)
    return earlier


@overload
def total(blocks: Iterable[Rows], f: Callable[[Rows], tuple[FloatArray, ...]]) -> tuple[FloatArray, ...]: ...


@overload
def total(
    blocks: Iterable[Rows], f: Callable[[Rows], Part], merge: Callable[[Part, Part], Part], by: None = ...
) -> Part: ...


@overload
def total(blocks: Iterable[Rows], f: Callable[[Rows], FloatArray], *, by: Callable[[Rows], AnyArray]) -> KeyedSums: ...


def total(
    blocks: Iterable[Rows],
    f: Callable[[Rows], Any],
    merge: Callable[[Any, Any], Any] = add,
    by: Callable[[Rows], AnyArray] | None = None,
) -> Any:
    """f of every block, merged along an aligned binary tree: like the carries of a binary counter.

    Blocks 0 and 1 are merged, 2 and 3, then 0–1 with 2–3, and so on: 2^k blocks from a multiple of 2^k on are merged
    among themselves first. Whoever has such a stretch alone gets its part of the sum to the last bit, so the result
    does not depend on how many work on it. Rounding errors grow like the logarithm of the number of blocks.

    To run elsewhere, f (and `by`) must be small and picklable: a function of a module, a `functools.partial` of one, or
    an instance of a class with `__call__` that holds θ and little else, not the rows. A lambda will do here.

    Args:
        blocks: at least one.
        f: what is summed; its results may be overwritten by `merge`.
        merge: puts the part of earlier blocks and that of later ones together; default: arrays are added, one by one.
        by: the key of every row of a block, shape (n,), such as its cluster; f then gives values of rows, shape (n, d),
            which are added up by key, also where rows of a key are in several blocks.

    >>> total(["a", "b", "c", "d", "e"], str.upper, lambda earlier, later: f"({earlier}{later})")
    '(((AB)(CD))E)'
    >>> rows = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> total(rows, np.negative, by=lambda block: block[:, 0].astype(int) % 2)
    KeyedSums(keys=array([0, 1]), sums=array([[-2.], [-4.]]))
    """
    if by is not None:
        return total(blocks, Keyed(f, by), merge_keyed)
    return trunk(branches(enumerate(blocks), f, merge), merge)


def branches(
    blocks: Iterable[tuple[int, Rows]], f: Callable[[Rows], Any], merge: Callable[[Any, Any], Any]
) -> Branches:
    """What some blocks bring to a total: as much of the tree as they hold by themselves.

    Args:
        blocks: each with its number among all.
        f: what is summed, as in `total`.
        merge: puts parts together, as in `total`.

    >>> branches(enumerate("bcdef", 1), str.upper, lambda earlier, later: f"({earlier}{later})")
    {(0, 1): 'B', (1, 1): '(CD)', (1, 2): '(EF)'}
    """
    tree: Branches = {}
    for number, block in blocks:
        _graft(tree, (0, number), f(block), merge)
    return tree


def grafted(one: Branches, other: Branches, merge: Callable[[Any, Any], Any]) -> Branches:
    """What two sets of blocks bring to a total. Every order in which sets are put together gives the same bits.

    Parts of both may be overwritten.

    >>> grafted({(0, 1): "B", (1, 1): "(CD)"}, {(0, 0): "A"}, lambda earlier, later: f"({earlier}{later})")
    {(2, 0): '((AB)(CD))'}
    """
    tree = dict(one)
    for branch, part in other.items():
        _graft(tree, branch, part, merge)
    return tree


def _graft(tree: Branches, branch: tuple[int, int], part: Any, merge: Callable[[Any, Any], Any]) -> None:
    level, place = branch
    while (level, place ^ 1) in tree:
        beside = tree.pop((level, place ^ 1))
        part = merge(beside, part) if place & 1 else merge(part, beside)
        level, place = level + 1, place >> 1
    tree[level, place] = part


def trunk(tree: Branches, merge: Callable[[Any, Any], Any]) -> Any:
    """The total, from what all blocks, 0 to the last, bring to it."""
    *earlier, whole = [tree[branch] for branch in sorted(tree, key=lambda branch: branch[1] << branch[0])]
    for part in reversed(earlier):
        whole = merge(part, whole)
    return whole


@dataclass(frozen=True)
class Keyed:
    """A function of blocks: values of rows, f, added up by their keys."""

    f: Callable[..., FloatArray]
    keys: Callable[..., Any]

    def __call__(self, *block: Any) -> KeyedSums:
        """Of one block, and whatever else f and keys are told of it."""
        return keyed_sums(self.keys(*block), self.f(*block))


def keyed_sums(keys: AnyArray, values: FloatArray) -> KeyedSums:
    """Of the keys that occur: values, shape (n, d), added up by key.

    >>> keyed_sums(np.array([7, 2, 7]), np.array([[1.0], [2.0], [3.0]]))
    KeyedSums(keys=array([2, 7]), sums=array([[2.], [4.]]))
    """
    known, place = np.unique(keys, return_inverse=True)
    columns = [np.bincount(place.reshape(-1), weights=column, minlength=len(known)) for column in values.T]
    return KeyedSums(known, np.stack(columns, axis=1))


def merge_keyed(earlier: KeyedSums, later: KeyedSums) -> KeyedSums:
    """The sums of both, key by key."""
    keys = np.sort(np.concatenate([earlier.keys, later.keys]), kind="stable")  # quick: two runs that are in order
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = keys[1:] != keys[:-1]
    keys = keys[is_new]
    sums = np.zeros((len(keys), earlier.sums.shape[1]))
    sums[np.searchsorted(keys, earlier.keys)] = earlier.sums
    sums[np.searchsorted(keys, later.keys)] += later.sums
    return KeyedSums(keys, sums)


def blocks_of(n: int, units: IntArray | None = None) -> list[slice]:
    """Rows 0 … n−1 in blocks of `BLOCK`, none of which cuts a unit: rows that were seen together.

    A block begins with the first unit from a multiple of `BLOCK` on, so that it depends on nothing but its own rows
    where it begins.

    Args:
        n: how many rows there are.
        units: the unit of every row, shape (n,), whose rows stand side by side; None: every row is one by itself.

    >>> blocks_of(20_000)
    [slice(0, 8192, None), slice(8192, 16384, None), slice(16384, 20000, None)]
    >>> blocks_of(20_000, np.arange(20_000) // 5_000)
    [slice(0, 10000, None), slice(10000, 20000, None)]
    """
    borders = np.arange(0, n, BLOCK)
    if units is not None:
        begins = np.flatnonzero(np.concatenate([[True], units[1:] != units[:-1]])) if n else np.zeros(0, dtype=np.int64)
        if len(np.unique(units)) < len(begins):
            raise InputError(
                "units holds a unit whose rows do not stand side by side; allowed: one stretch of rows each.",
                remedy="Sort the rows by unit first.",
            )
        places = np.searchsorted(begins, borders)
        borders = np.unique(begins[places[places < len(begins)]])
    return [slice(start, end) for start, end in pairwise([*borders.tolist(), n])]
