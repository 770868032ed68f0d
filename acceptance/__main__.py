"""Run the checks: `python -m acceptance [--only NAME] [--simulations N] [--seed N] [--engine NAME] [--json]`.

Shares of intervals that hold the truth come with a false-alarm rate: the probability that one of them leaves its range
by chance although all true rates are 95 %. With 2,000 surveys a figure leaves 93.5–96.5 % with probability 1.8·10⁻³,
falls below 94 % (boundaries) with 2·10⁻², and leaves 92.5–97.5 % (12 clusters) with 7·10⁻⁷; all figures of a run do so
with at most the sum, which is printed. Intervals on a boundary cover more often than 95 %: theirs is an upper bound.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict

import numpy as np

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
from acceptance.check import CHECKS
from askance.errors import InputError
from askance.scale import engine_of


def main() -> int:
    """Print every figure as it is measured; exit 1 when one is out of its range."""
    parser = argparse.ArgumentParser(prog="acceptance", description=__doc__)
    parser.add_argument("--only", choices=sorted(CHECKS), action="append", help="run only this check (repeatable)")
    parser.add_argument("--simulations", type=int, default=10_000, help="surveys per figure (default: 10000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--engine",
        default="here",
        help="where simulated surveys run, with the same figures: here:PROCESSES, dask, dask://HOST:PORT or spark "
        "(default: in this process)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    try:
        engine = engine_of(arguments.engine)
    except InputError as error:
        parser.error(str(error))
    figures = []
    with engine:
        for name in arguments.only or CHECKS:
            started, spent = time.perf_counter(), time.process_time()
            for figure in CHECKS[name](np.random.default_rng(arguments.seed), arguments.simulations, engine):
                figures.append(figure)
                if not arguments.json:
                    state = "met   " if figure.met else "MISSED"
                    wanted = f"[{figure.low:g}, {figure.high:g}]"
                    print(
                        f"{state} {name:10} {figure.value:8.4f} in {wanted:14} {figure.case}  ({figure.note})",
                        flush=True,
                    )
            elapsed, own = time.perf_counter() - started, time.process_time() - spent
            print(f"{name}: {elapsed:.0f} s, {own:.0f} s of CPU in this process", file=sys.stderr)
    if arguments.json:
        told = [{**asdict(figure), "met": figure.met, "false_alarm": figure.false_alarm} for figure in figures]
        print(json.dumps(told, indent=2))
    alarms = [figure.false_alarm for figure in figures if figure.false_alarm is not None]
    if alarms:
        print(
            f"false alarms: were all intervals right 95 % of the time, one of {len(alarms)} shares of intervals would "
            f"leave its range by chance with probability {min(sum(alarms), 1.0):.2g} at most (binomial, their sum)",
            file=sys.stderr,
        )
    missed = sum(not figure.met for figure in figures)
    print(f"{len(figures) - missed} passed, {missed} failed", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
