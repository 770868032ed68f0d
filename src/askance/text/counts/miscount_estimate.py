"""How often people miscount, estimated from counts of the same words, and from counts of all tags, by EM.

Two things tell: stretches (same first and last token) that were counted more than once, and regions in which every tag
was looked for, whose counts must sum to the length: ΣR − L is extras less misses. Both are used at once (Dawid and
Skene's estimator, for counts). Each stretch has true counts N_b of all tags, latent, with

    P(N) = Π_b h_b(N_b) / Z_L   on   Σ_b N_b = L,

independent counts of any distributions h_b that happen to sum to the length (the multinomial distribution is one such),
and each report of N_b went through the channel of its annotator (`Miscounts`). Sums over N are convolutions over the
tags. The M-step has closed form for the rates, and for h is a sweep of iterative proportional fitting over the tags, so
that no step lowers the likelihood.

Standard errors come from the curvature of the profile likelihood (rates moved, h fitted anew). Its gradient is that of
the complete data in expectation (Fisher's identity): of m it is E(missed)/m − E(not missed)/(1 − m). The second
derivative is a difference of gradients. Few counts leave open whether one person misses or the other adds: then there
are two maxima, of which curvature knows one. So EM starts twice, and errors reach a maximum that is not rejected.

Words are not looked at. Regions that overlap in part are stretches of their own; ranges, labels, allowed tags and
weights (other than 0) are not used; neither are regions that nothing is known to compare with: open ones that share no
tag with another region of the same stretch.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import FloatArray, IntArray
from askance._checks import as_count
from askance.errors import ConvergenceWarning, InputError
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.miscount_errors import (
    EstimatedMiscounts,
    reach_other,
    standard_errors,
    warn_of_bound,
    warn_of_wide,
)
from askance.text.counts.miscounts import annotator_names, may_be_miscounted

# Where rates of misses and extras start, and what none falls below: a report that takes an error must stay possible.
_STARTS, _LEAST = ((0.05, 0.05), (0.15, 0.01)), 1e-12
# The second maximum is taken where its log-likelihood is higher by this much.
_BETTER = 0.5
# A tagger goes on with no less: what was never seen among few counts may still happen.
_LEAST_OF_A_TAGGER = 1e-3
# A tag appears at most so many times more often than it was ever counted.
_MORE = 2
# Stretches that are summed at a time.
_ROWS = 4096
_NOT_TOLD = -1
# Steps of h where rates stay as they are, at most; they end when the gradient settles, by a share of it or outright.
_SWEEPS, _SETTLED, _NOTHING = 25, 0.001, 1e-5


class _Reports(NamedTuple):
    """Stretches of one length."""

    length: int  # L
    # Counts of each report, `_NOT_TOLD` where it has none, shape (stretches, reports, tags).
    told: npt.NDArray[np.int16]
    who: IntArray  # code of its annotator, shape (stretches, reports)


def estimate_miscounts(
    regions: RegionCounts, *, max_iterations: int = 300, tolerance: float = 1e-6
) -> dict[str, EstimatedMiscounts]:
    """Rates of each annotator, by name, "" for regions without one (taken as one annotator), in alphabetical order.

    Annotators whose regions tell nothing are not in the result. Rates are 0 to 0.5; a tagger that estimates them
    itself takes no less than 0.001. Each comes with its standard error; where one is above 0.05 a warning says so, as
    one does where a rate ends at 0.5.

    Args:
        regions: counts, accepted with may_miscount=True.
        max_iterations: steps of EM; more are asked for by a warning where these are not enough.
        tolerance: rates that change by less in a step are final.

    Raises:
        InputError: no stretch was counted twice, and no region has all tags.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.counts.miscounts import Miscounts, simulate
    >>> from askance.text.corpus.region_sampling import sample_regions
    >>> rng = np.random.default_rng(0)
    >>> tags = [[str(tag) for tag in rng.choice(["D", "N", "V"], size=6)] for _ in range(500)]
    >>> truth = sample_regions(Corpus.of(tags, tags=tags), window=6, tags="all", rng=rng)
    >>> found = estimate_miscounts(simulate(truth, Miscounts(missed=0.1), rng))[""]
    >>> print(f"{found.missed:.2f} {found.extra:.2f}, standard error {found.missed_error:.3f}")
    0.10 0.00, standard error 0.005
    """
    as_count(max_iterations, "max_iterations", minimum=1)
    used = _informative(regions.with_positive_weight())
    names, batches = annotator_names(used), list(_batches(used))
    present = np.unique(used.annotator_codes % len(names)).astype(np.int64)
    best, other = (
        _highest(batches, np.tile(start, (len(names), 1)), present, max_iterations, tolerance) for start in _STARTS
    )
    if other.log_likelihood > best.log_likelihood + _BETTER:
        best, other = other, best
    if best.change >= tolerance:
        warnings.warn(
            f"rates of miscounts still changed by {best.change:.1e} after {max_iterations} steps; allow more, or "
            "collect more counts of the same words.",
            ConvergenceWarning,
            stacklevel=2,
        )
    rates, prior = best.rates, best.prior
    errors = standard_errors(lambda moved: _profile_gradient(batches, moved, prior), rates)
    errors = reach_other(errors, rates, other.rates, best.log_likelihood - other.log_likelihood)
    estimates = {
        names[code]: EstimatedMiscounts(*rates[code].tolist(), *errors[code].tolist()) for code in present.tolist()
    }
    warn_of_wide(estimates)
    warn_of_bound(estimates)
    return dict(sorted(estimates.items()))


# -- what is used ------------------------------------------------------------------------------------------------------


def estimate_above_zero(regions: RegionCounts) -> dict[str, EstimatedMiscounts]:
    """Rates as a tagger takes them, never below 0.001: a count that takes an error must stay possible."""
    least = _LEAST_OF_A_TAGGER
    estimates = estimate_miscounts(regions)
    return {
        name: replace(rates, missed=max(rates.missed, least), extra=max(rates.extra, least))
        for name, rates in estimates.items()
    }


def _stretches(regions: RegionCounts) -> IntArray:
    """The number of the stretch of every region, shape (R,)."""
    _, number = np.unique(regions.start * (regions.corpus.n_tokens + 1) + regions.end, return_inverse=True)
    return np.asarray(number.reshape(-1), dtype=np.int64)


def _informative(regions: RegionCounts) -> RegionCounts:
    """Closed regions, and those that share a count with another one of the same stretch."""
    counted = regions.take(may_be_miscounted(regions))
    stretch, kinds, of = _stretches(counted), len(counted.tagset), counted.entry_region
    exact = counted.low == counted.high
    cells = stretch[of] * kinds + counted.tag
    present, times = np.unique(cells[exact], return_counts=True)
    often = np.isin(cells, present[times > 1])
    # A closed region has a count of every tag, listed or not.
    whole = np.bincount(stretch, counted.closed, int(stretch.max(initial=-1)) + 1) > 0
    shared = np.bincount(of, exact & (often | whole[stretch[of]]), len(counted)) > 0
    used = counted.take(counted.closed | shared)
    if not len(used):
        raise InputError(
            f"none of the {len(regions)} regions tells how often people miscount; allowed: regions of which two or "
            "more count the same tag in the same stretch, or longer ones in which every tag was looked for.",
            remedy="Let some stretches be counted twice, by different people.",
        )
    return used


def _batches(used: RegionCounts) -> Iterator[_Reports]:
    """Reports by stretch, those of equal length and number of reports together."""
    kinds, of, exact = len(used.tagset), used.entry_region, used.low == used.high
    told = np.full((len(used), kinds + 1), _NOT_TOLD, dtype=np.int16)  # the last are all tags that nobody looked for
    told[used.closed, :kinds] = 0
    told[of, used.tag] = np.where(exact, used.low, _NOT_TOLD)
    asked = (told != _NOT_TOLD).any(axis=0)
    told = told[:, np.append(asked[:-1], not asked[:-1].all())]
    who = (used.annotator_codes % len(annotator_names(used))).astype(np.int64)
    stretch = _stretches(used)
    order = np.argsort(stretch, kind="stable")
    sizes = np.bincount(stretch)
    first = np.cumsum(sizes) - sizes
    lengths = used.lengths[order][first]
    for length, reports in np.unique(np.stack([lengths, sizes], axis=1), axis=0).tolist():
        chosen = np.flatnonzero((lengths == length) & (sizes == reports))
        for begin in range(0, len(chosen), _ROWS):
            rows = order[first[chosen[begin : begin + _ROWS], None] + np.arange(reports)]
            yield _Reports(length, told[rows], who[rows])


class _Maximum(NamedTuple):
    """Where EM ended: rates (annotators, 2), h, the log-likelihood, and by how much rates changed in the last step."""

    rates: FloatArray
    prior: _Prior
    log_likelihood: float
    change: float


def _highest(
    batches: list[_Reports], rates: FloatArray, present: IntArray, max_iterations: int, tolerance: float
) -> _Maximum:
    """The maximum of the likelihood that EM reaches from some rates."""
    prior, change, log_likelihood = _Prior(batches), np.inf, -np.inf
    for _ in range(max_iterations):
        sums = _expected(batches, rates, prior)
        improved = np.clip(sums.rates(), _LEAST, 0.5)
        prior.fit(sums.counts)
        change = float(np.abs(improved - rates)[present].max())
        rates, log_likelihood = improved, sums.log_likelihood
        if change < tolerance:
            break
    return _Maximum(rates, prior, log_likelihood, change)


# -- the two steps -----------------------------------------------------------------------------------------------------


class _Prior:
    """h, and how many stretches there are of each length."""

    def __init__(self, batches: list[_Reports]) -> None:
        self.longest = max(batch.length for batch in batches)
        self.stretches = np.zeros(self.longest + 1)
        tags = batches[0].told.shape[2]
        most, total, tokens = np.zeros(tags, dtype=int), np.zeros(tags), np.zeros(tags)
        for batch in batches:
            self.stretches[batch.length] += len(batch.told)
            most = np.maximum(most, batch.told.max(axis=(0, 1)))
            total += np.where(batch.told > 0, batch.told, 0).sum(axis=(0, 1))
            tokens += batch.length * (batch.told != _NOT_TOLD).sum(axis=(0, 1))
        rest = tokens == 0  # all tags that nobody looked for
        share = (total + 0.5) / (tokens + 1)
        share[rest] = max(1 - share[~rest].sum(), 0.1)
        most[rest] = self.longest
        self.h: list[FloatArray] = []
        for tag in range(tags):
            size = min(int(most[tag]) + _MORE, self.longest)
            steps = np.append(1.0, share[tag] * self.longest / np.arange(1, size + 1))
            self.h.append(np.cumprod(steps) / np.cumprod(steps).sum())

    def fit(self, counts: list[FloatArray]) -> None:
        """One sweep over the tags: each h_b such that N_b has the wanted Σ over stretches of P(N_b = n)."""
        size = self.longest + 1
        after = [np.append(1.0, np.zeros(size - 1))]
        for h in reversed(self.h[1:]):
            after.append(np.convolve(after[-1], h)[:size])
        before = after[0]
        for tag, later in enumerate(reversed(after)):
            others = np.convolve(before, later)[:size]
            h = self.h[tag]
            total = np.convolve(others, h)[:size]
            share = np.divide(self.stretches, total, out=np.zeros(size), where=(total > 0) & (self.stretches > 0))
            model = np.array([h[n] * (share[n:] @ others[: size - n]) for n in range(len(h))])
            h = np.divide(h * counts[tag], model, out=np.zeros(len(h)), where=model > 0)
            self.h[tag] = h / h.sum()
            before = np.convolve(before, self.h[tag])[:size]


def _expected(batches: list[_Reports], rates: FloatArray, prior: _Prior) -> _Sums:
    """The E-step over all stretches."""
    sums = _Sums(len(rates), prior)
    for batch in batches:
        sums.add(batch, rates, prior)
    return sums


def _profile_gradient(batches: list[_Reports], rates: FloatArray, prior: _Prior) -> FloatArray:
    """Gradient of ℓ(rates, h) by the rates at the h that is best for them, shape as rates; the prior stays."""
    fitted = copy.copy(prior)
    fitted.h = list(prior.h)
    gradient = np.zeros_like(rates)
    for _ in range(_SWEEPS):
        sums, before = _expected(batches, rates, fitted), gradient
        gradient = sums.gradient(rates)
        if np.abs((gradient - before) * rates).max() < _SETTLED * np.abs(gradient * rates).max() + _NOTHING:
            break
        fitted.fit(sums.counts)
    return gradient


class _Sums:
    """Expectations under the current rates and h, added up over stretches.

    Attributes:
        counts: Σ P(N_b = n | reports), for every tag.
        log_likelihood: Σ log P(reports).
    """

    def __init__(self, annotators: int, prior: _Prior) -> None:
        self.counts = [np.zeros(len(h)) for h in prior.h]
        self.log_likelihood = 0.0
        # By annotator: missed, could be missed, extra, places.
        self._totals = np.zeros((4, annotators))

    def rates(self) -> FloatArray:
        """m and q of each annotator, shape (annotators, 2)."""
        return np.stack([self._totals[0], self._totals[2]], axis=1) / np.maximum(self._totals[1::2].T, 1e-300)

    def gradient(self, rates: FloatArray) -> FloatArray:
        """Of the log-likelihood by the rates, h as it is: E(events)/rate − E(no events)/(1 − rate), shape as rates."""
        events, chances = np.stack([self._totals[0::2].T, self._totals[1::2].T])
        return np.asarray(events / rates - (chances - events) / (1 - rates))

    def add(self, batch: _Reports, rates: FloatArray, prior: _Prior) -> None:
        """The E-step, for stretches of one length."""
        rows, reports, tags = batch.told.shape
        size, most = batch.length + 1, max(len(h) for h in prior.h)
        likelihood, extras = _channel(rates, int(batch.told.max()) + 1, most)
        weights = []
        for tag in range(tags):
            weight = np.tile(prior.h[tag][:size], (rows, 1))
            for report in range(reports):
                weight *= likelihood[batch.who[:, report], batch.told[:, report, tag], : weight.shape[1]]
            weights.append(weight)
        start = np.zeros((rows, size))
        start[:, 0] = 1.0
        before = [start]
        for weight in weights[:-1]:
            before.append(_convolve(before[-1], weight))
        normaliser = _convolve(before[-1], weights[-1])[:, -1]
        possible = normaliser > 0
        self.log_likelihood += float(np.log(normaliser[possible]).sum())
        scale = np.divide(1.0, normaliser, out=np.zeros(rows), where=possible)[:, None]
        after = start
        for tag in range(tags - 1, -1, -1):
            others = _convolve(before[tag], after)
            n = np.arange(weights[tag].shape[1])
            posterior = weights[tag] * others[:, batch.length - n] * scale
            self.counts[tag][: len(n)] += posterior.sum(axis=0)
            for report in range(reports):
                self._add_report(posterior, batch.told[:, report, tag], batch.who[:, report], extras)
            after = _convolve(after, weights[tag])

    def _add_report(
        self, posterior: FloatArray, told: npt.NDArray[np.int16], who: IntArray, extras: FloatArray
    ) -> None:
        """What one report of a tag adds to the totals of its annotator, over stretches."""
        chosen = np.flatnonzero((told != _NOT_TOLD) & posterior.any(axis=1))
        if not len(chosen):
            return
        share, reported, by = posterior[chosen], told[chosen], who[chosen]
        true = share @ np.arange(share.shape[1])
        extra = np.einsum("sn,sn->s", share, extras[by, reported, : share.shape[1]])
        for row, expected in enumerate((true - reported + extra, true, extra, np.ones(len(chosen)))):
            self._totals[row] += np.bincount(by, expected, self._totals.shape[1])


def _channel(rates: FloatArray, most_told: int, most_true: int) -> tuple[FloatArray, FloatArray]:
    """P(R | N) and P(one of R is an extra | R, N), by annotator, R and N below these; R = −1, the last, is none."""
    reported, true = np.arange(most_told + 1)[:, None], np.arange(most_true)[None, :]
    pascal = np.zeros((most_true, most_told + 1))
    pascal[:, 0] = 1.0
    for n in range(1, most_true):
        pascal[n, 1:] = pascal[n - 1, 1:] + pascal[n - 1, :-1]
    missed, extra = rates[:, 0, None, None], rates[:, 1, None, None]
    seen = pascal.T * (1 - missed) ** reported * missed ** np.maximum(true - reported, 0)
    with_extra = np.zeros_like(seen)
    with_extra[:, 1:] = extra * seen[:, :-1]
    likelihood = (1 - extra) * seen + with_extra
    extras = np.divide(with_extra, likelihood, out=np.zeros_like(seen), where=likelihood > 0)
    likelihood[:, -1], extras[:, -1] = 1.0, 0.0
    return likelihood, extras


def _convolve(left: FloatArray, right: FloatArray) -> FloatArray:
    """Products of polynomials, row by row, cut to the size of the longer; shape (rows, size)."""
    long, short = (left, right) if left.shape[1] >= right.shape[1] else (right, left)
    size, total = long.shape[1], np.zeros_like(long)
    for n in range(short.shape[1]):
        if short[:, n].any():
            total[:, n:] += long[:, : size - n] * short[:, n, None]
    return total
