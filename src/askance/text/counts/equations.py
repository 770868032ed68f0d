"""Region counts as linear equations: E[count of b in region r] = Σ_a R_ra w_ab, w_ab = P(tag b | type a)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, IntArray, SparseRows
from askance.errors import ShapeError
from askance.text.corpus.corpus import places_of
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.miscounts import MiscountsBy, miscount_rates
from askance.text.counts.moment_solver import RidgeSystem

# The variance of a token that may as well have a tag as not: the measure of what a range leaves open.
_UNSURE = 0.25


@dataclass(frozen=True, eq=False)
class CountEquations:
    """What regions say of w, one row of equations for each region, one equation for each tag.

    A count is an equation of weight 1, and a tag that was not asked is none (weight 0). A range is taken as a point
    within it and a weight that says how little is known, ω = ¼ / (¼ + v) with v = (h − l)(h − l + 2) / 12 the variance
    of a number drawn from l … h; in closed regions the points divide what the lower ends leave of the length in
    proportion to the widths, so that they sum to the length, and elsewhere they are the middles. A range from 0 to the
    length of an open region says nothing and has weight 0. Points within ranges are guesses: estimates from exact
    counts are consistent, those from ranges as good as the guesses are.

    The weight of a region multiplies those of its equations; regions of weight 0 are left out. Where people miscount at
    known rates (`Miscounts`), (R − q) / (1 − m) stands for the count R, as its mean is the true one, also for tags
    without an entry in closed regions; ranges stay as they are. Where no rates are known and counts cannot be (more
    than the length, or every tag asked and fewer), they are scaled to sum to the length.

    Regions of one token are one row for each type: Σ_r ω_r (N_r − w)² is the same function of w as Ω (N̄ − w)² with the
    sum of weights and the weighted mean. A labelled corpus so has no more rows than types.
    """

    types: IntArray  # types that regions cover, shape (A,)
    matrix: SparseRows  # R, how often each of these types appears, shape (rows, A)
    response: AnyArray  # the counts N, shape (rows, K)
    weights: AnyArray | None  # ω, shape (rows, K); None where all are 1
    sentence: IntArray  # the sentence of every row; −1 for rows of single tokens, which may come from many

    @classmethod
    def of(
        cls,
        regions: RegionCounts,
        *,
        dtype: npt.DTypeLike = np.float32,
        merge_single: bool = True,
        miscounts: MiscountsBy | None = None,
    ) -> CountEquations:
        """From regions; `merge_single`: those of one token become one row for each type."""
        from scipy import sparse

        regions = regions.with_positive_weight()
        row, alone = _rows(regions, merge_single)
        rows = int(row.max(initial=-1)) + 1
        tokens, owner = _tokens(regions, regions.lengths), np.repeat(row, regions.lengths)
        types, column = np.unique(tokens, return_inverse=True)
        ones = np.ones(len(tokens), dtype=dtype)
        matrix = sparse.coo_array((ones, (owner, column)), shape=(rows, len(types))).tocsr()
        matrix.data[matrix.indptr[alone] :] = 1
        response, weights = _sums(regions, row, rows, miscounts)
        np.divide(response, weights, out=response, where=weights > 0)
        sentence = np.full(rows, -1, dtype=np.int64)
        of = regions.sentence
        sentence[row[row < alone]] = of[row < alone]
        plain = bool((weights == 1).all())
        return cls(types, matrix, response.astype(dtype), None if plain else weights.astype(dtype), sentence)

    @cached_property
    def transposed(self) -> SparseRows:
        """Rᵀ by rows."""
        return self.matrix.T.tocsr()

    @cached_property
    def mean_length(self) -> float:
        """Mean length of the regions, weighted as the equations are."""
        lengths = np.asarray(self.matrix.sum(axis=1), dtype=float)
        return float(np.average(lengths, weights=self.row_weights)) if self.row_weights.any() else 1.0

    @cached_property
    def curvature(self) -> FloatArray:
        """RᵀωR1, with ω the largest weight of each row, shape (A,)."""
        return np.asarray(self.transposed @ (self.row_weights * np.asarray(self.matrix.sum(axis=1))))

    @property
    def target(self) -> AnyArray:
        """RᵀΩN, shape (A, K)."""
        return np.asarray(self.transposed @ (self.response if self.weights is None else self.response * self.weights))

    def system(self, features: SparseRows | None, l2: float) -> RidgeSystem:
        """The ridge regression on features of the types, or on types."""
        return RidgeSystem(self.matrix, features, l2, self.weights, self.response.shape[1])

    def slope(self, point: AnyArray) -> AnyArray:
        """RᵀΩ(Rw − N) at w, shape (A, K)."""
        misfit = self.matrix @ point
        misfit -= self.response
        if self.weights is not None:
            misfit *= self.weights
        return np.asarray(self.transposed @ misfit)

    @cached_property
    def row_weights(self) -> FloatArray:
        """The largest weight of each row."""
        if self.weights is None:
            return np.ones(self.matrix.shape[0])
        return np.asarray(self.weights.max(axis=1, initial=0), dtype=float)


def require_design(design: SparseRows, regions: RegionCounts) -> None:
    """Refuse features of other words than those of the regions."""
    if design.shape[0] != len(regions.corpus.words):
        raise ShapeError(
            f"the design has {design.shape[0]} rows; allowed: {len(regions.corpus.words)}, one for each type.",
            remedy="Make it of the words of the regions' corpus.",
        )


def known_tokens(regions: RegionCounts, miscounts: MiscountsBy | None = None) -> FloatArray:
    """Tokens whose tag the counts tell, by type and tag, shape (T, K): where all tokens of a region have the same.

    They are counted by the weight of their region. Counts that may be too high tell no tag.
    """
    table = np.zeros((len(regions.corpus.words), len(regions.tagset)))
    types, tags, weights = told_tokens(regions, miscounts)
    np.add.at(table, (types, tags), weights)
    return table


def told_tokens(regions: RegionCounts, miscounts: MiscountsBy | None = None) -> tuple[IntArray, IntArray, FloatArray]:
    """Type, tag and weight of every token whose tag the counts tell."""
    doubtful = ~regions.is_possible | (miscount_rates(regions, miscounts)[1] > 0)
    of = regions.entry_region
    told = np.flatnonzero((regions.low == regions.lengths[of]) & ~doubtful[of])
    lengths = np.zeros(len(regions), dtype=np.int64)
    tag = np.zeros(len(regions), dtype=np.int64)
    lengths[regions.entry_region[told]] = regions.low[told]
    tag[regions.entry_region[told]] = regions.tag[told]
    return _tokens(regions, lengths), np.repeat(tag, lengths), np.repeat(regions.weights, lengths)


def _tokens(regions: RegionCounts, lengths: IntArray) -> IntArray:
    """Types of the first so many tokens of every region, one region after the other."""
    return regions.corpus.tokens[places_of(regions.start, lengths)].astype(np.int64)


def _rows(regions: RegionCounts, merge_single: bool) -> tuple[IntArray, int]:
    """The row of every region, and the first row of those of single tokens, which come last."""
    single = (regions.lengths == 1) & merge_single
    row, alone = np.zeros(len(regions), dtype=np.int64), int((~single).sum())
    row[~single] = np.arange(alone)
    row[single] = alone + np.unique(regions.corpus.tokens[regions.start[single]], return_inverse=True)[1]
    return row, alone


def _sums(
    regions: RegionCounts, row: IntArray, rows: int, miscounts: MiscountsBy | None
) -> tuple[FloatArray, FloatArray]:
    """Σ ω N and Σ ω over the regions of every row, shape (rows, K) each."""
    from scipy import sparse

    of, low = regions.entry_region, regions.low.astype(float)
    closed, width = regions.closed[of], regions.high - low
    left = regions.lengths - np.bincount(of, low, len(regions))
    widths = np.bincount(of, width, len(regions))
    share = np.where(regions.closed & (widths > 0), np.clip(left / np.maximum(widths, 1), 0, 1), 0.5)
    point, weight = low + width * share[of], _UNSURE / (_UNSURE + width * (width + 2) / 12)
    weight[~closed & (width >= regions.lengths[of])] = 0
    point, none, counted = _corrected(regions, point, width == 0, miscounts)
    where, shape = (row[of], regions.tag.astype(np.int64)), (rows, len(regions.tagset))
    # Tags without an entry are equations "0 of them" in closed regions (or what stands for 0), and none elsewhere.
    inside = np.where(closed, none[of], 0.0) * counted[of]
    response = sparse.coo_array((point * weight * counted[of] - inside, where), shape=shape).toarray()
    response += np.bincount(row, regions.closed * none * counted, rows)[:, None]
    weights = sparse.coo_array(((weight - closed) * counted[of], where), shape=shape).toarray()
    weights += np.bincount(row, regions.closed * counted, rows)[:, None]
    return response, np.maximum(weights, 0)


def _corrected(
    regions: RegionCounts, point: FloatArray, exact: npt.NDArray[np.bool_], miscounts: MiscountsBy | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What stands for the counts, shape (E,), for a count of 0 and how much a region counts, shape (R,) each."""
    of, none, counted = regions.entry_region, np.zeros(len(regions)), regions.weights
    missed, extra, _ = miscount_rates(regions, miscounts)
    known = (missed > 0) | (extra > 0)
    if known.any():
        none = -extra / (1 - missed)
        point = np.where(exact, point / (1 - missed[of]) + none[of], point)
    wrong = ~regions.is_possible & ~known
    if wrong.any():
        total = np.bincount(of, point, len(regions))
        scale = np.where(wrong, regions.lengths / np.maximum(total, 1e-300), 1.0)
        point = np.where(wrong[of], point * scale[of], point)
        counted = np.where(wrong & (total == 0), 0.0, counted)  # nothing counted at all says nothing
    return point, none, counted
