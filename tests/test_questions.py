"""From bare text to a sheet for annotators and back: stretches, sheets, and what people write into them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askance.errors import EmptyDataError, InputError
from askance.text import (
    Corpus,
    CountTagger,
    Region,
    RegionCounts,
    Stretch,
    draw_stretches,
    next_stretches,
    read_regions,
    read_sheet,
    sample_regions,
    write_sheet,
    write_tagged,
)
from askance.text.sheets.filled_sheet import sentences_of_sheet

from .test_cli import call, parsed
from .test_filled_sheet import filled

TEXT = Corpus.of([["the", "old", "sailor", "sleeps", "."], ["dogs", "bark"], ["it", "rains", "and", "it", "pours"]])
TAGS = ["A", "B", "C"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(path: str | Path, separator: str = ",") -> list[dict[str, str]]:
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter=separator))


# -- stretches ---------------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any),
    window=st.none() | st.integers(1, 6),
    m=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_places_are_those_of_sampled_regions(lengths: list[int], window: int | None, m: int, seed: int) -> None:
    sentences = [["w"] * length for length in lengths]
    labelled = Corpus.of(sentences, tags=sentences)
    drawn = draw_stretches(Corpus.of(sentences), window=window, per_sentence=m, rng=np.random.default_rng(seed))
    # Sentences without words are left out before anything is drawn.
    kept = [number for number, length in enumerate(lengths) if length]
    regions = sample_regions(labelled.take(kept), window=window, per_sentence=m, rng=np.random.default_rng(seed))
    expected = [regions.region(number) for number in range(len(regions))]
    assert drawn == [Stretch(kept[each.sentence], each.start, each.end) for each in expected]


@settings(max_examples=50, deadline=None)
@given(n=st.integers(1, 12), left_out=st.sets(st.integers(0, 2), max_size=2), seed=st.integers(0, 99))
def test_some_of_the_stretches(n: int, left_out: set[int], seed: int) -> None:
    draws = draw_stretches(TEXT, window=2, n=n, per_sentence=9, without=left_out, rng=np.random.default_rng(seed))
    everything = {
        Stretch(s, i, i + 2)
        for s, length in enumerate(TEXT.lengths.tolist())
        for i in range(length - 1)
        if s not in left_out
    }
    assert set(draws) <= everything
    assert draws == sorted(set(draws))
    assert len(draws) == min(n, len(everything))


def test_what_cannot_be_drawn() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(EmptyDataError, match="none of the 3 sentences is left"):
        draw_stretches(TEXT, window=2, without=range(3), rng=rng)
    with pytest.raises(InputError, match="without holds 3; allowed: numbers of sentences, 0 to 2"):
        draw_stretches(TEXT, window=2, without=[3], rng=rng)
    with pytest.raises(InputError, match="n is 0"):
        draw_stretches(TEXT, window=2, n=0, rng=rng)
    with pytest.raises(InputError, match="corpus is "):
        draw_stretches([["a"]], window=2, rng=rng)  # type: ignore[arg-type]


def _tagger() -> CountTagger:
    words = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["dogs", "bark"]]
    tags = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    return CountTagger("node").fit(RegionCounts.of_labels(Corpus.of(words, tags=tags)))


@pytest.mark.parametrize("window", [1, 3, None])
def test_doubt_is_the_expected_number_of_mistakes(window: int | None) -> None:
    tagger = _tagger()
    found = next_stretches(tagger, TEXT, 9, window=window)
    assert sorted(each.sentence for each in found) == [0, 1, 2]
    doubts = []
    for stretch in found:
        table = 1 - tagger.predict_proba([TEXT.sentence(stretch.sentence)])[0].max(axis=1)
        size = min(window or len(table), len(table))
        assert stretch.end - stretch.start == size
        sums = [table[i : i + size].sum() for i in range(len(table) - size + 1)]
        assert table[stretch.start : stretch.end].sum() == pytest.approx(max(sums))
        doubts.append(max(sums))
    assert doubts == sorted(doubts, reverse=True)
    assert next_stretches(tagger, TEXT, 1, window=window) == found[:1]
    assert next_stretches(tagger, TEXT, 9, window=window, without=[found[0].sentence]) == found[1:]


# -- sheets ------------------------------------------------------------------------------------------------------------

_WORD = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\x00"), min_size=1, max_size=5
).filter(lambda word: word not in ("[[", "]]"))
_NAME = st.sampled_from(["A", "-LRB-", "=", ",", ";", '"', "é", "tag", "B C"])


@st.composite
def _filled(draw: st.DrawFn) -> tuple[Corpus, list[str], list[Region | Stretch]]:
    """Sentences, tags, and what was counted in stretches of them: a stretch alone was not answered."""
    sentences = draw(st.lists(st.lists(_WORD, min_size=1, max_size=6), min_size=1, max_size=4))
    tags = draw(st.lists(_NAME, min_size=2, max_size=4, unique=True))
    corpus = Corpus.of(sentences)
    told: list[Region | Stretch] = []
    for number, words in enumerate(sentences):
        start = draw(st.integers(0, len(words) - 1))
        end = draw(st.integers(start + 1, len(words)))
        if draw(st.booleans()) and told:
            told.append(Stretch(number, start, end))
            continue
        asked = draw(st.lists(st.sampled_from(tags), min_size=1, unique=True))
        counts, left = {}, end - start
        for tag in asked:
            counts[tag] = draw(st.integers(0, left))
            left -= counts[tag]
        closed = len(asked) == len(tags)
        if closed:
            counts[asked[-1]] += left
        who = draw(st.sampled_from([None, "ann", "ben"]))
        told.append(Region(number, start, end, counts, closed, annotator=who))
    return corpus, tags, told


@settings(max_examples=60, deadline=None)
@given(filled=_filled(), separator=st.sampled_from(",;"), excel=st.booleans(), gaps=st.booleans())
def test_what_is_written_down_is_read_back(
    filled: tuple[Corpus, list[str], list[Region | Stretch]],
    separator: str,
    excel: bool,
    gaps: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Whatever separator, however a spreadsheet writes numbers, and with zeros left empty where the sum is clear."""
    corpus, tags, told = filled
    path = tmp_path_factory.mktemp("sheet") / "sheet.csv"
    places = [Stretch(each.sentence, each.start, each.end) for each in told]
    assert write_sheet(path, corpus, places, tags, separator=separator) == [path]
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    for row, each in zip(rows, told, strict=True):
        if isinstance(each, Region):
            clear = gaps and sum(each.counts.values()) == each.end - each.start  # type: ignore[arg-type]
            for place, tag in enumerate(tags, 2):
                count = each.counts.get(tag)
                text = "-" if count is None else "" if clear and not count else f"{count}.0 " if excel else str(count)
                row[place] = text
            row[-2] = each.annotator or ""
    with path.open("w", newline="", encoding="utf-8-sig" if excel else "utf-8") as file:
        csv.writer(file, delimiter=separator, lineterminator="\r\n" if excel else "\n").writerows([header, *rows])
    found = read_sheet(path)
    answered = [each for each in told if isinstance(each, Region)]
    assert (len(found.regions), found.unanswered, found.refused) == (len(answered), len(told) - len(answered), 0)
    assert found.regions.tagset == tuple(sorted(tags))
    for number, each in enumerate(answered):
        region = found.regions.region(number)
        assert (region.start, region.end, region.annotator) == (each.start, each.end, each.annotator)
        assert region.counts == each.counts
        assert region.closed == each.closed
        assert found.regions.corpus.sentence(region.sentence) == corpus.sentence(each.sentence)
        assert found.regions.corpus.ids[region.sentence] == str(each.sentence + 1)
    assert sentences_of_sheet(path) == set(corpus.sentences())


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 30), people=st.integers(2, 4), data=st.data())
def test_stretches_are_shared_out(
    count: int, people: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    twice = data.draw(st.integers(0, count))
    names = ["ann", "ben", "cat", "dan"][:people]
    corpus = Corpus.of([[f"w{number}"] for number in range(count)])
    path = tmp_path_factory.mktemp("shared") / "sheet.csv"
    written = write_sheet(
        path, corpus, [Stretch(s, 0, 1) for s in range(count)], TAGS, annotators=names, twice=twice,
        asked=2, rng=np.random.default_rng(0),
    )  # fmt: skip
    shares = {each.stem: rows_of(each) for each in written}
    assert set(shares) <= {f"sheet-{name}" for name in names}
    by_id: dict[str, list[dict[str, str]]] = {}
    for stem, rows in shares.items():
        for row in rows:
            assert stem == f"sheet-{row['annotator']}"
            by_id.setdefault(row["id"], []).append(row)
    assert len(by_id) == count
    assert sum(len(rows) == 2 for rows in by_id.values()) == twice
    for rows in by_id.values():
        assert len({row["annotator"] for row in rows}) == len(rows) <= 2
        assert len({tuple(row[tag] for tag in TAGS) for row in rows}) == 1  # the same tags of both
        assert [row[tag] for row in rows for tag in TAGS].count("-") == len(rows)


def test_a_sheet_is_safe_to_open() -> None:
    """What begins like a formula does not, and letters beyond ASCII are announced."""
    corpus = Corpus.of([["-", "oui"], ["=1+1"], ["é"]], ids=["-1", "x", "+2"])
    write_sheet("sheet.csv", corpus, [Stretch(0, 1, 2), Stretch(1, 0, 1), Stretch(2, 0, 1)], ["-LRB-", "NN"])
    assert Path("sheet.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    with open("sheet.csv", newline="", encoding="utf-8-sig") as file:
        assert not [cell for row in csv.reader(file) for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert sentences_of_sheet("sheet.csv") == set(corpus.sentences())
    write_sheet("plain.csv", TEXT, [Stretch(1, 0, 2)], TAGS, rest="other")
    assert Path("plain.csv").read_bytes() == b"id,sentence,A,B,C,other,annotator,comment\n2,[[ dogs bark ]],,,,-,,\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tags": []}, "tags is an empty list"),
        ({"tags": ["A"]}, r"tags is \['A'\] without a name for all other words"),
        ({"tags": ["A", "A"]}, "a tag is 'A'; allowed: different names"),
        ({"tags": ["A", "comment"]}, "a tag is 'comment'"),
        ({"rest": "A"}, "a tag is 'A'"),
        (
            {"asked": 4, "rng": np.random.default_rng(0)},
            "asked is 4; allowed: a whole number, at least 1 and at most 3",
        ),
        ({"asked": 1}, "rng is None"),
        ({"twice": 1}, r"annotators is \[\] with twice 1"),
        ({"twice": 1, "annotators": ["ann"]}, "two or more where"),
        ({"annotators": ["ann", "ann"]}, "different names"),
        ({"annotators": ["../ann"]}, "an annotator is '../ann'"),
        ({"separator": "|"}, "separator is '|'"),
        ({"stretches": []}, "there is no stretch"),
        ({"stretches": [Stretch(1, 0, 3)]}, r"a stretch is \(1, 0, 3\)"),
        ({"stretches": [Stretch(3, 0, 1)]}, r"a stretch is \(3, 0, 1\)"),
        ({"corpus": Corpus.of([["1 000"]]), "stretches": [Stretch(0, 0, 1)]}, "has the word '1 000'"),
        ({"corpus": Corpus.of([["[["]]), "stretches": [Stretch(0, 0, 1)]}, r"has the word '\[\['"),
        ({"corpus": Corpus.of([["\ud800"]]), "stretches": [Stretch(0, 0, 1)]}, "half a character"),
    ],
)
def test_what_no_sheet_can_be(options: dict[str, object], said: str) -> None:
    given = {"corpus": TEXT, "stretches": [Stretch(1, 0, 2)], "tags": TAGS, **options}
    with pytest.raises(InputError, match=said):
        write_sheet("sheet.csv", **given)  # type: ignore[arg-type]
    assert not Path("sheet.csv").exists()


