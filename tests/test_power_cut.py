"""The power is cut while a store writes, also inside its commits: what it acknowledged is there, nothing by halves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import pytest

from askance.collect.store import SqliteStore
from askance.errors import FormatError

from .power_cut import Disk, FileSystem
from .stores import CONTENTS, assert_sound, numbered, sums_of

CUTS = 120
# Writes and syncs between two cuts, at most.
STEPS = 250
Rows = dict[bytes, tuple[int, bytes]]


@contextmanager
def mounted(disk: Disk, synchronous: str) -> Iterator[SqliteStore]:
    system = FileSystem("askance-power-cut", disk)
    connection = apsw.Connection("store", vfs="askance-power-cut")
    try:
        # One process uses the disk; without this SQLite would want shared memory beside the file.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
        store = SqliteStore(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        yield store
    finally:
        connection.close()
        system.unregister()


def change(store: SqliteStore, rows: Rows, rng: random.Random) -> Rows:
    """One change of the store, and what it holds afterwards."""
    kind = rng.random()
    if kind < 0.05:
        store.tidy()
    elif kind < 0.15:
        store.truncate_log()
    elif kind < 0.25 and rows:
        gone = rng.sample(sorted(rows), min(len(rows), 3))
        store.delete(gone, sums_of)
        return {id: row for id, row in rows.items() if id not in gone}
    else:
        contents = rng.choices(sorted(CONTENTS), k=rng.choice([1, 4, 60]))
        group = [numbered(rng.randrange(1 << 60), content=content, window=rng.randrange(2)) for content in contents]
        store.take(group)
        return rows | {entry.id: (entry.window, entry.content) for entry in group}
    return rows


def life(
    files: dict[str, bytes], rows: Rows, rng: random.Random, synchronous: str
) -> tuple[dict[str, bytes], list[Rows]]:
    """Write until the power is cut; what the disk has then, and what it may hold: with or without the last change."""
    disk = Disk(files, rng.randrange(1, STEPS))
    may_hold = [rows]
    with mounted(disk, synchronous) as store:
        while not disk.is_off:
            before = may_hold[-1]
            after = change(store, before, rng)
            may_hold = [before, after] if disk.is_off else [after]
    return disk.after_cut(rng), may_hold


def cuts(synchronous: str, seed: int) -> tuple[int, int]:
    """After how many cuts what was acknowledged was not there as it should be; and how many entries were found."""
    rng = random.Random(seed)
    files: dict[str, bytes] = {}
    rows: Rows = {}
    wrong = taken = 0
    for _ in range(CUTS):
        files, may_hold = life(files, rows, rng, synchronous)
        try:
            with mounted(Disk(files, 1 << 60), synchronous) as store:
                assert store._rows("PRAGMA integrity_check") == [("ok",)]
                rows = assert_sound(store)
        except (AssertionError, apsw.Error, FormatError):
            wrong, files, rows = wrong + 1, {}, {}
            continue
        wrong += rows not in may_hold
        taken += len(rows)
    return wrong, taken


def test_nothing_acknowledged_is_lost_by_a_power_cut() -> None:
    wrong, taken = cuts("FULL", seed=1)
    assert wrong == 0
    assert taken > 10 * CUTS


def test_the_same_cuts_lose_answers_where_a_commit_does_not_wait_for_the_disk() -> None:
    """So the test above can fail: with synchronous = NORMAL, which kill −9 does not tell from FULL."""
    wrong, _ = cuts("NORMAL", seed=1)
    assert wrong > CUTS // 8


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(2, 12))
def test_nothing_is_lost_by_a_thousand_more_cuts(seed: int) -> None:
    assert cuts("FULL", seed)[0] == 0
