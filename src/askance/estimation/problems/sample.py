"""The respondents that a fit is averaged over: covariates, how many have them, and their weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from askance._arrays import AnyArray, ArrayLike, FloatArray, IntArray
from askance._checks import is_missing, shape, shorten, shown
from askance.errors import EmptyDataError, InputError, MissingValueError, ShapeError
from askance.estimation.problems.basis import Basis
from askance.evidence.chunks import in_proportion
from askance.evidence.responses import Responses
from askance.evidence.strata import Strata
from askance.evidence.totals import Keyed, add, blocks_of, merge_keyed, total
from askance.models.count_means import CountMeans
from askance.models.hidden import HiddenVariables
from askance.models.softmax import Covariates, Softmax

#: More groups than this are a continuous column by mistake.
MOST_GROUPS = 1000
#: Names under which people, R and other libraries keep the column of ones.
INTERCEPT_NAMES = frozenset({"intercept", "(intercept)", "const", "constant", "_cons"})


@dataclass(frozen=True)
class Piece:
    """Some rows: covariates (n, p), how many respondents each stands for, their weight, and codes of clusters."""

    x: Covariates
    count: FloatArray
    weight: FloatArray
    clusters: IntArray | None
    labels: AnyArray | None = None

    @property
    def total(self) -> FloatArray:
        """Respondents times weight, shape (n,)."""
        return self.count * self.weight


@dataclass(frozen=True)
class Sample:
    """Respondents in pieces; the rows of all pieces are numbered through.

    Attributes:
        pieces: covariates as they were given, counts, weights and clusters.
        basis: that θ is about; None: θ is about the covariates as they were given.
        strata: of the clusters, where they were drawn from strata.
    """

    pieces: tuple[Piece, ...]
    basis: Basis | None = None
    strata: Strata | None = None

    @classmethod
    def of_evidence(cls, evidence: Responses) -> Sample:
        """Those who gave the reports, with their multiplicities, weights and clusters."""
        clusters: list[IntArray | None] = [None] * len(evidence.chunks)
        strata: Strata | None = None
        if any(chunk.clusters is not None for chunk in evidence.chunks):
            labels = [np.asarray(chunk.clusters) for chunk in evidence.chunks]
            names, codes = np.unique(np.concatenate(labels), return_inverse=True)
            codes = codes.reshape(-1)
            strata = None if evidence.strata is None else evidence.strata.of(names)
            clusters = list(np.split(codes, np.cumsum([len(part) for part in labels])[:-1]))
        pieces = []
        shares = in_proportion([chunk.weights for chunk in evidence.chunks])
        for chunk, share, cluster in zip(evidence.chunks, shares, clusters, strict=True):
            ones = np.ones(len(chunk.codes))
            count = ones if chunk.multiplicity is None else np.asarray(chunk.multiplicity, dtype=np.float64)
            pieces.append(Piece(chunk.x, count, ones if share is None else share, cluster))
        return cls(tuple(pieces), strata=strata)

    @classmethod
    def of_matrix(cls, x: Covariates, weights: ArrayLike | None = None) -> Sample:
        """One respondent per row of x (checked already), with sampling weights."""
        ones = np.ones(x.shape[0])
        if weights is None:
            return cls((Piece(x, ones, ones, None),))
        values = np.asarray(weights, dtype=np.float64)
        shape(values, ones.shape, "weights", "Give one weight per row.", f"for {len(ones)} rows of x")
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise InputError(
                f"weights are between {values.min()} and {values.max()}; allowed: above 0, finite.",
                remedy="Leave out respondents of weight 0.",
            )
        (share,) = in_proportion([values])
        assert share is not None
        return cls((Piece(x, ones, share, None),))

    def covariates(self, block: Piece) -> Covariates:
        """Those that θ is about, shape (n, p)."""
        return block.x if self.basis is None else self.basis.covariates(block.x)

    def direction(self, j: int) -> FloatArray:
        """How they change with column j of x, shape (p,)."""
        if self.basis is not None:
            return np.asarray(self.basis.to_terms[j])
        unit = np.zeros(self.n_columns)
        unit[j] = 1.0
        return unit

    def blocks(self) -> Iterator[tuple[Piece, slice]]:
        """Piece by piece in blocks that stay in the cache, each with its place among all rows."""
        start = 0
        for piece in self.pieces:
            n = len(piece.count)
            for part in blocks_of(n):
                clusters = None if piece.clusters is None else piece.clusters[part]
                block = Piece(piece.x[part], piece.count[part], piece.weight[part], clusters)
                yield block, slice(start + part.start, start + part.stop)
            start += n

    def total(
        self,
        f: Callable[[Piece, slice], Any],
        merge: Callable[[Any, Any], Any] = add,
        by: Callable[[Piece, slice], AnyArray] | None = None,
    ) -> Any:
        """Σ of f over all blocks and their places, each of its arrays by itself; `merge` and `by` as in `Responses`."""
        return self._sum(f, merge) if by is None else self._sum(Keyed(f, by), merge_keyed, by_cluster=True)

    def _sum(self, f: Callable[[Piece, slice], Any], merge: Callable[[Any, Any], Any], by_cluster: bool = False) -> Any:
        """The loop over blocks; what is keyed asks for clusters."""
        return total(self.blocks(), partial(_apart, f), merge)

    @property
    def has_clusters(self) -> bool:
        """Whether respondents were drawn in clusters."""
        return self.pieces[0].clusters is not None

    @property
    def n_columns(self) -> int:
        """p."""
        return int(self.pieces[0].x.shape[1])

    @cached_property
    def ranges(self) -> tuple[FloatArray, FloatArray, AnyArray]:
        """Of every column of x the lowest and the highest value, and whether there are no others than 0 and 1; (p,)."""
        lowest, highest, others = self.total(_ranges, np.minimum)
        return lowest, -highest, others == 0

    @property
    def n_rows(self) -> int:
        """Rows, collapsed ones counted once."""
        return sum(len(piece.count) for piece in self.pieces)

    def column(self, j: int) -> FloatArray:
        """Column j of x over all rows."""
        return np.concatenate([column_of(piece.x, j) for piece in self.pieces])


def _apart(f: Callable[[Piece, slice], Any], block: tuple[Piece, slice]) -> Any:
    return f(*block)


def _ranges(block: Piece, place: slice) -> FloatArray:
    """Lowest, −highest and −(whether some value is neither 0 nor 1) of every column, shape (3, p)."""
    x = block.x
    if not len(block.count):
        return np.stack([np.full(x.shape[1], np.inf), np.full(x.shape[1], np.inf), np.zeros(x.shape[1])])
    others = abs(x * x - x) if isinstance(x, np.ndarray) else abs(x.multiply(x) - x)
    columns = (x.min(axis=0), -x.max(axis=0), -others.max(axis=0))
    return np.stack([np.asarray(c if isinstance(c, np.ndarray) else c.toarray()).ravel() for c in columns])


class BlockCodes(Protocol):
    """Groups that follow from the rows themselves, wherever they are."""

    def of(self, block: Piece) -> IntArray:
        """The group of every row, shape (n,)."""


def groups_of(codes: IntArray | BlockCodes, block: Piece, place: slice) -> IntArray:
    """The group of every row of a block, shape (n,)."""
    return codes[place] if isinstance(codes, np.ndarray) else codes.of(block)


def column_of(x: Covariates, j: int) -> FloatArray:
    """Column j of a dense or sparse matrix, shape (n,)."""
    return np.asarray(x[:, j] if isinstance(x, np.ndarray) else x[:, [j]].toarray().ravel(), dtype=np.float64)


def is_matrix(x: Any) -> bool:
    """Whether x is an array of numbers (or lists of them) or a sparse matrix, not a table with named columns."""
    if isinstance(x, np.ndarray):
        return x.dtype.names is None
    return isinstance(x, list | tuple) or hasattr(x, "tocsr")


def matrix_of(x: Any, model: Softmax | HiddenVariables | CountMeans, design: Any) -> Covariates:
    """Covariates as the caller has them: an array, or, where the fit knows its formula, a table with named columns."""
    if is_matrix(x):
        return read_matrix(x, model)
    if design is None:
        raise InputError(
            f"x is a {type(x).__name__}, and this fit does not know how its columns make up the terms; allowed: an "
            f"array with the columns {shorten(model.terms)}.",
            remedy="Make the array, or fit with a formula: a loaded fit has the one it was fitted with.",
        )
    return read_matrix(design.matrix(x), model)


def without_covariates(asked: str, model: Softmax | HiddenVariables | CountMeans, design: Any) -> InputError:
    """That a loaded fit has nobody to average over."""
    return InputError(
        f"{asked} needs the covariates, which are never written to a file with a fit.",
        remedy=f"Give them: fit.{asked}(x), with the columns "
        f"{shorten(getattr(design, 'columns', None) or model.terms)}.",
    )


def read_matrix(x: Any, model: Softmax | HiddenVariables | CountMeans) -> Covariates:
    """Check covariates given by the caller: a table of finite numbers with the columns of the model."""
    if hasattr(x, "tocsr"):
        matrix = x.tocsr()
        values = matrix.data
    else:
        try:
            values = matrix = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("x holds something that is not a number.", remedy="Give numbers only.") from None
    remedy = "Give one column per term, in this order; a single respondent is a table of one row."
    terms = model.covariates if isinstance(model, HiddenVariables) else model.terms
    shape(matrix, ("rows", len(terms)), "x", remedy, f"the columns {shorten(terms)}")
    if not matrix.shape[0]:
        raise EmptyDataError("x has no rows.", remedy="Give at least one respondent.")
    if not np.isfinite(values).all():
        raise MissingValueError(
            f"x holds {values[~np.isfinite(values)][0]}.", remedy="Drop or fill incomplete rows first, and count them."
        )
    return matrix


def without_intercept(model: Softmax, sample: Sample) -> list[int]:
    """The columns of x but the intercept: it is known by its name, or else by being constant and not 0."""
    named = [j for j, term in enumerate(model.terms) if term.lower() in INTERCEPT_NAMES]
    if named:
        return [j for j in range(len(model.terms)) if j not in named]
    lowest, highest, _ = sample.ranges
    return np.flatnonzero((lowest != highest) | (lowest == 0)).tolist()


def find_terms(model: Softmax, terms: Sequence[str]) -> list[int]:
    """The columns of the named terms."""
    for term in terms:
        if term not in model.terms:
            raise InputError(
                f"there is no term {term!r}; allowed: {shorten(model.terms)}.", remedy="Name columns of x."
            )
    return [model.terms.index(term) for term in terms]


def is_binary(column: FloatArray) -> bool:
    """Whether a column holds nothing but 0 and 1."""
    return bool(((column == 0) | (column == 1)).all())


def group_rows(
    sample: Sample, by: Any, model: Softmax, data: Any = None, *, has_x: bool
) -> tuple[tuple[Any, ...], IntArray]:
    """Labels of the groups, and for every row the number of its group.

    Args:
        sample: the respondents.
        by: nothing, the name or number of a column of x, the name of a column of `data`, or one label per row.
        model: names the columns of x.
        data: the table with named columns that x was made from, if any.
        has_x: whether the caller gave x, so that labels can belong to its rows.
    """
    if by is None:
        return ("all",), np.zeros(sample.n_rows, dtype=np.int64)
    labels = _labels_of(sample, by, model, data, has_x=has_x)
    if labels.shape != (sample.n_rows,):
        raise ShapeError(
            f"has shape {labels.shape} for {sample.n_rows} rows of x", argument="by", remedy="Give one label per row."
        )
    if labels.dtype.kind in "OU":  # blanks at the ends are not seen: with them one group would be two
        labels = np.frompyfunc(lambda label: label.strip() if isinstance(label, str) else label, 1, 1)(labels)
    if any(map(is_missing, labels.tolist())):
        raise MissingValueError(
            "holds missing labels", argument="by", remedy="Leave these rows out, or name their group."
        )
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError("by mixes texts and numbers.", remedy="Turn all labels into texts.") from None
    if len(names) > MOST_GROUPS:
        raise InputError(
            f"has {len(names)} different values",
            argument="by",
            allowed=f"at most {MOST_GROUPS}",
            remedy="Cut the values into brackets, and give their labels.",
        )
    return tuple(label_of(name) for name in names.tolist()), np.asarray(codes.reshape(-1), dtype=np.int64)


def _labels_of(sample: Sample, by: Any, model: Softmax, data: Any, *, has_x: bool) -> AnyArray:
    names = _column_names(data)
    if isinstance(by, str) and by in names:
        column = data[by]
        if np.any(getattr(column, "missing", False)):
            raise MissingValueError(f"column {by!r} holds missing labels.", remedy="Leave these rows out.")
        values = getattr(column, "values", column)
        return np.asarray(column if callable(values) else values)
    if isinstance(by, str):
        if by not in model.terms:
            known = dict.fromkeys([*names, *model.terms])
            raise InputError(
                argument="by",
                got=shown(by),
                allowed=f"{shorten(list(known))}, or one label per row of x",
                remedy="Put it into the formula: a model that does not know the groups cannot tell their shares apart.",
            )
        return sample.column(model.terms.index(by))
    if isinstance(by, int | np.integer) and not isinstance(by, bool):
        if not 0 <= by < len(model.terms):
            raise InputError(
                f"is column {by}",
                argument="by",
                allowed=f"0 to {len(model.terms) - 1}",
                remedy="Columns are counted from 0.",
            )
        return sample.column(int(by))
    if not has_x:
        raise InputError(
            "is an array of labels, but the stored reports have no order that labels could follow",
            argument="by",
            remedy="Give x together with by, or name a column of x.",
        )
    return np.asarray(by)


def _column_names(data: Any) -> list[str]:
    if data is None:
        return []
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    if isinstance(data, np.ndarray):
        return list(data.dtype.names or ())
    # Arrow, this library, pandas and polars, in this order: Arrow's `columns` are the columns themselves.
    listed = (getattr(data, name) for name in ("column_names", "names", "columns") if hasattr(data, name))
    return [str(name) for name in next(listed, ())]


def label_of(label: Any) -> Any:
    """1 instead of 1.0."""
    return int(label) if isinstance(label, float) and label.is_integer() else label