# -- the command -------------------------------------------------------------------------------------------------------


def _write_text() -> None:
    rng = np.random.default_rng(0)
    Path("text.txt").write_text("".join(" ".join(rng.choice(["a", "b", "dog"], 7)) + "\n" for _ in range(30)), "utf-8")


def test_from_text_to_a_tagger_and_back_to_questions() -> None:
    _write_text()
    found = call("questions", "text.txt", "--window", "4", "--tags", "D,N", "--n", "20", "-o", "sheet.csv")
    assert (found.code, found.err) == (0, "")
    assert "20, of 30 sentences" in found.out
    rows = rows_of("sheet.csv")
    for row in rows[1:]:
        words = row["sentence"].partition("[[ ")[2].partition(" ]]")[0].split()
        row["N"] = str(words.count("dog"))
        row["D"] = str(4 - words.count("dog"))
    with open("filled.csv", "w", newline="") as file:
        sheet = csv.DictWriter(file, list(rows[0]))
        sheet.writeheader()
        sheet.writerows(rows)
    read = parsed(call("questions", "--read", "filled.csv", "-o", "counts.jsonl", "--json"))
    assert (read["regions"], read["unanswered"], read["every_tag_counted"], read["adding_up"]) == (19, 1, 19, 19)
    assert read_regions("counts.jsonl").regions.tagset == ("D", "N")
    assert call("train", "counts.jsonl", "-o", "model").code == 0
    more = ("questions", "text.txt", "--tagger", "model", "--not-in", "sheet.csv", "-o", "more.csv", "--json")
    asked = parsed(call(*more))
    again = {row["sentence"].replace("[[ ", "").replace(" ]]", "") for row in rows}
    left = set(Path("text.txt").read_text().splitlines()) - again
    assert asked["tags"] == ["D", "N"]
    assert {row["sentence"].replace("[[ ", "").replace(" ]]", "") for row in rows_of("more.csv")} == left
    asked = parsed(call("questions", "text.txt", "--tagger", "model", "--rest", "D", "-o", "next.csv", "--json"))
    assert (asked["tags"], {row["D"] for row in rows_of("next.csv")}) == (["N"], {"-"})  # as in the first sheets


