"""The likelihood of counts: how probable they are under a model of single tokens, and what the tags then were."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._checks import one_of
from askance._cores import processors
from askance._former import warn_former
from askance._kernels import region_collect, region_independent, region_sweep, region_tilt, region_tilted
from askance._kernels.region_layout import FLOOR
from askance.errors import InputError, ShapeError
from askance.evidence.exact_sums import rounded
from askance.text.corpus.corpus import places_of
from askance.text.corpus.region_groups import dp_cost, in_blocks, is_settled, lay_out
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.miscounts import MiscountsBy, MiscountTotals, miscount_rates, miscount_totals

Method = Literal["auto", "exact", "sinkhorn"]
# Names of earlier versions, for sums that were neither quicker nor closer.
_FORMER_METHODS = ("pruned", "beam")

#: By default regions with more states × tags than this are not summed exactly; ten tokens with one
#: count for every tag always are, unless people miscount: what was missed takes three times as many states.
DEFAULT_BUDGET = 20_000
#: Regions with more states × tags than this are never summed exactly: the sums would not fit into memory.
LARGEST_COST = 2**28
# Regions summed side by side, and how many states they may have together before they leave the fast caches.
_MOST_LANES, _MOST_CELLS = 32, 1 << 19
# Below so many states × tags (of all regions together), and tokens to be collected, a second thread does not pay.
_THREADS_PAY_FROM, _COLLECTING_PAYS_FROM = 1e7, 100_000
# What tilting a token of a region costs, in states × tags of an exact sum and per tag.
_COST_OF_TILTING = 60


class CountLikelihood:
    """Σ over regions of weight · log Σ over tag sequences with its counts of Π_i p(b_i | word i), and expected counts.

    Called with log p(b | a), shape (types, tags), it returns that log-likelihood and C, the expected number of times
    each type has each tag given the counts: C is the gradient with respect to log p, so that a softmax model
    p = softmax(s) has the gradient C_a − n_a p_a with respect to s_a, n_a being the times that regions cover the type
    (`RegionCounts.token_counts`).

    Methods:

    - ``exact``: dynamic programming over the numbers of tags used so far; ∏ (N_b + 1) states.
    - ``sinkhorn``: an upper bound instead of the log-likelihood: token distributions are tilted until their expected
      counts are right, and C are those. Cheap for regions of any length.
    - ``auto``: exact where states × tags do not exceed the budget, else sinkhorn.

    Tags that were not looked for count as one, whose share is split in proportion to p. Where tokens are independent
    given the counts (labels, allowed tags, counts that exclude nothing) all methods are exact, and labels cost next to
    nothing. Probabilities below 1e-30 are taken as 1e-30, so that no region is impossible. Tilting starts from where
    the last call ended, so equal calls agree to the tolerance. The number of threads changes no bit of the results.

    Where people miscount (`miscounts`), the sum is over tag sequences and errors, each with its probability: the
    log-likelihood of the counts that were reported. Ranges are treated more simply, and many errors at once left out,
    as `lay_out` says. `expected_miscounts` then tells what was probably missed or counted too often.

    Attributes:
        exact: whether a region's sum is exact, shape (R,); False for regions of weight 0, which are left out.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["the", "dog"]])
    >>> likelihood = CountLikelihood(RegionCounts.of(corpus, "DN", [Region(0, 0, 2, {"D": 1, "N": 1})]))
    >>> value, counts = likelihood(np.log([[0.9, 0.1], [0.2, 0.8]]))
    >>> print(f"{np.exp(value):.2f}", counts.round(3).tolist())  # 0.9 · 0.8 + 0.1 · 0.2
    0.74 [[0.973, 0.027], [0.027, 0.973]]
    """

    def __init__(
        self,
        regions: RegionCounts,
        *,
        method: Method = "auto",
        miscounts: MiscountsBy | None = None,
        budget: float = DEFAULT_BUDGET,
        threads: int | None = None,
        tolerance: float = 1e-4,
        labels_apart: bool = True,
    ) -> None:
        """Prepare all that does not depend on p.

        Args:
            regions: the counts.
            method: as above.
            miscounts: how often people miscount, for all or by annotator ("" for regions without one; an annotator
                without an entry does not miscount); None: never.
            budget: states × tags up to which ``auto`` sums exactly.
            threads: at most this many; default: one per processor that this process may use.
            tolerance: by how much expected counts of tilted distributions may be off.
            labels_apart: labels are added up once; False: they are summed with all else, as `sums` does.
        """
        self.method = one_of(current_method(method), get_args(Method), "method", "Choose one.")
        self.budget, self.tolerance = float(budget), tolerance
        self.threads = threads or processors()
        self.shape = len(regions.corpus.words), len(regions.tagset)
        self._regions = regions.with_positive_weight()
        self._weighted = regions.weight is not None
        missed, extra, self._has_channel = miscount_rates(self._regions, miscounts)
        self._layout = lay_out(self._regions, missed, extra)
        # A label has the probability p; what a channel makes of one group has not.
        self._as_reported = (missed == 0) & (extra == 0)
        self._constant = float(self._regions.weights @ self._layout.shift)
        self._groups = np.diff(self._layout.offsets)
        self._cost = dp_cost(self._layout)
        self._choose_methods(labels_apart)
        self.exact: npt.NDArray[np.bool_] = np.zeros(len(regions), dtype=bool)
        self.exact[regions.weights > 0] = self._summed_exactly
        self._collect_labels()
        self._members, self._ends = in_blocks(self._layout, self._treatments["exact"], _MOST_CELLS, _MOST_LANES)
        self._parts = self.threads if self._layout.length[self._unlabelled].sum() > _COLLECTING_PAYS_FROM else 1
        self._forget()

    def _forget(self) -> None:
        """Begin as if it had never been called."""
        self._posterior = np.zeros(int((self._groups * self._layout.length).sum()))
        labels = self._treatments["label"][self._has_channel[self._treatments["label"]]]
        self._posterior[places_of(self._layout.place[labels], self._layout.length[labels])] = 1.0
        self._value = np.zeros(len(self._regions))
        self._called = False
        self._tilts = np.full(len(self._layout.tag), np.nan)
        self._counts = np.zeros(self.shape)
        self._probabilities: dict[Any, AnyArray] = {}

    def __getstate__(self) -> dict[str, Any]:
        """What does not depend on p: whoever gets it begins anew, so that results do not depend on earlier calls."""
        worked_out = ("_posterior", "_value", "_called", "_tilts", "_counts", "_probabilities")
        return {name: value for name, value in vars(self).items() if name not in worked_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def _choose_methods(self, labels_apart: bool) -> None:
        """What is done with each region; all that follows from it is worked out once."""
        settled = is_settled(self._layout)
        labels = settled & (self._groups == 1) & self._as_reported & labels_apart
        labels[labels] = self._layout.tag[self._layout.offsets[:-1][labels]] >= 0
        affordable = self._cost <= min(self.budget, LARGEST_COST)
        summed = ~settled & (affordable if self.method == "auto" else np.full(len(settled), self.method == "exact"))
        self._treatments = {
            "label": np.flatnonzero(labels),
            "independent": np.flatnonzero(settled & ~labels),
            "exact": np.flatnonzero(summed),
            "sinkhorn": np.flatnonzero(~settled & ~summed),
        }
        self._summed_exactly = settled | summed
        self._unlabelled = np.flatnonzero(~labels)
        large = np.flatnonzero(summed & (self._cost > LARGEST_COST))
        if len(large):
            r = int(large[0])
            raise InputError(
                f"region {r} of {self._layout.length[r]} tokens has about {self._cost[r]:.0e} states × tags; allowed "
                f"for method exact: {LARGEST_COST:.0e}.",
                remedy="Use method auto or sinkhorn, or shorter regions.",
            )

    def _collect_labels(self) -> None:
        """Tokens whose tag is known, added up by type and tag: nothing is left to be done for them."""
        tokens, lengths = self._layout.tokens, self._layout.length
        regions = self._treatments["label"]
        tags = np.repeat(self._layout.tag[self._layout.offsets[regions]], lengths[regions])
        where = tokens[places_of(self._layout.start[regions], lengths[regions])].astype(np.int64) * self.shape[1] + tags
        self._label_cells, counts = np.unique(where, return_counts=True)
        if self._weighted:
            weights = np.repeat(self._regions.weights[regions], lengths[regions])
            counts = np.bincount(np.searchsorted(self._label_cells, where), weights, len(counts))
        self._label_counts = counts.astype(np.float64)

    def __call__(self, log_p: npt.ArrayLike) -> tuple[float, AnyArray]:
        """The log-likelihood, and expected counts in the precision of log p.

        Args:
            log_p: shape (types, tags), 32 or 64 bits.
        """
        table = np.asarray(log_p)
        table = table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)
        if table.shape != self.shape:
            raise ShapeError(
                f"log p has the shape {table.shape}; allowed: {self.shape} (types, tags).",
                remedy="Use the types and the tag set of the regions' corpus.",
            )
        self._called = True
        p = self._probabilities.setdefault(table.dtype, np.empty(self.shape, dtype=table.dtype))
        np.exp(table, out=p)
        values, collected = self.sums(p)
        counts = collected.astype(table.dtype)
        counts.reshape(-1)[self._label_cells] += self._label_counts.astype(table.dtype)
        labels = np.maximum(table.reshape(-1)[self._label_cells], np.log(FLOOR)).astype(np.float64) @ self._label_counts
        regions = self._regions.weights @ values if self._weighted else values.sum()
        return float(regions + labels + self._constant), counts

    def sums(self, p: AnyArray, grid: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Log-likelihoods of the regions that are no labels set apart, without constants, and their expected counts.

        Both may be overwritten by the next call.

        Args:
            p: p(b | a), shape (types, tags).
            grid: what posteriors are rounded by before they are added up (`askance.evidence.exact_sums`); 0: not.
        """
        self._normalise(p)
        self._sum_exactly(p)
        self._approximate(p, self._treatments["sinkhorn"])
        weights, chosen = self._regions.weights, self._unlabelled
        self._run(
            region_collect.collect,
            [
                (self._layout, p, self._posterior, weights, chosen, part, self._parts, grid, self._counts)
                for part in range(self._parts)
            ],
        )
        return self._value, self._counts

    @property
    def sizes(self) -> tuple[int, int]:
        """How many regions there are, and how many of them are summed exactly."""
        return len(self.exact), int(self.exact.sum())

    def rounded_sums(self, p: AnyArray, grid: float, value_grid: float) -> tuple[float, FloatArray]:
        """As a call of p, with numbers rounded so that sums over parts of the regions are exact in every order."""
        values, counts = self.sums(p, grid)
        return float(rounded(self._regions.weights * (values + self._layout.shift), value_grid).sum()), counts

    def expected_miscounts(self) -> dict[str, MiscountTotals]:
        """What each annotator with a channel is expected to have miscounted, at the p of the last call, by weight.

        "" are regions without an annotator. Where sums are not exact these are expectations of the approximation.

        >>> from askance.text.corpus.corpus import Corpus
        >>> from askance.text.counts.miscounts import Miscounts
        >>> from askance.text.corpus.regions import Region
        >>> regions = RegionCounts.of(Corpus.of([["a", "dog"]]), "DN", [Region(0, 0, 2, {"N": 1})], may_miscount=True)
        >>> likelihood = CountLikelihood(regions, miscounts=Miscounts(missed=0.1))
        >>> value, counts = likelihood(np.log([[0.9, 0.1], [0.2, 0.8]]))
        >>> likelihood.expected_miscounts()[""].missed  # two tokens, of which one was counted
        1.0
        """
        if not self._called:
            raise InputError(
                "no probabilities were given yet; allowed: after a call.", remedy="Call the likelihood with log p."
            )
        return miscount_totals(self._regions, self._layout, self._posterior, self._has_channel)

    def _normalise(self, p: AnyArray) -> None:
        regions = self._treatments["independent"]
        self._split(
            region_independent.normalise,
            self._layout.length[regions] * self._groups[regions] * 10.0,
            (self._layout, p, regions),
            (self._posterior, self._value),
        )

    def _sum_exactly(self, p: AnyArray) -> None:
        first = self._members[self._ends[:-1]]
        cost = self._cost[first] * np.diff(self._ends)
        self._split(
            region_sweep.sum_blocks, cost, (self._layout, p, self._members, self._ends), (self._posterior, self._value)
        )
        lost = self._members[np.isnan(self._value[self._members])]
        if len(lost):  # sums too small for floating-point numbers: tilted first, they are not
            self._tilts[places_of(self._layout.offsets[lost], self._groups[lost])] = np.nan
            self._tilt(p, lost)
            self._split(
                region_tilted.sum_tilted,
                self._cost[lost],
                (self._layout, lost),
                (self._tilts, self._posterior, self._value),
            )

    def _approximate(self, p: AnyArray, regions: IntArray) -> None:
        """What is done with regions that are not summed exactly; experiments put other sums in its place."""
        self._tilt(p, regions)

    def _tilt(self, p: AnyArray, regions: IntArray) -> None:
        self._split(
            region_tilt.tilt_regions,
            self._layout.length[regions] * self._groups[regions] * float(_COST_OF_TILTING),
            (self._layout, p, regions),
            (self.tolerance, self._tilts, self._posterior, self._value),
        )

    def _split(
        self, loop: Callable[..., None], cost: AnyArray, before: tuple[Any, ...], after: tuple[Any, ...]
    ) -> None:
        """Run a loop over all its items, in as many threads as pay; parts write to different places."""
        if not len(cost):
            return
        done = np.cumsum(cost)
        parts = self.threads if done[-1] > _THREADS_PAY_FROM else 1
        cuts = [0, *np.searchsorted(done, done[-1] * np.arange(1, parts) / parts).tolist(), len(cost)]
        self._run(loop, [(*before, a, b, *after) for a, b in pairwise(cuts) if a < b])

    @staticmethod
    def _run(loop: Callable[..., None], jobs: list[tuple[Any, ...]]) -> None:
        if len(jobs) == 1:
            loop(*jobs[0])
            return
        with ThreadPoolExecutor(len(jobs)) as pool:
            for running in [pool.submit(loop, *job) for job in jobs]:
                running.result()

    def describe(self) -> dict[str, Any]:
        """What is done with how many regions, for people."""
        cost = self._cost[self._treatments["exact"]]
        return {
            "regions": len(self._regions),
            "exact": int(self.exact.sum()),
            "regions_by_treatment": {name: len(regions) for name, regions in self._treatments.items() if len(regions)},
            "largest_exact_sum": float(cost.max(initial=0.0)),
            "cost_of_exact_sums": float(cost.sum()),
            "threads": self.threads,
        }

    def __repr__(self) -> str:
        return f"CountLikelihood({len(self.exact):,} regions, {int(self.exact.sum()):,} of them exact, {self.method})"


def current_method(method: Method) -> Method:
    """A method as it is called now: what took the place of one of an earlier version, with a warning."""
    if method not in _FORMER_METHODS:
        return method
    warn_former(f"method {method!r} is no longer there and means 'auto'", 3)
    return "auto"
