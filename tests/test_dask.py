"""A cluster of processes that loses a worker, moves parts and spills them: the bits of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from distributed import Client, LocalCluster, wait

from askance import RandomizedResponse, estimate, save
from askance.errors import AskanceWarning, InputError
from askance.evidence.held import on_engine
from askance.formats import aggregate, write_reports
from askance.scale import Dask
from askance.survey import regress
from tests import people_files
from tests.clusters import DaskFailingBetween, DaskFailingInside, cluster, is_alive
from tests.regressions import surveyed
from tests.test_spread_aggregation import written

MODEL, EVIDENCE = surveyed(weighted=True, clusters=30)


@pytest.fixture(scope="module")
def engine() -> Iterator[Dask]:
    with cluster() as own:
        yield own


@pytest.fixture(scope="module")
def wanted() -> bytes:
    return bytes_of(estimate(MODEL, EVIDENCE))


def bytes_of(fit: Any) -> bytes:
    return fit.theta.tobytes() + fit.covariance.tobytes()  # type: ignore[no-any-return]


def test_a_map_keeps_the_order_of_items(engine: Dask) -> None:
    assert engine.map(abs, range(-40, 0)) == list(range(40, 0, -1))


def test_two_processes_give_the_fit_of_one(engine: Dask, wanted: bytes) -> None:
    assert bytes_of(estimate(MODEL, on_engine(EVIDENCE, engine, 2))) == wanted
    assert engine.largest_sent <= 16 << 10


def test_parts_that_moved_to_another_worker_change_no_bit(wanted: bytes) -> None:
    with cluster() as own:
        held = on_engine(EVIDENCE, own, 1)
        wait(cast(Any, held)._held.parts)
        address = next(where for where, what in own.client.has_what().items() if what)
        own.client.retire_workers([address], close_workers=False)
        assert address not in {where for places in own.client.who_has().values() for where in places}
        assert bytes_of(estimate(MODEL, held)) == wanted


def test_a_worker_killed_after_six_passes_changes_no_bit(engine: Dask, wanted: bytes, tmp_path: Path) -> None:
    failing = DaskFailingBetween(engine.client, tmp_path)
    held = on_engine(EVIDENCE, failing, 1)
    assert bytes_of(estimate(MODEL, held)) == wanted
    assert failing.killed
    assert not is_alive(failing.killed)
    assert failing.passes > 7


def test_a_worker_killed_in_the_middle_of_aggregate_changes_no_bit(engine: Dask, tmp_path: Path) -> None:
    channel, rng = RandomizedResponse("1/2", outputs=["no", "yes"]), np.random.default_rng(5)
    paths = [tmp_path / f"{number}.jsonl" for number in range(24)]
    for path in paths:
        write_reports(path, channel.simulate(rng.choice(["no", "yes"], 5_000), rng), channel=channel)
    failing = DaskFailingInside(engine.client, tmp_path)
    for name, added in (("here", aggregate(paths)), ("there", aggregate(paths, engine=failing))):
        save(added.evidence, tmp_path / name)
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()
    assert failing.killed
    assert not is_alive(failing.killed)


def test_the_command_line_starts_a_cluster_or_joins_one(engine: Dask, tmp_path: Path) -> None:
    paths = [str(path) for path in written(tmp_path, 1000, 2000)]
    address = engine.client.scheduler.address.replace("tcp://", "dask://")
    for name, flags in (("here", []), ("started", ["--engine", "dask"]), ("joined", ["--engine", address])):
        command = [sys.executable, "-m", "askance", "aggregate", *paths, "-o", str(tmp_path / name), *flags, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["reports"] == 3000
        assert (tmp_path / name).read_bytes() == (tmp_path / "here").read_bytes()
    assert engine.map(abs, [-3]) == [3]  # whoever joins a cluster leaves it as it was


def test_rows_of_files_give_the_bits_of_one_process(engine: Dask, tmp_path: Path) -> None:
    paths = people_files.written(people_files.people(), tmp_path, 12_000, 25_000)
    options: dict[str, Any] = {"arm": "arm", "missing": "drop", "weights": "weight", "cluster": "town"}
    formula = "said ~ scale(age) + region"
    here = regress(formula, paths, people_files.DESIGNS, **options)
    failing = DaskFailingBetween(engine.client, tmp_path)
    there = regress(formula, paths[::-1], people_files.DESIGNS, engine=failing, **options)
    assert bytes_of(there) == bytes_of(here)
    assert failing.killed
    assert not is_alive(failing.killed)
    assert failing.passes > 7
    shares = [fit.prevalence(by="region").estimate.tobytes() for fit in (here, there)]
    assert shares[0] == shares[1]


def test_spilling_changes_no_bit(wanted: bytes) -> None:
    kinds = {"target": 1e-4, "spill": False, "pause": False, "terminate": False}
    settings = {f"distributed.worker.memory.{kind}": share for kind, share in kinds.items()}
    with cluster(1, settings, memory_limit="2GB") as small:
        held = on_engine(EVIDENCE, small, 1)  # while it is known, rows stay where they are
        assert bytes_of(estimate(MODEL, held)) == wanted
        (spilled,) = small.client.run(lambda dask_worker: dask_worker.data.spilled_total.disk).values()
        assert spilled > 500_000


def test_workers_that_would_be_slow_are_told(engine: Dask) -> None:
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0", memory_limit="700MB"
        ) as other,
        Client(other) as client,
        pytest.warns(AskanceWarning, match="2 threads"),
        pytest.warns(AskanceWarning, match="a worker has 700 MB"),
    ):
        Dask(client)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as nobody,
        Client(nobody) as client,
        pytest.warns(AskanceWarning, match="there is no worker, and work waits until one comes"),
    ):
        Dask(client)
    with pytest.raises(InputError, match=r"distributed\.Client"):
        Dask(3)
    assert os.getpid() not in engine.client.run(os.getpid).values()


def test_workers_without_askance_are_refused_before_any_work(engine: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askance.scale.on_dask._facts", _nothing_to_import)
    with pytest.raises(InputError, match=r"\d of \d workers of Dask cannot run this askance .*No module.* Install"):
        Dask(engine.client)


def _nothing_to_import() -> None:
    raise ModuleNotFoundError("No module named 'askance'")
