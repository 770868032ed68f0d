"""Coordinates of standardised covariates, and which columns there are no coordinates for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from askance._arrays import FloatArray
from askance.errors import NotIdentifiedError
from askance.estimation.parameter_scale import Standard
from askance.estimation.problems.basis import Basis
from askance.estimation.problems.conditional import Block, Rows
from askance.models.covariate_sizes import LARGEST, SMALLEST, require_size
from askance.models.softmax import Softmax

# Ê x xᵀ, with columns of size 1: above this share of its largest eigenvalue, the smallest keeps ten digits in the sum.
_GOOD = 1e-6
# Columns are collinear where others leave less than this share of the standard deviation of one (R's `lm` has the same
# limit), or where rounding of the values alone, taken to be so many units in the last place, could be what is left.
_LEFT = 1e-7
_ROUNDING = 2.0**12 * np.finfo(np.float64).eps
# Eigenvalues below this share of the largest are not believed, but looked at again after a change of basis.
_BELIEVED = 1e-10


def find_basis(rows: Rows, model: Softmax) -> Basis | None:
    """A basis of uncorrelated covariates, centred where there is a constant; None where x will do as it is.

    Refuses zero and collinear columns by name, and values whose squares are no numbers.
    """
    first, second = rows.moments
    require_sizes(rows, model, np.diag(second))
    size = np.sqrt(np.diag(second))
    values = np.linalg.eigvalsh(second / np.outer(size, size))
    if values[0] > _GOOD * values[-1]:
        return None
    deviation = np.sqrt(_variances(rows, first))
    constant = deviation <= _ROUNDING * size
    anchors = np.flatnonzero(constant)
    anchor = int(anchors[0]) if anchors.size else None
    origin = np.zeros(len(first)) if anchor is None else np.where(constant, 0.0, first)
    unit = size if anchor is None else np.where(constant, size, deviation)
    basis = Basis(origin, anchor, 1.0 if anchor is None else float(first[anchor]), np.diag(1.0 / unit))
    smallest = 0.0
    while smallest < 0.5:
        values, vectors = np.linalg.eigh(rows.in_basis(basis).moments[1])
        smallest = values[0] / values[-1]
        root = (vectors / np.sqrt(np.maximum(values, _BELIEVED * values[-1]))) @ vectors.T
        basis = Basis(basis.origin, anchor, basis.height, basis.matrix @ root)
        _require_independent(basis, unit, size, model)
    return basis


def _require_independent(basis: Basis, unit: FloatArray, size: FloatArray, model: Softmax) -> None:
    """Refuse a basis with a column, of size 1 at most, that is next to nothing of the columns it is made of.

    Args:
        basis: in which columns have standard deviations of at most 1.
        unit: standard deviations of x (sizes, of constant columns, and where there are none), shape (p,).
        size: √Ê x², shape (p,).
        model: with the names of columns.
    """
    made_of, values = np.abs(basis.matrix) * unit[:, None], np.abs(basis.to_terms) * size[:, None]
    for loads, limit in ((made_of, 1 / _LEFT), (values, 1 / _ROUNDING)):
        lost = loads.sum(axis=0) > limit
        if lost.any():
            involved = (loads[:, lost] > 1e-4 * loads[:, lost].max(axis=0)).any(axis=1)
            raise collinear([term for term, yes in zip(model.terms, involved, strict=True) if yes])


def collinear(names: list[str]) -> NotIdentifiedError:
    """That no data tell these columns apart."""
    return NotIdentifiedError(
        f"the columns {', '.join(map(repr, names))} are collinear: no data can tell their effects apart.",
        remedy="Leave one of them out; where one is constant up to its last digits, subtract a number from it first.",
    )


def require_sizes(rows: Rows, model: Softmax, squares: FloatArray, *, zeros: bool = False) -> None:
    """Refuse values so large or small that their squares are no numbers, and columns of zeros unless allowed.

    Args:
        rows: covariates.
        model: with the names of their columns.
        squares: Ê x² of every column, shape (p,), as far as it is a number.
        zeros: whether columns may be zero in every row.
    """
    if ((squares > SMALLEST**2) & (squares < LARGEST**2)).all():
        return
    top = rows.total(_largest, np.maximum)
    zero = [term for term, value in zip(model.terms, top, strict=True) if value == 0]
    if zero and not zeros:
        raise NotIdentifiedError(
            f"the columns {', '.join(map(repr, zero))} are zero in every row.", remedy="Leave them out."
        )
    for term, value in zip(model.terms, top, strict=True):
        require_size(f"column {term!r}", value)


def _largest(block: Block) -> FloatArray:
    """Of every column, by size, shape (p,)."""
    if isinstance(block.x, np.ndarray):
        return np.asarray(np.abs(block.x).max(axis=0, initial=0.0))
    return np.asarray(abs(block.x).max(axis=0).toarray().ravel())


def _variances(rows: Rows, mean: FloatArray) -> FloatArray:
    """Ê (x − mean)², shape (p,), by differences: squares less a square would have lost them."""
    return np.asarray(rows.total(partial(_squares, mean=mean))[0] / rows.total_weight)


def _squares(block: Block, mean: FloatArray) -> tuple[FloatArray, ...]:
    away = (block.x if isinstance(block.x, np.ndarray) else block.x.toarray()) - mean
    ones = np.ones(len(away)) if block.weights is None else block.weights
    return (ones @ away**2,)


def standardise(rows: Rows, model: Softmax) -> Standard:
    """Coordinates of centred, uncorrelated covariates with standard deviation 1, for rows in a good basis."""
    first, second = rows.moments
    require_sizes(rows, model, np.diag(second))
    A = decorrelated(first, second, model.terms)
    T = np.linalg.inv(A).T
    blocks = np.eye(rows.n_free)
    # 4 I(0), as in `Standard.of_model`: the same whichever output the others are counted from.
    outputs = rows.n_free + 1
    unit = np.asarray(np.kron(4 / outputs * (blocks - 1 / outputs), np.eye(rows.n_terms)), dtype=np.float64)
    return Standard(np.asarray(np.kron(blocks, T)), np.asarray(np.kron(blocks, A.T), dtype=np.float64), unit)


def decorrelated(first: FloatArray, second: FloatArray, terms: Sequence[str]) -> FloatArray:
    """A with x̃ = A x centred, uncorrelated and of size 1, shape (p, p), for Ê x (p,) and Ê x xᵀ (p, p)."""
    variance = np.diag(second) - first**2
    constant = variance <= 1e-12 * np.diag(second)
    # Non-constant columns are centred with the help of a constant one, if there is one, and scaled.
    A = np.diag(1.0 / np.sqrt(np.diag(second)))
    anchor = np.flatnonzero(constant & (first != 0))
    if anchor.size:
        for j in np.flatnonzero(~constant):
            A[j, j] = 1.0 / np.sqrt(variance[j])
            A[j, anchor[0]] = -first[j] / first[anchor[0]] * A[j, j]
    values, vectors = np.linalg.eigh(A @ second @ A.T)
    if values[0] <= _BELIEVED * values[-1]:
        loadings = np.abs(vectors[:, values <= _BELIEVED * values[-1]]).max(axis=1)
        raise collinear([term for term, load in zip(terms, loadings, strict=True) if load > 1e-4])
    # Decorrelated too (by the symmetric root, so that columns keep their meaning): age and age² are correlated however
    # they are scaled, and what the data say must not depend on the origin they are counted from.
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ A)
