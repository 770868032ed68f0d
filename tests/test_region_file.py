"""Region counts from and to files of JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import AskanceError, EmptyDataError, FormatError, IncompatibleEvidenceError, InputError, LabelError
from askance.text.corpus.corpus import Corpus
from askance.text.corpus.regions import Region, RegionCounts
from askance.text.io.region_file import read_regions, write_regions
from tests.calls import calls_of

HEADER = {"askance": "regions/1", "tagset": ["VB", "DT", "NN", "JJ"]}
WORDS = ["the", "old", "dog", "barks"]


def sentence(*regions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "s1", "tokens": WORDS, "regions": list(regions), **fields}


def region(start: int, end: int, counts: Any, **fields: Any) -> dict[str, Any]:
    return {"start": start, "end": end, "counts": counts, **fields}


def written(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def assert_same(one: RegionCounts, other: RegionCounts) -> None:
    assert (one.tagset, one.corpus.words, one.corpus.ids) == (other.tagset, other.corpus.words, other.corpus.ids)
    arrays = ("start", "end", "closed", "offsets", "tag", "low", "high")
    pairs = [(getattr(one, name), getattr(other, name)) for name in arrays]
    for mine, yours in [*pairs, (one.corpus.tokens, other.corpus.tokens), (one.corpus.starts, other.corpus.starts)]:
        assert mine.dtype == yours.dtype
        np.testing.assert_array_equal(mine, yours)


# -- what lines mean ---------------------------------------------------------------------------------------------------


def test_every_kind_of_count(tmp_path: Path) -> None:
    line = sentence(
        region(0, 4, {"NN": 1, "DT": [1, None], "VB": [None, 1], "JJ": [0, 9]}),
        region(1, 3, {"NN": 1}, asked=["VB", "NN"]),
        region(0, 2, {"DT": 1, "JJ": 1}),
    )
    found = read_regions(written(tmp_path / "a.jsonl", HEADER, line)).regions
    assert found.tagset == ("DT", "JJ", "NN", "VB")
    assert [found.region(r) for r in range(3)] == [
        Region(0, 0, 4, {"DT": (1, 4), "JJ": (0, 4), "NN": 1, "VB": (0, 1)}, closed=True),
        Region(0, 1, 3, {"NN": 1, "VB": 0}, closed=False),
        Region(0, 0, 2, {"DT": 1, "JJ": 1}, closed=True),
    ]
    assert found.corpus.ids == ("s1",)
    assert found.corpus.tags is None


def test_labels_and_allowed_tags_are_regions(tmp_path: Path) -> None:
    line = sentence(region(0, 2, {"DT": 1, "JJ": 1}), tags=["DT", ["JJ", "NN"], None, ["VB"]])
    found = read_regions(written(tmp_path / "a.jsonl", HEADER, line)).regions
    assert [found.region(r) for r in range(1, 4)] == [
        Region(0, 0, 1, {"DT": 1}, closed=True),
        Region(0, 1, 2, {"JJ": (0, 1), "NN": (0, 1)}, closed=True),
        Region(0, 3, 4, {"VB": 1}, closed=True),
    ]
    assert found.corpus.tags_of(0) == ("DT", None, None, "VB")


def test_full_labels_are_full_supervision(tmp_path: Path) -> None:
    corpus = Corpus.of([WORDS, ["dogs"]], [["DT", "JJ", "NN", "VB"], ["NN"]])
    lines = [{"tokens": corpus.sentence(i), "tags": corpus.tags_of(i)} for i in range(2)]
    found = read_regions(written(tmp_path / "a.jsonl", *lines)).regions
    assert_same(found, RegionCounts.of_labels(corpus))
    assert found.corpus.tags is not None
    np.testing.assert_array_equal(found.corpus.tags, corpus.tags)


def test_without_a_tag_set_all_that_occur_are_it(tmp_path: Path) -> None:
    lines = [
        {"tokens": ["a", "b"], "regions": [region(0, 2, {"X": 2})]},
        {"tokens": ["c", "d"], "regions": [region(0, 2, {}, asked=["W"])], "tags": ["Z", ["X", "Y"]]},
    ]
    found = read_regions(written(tmp_path / "a.jsonl", {"askance": "regions/1"}, *lines)).regions
    assert found.tagset == found.corpus.tagset == ("W", "X", "Y", "Z")
    assert [found.region(r).counts for r in range(4)] == [{"X": 2}, {"W": 0}, {"Z": 1}, {"X": (0, 1), "Y": (0, 1)}]
    assert found.closed.tolist() == [True, False, True, True]


def test_whoever_asked_for_all_tags_closed_the_region(tmp_path: Path) -> None:
    good = sentence(region(0, 4, {"NN": 4}, asked=["NN", "VB"]))
    assert read_regions(written(tmp_path / "a.jsonl", good)).regions.closed.tolist() == [True]
    bad = sentence(region(0, 1, {"VB": 1}), region(0, 4, {"NN": 3}, asked=["NN", "VB"]), id="s2")
    with pytest.raises(
        InputError, match=r"line 2: region 0 to 4 of sentence 's2' has 4 tokens and counts of 3 together"
    ):
        read_regions(written(tmp_path / "b.jsonl", good, bad))
    found = read_regions(tmp_path / "b.jsonl", skip_bad=True)
    assert (len(found.regions), found.refused) == (1, {"impossible counts": 1})
    # With a third tag nothing is wrong with it.
    third = sentence(region(0, 1, {"JJ": 1}))
    assert read_regions(written(tmp_path / "c.jsonl", good, bad, third)).regions.closed.tolist() == [
        False,
        True,
        False,
        True,
    ]


def test_several_files_and_concatenated_ones(tmp_path: Path) -> None:
    line = sentence(region(0, 1, {"DT": 1}))
    first = written(tmp_path / "a.jsonl", line)
    second = written(tmp_path / "b.jsonl", "", HEADER, "", line, {**HEADER, "tagset": HEADER["tagset"][::-1]}, line)
    found = read_regions([first, second])
    assert (len(found.regions), len(found.corpus), found.regions.tagset) == (3, 3, ("DT", "JJ", "NN", "VB"))
    other = written(tmp_path / "c.jsonl", {**HEADER, "tagset": ["DT", "X"]}, line)
    for paths in ([second, other], [other, first, second]):
        with pytest.raises(IncompatibleEvidenceError, match=r"(b|c)\.jsonl has another tag set than"):
            read_regions(paths)
    with pytest.raises(IncompatibleEvidenceError, match="'X' in one of them"):
        read_regions(second, tagset=["DT", "JJ", "NN", "VB", "X"])
    with pytest.raises(IncompatibleEvidenceError, match=r"b\.jsonl, line 3 has another"):
        read_regions(written(tmp_path / "b.jsonl", HEADER, line, {**HEADER, "tagset": ["DT"]}))
    with pytest.raises(FormatError, match="allowed: in the first line"):
        read_regions(written(tmp_path / "b.jsonl", line, HEADER))


def test_a_given_tag_set(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", sentence(region(0, 1, {"DT": 1})))
    assert read_regions(path, tagset=["X", "DT"]).regions.tagset == ("DT", "X")
    with pytest.raises(LabelError, match="counts 'DT'"):
        read_regions(path, tagset=["X"])


# -- bad lines ---------------------------------------------------------------------------------------------------------

BAD: list[tuple[Any, type[AskanceError], str, str]] = [
    ('{"tokens": ["a"]', FormatError, "malformed", "not JSON"),
    ('{"tokens": ["a"], "tokens": []}', FormatError, "malformed", "appears twice"),
    ('{"tokens": ["a"], "tags": [NaN]}', FormatError, "malformed", "NaN"),
    ("[]", FormatError, "malformed", "allowed: an object"),
    ({"tokens": "a b"}, FormatError, "malformed", "its tokens are 'a b'"),
    ({"tokens": ["a"], "region": []}, FormatError, "malformed", "unknown field 'region'; .* Did you mean 'regions'"),
    (sentence(region(0, 1, {"DT": 1}, ask=["DT"])), FormatError, "malformed", "unknown field 'ask'"),
    (sentence(regions={}), FormatError, "malformed", "its regions are {}"),
    (sentence(region(0, 1, ["DT"])), FormatError, "malformed", "region 0 to 1 of sentence 's1' has the counts"),
    (sentence(region(0, 1, {"DT": 1}, asked=["NN"])), FormatError, "malformed", "counts 'DT', which is not in"),
    (sentence(region(0, 1, {}, asked=[])), FormatError, "malformed", r"asks for \[\]"),
    (sentence(region(0, 1, {"": 1})), FormatError, "malformed", "counts ''"),
    (sentence(region(True, 2, {"DT": 2})), FormatError, "malformed", "goes from True to 2"),
    (sentence(tags=["DT"]), FormatError, "malformed", "the tags of sentence 's1' have 1 entries; allowed: a list of 4"),
    (sentence(tags=["DT", [], None, None]), FormatError, "malformed", r"token 1 of sentence 's1' has \[\]"),
    (sentence(tags=["DT", 3, None, None]), FormatError, "malformed", r"token 1 of sentence 's1' has \[3\]"),
    (
        sentence(region(2, 5, {"DT": 3})),
        InputError,
        "outside the sentence",
        "region 2 to 5 of sentence 's1' .* end ≤ 4",
    ),
    (sentence(region(2, 2, {})), InputError, "outside the sentence", "region 2 to 2"),
    (sentence(region(-1, 2, {"DT": 3})), InputError, "outside the sentence", "region -1 to 2"),
    (sentence(region(0, 10**30, {})), InputError, "outside the sentence", "allowed: 0 ≤ start"),
    (sentence(region(0, 3, {"DT": 2, "NN": 2})), InputError, "impossible counts", "3 tokens and counts of 4 together"),
    (sentence(region(0, 3, {"DT": 1, "NN": 1})), InputError, "impossible counts", "3 tokens and counts of 2 together"),
    (sentence(region(0, 3, {"DT": [4, None]})), InputError, "impossible counts", "counts of 4 together"),
    (sentence(region(0, 3, {"DT": 10**30})), InputError, "impossible counts", f"counts of {10**30} together"),
    (sentence(region(0, 3, {"DT": -1, "NN": 4})), InputError, "impossible counts", "-1 of 'DT'"),
    (sentence(region(0, 3, {"DT": 1.5})), InputError, "impossible counts", "1.5 of 'DT'"),
    (sentence(region(0, 3, {"DT": True})), InputError, "impossible counts", "True of 'DT'"),
    (sentence(region(0, 3, {"DT": [2, 1]})), InputError, "impossible counts", r"\[2, 1\] of 'DT'"),
    (sentence(region(0, 3, {"DT": [1]})), InputError, "impossible counts", r"\[1\] of 'DT'"),
    (sentence(region(0, 1, {"XX": 1})), LabelError, "unknown tag", "counts 'XX'; allowed: the tags"),
    (sentence(region(0, 1, {}, asked=["XX"])), LabelError, "unknown tag", "asks for 'XX'"),
    (sentence(tags=["XX", None, None, None]), LabelError, "unknown tag", "token 0 of sentence 's1' has 'XX'"),
    (sentence(tags=[["DT", "XX"], None, None, None]), LabelError, "unknown tag", "has 'XX'"),
]


@pytest.mark.parametrize(("line", "error", "reason", "words"), BAD, ids=[words for *_, words in BAD])
def test_bad_lines_are_named_or_left_out(
    tmp_path: Path, line: Any, error: type[AskanceError], reason: str, words: str
) -> None:
    good = sentence(region(0, 1, {"DT": 1}))
    path = written(tmp_path / "a.jsonl", HEADER, good, line, good)
    with pytest.raises(error, match=rf"a\.jsonl, line 3: .*{words}") as caught:
        read_regions(path)
    assert type(caught.value) is error
    found = read_regions(path, skip_bad=True)
    assert (len(found.regions), len(found.corpus), found.n_bad, found.refused) == (2, 2, 1, {reason: 1})
    assert found.messages == (caught.value.message,)


def test_bad_text_is_named_or_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", HEADER, sentence(region(0, 1, {"DT": 1})))
    path.write_bytes(path.read_bytes() + b'{"tokens": ["d\xf6g"]}\n\n{"tokens": ["d\xf6g"]}')
    with pytest.raises(FormatError, match="line 3: it is not UTF-8"):
        read_regions(path)
    assert read_regions(path, skip_bad=True).refused == {"malformed": 2}


def test_bad_lines_leave_no_tags_behind(tmp_path: Path) -> None:
    lines = [sentence(region(0, 1, {"DT": 1})), sentence(region(0, 1, {"DT": 5, "XX": 1}))]
    assert read_regions(written(tmp_path / "a.jsonl", *lines), skip_bad=True).regions.tagset == ("DT",)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"askance": "regions/2"}, "format 'regions/2'; allowed for regions: 'regions/1'"),
        ({"askance": "reports/1", "channel": {}}, "format 'reports/1'"),
        ({"askance": "regions/1", "tagset": []}, r"the tag set \[\]"),
        ({"askance": "regions/1", "tagset": ["A", 1]}, "allowed: a list of texts"),
        ({"askance": "regions/1", "tagset": ["A", "B", "A"]}, "lists the tag 'A' twice"),
        ({"askance": "regions/1", "tags": ["A"]}, "unknown field 'tags'"),
    ],
)
def test_bad_headers_are_never_skipped(tmp_path: Path, header: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=f"line 1 .*{words}"):
        read_regions(written(tmp_path / "a.jsonl", header, sentence(region(0, 1, {"A": 1}))), skip_bad=True)


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(EmptyDataError, match=r"a\.jsonl is empty"):
        read_regions(written(tmp_path / "a.jsonl", ""))
    with pytest.raises(EmptyDataError, match="no region and no label"):
        read_regions(written(tmp_path / "a.jsonl", HEADER, {"tokens": ["a"]}))
    with pytest.raises(EmptyDataError, match=r"all 2 lines were left out; the first: .*a\.jsonl, line 1: "):
        read_regions(written(tmp_path / "a.jsonl", "x", "y"), skip_bad=True)
    with pytest.raises(EmptyDataError):
        read_regions([])
    with pytest.raises(FormatError, match="cannot read"):
        read_regions(tmp_path / "missing.jsonl")
    with pytest.raises(InputError, match="tagset is 'NN'"):
        read_regions(written(tmp_path / "a.jsonl", sentence(region(0, 1, {"A": 1}))), tagset="NN")


# -- writing -----------------------------------------------------------------------------------------------------------

TAGS = ("A", "B", "``", "ß")


@st.composite
def some_regions(draw: st.DrawFn) -> RegionCounts:
    """Regions that can be, sorted by sentence, of a corpus without empty words."""
    word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)
    sentences = draw(st.lists(st.lists(word, max_size=6), min_size=1, max_size=4).filter(any))
    named = draw(st.booleans())
    regions = []
    for number, words in enumerate(sentences):
        for _ in range(draw(st.integers(0, 2)) if words else 0):
            start = draw(st.integers(0, len(words) - 1))
            end = draw(st.integers(start + 1, len(words)))
            truth = draw(st.lists(st.sampled_from(TAGS), min_size=end - start, max_size=end - start))
            closed = draw(st.booleans())
            asked = set(truth) if closed else draw(st.sets(st.sampled_from(TAGS), min_size=1))
            counts: dict[str, int | tuple[int, int]] = {}
            for tag in asked:
                n = truth.count(tag)
                counts[tag] = (max(0, n - 1), n + 1) if draw(st.booleans()) else n
            regions.append(Region(number, start, end, counts, closed))
    corpus = Corpus.of(sentences, ids=[f"s{i}" for i in range(len(sentences))] if named else ())
    return RegionCounts.of(corpus, TAGS, regions or [Region(_first(sentences), 0, 1, {"A": 1})])


def _first(sentences: list[list[str]]) -> int:
    return next(number for number, words in enumerate(sentences) if words)


@settings(deadline=None, max_examples=60)
@given(some_regions(), st.sampled_from(["a.jsonl", "a.jsonl.gz"]))
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, regions: RegionCounts, name: str
) -> None:
    path = tmp_path_factory.mktemp("regions") / name
    write_regions(path, regions)
    assert_same(read_regions(path).regions, regions)
    assert [entry.name for entry in path.parent.iterdir()] == [name]


def test_what_is_written_can_be_read_by_people(tmp_path: Path) -> None:
    corpus = Corpus.of([["a", "b"], ["c"]], [["A", "B"], ["A"]])
    regions = [Region(0, 0, 2, {"A": 1, "B": 0}, closed=False), Region(0, 1, 2, {"A": (0, 1), "B": (0, 1)})]
    write_regions(tmp_path / "a.jsonl", RegionCounts.of(corpus, ["A", "B", "C"], regions))
    # The tags of the corpus are not what the annotator said.
    assert (tmp_path / "a.jsonl").read_text().splitlines() == [
        '{"askance":"regions/1","tagset":["A","B","C"]}',
        '{"tokens":["a","b"],"regions":[{"start":0,"end":2,"counts":{"A":1},"asked":["A","B"]},'
        '{"start":1,"end":2,"counts":{"A":[0,1],"B":[0,1]}}]}',
        '{"tokens":["c"],"regions":[]}',
    ]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", "old")
    with pytest.raises(InputError, match="half a character"):
        write_regions(path, RegionCounts.of(Corpus.of([["\ud800"]]), ["A"], [Region(0, 0, 1, {"A": 1})]))
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.jsonl"]
    assert path.read_text() == "old\n"


def test_nine_thousand_sentences_are_read_quickly(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(20_000)]
    corpus = Corpus.of([[words[i] for i in rng.integers(0, 20_000, 24)] for _ in range(9000)])
    tags = [f"T{i:02}" for i in range(44)]
    counts = {"T01": 2, "T05": 1, "T08": 1, "T10": 1}
    write_regions(tmp_path / "a.jsonl", RegionCounts.of(corpus, tags, [Region(s, 3, 8, counts) for s in range(9000)]))
    assert calls_of(lambda: read_regions(tmp_path / "a.jsonl")) < 500 * 9000  # 240 for a sentence of 24 words
