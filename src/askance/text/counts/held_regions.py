"""Regions that stay where an engine holds them: every sum over them is a pass (`held_part`)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askance._arrays import AnyArray, FloatArray, SparseRows
from askance._kernels.region_layout import FLOOR
from askance.errors import EmptyDataError, InputError
from askance.evidence.exact_sums import grid_for
from askance.text.counts.held_part import Pass, Preparation, Summary, joined_sums, keys_of, summary_of
from askance.text.counts.moment_solver import RidgeSystem, RowSums

if TYPE_CHECKING:
    from askance.evidence.protocols import Held


class HeldRegions:
    """Regions that an engine holds, as far as taggers without edges ask for them.

    Attributes:
        tagset: K names of tags.
        words: the types that regions cover, in the order of their keys.
        summary: sizes.

    Args:
        held: parts, each as `Preparation` makes them.
        tagset: names of tags.
        how: how the parts were made.
    """

    def __init__(self, held: Held, tagset: tuple[str, ...], how: Preparation) -> None:
        self._held, self.tagset, self.how = held, tagset, how
        self.summary: Summary = held.total(summary_of, Summary.joined)
        if not self.summary.sizes[0]:
            raise EmptyDataError("the files have no region and no label.", remedy="Give files that hold some.")
        words = sorted(self.summary.words)
        keys = keys_of(words)
        order = np.argsort(keys)
        self.keys, self.words = keys[order], tuple(words[i] for i in order.tolist())
        if (self.keys[1:] == self.keys[:-1]).any():
            raise InputError("two words have the same digest of 64 bits.", remedy="Leave the engine out.")
        self.annotators, self.asked = tuple(sorted(self.summary.annotators)), self.summary.asked
        self.weight = float(self.summary.sizes[3]) * self.summary.heaviest
        #: Within it are all sums of weights by type, by tag and by length; corrected counts may be above the length.
        self.bound = 4 * self.weight * self.summary.longest

    @property
    def has_rows(self) -> bool:
        """Whether there are regions of two tokens or more."""
        return bool(self.summary.longer[1])

    def total(
        self, name: str, bound: float, width: int, *tables: Any, of: str = "rows"
    ) -> tuple[FloatArray, FloatArray]:
        """A pass: a sum of `Part` by name, over all of them, and its sums of types, shape (T, width)."""
        everywhere = np.zeros((len(self.keys), width))
        there = {"rows": self.has_rows, "told": True}.get(of, bool(self.summary.sizes[5]))
        if not there:
            return np.zeros(2 + len(self.tagset)), everywhere
        numbers, own = self._held.total(Pass(name, grid_for(bound), tables, of), joined_sums)
        if len(own.keys):
            everywhere[np.searchsorted(self.keys, own.keys)] = own.sums
        return numbers, everywhere

    @cached_property
    def labels(self) -> FloatArray:
        """Labelled tokens by type and tag, shape (T, K)."""
        return self.total("known", self.bound, len(self.tagset), True, of="told")[1]

    @cached_property
    def known(self) -> FloatArray:
        """Tokens whose tag is certain by type and tag, shape (T, K)."""
        if not self.summary.sizes[5]:
            return self.labels
        return self.total("known", self.bound, len(self.tagset), of="told")[1]

    @cached_property
    def singles(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of single tokens, labels included, by type: Ω and Ω N, shape (T, K), and their weight, shape (T,)."""
        tags = len(self.tagset)
        _, table = self.total("singles", self.bound, 2 * tags + 1, of="single")
        labelled = self.labels.sum(axis=1)
        weights, said, weight = table[:, :tags], table[:, tags : 2 * tags], table[:, -1]
        return weights + labelled[:, None], said + self.labels, weight + labelled

    @cached_property
    def cover(self) -> tuple[FloatArray, FloatArray]:
        """What `Part.cover` tells, single tokens included, which are one row for each type."""
        numbers, table = self.total("cover", self.bound, 3)
        weights, _, weight = self.singles
        largest = weights.max(axis=1)
        more = np.concatenate([[largest.sum(), largest.sum()], weights.sum(axis=0)])
        return numbers + more, table + np.column_stack([weight, largest, largest])

    @property
    def token_counts(self) -> FloatArray:
        """In how many regions the tokens of each type lie, by weight, shape (T,)."""
        return self.cover[1][:, 0]