def test_every_person_gets_a_sheet() -> None:
    _write_text()
    people = ("--annotators", "ann,ben", "--twice", "6", "--semicolons", "--asked", "1")
    found = parsed(call("questions", "text.txt", "--tags", "D,N", "--rest", "other", *people, "-o", "s.csv", "--json"))
    assert found["output"] == ["s-ann.csv", "s-ben.csv"]
    first, second = (rows_of(path, ";") for path in found["output"])
    assert len(first) + len(second) == 36
    assert len({row["id"] for row in first} & {row["id"] for row in second}) == 6
    assert {row["other"] for row in first} == {"-"}
    again = call("questions", "text.txt", "--tags", "D,N", *people, "-o", "s.csv")
    assert (again.code, again.out) == (2, "")
    assert "s-ann.csv is there already; answers in it would be lost" in again.err


def test_the_same_seed_gives_the_same_sheet() -> None:
    _write_text()
    for name, seed in (("a.csv", "1"), ("b.csv", "1"), ("c.csv", "2")):
        call("questions", "text.txt", "--tags", "D,N", "--n", "9", "--asked", "1", "--seed", seed, "-o", name)
    first, second, third = (Path(name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert first == second != third


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("text.txt", "-o", "sheet.csv"), "--tags is missing."),
        (("text.txt", "--tags", "A,B", "-o", "sheet.txt"), "-o is sheet.txt; allowed: a name that ends in .csv"),
        (("text.txt", "--tags", "A,B", "--skip-bad", "-o", "sheet.csv"), "--skip-bad is given without --read."),
        (("text.txt", "--tags", "A,B", "--asked", "3", "-o", "sheet.csv"), "--asked is 3; allowed: a whole number"),
        (("text.txt", "--tags", "A", "-o", "sheet.csv"), "two tags and more. Give --rest other."),
        (("text.txt", "--tags", 'A,"B', "-o", "sheet.csv"), "--tags is "),
        (("text.txt", "--tags", "A,B", "--twice", "2", "-o", "sheet.csv"), "--annotators ann,ben"),
        (("text.txt", "--tags", "A", "--annotators", "../x,b", "-o", "sheet.csv"), "an annotator is '../x'"),
        (("filled.csv", "--tags", "A", "-o", "sheet.csv"), "filled.csv is a table; allowed as TEXT: .txt, .tsv"),
        (("--read", "filled.csv", "--tags", "A", "-o", "c.jsonl"), "--tags is given with --read"),
        (("--read", "filled.csv", "-o", "c.csv"), "-o is c.csv; allowed: a name that ends in .jsonl"),
        (("--read", "filled.csv", "-o", "c.jsonl"), "filled.csv, line 2 is half filled"),
        (("--read", "filled.csv", "-o", "filled.csv"), "-o filled.csv is one of the inputs"),
    ],
)
def test_what_the_command_refuses(words: tuple[str, ...], said: str) -> None:
    _write_text()
    filled("1,[[ a b ]],1,,,")
    found = call("questions", *words)
    assert (found.code, found.out) == (2, "")
    assert said in found.err
    if "half" in said:
        assert "--empty-is-zero; or leave such rows out with --skip-bad" in found.err


