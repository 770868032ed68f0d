"""What region counts can tell, before anything is fitted: rank, words and tags that cannot be told apart, what to ask.

Counts are linear equations in w_ab = P(tag b | type a): R w = E[N]. A type is determined where only one value of its w
solves them however exact the counts are. Where rank falls short of the number of types, least squares alone has no
single answer; features that words share, a ridge and the simplex choose one, which is a guess as far as those types go.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray, SparseRows
from askance._checks import did_you_mean, shorten, shown
from askance._threads import one_thread
from askance.errors import EmptyDataError, LabelError
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.design_rank import DesignRank, design_rank
from askance.text.counts.equal_columns import MergedColumns
from askance.text.counts.equations import CountEquations, require_design
from askance.text.counts.indistinct_tags import IndistinctTags, indistinct_tags

# Up to so many rows and columns singular values are worked out, beyond it the condition number is estimated.
_SMALL = 600
_LANCZOS, _LEAST_SQUARES_STEPS = 120, 600
# Columns left to arithmetic whose rank is known in a tenth of a second.
_QUICK = 500


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What counts determine.

    Attributes:
        tag: the tag whose equations are looked at; None: regions in which anything was asked.
        regions: how many have an equation.
        types: how many types they cover.
        rank: of the region × type design.
        settled: whether rank is certain (see `DesignRank`); otherwise it is an upper bound.
        core: rows and columns of the part whose rank is worked out numerically; the rest is exact.
        condition: largest over smallest positive singular value of the design with inseparable types as one.
        condition_is_exact: False for an estimate, which is a lower bound.
        determined: words whose w has one solution.
        undetermined: words whose w has many.
        inseparable: groups of words that always appear in the same regions in the same proportion, the largest first.
            Only a sum of their w can be known.
        least_more_regions: types − rank. One region adds at most 1 to the rank, so there is no way with fewer; as many
            regions of a single token suffice, one for each word of `ask`.
        ask: words that, once known, make all others known.
        more_like_these: how many more regions of the same kind it would take if each added as much to the rank as those
            of the second half did on average. Later ones add less, so this too is a lower bound; infinite where they
            added nothing.
        shared_features_determine: how many of the undetermined words have features, shared with other words, whose
            effects the counts do determine: numerically, to three digits, and rather too few than too many. None
            without a design.
        indistinct: tags that the counts cannot tell apart, or cannot place, whatever the words (`indistinct_tags`);
            with a tag, those of them that concern it.
    """

    tag: str | None
    regions: int
    types: int
    rank: int
    settled: bool
    core: tuple[int, int]
    condition: float
    condition_is_exact: bool
    determined: tuple[str, ...]
    undetermined: tuple[str, ...]
    inseparable: tuple[tuple[str, ...], ...]
    least_more_regions: int
    ask: tuple[str, ...]
    more_like_these: float
    shared_features_determine: int | None
    indistinct: IndistinctTags

    def summary(self) -> str:
        """For people."""
        about = "" if self.settled else " at most"
        known = "" if self.condition_is_exact else "at least "
        lines = [
            f"{self.regions:,} regions{f' that asked for {self.tag}' if self.tag else ''}, {self.types:,} word types",
            f"rank{about} {self.rank:,}; condition number {known}{self.condition:.3g}",
            f"determined by the counts: {len(self.determined):,} types; not determined: {len(self.undetermined):,}",
        ]
        if self.inseparable:
            members = sum(map(len, self.inseparable))
            lines.append(
                f"always together: {len(self.inseparable):,} groups with {members:,} types, the largest "
                f"{shorten(self.inseparable[0])}"
            )
        if self.shared_features_determine is not None and self.undetermined:
            lines.append(
                f"features shared with other words determine {self.shared_features_determine:,} or more of the "
                "undetermined types, as far as words with such features behave alike"
            )
        if self.least_more_regions:
            pace = "no number" if np.isinf(self.more_like_these) else f"at least about {self.more_like_these:,.0f}"
            lines.append(
                f"more regions needed: {self.least_more_regions:,} single tokens (start with {shorten(self.ask)}); "
                f"{pace} of the present kind"
            )
        else:
            lines.append("more regions are not needed to tell types apart, only for precision")
        return "\n".join([*lines, *(f"but: {message}" for message in self.indistinct.messages())])

    def to_json(self) -> dict[str, Any]:
        """Plain values, complete."""
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self) if field.name != "indistinct"}
        plain["more_like_these"] = None if np.isinf(self.more_like_these) else self.more_like_these
        return plain | {"alike": _plain(self.indistinct.alike), "even": _plain(self.indistinct.even)}

    def __str__(self) -> str:
        return self.summary()


