"""What engines cost on this machine, beside one process: `python -m benchmarks.engines`; CPU seconds, in turn.

docs/past-one-machine.md reckons with such constants. Cases are small by default: `--rows` and `--reports` make them
larger. Taggers are trained where ASKANCE_DATA names a folder with the sentences of CoNLL-2000; `--copies` makes more.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

COLUMNS, PARTS = 10, 8


class Cost(NamedTuple):
    """CPU seconds of this process and of the workers of a cluster, and seconds on the clock."""

    driver: float
    workers: float
    wall: float


def cost_of(work: Callable[[], object], engine: Any = None) -> Cost:
    """What some work takes."""
    here, there, wall = time.process_time(), _workers(engine), time.perf_counter()
    work()
    wall = time.perf_counter() - wall
    return Cost(time.process_time() - here, _workers(engine) - there, wall)


def _workers(engine: Any) -> float:
    return 0.0 if engine is None else float(sum(engine.client.run(time.process_time).values()))


def in_turn(sides: dict[str, Callable[[], Cost]], repetitions: int) -> dict[str, Any]:
    """Every side once before, so that all is compiled; then one after the other, and the median of each figure."""
    for side in sides.values():
        side()
    costs: dict[str, list[Cost]] = {name: [] for name in sides}
    for _ in range(repetitions):
        for name, side in sides.items():
            costs[name].append(side())
    return {
        name: {f: round(median(c), 3) for f, c in zip(Cost._fields, zip(*own, strict=True), strict=True)}
        for name, own in costs.items()
    }


def ratios(costs: dict[str, Any], one: str = "here", other: str = "Dask") -> dict[str, float]:
    """CPU of all processes of a cluster over that of one process; and how many times faster by the clock."""
    cpu = {name: costs[name]["driver"] + costs[name]["workers"] for name in (one, other)}
    return {"CPU": cpu[other] / cpu[one], "faster by the clock": costs[one]["wall"] / costs[other]["wall"]}


def write_rows(folder: Path, rows: int) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from askance import ForcedResponse

    rng, design = np.random.default_rng(1), ForcedResponse("2/3", "1/6")
    for part in range(PARTS):
        x = rng.normal(size=(rows // PARTS, COLUMNS - 1))
        truth = np.where(rng.random(len(x)) < 1 / (1 + np.exp(1 - 0.3 * x[:, 0])), "yes", "no")
        columns = {f"x{j}": x[:, j] for j in range(COLUMNS - 1)} | {"said": np.asarray(design.simulate(truth, rng))}
        pq.write_table(pa.table(columns), folder / f"{part}.parquet", row_group_size=1 << 18)
    return design


def write_bits(folder: Path, reports: int) -> None:
    from askance import PerValue, Reports
    from askance.formats import write_reports

    channel = PerValue(128, 2, l1_norm=1)
    rng = np.random.default_rng(2)
    for part in range(PARTS):
        few = channel.simulate(np.eye(128)[rng.integers(0, 128, 1000)], rng)
        several = Reports.join([few] * (reports // PARTS // 1000))
        write_reports(folder / f"{part}.parquet", several)


def write_text(folder: Path, data: Path, copies: int) -> dict[str, list[Path]]:
    """Sentences of a corpus as labelled files, and five windows of five words of each as files of regions."""
    from askance.text import read_tagged, sample_regions, write_regions, write_tagged

    corpus, rng = read_tagged(data / "conll2000.train.tsv.gz"), np.random.default_rng(3)
    files: dict[str, list[Path]] = {"labels": [], "counts": []}
    for part, sentences in enumerate(np.array_split(np.tile(np.arange(len(corpus)), copies), PARTS)):
        own = corpus.take(sentences.tolist())
        files["labels"].append(folder / f"{part}.tsv")
        files["counts"].append(folder / f"{part}.jsonl")
        write_tagged(files["labels"][-1], own)
        write_regions(files["counts"][-1], sample_regions(own, window=5, per_sentence=5, rng=rng))
    return files


def taggers(data: Path, copies: int, repetitions: int, dask: Any) -> Iterator[tuple[str, Any]]:
    """Training without edges: files read and fitted in memory, and on the cluster."""
    from askance.text import Corpus, CountTagger, RegionCounts, read_regions, read_tagged

    with TemporaryDirectory() as folder:
        for kind, files in write_text(Path(folder), data, copies).items():

            def in_memory(kind: str = kind, files: list[Path] = files) -> object:
                if kind == "counts":
                    return CountTagger("node").fit(read_regions(files).regions)
                return CountTagger("node").fit(RegionCounts.of_labels(Corpus.join([read_tagged(f) for f in files])))

            there = partial(CountTagger("node").fit, files, engine=dask)
            costs = in_turn(
                {"here": partial(cost_of, in_memory), "Dask": partial(cost_of, there, dask)},
                repetitions,
            )
            yield f"tagger from {kind}", costs | {"Dask / here": ratios(costs)}


def measured(rows: int, reports: int, copies: int, repetitions: int) -> Iterator[tuple[str, Any]]:
    from operator import add

    from askance import regress
    from askance.formats import aggregate
    from askance.scale import Dask, Here

    yield "case", {"rows": rows, "columns": COLUMNS, "reports": reports, "cores": os.cpu_count()}
    begun = time.perf_counter()
    with Dask() as dask, TemporaryDirectory() as one, TemporaryDirectory() as other:
        yield "start of Dask, seconds", time.perf_counter() - begun
        dask.fold(list(range(100)), abs, add)
        cost = cost_of(lambda: dask.fold(list(range(400)), abs, add), dask)
        yield "a task, CPU and wall milliseconds", [1000 * (cost.driver + cost.workers) / 425, 1000 * cost.wall / 425]
        if reports:
            write_bits(Path(one), reports)
            costs = in_turn(
                {
                    "here": lambda: cost_of(lambda: aggregate(one)),
                    "Dask": lambda: cost_of(lambda: aggregate(one, engine=dask), dask),
                },
                repetitions,
            )
            yield "aggregate", costs | {"Dask / here": ratios(costs)}
        if rows:
            design = write_rows(Path(other), rows)
            formula = "said ~ " + " + ".join(f"x{j}" for j in range(COLUMNS - 1))
            fit = partial(regress, formula, other, design)
            costs = in_turn(
                {
                    "here": lambda: cost_of(lambda: fit(engine=Here(room=1 << 34))),
                    "Dask": lambda: cost_of(lambda: fit(engine=dask), dask),
                },
                repetitions,
            )
            yield "regress, rows held", costs | {"Dask / here": ratios(costs)}
            yield "regress, one worker killed after pass 6", _killed(fit, dask) | {"Dask alone": costs["Dask"]}
        if copies and os.environ.get("ASKANCE_DATA"):
            yield from taggers(Path(os.environ["ASKANCE_DATA"]), copies, repetitions, dask)


class _Failing:
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


def _killed(fit: Callable[..., Any], dask: Any) -> dict[str, float]:
    """By the clock: CPU of a killed process is not to be had."""
    wall = time.perf_counter()
    fit(engine=_Failing(dask, 6))
    return {"wall": round(time.perf_counter() - wall, 3)}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000, help="of the regression; 0: none")
    arguments.add_argument("--reports", type=int, default=5_000_000, help="that are added up; 0: none")
    arguments.add_argument("--copies", type=int, default=1, help="of the sentences that taggers learn from; 0: none")
    arguments.add_argument("--repetitions", type=int, default=3)
    chosen = arguments.parse_args()
    for name, figure in measured(chosen.rows, chosen.reports, chosen.copies, chosen.repetitions):
        print(json.dumps({name: figure}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
