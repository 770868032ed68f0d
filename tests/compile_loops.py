"""Compiles the loops of `askance._kernels` once: `python -m tests.compile_loops`, before tests run side by side.

Each process of the tests would compile its own otherwise. Numba keeps the result on disk. Every channel draws, sums and
weighs as many reports as it takes for compiled loops to be used; taggers of all kinds learn from a few sentences, and
one regression has many rows. A loop that none of this compiles is an error: loops are listed from the code.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any, get_args

import numpy as np

from askance import RandomizedResponse, Responses, Softmax, _kernels, estimate
from askance._kernels.compiler import COMPILED_PAYS_FROM
from askance.channels.statistics import HasReportLikelihood
from askance.estimation.problems.conditional import COMPILED_FROM
from askance.text import CountTagger, RegionCounts
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


def loops() -> Iterator[tuple[str, Any]]:
    """Every loop that is called, and where it is; modules of helpers have no `compiled`."""
    for found in pkgutil.iter_modules(_kernels.__path__, f"{_kernels.__name__}."):
        module = importlib.import_module(found.name)
        for name, make in vars(module).items():
            if hasattr(module, "compiled") and name.startswith("compiled"):
                made = make()
                for loop in made if isinstance(made, tuple) else (made,):
                    yield f"{found.name}.{loop.__name__}", loop


def main() -> int:
    """The exit code."""
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw_reports()
        train_taggers()
        fit_regression()
    listed = dict(loops())
    missing = [name for name, loop in listed.items() if not loop.signatures]
    print(f"{len(listed) - len(missing)} of {len(listed)} loops compiled in {time.perf_counter() - begun:.0f} s")
    if missing:
        print(f"never used by tests/compile_loops.py: {', '.join(missing)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
