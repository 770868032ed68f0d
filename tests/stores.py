"""Entries whose sums are a function of their content, and what a store of them must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from askance._arrays import IntArray
from askance.collect.store import Entry, Store, token_hash

SALT = b"salt of a campaign"
#: Contents, and what each adds to the tallies.
CONTENTS: dict[bytes, dict[str, IntArray]] = {
    b'{"a":"no"}': {"a": np.array([1, 0])},
    b'{"a":"yes"}': {"a": np.array([0, 1])},
    b'{"a":"yes","b":[3,-2,0]}': {"a": np.array([0, 1]), "b": np.array([3, -2, 0])},
    b"{}": {},
}


def sums_of(content: bytes) -> Mapping[str, IntArray]:
    """What an entry of this content adds; contents may end in blanks, which make them different ones."""
    return CONTENTS[content.rstrip()]


def numbered(number: int, *, content: bytes = b'{"a":"yes"}', window: int = 0, token: bytes | None = None) -> Entry:
    """An entry whose id is that number, spread over all ids as random ones are."""
    id = token_hash(number.to_bytes(8, "big"), b"ids")[:16]
    return Entry(id, content, None if token is None else token_hash(token, SALT), window, sums_of(content))


def recount(rows: Iterable[tuple[bytes, int, bytes]]) -> dict[tuple[str, int], tuple[list[int], int]]:
    """Tallies from contents, one after the other."""
    totals: dict[tuple[str, int], tuple[list[int], int]] = {}
    for _, window, content in rows:
        for question, sums in sums_of(content).items():
            before, n = totals.get((question, window), ([0] * len(sums), 0))
            totals[question, window] = ([a + int(b) for a, b in zip(before, sums, strict=True)], n + 1)
    return totals


def assert_sound(store: Store) -> dict[bytes, tuple[int, bytes]]:
    """The entries of a store, whose tallies and number must be theirs."""
    rows = list(store.entries())
    assert [row[0] for row in rows] == sorted({row[0] for row in rows})
    assert {key: (sums.tolist(), n) for key, (sums, n) in store.tallies().items()} == recount(rows)
    assert store.count() == len(rows)
    return {id: (window, content) for id, window, content in rows}