def test_tags_of_text_are_not_looked_at() -> None:
    write_tagged("text.tsv", Corpus.of([["a", "b"]], tags=[["X", "Y"]]))
    assert call("questions", "text.tsv", "--tags", "D,N", "-o", "sheet.csv").code == 0
    assert "X" not in Path("sheet.csv").read_text()


def test_the_command_reads_what_people_miscounted() -> None:
    filled("1,[[ a b ]],1,2,ann,", "2,[[ a b ]],1,x,ben,")
    found = call("questions", "--read", "filled.csv", "--may-miscount", "--skip-bad", "-o", "counts.jsonl")
    assert found.code == 0
    assert "in 1, which add up to their words in 0" in " ".join(found.out.split())
    assert "note: filled.csv, line 3 has 'x' of B" in found.out
    assert read_regions("counts.jsonl", may_miscount=True).regions.region(0).annotator == "ann"


def test_a_sheet_without_a_rest_says_what_that_means() -> None:
    _write_text()
    note = "note: without --rest every word must have one of these tags; if words may have none, add --rest other"
    assert note in call("questions", "text.txt", "--tags", "D,N", "-o", "sheet.csv").out
    assert "note" not in call("questions", "text.txt", "--tags", "D,N", "--rest", "other", "-o", "rest.csv").out


