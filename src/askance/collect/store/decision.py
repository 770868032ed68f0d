"""What becomes of a group of entries, given what is stored: sets and sums, no database."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from askance._arrays import IntArray
from askance._checks import shown
from askance.collect.store.entry import Entry, Verdict
from askance.collect.store.protocol import Sums
from askance.errors import InputError

#: By question and window. The empty question counts entries.
Tallies: TypeAlias = dict[tuple[str, int], Sums]
#: The question under which entries themselves are counted.
ALL = ""
_NO_SUMS: IntArray = np.zeros(0, dtype=np.int64)
# Sums that are added up at once: a group of entries may have thousands of millions.
_NUMBERS = 2**20


class Decision(NamedTuple):
    """The verdicts on a group, the entries to be stored (by id: no order is kept), and the tokens they spend."""

    verdicts: list[Verdict]
    taken: list[Entry]
    spent: list[bytes]


def decide(
    entries: Sequence[Entry], stored: Mapping[bytes, bytes], tokens: Mapping[bytes, int], *, closed: bool = False
) -> Decision:
    """One verdict after the other: what comes first in the group is known to what follows.

    Args:
        entries: the group.
        stored: by id, the content of those of its entries that are stored.
        tokens: by hash, those of its tokens that were issued: 1 for one that is spent, else 0.
        closed: whether nothing new is taken.

    >>> first, again, other = (Entry(bytes(16), content) for content in (b"yes", b"yes", b"no"))
    >>> [verdict.value for verdict in decide([first, again, other], {}, {}).verdicts]
    ['taken', 'known', 'conflict']
    """
    taken, spent = dict[bytes, Entry](), set[bytes]()
    verdicts = list[Verdict]()
    for entry in entries:
        id, content, token, _, _ = entry
        if id in stored:
            verdict = Verdict.KNOWN if stored[id] == content else Verdict.CONFLICT
        elif id in taken:
            verdict = Verdict.KNOWN if taken[id].content == content else Verdict.CONFLICT
        elif closed:
            verdict = Verdict.CLOSED
        else:
            verdict = Verdict.TAKEN
            if token is not None:
                verdict = _verdict_on(token in spent or tokens.get(token))
            if verdict is Verdict.TAKEN:
                taken[id] = entry
                if token is not None:
                    spent.add(token)
        verdicts.append(verdict)
    return Decision(verdicts, [taken[id] for id in sorted(taken)], sorted(spent))


def _verdict_on(spent: bool | int | None) -> Verdict:
    """What becomes of a new entry whose token is spent, is not, or was never issued.

    Nothing says on which entry a token was spent, nor need it: whoever sends an entry again sends its id, which is
    stored if the token is spent, for both are written in one transaction.
    """
    if spent is None:
        return Verdict.FOREIGN
    return Verdict.SPENT if spent else Verdict.TAKEN


def added(contributions: Iterable[tuple[int, Mapping[str, IntArray]]]) -> Tallies:
    """What entries of these windows and sums add up to, with the entries themselves under `ALL`.

    >>> added([(0, {"drugs": np.array([0, 1])}), (0, {"drugs": np.array([1, 0])})])["drugs", 0]
    Sums(sums=array([1, 1]), n=2)
    """
    columns: defaultdict[tuple[str, int], list[IntArray]] = defaultdict(list)
    entries: Counter[int] = Counter()
    for window, sums in contributions:
        entries[window] += 1
        for question, array in sums.items():
            columns[question, window].append(array)
    totals = {(ALL, window): Sums(_NO_SUMS, n) for window, n in entries.items()}
    return totals | {key: Sums(_column_sums(key[0], arrays), len(arrays)) for key, arrays in columns.items()}


def _column_sums(question: str, arrays: list[IntArray]) -> IntArray:
    sizes = {array.size for array in arrays}
    if len(sizes) > 1:
        raise _wrong_sums(question, f"has {max(sizes)} sums", f"{min(sizes)}, as before")
    (width,) = sizes
    total: IntArray = np.zeros(width, dtype=np.int64)
    few = max(1, _NUMBERS // max(1, width))
    for start in range(0, len(arrays), few):
        block = arrays[start : start + few]
        together = np.concatenate(block)
        if not question or together.dtype != np.int64 or together.ndim != 1:
            raise _wrong_sums(question, "is no column of 64-bit integers", "what channel.sums returns, by question")
        total += together.reshape(len(block), width).sum(axis=0)
    return total


def _wrong_sums(question: str, what: str, allowed: str) -> InputError:
    remedy = "Add the one report up with channel.sums; a question with another channel is one of another campaign."
    return InputError(what, argument=f"sums[{shown(question)}]", allowed=allowed, remedy=remedy)


def merged(stored: Tallies, more: Tallies, sign: int = 1) -> Tallies:
    """The tallies of `more`, with what is stored of them: added to it, or (sign −1) taken off."""
    totals = {}
    for key, (sums, n) in more.items():
        before = stored.get(key)
        if before is None:
            before = Sums(np.zeros_like(sums), 0)
        if before.sums.size != sums.size:
            raise _wrong_sums(key[0], f"has {sums.size} sums", f"{before.sums.size}, as before")
        step = sign * sums
        total = before.sums + step
        # Two's complement wraps around where both have one sign and their sum has the other.
        if (((before.sums ^ total) & (step ^ total)) < 0).any() or before.n + sign * n < 0:
            raise InputError(
                f"the tally of {shown(key[0])} leaves what 64-bit integers hold, or would be of fewer than 0 reports.",
                remedy="Sums must be a function of the content of an entry: channel.sums of its report.",
            )
        totals[key] = Sums(total, before.n + sign * n)
    return totals
