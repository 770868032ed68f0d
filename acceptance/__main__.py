"""Run the long checks.

Shares of intervals that hold the truth come with a false-alarm rate: the probability that one of them leaves its range
by chance although all true rates are 95 %. Of 10,000 surveys a share leaves 94–96 % with probability 5·10⁻⁶ and falls
below 94 % (boundaries) with 4·10⁻⁶; of 2,000, with 4·10⁻² and 2·10⁻². Any figure of a run does so with at most the sum,
which is printed. Intervals on a boundary cover more often than 95 %: theirs is an upper bound.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.harness.origin import origin_of

import acceptance.chain
import acceptance.conditional_fields
import acceptance.covariances
import acceptance.few_clusters
import acceptance.finite_surveys
import acceptance.hidden_predictor
import acceptance.list_experiments
import acceptance.mixed_arms
import acceptance.nuisance_designs
import acceptance.optimal_tables
import acceptance.planning
import acceptance.private_fields
import acceptance.private_regression
import acceptance.regression_defaults
import acceptance.regression_surveys
import acceptance.sequences
import acceptance.statistics_channels
import acceptance.tagger
import acceptance.together
import acceptance.two_stage  # noqa: F401 - importing enters their checks
from acceptance.check import CHECKS, Figure
from acceptance.record import HOME, Record, alarms, render, stored, told
from askance.errors import InputError
from askance.scale import engine_of
from askance.scale.shipping import Sender


def main() -> int:
    """Print every figure as it is measured; exit 1 when one is out of its range."""
    parser = argparse.ArgumentParser(prog="acceptance", description=__doc__)
    parser.add_argument(
        "--only", choices=sorted(CHECKS), action="append", metavar="NAME", help="run only this check (repeatable)"
    )
    parser.add_argument("--simulations", type=int, default=10_000, help="surveys per figure (default: 10000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--engine",
        default="here",
        help="where simulated surveys run, with the same figures: here:PROCESSES, dask, dask://HOST:PORT or spark "
        "(default: in this process)",
    )
    parser.add_argument("--store", action="store_true", help="keep the figures: results/ and RESULTS.md of --out")
    parser.add_argument("--missing", action="store_true", help="run only what has no stored figures: goes on")
    parser.add_argument("--render", action="store_true", help="write RESULTS.md from stored figures; measure nothing")
    parser.add_argument("--out", type=Path, default=HOME, metavar="DIRECTORY", help="instead of acceptance/")
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    if arguments.render:
        render(CHECKS, arguments.out)
        return 0
    try:
        engine = engine_of(arguments.engine)
    except InputError as error:
        parser.error(str(error))
    known = stored(arguments.out) if arguments.missing else {}
    with engine:
        figures = [
            figure
            for name in arguments.only or CHECKS
            if name not in known
            for figure in _figures(name, arguments, engine)
        ]
    if arguments.json:
        print(json.dumps([told(figure) for figure in figures], indent=2))
    if told_chances := alarms(figures):
        print(told_chances, file=sys.stderr)
    missed = sum(not figure.met for figure in figures)
    print(f"{len(figures) - missed} passed, {missed} failed", file=sys.stderr)
    return 1 if missed else 0


def _figures(name: str, arguments: argparse.Namespace, engine: Sender) -> Iterator[Figure]:
    """Those of one check, printed as they are measured; stored when all are there."""
    origin = origin_of(
        f"python -m acceptance --only {name} --simulations {arguments.simulations} --seed {arguments.seed}"
    )
    started, spent, figures = time.perf_counter(), time.process_time(), []
    for figure in CHECKS[name](np.random.default_rng(arguments.seed), arguments.simulations, engine):
        figures.append(figure)
        if not arguments.json:
            state = "met   " if figure.met else "MISSED"
            wanted = f"[{figure.low:g}, {figure.high:g}]"
            print(f"{state} {name:10} {figure.value:8.4f} in {wanted:14} {figure.case}  ({figure.note})", flush=True)
        yield figure
    elapsed, own = time.perf_counter() - started, time.process_time() - spent
    print(f"{name}: {elapsed:.0f} s, {own:.0f} s of CPU in this process", file=sys.stderr)
    if arguments.store:
        Record(name, origin, elapsed, tuple(figures)).save(arguments.out)
        render(CHECKS, arguments.out)


if __name__ == "__main__":
    sys.exit(main())
