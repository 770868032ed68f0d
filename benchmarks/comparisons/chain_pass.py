"""One evaluation of a chain's likelihood, value and gradient, from counts and from labels: CPU seconds.

CoNLL-2000, every tag counted in one region of each sentence, beside all tokens of all sentences with their labels. The
ratio says how many times longer counts take; wanted: at most 2 for regions of ten tokens, the longest summed exactly.
Longer ones are summed over lattices of likely tags, chosen before the clock starts. Each is evaluated where it has been
trained. Needs ASKANCE_DATA.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import Any

from benchmarks.comparisons.tagger_node import CONLL, L2, askance_labels
from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject

# Wanted CPU seconds of a reading.
_SECONDS = 1.0


def _trained(regions: Any) -> Reading:
    """Seconds of one evaluation where the regions have led."""
    from askance.text import CountTagger
    from askance.text.chain.training import ChainOptions, ChainTask

    tagger = CountTagger("chain").fit(regions)
    chain = tagger.chain
    assert chain is not None
    task = ChainTask(regions, chain.features, ChainOptions(L2, 0.0, tagger.context, tagger.budget, 1, 0.0, None))
    task.prepare(chain.parameters)
    potentials = chain.potentials(regions.corpus)

    def read() -> float:
        start, calls = time.process_time(), 0
        while time.process_time() - start < _SECONDS:
            task.objective(replace(potentials))  # a copy: what the last evaluation has worked out is not kept
            calls += 1
        return (time.process_time() - start) / calls

    return Reading(read)


def counts(case: Case, n: int) -> Reading:
    """Counts of every tag."""
    import numpy as np

    from askance.text import sample_regions

    window = None if case["window"] == "sentence" else int(case["window"])
    corpus = askance_labels().corpus
    return _trained(sample_regions(corpus, window=window, tags="all", rng=np.random.default_rng(0)))


@cache
def _labelled() -> Reading:
    return _trained(askance_labels())


def labels(case: Case, n: int) -> Reading:
    """All labels, the same for every case."""
    return _labelled()


COMPARISON = Comparison(
    name="chain-pass",
    question=(
        "One evaluation of a chain's likelihood: is it as fast for counts as for labels? (Wanted for windows "
        "of ten: at least half as fast.)"
    ),
    subject=Subject.TAGGING,
    unit="s",
    cases=tuple({"window": window} for window in (5, 10, 20, "sentence")),
    ours=Side("counts", counts),
    peers=(Side("all labels", labels),),
    better="less",
    data=CONLL,
)
