"""A PostgreSQL of its own: a private cluster in a temporary folder, started, killed and ended by tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests import missing
from tests.signals import PATIENCE

# PostgreSQL does not run as root: tests that do lend it this user.
_USER, _GROUP = "nobody", "nogroup"
_SETTINGS = ("listen_addresses=", "max_connections=20", "shared_buffers=16MB", "max_wal_size=64MB")


def binaries() -> Path | None:
    """Where PostgreSQL is: on the path, or where Debian puts it."""
    on_path = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    places = [Path(on_path).resolve().parent, *places] if on_path else places
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


class Cluster:
    """A cluster that answers on a socket in its folder, and to nobody else."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self._programs, self._n_schemas = folder, programs, 0
        self._server: subprocess.Popen[bytes]

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        user: Any = {"user": _USER, "group": _GROUP} if os.geteuid() == 0 else {}
        command = [str(self._programs / program), "-D", "data", *arguments]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen[bytes](
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.folder, **user
            )

    def make(self) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, _USER)
        made = self._start("initdb", "-A", "trust", "-U", "askance", "-E", "UTF8", "--locale=C")
        assert made.wait(PATIENCE) == 0, (self.folder / "log").read_text()

    def start(self) -> None:
        """Start the server, and wait until it has recovered and answers."""
        settings = [argument for setting in _SETTINGS for argument in ("-c", setting)]
        self._server = self._start("postgres", "-k", str(self.folder), *settings)
        end = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._server.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "PostgreSQL does not answer"
            time.sleep(0.02)

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self._place()).close()
        except psycopg.OperationalError:
            return False
        return True

    def _place(self) -> str:
        return f"postgresql://askance@/postgres?host={self.folder}"

    def stop(self) -> None:
        """End the server at once, as when its machine goes down: it recovers when it is started again."""
        self._server.send_signal(signal.SIGQUIT)
        self._server.wait(PATIENCE)

    def kill(self) -> None:
        """kill −9 of the server and of every process that it started, and wait until they are gone."""
        processes = [self._server.pid, *_children(self._server.pid)]
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._server.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while any(_runs(process) for process in processes):
            assert time.monotonic() < end, "killed processes are still there"
            time.sleep(0.01)

    def address(self) -> str:
        """The address of a schema that nobody has used."""
        import psycopg

        self._n_schemas += 1
        with psycopg.connect(self._place(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA test{self._n_schemas}".encode())
        return f"{self._place()}&options=-csearch_path%3Dtest{self._n_schemas}"


def _state(process: int) -> list[str]:
    """State, parent and what follows in the kernel's line about a process; empty if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _runs(process: int) -> bool:
    return _state(process)[:1] not in ([], ["Z"])


def _children(parent: int) -> list[int]:
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [number for number in numbers if _state(number)[1:2] == [str(parent)]]


@contextmanager
def private_cluster() -> Iterator[Cluster]:
    """A cluster that runs while the block does. Its folder has a short name: those of sockets are limited."""
    programs = binaries()
    if programs is None:
        missing.skip("there is no PostgreSQL here: initdb is not on the path, nor in /usr/lib/postgresql")
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    folder = Path(tempfile.mkdtemp(prefix="askance-pg-"))
    cluster = Cluster(folder, programs)
    try:
        cluster.make()
        cluster.start()
        try:
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder)
