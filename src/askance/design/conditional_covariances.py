"""Asymptotic covariances with covariates: averages over a sample of x of what one report tells about the logits.

Notation: m outputs, K = m − 1 of them with parameters (the first is the reference), p terms, k observations; P is
p_θ(y|x) without the reference. Every matrix here is Ê V ⊗ x xᵀ for some K × K matrix V of the row, shape (d, d) with
d = K p.
"""

from __future__ import annotations

import numpy as np

from askance._arrays import ArrayLike, FloatArray
from askance._checks import as_parameter, shape
from askance._threads import one_thread
from askance.channels.finite import FiniteChannel
from askance.design.covariances import Asymptotics, Weighting, invert_information, observation_function
from askance.errors import EmptyDataError, InputError, MissingValueError, NotIdentifiedError
from askance.models.covariate_sizes import require_size
from askance.models.enumerated import Enumerated
from askance.models.softmax import Covariates, Softmax

# A column whose part outside the span of the columns before it is below this share of its length counts as collinear.
_COLLINEAR = 1e-9
# Above this share, products of columns keep nine digits.
_WELL_APART = 1e-3


@one_thread
def conditional_asymptotics(
    model: Softmax,
    channel: FiniteChannel,
    theta: ArrayLike,
    x: Covariates,
    weights: ArrayLike | None = None,
    *,
    weighting: Weighting = "best",
) -> Asymptotics:
    """Σ_full, Σ_marg, Σ_mom and H of a softmax model seen through a channel, averaged over a sample of x.

    Full information Ê (diag P − P Pᵀ) ⊗ xxᵀ; of a report, Ê Σ_o u_o u_oᵀ / q_o ⊗ xxᵀ with u_o = P ∘ (S_o − q_o) and
    q = S p; Σ_mom = I⁻¹ Ê [Cov(β | x) ⊗ xxᵀ] I⁻¹ with β the debiased indicators of the outputs.

    Args:
        model: d = (m − 1) p parameters.
        channel: S over the outputs of the model.
        theta: where, shape (d,).
        x: a sample of the covariates, shape (n, p).
        weights: how much each row of x counts, at least 0, shape (n,) (default: all alike).
        weighting: which β where several are unbiased.

    Raises:
        NotIdentifiedError: columns of x are collinear, or the channel tells nothing about some parameter.

    >>> from askance import Softmax, Warner
    >>> x = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> result = conditional_asymptotics(Softmax(["no", "yes"], ["Intercept", "female"]), Warner("3/4"), [0.0, 0.0], x)
    >>> result.full, result.marginal
    (array([[ 8., -8.], [-8., 16.]]), array([[ 32., -32.], [-32.,  64.]]))
    """
    theta = as_parameter(theta, model.dimension)
    indicators = Enumerated.saturated(model.outputs)
    channel.require_outputs_of(indicators)
    dense, shares = read_sample(x, weights, model.terms)
    p = model.probabilities(theta, dense)[:, 1:]
    # Σ of θ from Σ̃ of θ̃, where x·θ = z·θ̃: columns are made uncorrelated before they are multiplied.
    z, to_theta, to_inner = _uncorrelated(dense, shares, p.shape[1])
    information = average(np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :], z, shares)
    full = invert_information(information, model.parameter_names, "the model")
    S = channel.matrix
    told = report_information(S, p[:, 0] if p.shape[1] == 1 else p).reshape(len(p), p.shape[1], p.shape[1])
    marginal = invert_information(average(told, z, shares), model.parameter_names, f"the channel {channel.kind}")
    q = (1.0 - p.sum(axis=1)).clip(0.0)[:, None] * S[:, 0] + p @ S[:, 1:].T
    try:
        R = observation_function(indicators, channel, shares @ q, weighting).coefficients
    except NotIdentifiedError:
        return Asymptotics(to_theta @ full @ to_theta.T, to_theta @ marginal @ to_theta.T, None, None)
    spread = np.einsum("no,ao,bo->nab", q, R, R) - p[:, :, None] * p[:, None, :]
    total = average(spread, z, shares)
    moments = to_theta @ full @ total @ full @ to_theta.T
    excess = to_inner.T @ (total - information) @ to_inner
    return Asymptotics(to_theta @ full @ to_theta.T, to_theta @ marginal @ to_theta.T, moments, excess)


