"""Training from counts beside training from labels: CPU time of our own fits on CoNLL-2000, one region per sentence.

The first row of a case is the fit to all labelled tokens; the ratio of another row says how much longer it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.comparisons.tagger_node import CONLL, L2, askance_labels
from benchmarks.harness.comparison import Case, Comparison, Side, Sizes, Subject, Throughput


def _labelled(case: Case, n: int) -> Throughput:
    from askance.text import CountTagger

    labels = askance_labels()
    return Throughput(lambda: CountTagger("moments", l2=L2).fit(labels))


def _regions(case: Case) -> Any:
    import numpy as np

    from askance.text import sample_regions

    window = None if case["window"] == "sentence" else int(case["window"])
    return sample_regions(askance_labels().corpus, window=window, tags="all", rng=np.random.default_rng(0))


def _counted(method: str) -> Callable[[Case, int], Throughput]:
    def build(case: Case, n: int) -> Throughput:
        from askance.text import CountTagger

        regions = _regions(case)
        return Throughput(lambda: CountTagger(method, l2=L2).fit(regions))  # type: ignore[arg-type]

    return build


def _pass(case: Case, n: int) -> Throughput:
    """One exact pass: log-likelihood and expected counts of all regions."""
    from askance.text import CountLikelihood, CountTagger
    from askance.text.node.model import log_probabilities

    regions = _regions(case)
    tagger = CountTagger("moments", l2=L2).fit(regions)
    log_p = log_probabilities(tagger.token_features.matrix(regions.corpus.words), tagger.theta)
    # Whole sentences have too many states to be summed over one by one.
    likelihood = CountLikelihood(regions, method="sinkhorn" if case["window"] == "sentence" else "exact")
    return Throughput(lambda: likelihood(log_p))


COMPARISON = Comparison(
    name="tagger-counts",
    question="How much faster than our fits to counts is our fit to all labels?",
    subject=Subject.TAGGING,
    unit="fits/s",
    cases=tuple({"window": window} for window in (5, 10, 20, "sentence")),
    ours=Side("all labels", _labelled),
    peers=(
        Side("moments", _counted("moments")),
        Side("node, likelihood of counts", _counted("node")),
        Side("one exact pass (sentence: tilted)", _pass),
    ),
    sizes=Sizes(1, 1),
    data=CONLL,
)