def test_text_that_nobody_split_into_words_is_told() -> None:
    Path("plain.txt").write_text("Frau Weber sagte: „Ja.“\nEs regnet.\nWer kommt\n", encoding="utf-8")
    note = "note: a sign such as the last of '„Ja.“' is part of its word"
    assert note in call("questions", "plain.txt", "--tags", "D,N", "--rest", "other", "-o", "sheet.csv").out
    assert call("collect", "new", "counting", "--text", "plain.txt", "-o", "campaign.toml").code == 0
    found = call("collect", "check", "campaign.toml").out
    assert note in found
    assert "each counted once" in found


def test_the_command_adds_a_rest_and_leaves_out_copies() -> None:
    path = filled("1,[[ a b c ]],1,1,ann,", "2,[[ a b c ]],1,0,ann,")
    Path("copy.csv").write_bytes(path.read_bytes())
    files = ("--read", "filled.csv", "copy.csv", "-o", "counts.jsonl")
    refused = call("questions", *files)
    assert (refused.code, refused.out) == (2, "")
    assert "was --rest forgotten?" in refused.err
    accepted = call("questions", *files, "--may-miscount", "--json")
    told = json.loads(accepted.out)
    assert (told["repeated"], len(told["warnings"])) == (2, 1)
    assert "askance: warning: in 2 of 2 rows" in accepted.err
    found = call("questions", *files, "--rest", "other")
    assert (found.code, found.err) == (0, "")
    assert "note: rows that repeat what the same person answered for the same stretch, left out: 2" in found.out
    assert read_regions("counts.jsonl").regions.tagset == ("A", "B", "other")
