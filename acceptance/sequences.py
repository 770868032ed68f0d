"""Surveys looked at 60 times while answers come in: how often is the truth missed at any look, and at what width?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from acceptance.check import Figure, survey_check
from acceptance.surveys import simulated
from askance import (
    Direct,
    Enumerated,
    ForcedResponse,
    MatrixChannel,
    RandomizedResponse,
    Responses,
    Softmax,
    Tally,
    coefficient_sequence,
    estimate,
    share_sequence,
)
from askance._arrays import FloatArray, IntArray
from askance.channels import FiniteChannel
from askance.estimation.sequences.bets import BoundedValues
from askance.estimation.sequences.bounded_values import values_of
from askance.estimation.sequences.stakes import Stakes
from askance.evidence.chunks import Chunk
from askance.scale.shipping import Sender

#: Every survey is looked at after so many more reports, until all planned ones are there.
EVERY, PLANNED = 100, 6_000
_STAKES = Stakes(PLANNED, first=EVERY)
# Where widths are compared with those of a fixed n.
_COMPARED = (100, 1_000, 6_000)
# In how many of the surveys: estimates take longer than bets.
_COMPARED_SHARE = 0.1
_FORCED = ForcedResponse("2/3", "1/6")
_CONFUSED = MatrixChannel([["4/5", "1/10", "1/10"], ["3/20", "4/5", "1/5"], ["1/20", "1/10", "7/10"]])

#: Designs and true shares.
SHARES: dict[str, tuple[FiniteChannel, FloatArray]] = {
    "forced response, 20 %": (_FORCED, np.array([0.8, 0.2])),
    "forced response, 1 %": (_FORCED, np.array([0.99, 0.01])),
    "direct, 1 %": (Direct(["no", "yes"]), np.array([0.99, 0.01])),
    "four answers": (RandomizedResponse("1/2", outputs=4), np.array([0.6, 0.3, 0.08, 0.02])),
    "a table of three answers": (_CONFUSED, np.array([0.7, 0.28, 0.02])),
}


def missed_by(values: BoundedValues, share: float) -> bool:
    """Whether bets against the truth have won at any look, so that the interval of that look misses."""
    excess = values.excess(share, _STAKES), values.mirrored().excess(1 - share, _STAKES)
    return bool(np.max(excess) > 0)


def survey_of_shares(case: str, rng: np.random.Generator) -> dict[str, float]:
    """One survey: whether any interval ever misses; of some, how wide intervals are against those of a fixed n."""
    channel, shares = SHARES[case]
    counts = rng.multinomial(EVERY, channel.apply(shares), size=PLANNED // EVERY).cumsum(axis=0)  # (looks, k)
    told = {
        f"missed, {label}": missed_by(replace(own, counts=counts.T.astype(np.float64)), share)
        for (label, own), share in zip(values_of(Tally(channel), None), shares.tolist(), strict=True)
    }
    return told | (_widths(channel, counts) if rng.random() < _COMPARED_SHARE else {})


def _widths(channel: FiniteChannel, counts: IntArray) -> dict[str, float]:
    """How wide the widest interval is against that of a fixed n, by n."""
    model, found = Enumerated.saturated(channel.outputs), {}
    for n in _COMPARED:
        tally = Tally(channel, counts[n // EVERY - 1])
        at, fixed = share_sequence(tally, PLANNED, first=EVERY), estimate(model, tally).probabilities()
        found[f"width, n = {n}"] = float(((at.upper - at.lower) / (fixed.upper - fixed.lower)).max())
    return found


#: Kinds of people: how many there are, their sampling weights, 1 on average, and their true shares.
_PEOPLE, _WEIGHTS, _OWN = np.array([0.5, 0.3, 0.2]), np.array([0.6, 1.0, 2.0]), np.array([0.1, 0.2, 0.4])


def survey_with_weights(rng: np.random.Generator) -> dict[str, float]:
    """One survey of people with other weights and other shares: the share of all of them, weighted."""
    law = (_FORCED.matrix @ np.array([1 - _OWN, _OWN]) * _PEOPLE).ravel()
    share = float(_PEOPLE * _WEIGHTS @ _OWN / (_PEOPLE @ _WEIGHTS))
    counts = rng.multinomial(EVERY, law, size=PLANNED // EVERY).cumsum(axis=0).T.astype(np.float64)
    rows = Chunk(np.ones((6, 1)), np.repeat([0, 1], 3), weights=np.tile(_WEIGHTS, 2))  # answers, then kinds of people
    own = dict(values_of(Responses(_FORCED, (rows,)), 2.0))["yes"]
    return {"missed, yes": missed_by(replace(own, counts=counts), share)}


@survey_check("share-sequences")
def share_sequences(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """Shares are missed at any of 60 looks in at most 5 % of 2,000 surveys; intervals are at most 1.8 times as wide."""
    surveys = min(simulations, 2_000)
    cases = {case: partial(survey_of_shares, case) for case in SHARES} | {"sampling weights": survey_with_weights}
    for (case, survey), own in zip(cases.items(), rng.spawn(len(cases)), strict=True):
        yield from _figures("share-sequences", case, simulated(engine, survey, surveys, own), 1.8)


# Ten kinds of respondents: five ages, two sexes.
_CELLS = np.array([[1.0, age, sex] for age in (-2.0, -1.0, 0.0, 1.0, 2.0) for sex in (0.0, 1.0)])
_TERMS = ["Intercept", "age", "female"]
#: Designs and effects.
REGRESSIONS: dict[str, tuple[FiniteChannel, FloatArray]] = {
    "forced response, 20 %": (_FORCED, np.array([-1.4, 0.3, -0.5])),
    "forced response, 4 %": (_FORCED, np.array([-3.2, 0.3, -0.5])),
}


def survey_of_effects(case: str, rng: np.random.Generator) -> dict[str, float]:
    """One survey: whether any interval that is shown ever misses, and the first look that shows all."""
    channel, theta = REGRESSIONS[case]
    model, people = Softmax(channel.outputs, _TERMS), np.full(len(_CELLS), 1 / len(_CELLS))
    laws = np.array([channel.apply(p) for p in model.probabilities(theta, _CELLS)])
    counts, missed, told = np.zeros(laws.shape), np.zeros(len(theta), dtype=bool), dict[str, float]()
    for n in range(EVERY, PLANNED + 1, EVERY):
        counts += [rng.multinomial(size, law) for size, law in zip(rng.multinomial(EVERY, people), laws, strict=True)]
        cell, code = np.nonzero(counts)
        fit = estimate(model, Responses(channel, (Chunk(_CELLS[cell], code, counts[cell, code]),)))
        at = coefficient_sequence(fit, PLANNED, first=EVERY)
        missed |= (theta < at.lower) | (at.upper < theta)  # what is not shown misses nothing
        if not np.isnan(at.lower).any():
            told.setdefault("shown from", n)
            if n in _COMPARED:
                fixed = fit.confidence_interval()
                told[f"width, n = {n}"] = float(((at.upper - at.lower) / (fixed.upper - fixed.lower)).max())
    return told | {f"missed, {term}": miss for term, miss in zip(_TERMS, missed.tolist(), strict=True)}


@survey_check("coefficient-sequences")
def coefficient_sequences(rng: np.random.Generator, simulations: int, engine: Sender) -> Iterator[Figure]:
    """Coefficients are missed at any of 60 looks in at most 5 % of 2,000 surveys, at most 2 times as wide."""
    surveys = min(simulations, 2_000)
    for case, own in zip(REGRESSIONS, rng.spawn(len(REGRESSIONS)), strict=True):
        found = simulated(engine, partial(survey_of_effects, case), surveys, own)
        shown = found.pop("shown from", np.zeros(0))
        yield from _figures("coefficient-sequences", case, found, 2.0)
        share, middle = len(shown) / surveys, float(np.median(shown)) if len(shown) else np.inf
        note = f"where they are; by the median of those from n = {middle:g} on"
        yield Figure("coefficient-sequences", f"{case}, all are shown in the end", share, 0.0, 1.0, note)


def _figures(check: str, case: str, found: dict[str, FloatArray], widest: float) -> Iterator[Figure]:
    for name, values in sorted(found.items()):
        high, note = (0.05, "at any look") if name.startswith("missed") else (widest, "against a fixed n, on average")
        yield Figure(check, f"{case}, {name}", float(values.mean()), 0.0, high, f"{note}, {len(values)} surveys")
