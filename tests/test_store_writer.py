"""The writer: groups are committed together, and whatever happens to the store, the thread goes on."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance.collect.store import (
    BusyError,
    Entry,
    SqliteStore,
    Store,
    StoreUnavailableError,
    Verdict,
    Writer,
    open_store,
    restore,
)
from askance.errors import InputError

from .databases import Cluster, private_cluster
from .signals import until
from .stores import assert_sound, numbered


class Watched(SqliteStore):
    """A store that notes the sizes of its groups, and waits at a gate before it writes."""

    groups: list[int]
    gate: threading.Event

    def take(self, entries: Sequence[Entry]) -> list[Verdict]:
        assert self.gate.wait(900)
        self.groups.append(len(entries))
        return super().take(entries)


def watched(*, open: bool = True) -> type[Watched]:
    gate = threading.Event()
    if open:
        gate.set()
    return type("OneWatched", (Watched,), {"groups": [], "gate": gate})


def test_what_waits_is_committed_together_and_answered_in_order(tmp_path: Path) -> None:
    kind = watched(open=False)
    with Writer(lambda: kind.open(tmp_path / "store")) as writer:
        first = writer.submit([numbered(0)])
        until(lambda: not writer._queue)  # the thread has it, and waits at the gate
        others = [writer.submit([numbered(i), numbered(0)]) for i in range(1, 65)]
        kind.gate.set()
        assert first.result() == [Verdict.TAKEN]
        assert [other.result() for other in others] == [[Verdict.TAKEN, Verdict.KNOWN]] * 64
    assert kind.groups == [1, 128]


def test_more_than_may_wait_is_refused_and_what_was_accepted_is_written(tmp_path: Path) -> None:
    kind = watched(open=False)
    writer = Writer(lambda: kind.open(tmp_path / "store"), most_waiting=100)
    first = writer.submit([numbered(0)])
    until(lambda: not writer._queue)
    large = writer.submit([numbered(i) for i in range(1_000, 1_200)])  # alone it is never too large
    for _ in range(2):
        with pytest.raises(BusyError, match="too much waits"):
            writer.submit([numbered(1)])
    kind.gate.set()
    writer.stop()
    assert (first.result(), large.result()) == ([Verdict.TAKEN], [Verdict.TAKEN] * 200)
    with pytest.raises(BusyError):
        writer.submit([numbered(1)])
    with open_store(tmp_path / "store") as store:
        assert len(assert_sound(store)) == 201


def test_a_stop_writes_what_was_accepted(tmp_path: Path) -> None:
    kind = watched(open=False)
    writer = Writer(lambda: kind.open(tmp_path / "store"))
    answers = [writer.submit([numbered(i)]) for i in range(50)]
    stop = threading.Thread(target=writer.stop)
    stop.start()
    kind.gate.set()
    stop.join()
    assert all(answer.result(0) == [Verdict.TAKEN] for answer in answers)


def test_one_bad_entry_fails_alone(tmp_path: Path) -> None:
    """What only the store can refuse, such as sums of another length, does not fail others of its group."""
    kind = watched(open=False)
    with Writer(lambda: kind.open(tmp_path / "store")) as writer:
        first = writer.submit([numbered(0)])
        until(lambda: not writer._queue)
        bad = writer.submit([Entry(bytes(16), b"", None, 0, {"a": np.array([1, 2, 3])})])
        short = writer.submit([numbered(2), Entry(b"short", b"")])
        good = writer.submit([numbered(1)])
        kind.gate.set()
        assert (first.result(), good.result()) == ([Verdict.TAKEN], [Verdict.TAKEN])
        with pytest.raises(InputError, match="has 3 sums; allowed: 2, as before"):
            bad.result()
        with pytest.raises(InputError, match="id is"):
            short.result()
    with open_store(tmp_path / "store") as store:
        assert set(assert_sound(store)) == {numbered(0).id, numbered(1).id}


def test_who_does_not_wait_any_more_stops_nobody(tmp_path: Path) -> None:
    """A client that hangs up cancels its future: before its group begins it is dropped, afterwards it is written."""
    kind = watched(open=False)

    async def clients(writer: Writer) -> list[Any]:
        writing = asyncio.wrap_future(writer.submit([numbered(0)]))
        while writer._queue:
            await asyncio.sleep(0)
        waiting = asyncio.wrap_future(writer.submit([numbered(1)]))
        other = asyncio.wrap_future(writer.submit([numbered(2)]))
        writing.cancel()
        waiting.cancel()
        await asyncio.sleep(0)
        kind.gate.set()
        return await other

    with Writer(lambda: kind.open(tmp_path / "store")) as writer:
        assert asyncio.run(clients(writer)) == [Verdict.TAKEN]
        assert writer.submit([numbered(3)]).result() == [Verdict.TAKEN]
    with open_store(tmp_path / "store") as store:
        assert set(assert_sound(store)) == {numbered(i).id for i in (0, 2, 3)}


# -- a store that fails ------------------------------------------------------------------------------------------------


def test_a_full_disk_is_heard_of_and_once_there_is_room_it_goes_on(tmp_path: Path) -> None:
    room = {"pages": 40}

    def limited() -> Store:
        store = SqliteStore.open(tmp_path / "store")
        store._rows(f"PRAGMA max_page_count = {room['pages']}")
        return store

    numbers = itertools.count()

    def group(size: int) -> list[Entry]:
        return [numbered(next(numbers), content=b'{"a":"yes"}' + b" " * 200) for _ in range(size)]

    with Writer(limited) as writer:
        acknowledged = group(20)
        assert writer.submit(acknowledged).result() == [Verdict.TAKEN] * 20
        for _ in range(3):
            with pytest.raises(StoreUnavailableError, match="full"):
                writer.submit(group(2_000)).result()
        room["pages"] = 4_000
        acknowledged += (later := group(2_000))
        assert writer.submit(later).result() == [Verdict.TAKEN] * 2_000
        with open_store(tmp_path / "store", make=False) as store:
            assert set(assert_sound(store)) == {entry.id for entry in acknowledged}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "askance", place], capture_output=True).returncode:
        pytest.skip("who runs the tests may not mount a file system")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.integration
def test_a_disk_that_others_fill_loses_nothing_and_goes_on_when_they_make_room(small_disk: Path) -> None:
    path, filler = small_disk / "store", small_disk / "filler"
    open_store(path).close()
    acknowledged: list[Entry] = []
    with Writer(lambda: open_store(path, make=False), tidy_after=0.01) as writer:
        for cycle in range(10):
            refused = 0
            fill(filler)
            for number in itertools.count():
                group = [numbered(10_000 * cycle + 20 * number + i, content=b"{}" + b" " * 300) for i in range(20)]
                try:
                    writer.submit(group).result()
                except StoreUnavailableError:
                    refused += 1
                    filler.unlink(missing_ok=True)  # somebody makes room
                else:
                    acknowledged += group
                    if refused:
                        break
    with open_store(path, make=False) as store:
        assert {entry.id for entry in acknowledged} == set(assert_sound(store))


def fill(path: Path) -> None:
    """Write until the disk takes no more."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 12)):
            pass


