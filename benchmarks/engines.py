"""What engines cost on this machine, beside one process: `python -m benchmarks.engines`; CPU seconds, in turn.

docs/past-one-machine.md reckons with such constants. Cases are small by default: `--rows` and `--reports` make them
larger.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

COLUMNS, PARTS = 10, 8


def cpu_of(work: Callable[[], object], engine: Any = None) -> tuple[float, float]:
    """CPU seconds of this process, and of the workers of a cluster, that some work takes."""
    before, there = time.process_time(), _workers(engine)
    work()
    return time.process_time() - before, _workers(engine) - there


def _workers(engine: Any) -> float:
    return 0.0 if engine is None else float(sum(engine.client.run(time.process_time).values()))


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


def measured(rows: int, reports: int) -> dict[str, Any]:
    from operator import add

    from askance import regress
    from askance.formats import aggregate
    from askance.scale import Dask, Here

    begun = time.perf_counter()
    figures: dict[str, Any] = {"rows": rows, "columns": COLUMNS, "reports": reports, "cores": os.cpu_count()}
    with Dask() as dask, TemporaryDirectory() as one, TemporaryDirectory() as other:
        figures["start of Dask, seconds"] = time.perf_counter() - begun
        dask.fold(list(range(100)), abs, add)
        figures["a task, CPU milliseconds"] = (
            1000 * sum(cpu_of(lambda: dask.fold(list(range(400)), abs, add), dask)) / 425
        )
        write_bits(Path(one), reports)
        for warm in (None, dask):  # compiled
            aggregate(one, engine=warm)
        figures["aggregate, here"] = cpu_of(lambda: aggregate(one))[0]
        figures["aggregate, Dask: driver, workers"] = cpu_of(lambda: aggregate(one, engine=dask), dask)
        design = write_rows(Path(other), rows)
        formula = "said ~ " + " + ".join(f"x{j}" for j in range(COLUMNS - 1))
        regress(formula, other, design, engine=dask)
        for name, engine in (("kept", Here(room=1 << 34)), ("streamed", Here(room=0))):
            work = partial(regress, formula, other, design, engine=engine)
            figures[f"regress, here, {name}"] = cpu_of(work)[0]
        figures["regress, Dask: driver, workers"] = cpu_of(lambda: regress(formula, other, design, engine=dask), dask)
    return figures


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--reports", type=int, default=5_000_000)
    chosen = arguments.parse_args()
    print(json.dumps(measured(chosen.rows, chosen.reports), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