def _plain(value: Any) -> Any:
    """Lists for tuples."""
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


@one_thread
def identifiability(
    regions: RegionCounts, design: SparseRows | None = None, *, tag: str | None = None
) -> Identifiability:
    """What the counts of these regions can tell.

    Args:
        regions: the counts. Types go by where they are and what was asked; tags by the counts themselves.
        design: features of the types, shape (T, F), to see what shared features add.
        tag: look at the regions in which this tag was asked; default: at all in which something was.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["New", "York", "sleeps"], ["York", "New"], ["sleeps"]])
    >>> told = [Region(0, 0, 3, {"N": 2, "V": 1}), Region(1, 0, 2, {"N": 2}), Region(2, 0, 1, {"V": 1})]
    >>> print(identifiability(RegionCounts.of(corpus, ["N", "V"], told)))
    3 regions, 3 word types
    rank 2; condition number 1.73
    determined by the counts: 1 types; not determined: 2
    always together: 1 groups with 2 types, the largest 'New', 'York'
    more regions needed: 1 single tokens (start with 'York'); no number of the present kind
    """
    matrix, types, count = _equations(regions, tag)
    if design is not None:
        require_design(design, regions)
    first, group = _proportional(matrix)
    reduced = matrix[:, first]
    equations = design_rank(reduced)
    sizes = np.bincount(group, minlength=len(first))
    determined = equations.determined[group] & (sizes[group] == 1)
    words = [regions.corpus.words[t] for t in types.tolist()]
    members: dict[int, list[str]] = {}
    for column in np.flatnonzero(sizes[group] > 1).tolist():
        members.setdefault(int(group[column]), []).append(words[column])
    extra = np.setdiff1d(np.arange(len(types)), first)
    ask = np.sort(np.concatenate([first[equations.free], extra]))
    condition, exact = _condition(reduced)
    lacking = len(types) - equations.rank
    return Identifiability(
        tag=tag,
        regions=count,
        types=len(types),
        rank=equations.rank,
        settled=equations.settled,
        core=equations.core,
        condition=condition,
        condition_is_exact=exact,
        determined=tuple(words[c] for c in np.flatnonzero(determined).tolist()),
        undetermined=tuple(words[c] for c in np.flatnonzero(~determined).tolist()),
        inseparable=tuple(sorted((tuple(group) for group in members.values()), key=lambda group: (-len(group), group))),
        least_more_regions=lacking,
        ask=tuple(words[c] for c in ask.tolist()),
        more_like_these=_pace(reduced, equations, lacking, count),
        shared_features_determine=None if design is None else _shared(matrix, design[types], ~determined),
        indistinct=indistinct_tags(regions).about(tag),
    )


class Unsettled(NamedTuple):
    """How much of the words the counts leave open."""

    words: int  # how many word types
    of_words: int  # of so many
    tokens: int  # how many tokens they have in the regions
    of_tokens: int  # of so many


def unsettled_words(regions: RegionCounts) -> Unsettled | None:
    """How many words `identifiability` would call undetermined: that alone; None where it would take long to find out.

    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["New", "York", "sleeps"], ["sleeps"]])
    >>> unsettled_words(RegionCounts.of(corpus, "NV", [Region(0, 0, 3, {"N": 2, "V": 1}), Region(1, 0, 1, {"V": 1})]))
    Unsettled(words=2, of_words=3, tokens=2, of_tokens=4)
    """
    matrix, types, _ = _equations(regions, None)
    first, group = _proportional(matrix)
    equations = design_rank(matrix[:, first], core_columns=_QUICK)
    if not equations.settled:
        return None
    unknown = ~equations.determined[group] | (np.bincount(group)[group] > 1)
    tokens = np.asarray(matrix.sum(axis=0), dtype=np.int64)
    return Unsettled(int(unknown.sum()), len(types), int(tokens[unknown].sum()), int(tokens.sum()))


