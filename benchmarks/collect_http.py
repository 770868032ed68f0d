"""Acknowledged reports a second over HTTP, beside raw SQLite inserts: `python -m benchmarks.collect_http`.

Server and clients are processes of their own. For every case the two take turns: rows inserted into a table like the
store's, in transactions of clients × batch rows with synchronous=FULL (of one row for the single reports), then as many
reports over HTTP. A report counts when it is acknowledged. The ratio of each round is what is compared: disks and
neighbours are the same within it, and both hold as many rows.

Where other work keeps the cores busy, seconds tell of that work, too. So the processor time of the server for a report
is told beside that of a raw row, with their ratio: it is what the server costs, whatever else runs. (Of Linux:
/proc/PID/stat, which counts in hundredths of seconds.)
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import re
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import NamedTuple

from askance.collect.collection import Collection
from askance.formats.report_schema import ReportSchema
from benchmarks.harness.figures import Row, add_options, tell

CAMPAIGN = """campaign = 1
name = "bench"
kind = "devices"
title = "Bench"
at_most_level = 2
planned_n = 1000000
[questions.crashed]
text = "How often did it crash?"
design = {kind = "randomized-response", reveal_probability = "1/2", outputs = ["never", "once", "often"]}
"""


class Speed(NamedTuple):
    """Of one turn: rows or reports a second, and processor time for each."""

    rate: float
    cpu: float


QUESTION = "How many reports a second does the collector acknowledge over HTTP, beside raw SQLite inserts (WAL, FULL)?"


class Case(NamedTuple):
    clients: int
    batch: int
    posts: int  # of every client
    group: int  # rows in a raw transaction
    wanted: float


CASES = (
    Case(16, 1000, 12, 16_000, 0.5),
    Case(32, 100, 40, 3_200, 0.35),
    Case(64, 1, 40, 1, 4.0),
)


def _bodies(collection: Collection, case: Case) -> list[list[bytes]]:
    """What every client posts, one body after the other."""
    channel = collection.campaign.questions[0].channel
    assert channel is not None
    tag, labels = ReportSchema(channel).tag, ("never", "once", "often")

    def body() -> bytes:
        lines = [
            f'{{"id":"{secrets.token_hex(16)}","channel":"{tag}","answer":"{labels[i % 3]}"}}'
            for i in range(case.batch)
        ]
        return collection.devices.write("crashed", lines)

    return [[body() for _ in range(case.posts)] for _ in range(case.clients)]


def _cpu_seconds(process: int) -> float:
    """Processor time of a process so far, of all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def raw_table(path: Path) -> sqlite3.Connection:
    """A table like the store's, with as large a cache, and as many commits between two checkpoints."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA cache_size = -65536",
        "PRAGMA wal_autocheckpoint = 16384",
        "CREATE TABLE entries (id BLOB PRIMARY KEY, window INTEGER, content BLOB) WITHOUT ROWID",
    ):
        connection.execute(statement)
    return connection


def raw_speed(connection: sqlite3.Connection, case: Case, rows: int) -> Speed:
    """Of plain inserts."""
    content = b'{"channel":"bfceed31e3bd9480","answer":"once"}'
    values = [(secrets.token_bytes(16), 20_000, content) for _ in range(rows)]
    start, used = time.perf_counter(), time.process_time()
    for first in range(0, rows, case.group):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO entries VALUES (?, ?, ?)", values[first : first + case.group])
        connection.execute("COMMIT")
    return Speed(rows / (time.perf_counter() - start), (time.process_time() - used) / rows)


async def _client(port: int, bodies: list[bytes], batch: int) -> int:
    """Posts one body after the other over one connection; how many reports were acknowledged."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    acknowledged = 0
    for body in bodies:
        head = f"POST /v1/bench/reports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        assert length is not None
        told = json.loads(await reader.readexactly(int(length[1])))
        assert told["verdicts"] == "T" * batch, told
        acknowledged += batch
    writer.close()
    await writer.wait_closed()
    return acknowledged


def _clients(port: int, bodies: list[list[bytes]], batch: int, told: multiprocessing.Queue[tuple[int, float]]) -> None:
    async def all_of_them() -> tuple[int, float]:
        start = time.perf_counter()
        counts = await asyncio.gather(*(_client(port, some, batch) for some in bodies))
        return sum(counts), time.perf_counter() - start

    told.put(asyncio.run(all_of_them()))


def http_speed(server: int, port: int, collection: Collection, case: Case) -> Speed:
    """Of acknowledged reports, with the processor time of the server alone."""
    told: multiprocessing.Queue[tuple[int, float]] = multiprocessing.Queue()
    process = multiprocessing.Process(target=_clients, args=(port, _bodies(collection, case), case.batch, told))
    used = _cpu_seconds(server)
    process.start()
    acknowledged, seconds = told.get()
    process.join()
    used = _cpu_seconds(server) - used
    assert acknowledged == case.clients * case.batch * case.posts
    return Speed(acknowledged / seconds, used / acknowledged)


def measure(case: Case, rounds: int) -> tuple[list[Speed], list[Speed]]:
    """Speeds of both, round by round."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bench.toml").write_text(CAMPAIGN)
        collection = Collection(folder / "bench.toml")
        command = [sys.executable, "-m", "askance", "collect", str(folder / "bench.toml"), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = re.search(r":(\d+)/", server.stdout.readline())
            assert address is not None
            port = int(address[1])
            raw, http = [], []
            # Both hold as many rows all the time: the more random keys, the more pages a group touches.
            with closing(raw_table(folder / "raw.sqlite")) as table:
                for few in [case._replace(posts=2)] + [case] * rounds:
                    raw.append(raw_speed(table, few, few.clients * few.batch * few.posts))
                    http.append(http_speed(server.pid, port, collection, few))
            server.terminate()
            server.wait()
    return raw[1:], http[1:]  # after the first of each everything is awake


def main() -> int:
    """Tell the ratios; 1 where one is too small."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    add_options(parser)
    options, begun = parser.parse_args(), time.perf_counter()
    rows: list[Row] = []
    missed = 0
    for case in CASES:
        raw, http = measure(case, options.rounds)
        ratios = sorted(b.rate / a.rate for a, b in zip(raw, http, strict=True))
        shares = [a.cpu / b.cpu for a, b in zip(raw, http, strict=True) if b.cpu]
        missed += median(ratios) < case.wanted
        rows.append(
            {
                "clients × batch": f"{case.clients} × {case.batch}",
                "raw rows/s": median(speed.rate for speed in raw),
                "acknowledged/s": median(speed.rate for speed in http),
                "ratio (range)": f"{median(ratios):.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})",
                "wanted": f"≥ {case.wanted:g}",
                "CPU µs of a raw row": 1e6 * median(speed.cpu for speed in raw),
                "CPU µs of a report": 1e6 * median(speed.cpu for speed in http),
                "CPU ratio": median(shares or [math.nan]),
            }
        )
    tell("collect_http", QUESTION, rows, time.perf_counter() - begun, options)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
