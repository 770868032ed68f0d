"""The likelihood of counts against sums over all tag sequences, one by one."""

import itertools
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance._arrays import FloatArray
from askance.errors import InputError, ShapeError
from askance.experiments.beam import BeamLikelihood
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts import likelihood as count_likelihood
from askance.text.counts.likelihood import CountLikelihood, Method
from askance.text.tagger.tagger import CountTagger

EXACT = ("exact", "auto", "beam")
# With these settings nothing is truncated, nothing is left tilted.
GENEROUS: dict[str, Any] = {"budget": 1e9, "tolerance": 1e-12}


def likelihood_by(method: str, regions: RegionCounts, **options: Any) -> CountLikelihood:
    """A method of the library, or the beam of the paper."""
    if method == "beam":
        return BeamLikelihood(regions, 10**5, **options)
    return CountLikelihood(regions, method=cast("Method", method), **options)


def brute_force(regions: RegionCounts, log_p: FloatArray) -> tuple[float, FloatArray]:
    """Log-likelihood and expected counts by running through all sequences of tags."""
    low, high = regions.bounds()
    value, expected = 0.0, np.zeros(log_p.shape)
    for r in range(len(regions)):
        kinds = regions.corpus.tokens[regions.start[r] : regions.end[r]]
        total, counts = 0.0, np.zeros(log_p.shape)
        for tags in itertools.product(range(log_p.shape[1]), repeat=len(kinds)):
            used = np.bincount(tags, minlength=log_p.shape[1])
            if (used >= low[r]).all() and (used <= high[r]).all():
                weight = np.exp(log_p[kinds, list(tags)].sum())
                total += weight
                np.add.at(counts, (kinds, np.array(tags)), weight)
        value += np.log(total)
        expected += counts / total
    return value, expected


@st.composite
def problems(draw: st.DrawFn, ranges: bool = True, unasked: bool = True) -> tuple[RegionCounts, FloatArray]:
    """A few regions of one corpus, true for some hidden tags, and log p."""
    tags = [f"t{k}" for k in range(draw(st.integers(1, 4)))]
    words = draw(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), min_size=1, max_size=3))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    found = []
    for number, sentence in enumerate(words):
        start = int(rng.integers(len(sentence)))
        end = int(rng.integers(start, len(sentence))) + 1
        truth = np.bincount(rng.integers(len(tags), size=end - start), minlength=len(tags))
        counts: dict[str, int | tuple[int, int]] = {}
        closed = not unasked or bool(rng.integers(2))
        for k, tag in enumerate(tags):
            n = int(truth[k])
            if closed and n == 0 and rng.integers(2):
                continue  # unlisted in a closed region: none
            if not closed and rng.integers(2):
                continue  # not asked
            below, above = rng.integers(0, 3, size=2) * int(ranges)
            counts[tag] = (max(0, n - int(below)), n + int(above)) if below + above else n
        found.append(Region(number, start, end, counts, closed))
    corpus = Corpus.of(words)
    spread = draw(st.sampled_from([0.5, 3.0]))
    scores = rng.normal(scale=spread, size=(len(corpus.words), len(tags)))
    log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return RegionCounts.of(corpus, tags, found), log_p


