"""What durability costs: `python -m benchmarks.collect`; a store behind its writer beside SQLite on its own, in turn.

Clients send batches and wait for each acknowledgement. Beside them the same rows go into SQLite (WAL, FULL) without
anything else, in groups as large as all that waits at once (clients × batch); single reports also in a commit each.
Seconds are those of the clock and those of the processor: most of a small commit is waiting for the disk.
"""

from __future__ import annotations

import argparse
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from askance.collect.store import Entry, SqliteStore, Writer
from benchmarks.harness.figures import add_options, tell

QUESTION = "What does the collector's store cost beside SQLite alone (WAL, FULL), in groups of that size?"
#: Clients, entries in each of their batches, and batches of each.
CASES = ((16, 1_000, 8), (32, 100, 20), (64, 1, 20))
_TABLE = "CREATE TABLE rows (id BLOB PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID"
Batches = list[list[list[Entry]]]


class Rate(NamedTuple):
    """Entries acknowledged in a second of the clock, and of the processor."""

    wall: float
    cpu: float


def rate_of(work: Callable[[], object], n: int) -> Rate:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Rate(n / (time.perf_counter() - wall), n / (time.process_time() - cpu))


def entries(n: int) -> list[Entry]:
    """Answers to one question; sums are rows of an array, as a server makes them for a batch."""
    sums = np.eye(2, dtype=np.int64)[np.arange(n) % 2]
    contents = (b'{"answers":{"drugs":"no"}}', b'{"answers":{"drugs":"yes"}}')
    return [Entry(secrets.token_bytes(16), contents[i % 2], None, 0, {"drugs": sums[i]}) for i in range(n)]


def batches_of(clients: int, size: int, times: int) -> Batches:
    return [[entries(size) for _ in range(times)] for _ in range(clients)]


def through_the_writer(folder: Path, batches: Batches) -> Rate:
    writer = Writer(lambda: SqliteStore.open(folder / "store"))
    writer.submit(entries(1)).result()  # it is open

    def client(own: list[list[Entry]]) -> None:
        for batch in own:
            writer.submit(batch).result()

    def work() -> None:
        threads = [threading.Thread(target=client, args=(own,)) for own in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    rate = rate_of(work, sum(len(batch) for own in batches for batch in own))
    writer.stop()
    return rate


def through_nothing(folder: Path, groups: Sequence[Sequence[Entry]]) -> Rate:
    connection = sqlite3.connect(folder / "rows", isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", _TABLE):
        connection.execute(statement).fetchall()
    rows = [[(entry.id, entry.content) for entry in group] for group in groups]

    def work() -> None:
        for group in rows:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO rows VALUES (?, ?)", group)
            connection.execute("COMMIT")

    rate = rate_of(work, sum(map(len, rows)))
    connection.close()
    return rate


def groups_of(batches: Batches, together: bool) -> list[list[Entry]]:
    """What all clients send at once as one group; or every entry on its own."""
    if together:
        return [[entry for batch in waiting for entry in batch] for waiting in zip(*batches, strict=True)]
    return [[entry] for own in batches for batch in own for entry in batch]


def measured(clients: int, size: int, times: int, repetitions: int) -> dict[str, Any]:
    """Rates of all sides, in turn, and the median of their ratios within a repetition."""
    ours, theirs = [], []
    for _ in range(repetitions):
        batches = batches_of(clients, size, times)
        groups = groups_of(batches, together=size > 1)
        with TemporaryDirectory() as folder:
            ours.append(through_the_writer(Path(folder), batches))
            theirs.append(through_nothing(Path(folder), groups))
    return {
        "clients": clients,
        "batch": size,
        "rows in a commit of SQLite": len(groups[0]),
        "acknowledged/s": round(median(rate.wall for rate in ours)),
        "SQLite rows/s": round(median(rate.wall for rate in theirs)),
        "ratio": round(median(a.wall / b.wall for a, b in zip(ours, theirs, strict=True)), 2),
        "ratio by CPU": round(median(a.cpu / b.cpu for a, b in zip(ours, theirs, strict=True)), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    add_options(parser)
    options, begun = parser.parse_args(), time.perf_counter()
    rows = [measured(*case, options.repetitions) for case in CASES]
    tell("collect", QUESTION, rows, time.perf_counter() - begun, options)


if __name__ == "__main__":
    main()
