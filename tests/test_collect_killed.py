"""kill −9 of a server and of its database while people answer over HTTP: all that was acknowledged is there, once."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from askance.collect.collection import Collection
from askance.collect.store import Entry

from .collectors import collection_in, line_of, served
from .databases import private_cluster
from .signals import PATIENCE, start, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL needs Linux or macOS")
CYCLES = [pytest.param(3, id="few"), pytest.param(34, id="many", marks=pytest.mark.integration)]
SENDERS = 6


class Senders:
    """Relays, each of which sends one batch after the other, every batch until it is acknowledged."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.heard = collection, [0] * SENDERS
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self.n_unavailable = 0

    def batch(self, sender: int, number: int) -> list[bytes]:
        """The lines that a sender sends as its batch of that number: the same whenever it is asked."""
        rng = random.Random(number * SENDERS + sender)
        return [
            line_of(
                self.collection, id=rng.randbytes(16), cheated=rng.choice(["no", "yes"]), age=rng.randrange(16, 106)
            )
            for _ in range(rng.choice([1, 1, 5, 40]))
        ]

    def entries(self, sender: int, number: int) -> dict[bytes, bytes]:
        """By id, what the store keeps of a batch."""
        read = [self.collection.form.read(line, b"") for line in self.batch(sender, number)]
        return {entry.id: entry.content for entry in read if isinstance(entry, Entry)}

    def acknowledged(self) -> dict[bytes, bytes]:
        """By id, what the store must have."""
        batches = [self.entries(sender, number) for sender in range(SENDERS) for number in range(self.heard[sender])]
        return {id: content for batch in batches for id, content in batch.items()}

    def start(self, address: str) -> None:
        self._stopping.clear()
        self._threads = [threading.Thread(target=self._send, args=(address, s)) for s in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def _send(self, address: str, sender: int) -> None:
        with httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False) as client:
            while not self._stopping.is_set():
                body = b"".join(self.batch(sender, self.heard[sender]))
                try:
                    answer = client.post("/v1/exams/reports", content=body)
                except httpx.TransportError:  # nobody is there any more: the batch is sent to the next server
                    return
                if answer.status_code in (429, 503):
                    self.n_unavailable += answer.status_code == 503
                    self._stopping.wait(0.01)
                    continue
                assert set(answer.json()["verdicts"]) <= {"T", "K"}
                self.heard[sender] += 1

    def until_heard(self, more: int) -> None:
        enough = sum(self.heard) + more
        until(lambda: sum(self.heard) >= enough)

    def end(self, *, asked: bool) -> None:
        """Wait for the threads, which are told to end, or whose server is gone."""
        if asked:
            self._stopping.set()
        for thread in self._threads:
            thread.join()


def stored(collection: Collection) -> dict[bytes, bytes]:
    """By id, what is in the store; its tallies must be those of its contents."""
    with collection.opened() as store:
        rows = {id: content for id, _, content in store.entries()}
        sums = {name: tally.sums.tolist() for (name, _), tally in store.tallies().items()}
        assert store.count() == len(rows)
    totals: dict[str, list[int]] = {}
    for content in rows.values():
        for name, added in collection.form.sums_of(content).items():
            before = totals.get(name, [0] * len(added))
            totals[name] = [a + int(b) for a, b in zip(before, added, strict=True)]
    assert sums == totals
    return rows


def running(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A server as people start it, and its address."""
    server = start(sys.executable, "-m", "askance", "collect", folder / "campaign.toml", "--port", "0")
    assert server.stdout is not None
    address = re.search(rb"http://\S+", server.stdout.readline())
    assert address
    return server, address[0].decode()


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_server_that_is_killed_under_load_loses_nothing_it_acknowledged(cycles: int, tmp_path: Path) -> None:
    """Batches that nobody heard of are there as a whole or not at all; sent to the next server, they are there once."""
    collection, rng = collection_in(tmp_path), random.Random(cycles)
    senders = Senders(collection)
    for _ in range(cycles):
        server, address = running(tmp_path)
        with server:
            senders.start(address)
            senders.until_heard(rng.randrange(1, 150))
            server.kill()
            senders.end(asked=False)
        certain, found = senders.acknowledged(), stored(collection)
        assert certain.items() <= found.items()
        for sender in range(SENDERS):
            unheard = senders.entries(sender, senders.heard[sender])
            there = unheard.keys() & found.keys()
            assert not there or unheard.items() <= found.items()
            certain |= {id: unheard[id] for id in there}
        assert found == certain
    server, address = running(tmp_path)
    with server:
        senders.start(address)
        senders.until_heard(SENDERS)
        senders.end(asked=True)
        server.terminate()
    assert stored(collection) == senders.acknowledged()


@pytest.mark.parametrize("cycles", CYCLES)
def test_a_database_that_is_killed_under_load_is_said_to_be_away_and_comes_back(cycles: int, tmp_path: Path) -> None:
    """While it is gone the server answers 503; nothing is lost, and it goes on by itself."""
    rng = random.Random(cycles)
    with private_cluster() as cluster:
        collection = collection_in(tmp_path, store=cluster.address())
        senders = Senders(collection)
        with served(collection) as server:
            senders.start(str(server.client.base_url))
            for _ in range(cycles):
                senders.until_heard(rng.randrange(1, 60))
                cluster.kill()
                before = senders.n_unavailable
                until(_later(senders, before))
                cluster.start()
            senders.until_heard(SENDERS)
            senders.end(asked=True)
        assert stored(collection) == senders.acknowledged()


def _later(senders: Senders, before: int) -> Callable[[], bool]:
    return lambda: senders.n_unavailable > before