def test_a_store_that_somebody_locks_is_heard_of_and_later_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "store"

    def impatient() -> Store:
        store = SqliteStore.open(path)
        store._rows("PRAGMA busy_timeout = 1")
        return store

    with Writer(impatient) as writer, closing(sqlite3.connect(path, isolation_level=None)) as other:
        assert writer.submit([numbered(0)]).result() == [Verdict.TAKEN]
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            with pytest.raises(StoreUnavailableError, match="locked"):
                writer.submit([numbered(1)]).result()
        other.execute("ROLLBACK")
        assert writer.submit([numbered(1)]).result() == [Verdict.TAKEN]


def test_a_file_that_is_moved_away_takes_nothing_with_it(tmp_path: Path) -> None:
    """The system lets a process write on to a file without a name; what it acknowledged would be gone with it."""
    path, aside = tmp_path / "store", tmp_path / "aside"
    open_store(path).close()
    with Writer(lambda: open_store(path, make=False)) as writer:
        assert writer.submit([numbered(0)]).result() == [Verdict.TAKEN]
        path.rename(aside)
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="No such file"):
                writer.submit([numbered(1)]).result()
        assert not path.exists()
        aside.rename(path)
        assert writer.submit([numbered(1)]).result() == [Verdict.TAKEN]
    with open_store(path, make=False) as store:
        assert len(assert_sound(store)) == 2


def test_whatever_a_store_raises_its_writer_goes_on(tmp_path: Path) -> None:
    class Odd(SqliteStore):
        def take(self, entries: Sequence[Entry]) -> list[Verdict]:
            if entries[0].content == b"odd":
                raise ZeroDivisionError
            return super().take(entries)

    with Writer(lambda: Odd.open(tmp_path / "store")) as writer:
        with pytest.raises(StoreUnavailableError, match="ZeroDivisionError"):
            writer.submit([Entry(bytes(16), b"odd")]).result()
        assert writer.submit([numbered(1)]).result() == [Verdict.TAKEN]


