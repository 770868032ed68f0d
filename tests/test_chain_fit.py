"""Fits of a chain, against SciPy on sums over all tag sequences: optima, starts, equal columns, penalties."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import optimize, sparse

from askance._arrays import AnyArray, FloatArray
from askance.text.chain.counts import CountEvidence
from askance.text.chain.evidence import AllowedEvidence, ChainObjective, Evidence, LabelledEvidence
from askance.text.chain.fit import ChainFit, ChainParameters, ChainProblem
from askance.text.chain.potentials import ChainPotentials
from tests.brute_force_chain import (
    BruteForce,
    Chain,
    Known,
    has_allowed,
    has_tags,
    is_counted,
    random_chain,
    random_regions,
)
from tests.chain_fits import fit_chain

L2 = 0.4
# Of a fit to the last digits: the objective is found to about the square of this, relative.
STRICT: dict[str, Any] = {"tolerance": 1e-13, "max_iterations": 2_000}


@dataclass(frozen=True, eq=False)
class Problem:
    """A fit: features of words, evidence, and the same evidence as stretches and what is known of them."""

    chain: Chain
    designs: dict[int, sparse.csr_array]
    evidence: Sequence[Evidence]
    known: Sequence[tuple[int, int, Known, float]]

    @property
    def objective(self) -> ChainObjective:
        return ChainObjective(self.evidence, self.chain.potentials.places, self.chain.kinds, 1)

    @property
    def columns(self) -> int:
        return sum(design.shape[1] for design in self.designs.values())

    def unpack(self, point: FloatArray) -> ChainParameters:
        """Parameters from one flat array."""
        kinds = self.chain.kinds
        rows = point.reshape(-1, kinds)
        return ChainParameters(rows[: self.columns], rows[self.columns : -2], rows[-2], rows[-1])

    def brute_force(self, point: FloatArray) -> tuple[float, FloatArray]:
        """λ/2 ‖θ‖² − L and its gradient, of one flat array."""
        given, tables, first = self.unpack(point), {}, 0
        for d, design in self.designs.items():
            tables[d] = design.toarray() @ given.theta[first : first + design.shape[1]]
            first += design.shape[1]
        scores = ChainPotentials(self.chain.potentials.places, tables, given.edges, given.first, given.last)
        found = BruteForce(scores)
        for start, end, known, weight in self.known:
            found.add(start, end, known, weight)
        theta = [design.toarray().T @ found.tables[d] for d, design in self.designs.items()]
        gradient = np.concatenate([*theta, found.pairs, found.first[None], found.last[None]]).ravel()
        return L2 / 2 * float(point @ point) - found.value, L2 * point - gradient


def flat(parameters: ChainParameters) -> FloatArray:
    """All parameters in one array."""
    rows = [parameters.theta, parameters.edges, parameters.first[None], parameters.last[None]]
    return np.concatenate(rows).ravel()


def one_hot(chain: Chain) -> AnyArray:
    """A column for every word, and one that all words have; no word has none, shape (T + 1, T + 1)."""
    types = chain.potentials.places.types
    table = np.hstack([np.eye(types + 1)[:, :types], np.ones((types + 1, 1))])
    table[-1] = 0
    return table


def with_twins(chain: Chain) -> AnyArray:
    """The same with columns that are there twice and three times, and one of zeros."""
    table = one_hot(chain)
    return np.hstack([table, table[:, [0, 1, 0]], np.zeros((len(table), 1))])


def labels(chain: Chain, table: Callable[[Chain], AnyArray] = one_hot) -> Problem:
    """All labels are known."""
    tags, layout = chain.corpus.require_tags(), chain.layout()
    designs = {d: sparse.csr_array(table(chain)) for d in chain.potentials.places.rows}
    weight = chain.rng.integers(1, 4, size=len(layout.start)) / 2
    evidence = LabelledEvidence(chain.potentials.places, layout, tags, chain.kinds, weight)
    rows = zip(layout.start.tolist(), layout.end.tolist(), weight, strict=True)
    return Problem(chain, designs, [evidence], [(a, b, has_tags(tags[a:b]), w) for a, b, w in rows])


def everything(chain: Chain) -> Problem:
    """Labels of all sentences, allowed tags of all sentences, counts of some regions."""
    plain, layout, regions = labels(chain), chain.layout(), random_regions(chain, 4, whole=True)
    allowed = chain.rng.random((chain.corpus.n_tokens, chain.kinds)) < 0.5
    allowed[np.arange(len(allowed)), chain.corpus.require_tags()] = True
    known = list(plain.known)
    known += [(a, b, has_allowed(allowed[a:b]), 1.0) for a, b in zip(layout.start, layout.end, strict=True)]
    for r in range(len(regions)):
        start, end = int(regions.start[r]), int(regions.end[r])
        known.append((start, end, is_counted(regions, r, start), regions.weights[r]))
    evidence = [*plain.evidence, AllowedEvidence(layout, allowed), CountEvidence(regions, context=0)]
    return Problem(chain, plain.designs, evidence, known)


def small(seed: int, kinds: int = 2, radius: int = 0) -> Chain:
    return random_chain(np.random.default_rng(seed), [3, 1, 2, 3], kinds, radius)


PROBLEMS = {
    "labels": lambda: labels(small(0)),
    "one tag": lambda: labels(small(0, kinds=1)),
    "three tags": lambda: labels(small(1, kinds=3)),
    "neighbours": lambda: labels(small(2, radius=1)),
    "twins": lambda: labels(small(3), with_twins),
    "twins around": lambda: labels(small(4, radius=1), with_twins),
    "everything": lambda: everything(small(5)),
}


def strict_fit(problem: Problem, start: ChainParameters | None = None, l1: float = 0.0) -> ChainFit:
    return fit_chain(problem.designs, problem.objective, l2=L2, l1=l1, start=start, **STRICT)


@pytest.mark.parametrize("name", PROBLEMS)
def test_fit_is_the_optimum_of_all_sequences(name: str) -> None:
    """What SciPy finds in all coordinates, equal columns one by one, where sums run through all sequences."""
    problem = PROBLEMS[name]()
    fit = strict_fit(problem)
    assert fit.converged
    value, gradient = problem.brute_force(flat(fit.parameters))
    assert fit.objective == pytest.approx(-value, rel=1e-10)
    assert np.abs(gradient).max() < 1e-5
    start = np.zeros((problem.columns + problem.chain.kinds + 2) * problem.chain.kinds)
    best = optimize.minimize(
        problem.brute_force, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 2_000}
    )
    assert fit.objective == pytest.approx(-best.fun, rel=0, abs=1e-8)
    if name != "everything":  # a convex problem: there is one optimum
        np.testing.assert_allclose(flat(fit.parameters), best.x, rtol=0, atol=1e-4)
    assert fit.log_likelihood == pytest.approx(
        fit.objective + L2 / 2 * float(flat(fit.parameters) @ flat(fit.parameters))
    )


def test_gradient_vanishes_at_the_optimum_of_many_sentences() -> None:
    rng = np.random.default_rng(0)
    problem = labels(random_chain(rng, rng.integers(0, 9, size=300).tolist(), 4, 1))
    fit = fit_chain(problem.designs, problem.objective, l2=L2, tolerance=1e-10, max_iterations=500)
    assert fit.converged
    smooth = ChainProblem(problem.designs, problem.objective, L2)
    value, gradient = smooth(smooth.reduce(fit.parameters))
    assert -value == pytest.approx(fit.objective, rel=1e-12)
    curvature = smooth.curvature(1)
    assert curvature is not None
    # What a Newton step would still gain, of an objective of about a thousand. (The largest component of the gradient
    # at a stop is twice as large on one processor as on another.)
    assert float((gradient**2 / curvature).sum()) / 2 < 1e-5
    strict = strict_fit(problem)
    assert strict.objective >= fit.objective - 1e-9
    assert strict.objective - fit.objective < 1e-7 * abs(fit.objective)
    gradient = smooth(smooth.reduce(strict.parameters))[1]
    assert float((gradient**2 / curvature).sum()) / 2 < 1e-8


def test_a_start_at_the_optimum_stays() -> None:
    problem = everything(small(6))
    fit = strict_fit(problem)
    again = strict_fit(problem, start=fit.parameters)
    assert again.converged
    assert again.iterations <= 3
    assert again.objective == pytest.approx(fit.objective, rel=1e-12)
    np.testing.assert_allclose(flat(again.parameters), flat(fit.parameters), rtol=0, atol=1e-5)


def test_any_start_leads_to_the_optimum_of_labels() -> None:
    problem = labels(small(7, kinds=3))
    fit, rng = strict_fit(problem), np.random.default_rng(0)
    far = problem.unpack(rng.normal(scale=3, size=len(flat(fit.parameters))))
    assert strict_fit(problem, start=far).objective == pytest.approx(fit.objective, abs=1e-8)


def test_equal_columns_have_equal_coefficients_and_zeros_none() -> None:
    problem = labels(small(8), with_twins)
    theta = strict_fit(problem).parameters.theta
    size = one_hot(problem.chain).shape[1]
    np.testing.assert_allclose(theta[size], theta[0], rtol=1e-12)
    np.testing.assert_allclose(theta[size + 1], theta[1], rtol=1e-12)
    np.testing.assert_allclose(theta[size + 2], theta[0], rtol=1e-12)
    assert not theta[size + 3].any()


@pytest.mark.parametrize("table", [one_hot, with_twins])
def test_problem_is_minus_the_penalised_likelihood(table: Callable[[Chain], AnyArray]) -> None:
    """At any point of the merged columns; expanding is linear, so its transpose takes gradients back."""
    problem = labels(small(9, radius=1), table)
    merged, rng = ChainProblem(problem.designs, problem.objective, L2), np.random.default_rng(0)
    rows = len(merged.reduce(ChainParameters.zeros(problem.columns, 2, np.float64)))
    point = rng.normal(size=(rows, 2))
    np.testing.assert_allclose(merged.reduce(merged.expand(point)), point, rtol=0, atol=1e-12)
    value, gradient = merged(point)
    expected, wanted = problem.brute_force(flat(merged.expand(point)))
    assert value == pytest.approx(expected, rel=1e-10)
    for _ in range(5):
        direction = rng.normal(size=point.shape)
        along = flat(merged.expand(direction)) @ wanted
        assert float((gradient * direction).sum()) == pytest.approx(along, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("l1", [0.05, 0.5, 100.0])
def test_absolute_values_hold_coefficients_at_zero(l1: float) -> None:
    """The conditions of the optimum: the gradient is ∓μ where θ is not 0, and at most μ where it is."""
    problem = labels(small(10, kinds=3))
    fit = strict_fit(problem, l1=l1)
    theta = flat(fit.parameters)
    value, gradient = problem.brute_force(theta)
    at_rest = theta == 0
    assert at_rest.any()
    assert (np.abs(gradient[at_rest]) <= l1 + 1e-5).all()
    np.testing.assert_allclose(gradient[~at_rest], -l1 * np.sign(theta[~at_rest]), rtol=0, atol=1e-5)
    assert fit.objective == pytest.approx(-value - l1 * float(np.abs(theta).sum()), rel=1e-10)
    assert at_rest.all() == (l1 == 100.0)


def test_32_bits_find_the_optimum() -> None:
    problem = labels(small(11, kinds=3, radius=1))
    designs = {d: design.astype(np.float32) for d, design in problem.designs.items()}
    fit = fit_chain(designs, problem.objective, l2=L2, tolerance=1e-6, max_iterations=200)
    assert fit.converged
    assert all(getattr(fit.parameters, name).dtype == np.float32 for name in ("theta", "edges", "first", "last"))
    assert fit.objective == pytest.approx(strict_fit(problem).objective, rel=1e-4)


def test_progress_rises_and_a_fit_can_be_stopped() -> None:
    problem, told = labels(small(12)), list[tuple[int, float]]()
    seen: list[FloatArray] = []

    def third(parameters: ChainParameters) -> bool:
        seen.append(flat(parameters))
        return len(seen) == 3

    fit = fit_chain(
        problem.designs, problem.objective, l2=L2, tolerance=1e-13, progress=lambda *each: told.append(each), stop=third
    )
    assert [step for step, _ in told] == [1, 2, 3]
    assert np.diff([value for _, value in told]).min() >= -1e-9
    assert fit.stopped
    assert not fit.converged
    assert fit.iterations == 3
    assert fit.objective == told[-1][1]
    np.testing.assert_array_equal(flat(fit.parameters), seen[-1])
    few = fit_chain(problem.designs, problem.objective, l2=L2, tolerance=1e-13, max_iterations=2)
    assert (few.iterations, few.converged, few.stopped) == (2, False, False)
