"""Optimal tables of a random field against its own tables drawn uniformly: equal people, equal level, less error."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import numpy as np

from acceptance.check import Figure, check
from askance import CliqueRelease, RandomField, estimate_field
from askance._arrays import FloatArray, IntArray
from askance.design import optimal_cliques

PAIRS = list(combinations(range(6), 2))
PEOPLE = 1_000_000
LEVEL = 1
# At least 15 % less mean squared error of the pair tables.
GOAL = 0.85
FIELDS = {"six binary attributes": [2] * 6, "attributes of 2, 3, 2, 2, 4 and 2 values": [2, 3, 2, 2, 4, 2]}
TRUTHS = 3
# A search for every pilot takes long: one survey of so many has one.
PILOT_EVERY = 4


def _error(field: RandomField, channel: CliqueRelease, records: IntArray, truth: FloatArray, seed: int) -> float:
    """Mean squared error of all cells of all pair tables, fitted by the likelihood of the reports."""
    reports = channel.simulate(records, np.random.default_rng(seed))
    fit = estimate_field(field, reports, "marginal", covariance=False)
    return float(np.mean((fit.statistics - truth) ** 2))


@check("optimal-tables")
def optimal_tables(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Six attributes, all pairs, level 1, n = 1,000,000: ratio of mean squared errors, optimal over uniform."""
    each = max(10, simulations // 10)
    for name, sizes in FIELDS.items():
        field = RandomField(sizes, PAIRS)
        uniform = CliqueRelease(sizes, PAIRS, LEVEL, clique_probabilities=[Fraction(1, len(PAIRS))] * len(PAIRS))
        blind = optimal_cliques(field, LEVEL)
        found: dict[str, list[float]] = {"uniform": [], "no guess": [], "a pilot": [], "the truth": []}
        predicted = []
        for _ in range(TRUTHS):
            theta = 0.7 * rng.normal(size=field.dimension)
            truth = field.mean_statistics(theta)
            known = optimal_cliques(field, LEVEL, theta)
            predicted.append(known.value / known.uniform)
            for number in range(each):
                records = field.sample(theta, PEOPLE, rng)
                seed = int(rng.integers(2**31))
                found["uniform"].append(_error(field, uniform, records, truth, seed))
                found["no guess"].append(_error(field, blind.channel, records, truth, seed))
                found["the truth"].append(_error(field, known.channel, records, truth, seed))
                if number % PILOT_EVERY:
                    continue
                pilot = uniform.simulate(records[: PEOPLE // 10], rng)
                guess = estimate_field(field, pilot, covariance=False).theta
                planned = optimal_cliques(field, LEVEL, guess).channel
                # The pilot's reports are not used again: what is left is a lower bound of the gain.
                found["a pilot"].append(_error(field, planned, records[PEOPLE // 10 :], truth, seed))
        base = np.array(found.pop("uniform"))
        for guess_from, errors in found.items():
            ratio = float(np.mean(errors) / base.mean())
            relative = [
                float(np.std(each_one) / np.mean(each_one)) / len(each_one) ** 0.5 for each_one in (errors, base)
            ]
            note = f"± {ratio * float(np.hypot(*relative)):.3f}; {len(errors)} surveys of {TRUTHS} fields"
            note += f"; predicted {np.mean(predicted):.3f}" if guess_from == "the truth" else ""
            high = GOAL if guess_from == "the truth" else 1.0
            yield Figure("optimal-tables", f"{name}, planned for {guess_from}", ratio, 0.0, high, note)
