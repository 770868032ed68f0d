"""Moments of region counts: exact where rank is full, against dense algebra, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from askance._arrays import FloatArray
from askance._kernels.simplex_step import descend, project_rows
from askance.errors import EmptyDataError, InputError, ShapeError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts.covariance import moment_covariance
from askance.text.counts.equations import CountEquations, known_tokens
from askance.text.counts.moment_solver import RidgeSystem, simplex_least_squares
from askance.text.counts.moments import moment_counts
from askance.text.node.model import fit_node

TAGS = ["A", "B", "C"]


def _corpus(sentences: int, length: int, types: int, rng: np.random.Generator) -> Corpus:
    """Random sentences in which all types appear, in the order of their numbers."""
    drawn = rng.integers(types, size=(sentences, length))
    drawn.ravel()[:types] = np.arange(types)
    return Corpus.of([[f"w{t}" for t in row] for row in drawn])


def _tagged(corpus: Corpus, truth: FloatArray, rng: np.random.Generator) -> Corpus:
    """The corpus with tags drawn from P(tag | type)."""
    edges = np.cumsum(truth, axis=1)[corpus.tokens]
    tags = (rng.random(corpus.n_tokens)[:, None] > edges[:, :-1]).sum(axis=1).astype(np.int16)
    return Corpus(corpus.words, corpus.tokens, corpus.starts, tuple(TAGS), tags)


def _whole_sentences(corpus: Corpus, asked: list[list[str]] | None = None) -> RegionCounts:
    regions = []
    for s in range(len(corpus)):
        names = corpus.tags_of(s)
        looked = TAGS if asked is None else asked[s]
        counts = {name: names.count(name) for name in looked}
        regions.append(Region(s, 0, len(names), counts, closed=asked is None))
    return RegionCounts.of(corpus, TAGS, regions)


def _identity(types: int) -> sparse.csr_array:
    return sparse.csr_array(np.eye(types))


def _with_expected_counts(corpus: Corpus, truth: FloatArray) -> CountEquations:
    """Equations without noise: N = R w."""
    equations = CountEquations.of(_whole_sentences(_tagged(corpus, truth, np.random.default_rng(0))), dtype=float)
    matrix = equations.matrix
    return CountEquations(equations.types, matrix, matrix @ truth, None, equations.sentence)


def test_expected_counts_give_the_truth_where_rank_is_full() -> None:
    rng = np.random.default_rng(1)
    truth = rng.dirichlet(np.full(3, 0.3), size=8)
    equations = _with_expected_counts(_corpus(40, 4, 8, rng), truth)
    assert np.linalg.matrix_rank(equations.matrix.toarray()) == 8
    for features in (None, _identity(8)):
        for l2 in (0.0, 1e-11):
            system = RidgeSystem(equations.matrix, features, l2, None, 3)
            found = system.solve(system.right_side(equations.response), 100, 1e-14)
            np.testing.assert_allclose(found, truth, atol=1e-8)
    found = simplex_least_squares(equations, np.full((8, 3), 1 / 3), 0.0, 5000)
    np.testing.assert_allclose(found, truth, atol=1e-6)


@pytest.mark.parametrize("asked", [3, 1])
def test_converges_to_the_model_at_the_rate_of_the_square_root(asked: int) -> None:
    # Eight types, tags drawn from the model. The mean squared error of 24 probabilities falls like 1/n: by 16 from
    # 400 to 6,400 sentences. Each is an average over 5 data sets, and the logarithm of their ratio has a spread of
    # 0.24 (measured over 12 seeds): ratios below 5 are 4.5 spreads away, false-alarm rate below 1e-4 for all six.
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(3), size=8)
    for method in ("ridge", "simplex", "printed"):
        errors = []
        for sentences in (400, 6400):
            total = 0.0
            for _ in range(5):
                corpus = _tagged(_corpus(sentences, 4, 8, rng), truth, rng)
                looked = None if asked == 3 else [list(rng.choice(TAGS, 1)) for _ in range(sentences)]
                found = moment_counts(_whole_sentences(corpus, looked), _identity(8), method=method, l2=1e-6)
                total += float(((found.label_given_token - truth) ** 2).mean())
            errors.append(total / 5)
        assert errors[0] / errors[1] > 5, (method, errors)
        assert errors[1] < 2e-3, (method, errors)


def test_single_tokens_are_the_supervised_counts() -> None:
    rng = np.random.default_rng(3)
    corpus = _tagged(_corpus(60, 4, 9, rng), rng.dirichlet(np.ones(3), size=9), rng)
    regions = RegionCounts.of_labels(corpus)
    labelled = np.zeros((9, 3))
    np.add.at(labelled, (corpus.tokens, corpus.require_tags()), 1)
    frequency = labelled / labelled.sum(axis=1, keepdims=True)
    for method in ("ridge", "printed"):
        found = moment_counts(regions, _identity(9), method=method, l2=1e-9, iterations=100)
        np.testing.assert_allclose(found.label_given_token, np.maximum(frequency, 1e-4), atol=1e-3)
        np.testing.assert_array_equal(found.counts, labelled)
    found = moment_counts(regions, _identity(9), pull=0.0)
    np.testing.assert_allclose(found.label_given_token, frequency, atol=1e-12)
    np.testing.assert_array_equal(moment_counts(regions, _identity(9)).counts, labelled)
    supervised = fit_node(_identity(9), labelled.sum(axis=1), labelled, tolerance=1e-8)
    counted = fit_node(_identity(9), regions.token_counts, found.counts, tolerance=1e-8)
    np.testing.assert_array_equal(counted.theta, supervised.theta)


def test_merged_single_tokens_give_the_same_estimate() -> None:
    rng = np.random.default_rng(4)
    corpus = _tagged(_corpus(50, 3, 6, rng), rng.dirichlet(np.ones(3), size=6), rng)
    labels, sentences = RegionCounts.of_labels(corpus), _whole_sentences(corpus)
    both = RegionCounts(
        corpus,
        labels.tagset,
        np.concatenate([labels.start, sentences.start]),
        np.concatenate([labels.end, sentences.end]),
        np.concatenate([labels.closed, sentences.closed]),
        np.concatenate([labels.offsets, labels.offsets[-1] + sentences.offsets[1:]]),
        np.concatenate([labels.tag, sentences.tag]),
        np.concatenate([labels.low, sentences.low]),
        np.concatenate([labels.high, sentences.high]),
    )
    solved = []
    for merge in (True, False):
        equations = CountEquations.of(both, dtype=float, merge_single=merge)
        assert len(equations.response) == (56 if merge else 200)
        system = RidgeSystem(equations.matrix, None, 0.5, equations.weights, 3)
        solved.append(system.solve(system.right_side(equations.response), 100, 1e-13))
    np.testing.assert_allclose(solved[0], solved[1], atol=1e-9)
    assert known_tokens(both).sum() >= corpus.n_tokens


def test_tags_that_were_not_asked_give_no_equation() -> None:
    rng = np.random.default_rng(5)
    corpus = _tagged(_corpus(80, 3, 5, rng), rng.dirichlet(np.ones(3), size=5), rng)
    asked = [list(rng.choice(TAGS, size=int(rng.integers(1, 3)), replace=False)) for _ in range(80)]
    regions = _whole_sentences(corpus, asked)
    design = sparse.csr_array((rng.random((5, 9)) < 0.6).astype(float))
    equations = CountEquations.of(regions, dtype=float)
    assert equations.weights is not None
    system = RidgeSystem(equations.matrix, design, 0.7, equations.weights, 3)
    found = system.solve(system.right_side(equations.response), 200, 1e-14)
    for b, tag in enumerate(TAGS):
        rows = np.array([tag in names for names in asked])
        product = (equations.matrix @ design).toarray()[rows]
        exact = np.linalg.solve(product.T @ product + 0.7 * np.eye(9), product.T @ equations.response[rows, b])
        np.testing.assert_allclose(found[:, b], exact, atol=1e-9)


def test_ranges_are_points_with_little_weight() -> None:
    corpus = Corpus.of([["a", "b", "c", "d"]] * 3 + [["a"]])
    regions = RegionCounts.of(
        corpus,
        TAGS,
        [
            Region(0, 0, 4, {"A": (1, 3), "B": (0, 2), "C": 1}),
            Region(1, 0, 4, {"A": (1, 2)}, closed=False),
            Region(2, 0, 4, {"A": (0, 4), "B": 2}, closed=False),
            Region(3, 0, 1, {"A": (0, 1), "B": (0, 1)}),
        ],
    )
    equations = CountEquations.of(regions, dtype=float)
    # Row 0: two tokens are left for widths 2 and 2. Rows 1, 2: the middle; nothing known of A has weight 0.
    np.testing.assert_allclose(equations.response[:, :2], np.array([[2, 1], [1.5, 0], [0, 2], [0.5, 0.5]]))
    wide, narrow = 0.25 / (0.25 + 8 / 12), 0.5
    assert equations.weights is not None
    expected = [[wide, wide, 1.0], [narrow, 0.0, 0.0], [0.0, 1.0, 0.0], [narrow, narrow, 1.0]]
    np.testing.assert_allclose(equations.weights, np.array(expected))
    exact = CountEquations.of(RegionCounts.of(corpus, TAGS, [Region(0, 0, 4, {"A": 4})]), dtype=float)
    assert exact.weights is None
    assert known_tokens(RegionCounts.of(corpus, TAGS, [Region(0, 0, 4, {"A": 4})]))[:, 0].tolist() == [1, 1, 1, 1]


def test_printed_is_the_least_squares_solution_of_least_norm() -> None:
    rng = np.random.default_rng(6)
    corpus = _tagged(_corpus(12, 4, 20, rng), rng.dirichlet(np.ones(3), size=20), rng)
    equations = CountEquations.of(_whole_sentences(corpus), dtype=float)
    system = RidgeSystem(equations.matrix, None, 0.0, None, 3)
    found = system.solve(system.right_side(equations.response), 200, 1e-14)
    np.testing.assert_allclose(found, np.linalg.pinv(equations.matrix.toarray()) @ equations.response, atol=1e-8)


def test_steps_onto_the_simplex() -> None:
    rng = np.random.default_rng(7)
    ahead, gradient, centre = (rng.normal(size=(200, 6)) for _ in range(3))
    current, step = project_rows(rng.normal(size=(200, 6))), rng.random(200)
    before = current.copy()
    expected = project_rows(ahead - step[:, None] * (gradient + 0.3 * (ahead - centre)))
    descend(ahead, gradient, current, centre, 0.3, step, 0.4)
    np.testing.assert_allclose(current, expected, atol=1e-12)
    np.testing.assert_allclose(ahead, expected + 0.4 * (expected - before), atol=1e-12)
    np.testing.assert_allclose(expected.sum(axis=1), 1)


def test_the_simplex_minimum_is_the_one_another_solver_finds() -> None:
    rng = np.random.default_rng(8)
    corpus = _tagged(_corpus(15, 3, 5, rng), rng.dirichlet(np.full(3, 0.4), size=5), rng)
    asked = [list(rng.choice(TAGS, 2, replace=False)) for _ in range(15)]
    equations, start = CountEquations.of(_whole_sentences(corpus, asked), dtype=float), rng.normal(0.3, 0.4, (5, 3))

    def value(flat: FloatArray) -> float:
        table = flat.reshape(5, 3)
        misfit = equations.weights * (equations.matrix @ table - equations.response) ** 2
        return float(misfit.sum() / 2 + 0.35 * ((table - start) ** 2).sum())

    rows = [{"type": "eq", "fun": lambda flat, a=a: flat.reshape(5, 3)[a].sum() - 1} for a in range(5)]
    other = minimize(value, np.full(15, 1 / 3), bounds=[(0, 1)] * 15, constraints=rows, options={"ftol": 1e-14})
    found = simplex_least_squares(equations, start, 0.7, 3000)
    np.testing.assert_allclose(found, other.x.reshape(5, 3), atol=1e-5)


def test_stochastic_steps_come_near_least_squares() -> None:
    rng = np.random.default_rng(9)
    truth = np.eye(3)[rng.integers(3, size=8)]
    corpus = _tagged(_corpus(200, 3, 8, rng), truth, rng)
    found = moment_counts(_whole_sentences(corpus), _identity(8), method="sgd", iterations=20, rng=rng)
    np.testing.assert_allclose(found.label_given_token, truth, atol=5e-3)
    with pytest.raises(InputError, match="Generator"):
        moment_counts(_whole_sentences(corpus), _identity(8), method="sgd")


def test_counts_sum_to_what_regions_cover_and_features_reach_beyond() -> None:
    corpus = Corpus.of([["dogs", "bark"], ["cats", "purr"], ["birds"]])
    design = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 0, 1], [1, 1, 0]], dtype=np.float32))
    told = [Region(0, 0, 2, {"A": 1, "B": 1}), Region(0, 0, 1, {"A": 1}), Region(1, 0, 1, {"A": 1})] * 20
    regions = RegionCounts.of(corpus, TAGS, told)
    for method in ("auto", "ridge", "printed", "sgd"):
        found = moment_counts(regions, design, method=method, rng=np.random.default_rng(0))
        np.testing.assert_allclose(found.counts.sum(axis=1), regions.token_counts, rtol=1e-5)
        np.testing.assert_allclose(found.label_given_token.sum(axis=1), 1, rtol=1e-5)
        if method in ("auto", "ridge"):
            assert found.label_given_token[4].argmax() == 0  # birds: no region, the features of dogs


def _dense_covariance(
    regions: RegionCounts, design: FloatArray, l2: float, function: FloatArray
) -> tuple[float, float]:
    """The formula of the sandwich, tag by tag, with inverses."""
    equations = CountEquations.of(regions, dtype=float, merge_single=False)
    matrix = np.zeros((len(regions), len(design)))
    matrix[:, equations.types] = equations.matrix.toarray()
    weights = np.ones_like(equations.response) if equations.weights is None else equations.weights
    product, estimate = matrix @ design, 0.0
    influence = np.zeros(len(regions))
    for b in range(weights.shape[1]):
        inverse = np.linalg.inv(product.T @ (weights[:, b, None] * product) + l2 * np.eye(design.shape[1]))
        solution = inverse @ product.T @ (weights[:, b] * equations.response[:, b])
        estimate += float(function[:, b] @ design @ solution)
        share = weights[:, b] * (product @ inverse @ design.T @ function[:, b])
        influence += share * (equations.response[:, b] - product @ solution)
    groups = np.unique(equations.sentence)
    sums = np.array([influence[equations.sentence == s].sum() for s in groups])
    return estimate, float((sums**2).sum() * len(groups) / (len(groups) - 1))


def test_the_covariance_is_the_dense_sandwich() -> None:
    rng = np.random.default_rng(10)
    corpus = _tagged(_corpus(25, 4, 6, rng), rng.dirichlet(np.ones(3), size=6), rng)
    design = (rng.random((6, 8)) < 0.5).astype(float)
    functions = [rng.normal(size=(6, 3)), np.eye(6, 3)]
    asked = [list(rng.choice(TAGS, 2, replace=False)) for _ in range(25)]
    twice = _whole_sentences(corpus, asked).take(np.concatenate([np.arange(25), np.arange(10)]))
    for regions in (_whole_sentences(corpus), RegionCounts.of_labels(corpus), twice):
        found = moment_covariance(regions, sparse.csr_array(design), functions, l2=0.4)
        for i, function in enumerate(functions):
            estimate, variance = _dense_covariance(regions, design, 0.4, function)
            np.testing.assert_allclose(found.estimate[i], estimate, atol=1e-8)
            np.testing.assert_allclose(found.covariance[i, i], variance, rtol=1e-6)
        both = moment_covariance(regions, sparse.csr_array(design), [functions[0] + functions[1]], l2=0.4)
        np.testing.assert_allclose(both.covariance[0, 0], found.covariance.sum(), rtol=1e-6)


def test_intervals_cover_the_truth() -> None:
    # 300 data sets of 300 sentences; three functions of w, each covered by ± 1.96 standard errors in 94 to 95 % of them
    # (3,000 data sets of another seed: 94.8, 94.4, 94.9 %). Fewer than 263 of 300 has probability 1.3e-5 at 94 %, more
    # than 298 has 3.5e-6 at 95 % (binomial): false-alarm rate below 1e-4 for all three.
    rng = np.random.default_rng(11)
    truth = rng.dirichlet(np.ones(3), size=5)
    corpus = _corpus(300, 4, 5, rng)
    functions = [np.zeros((5, 3)), corpus.type_counts[:, None] * np.eye(5, 3), np.ones((5, 1)) * [[1.0, 0.5, 0.0]]]
    functions[0][2, 1] = 1
    aims = [float((function * truth).sum()) for function in functions]
    covered = np.zeros(3)
    for _ in range(300):
        regions = _whole_sentences(_tagged(corpus, truth, rng))
        found = moment_covariance(regions, _identity(5), functions, l2=1e-6)
        covered += np.abs(found.estimate - aims) <= 1.96 * found.standard_errors
    assert (covered >= 263).all(), covered
    assert (covered <= 298).all(), covered


def test_what_cannot_be_estimated_is_refused() -> None:
    corpus = Corpus.of([["a", "b"], ["c"]])
    regions = RegionCounts.of(corpus, TAGS, [Region(0, 0, 2, {"A": 2})])
    with pytest.raises(InputError, match="allowed: auto, simplex"):
        moment_counts(regions, _identity(3), method="best")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="allowed: 3"):
        moment_counts(regions, _identity(4))
    with pytest.raises(InputError, match="l2 is 0"):
        moment_counts(regions, _identity(3), l2=0)
    with pytest.raises(InputError, match="pull is -1"):
        moment_counts(regions, _identity(3), pull=-1)
    with pytest.raises(EmptyDataError, match="no regions"):
        moment_counts(regions.take(np.zeros(1, dtype=bool)), _identity(3))
    with pytest.raises(EmptyDataError, match="1 sentences"):
        moment_covariance(regions, _identity(3), [np.zeros((3, 3))])
    two = RegionCounts.of(corpus, TAGS, [Region(0, 0, 1, {"A": 1}), Region(1, 0, 1, {"A": 1})])
    with pytest.raises(InputError, match="type 1, which no"):
        moment_covariance(two, _identity(3), [np.ones((3, 3))])
    with pytest.raises(ShapeError, match="function 0"):
        moment_covariance(two, _identity(3), [np.ones(3)])
