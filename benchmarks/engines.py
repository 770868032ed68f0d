"""What engines cost on this machine, beside one process: `python -m benchmarks.engines`; CPU seconds, in turn.

docs/past-one-machine.md reckons with such constants. Cases are small by default: `--rows` and `--reports` make them
larger, `--spill` adds workers that have not enough memory, `--spark` Spark. All engines must give the same bits.
Taggers are trained where ASKANCE_DATA names a folder with the sentences of CoNLL-2000; `--copies` takes them often.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from operator import add
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from askance import ForcedResponse
from askance.evidence.sources import NO_SOURCES
from benchmarks.comparisons import reading_reports
from benchmarks.harness.figures import add_options, flat, tell

# Of a regression: with the intercept; files, and rows of their row groups.
COLUMNS, PARTS, ROW_GROUP = 10, 8, 1 << 18
FORMULA, DESIGN = "said ~ " + " + ".join(f"x{j}" for j in range(COLUMNS - 1)), ForcedResponse("2/3", "1/6")
# Small pieces of work, by which a task is measured; states that are merged.
TASKS, STATES = 400, 125

QUESTION = "What do engines cost beside one process? (CPU seconds of driver and workers; all give the same bits.)"

#: What is done on an engine, None being one process without any; the bits that come out.
Job: TypeAlias = Callable[[Any], bytes]


class Cost(NamedTuple):
    """CPU seconds of this process and of those that it started, and seconds on the clock."""

    driver: float
    workers: float
    wall: float


def cost_of(work: Callable[[], bytes]) -> tuple[Cost, bytes]:
    """What some work takes, and what comes out."""
    here, there, wall = time.process_time(), _workers(), time.perf_counter()
    bits = work()
    wall = time.perf_counter() - wall
    return Cost(time.process_time() - here, _workers() - there, wall), bits


def _workers() -> float:
    """Of all processes below this one, those that were killed among them."""
    import psutil

    alive = sum(sum(process.cpu_times()[:4]) for process in psutil.Process().children(recursive=True))
    return float(alive) + sum(os.times()[2:4])


def in_turn(job: Job, engines: Mapping[str, Any], repetitions: int) -> dict[str, Any]:
    """Every engine once before, so that all is compiled; then one after the other, and the median of each figure."""
    costs: dict[str, list[Cost]] = {name: [] for name in engines}
    different = set()
    for turn in range(repetitions + 1):
        for name, engine in engines.items():
            cost, bits = cost_of(partial(job, engine))
            different.add(bits)
            # Workers that wait for work take some time too: none of it is the job's that is done here.
            costs[name] += [cost if engine is not None else cost._replace(workers=0.0)] if turn else []
    if len(different) > 1:
        raise AssertionError(f"{', '.join(engines)} give different bits")
    medians = {name: Cost(*map(median, zip(*own, strict=True))) for name, own in costs.items()}
    (one, alone), *others = medians.items()
    compared = {f"{name} / {one}": _ratios(cost, alone) for name, cost in others}
    return {name: _rounded(cost) for name, cost in medians.items()} | compared


def _ratios(cost: Cost, alone: Cost) -> dict[str, float]:
    """CPU of all processes over that of another engine; and how many times faster by the clock."""
    cpu = [own.driver + own.workers for own in (cost, alone)]
    return {"CPU": round(cpu[0] / cpu[1], 3), "faster by the clock": round(alone.wall / cost.wall, 3)}


def _rounded(cost: Cost) -> dict[str, float]:
    return {name: round(figure, 3) for name, figure in cost._asdict().items()}


# -- jobs --------------------------------------------------------------------------------------------------------------


@contextmanager
def regression(rows: int) -> Iterator[Job]:
    """A one-step regression on rows of Parquet files, all of them held between passes."""
    from askance import regress
    from askance.scale import Here

    with TemporaryDirectory() as folder:
        write_people(Path(folder), rows, np.float64)

        def job(engine: Any) -> bytes:
            fit = regress(FORMULA, folder, DESIGN, engine=Here(room=1 << 34) if engine is None else engine)
            return fit.theta.tobytes() + np.asarray(fit.covariance).tobytes()

        yield job


def write_people(folder: Path, rows: int, dtype: Any) -> None:
    """Parquet files of noised answers and covariates, which are made a row group at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    for part in range(PARTS):
        writer = None
        for start in range(0, rows // PARTS, ROW_GROUP):
            x = rng.normal(size=(min(ROW_GROUP, rows // PARTS - start), COLUMNS - 1)).astype(dtype)
            truth = np.where(rng.random(len(x)) < 1 / (1 + np.exp(1 - 0.3 * x[:, 0])), "yes", "no")
            columns = {f"x{j}": x[:, j] for j in range(COLUMNS - 1)} | {"said": np.asarray(DESIGN.simulate(truth, rng))}
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(folder / f"{part}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()


def streamed(rows: int) -> Iterator[tuple[str, Any]]:
    """A regression whose rows are read again in every pass, in a process of its own; columns of single precision."""
    with TemporaryDirectory() as folder:
        write_people(Path(folder), rows, np.float32)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            found = pool.submit(_regressed, folder).result()
        yield "regress, rows streamed", {"rows": rows, "gigabytes of files": round(size / 1e9, 2)} | found


def _regressed(folder: str) -> dict[str, Any]:
    """What a regression on files takes of this process, which does nothing else."""
    from askance import regress
    from askance.scale import Here

    told: list[str] = []

    def job() -> bytes:
        told.extend(regress(FORMULA, folder, DESIGN, engine=Here()).messages)
        return b""

    cost, _ = cost_of(job)
    peak = int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])  # type: ignore[index]
    return {"messages": told, "gigabytes of memory at most": round(peak * 1024 / 1e9, 3)} | _rounded(cost)


@contextmanager
def sums(reports: int) -> Iterator[Job]:
    """Reports of 128 bits, in Parquet files without ids, as a state."""
    from askance import PerValue, Reports
    from askance.formats import aggregate, write_reports

    channel, rng = PerValue(128, 2, l1_norm=1), np.random.default_rng(2)
    with TemporaryDirectory() as folder:
        for part in range(PARTS):
            few = channel.simulate(np.eye(128)[rng.integers(0, 128, 1000)], rng)
            write_reports(Path(folder) / f"{part}.parquet", Reports.join([few] * (reports // PARTS // 1000)))
        yield lambda engine: aggregate(folder, engine=engine).evidence.sums.tobytes()


@contextmanager
def tagger(kind: str, data: Path, copies: int) -> Iterator[Job]:
    """Training without edges from labels, or from five windows of five words of each sentence; None: in memory.

    In memory other sums are rounded, so that last digits may differ from those of engines: no bits are compared here.
    """
    from askance.text import (
        Corpus,
        CountTagger,
        RegionCounts,
        read_regions,
        read_tagged,
        sample_regions,
        write_regions,
        write_tagged,
    )

    corpus, rng, files = read_tagged(data / "conll2000.train.tsv.gz"), np.random.default_rng(3), []
    with TemporaryDirectory() as folder:
        for part, sentences in enumerate(np.array_split(np.tile(np.arange(len(corpus)), copies), PARTS)):
            own = corpus.take(sentences.tolist())
            files.append(Path(folder) / f"{part}.{'tsv' if kind == 'labels' else 'jsonl'}")
            if kind == "labels":
                write_tagged(files[-1], own)
            else:
                write_regions(files[-1], sample_regions(own, window=5, per_sentence=5, rng=rng))

        def job(engine: Any) -> bytes:
            if engine is not None:
                CountTagger("node").fit(files, engine=engine)
            elif kind == "labels":
                CountTagger("node").fit(RegionCounts.of_labels(Corpus.join([read_tagged(file) for file in files])))
            else:
                CountTagger("node").fit(read_regions(files).regions)
            return b""

        yield job


# -- engines -----------------------------------------------------------------------------------------------------------


def task(engine: Any) -> list[float]:
    """CPU and wall milliseconds of a small piece of work."""
    engine.fold(list(range(TASKS)), abs, add)
    cost, _ = cost_of(lambda: bytes(engine.fold(list(range(TASKS)), abs, add) > 0))
    return [round(1000 * figure / TASKS, 3) for figure in (cost.driver + cost.workers, cost.wall)]


@contextmanager
def spark() -> Iterator[Any]:
    """Two threads of Spark on this machine, once the first piece of work is done."""
    from pyspark.sql import SparkSession

    from askance.scale import Spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder: Any = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    engine = Spark(session)
    engine.fold([1, 2], abs, add)
    try:
        yield engine
    finally:
        session.stop()


@contextmanager
def small_cluster(megabytes: int) -> Iterator[Any]:
    """Dask whose workers have that much memory each, and write to disk what does not fit."""
    from distributed import Client

    from askance.scale import Dask
    from askance.scale.on_dask import local_cluster

    with local_cluster(memory_limit=megabytes << 20) as cluster, Client(cluster) as client:
        yield Dask(client)


class Failing:
    """A cluster of which one worker is killed before a pass."""

    def __init__(self, engine: Any, after: int) -> None:
        self.engine, self.left = engine, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def fold(self, parts: Any, work: Any, merge: Any) -> Any:
        if self.left == 0:
            os.kill(next(iter(self.engine.client.run(os.getpid).values())), signal.SIGKILL)
        self.left -= 1
        return self.engine.fold(parts, work, merge)

    def hold(self, parts: Any, load: Any) -> Any:
        return replace(self.engine.hold(parts, load), engine=self)


# -- figures -----------------------------------------------------------------------------------------------------------


def reading(reports: int, repetitions: int) -> Iterator[tuple[str, Any]]:
    """Reports of 128 bits, with ids of 32 letters and without, that one process adds up; and states."""
    from askance.formats import aggregate, save

    def added(*paths: Path) -> float:
        """CPU seconds; read once before, so that all is compiled."""
        work = partial(_sums_of, paths)
        work()
        return median(cost_of(work)[0].driver for _ in range(repetitions))

    with TemporaryDirectory() as folder:
        for case in reading_reports.COMPARISON.cases:
            path = reading_reports.write(case, reports, Path(folder))
            rate, size = reports / added(path) / 1e6, path.stat().st_size / reports
            told = {"bytes a report": round(size, 1), "millions a second of CPU": round(rate, 2)}
            yield f"reading {case['file']}, ids: {case['ids']}", told
        states = [Path(folder) / f"{number}.state" for number in range(STATES)]
        for state in states:
            save(aggregate(path).evidence.from_sources(NO_SOURCES), state)
        took = {"bytes": states[0].stat().st_size, "milliseconds of CPU": round(1000 * added(*states) / STATES, 3)}
        yield f"merging a state, one of {STATES}", took


def _sums_of(paths: tuple[Path, ...]) -> bytes:
    from askance.formats import aggregate

    return bytes(aggregate(paths).evidence.sums.tobytes())


def on_dask(rows: int, reports: int, repetitions: int) -> Iterator[tuple[str, Any]]:
    """Start, task, both jobs, and a regression that loses a worker."""
    from askance.scale import Dask

    begun = time.perf_counter()
    with Dask() as dask:
        yield "start of Dask, seconds", round(time.perf_counter() - begun, 3)
        yield "a task of Dask, CPU and wall milliseconds", task(dask)
        engines = {"here": None, "Dask": dask}
        if reports:
            with sums(reports) as job:
                yield "aggregate", in_turn(job, engines, repetitions)
        if rows:
            with regression(rows) as job:
                costs = in_turn(job, engines, repetitions)
                yield "regress, rows held", costs
                cost, bits = cost_of(partial(job, Failing(dask, 6)))
                compared = {"killed / Dask": _ratios(cost, Cost(**costs["Dask"])), "bits are equal": bits == job(None)}
                yield "regress, one worker killed after pass 6", _rounded(cost) | compared


def taggers(copies: int, repetitions: int) -> Iterator[tuple[str, Any]]:
    """Training in memory, and on two workers."""
    from askance.scale import Dask

    with Dask() as dask:
        for kind in ("labels", "counts"):
            with tagger(kind, Path(os.environ["ASKANCE_DATA"]), copies) as job:
                yield f"tagger from {kind}", in_turn(job, {"here": None, "Dask": dask}, repetitions)


def spilled(rows: int, megabytes: int, repetitions: int) -> Iterator[tuple[str, Any]]:
    """A regression whose workers keep a part of their rows on disk, beside workers that need not."""
    from askance.scale import Dask

    with regression(rows) as job, Dask() as large, small_cluster(megabytes) as small:
        costs = in_turn(job, {"Dask": large, "Dask, spilling": small}, repetitions)
        written = sum(small.client.run(_written).values()) / (repetitions + 1) / 1e6
        case = {"rows": rows, "megabytes of memory a worker": megabytes, "megabytes written a run": round(written)}
        yield "regress, rows spilled", case | costs


def _written(dask_worker: Any) -> float:
    """Bytes that a worker has written to disk since it was started."""
    return float(dask_worker.data.cumulative_metrics["disk-write", "bytes"])


def on_spark(rows: int, reports: int, repetitions: int) -> Iterator[tuple[str, Any]]:
    """Start, task, and both jobs."""
    begun, used = time.perf_counter(), time.process_time() + _workers()
    with spark() as engine:
        took = [time.process_time() + _workers() - used, time.perf_counter() - begun]
        yield "start of Spark, CPU and wall seconds", [round(seconds, 3) for seconds in took]
        yield "a task of Spark, CPU and wall milliseconds", task(engine)
        engines = {"here": None, "Spark": engine}
        if reports:
            with sums(reports) as job:
                yield "aggregate on Spark", in_turn(job, engines, repetitions)
        if rows:
            with regression(rows) as job:
                yield "regress on Spark, rows held", in_turn(job, engines, repetitions)


def measured(chosen: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """All cases that were asked for."""
    case = {"rows": chosen.rows, "columns": COLUMNS, "reports": chosen.reports, "cores": os.cpu_count()}
    yield "case", case
    sizes = (chosen.rows, chosen.reports, chosen.repetitions)
    if chosen.read:
        yield from reading(chosen.read, chosen.repetitions)
    if not chosen.no_dask:
        yield from on_dask(*sizes)
    if chosen.copies and os.environ.get("ASKANCE_DATA"):
        yield from taggers(chosen.copies, chosen.repetitions)
    if chosen.spill:
        yield from spilled(chosen.spill, chosen.memory, chosen.repetitions)
    if chosen.streamed:
        yield from streamed(chosen.streamed)
    if chosen.spark:
        yield from on_spark(*sizes)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000, help="of the regression; 0: none")
    arguments.add_argument("--reports", type=int, default=5_000_000, help="that are added up; 0: none")
    arguments.add_argument(
        "--spill", type=int, default=0, help="rows of a regression that does not fit; such as 8000000"
    )
    arguments.add_argument("--read", type=int, default=1 << 18, help="reports of files that one process reads; 0: none")
    arguments.add_argument(
        "--streamed", type=int, default=0, help="rows of a regression that streams; such as 100000000"
    )
    arguments.add_argument("--copies", type=int, default=1, help="of the sentences that taggers learn from; 0: none")
    arguments.add_argument("--memory", type=int, default=700, help="megabytes of a worker of that regression")
    arguments.add_argument("--spark", action="store_true", help="Spark too, with two threads of this machine")
    arguments.add_argument("--no-dask", action="store_true", help="not the cases of Dask that spills nothing")
    arguments.add_argument("--repetitions", type=int, default=3)
    add_options(arguments)
    chosen, begun, rows = arguments.parse_args(), time.perf_counter(), []
    for name, figure in measured(chosen):
        print(name, file=sys.stderr, flush=True)
        rows += flat(name, figure)
    tell("engines", QUESTION, rows, time.perf_counter() - begun, chosen)


if __name__ == "__main__":
    main()
