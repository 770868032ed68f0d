"""Whether the time of `randomize_one` tells two truths apart, for every channel.

Truths are noised in random order and every call is timed. The value is the AUC: how often a call for one truth takes
longer than a call for the other (½: nothing is told). Two of them are taken, and the larger one counts:

- of the times alone;
- of the times of calls that sent the same report, the likelier truth of each report first. What is done when the truth
  is told may take another time than what is done when an answer is drawn at random: then the times alone look alike for
  all truths, and a report with its time gives the truth away.

The largest value over the examples of a channel and over pairs of truths is reported. With 10,000 calls of each truth
an AUC has a standard error of .004, so that the largest of some ten is about .507 where nothing is told. A busy machine
adds noise, which hides: figures are those of an idle one.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Reading, Side, Subject, Target, no_warm_up

_CALLS = 10_000
# CPU seconds for one pair of truths: of slow channels fewer calls are made.
_SECONDS = 2.0
# Reports with fewer calls of either truth are left aside.
_FEWEST = 200

KINDS = (
    "ball-release",
    "clique-release",
    "coarsened",
    "complementary-labels",
    "coordinate-release",
    "crosswise",
    "direct",
    "disguised-response",
    "forced-response",
    "hybrid",
    "hypercube",
    "kuk",
    "mangat",
    "matrix",
    "noisy-labels",
    "per-value",
    "quadratic-release",
    "randomized-response",
    "subset-selection",
    "triangular",
    "triple-release",
    "unrelated-question",
    "warner",
)


def area(first: Sequence[float], second: Sequence[float]) -> float:
    """The share of pairs in which the second is larger, ties counted half.

    >>> area([1, 2], [2, 3])
    0.875
    """
    import numpy as np

    values = np.concatenate([first, second])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    above = ranks[len(first) :].sum() - len(second) * (len(second) + 1) / 2
    return float(above / (len(first) * len(second)))


def timed_calls(channel: Any, truths: Sequence[Any], calls: int) -> list[dict[str, list[int]]]:
    """Nanoseconds of calls for each of two truths, by report."""
    order = [code for code in (0, 1) for _ in range(calls)]
    random.Random(calls).shuffle(order)
    found: list[dict[str, list[int]]] = [{}, {}]
    now, randomize_one = time.perf_counter_ns, channel.randomize_one
    for code in order:
        truth = truths[code]
        start = now()
        report = randomize_one(truth)
        taken = now() - start
        found[code].setdefault(json.dumps(report, sort_keys=True), []).append(taken)
    return found


def areas(channel: Any, truths: Sequence[Any], calls: int) -> tuple[float, float]:
    """The AUC of times, and of times given the report (½ where no report comes often enough)."""
    first, second = timed_calls(channel, truths, calls)
    alone = area(*([taken for times in each.values() for taken in times] for each in (first, second)))
    weights, given = [0.0], [0.5]
    for report in set(first) & set(second):
        likelier, other = sorted((first[report], second[report]), key=len)[::-1]
        if len(other) >= _FEWEST:
            weights.append(len(likelier) * len(other))
            given.append(area(likelier, other))
    total = sum(weights)
    mean = sum(weight * value for weight, value in zip(weights, given, strict=True)) / total if total else 0.5
    return max(alone, 1 - alone), max(mean, 1 - mean)


def extreme_truths(channel: Any) -> list[Any]:
    """The first, the last and one in the middle; of numbers, those that are hardest to tell apart, and between them."""
    labels = getattr(channel, "outputs", None)
    if labels is not None:
        known = list(labels.labels)
        return list(dict.fromkeys([known[0], known[-1], known[len(known) // 2]]))
    first, second = (row[0].tolist() for row in channel.worst_pair())
    between = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    truths = [first, second, between]
    try:
        channel.randomize_one(between)
    except ValueError:  # statistics that are 0 or 1, or listed
        truths.pop()
    return truths


def largest_area(kind: str) -> tuple[float, float]:
    """The largest AUC over examples and pairs of truths: of times, and given the report."""
    from askance.channels import entries

    entry = next(each for each in entries(None) if each.kind == kind)
    largest = [0.5, 0.5]
    for example in entry.examples:
        channel = entry.build(example)
        for pair in combinations(extreme_truths(channel), 2):
            areas(channel, pair, 100)  # warm
            start = time.process_time()
            areas(channel, pair, 100)
            calls = min(_CALLS, int(100 * _SECONDS / (time.process_time() - start)))
            largest = list(map(max, largest, areas(channel, pair, calls)))
    return largest[0], largest[1]


def askance(case: Case, n: int) -> Reading:
    """The larger one."""
    return Reading(lambda: max(largest_area(str(case["channel"]))), warm_up=no_warm_up)


COMPARISON = Comparison(
    name="device-time",
    question="How well does the time of one call of randomize_one tell truths apart? (AUC; .5 is not at all)",
    subject=Subject.NOISING,
    unit="AUC",
    cases=tuple({"channel": kind} for kind in KINDS),
    ours=Side("askance", askance),
    target=Target(0.52, at_least=False),
    better="less",
)

if __name__ == "__main__":
    for name in KINDS:
        print(f"{name:24}", *(f"{value:.3f}" for value in largest_area(name)), flush=True)
