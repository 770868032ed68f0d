"""Files of reports, 128 bits each, added up to a state: reports per CPU second.

pyarrow merely reads the same columns, page by page with their checksums, or the same lines without the header, and does
nothing with them: what no reader of such files is faster than, nearly. It parses lines of JSON in blocks of its own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Throughput, WrongResultError

_BITS, _SEED = 128, 8
_PARQUET, _LINES = "Parquet", "lines of JSON"


def askance(case: Case, n: int) -> Throughput:
    """The documented call."""
    from askance.formats import aggregate

    path = _written(case, n)

    def check(found: Any) -> None:
        if found.evidence.n_observations != n:
            raise WrongResultError(f"{found.evidence.n_observations} reports of {n}")

    return Throughput(lambda: aggregate(path), check)


def pyarrow(case: Case, n: int) -> Throughput:
    """Reading alone, with one thread."""
    from pyarrow import json, parquet

    path = _written(case, n)
    if case["file"] == _PARQUET:

        def batches() -> int:
            file = parquet.ParquetFile(path, pre_buffer=False, page_checksum_verification=True)
            return sum(len(batch) for batch in file.iter_batches(1 << 16, use_threads=False))

        return Throughput(batches, _complete(n))
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    return Throughput(lambda: len(json.read_json(path, json.ReadOptions(use_threads=False))), _complete(n))


def _complete(n: int) -> Any:
    def check(rows: int) -> None:
        if rows != n:
            raise WrongResultError(f"{rows} rows of {n}")

    return check


def _written(case: Case, n: int) -> Path:
    return write(case, n, Path(tempfile.mkdtemp()))


def write(case: Case, n: int, folder: Path) -> Path:
    """A file of n reports, the same for all."""
    import numpy as np

    from askance import PerValue
    from askance.formats import report_writer

    path = folder / ("a.parquet" if case["file"] == _PARQUET else "a.jsonl")
    channel, rng, named = PerValue(_BITS, 1, l1_norm=1), np.random.default_rng(_SEED), case["ids"] == "yes"
    with report_writer(path, channel, ids=named) as writer:
        for start in range(0, n, 1 << 16):
            count = min(1 << 16, n - start)
            reports = channel.simulate(np.eye(_BITS)[rng.integers(0, _BITS, count)], rng)
            writer.write(reports, [rng.bytes(16).hex() for _ in range(count)] if named else None)
    return path


COMPARISON = Comparison(
    name="reading-reports",
    question="How fast do files of reports of 128 bits, with and without ids, become a state?",
    subject=Subject.COUNTING,
    unit="reports/s",
    cases=tuple({"file": file, "ids": ids} for file in (_PARQUET, _LINES) for ids in ("no", "yes")),
    ours=Side("askance", askance),
    peers=(Side("pyarrow, reading alone", pyarrow),),
    sizes=Sizes(smallest=1 << 18, largest=1 << 18),
)
