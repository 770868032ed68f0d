"""Compiles the loops of `askance._kernels` once: `python -m tests.compile_loops`, before tests run side by side.

Each process of the tests would compile its own otherwise. Numba keeps the result on disk. Every channel draws, sums and
weighs as many reports as it takes for compiled loops to be used, and a file of them is read; taggers of all kinds learn
from a few sentences. A loop that none of this compiles is an error: loops are listed from the code.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np

from askance import RandomizedResponse, Responses, Softmax, _kernels, estimate
from askance._kernels.compiler import COMPILED_PAYS_FROM, Compiled
from askance.channels.statistics import HasReportLikelihood
from askance.estimation.problems.conditional import COMPILED_FROM
from askance.experiments import beam
from askance.experiments.beam import BeamLikelihood
from askance.formats import aggregate, report_writer
from askance.text import Corpus, CountTagger, Region, RegionCounts
from askance.text.counts.likelihood import CountLikelihood, Method
from askance.text.tagger.options import TaggerMethod
from tests import families, statistics_families
from tests.small_corpus import counted


def draw_reports() -> None:
    """Every channel, as in the tests of all channels."""
    rng = np.random.default_rng(0)
    for answers in families.channels().values():
        answers.simulate(rng.choice(answers.outputs.labels, COMPILED_PAYS_FROM), rng)
    for channel in statistics_families.channels().values():
        truth = statistics_families.truths_for(channel, COMPILED_PAYS_FROM, rng)
        reports = channel.simulate(truth, rng)
        channel.sums(reports)
        channel.debias(reports)
        if isinstance(channel, HasReportLikelihood):
            channel.log_likelihood(reports, truth[:2])


def train_taggers() -> None:
    """Every way to sum over counts, in both precisions, and every kind of tagger; of chains, exact and approximate."""
    regions = RegionCounts.join([counted().take(range(40)), counted(tags=1).take(range(40))])
    for method, precision in product(get_args(Method), (np.float32, np.float64)):
        share = np.log(np.full((len(regions.corpus.words), 3), 1 / 3, dtype=precision))
        CountLikelihood(regions, method=method)(share)
    for tagger in get_args(TaggerMethod):
        CountTagger(tagger, max_iterations=2).fit(regions)
    # Sums that are too small for floating-point numbers.
    corpus = Corpus.of([["a"] * 60])
    rare = RegionCounts.of(corpus, "xy", [Region(0, 0, 60, {"x": 59, "y": 1})])
    CountLikelihood(rare, method="exact")(np.array([[-65.0, -40.0]]))
    BeamLikelihood(rare, 10)(np.array([[-65.0, -40.0]]))
    chain = CountTagger("chain", max_iterations=2, budget=1).fit(regions).chain
    assert chain is not None
    chain.best_tags(regions.corpus)
    chain.sample(regions.corpus, np.random.default_rng(0))


def fit_regression() -> None:
    """A regression with as many rows as it takes for compiled loops to be used."""
    rng, channel = np.random.default_rng(0), RandomizedResponse.for_privacy_level(3, outputs=2)
    x = np.column_stack([np.ones(COMPILED_FROM), rng.normal(size=COMPILED_FROM)])
    reports = channel.simulate(rng.integers(0, 2, COMPILED_FROM), rng)
    estimate(Softmax(2, ["one", "a"]), Responses(channel).add(x, reports), "moments")


def read_reports() -> None:
    """Lines of reports with ids: as many as it takes for compiled loops to be used."""
    channel, n = RandomizedResponse.for_privacy_level(3, outputs=2), 2 * COMPILED_PAYS_FROM
    reports = channel.simulate(np.arange(n) % 2, np.random.default_rng(0))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.jsonl"
        with report_writer(path, channel, ids=True) as writer:
            writer.write(reports, [f"device {place}" for place in range(n)])
        assert aggregate(path).evidence.n_observations == n


def loops() -> Iterator[tuple[str, Compiled[Any]]]:
    """Every compiled loop, and where it is written."""
    kernels = pkgutil.iter_modules(_kernels.__path__, f"{_kernels.__name__}.")
    for module in (beam, *(importlib.import_module(listed.name) for listed in kernels)):
        for name, loop in vars(module).items():
            if isinstance(loop, Compiled) and loop.__module__ == module.__name__:
                yield f"{module.__name__}.{name}", loop


def callees(loop: Compiled[Any]) -> Iterator[Compiled[Any]]:
    """The loop and all compiled loops below it. One that comes from the disk does not wake its helpers."""
    yield loop
    for name in loop.plain.__code__.co_names:
        helper = loop.plain.__globals__.get(name)
        if isinstance(helper, Compiled):
            yield from callees(helper)


def main() -> int:
    """The exit code."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw_reports()
        train_taggers()
        fit_regression()
        read_reports()
    listed = dict(loops())
    used = {helper for loop in listed.values() if loop.machine.signatures for helper in callees(loop)}
    missing = [name for name, loop in listed.items() if loop not in used]
    print(f"{len(listed) - len(missing)} of {len(listed)} loops compiled in {time.perf_counter() - begun:.0f} s")
    if missing:
        print(f"never used by tests/compile_loops.py: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