def test_what_is_wrong_with_a_store_is_not_said_of_what_was_sent(tmp_path: Path) -> None:
    """A damaged file or another campaign: whoever sent an answer keeps it, and it is there once the store is mended."""
    path = tmp_path / "store"
    open_store(path).close()
    good = path.read_bytes()
    with Writer(lambda: open_store(path, make=False), tidy_after=1e6) as writer:
        for damaged in (b"no store" * 100, b"", good[:100] + bytes(4096)):
            path.write_bytes(damaged)
            with pytest.raises(StoreUnavailableError):
                writer.submit([numbered(1)]).result()
        path.write_bytes(good)
        assert writer.submit([numbered(1)]).result() == [Verdict.TAKEN]


def test_a_thread_that_cannot_tidy_goes_on(tmp_path: Path) -> None:
    tried = threading.Event()

    class Odd(SqliteStore):
        def tidy(self, *, wait: bool = False) -> bool:
            tried.set()
            raise MemoryError

    with Writer(lambda: Odd.open(tmp_path / "store"), tidy_after=0.001) as writer:
        assert writer.submit([numbered(1)]).result() == [Verdict.TAKEN]
        tried.wait()
        assert writer.submit([numbered(2)]).result() == [Verdict.TAKEN]


# -- PostgreSQL, and copies of a store that is written to --------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with private_cluster() as cluster:
        yield cluster


def test_postgresql_that_is_gone_is_heard_of_and_comes_back_by_itself(cluster: Cluster) -> None:
    address = cluster.address()
    acknowledged = []
    with Writer(lambda: open_store(address)) as writer:
        for number in range(3):
            assert writer.submit([numbered(3 * number)]).result() == [Verdict.TAKEN]
            cluster.stop()
            for _ in range(3):
                with pytest.raises(StoreUnavailableError, match="takes nothing now"):
                    writer.submit([numbered(3 * number + 1)]).result()
            cluster.start()
            assert writer.submit([numbered(3 * number + 2)]).result() == [Verdict.TAKEN]
            acknowledged += [numbered(3 * number).id, numbered(3 * number + 2).id]
    with open_store(address) as store:
        assert set(assert_sound(store)) == set(acknowledged)


def has_grown(rows: list[bytes], size: int) -> bool:
    return len(rows) >= size


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_backups_while_answers_come_in_are_whole_and_are_restored_anywhere(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Each holds all that was acknowledged before it began, its tallies are its own; both databases take it back."""
    cluster: Cluster = request.getfixturevalue("cluster")
    address = str(tmp_path / "store") if kind == "sqlite" else cluster.address()
    acknowledged: list[bytes] = []
    done = threading.Event()

    def answer(writer: Writer) -> None:
        for number in range(1 << 20):
            if done.is_set():
                return
            entry = numbered(number)
            assert writer.submit([entry]).result() == [Verdict.TAKEN]
            acknowledged.append(entry.id)

    with open_store(address) as store, Writer(lambda: open_store(address)) as writer:
        store.set_meta("campaign", b"campaign")
        people = threading.Thread(target=answer, args=(writer,))
        people.start()
        for number in range(4):
            more = len(acknowledged) + 20
            until(partial(has_grown, acknowledged, more))
            before = set(acknowledged)
            n = store.backup(tmp_path / f"{number}.backup")
            with open_store(tmp_path / f"{number}.backup") as backup:
                assert before <= set(assert_sound(backup))
                assert backup.count() == n, "how many are in it, whatever came since"
        done.set()
        people.join()
        store.backup(tmp_path / "last.backup")
    for place in (str(tmp_path / "again"), cluster.address()):
        restore(tmp_path / "last.backup", place)
        with open_store(place) as again:
            assert set(assert_sound(again)) == set(acknowledged)
            assert again.meta() == {"campaign": b"campaign"}
            assert again.take([numbered(0)]) == [Verdict.KNOWN]
            again.backup(tmp_path / "second.backup")
        assert (tmp_path / "second.backup").read_bytes() == (tmp_path / "last.backup").read_bytes()
        with pytest.raises(InputError, match="has a campaign already"):
            restore(tmp_path / "last.backup", place)
