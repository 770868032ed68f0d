"""Coordinates of standardised covariates."""

from __future__ import annotations

import numpy as np

from askance.errors import NotIdentifiedError
from askance.estimation.conditional import Rows, add_gram, add_moment
from askance.estimation.standard import Standard
from askance.models.softmax import Softmax


def standardise(rows: Rows, model: Softmax) -> Standard:
    """Coordinates of centred, uncorrelated covariates with standard deviation 1; refuses collinear ones by name."""
    p = rows.n_terms
    gram = np.zeros((1, p, 1, p))
    mean = np.zeros((1, p))
    for block in rows.blocks():
        ones = np.ones(len(block.codes)) if block.weights is None else block.weights
        add_gram(gram, block.x, ones)
        add_moment(mean, block.x, ones)
    second, first = gram[0, :, 0, :] / rows.total_weight, mean[0] / rows.total_weight
    variance = np.diag(second) - first**2
    constant = variance <= 1e-12 * np.diag(second)
    # x̃ = A x: non-constant columns are centred with the help of a constant one, if there is one, and scaled.
    if (np.diag(second) == 0).any():
        zero = [term for term, square in zip(model.terms, np.diag(second), strict=True) if square == 0]
        raise NotIdentifiedError(
            f"the columns {', '.join(map(repr, zero))} are zero in every row.", remedy="Leave them out."
        )
    A = np.diag(1.0 / np.sqrt(np.diag(second)))
    anchor = np.flatnonzero(constant & (first != 0))
    if anchor.size:
        for j in np.flatnonzero(~constant):
            A[j, j] = 1.0 / np.sqrt(variance[j])
            A[j, anchor[0]] = -first[j] / first[anchor[0]] * A[j, j]
    values, vectors = np.linalg.eigh(A @ second @ A.T)
    if values[0] <= 1e-10 * values[-1]:
        loadings = np.abs(vectors[:, values <= 1e-10 * values[-1]]).max(axis=1)
        names = [term for term, load in zip(model.terms, loadings, strict=True) if load > 1e-4]
        raise NotIdentifiedError(
            f"the columns {', '.join(map(repr, names))} are collinear: no data can tell their effects apart.",
            remedy="Leave one of them out.",
        )
    # Decorrelated too (by the symmetric root, so that columns keep their meaning): age and age² are nearly collinear
    # however they are scaled, and what the data say must not depend on the origin they are counted from.
    A = (vectors / np.sqrt(values)) @ vectors.T @ A
    T = np.linalg.inv(A).T
    blocks = np.eye(rows.n_free)
    # 4 I(0), as in `Standard.of_model`: the same whichever output the others are counted from.
    outputs = rows.n_free + 1
    unit = np.asarray(np.kron(4 / outputs * (blocks - 1 / outputs), np.eye(p)), dtype=np.float64)
    return Standard(np.asarray(np.kron(blocks, T)), np.asarray(np.kron(blocks, A.T), dtype=np.float64), unit)
