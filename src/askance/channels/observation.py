"""The observation function β: an unbiased linear guess of φ(y), built from the channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shorten
from askance._words import words
from askance.errors import NotIdentifiedError
from askance.models.enumerated import weighted_covariance
from askance.models.protocols import FiniteModel

# Singular values below this share of the largest count as zero, and statistics that S misses by more than its square
# root count as unseen. S has entries in [0, 1] known to full precision, so anything smaller is rounding.
_RANK_TOLERANCE = 1e-11


@dataclass(frozen=True)
class ObservationFunction:
    """β(o) = column o of R, where R S = Φ; hence E[β(o) | y] = φ(y).

    Attributes:
        coefficients: R, shape (d, k).
    """

    coefficients: FloatArray

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """μ̂ = R q̂, shape (d,)."""
        return np.asarray(self.coefficients @ frequencies)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Cov β(o) = R (diag q − q qᵀ) Rᵀ for o ~ q, shape (d, d)."""
        return weighted_covariance(self.coefficients, frequencies)


def solve_observation_function(
    model: FiniteModel, S: FloatArray, frequencies: FloatArray | None = None
) -> ObservationFunction:
    """Solve R S = Φ.

    With k > rank S the solution is not unique. With M = Sᵀ D⁻¹ S, B = M⁺ Sᵀ D⁻¹ and a = M⁺1 / (1ᵀM⁺1), the solution

        R = Φ (B + a (1ᵀ − 1ᵀB))

    is the one of least covariance R (D − q qᵀ) Rᵀ for observations that follow q, where D = diag q. The second term
    matters where q̂ is not exactly of the form S p: it gives a constant statistic a constant β, so that shifting a
    statistic, or taking another output as reference, shifts the estimate and does nothing else. Without q, D is the
    identity: the plain solution, Φ S⁺ with the same correction.

    Args:
        model: gives Φ, shape (d, m).
        S: S[o, y] = P(o | y), shape (k, m).
        frequencies: q > 0, shape (k,), or None for the plain solution.

    Raises:
        NotIdentifiedError: some row of Φ is outside the row space of S: that statistic cannot be estimated without
            bias from the observations.
    """
    phi = model.table
    # Rank and row space are those of S itself; weights only choose among several solutions.
    _, values, right = np.linalg.svd(S, full_matrices=False)
    rank = int((values > _RANK_TOLERANCE * values[0]).sum())
    seen = right[:rank]
    # A constant is always seen (columns of S sum to 1), so what counts is the part of a statistic that varies.
    varying = phi - phi.mean(axis=1, keepdims=True)
    unseen = np.linalg.norm(varying - (varying @ seen.T) @ seen, axis=1) / np.linalg.norm(varying, axis=1).clip(1e-300)
    hidden = [name for name, share in zip(model.parameter_names, unseen, strict=True) if share > _RANK_TOLERANCE**0.5]
    if hidden:
        raise NotIdentifiedError(
            f"the channel cannot see {shorten(hidden)}: S has rank {rank} for "
            f"{S.shape[1]} outputs, and no combination of the {S.shape[0]} observations averages to it.",
            remedy=words(
                "Use a channel of full column rank, leave the statistic out, or {method=marginal} or "
                "{method=projection}, which trade unbiasedness for an answer."
            ),
        )
    unique = rank == S.shape[0]
    rows = np.ones(S.shape[0]) if unique or frequencies is None else 1.0 / np.sqrt(frequencies)
    left, values, right = np.linalg.svd(S * rows[:, None], full_matrices=False)
    seen = right[:rank]
    inverse = (seen.T / values[:rank]) @ left[:, :rank].T * rows  # B, (m, k)
    centre = seen.T @ (seen.sum(axis=1) / values[:rank] ** 2)
    correction = np.outer(centre / centre.sum(), 1.0 - inverse.sum(axis=0))
    coefficients = phi @ (inverse + correction)
    return ObservationFunction(np.ascontiguousarray(coefficients))
