"""The likelihood of counts under a chain.

A region is looked at with a few words before and after it, whose tags are open; beyond them the sentence is cut off.
Marginals come from the plain chain. Given its α before the region and its β behind it, sums within the region are exact
(`chain_sweep`: over numbers of tags and the last tag), or, where there are too many states, over the tags that tilting
has left (`chain_lattice`); posteriors of the words around follow by matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray
from askance._kernels import chain_lattice, chain_sweep
from askance._kernels.chain_sweep import Boundary
from askance.text.chain.evidence import Gradient, Job, row_weights, subtract_edges
from askance.text.chain.inference import Sums, forward
from askance.text.chain.layout import ChainLayout
from askance.text.chain.potentials import ChainPotentials
from askance.text.chain.regions import RegionBatch, blocks, entry_layout, shape_keys, stretches, sum_cost
from askance.text.chain.tilt import tilted_posteriors
from askance.text.corpus.region_groups import lay_out
from askance.text.corpus.regions import RegionCounts

#: By default regions with more states × entries² than this are not summed exactly; ten tokens with one count for every
#: tag always are.
DEFAULT_BUDGET = 200_000.0
# Where few regions cost more than the budget they may cost so many times that much, and so much in all.
_MOST_BUDGETS, _WORK_IN_ALL = 100.0, 4e8
# Regions that are worked on at a time: enough for lanes of equal shape, few enough for memory.
_CHUNK = 2048
# Of lattices: tilted posteriors below which tags are left out, tried one after the other until a lattice has few enough
# arcs, the first where there are few regions only; steps of tilting; arcs of a lattice, and of all together.
_THRESHOLDS, _TILT_STEPS = (1e-3, 1e-2, 5e-2, 0.1, 0.2), 8
# Where no threshold will do (all tags about as likely), the best few of each token.
_BEST = (3, 2)
_ARCS_OF_A_TOKEN, _FEWEST_ARCS, _MOST_ARCS, _ARCS_IN_ALL = 20, 4_000, 40_000, 8_000_000
#: The log-likelihood that a region that is left out is taken to have where log-likelihoods are compared.
LOG_IMPOSSIBLE = -50.0
# Arcs of a lattice that takes all candidates of a region whose exact sum was too small.
_LATTICE_OF_ALL = 1 << 21
# What a message may hold: more comes from sums that are all but 0, and would not fit into 32 bits.
_LARGEST = 1e30


class CountEvidence:
    """Counts of regions.

    Args:
        regions: all of them.
        context: words around a region that are looked at with it, on each side; None: its sentence.
        budget: states × entries² up to which sums are exact; up to a hundred times that for a few regions.
        missed: of every region, the probability that a token is missed, shape (R,); None: 0.
        extra: of every region, the probability that one is counted too many, shape (R,); None: 0.

    Attributes:
        exact: whether the sum of a region is exact, shape (R,).
    """

    def __init__(
        self,
        regions: RegionCounts,
        *,
        context: int | None = 2,
        budget: float = DEFAULT_BUDGET,
        missed: FloatArray | None = None,
        extra: FloatArray | None = None,
    ) -> None:
        rates = [np.zeros(len(regions)) if rate is None else rate for rate in (missed, extra)]
        layout = entry_layout(lay_out(regions, *rates), len(regions.tagset))
        cost = sum_cost(layout)
        dear = max(int((cost > budget).sum()), 1)
        # A few regions may cost more: what is exact leaves nothing out.
        self.exact: npt.NDArray[np.bool_] = cost <= max(budget, min(_MOST_BUDGETS * budget, _WORK_IN_ALL / dear))
        keys = shape_keys(layout)
        arcs = int(np.clip(_ARCS_IN_ALL / max(int((~self.exact).sum()), 1), _FEWEST_ARCS, _MOST_ARCS))
        self._chunks: list[_Chunk] = []
        for is_exact in (True, False):
            chosen = np.flatnonzero(self.exact == is_exact).tolist()
            order = np.array(sorted(chosen, key=keys.__getitem__), dtype=np.int64)
            for first in range(0, len(order), _CHUNK):
                some = order[first : first + _CHUNK]
                own = [rate[some] for rate in rates]
                self._chunks.append(_Chunk(regions.take(some), context, 0 if is_exact else arcs, *own))

    def prepare(self, potentials: ChainPotentials) -> None:
        """Choose the tags that lattices are made of, by tilting the chain as it is now."""
        for chunk in self._chunks:
            chunk.prepare(potentials)

    def jobs(self) -> Sequence[tuple[float, Job]]:
        """One for each chunk of regions."""
        return [(chunk.cost, chunk) for chunk in self._chunks]

    @property
    def lost(self) -> float:
        """What a comparison of log-likelihoods takes off for regions that are left out: each as good as impossible."""
        return LOG_IMPOSSIBLE * sum(float(chunk.weights[~chunk.used].sum()) for chunk in self._chunks)

    @property
    def left_out(self) -> int:
        """Regions that no lattice of a reasonable size was found for: they are not used until `prepare` finds one."""
        return sum(int((~chunk.used).sum()) for chunk in self._chunks)


class _Chunk:
    """Some of the regions."""

    def __init__(
        self, regions: RegionCounts, context: int | None, arcs: int, missed: FloatArray, extra: FloatArray
    ) -> None:
        start, end = stretches(regions, context)
        order = np.concatenate([batch.stretches for batch in ChainLayout.of(start, end).batches])
        regions, start, end = regions.take(order), start[order], end[order]
        groups = lay_out(regions, missed[order], extra[order])
        self.tags, self.weight, self.weights = len(regions.tagset), regions.weight, regions.weights
        # However long a region is, a few tags of each token must fit.
        self.is_exact, self.arcs = arcs == 0, max(arcs, _ARCS_OF_A_TOKEN * int(regions.lengths.max()))
        self.layout, self.shift = entry_layout(groups, self.tags), groups.shift
        self.batches = [
            RegionBatch(
                batch,
                (regions.start - start)[batch.stretches],
                regions.lengths[batch.stretches],
                (end - regions.end)[batch.stretches],
                self.tags,
                self.layout,
            )
            for batch in ChainLayout.of(start, end).batches
        ]
        self.used = np.full(len(regions), self.is_exact)
        tokens = float((end - start).sum())
        if self.is_exact:
            self.members, self.ends = blocks(self.layout)
            self.cost = float(sum_cost(self.layout).sum()) + tokens * self.tags**2
        else:
            self.candidates = np.zeros(self.batches[-1].cells.stop, dtype=bool)
            self.cost = tokens * self.tags**2 * 4

    def __call__(self, potentials: ChainPotentials, into: Gradient) -> None:
        layout, size = self.layout, len(self.layout.tag)
        numbers = np.empty(self.batches[-1].cells.stop)
        # Regions that are not used leave zeros there: whatever lay in the memory, times their weight 0, might be NaN.
        boundary = Boundary(np.ones(size), np.ones(size), np.zeros(size), np.zeros(size))
        done = [self._free(part, potentials, into, numbers, boundary) for part in self.batches]
        value = np.full(len(layout.length), np.nan)
        self._sum(potentials.factors, boundary, numbers, value, into.pairs)
        value += self.shift
        into.value += float(value[self.used] @ self.weights[self.used])
        for free in done:
            free.add_posteriors(into, numbers, boundary)

    def _sum(
        self, edges: AnyArray, boundary: Boundary, numbers: FloatArray, value: FloatArray, pairs: FloatArray
    ) -> None:
        layout, weight = self.layout, self.weights
        if self.is_exact:
            chain_sweep.sum_blocks(layout, self.members, self.ends, edges, boundary, numbers, value, pairs, weight)
            # Sums too small for floating-point numbers: lattices scale every token, and take all there is.
            members, arcs = np.flatnonzero(np.isnan(value)), _LATTICE_OF_ALL
            candidates = np.ones(len(numbers) if len(members) else 0, dtype=bool)
        else:
            members, arcs, candidates = np.flatnonzero(self.used), self.arcs, self.candidates
        if len(members):
            chain_lattice.sum_lattices(
                layout, members, candidates, arcs, edges, boundary, numbers, value, pairs, weight
            )

    def prepare(self, potentials: ChainPotentials) -> None:
        """Choose candidates."""
        if self.is_exact:
            return
        layout, size = self.layout, len(self.layout.tag)
        posterior = np.concatenate([tilted_posteriors(part, potentials, _TILT_STEPS) for part in self.batches])
        plain = np.concatenate(
            [potentials.rows(part.batch.tokens)[0].reshape(-1)[part.cell_source] for part in self.batches]
        ).astype(np.float64)
        self.used[:] = False
        for candidates in self._choices(posterior):
            left = np.flatnonzero(~self.used)
            if not len(left):
                break
            cells = np.repeat(~self.used, np.diff(layout.entry_offsets) * layout.length)
            self.candidates[cells] = candidates[cells]
            boundary = Boundary(np.ones(size), np.ones(size), np.empty(size), np.empty(size))
            value, pairs = np.full(len(self.used), np.nan), np.zeros(potentials.edges.shape)
            chain_lattice.sum_lattices(
                layout, left, self.candidates, self.arcs, potentials.factors, boundary, plain.copy(), value, pairs,
                np.zeros(len(value)),
            )  # fmt: skip
            self.used |= np.isfinite(value)

    def _choices(self, posterior: FloatArray) -> Iterator[npt.NDArray[np.bool_]]:
        """Candidates, the most generous choice first: by threshold, then the best few of each token."""
        few = self.arcs > 5 * _FEWEST_ARCS
        for threshold in _THRESHOLDS if few else _THRESHOLDS[1:]:
            yield posterior >= threshold
        sizes = np.repeat(np.diff(self.layout.entry_offsets), self.layout.length)  # entries of every token
        token = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((-posterior, token))
        rank = np.empty(len(token), dtype=np.int64)
        rank[order] = np.arange(len(token)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        for best in _BEST:
            yield rank < best

    def _free(
        self, part: RegionBatch, potentials: ChainPotentials, into: Gradient, numbers: FloatArray, boundary: Boundary
    ) -> _Free:
        """Sums of the plain chain; factors of the cells, and of what comes before and after the regions."""
        batch, weight = part.batch, self._effective()
        sums = forward(batch, *potentials.rows(batch.tokens), potentials)
        plain = sums.scaled.copy()
        rows = row_weights(batch, weight, plain.dtype)
        subtract_edges(batch, sums, potentials, into, rows)
        numbers[part.cells] = plain.reshape(-1)[part.cell_source]
        before = np.ones((len(part.left), self.tags), dtype=plain.dtype)
        led = np.flatnonzero(part.left)
        before[led] = sums.alpha[part.starts[part.left[led] - 1] + led] @ potentials.factors
        boundary.before[part.entries] = before.reshape(-1)[part.entry_source]
        last = batch.place(part.left + part.inside - 1)
        boundary.after[part.entries] = sums.beta[last].reshape(-1)[part.entry_source]
        own = None if weight is None else weight[batch.stretches][:, None].astype(plain.dtype)
        return _Free(part, potentials, sums, plain, rows, own)

    def _effective(self) -> FloatArray | None:
        """Weights of the regions, 0 for those that are not used; None where all are 1."""
        if self.used.all():
            return self.weight
        return self.used * self.weights


class _Free(NamedTuple):
    """A batch without its counts, from which posteriors of its words follow given the counts inside the regions."""

    part: RegionBatch  # the batch
    potentials: ChainPotentials  # of the chain
    sums: Sums  # forward and backward
    plain: AnyArray  # factors of every word as they were, shape (words, K)
    rows: AnyArray | None  # the weight of every word, shape (words, 1); None where all are 1
    weight: AnyArray | None  # that of every region, shape (R, 1), likewise

    def add_posteriors(self, into: Gradient, numbers: FloatArray, boundary: Boundary) -> None:
        """Posteriors of all words of the stretches, less marginals."""
        part, tokens = self.part, self.part.batch.tokens
        difference = self.sums.alpha * self.sums.beta
        into.add_spread(tokens, difference, self.rows)
        np.negative(difference, out=difference)
        _add_cells(difference, part.cell_source, numbers[part.cells], part.has_twins)
        pairs = np.zeros(self.potentials.factors.shape)  # without these factors
        self._go_left(self._message(boundary.into), difference, pairs)
        self._go_right(self._message(boundary.out), difference, pairs)
        into.pairs += pairs * self.potentials.factors
        if self.rows is not None:
            difference *= self.rows
        into.add_rows(tokens, difference)

    def _go_left(self, message: AnyArray, posterior: AnyArray, pairs: FloatArray) -> None:
        """Words before the regions, from the nearest to the farthest: β given the counts."""
        part = self.part
        for distance in range(1, int(part.left.max(initial=0)) + 1):
            chosen = np.flatnonzero(part.left >= distance)
            rows = part.starts[part.left[chosen] - distance] + chosen
            sent, alpha = message[chosen], self.sums.alpha[rows]
            beta = sent @ self.potentials.transposed
            posterior[rows] += alpha * beta
            pairs += alpha.T @ self._weighted(sent, chosen)
            message[chosen] = self.plain[rows] * beta

    def _go_right(self, message: AnyArray, posterior: AnyArray, pairs: FloatArray) -> None:
        """Words behind the regions: α given the counts."""
        part = self.part
        for distance in range(int(part.right.max(initial=0))):
            chosen = np.flatnonzero(part.right > distance)
            rows = part.starts[part.left[chosen] + part.inside[chosen] + distance] + chosen
            sent = message[chosen]
            pairs += self._weighted(sent, chosen).T @ self.sums.scaled[rows]
            alpha = self.plain[rows] * (sent @ self.potentials.factors)
            posterior[rows] += alpha * self.sums.beta[rows]
            message[chosen] = alpha

    def _message(self, boundary: AnyArray) -> AnyArray:
        """What the entries of every region send to the word next to it, by tag, shape (R, K)."""
        message = np.zeros((len(self.part.left), self.part.tags), dtype=self.plain.dtype)
        _add_cells(message, self.part.entry_source, boundary[self.part.entries], self.part.has_twins)
        return message

    def _weighted(self, sent: AnyArray, chosen: IntArray) -> AnyArray:
        return sent if self.weight is None else sent * self.weight[chosen]


def _add_cells(table: AnyArray, place: IntArray, values: FloatArray, has_twins: bool) -> None:
    """Add values at flat places of a table, which may appear twice where `has_twins`."""
    added = np.minimum(values, _LARGEST).astype(table.dtype)
    if has_twins:
        np.add.at(table.reshape(-1), place, added)
    else:
        table.reshape(-1)[place] += added