@pytest.mark.parametrize("method", EXACT)
@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_equals_sum_over_sequences(method: str, problem: tuple[RegionCounts, FloatArray]) -> None:
    regions, log_p = problem
    likelihood = likelihood_by(method, regions, **GENEROUS)
    value, counts = likelihood(log_p)
    expected_value, expected_counts = brute_force(regions, log_p)
    assert value == pytest.approx(expected_value, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(counts, expected_counts, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(counts.sum(axis=1), regions.token_counts, rtol=1e-9, atol=1e-10)


@settings(max_examples=25, deadline=None)
@given(problem=problems())
def test_expected_counts_are_the_gradient(problem: tuple[RegionCounts, FloatArray]) -> None:
    regions, log_p = problem
    for method in ("exact", "sinkhorn"):
        likelihood = CountLikelihood(regions, method=method, tolerance=1e-11)
        counts = likelihood(log_p)[1]
        for cell in np.ndindex(*log_p.shape):
            step = np.zeros(log_p.shape)
            step[cell] = 1e-5
            slope = (likelihood(log_p + step)[0] - likelihood(log_p - step)[0]) / 2e-5
            assert slope == pytest.approx(counts[cell], abs=2e-5)


@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_tilted_counts_lie_in_their_bounds_and_bound_the_likelihood(problem: tuple[RegionCounts, FloatArray]) -> None:
    regions, log_p = problem
    low, high = regions.bounds()
    for r in range(len(regions)):
        one = regions.take([r])
        value, counts = CountLikelihood(one, method="sinkhorn", tolerance=1e-11)(log_p)
        assert (counts.sum(axis=0) >= low[r] - 1e-9).all()
        assert (counts.sum(axis=0) <= high[r] + 1e-9).all()
        np.testing.assert_allclose(counts.sum(axis=1), one.token_counts, atol=1e-9)
        assert value >= CountLikelihood(one, method="exact")(log_p)[0] - 1e-9


@settings(max_examples=30, deadline=None)
@given(problem=problems(ranges=False, unasked=False))
def test_tilting_is_a_scaling_of_rows_and_columns(problem: tuple[RegionCounts, FloatArray]) -> None:
    """The limit of Sinkhorn's iteration, run plainly for as long as it takes."""
    regions, log_p = problem
    wanted = regions.bounds()[0][0]
    kinds = regions.corpus.tokens[regions.start[0] : regions.end[0]]
    q = np.exp(log_p)[kinds][:, wanted > 0]
    for _ in range(50_000):
        before = q
        q = q * (wanted[wanted > 0] / q.sum(axis=0))
        q = q / q.sum(axis=1, keepdims=True)
        if np.abs(q - before).max() < 1e-15:
            break
    expected = np.zeros(log_p.shape)
    np.add.at(expected, (kinds[:, None], np.flatnonzero(wanted > 0)[None, :]), q)
    counts = CountLikelihood(regions.take([0]), method="sinkhorn", tolerance=1e-12)(log_p)[1]
    np.testing.assert_allclose(counts, expected, atol=1e-9)


def test_tilting_is_exact_where_there_is_one_sequence() -> None:
    corpus = Corpus.of([["a", "b", "c"]])
    regions = RegionCounts.of(corpus, "xyz", [Region(0, 0, 3, {"x": 1, "y": 1, "z": 1})])
    log_p = np.log(np.eye(3) * (1 - 3e-14) + 1e-14)
    tilted, exact = (CountLikelihood(regions, method=method)(log_p) for method in ("sinkhorn", "exact"))
    assert tilted[0] == pytest.approx(exact[0], abs=1e-10)
    np.testing.assert_allclose(tilted[1], np.eye(3), atol=1e-10)
    np.testing.assert_allclose(exact[1], np.eye(3), atol=1e-10)


def test_labels_and_allowed_tags_are_regions_of_one_token() -> None:
    corpus = Corpus.of([["a", "b", "a", "c"]], [["x", "y", "x", "z"]])
    labels = RegionCounts.of_labels(corpus)
    log_p = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]))
    for method in ("auto", "exact", "sinkhorn", "beam"):
        value, counts = likelihood_by(method, labels)(log_p)
        assert value == pytest.approx(np.log(0.5 * 0.2 * 0.5 * 0.4))
        np.testing.assert_array_equal(counts, [[2, 0, 0], [0, 1, 0], [0, 0, 1]])
    allowed = RegionCounts.of(corpus, "xyz", [Region(0, 1, 2, {"x": (0, 1), "z": (0, 1)})])
    likelihood = CountLikelihood(allowed, method="sinkhorn")
    value, counts = likelihood(log_p)
    assert value == pytest.approx(np.log(0.8))
    np.testing.assert_allclose(counts[1], [1 / 8, 0, 7 / 8])
    assert likelihood.exact.all()


