"""Spark in two threads of this machine: the bits of one process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import estimate
from askance.errors import InputError
from askance.evidence.held import on_engine
from askance.formats import aggregate
from askance.scale import Spark
from askance.survey import regress
from tests import missing, people_files
from tests.clusters import FailingBetween, FailingInside, is_alive
from tests.regressions import surveyed
from tests.test_engines import PARTITIONINGS, bytes_of
from tests.test_spread_aggregation import DIVISIONS, state_of, written

pytestmark = [
    pytest.mark.integration,
    # Of Spark itself, which tests with other settings.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


MODEL, EVIDENCE = surveyed(weighted=True, clusters=30)
# Of memory: seven megabytes, which is less than many rows take.
LITTLE = "0.01"


@pytest.fixture(scope="module")
def engine() -> Iterator[Spark]:
    try:
        from pyspark import sql
    except ImportError:
        missing.skip("there is no Spark: pip install 'askance[spark]'")
    if shutil.which("java") is None:
        missing.skip("there is no Java 17, which Spark needs: apt-get install openjdk-17-jre-headless")
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


class Between(FailingBetween, Spark):
    """Dies between passes."""


class Inside(FailingInside, Spark):
    """Dies while it works."""


@pytest.mark.parametrize("blocks", PARTITIONINGS)
def test_five_partitionings_give_the_fit_of_one_process(engine: Spark, wanted: bytes, blocks: int) -> None:
    assert bytes_of(estimate(MODEL, on_engine(EVIDENCE, engine, blocks))) == wanted
    assert engine.largest_sent <= 16 << 10


def test_spilling_changes_no_bit(engine: Spark) -> None:
    model, evidence = surveyed(300_000, weighted=True)
    held = on_engine(evidence, engine)  # while it is known, rows stay where they are
    assert bytes_of(estimate(model, held)) == bytes_of(estimate(model, evidence))
    stored = engine.context._jsc.sc().getRDDStorageInfo()
    assert sum(one.diskSize() for one in stored) > 500_000


def test_a_process_killed_after_six_passes_changes_no_bit(engine: Spark, wanted: bytes, tmp_path: Path) -> None:
    failing = Between(session_of(engine), tmp_path)
    held = on_engine(EVIDENCE, failing, 1)
    assert bytes_of(estimate(MODEL, held)) == wanted
    assert failing.killed
    assert not is_alive(failing.killed)
    assert failing.passes > 7


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
    failing = Inside(session_of(engine), tmp_path)
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
