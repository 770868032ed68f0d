"""Sums over reports with covariates, block by block.

Notation: m outputs, K = m − 1 of them with parameters (the first is the reference), p terms, k observations. For a row
with covariates x and report o: P = p_θ(y|x) and T the target, both without the reference, shape (K,). All objectives
have the gradient Σ w (P − T) ⊗ x and curvatures Σ w V ⊗ x xᵀ for some K × K matrix V of the row. Many rows of two
outputs are summed by `softmax_pass`, which has the words for T and V; everything else by its twin here, `plain_sums`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from askance._arrays import AnyArray, CodeArray, FloatArray, IntArray
from askance._kernels import softmax_pass
from askance._kernels.softmax_pass import EXPECTED, FLAT, NOTHING, OBSERVED, POSTERIOR, PRIOR, SQUARED, TARGET, plain
from askance.channels.finite import FiniteChannel
from askance.design.conditional_covariances import report_information
from askance.estimation.problems.basis import Basis
from askance.evidence.chunks import Chunk
from askance.evidence.held import HeldResponses
from askance.evidence.responses import Responses
from askance.evidence.totals import Keyed, add, merge_keyed, total
from askance.models.softmax import Covariates

#: (Block, P) → curvature of every row: (n,) when K = 1, else (n, K, K).
RowCurvature: TypeAlias = Callable[["Block", FloatArray], FloatArray]
# Posteriors that differ from priors by no more than this are the same: what was told says nothing.
_ROUNDING = 1e-14
#: From about this many rows on, a fit saves what it takes to wake the compiler: half a second.
COMPILED_FROM = 500_000


@dataclass(frozen=True)
class Block:
    """Some rows: covariates (n, p), codes (n,), weights (n,) or None for ones, `squares`, and labels of clusters.

    `squares` are what squared scores count with: multiplicity times squared sampling weight. Collapsed rows are many
    equal reports, weighted ones a single report that counts more. `S` (k, m) says how the reports came about, `targets`
    holds their debiased indicators of the outputs, (k,) when K = 1, else (k, K): blocks of other designs may be among
    them, and `part` says of which a block is. Where S is no law of reports (candidate sets), products of scores stand
    for the expected information.
    """

    x: Covariates
    codes: CodeArray
    weights: FloatArray | None
    squares: FloatArray | None
    clusters: AnyArray | None
    S: FloatArray
    part: int = 0
    targets: FloatArray | None = None
    has_law: bool = True


@dataclass(frozen=True)
class Preparation:
    """What makes blocks of chunks: small, so that it travels to where the rows are.

    Attributes:
        tables: by fingerprint of the channel, and by arm, the place among channels, S and whether it is a law.
        exponent: sampling weights are counted in units of 2 to this,
        scale: and then times this, so that their mean is 1: only their proportions matter.
        targets: debiased indicators of the reports of every part; None of a part: its rows are left out.
        importance: how much rows of every part count.
        basis: what covariates are turned into before they are multiplied; None: they are taken as they are.
    """

    tables: Mapping[Any, tuple[int, FloatArray, bool]]
    exponent: int
    scale: float
    targets: tuple[FloatArray | None, ...] | None = None
    importance: tuple[float, ...] | None = None
    basis: Basis | None = None

    def __call__(self, chunk: Chunk[FiniteChannel]) -> Block:
        """The rows as sums take them."""
        part, S, has_law = self.tables[chunk.arm if chunk.channel is None else chunk.channel.fingerprint]
        targets = None if self.targets is None else self.targets[part]
        if self.targets is not None and targets is None:
            chunk, targets = chunk.take(slice(0, 0)), np.zeros(len(S) if S.shape[1] == 2 else (len(S), S.shape[1] - 1))
        share, own = None, chunk.multiplicity
        if chunk.weights is not None:
            share = np.ldexp(chunk.weights, -self.exponent)
            own = share if own is None else own * share
        weights = None if own is None else plain(own * self.scale)
        squares = weights if weights is None or share is None else plain(weights * share * self.scale)
        codes = plain(chunk.codes, np.uint8 if len(S) <= 256 else np.int64)
        block = Block(chunk.x, codes, weights, squares, chunk.clusters, S, part, targets, has_law)
        return block if self.importance is None else _scaled(block, self.importance[part])

    def turned(self, block: Block) -> Block:
        """A block with covariates in the basis."""
        return block if self.basis is None else replace(block, x=self.basis.covariates(block.x))


@dataclass(frozen=True)
class _Prepared:
    """A function of blocks as one of chunks."""

    preparation: Preparation
    f: Callable[[Block], Any]

    def __call__(self, chunk: Chunk[FiniteChannel]) -> Any:
        return self.f(self.preparation.turned(self.preparation(chunk)))


class Rows:
    """The rows of `Responses` with sums over them.

    Args:
        responses: the evidence.
        n_outputs: m.
        basis: what covariates are turned into before they are multiplied; None: they are taken as they are.
    """

    def __init__(self, responses: Responses, n_outputs: int, basis: Basis | None = None) -> None:
        self.n_free = n_outputs - 1
        self.n_terms = int(responses.head.x.shape[1])
        self.n_rows = responses.n_rows
        dense = isinstance(responses.head.x, np.ndarray)
        few = self.n_free == 1 and self.n_terms <= softmax_pass.MOST_TERMS
        # What is told of no law is judged by scores, where rounding must not count: by the plain sums.
        lawful = all(channel.has_law for channel in responses.channels)
        self.compiled = dense and few and lawful and self.n_rows >= COMPILED_FROM
        self.total_weight = float(responses.n_observations)
        exponent, whole = responses.weighing
        scale = self.total_weight / whole if responses.head.weights is not None else 1.0
        tables = {c.fingerprint: (i, plain(c.matrix), c.has_law) for i, c in enumerate(responses.channels)}
        by_arm: dict[Any, Any] = {arm: tables[channel.fingerprint] for arm, channel in responses.arms.items()}
        self._responses = responses
        self._preparation = Preparation(tables | by_arm, exponent, scale, basis=basis)

    @property
    def basis(self) -> Basis | None:
        """What covariates are turned into."""
        return self._preparation.basis

    def in_basis(self, basis: Basis | None) -> Rows:
        """The same rows, with covariates in another basis."""
        other = self._prepared(basis=basis)
        if "_blocks" in self.__dict__:
            other._blocks = self._blocks
        return other

    def _prepared(self, **changes: Any) -> Rows:
        """The same rows, prepared in another way."""
        other = copy(self)
        for name in ("moments", "first_blocks", "clusters", "_blocks"):
            other.__dict__.pop(name, None)
        other._preparation = replace(self._preparation, **changes)
        return other

    def thinned(self, responses: Responses, share: int) -> Rows:
        """One row in `share`, in the same basis, summed in the same way."""
        other = Rows(responses.thinned(share), self.n_free + 1, self.basis)
        other.compiled = self.compiled
        return other

    def aimed(self, targets: Sequence[FloatArray | None], importance: Sequence[float]) -> Rows:
        """The same rows with the debiased indicators of every report, and parts that count more or less.

        Args:
            targets: of every part; None: it has no unbiased ones, and its rows are left out.
            importance: λ > 0 of every part.
        """
        alike = all(share == 1.0 for share in importance)
        other = self._prepared(
            targets=tuple(None if part is None else plain(part) for part in targets),
            importance=None if alike else tuple(importance),
        )
        if not alike or any(part is None for part in targets):
            other.total_weight = float(other.total(_weight)[0])
        elif "moments" in self.__dict__:
            other.moments = self.moments
        return other

    @cached_property
    def _blocks(self) -> list[Block]:
        """Of rows that are here, made once; in the basis they are made in every pass."""
        return list(map(self._preparation, self._responses.blocks()))

    @cached_property
    def first_blocks(self) -> list[Block]:
        """The first block of every part that has rows."""
        firsts: dict[int, Block] = self.total(_first, _earliest)
        return [firsts[part] for part in sorted(firsts)]

    @cached_property
    def clusters(self) -> AnyArray:
        """Labels of all clusters, in order."""
        return np.asarray(self.total(_labels, np.union1d))

    def total(
        self,
        f: Callable[[Block], Any],
        merge: Callable[[Any, Any], Any] = add,
        by: Callable[[Block], AnyArray] | None = None,
    ) -> Any:
        """Σ of f over all blocks, each of its arrays by itself; `merge` and `by` as in `Responses.total`."""
        if by is not None:
            return self.total(Keyed(f, by), merge_keyed)
        if isinstance(self._responses, HeldResponses):
            return self._responses.total(_Prepared(self._preparation, f), merge)
        return total(map(self._preparation.turned, self._blocks), f, merge)

    def sums(self, coefficients: FloatArray, against: int, curvature: int = FLAT) -> tuple[FloatArray, ...]:
        """Value (), gradient (K, p) and, unless it is flat, curvature (K, p, K, p): one pass; see `softmax_pass`."""
        if not self.compiled:
            plainly = partial(plain_sums, coefficients=coefficients, against=against, curvature=curvature)
            summed: tuple[FloatArray, ...] = self.total(plainly)
            return summed
        theta = plain(np.append(coefficients[0], np.zeros(3)))
        (out,) = self.total(partial(_compiled_sums, theta=theta, against=against, curvature=curvature))
        value, slope, curved = softmax_pass.parts(out)
        sums = value, slope[None, :], curved[None, :, None, :]
        return sums if curvature != FLAT else sums[:2]

    @cached_property
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Ê x, shape (p,), and Ê x xᵀ, shape (p, p)."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            whole = self.total(partial(_moments, compiled=self.compiled))
            first, second = softmax_pass.parts(whole[0])[1:] if self.compiled else whole
            return first / self.total_weight, second / self.total_weight


def _moments(block: Block, compiled: bool) -> tuple[FloatArray, ...]:
    """Σ w x and Σ w x xᵀ; compiled as `softmax_pass.parts` takes them apart."""
    ones = np.ones(len(block.codes)) if block.weights is None else block.weights
    if compiled:
        return (softmax_pass.moments(plain(block.x), plain(ones)),)
    return moment(block.x, ones)[0], gram(block.x, ones)[0, :, 0, :]


def _weight(block: Block) -> tuple[FloatArray, ...]:
    return (np.asarray(float(len(block.codes)) if block.weights is None else block.weights.sum()),)


def _first(block: Block) -> dict[int, Block]:
    return {block.part: block} if len(block.codes) else {}


def _earliest(earlier: dict[int, Block], later: dict[int, Block]) -> dict[int, Block]:
    return later | earlier


def _labels(block: Block) -> AnyArray:
    return np.unique(clusters_of(block))


def clusters_of(block: Block) -> AnyArray:
    """The cluster of every row."""
    return np.asarray(block.clusters)


def some_rows(block: Block, places: IntArray) -> Block:
    """The rows of a block at those places."""
    own = (None if part is None else part[places] for part in (block.weights, block.squares, block.clusters))
    weights, squares, clusters = own
    codes = block.codes[places]
    return replace(block, x=block.x[places], codes=codes, weights=weights, squares=squares, clusters=clusters)


def _scaled(block: Block, share: float) -> Block:
    """A block whose rows count `share` times as much; their squared scores by its square."""
    ones = np.ones(len(block.codes))
    weights = ones if block.weights is None else block.weights
    squares = ones if block.squares is None else block.squares
    return replace(block, weights=plain(share * weights), squares=plain(share**2 * squares))


def plain_sums(block: Block, coefficients: FloatArray, against: int, curvature: int) -> tuple[FloatArray, ...]:
    """Value, gradient and curvature of a block: NumPy, for any number of outputs, and for sparse covariates."""
    z = logits(block, coefficients)
    p, A = softmax(z)
    loss, target = A, None
    if against == POSTERIOR:
        target, q = posterior(block, p, A)
        loss = -np.log(q)
    elif against == TARGET:
        assert block.targets is not None
        target = block.targets[block.codes]
        loss = A - (target * z if z.ndim == 1 else (target * z).sum(axis=1))
    residual = p if target is None else p - target
    value = np.asarray(loss.sum() if block.weights is None else block.weights @ loss)
    slope = moment(block.x, weighted(block, residual))
    if curvature == FLAT:
        return value, slope
    if curvature == SQUARED:
        return value, slope, gram(block.x, times(outer(residual), block.squares))
    if curvature == EXPECTED and not block.has_law:
        scores = np.where(np.abs(residual) > _ROUNDING, residual, 0.0)
        return value, slope, gram(block.x, weighted(block, outer(scores)))
    V = report_information(block.S, p) if curvature == EXPECTED else multinomial_curvature(p)
    if curvature == OBSERVED:
        assert target is not None
        V = V - multinomial_curvature(target)
    return value, slope, gram(block.x, weighted(block, V))


def _compiled_sums(block: Block, theta: FloatArray, against: int, curvature: int) -> tuple[FloatArray]:
    """The same by compiled loops, for two outputs and dense covariates, as `softmax_pass.parts` takes it apart."""
    weights = NOTHING if block.weights is None else block.weights
    squares = NOTHING if block.squares is None else block.squares
    curved = squares if curvature == SQUARED else weights
    targets = NOTHING if block.targets is None else block.targets
    x = plain(block.x)
    return (softmax_pass.sums(x, theta, block.codes, block.S, targets, weights, curved, against, curvature),)


def residuals(block: Block, coefficients: FloatArray, against: int) -> FloatArray:
    """P − T of every row, (n,) or (n, K)."""
    p, A = softmax(logits(block, coefficients))
    if against == PRIOR:
        return p
    if against == POSTERIOR:
        return np.asarray(p - posterior(block, p, A)[0])
    assert block.targets is not None
    return np.asarray(p - block.targets[block.codes])


def logits(block: Block, coefficients: FloatArray) -> FloatArray:
    """x·θ_y without the reference: shape (n,) when K = 1, else (n, K). `coefficients` is θ as (K, p)."""
    if len(coefficients) == 1:
        return np.asarray(block.x @ coefficients[0])
    return np.asarray(block.x @ coefficients.T)


def softmax(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P, of the shape of z, and A = log(1 + Σ exp z), shape (n,)."""
    if z.ndim == 1:
        # exp of minus |z| never overflows. The reference's probability is exp(−A), which keeps its digits.
        small = np.exp(-np.abs(z))
        share = 1.0 / (1.0 + small)
        return np.where(z >= 0, share, small * share), np.maximum(z, 0.0) + np.log1p(small)
    top = np.maximum(z.max(axis=1), 0.0)
    e = np.exp(z - top[:, None])
    total = e.sum(axis=1) + np.exp(-top)
    return e / total[:, None], top + np.log(total)


