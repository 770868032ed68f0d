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

from askance import RandomizedResponse, estimate, save
from askance.errors import InputError
from askance.evidence.held import on_engine
from askance.formats import aggregate, write_reports
from askance.scale import Spark
from askance.survey import regress
from tests import people_files
from tests.regressions import surveyed

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17: openjdk-17-jre-headless"),
    # Of Spark itself, which tests with other settings.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def engine() -> Iterator[Spark]:
    sql = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install 'askance[spark]'")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield Spark(session)
    session.stop()


def test_two_threads_give_the_fit_of_one_process(engine: Spark) -> None:
    model, evidence = surveyed(weighted=True, clusters=30)
    here, there = estimate(model, evidence), estimate(model, on_engine(evidence, engine, 2))
    assert there.theta.tobytes() == here.theta.tobytes()
    assert there.covariance.tobytes() == here.covariance.tobytes()
    assert engine.largest_sent <= 16 << 10


def test_two_threads_give_the_state_of_one_process(engine: Spark, tmp_path: Path) -> None:
    channel, rng = RandomizedResponse("1/2", outputs=["no", "yes"]), np.random.default_rng(5)
    paths = [tmp_path / f"{number}.parquet" for number in range(7)]
    for path in paths:
        write_reports(path, channel.simulate(rng.choice(["no", "yes"], 5_000), rng), channel=channel)
    for name, added in (("here", aggregate(paths)), ("there", aggregate(paths[::-1], engine=engine))):
        save(added.evidence, tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


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
