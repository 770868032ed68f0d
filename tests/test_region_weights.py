"""Weights and annotators of regions: carried everywhere, and what weights mean."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from askance._arrays import FloatArray
from askance.errors import EmptyDataError, FormatError, InputError, LabelError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.counts.likelihood import CountLikelihood, Method
from askance.text.counts.miscounts import Miscounts
from askance.text.counts.moments import MomentMethod, moment_counts
from askance.text.io.region_file import read_regions, write_regions

METHODS: tuple[Method, ...] = ("auto", "exact", "sinkhorn")
TAGS = ("A", "B", "C")


def example(seed: int = 0, sentences: int = 12) -> tuple[RegionCounts, FloatArray]:
    """True counts of random tags, also labels, ranges and unasked tags, and log p."""
    rng = np.random.default_rng(seed)
    told, words = [], []
    for number in range(sentences):
        length = int(rng.integers(1, 6))
        words.append([str(word) for word in rng.choice(list("abcdef"), size=length)])
        found = np.bincount(rng.integers(3, size=length), minlength=3).tolist()
        counts: dict[str, Any] = dict(zip(TAGS, found, strict=True))
        if number % 3 == 1:
            counts = {"A": counts["A"], "B": (max(counts["B"] - 1, 0), counts["B"] + 1)}
        told.append(Region(number, 0, length, counts, number % 3 != 1))
    corpus = Corpus.of(words)
    scores = rng.normal(size=(len(corpus.words), 3))
    return RegionCounts.of(corpus, TAGS, told), scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def test_all_ways_carry_weights_and_annotators() -> None:
    corpus = Corpus.of([["a", "b"], ["c"]])
    told = [Region(0, 0, 2, {"A": 1, "B": 1}, weight=2, annotator="ann"), Region(1, 0, 1, {"A": 1})]
    one = RegionCounts.of(corpus, "AB", told)
    other = RegionCounts.of(corpus, "AB", [replace(told[1], annotator="bob"), replace(told[0], weight=0.5)])
    assert one.annotators == ("ann",)
    assert [one.region(r) for r in range(2)] == told
    assert one.take([1]).region(0) == told[1]
    assert one.take([1, 0]).weights.tolist() == [1, 2]
    assert one.with_tagset("ABC").region(0) == told[0]
    both = RegionCounts.join([other, one])
    assert both.annotators == ("bob", "ann")
    assert [both.region(r).annotator for r in range(4)] == ["bob", "ann", "ann", None]
    assert both.weights.tolist() == [1, 0.5, 2, 1]
    assert both.with_weight(2).with_weight([1, 1, 0, 1]).weights.tolist() == [2, 1, 0, 2]
    plain = RegionCounts.of_labels(Corpus.of([["a"]], [["A"]]))
    assert plain.weight is None
    assert plain.annotator is None
    assert RegionCounts.join([plain, plain]).weight is None
    assert plain.region(0) == Region(0, 0, 1, {"A": 1})


def test_tokens_count_by_weight() -> None:
    regions, _ = example()
    assert regions.token_counts.dtype == np.int64
    weights = np.random.default_rng(0).random(len(regions))
    weights[3] = 0
    expected = sum(w * regions.take([r]).token_counts for r, w in enumerate(weights))
    np.testing.assert_allclose(regions.with_weight(weights).token_counts, expected)
    single = regions.take([3, 3]).with_weight([0, 0])
    assert not single.token_counts.any()
    assert not single.asked.any()


def test_mistakes_are_named() -> None:
    regions, _ = example()
    for weight in (-1, np.inf, np.nan, [1, 2], 1e13):
        with pytest.raises(InputError, match=r"allowed: one, or one for each of the 12 regions, 0 to 1e\+12"):
            regions.with_weight(weight)
    with pytest.raises(InputError, match="weight is 10000000"):
        regions.with_weight(1e6).with_weight(10**7)
    with pytest.raises(InputError, match="weight is 'much'; allowed: numbers"):
        regions.with_weight("much")
    corpus = Corpus.of([["a", "b"]])
    for wrong in (-1, float("nan"), "much", 1e13):
        with pytest.raises(InputError, match=r"has the weight .*; allowed: 0 to 1e\+12"):
            RegionCounts.of(corpus, "A", [Region(0, 0, 2, {"A": 2}, weight=wrong)])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has the annotator ''; allowed: a name, or None"):
        RegionCounts.of(corpus, "A", [Region(0, 0, 2, {"A": 2}, annotator="")])


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), channel=st.booleans())
def test_likelihood_of_weights(method: Method, seed: int, channel: bool) -> None:
    """0 is left out, 2 is twice, and all is linear in the weights."""
    regions, log_p = example(seed)
    options: dict[str, Any] = {
        "method": method,
        "tolerance": 1e-10,
        "miscounts": Miscounts(0.1, 0.1) if channel else None,
    }
    times = np.random.default_rng(seed).integers(0, 3, size=len(regions))
    weighted = CountLikelihood(regions.with_weight(times), **options)
    repeated = CountLikelihood(regions.take(np.repeat(np.arange(len(regions)), times)), **options)
    (value, counts), (expected_value, expected) = weighted(log_p), repeated(log_p)
    assert value == pytest.approx(expected_value, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(counts, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(counts.sum(axis=1), regions.with_weight(times).token_counts, atol=1e-8)
    assert not weighted.exact[times == 0].any()
    dropped = CountLikelihood(regions.take(times > 0).with_weight(times[times > 0]), **options)(log_p)
    assert value == dropped[0]
    np.testing.assert_array_equal(counts, dropped[1])
    for name, total in weighted.expected_miscounts().items():
        other = repeated.expected_miscounts()[name]
        assert total.missed == pytest.approx(other.missed, abs=1e-7)
        assert total.extra == pytest.approx(other.extra, abs=1e-7)
        assert total.places == other.places


def test_impossible_counts_of_weight_zero_do_no_harm() -> None:
    corpus = Corpus.of([["a", "b"]])
    told = [Region(0, 0, 2, {"A": 1}, weight=0), Region(0, 0, 2, {"A": 1, "B": 1})]
    regions = RegionCounts.of(corpus, "AB", told, may_miscount=True)
    likelihood = CountLikelihood(regions)
    assert likelihood(np.log(np.full((2, 2), 0.5)))[0] == pytest.approx(np.log(0.5))
    assert likelihood.exact.tolist() == [False, True]
    assert likelihood.describe()["regions"] == 1


@pytest.mark.parametrize("method", ["simplex", "ridge", "printed", "sgd"])
def test_moments_of_weights(method: MomentMethod) -> None:
    regions, _ = example(3, sentences=40)
    design = sparse.csr_array(np.eye(len(regions.corpus.words)))
    times = np.random.default_rng(1).integers(0, 3, size=len(regions))

    def estimate(given: RegionCounts) -> Any:
        return moment_counts(given, design, method=method, iterations=40, rng=np.random.default_rng(0))

    weighted = estimate(regions.with_weight(times))
    dropped = estimate(regions.take(times > 0).with_weight(times[times > 0]))
    np.testing.assert_array_equal(weighted.label_given_token, dropped.label_given_token)
    np.testing.assert_array_equal(weighted.counts, dropped.counts)
    np.testing.assert_allclose(weighted.counts.sum(axis=1), regions.with_weight(times).token_counts, atol=1e-9)
    if method == "sgd":  # other steps to the same minimum; a common factor changes nothing
        heavy = estimate(regions.with_weight(1e6))
        np.testing.assert_allclose(heavy.label_given_token, estimate(regions).label_given_token, atol=1e-9)
    else:
        repeated = estimate(regions.take(np.repeat(np.arange(len(regions)), times)))
        np.testing.assert_allclose(weighted.label_given_token, repeated.label_given_token, atol=1e-6)
        np.testing.assert_allclose(weighted.counts, repeated.counts, atol=1e-5)
    with pytest.raises(EmptyDataError, match="there are no regions"):
        estimate(regions.with_weight(0))


# -- files -------------------------------------------------------------------------------------------------------------


def _written(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_weights_and_annotators_are_read(tmp_path: Path) -> None:
    regions = [
        {"start": 0, "end": 2, "counts": {"A": 2}},
        {"start": 0, "end": 2, "counts": {"A": 2}, "weight": 3, "annotator": "bob"},
    ]
    path = _written(
        tmp_path / "a.jsonl",
        {"tokens": ["a", "b"], "regions": regions[:1]},
        {"tokens": ["a", "b"], "regions": regions, "tags": [["A", "B"], None], "weight": 0.5, "annotator": "ann"},
    )
    found = read_regions(path).regions
    assert found.weights.tolist() == [1, 0.5, 3, 0.5]
    assert [found.region(r).annotator for r in range(4)] == [None, "ann", "bob", "ann"]
    assert found.region(3).counts == {"A": (0, 1), "B": (0, 1)}
    plain = read_regions(_written(tmp_path / "b.jsonl", {"tokens": ["a", "b"], "regions": regions[:1]})).regions
    assert plain.weight is None
    assert plain.annotator is None


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    weights=st.lists(st.floats(0, 1e12), min_size=12, max_size=12),
    names=st.lists(st.sampled_from([None, "ann", "bob", 'Zoë "Z"']), min_size=12, max_size=12),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, seed: int, weights: list[float], names: list[str | None]
) -> None:
    regions, _ = example(seed)
    told = [replace(regions.region(r), weight=weights[r], annotator=names[r]) for r in range(len(regions))]
    path = tmp_path_factory.mktemp("regions") / "a.jsonl"
    write_regions(path, RegionCounts.of(regions.corpus, TAGS, told))
    found = read_regions(path).regions
    assert [found.region(r) for r in range(len(found))] == told


def test_usual_weights_are_not_written(tmp_path: Path) -> None:
    regions, _ = example()
    write_regions(tmp_path / "a.jsonl", regions)
    write_regions(tmp_path / "b.jsonl", regions.with_weight(1))
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    assert "weight" not in (tmp_path / "a.jsonl").read_text()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"weight": -1}, r"has the weight -1; allowed: 0 to 1e\+12"),
        ({"weight": True}, "has the weight True"),
        ({"weight": "2"}, "has the weight '2'"),
        ({"annotator": ""}, "has the annotator ''; allowed: a name"),
        ({"annotator": 3}, "has the annotator 3"),
        ({"anotator": "x"}, "unknown field 'anotator'.*Did you mean 'annotator'"),
    ],
)
def test_bad_sources_are_named(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    region = {"start": 0, "end": 1, "counts": {"A": 1}}
    for line in ({"regions": [region], **fields}, {"regions": [region | fields]}):
        path = _written(tmp_path / "a.jsonl", {"tokens": ["a"], **line})
        with pytest.raises(FormatError, match=words):
            read_regions(path)


def test_counts_that_cannot_be_are_read_where_people_miscount(tmp_path: Path) -> None:
    """Also those that show only when all tags are known; labels and allowed tags must fit all the same."""
    asked = {"start": 0, "end": 3, "counts": {"A": 1}, "asked": ["A", "B"]}
    few, many = {"start": 0, "end": 3, "counts": {"A": 1}}, {"start": 0, "end": 3, "counts": {"A": 4, "B": 1}}
    path = _written(tmp_path / "a.jsonl", {"tokens": ["a", "b", "c"], "regions": [asked, few, many]})
    with pytest.raises(InputError, match="counts of 1 together"):
        read_regions(path)
    found = read_regions(path, may_miscount=True).regions
    assert [found.region(r).counts for r in range(3)] == [{"A": 1, "B": 0}, {"A": 1}, {"A": 4, "B": 1}]
    assert found.closed.all()
    write_regions(tmp_path / "b.jsonl", found)
    again = read_regions(tmp_path / "b.jsonl", may_miscount=True).regions
    assert [again.region(r) for r in range(3)] == [found.region(r) for r in range(3)]
    too_many = {"tokens": ["a", "b"], "regions": [{"start": 0, "end": 2, "counts": {"A": 4}}]}
    with pytest.raises(InputError, match="allowed where people miscount: at most 3"):
        read_regions(_written(tmp_path / "d.jsonl", too_many), may_miscount=True)


def test_the_way_out_of_counts_that_cannot_be(tmp_path: Path) -> None:
    path = _written(
        tmp_path / "a.jsonl", {"tokens": ["a", "b"], "regions": [{"start": 0, "end": 2, "counts": {"A": 3}}]}
    )
    with pytest.raises(InputError, match=r"skip_bad=True.*may_miscount=True"):
        read_regions(path)
    path = _written(
        tmp_path / "a.jsonl", {"tokens": ["a", "b"], "regions": [{"start": 0, "end": 2, "counts": {"A": 4}}]}
    )
    with pytest.raises(InputError, match="skip_bad=True") as refused:
        read_regions(path, may_miscount=True)
    assert "may_miscount" not in str(refused.value)


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("skip_bad", [True, False])
def test_single_tokens_that_were_miscounted_are_left_out(tmp_path: Path, header: bool, skip_bad: bool) -> None:
    """No channel applies to them, and none is needed: the rest of the line is kept."""
    good, open_one = (
        {"start": 0, "end": 2, "counts": {"A": 1}},
        {"start": 1, "end": 2, "counts": {"A": 2}, "asked": ["A"]},
    )
    bad = [
        {"start": 0, "end": 1, "counts": {}},
        {"start": 1, "end": 2, "counts": {"A": 1, "B": 1}},
        {"start": 1, "end": 2, "counts": {"B": 1}, "asked": ["A", "B", "C"]},
        {"start": 1, "end": 2, "counts": {"B": 2}, "asked": ["C", "B", "A"]},
    ]
    line = {"tokens": ["a", "b"], "tags": ["C", None], "regions": [*bad, good, open_one]}
    first = [{"askance": "regions/1", "tagset": ["A", "B", "C"]}] if header else []
    path = _written(tmp_path / "a.jsonl", *first, line)
    found = read_regions(path, may_miscount=True, skip_bad=skip_bad)
    assert found.refused == {"single token": 3}
    assert len(found.messages) == 1
    assert f"a.jsonl, line {1 + header}: region 0 to 1 of sentence 1 has 1 tokens and counts of 0" in found.messages[0]
    kept = [found.regions.region(r) for r in range(len(found.regions))]
    assert [each.counts for each in kept] == [{"A": 0, "B": 1, "C": 0}, {"A": 1}, {"A": 2}, {"C": 1}]
    with pytest.raises(InputError, match="skip_bad=True"):
        read_regions(_written(tmp_path / "b.jsonl", *first, {**line, "regions": bad[:1]}))
    too_many = {**line, "regions": [{"start": 1, "end": 2, "counts": {"B": 3}}]}
    with pytest.raises(InputError, match=r"1 tokens and .*3"):
        read_regions(_written(tmp_path / "c.jsonl", *first, too_many), may_miscount=True)


# -- joining -----------------------------------------------------------------------------------------------------------


def test_parts_that_cannot_be_joined() -> None:
    with pytest.raises(InputError, match="no regions to join"):
        RegionCounts.join([])
    corpus = Corpus.of([["a"]], tags=[["X"]])
    labels, others = RegionCounts.of_labels(corpus), RegionCounts.of(corpus, "XY", [])
    with pytest.raises(LabelError, match=r"the tag sets .*with_tagset\(tagset\)"):
        RegionCounts.join([others, labels])
    assert len(RegionCounts.join([others, labels.with_tagset("XY")])) == 1


@given(names=st.lists(st.lists(st.sampled_from([None, "ann", "bob", "cy"]), max_size=4), min_size=1, max_size=4))
def test_joined_regions_keep_their_annotators(names: list[list[str | None]]) -> None:
    corpus = Corpus.of([["a", "b"]])
    parts = [RegionCounts.of(corpus, "A", [Region(0, 0, 2, {"A": 2}, annotator=who) for who in row]) for row in names]
    joined = RegionCounts.join(parts)
    assert [joined.region(r).annotator for r in range(len(joined))] == [who for row in names for who in row]
    assert len(set(joined.annotators)) == len(joined.annotators)


@pytest.mark.parametrize(
    ("counts", "closed", "length", "possible"),
    [({"A": 2}, True, 2, True), ({"A": 1}, True, 2, False), ({"A": 1}, False, 2, True), ({"A": 3}, False, 2, False)],
)
def test_possible_counts(counts: dict[str, Any], closed: bool, length: int, possible: bool) -> None:
    told = [Region(0, 0, length, counts, closed)]
    assert RegionCounts.of(Corpus.of([["a", "b"]]), "AB", told, may_miscount=True).is_possible.tolist() == [possible]