def posterior(block: Block, p: FloatArray, A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(y | x, o) without the reference, of the shape of p, and q = P(o | x), shape (n,).

    exp(−A) is the probability of the reference; 1 − Σp would lose its digits where it is small.
    """
    S = block.S[block.codes]
    if p.ndim == 1:
        joint = S[:, 1] * p
        q = S[:, 0] * np.exp(-A) + joint
        return joint / q, q
    joint = S[:, 1:] * p
    q = S[:, 0] * np.exp(-A) + joint.sum(axis=1)
    return joint / q[:, None], q


def multinomial_curvature(p: FloatArray) -> FloatArray:
    """diag P − P Pᵀ of every row."""
    if p.ndim == 1:
        return p * (1.0 - p)
    return np.asarray(np.eye(p.shape[1]) * p[:, None, :] - p[:, :, None] * p[:, None, :])


def outer(v: FloatArray) -> FloatArray:
    """v vᵀ of every row."""
    return v * v if v.ndim == 1 else np.asarray(v[:, :, None] * v[:, None, :])


def weighted(block: Block, values: FloatArray) -> FloatArray:
    """Values times the weights of the rows."""
    return times(values, block.weights)


def times(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Values, (n, …), times one weight per row."""
    if weights is None:
        return values
    return np.asarray(values * weights.reshape(-1, *([1] * (values.ndim - 1))))


def moment(x: Covariates, v: FloatArray) -> FloatArray:
    """Σ v ⊗ x, shape (K, p), for v (n,) or (n, K)."""
    return np.asarray(x.T @ v)[None, :] if v.ndim == 1 else np.ascontiguousarray((x.T @ v).T)


def gram(x: Covariates, V: FloatArray) -> FloatArray:
    """Σ V ⊗ x xᵀ, shape (K, p, K, p), for V (n,) or (n, K, K)."""
    if V.ndim == 1:
        return _gram(x, V)[None, :, None, :]
    k, p = V.shape[1], x.shape[1]
    result = np.empty((k, p, k, p))
    for a in range(k):
        for b in range(a, k):
            result[a, :, b, :] = result[b, :, a, :] = _gram(x, V[:, a, b])
    return result


def _gram(x: Covariates, v: FloatArray) -> FloatArray:
    """Σ v x xᵀ, shape (p, p)."""
    if isinstance(x, np.ndarray):
        return np.asarray(x.T @ (x * v[:, None]))
    return np.asarray((x.T @ x.multiply(v[:, None])).toarray())
