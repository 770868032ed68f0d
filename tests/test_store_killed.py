"""kill −9 of a process that writes, and of a database that is written to: all that was acknowledged is there, once."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from askance.collect.store import StoreUnavailableError, Verdict, Writer, open_store

from .databases import private_cluster
from .signals import start, until
from .store_load import SENDERS, group, send
from .stores import assert_sound, numbered

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL needs Linux or macOS")
CYCLES = [pytest.param(3, id="few"), pytest.param(34, id="many", marks=pytest.mark.integration)]


def acknowledged_before_a_kill(path: Path, cycle: int, n_heard: int) -> list[int]:
    """By sender, how many groups were acknowledged by a process that is killed after so many in all."""
    with start(sys.executable, "-m", "tests.store_load", path, str(cycle)) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(n_heard)]
        process.kill()
        lines += process.stdout.readlines()  # also what was read ahead
        assert not (errors := process.stderr.read()), errors.decode()
    heard = [0] * SENDERS
    for line in lines:
        sender, number = map(int, line.split())
        assert number == heard[sender]
        heard[sender] += 1
    return heard


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_process_that_is_killed_under_load_loses_nothing_it_acknowledged(cycles: int, tmp_path: Path) -> None:
    """Of the groups that nobody heard of, each is there as a whole or not at all; sent again, it is there once."""
    path, rng = tmp_path / "store", random.Random(cycles)
    expected: dict[bytes, tuple[int, bytes]] = {}
    for cycle in range(cycles):
        heard = acknowledged_before_a_kill(path, cycle, rng.randrange(1, 400))
        certain = [entry for s in range(SENDERS) for number in range(heard[s]) for entry in group(cycle, s, number)]
        expected |= {entry.id: (entry.window, entry.content) for entry in certain}
        with open_store(path, make=False) as store:
            found = assert_sound(store)
            assert expected.items() <= found.items()
            for sender in range(SENDERS):
                unheard = group(cycle, sender, heard[sender])
                (verdict,) = set(store.take(unheard))
                assert verdict is (Verdict.KNOWN if unheard[0].id in found else Verdict.TAKEN)
                expected |= {entry.id: (entry.window, entry.content) for entry in unheard}
            assert assert_sound(store) == expected


def is_reached(heard: list[int], enough: int) -> bool:
    return sum(heard) >= enough


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_database_that_is_killed_under_load_loses_nothing_it_acknowledged(cycles: int) -> None:
    """Its writer connects again by itself; senders send again what they did not hear of, and it is there once."""
    rng, lock, stopping = random.Random(cycles), threading.Lock(), threading.Event()
    heard = [0] * SENDERS

    def note(sender: int, number: int) -> bool:
        with lock:
            heard[sender] = number + 1
        return not stopping.is_set()

    with private_cluster() as cluster:
        address = cluster.address()
        with Writer(lambda: open_store(address)) as writer:
            senders = [threading.Thread(target=send, args=(writer, 0, sender, note)) for sender in range(SENDERS)]
            for sender in senders:
                sender.start()
            for _ in range(cycles):
                until(partial(is_reached, heard, sum(heard) + rng.randrange(1, 120)))
                cluster.kill()
                cluster.start()
            stopping.set()
            for sender in senders:
                sender.join()
        entries = [entry for sender in range(SENDERS) for n in range(heard[sender]) for entry in group(0, sender, n)]
        with open_store(address) as store:
            assert assert_sound(store) == {entry.id: (entry.window, entry.content) for entry in entries}


def test_a_process_that_has_the_store_open_twice_keeps_its_log(tmp_path: Path) -> None:
    """A server whose dashboard reads, and an export meanwhile: the export must not delete the log as if it were alone.

    Closing a file anew drops all locks of a process to it. So a store that is there may be opened by SQLite alone.
    """
    path = tmp_path / "store"
    code = "import sys; from askance.collect.store import open_store\n"
    code += "with open_store(sys.argv[1], make=False) as store: print(store.count())"

    def counted_elsewhere() -> int:
        return int(subprocess.run([sys.executable, "-c", code, path], check=True, capture_output=True).stdout)

    with open_store(path) as store:
        for number in range(3):
            store.take([numbered(number)])
            for make in (False, True):
                with open_store(path, make=make) as reader:
                    assert reader.count() == number + 1
            assert counted_elsewhere() == number + 1
            assert path.with_name("store-wal").exists()


def test_places_where_no_store_can_be_are_named(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="Is a directory"):
        open_store(tmp_path)
    with pytest.raises(StoreUnavailableError, match="No such file"):
        open_store(tmp_path / "no folder" / "store")
