"""Spark in two threads of this machine: the bits of one process."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from askance import estimate
from askance.errors import InputError
from askance.evidence.held import on_engine
from askance.formats import aggregate
from askance.scale import Spark
from askance.survey import regress
from tests import people_files
from tests.clusters import is_alive
from tests.regressions import surveyed
from tests.test_engines import PARTITIONINGS, bytes_of
from tests.test_spread_aggregation import DIVISIONS, state_of, written

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17: openjdk-17-jre-headless"),
    # Of Spark itself, which tests with other settings.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


MODEL, EVIDENCE = surveyed(weighted=True, clusters=30)
# Of memory: seven megabytes, which is less than many rows take.
LITTLE = "0.01"


@pytest.fixture(scope="module")
def engine() -> Iterator[Spark]:
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install 'askance[spark]'")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Two threads, and tasks that fail are tried again, as a cluster does.
    builder: Any = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.memory.fraction", LITTLE)
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield Spark(session)
    session.stop()


@pytest.fixture(scope="module")
def wanted() -> bytes:
    return bytes_of(estimate(MODEL, EVIDENCE))


def workers() -> list[psutil.Process]:
    """Processes of Python that do the work of the JVM."""
    below = psutil.Process().children(recursive=True)
    daemons = [process for process in below if "pyspark.daemon" in process.cmdline()]
    return [worker for daemon in daemons for worker in daemon.children()]


def kill_worker() -> int:
    """End one of them by its process id, as a machine that fails would."""
    (worker, *_) = workers()
    os.kill(worker.pid, signal.SIGKILL)
    return int(worker.pid)


class Failing(Spark):
    """Two threads, one of which loses its process after so many passes."""

    def __init__(self, session: Any, after: int) -> None:
        super().__init__(session)
        self.left, self.killed = after, 0

    def _fold(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        if self.left == 0:
            self.killed = kill_worker()
        self.left -= 1
        return super()._fold(parts, work, merge)


class FailingInside(Spark):
    """One of the processes is killed while it works."""

    killed = 0

    def _fold(self, parts: Any, work: bytes, merge: bytes) -> bytes:
        killer = threading.Thread(target=self._kill)
        killer.start()
        try:
            return super()._fold(parts, work, merge)
        finally:
            killer.join()

    def _kill(self) -> None:
        while not (self.context.statusTracker().getActiveStageIds() and workers()):
            time.sleep(0.001)
        self.killed = kill_worker()


@pytest.mark.parametrize("blocks", PARTITIONINGS)
def test_five_partitionings_give_the_fit_of_one_process(engine: Spark, wanted: bytes, blocks: int) -> None:
    assert bytes_of(estimate(MODEL, on_engine(EVIDENCE, engine, blocks))) == wanted
    assert engine.largest_sent <= 16 << 10


def test_spilling_changes_no_bit(engine: Spark) -> None:
    model, evidence = surveyed(300_000, weighted=True)
    assert bytes_of(estimate(model, on_engine(evidence, engine))) == bytes_of(estimate(model, evidence))
    stored = engine.context._jsc.sc().getRDDStorageInfo()
    assert sum(one.diskSize() for one in stored) > 500_000


def test_a_process_killed_after_six_passes_changes_no_bit(engine: Spark, wanted: bytes) -> None:
    failing = Failing(session_of(engine), after=6)
    held = on_engine(EVIDENCE, failing, 1)
    assert bytes_of(estimate(MODEL, held)) == wanted
    assert failing.killed
    assert not is_alive(failing.killed)
    assert held.passes[0] > 7


def session_of(engine: Spark) -> Any:
    from pyspark.sql import SparkSession

    return SparkSession(engine.context)


@pytest.mark.parametrize("ends", DIVISIONS)
def test_five_divisions_give_the_state_of_one_process(engine: Spark, ends: tuple[int, ...], tmp_path: Path) -> None:
    paths = written(tmp_path, *ends)
    shuffled = [paths[place] for place in np.random.default_rng(4).permutation(len(paths))]
    assert state_of(aggregate(shuffled, engine=engine), tmp_path) == state_of(aggregate(paths), tmp_path)
    assert engine.largest_sent <= 16 << 10


def test_a_process_killed_in_the_middle_of_aggregate_changes_no_bit(engine: Spark, tmp_path: Path) -> None:
    paths = written(tmp_path, *DIVISIONS[-1])
    failing = FailingInside(session_of(engine))
    assert state_of(aggregate(paths, engine=failing), tmp_path) == state_of(aggregate(paths), tmp_path)
    assert failing.killed
    assert not is_alive(failing.killed)


def test_rows_of_files_give_the_bits_of_one_process(engine: Spark, tmp_path: Path) -> None:
    paths = people_files.written(people_files.people(), tmp_path, 12_000, 25_000)
    options: dict[str, Any] = {"arm": "arm", "missing": "drop", "weights": "weight", "cluster": "town"}
    here, there = (
        regress("said ~ scale(age) + region", order, people_files.DESIGNS, engine=own, **options)
        for order, own in ((paths, None), (paths[::-1], engine))
    )
    assert there.theta.tobytes() == here.theta.tobytes()
    assert there.covariance.tobytes() == here.covariance.tobytes()


def test_a_map_keeps_the_order_of_items(engine: Spark) -> None:
    assert engine.map(abs, range(-40, 0)) == list(range(40, 0, -1))


def test_what_is_no_session_is_refused(engine: Spark) -> None:
    with pytest.raises(InputError, match="a SparkSession"):
        Spark("spark://host:7077")