def example(length: int, tags: int, seed: int = 0) -> tuple[RegionCounts, FloatArray]:
    """40 regions with the counts of random tags, among them unasked tags and ranges."""
    rng = np.random.default_rng(seed)
    names = [f"t{k:02d}" for k in range(tags)]
    sentences = rng.integers(30, size=(40, length)).astype(str).tolist()
    regions = []
    for number in range(40):
        found = np.bincount(rng.integers(tags, size=length), minlength=tags)
        counts: dict[str, int | tuple[int, int]] = {
            name: int(n) for name, n in zip(names, found, strict=True) if n or number % 4 == 1
        }
        if number % 4 == 1:
            counts = {name: counts[name] for name in names[: tags // 2]}
        elif number % 4 == 2:
            counts = {name: (max(0, n - 1), n + 1) for name, n in counts.items() if isinstance(n, int)}
        regions.append(Region(number, 0, length, counts, number % 4 != 1))
    corpus = Corpus.of(sentences)
    scores = rng.normal(scale=2, size=(len(corpus.words), tags))
    return RegionCounts.of(corpus, names, regions), scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def test_methods_agree_beyond_brute_force() -> None:
    regions, log_p = example(length=9, tags=5)
    expected = CountLikelihood(regions, method="exact")(log_p)
    value, counts = likelihood_by("beam", regions)(log_p)
    assert value == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(counts, expected[1], atol=1e-9)


def test_a_narrow_beam_is_close() -> None:
    regions, log_p = example(length=9, tags=5)
    expected = CountLikelihood(regions, method="exact")(log_p)
    value, counts = BeamLikelihood(regions, 50)(log_p)
    assert value <= expected[0] + 1e-9  # it leaves sequences out
    assert value == pytest.approx(expected[0], abs=0.02 * len(regions))
    assert np.abs(counts - expected[1]).max() < 0.1
    np.testing.assert_allclose(counts.sum(axis=1), regions.token_counts, atol=1e-6)


@pytest.mark.parametrize("name", ["pruned", "beam"])
def test_methods_of_earlier_versions_say_what_took_their_place(name: Any) -> None:
    regions, log_p = example(length=4, tags=3)
    with pytest.warns(FutureWarning, match=f"'{name}' is no longer there and means 'auto'; it goes in askance 0.3"):
        former = CountLikelihood(regions, method=name)
    assert former(log_p)[0] == CountLikelihood(regions)(log_p)[0]
    with pytest.warns(FutureWarning, match=name):
        assert CountTagger(counts=name).counts == "auto"


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("method", ["exact", "sinkhorn", "beam"])
def test_nothing_underflows(method: str, most: int) -> None:
    """60 tokens that all would rather be y, of which all but one, or all but one or two, are x: e^−3861 at best."""
    corpus = Corpus.of([["a"] * 30 + ["b"] * 30])
    regions = RegionCounts.of(corpus, "xy", [Region(0, 0, 60, {"x": (60 - most, 59), "y": (1, most)})])
    log_p = np.array([[-65.0, -40.0], [-65.0, -36.0]])
    value, counts = likelihood_by(method, regions, tolerance=1e-9)(log_p)
    if method == "sinkhorn":
        np.testing.assert_allclose(counts.sum(axis=0), [60 - most, most], atol=1e-8)
        return
    # Weights of y against x are 1 and e⁴ (times e²⁵): sums over the one y, and over pairs of them.
    a, b, far = 1.0, np.exp(4.0), np.exp(25.0)
    sums = [30 * a + 30 * b, far * (435 * a * a + 900 * a * b + 435 * b * b)][:most]
    among_a = [30 * a, far * (2 * 435 * a * a + 900 * a * b)][:most]
    share = sum(among_a) / sum(sums)
    total = [1.0, (sums[0] + 2 * sums[-1]) / sum(sums)][most - 1]
    np.testing.assert_allclose(counts, [[30 - share, share], [30 - total + share, total - share]], rtol=1e-9)
    assert value == pytest.approx(60 * -65 + 25 + np.log(sum(sums)), rel=1e-10)


def test_an_impossible_region_is_no_catastrophe() -> None:
    corpus = Corpus.of([["a", "b"], ["a", "b"]])
    regions = RegionCounts.of(corpus, "xyz", [Region(0, 0, 2, {"z": 2}), Region(1, 0, 2, {"y": 1}, closed=False)])
    log_p = np.full((2, 3), -np.inf)
    log_p[:, 0] = 0.0
    for method in ("exact", "sinkhorn", "beam"):
        value, counts = likelihood_by(method, regions)(log_p)
        assert np.isfinite(value)
        np.testing.assert_allclose(counts.sum(), 4)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    regions, log_p = example(length=16, tags=5)
    monkeypatch.setattr(count_likelihood, "_THREADS_PAY_FROM", 0)
    monkeypatch.setattr(count_likelihood, "_COLLECTING_PAYS_FROM", 0)
    for method in ("exact", "sinkhorn", "beam"):
        one, three = (likelihood_by(method, regions, threads=n) for n in (1, 3))
        for _ in range(2):
            first, second = one(log_p), three(log_p)
            assert first[0] == second[0]
            np.testing.assert_array_equal(first[1], second[1])


def test_single_precision_in_and_out() -> None:
    regions, log_p = example(length=8, tags=4)
    expected = CountLikelihood(regions)(log_p)
    value, counts = CountLikelihood(regions)(log_p.astype(np.float32))
    assert counts.dtype == np.float32
    assert value == pytest.approx(expected[0], rel=1e-5)
    np.testing.assert_allclose(counts, expected[1], atol=1e-4)


def test_auto_keeps_to_its_budget() -> None:
    regions, log_p = example(length=9, tags=5)
    all_exact = CountLikelihood(regions)
    assert all_exact.exact.all()
    assert all_exact.describe()["regions_by_treatment"] == {"exact": 40}
    some = CountLikelihood(regions, budget=600)
    assert 0 < some.exact.sum() < 40
    assert some.describe()["exact"] == some.exact.sum()
    assert "40 regions" in repr(some)
    value, counts = some(log_p)
    small = CountLikelihood(regions.take(some.exact), method="exact")(log_p)
    large = CountLikelihood(regions.take(~some.exact), method="sinkhorn")(log_p)
    assert value == pytest.approx(small[0] + large[0])
    np.testing.assert_allclose(counts, small[1] + large[1], atol=1e-9)


def test_warm_starts_end_where_cold_ones_do() -> None:
    regions, log_p = example(length=12, tags=6)
    warm = CountLikelihood(regions, method="sinkhorn", tolerance=1e-10)
    warm(np.roll(log_p, 1, axis=1))
    cold = CountLikelihood(regions, method="sinkhorn", tolerance=1e-10)
    (first, counts), (second, others) = warm(log_p), cold(log_p)
    assert first == pytest.approx(second, rel=1e-10)
    np.testing.assert_allclose(counts, others, atol=1e-8)


def test_no_regions() -> None:
    regions = RegionCounts.of(Corpus.of([["a"]]), "xy", [])
    value, counts = CountLikelihood(regions)(np.log([[0.5, 0.5]]))
    assert value == 0
    np.testing.assert_array_equal(counts, [[0, 0]])


def test_mistakes_are_named() -> None:
    regions, log_p = example(length=4, tags=3)
    with pytest.raises(InputError, match="method is 'quick'; allowed: auto, exact"):
        CountLikelihood(regions, method="quick")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"log p has the shape .*; allowed: \(30, 3\)"):
        CountLikelihood(regions)(log_p.T)
    corpus = Corpus.of([list("abcdefghijklmnopqrstuvwxyz0123456789")])
    tags = [f"t{k}" for k in range(36)]
    long = RegionCounts.of(corpus, tags, [Region(0, 0, 36, dict.fromkeys(tags, 1))])
    with pytest.raises(InputError, match=r"region 0 of 36 tokens has about .* states × tags; allowed for method exact"):
        CountLikelihood(long, method="exact")
    broken = RegionCounts(
        corpus,
        ("x",),
        np.array([0]),
        np.array([3]),
        np.array([True]),
        np.array([0, 1]),
        np.array([0], dtype=np.int16),
        np.array([1], dtype=np.int32),
        np.array([2], dtype=np.int32),
    )
    with pytest.raises(InputError, match="region 0 has 3 tokens and counts from 1 to 2 together"):
        CountLikelihood(broken)


def test_tilting_reaches_the_minimum_for_ranges_far_from_what_is_expected() -> None:
    """D is smooth in (a, b) ≥ 0 with t = a − b, and convex: an independent minimiser finds the same, cold and warm."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(0)
    corpus = Corpus.of([[f"w{i}" for i in range(24)]])
    low, high = np.array([6.0, 6, 9]), np.array([8.0, 8, 11])
    counts = {name: (int(a), int(b)) for name, a, b in zip("ABC", low, high, strict=True)}
    likelihood = CountLikelihood(RegionCounts.of(corpus, list("ABC"), [Region(0, 0, 24, counts)]), method="sinkhorn")
    for pull in (0.0, 15.0, 1.0, 8.0, 0.0):
        scores = rng.normal(size=(24, 3))
        scores[:, 0] += pull
        log_p = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))

        def dual(ab: Any, log_p: Any = log_p) -> float:
            tilt = ab[:3] - ab[3:]
            return float(np.log(np.exp(log_p + tilt).sum(axis=1)).sum() - ab[:3] @ low + ab[3:] @ high)

        expected = minimize(dual, np.zeros(6), bounds=[(0, None)] * 6, options={"maxiter": 5000, "ftol": 1e-14}).fun
        value, found = likelihood(log_p)
        assert value == pytest.approx(expected, abs=1e-2)
        assert (found.sum(axis=0) > low - 1e-3).all()
        assert (found.sum(axis=0) < high + 1e-3).all()