def _equations(regions: RegionCounts, tag: str | None) -> tuple[SparseRows, IntArray, int]:
    """How often each type appears in regions with an equation; those types; how many regions there are."""
    if tag is not None and tag not in regions.tagset:
        raise LabelError(
            f"tag is {shown(tag)}; allowed: {shown(list(regions.tagset))}.",
            remedy=did_you_mean(tag, regions.tagset, "Take one of these."),
        )
    equations = CountEquations.of(regions, dtype=float, merge_single=False)
    weights = equations.row_weights
    if tag is not None and equations.weights is not None:
        weights = equations.weights[:, regions.tagset.index(tag)]
    asked = np.flatnonzero(weights > 0)
    if not len(asked):
        raise EmptyDataError(
            f"there are no regions{'' if tag is None else f' that asked for {tag}'}.", remedy="Give at least one."
        )
    matrix = equations.matrix[asked]
    covered = np.flatnonzero(matrix.sum(axis=0))
    return matrix[:, covered].tocsr(), equations.types[covered], len(asked)


def _proportional(matrix: SparseRows) -> tuple[IntArray, IntArray]:
    """The first column of every group of proportional columns, and the group of every column; exact."""
    by_column = matrix.tocsc()
    by_column.sort_indices()
    rows, times = by_column.indices, by_column.data.astype(np.int64)
    seen: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    group = np.zeros(matrix.shape[1], dtype=np.int64)
    for column, (a, b) in enumerate(zip(by_column.indptr[:-1].tolist(), by_column.indptr[1:].tolist(), strict=True)):
        key = (rows[a:b].tobytes(), (times[a:b] // np.gcd.reduce(times[a:b])).tobytes())
        group[column] = seen.setdefault(key, len(seen))
        if group[column] == len(first):
            first.append(column)
    return np.array(first, dtype=np.int64), group


def _condition(matrix: SparseRows) -> tuple[float, bool]:
    """Largest over smallest positive singular value, and whether that is exact.

    The singular values that Lanczos steps from a vector RᵀR z find lie between the smallest positive and the largest.
    """
    from scipy.linalg import eigh_tridiagonal

    if min(matrix.shape) <= _SMALL and matrix.shape[0] * matrix.shape[1] <= 100 * _SMALL**2:
        values = np.linalg.svd(matrix.toarray(), compute_uv=False)
        positive = values[values > values[0] * 1e-10]
        return float(positive[0] / positive[-1]), True
    transposed = matrix.T.tocsr()
    direction = transposed @ (matrix @ np.random.default_rng(0).normal(size=matrix.shape[1]))
    basis = np.zeros((min(_LANCZOS, *matrix.shape), matrix.shape[1]))
    diagonal, beside = np.zeros(len(basis)), np.zeros(len(basis))
    for step in range(len(basis)):
        beside[step] = np.linalg.norm(direction)
        if step and beside[step] <= 1e-8 * diagonal[0]:  # the basis is complete
            basis, diagonal, beside = basis[:step], diagonal[:step], beside[:step]
            break
        basis[step] = direction / beside[step]
        direction = transposed @ (matrix @ basis[step])
        diagonal[step] = basis[step] @ direction
        for _ in range(2):  # once leaves what rounding brings back
            direction -= basis[: step + 1].T @ (basis[: step + 1] @ direction)
    values = eigh_tridiagonal(diagonal, beside[1:], eigvals_only=True)
    return float(np.sqrt(values[-1] / max(values[0], values[-1] * 1e-15))), False


def _pace(matrix: SparseRows, equations: DesignRank, lacking: int, regions: int) -> float:
    """How many regions of the same kind fill the gap at the pace of the second half of them."""
    if not lacking:
        return 0.0
    half = design_rank(matrix[::2])
    gained = equations.rank - half.rank
    return float(np.inf) if gained <= 0 else lacking / gained * (regions - (regions + 1) // 2)


def _shared(matrix: SparseRows, design: SparseRows, open_types: npt.NDArray[np.bool_]) -> int:
    """How many open types have effects of shared features that are determined.

    A random vector of effects is split into what the counts see and the rest; a type is determined where the rest does
    not change its score.
    """
    from scipy.sparse.linalg import lsmr

    merged = MergedColumns.of(design.astype(float)).matrix.tocsc()
    shared = merged[:, np.flatnonzero(np.diff(merged.indptr) > 1)].tocsr()
    drawn = np.random.default_rng(0).normal(size=shared.shape[1])
    if not shared.shape[1]:
        return 0
    product = (matrix @ shared).tocsr()
    seen = lsmr(product, product @ drawn, atol=1e-10, btol=1e-10, conlim=0, maxiter=_LEAST_SQUARES_STEPS)[0]
    scale = np.sqrt(np.asarray((shared**2).sum(axis=1)))
    unseen = np.abs(shared @ (drawn - seen))
    return int((open_types & (scale > 0) & (unseen <= 1e-3 * scale)).sum())