class HeldEquations:
    """`CountEquations` whose rows an engine holds; single tokens are one row for each type, here.

    Args:
        regions: the regions.
        dtype: of the results.
    """

    def __init__(self, regions: HeldRegions, dtype: npt.DTypeLike) -> None:
        self.regions, self.dtype = regions, np.dtype(dtype)
        self.types = np.arange(len(regions.words))
        self.single, self.said, _ = regions.singles

    @property
    def mean_length(self) -> float:
        """Mean length of the regions, weighted as the equations are."""
        weight, by_length = self.regions.cover[0][:2]
        return float(by_length / weight) if weight > 0 else 1.0

    @property
    def curvature(self) -> FloatArray:
        """RᵀωR1, shape (T,)."""
        return self.regions.cover[1][:, 2]

    @cached_property
    def target(self) -> AnyArray:
        """RᵀΩN, shape (T, K)."""
        return (self._sum("target") + self.said).astype(self.dtype)

    @cached_property
    def row_sums(self) -> RowSums:
        """Sums over rows that a ridge regression takes."""
        (weight, _, *of_tags), table = self.regions.cover
        heights = self._sum("heights") + self.single
        share = np.array(of_tags) / max(weight, 1e-300)
        return RowSums(heights.astype(self.dtype), table[:, 1].astype(self.dtype), share)

    def image(self, table: AnyArray) -> FloatArray:
        """RᵀΩRW, shape (T, K)."""
        largest = float(np.abs(table).max(initial=0.0))
        sums = self._sum("image", max(largest, 1e-300), self.regions.keys, table)
        return np.asarray(sums + self.single * table)

    def slope(self, point: AnyArray) -> AnyArray:
        """RᵀΩ(Rw − N), shape (T, K)."""
        return np.asarray(self.image(point) - self.target, dtype=self.dtype)

    def gram(self, columns: SparseRows) -> FloatArray:
        """BᵀRᵀωRB of columns that are given as rows over all types, each with one value."""
        scale = columns.max(axis=1).toarray().reshape(-1).astype(float)
        ones = (columns != 0).astype(np.float64)
        rows, _ = self.regions.total("gram", self.regions.bound, 1, self.regions.keys, ones)
        gram = (ones * self.single.max(axis=1)) @ ones.T
        whole = gram.toarray() + (rows if self.regions.has_rows else 0.0)
        return np.asarray(whole * scale * scale[:, None])

    def system(self, features: SparseRows | None, l2: float) -> RidgeSystem:
        """The ridge regression."""
        return _HeldSystem(self, features, l2)

    def _sum(self, name: str, scale: float = 1.0, *tables: Any) -> FloatArray:
        regions = self.regions
        return regions.total(name, regions.bound * scale, len(regions.tagset), *tables)[1]


class _HeldSystem(RidgeSystem):
    """A ridge regression whose rows an engine holds."""

    def __init__(self, equations: HeldEquations, features: SparseRows | None, l2: float) -> None:
        self._equations = equations
        strength = np.array(l2, dtype=equations.dtype)[()]
        self._begin(features, strength, len(equations.types), len(equations.regions.tagset))

    def _applied(self, point: AnyArray) -> AnyArray:
        table = point if self.features is None else np.asarray(self.features @ point)
        return self.of_features(self._equations.image(table).astype(point.dtype))

    def _row_sums(self) -> RowSums:
        return self._equations.row_sums

    def _gram(self, columns: SparseRows) -> AnyArray:
        return self._equations.gram(columns)


class HeldLikelihood:
    """`CountLikelihood` of regions that an engine holds. Tilting begins anew in every pass."""

    def __init__(self, regions: HeldRegions) -> None:
        self._regions = regions
        self.sizes = int(regions.summary.sizes[0]), int(regions.summary.sizes[4])

    def __call__(self, log_p: AnyArray) -> tuple[float, AnyArray]:
        """The log-likelihood, and expected counts in the precision of log p."""
        regions = self._regions
        numbers, counts = regions.total(
            "expected", regions.weight, len(regions.tagset), regions.keys, np.exp(log_p), of="likelihood"
        )
        labels = float(np.sum(regions.labels * np.maximum(log_p, np.log(FLOOR)), dtype=np.float64))
        return float(numbers.reshape(-1)[0]) + labels, (counts + regions.labels).astype(log_p.dtype)