def _uncorrelated(x: FloatArray, shares: FloatArray, outputs: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """z with x = z R and Ê zzᵀ = I, from a QR decomposition; I ⊗ R⁻¹, which turns θ̃ into θ, and I ⊗ R, (d, d) each.

    Products of columns that are far from 0, as years are, would lose the digits that tell one year from the next.
    """
    size = np.sqrt(shares @ x**2)
    _, R = np.linalg.qr(x / size * np.sqrt(shares)[:, None])

    def for_every_output(matrix: FloatArray) -> FloatArray:
        return np.asarray(np.kron(np.eye(outputs), matrix), dtype=np.float64)

    if np.abs(np.diag(R)).min() > _WELL_APART:
        return x, for_every_output(np.eye(len(size))), for_every_output(np.eye(len(size)))
    inverse = np.linalg.inv(R)
    return np.asarray((x / size) @ inverse), for_every_output(inverse / size[:, None]), for_every_output(R * size)


def report_information(S: FloatArray, p: FloatArray) -> FloatArray:
    """Σ_o (1/q_o) u_o u_oᵀ with u_o = P ∘ (S_o − q_o): what one report tells about the logits; (n,) or (n, K, K)."""
    if p.ndim == 1:
        total = np.zeros_like(p)
        for o in range(len(S)):
            difference = S[o, 1] - S[o, 0]
            if difference:
                q = S[o, 0] * (1.0 - p) + S[o, 1] * p
                total += np.where(q > 0, difference**2 / np.where(q > 0, q, 1.0), 0.0)
        return np.asarray((p * (1.0 - p)) ** 2 * total)
    reference = (1.0 - p.sum(axis=1)).clip(0.0)
    information = np.zeros((*p.shape, p.shape[1]))
    for o in range(len(S)):
        q = S[o, 0] * reference + p @ S[o, 1:]
        u = p * (S[o, 1:] - q[:, None]) / np.sqrt(np.where(q > 0, q, 1.0))[:, None]
        information += u[:, :, None] * u[:, None, :]
    return information


def average(V: FloatArray, x: FloatArray, shares: FloatArray) -> FloatArray:
    """Ê V ⊗ x xᵀ for V (n, K, K), x (n, p) and weights that sum to 1; shape (K p, K p).

    >>> average(np.ones((2, 1, 1)), np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([0.5, 0.5]))
    array([[1., 1.],
           [1., 2.]])
    """
    size, terms = V.shape[1], x.shape[1]
    total = np.empty((size, terms, size, terms))
    for a in range(size):
        for b in range(a + 1):
            total[a, :, b, :] = total[b, :, a, :] = x.T @ (x * (shares * V[:, a, b])[:, None])
    return total.reshape(size * terms, size * terms)


def read_sample(x: Covariates, weights: ArrayLike | None, terms: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
    """A sample of x as a dense array (n, p), and weights that sum to 1, (n,); refuses collinear columns."""
    dense = np.asarray(x.toarray() if hasattr(x, "toarray") else x, dtype=np.float64)
    remedy = "Give a sample of the covariates, with a column of ones for the intercept."
    shape(dense, ("rows", len(terms)), "x", remedy, f"one column per term ({', '.join(terms)})")
    if not len(dense):
        raise EmptyDataError("has no rows", argument="x", remedy="Give a sample of the covariates, or describe them.")
    if not np.isfinite(dense).all():
        row, column = np.argwhere(~np.isfinite(dense))[0]
        raise MissingValueError(
            f"x[{row}] has {terms[column]} = {dense[row, column]}.", remedy="Drop or fill incomplete rows first."
        )
    counts = np.ones(len(dense)) if weights is None else np.asarray(weights, dtype=np.float64)
    if counts.shape != (len(dense),) or not np.isfinite(counts).all() or counts.min() < 0 or not counts.any():
        raise InputError(
            f"weights have shape {counts.shape} for {len(dense)} rows, or are not finite, or below 0, or all 0.",
            remedy="Give one weight per row of x, or leave them out.",
        )
    for term, largest in zip(terms, np.abs(dense).max(axis=0), strict=True):
        require_size(f"column {term!r}", largest)
    _refuse_collinear(dense[counts > 0], terms)
    counts = counts / counts.max()  # the sum of numbers near the largest there is would be no number
    return dense, counts / counts.sum()


def _refuse_collinear(x: FloatArray, terms: tuple[str, ...]) -> None:
    lengths = np.sqrt((x**2).sum(axis=0))
    _, R = np.linalg.qr(x / np.where(lengths > 0, lengths, 1.0))
    diagonal = np.zeros(len(terms))
    diagonal[: min(R.shape)] = np.abs(np.diag(R))
    for j in np.flatnonzero(diagonal < _COLLINEAR):
        others = terms[:j]
        what = "is 0 in every row" if lengths[j] == 0 else f"is a combination of {', '.join(map(repr, others))}"
        raise NotIdentifiedError(
            f"in x the column {terms[j]!r} {what} ({len(x)} rows): its coefficient cannot be told apart, whatever the "
            "number of respondents.",
            remedy=f"Leave {terms[j]!r} out: the other columns can be planned for; or give an x in which it varies.",
        )
