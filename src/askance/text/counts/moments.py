"""The moment estimator for region counts: P(tag | word) by least squares, without inference.

Where a tag depends on its word only, the expected number of tags b in a region is the sum of w_ab = P(b | a) over its
words a. Counts are so the responses of a linear regression on how often each type appears, and ŵ is consistent. The
statistics of the node model follow, μ̂ = Σ_a n_a ŵ_ab f(a), and a convex fit to them (`fit_node`) is the tagger.

Methods:

- "printed": min Σ_r Σ_b asked (N_rb − Σ_a R_ra w_ab)², the paper's, at its solution of least norm.
- "ridge": w = ΦV in the space of features, with λ ‖V‖²: rare words learn from similar ones. λ is the mean length of
  regions, as the variance of a count grows with it.
- "simplex": least squares over distributions, shrunk towards the ridge estimate (`simplex_least_squares`).
- "sgd": the paper's equations by stochastic steps, one region at a time.
- "auto": "simplex", which had the lowest error at every window length on held-out sentences.

All but "simplex" may leave the simplex: entries below 10⁻⁴ become 10⁻⁴, and rows are made to sum to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from askance._arrays import AnyArray, SparseRows
from askance._checks import as_count, as_float, number, one_of, require_generator
from askance._threads import one_thread
from askance.errors import EmptyDataError
from askance.text.corpus.regions import RegionCounts
from askance.text.counts.equal_columns import MergedColumns
from askance.text.counts.equations import CountEquations, known_tokens, require_design
from askance.text.counts.held_regions import HeldEquations, HeldRegions
from askance.text.counts.miscounts import MiscountsBy
from askance.text.counts.moment_solver import RidgeSystem, simplex_least_squares

MomentMethod: TypeAlias = Literal["auto", "simplex", "ridge", "printed", "sgd"]

# Chosen on a tenth of the sentences of a training file, never on a test file.
_L2_PER_TOKEN = 1.0
_PULL = 0.5
_DEFAULT_STEPS = {"ridge": 16, "simplex": 20, "printed": 200, "sgd": 10}
_LEAST = 1e-4
# Conjugate gradients stop where residuals are this small, whatever the number of steps.
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class MomentCounts:
    """What counts say of P(tag | type).

    Attributes:
        label_given_token: ŵ, rows sum to 1, shape (T, K). Types that no region covers have the share that their
            features give them, or equal shares where there are none.
        counts: tags by type, by weight, shape (T, K): tokens whose tag is certain, and ŵ for the others that regions
            cover. Rows sum to `RegionCounts.token_counts`.
        method: how ŵ was found.
        l2: λ (0 for methods without it).
    """

    label_given_token: AnyArray
    counts: AnyArray
    method: MomentMethod
    l2: float


@one_thread
def moment_counts(
    regions: RegionCounts | HeldRegions,
    design: SparseRows,
    *,
    method: MomentMethod = "auto",
    l2: float | None = None,
    pull: float = _PULL,
    iterations: int | None = None,
    rng: np.random.Generator | None = None,
    miscounts: MiscountsBy | None = None,
) -> MomentCounts:
    """P(tag | type) from counts.

    Args:
        regions: the counts, here or held by an engine.
        design: Φ, features of the types, shape (T, F); its precision is that of the estimate.
        method: see above.
        l2: λ of "ridge" and of what "simplex" is shrunk towards; default the mean length of regions.
        pull: γ of "simplex".
        iterations: steps of conjugate gradients, for "simplex" steps within the simplex, for "sgd" passes.
        rng: order of the regions, for "sgd".
        miscounts: how often people miscount, for all or by annotator: counts are corrected for it on average
            (`CountEquations`); regions that an engine holds were told before.

    >>> from scipy import sparse
    >>> from askance.text.corpus.corpus import Corpus
    >>> from askance.text.corpus.regions import Region
    >>> corpus = Corpus.of([["the", "dog"], ["the", "cat"], ["dog", "cat"]] * 30)
    >>> told = [Region(s, 0, 2, {"N": 2} if s % 3 == 2 else {"D": 1, "N": 1}) for s in range(90)]
    >>> regions = RegionCounts.of(corpus, ["D", "N"], told)
    >>> moment_counts(regions, sparse.csr_array(np.eye(3))).label_given_token.round(2)
    array([[1., 0.],
           [0., 1.],
           [0., 1.]])
    """
    _check(method, l2, pull)
    chosen: MomentMethod = "simplex" if method == "auto" else method
    equations: CountEquations | HeldEquations
    if isinstance(regions, HeldRegions):
        one_of(method, ("auto", "simplex", "ridge", "printed"), "method", "Steps along one region at a time need all.")
        equations, known = HeldEquations(regions, design.dtype), regions.known
    else:
        regions = regions.with_positive_weight()
        if not len(regions):
            raise EmptyDataError("there are no regions.", remedy="Give at least one.")
        require_design(design, regions)
        equations = CountEquations.of(regions, dtype=design.dtype, merge_single=chosen != "sgd", miscounts=miscounts)
        known = known_tokens(regions, miscounts)
    steps = as_count(_DEFAULT_STEPS[chosen] if iterations is None else iterations, "iterations")
    strength = 0.0
    if chosen in ("printed", "sgd"):
        if chosen == "sgd" and isinstance(equations, CountEquations):
            solution = _stochastic(equations, steps, rng)
        else:
            solution = _printed(equations, steps)
        estimate = np.full((design.shape[0], len(regions.tagset)), 1 / len(regions.tagset), dtype=design.dtype)
        estimate[equations.types] = _distributions(solution)
    else:
        strength = default_l2(equations) if l2 is None else float(l2)
        first = steps if chosen == "ridge" else _DEFAULT_STEPS["ridge"]
        raw, covered = _ridge(equations, design, strength, first)
        estimate = _distributions(raw)
        if chosen == "simplex":
            estimate[equations.types] = simplex_least_squares(equations, covered, float(pull), steps)
    unsure = np.maximum(regions.token_counts - known.sum(axis=1), 0)  # weights may leave what rounding left
    counts = (known + estimate * unsure[:, None]).astype(design.dtype)
    return MomentCounts(estimate, counts, chosen, strength)


def default_l2(equations: CountEquations | HeldEquations) -> float:
    """λ where none is given."""
    return _L2_PER_TOKEN * equations.mean_length


def feature_equations(
    equations: CountEquations | HeldEquations, design: SparseRows, l2: float
) -> tuple[RidgeSystem, MergedColumns]:
    """The ridge regression on features, with equal columns of Φ as one."""
    merged = MergedColumns.of(design[equations.types])
    return equations.system(merged.matrix, l2), merged


def _ridge(
    equations: CountEquations | HeldEquations, design: SparseRows, l2: float, steps: int
) -> tuple[AnyArray, AnyArray]:
    """ΦV for all types, and for those that regions cover."""
    system, merged = feature_equations(equations, design, l2)
    solution = system.solve(system.of_features(equations.target), steps, _TOLERANCE)
    covered = np.asarray(merged.matrix @ solution)
    if len(equations.types) == design.shape[0]:
        return covered, covered
    everywhere = np.asarray(design @ merged.expand(solution))
    everywhere[equations.types] = covered
    return everywhere, covered


def _printed(equations: CountEquations | HeldEquations, steps: int) -> AnyArray:
    """Least squares on types, of least norm."""
    return equations.system(None, 0.0).solve(equations.target.copy(), steps, _TOLERANCE)


def _stochastic(equations: CountEquations, passes: int, rng: np.random.Generator | None) -> AnyArray:
    """Least squares on types by steps along one region at a time, shorter from pass to pass."""
    order = require_generator(rng)
    matrix = equations.matrix
    solution = np.zeros((matrix.shape[1], equations.response.shape[1]), dtype=matrix.dtype)
    ends = matrix.indptr.tolist()
    norms = matrix.multiply(matrix).sum(axis=1).tolist()
    # No step is longer than that of a plain count: a common factor of all weights changes nothing.
    weights = equations.weights
    weights = None if weights is None else weights / max(weights.max(initial=0), 1)
    for turn in range(passes):
        pace = 1 / np.sqrt(1 + turn)
        for r in order.permutation(matrix.shape[0]).tolist():
            entries = slice(ends[r], ends[r + 1])
            columns, times = matrix.indices[entries], matrix.data[entries]
            misfit = equations.response[r] - times @ solution[columns]
            if weights is not None:
                misfit *= weights[r]
            solution[columns] += np.outer(times, misfit * (pace / norms[r])).astype(matrix.dtype)
    return solution


def _distributions(table: AnyArray) -> AnyArray:
    """Rows without small or negative entries, that sum to 1."""
    positive = np.maximum(table, _LEAST)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True), dtype=table.dtype)


def _check(method: str, l2: float | None, pull: float) -> None:
    one_of(method, get_args(MomentMethod), "method", 'Try "auto".')
    if l2 is not None:
        number(as_float(l2, "l2"), "l2", 0, open=True, remedy="Leave it out for the default.")
    number(as_float(pull, "pull"), "pull", 0, remedy="0.5 suits most corpora.")
