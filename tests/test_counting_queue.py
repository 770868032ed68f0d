"""Counting without a browser: what is asked next, what a line may hold, and what is left of undone counts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance.collect.campaign import Counting
from askance.collect.campaign_file import read_campaign
from askance.collect.collection import Collection
from askance.collect.counts import counted
from askance.collect.export import export
from askance.collect.queue import ROUND, Queue
from askance.errors import AskanceError
from askance.text import Corpus, read_regions
from askance.text.sheets.question_sheet import write_sheet
from askance.text.sheets.questions import Stretch

from .annotators import Annotator, annotators
from .collectors import COUNTING, served

HOSTILE = "<script>alert(1)</script> \u202eevil {{7*7}} &quot; ''"
WORDS = 120


def campaign_in(folder: Path, changed: str = "", text: str | None = None) -> Collection:
    """A counting campaign of 60 stretches of two words."""
    (folder / "news.txt").write_text(text or "".join(f"w{i} w{i + 1}\n" for i in range(0, WORDS, 2)), encoding="utf-8")
    (folder / "campaign.toml").write_text(COUNTING + changed, encoding="utf-8")
    return Collection(folder / "campaign.toml")


def regions_in(collection: Collection, path: Path) -> list[tuple[int, dict[str, Any], str | None]]:
    """What is exported: sentence, counts, annotator."""
    with collection.opened() as store:
        export(collection.campaign, store, path)
    regions = read_regions(path, may_miscount=True).regions
    told = [regions.region(i) for i in range(len(regions))]
    return sorted(((region.sentence, dict(region.counts), region.annotator) for region in told), key=str)


# -- what is asked next ------------------------------------------------------------------------------------------------


def test_everything_is_counted_as_often_as_it_is_to_be(tmp_path: Path) -> None:
    """Three people, one of whom goes away with stretches: all are counted twice, by two people, and never thrice."""
    collection = campaign_in(tmp_path)
    done: Counter[int] = Counter()
    by: dict[int, set[int]] = {}
    with served(collection) as running:
        ann, ben, gone = people = annotators(running, 3)
        assert gone.numbers()
        for turn in range(2 * WORDS // 2):
            who = people[turn % 2]
            numbers = who.numbers()
            if not numbers:
                continue
            who.count(numbers[0], [1, 0])
            done[numbers[0]] += 1
            by.setdefault(numbers[0], set()).add(turn % 2)
        assert ann.next() == ben.next() == {"stretches": [], "told": WORDS // 2, "left": 0}
        assert gone.numbers() == []
    assert done == dict.fromkeys(range(WORDS // 2), 2)
    assert all(people == {0, 1} for people in by.values())


def test_fewer_counts_come_first(tmp_path: Path) -> None:
    with served(campaign_in(tmp_path)) as running:
        ann, ben, cyd = annotators(running, 3)
        first = ann.numbers()
        assert first == ann.numbers()  # loaded again: the same
        assert len(first) == 30
        assert not set(first) & set(ben.numbers()[:20])  # those of the round that nobody has
        for number in first:
            ann.count(number, [1, 0])
        assert cyd.numbers()[0] not in first
        assert set(ann.numbers()).isdisjoint(first)


def test_a_server_that_starts_again_knows_who_counted_what(tmp_path: Path) -> None:
    collection = campaign_in(tmp_path)
    with served(collection) as running:
        (ann,) = annotators(running, 1)
        for number in ann.numbers()[:7]:
            ann.count(number, [0, 0])
        ann.count(7, None)
    with served(collection) as running:
        again = Annotator(running, ann.token)
        running.client.get("/healthz").raise_for_status()
        assert again.next()["told"] == 8
        assert again.numbers()[0] == 8
        with collection.opened() as store:
            collection.withdraw(store, [id for id, _, _ in store.entries()])
        running.client.get("/healthz").raise_for_status()
        assert again.next()["told"] == 0


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["count", "skip", "undo", "ask"])), max_size=60))
def test_the_queue_knows_what_it_would_read(steps: list[tuple[str, str]]) -> None:
    """One entry after the other leaves the queue as all of them at once do, and nobody gets a stretch twice."""
    counting = Counting(tuple(("a", "b") for _ in range(6)), ("N",), 2, 2, "")
    queue, entries = Queue(counting), list[tuple[bytes, int, bytes]]()
    last: dict[str, tuple[str, int]] = {}
    answered: dict[str, set[int]] = {}
    for number, (who, what) in enumerate(steps):
        asked = queue.next(who, 2)
        assert not answered.get(who, set()) & set(asked)
        if what == "ask" or (what == "undo" and who not in last) or (what != "undo" and not asked):
            continue
        replaces, stretch = last[who] if what == "undo" else (None, asked[0])
        counts = [number % 3] if what == "count" or number % 2 else None
        told = {"annotator": who, "counts": counts, "replaces": replaces, "seconds": 1.0, "stretch": stretch}
        id = number.to_bytes(16)
        last[who] = (id.hex(), stretch)
        answered.setdefault(who, set()).add(stretch)
        entries.append((id, 0, json.dumps(told).encode()))
        queue.add(told)
    anew = Queue(counting)
    anew.fill(counted(counting, entries), len(entries))
    people = [*"abcd"]
    assert [queue.left(who) for who in people] == [anew.left(who) for who in people]
    assert [queue.told(who) for who in people] == [anew.told(who) for who in people]
    assert queue.n == anew.n


def test_nobody_replaces_what_somebody_else_counted() -> None:
    """Nor a count of another stretch, nor one that nobody sent."""
    counting = Counting((("a", "b"), ("c", "d")), ("N",), 2, 2, "")

    def told(annotator: str, stretch: int, replaces: int | None) -> dict[str, Any]:
        number = None if replaces is None else replaces.to_bytes(16).hex()
        return {"annotator": annotator, "counts": [1], "replaces": number, "seconds": 1.0, "stretch": stretch}

    lines = [told("a", 0, None), told("b", 0, 0), told("a", 1, 0), told("b", 1, 99)]
    entries = [(number.to_bytes(16), 0, json.dumps(line).encode()) for number, line in enumerate(lines)]
    known = counted(counting, entries)
    assert sorted((count.stretch, count.annotator) for count in known.counts) == [
        (0, "a"),
        (0, "b"),
        (1, "a"),
        (1, "b"),
    ]
    assert (known.replaced, known.repeated) == (0, 0)
    queue, anew = Queue(counting), Queue(counting)
    for line in lines:
        queue.add(line)
    anew.fill(known, len(entries))
    for who in "abc":
        assert (queue.left(who), queue.told(who)) == (anew.left(who), anew.told(who))
    assert queue.left("c") == 0  # everything was counted twice


def test_a_round_ends_before_the_next_begins() -> None:
    counting = Counting(tuple(("a", "b") for _ in range(2 * ROUND)), ("N",), 2, 2, "")
    queue = Queue(counting)
    for who in "ab":
        for _ in range(ROUND):
            (number,) = queue.next(who, 1)
            assert number < ROUND
            queue.add({"stretch": number, "counts": [0], "annotator": who, "replaces": None})
    assert queue.next("a", 1) == [ROUND]


def test_the_same_person_again_where_the_campaign_says_so(tmp_path: Path) -> None:
    collection = campaign_in(tmp_path, "again = true\n", "a b\n")
    with served(collection) as running:
        (ann,) = annotators(running, 1)
        for _ in range(2):
            assert ann.numbers() == [0]
            ann.count(0, [1, 0])
        assert ann.numbers() == []
    assert len(regions_in(collection, tmp_path / "counts.jsonl")) == 2


def test_who_is_not_known_gets_nothing(tmp_path: Path) -> None:
    collection = campaign_in(tmp_path)
    with served(collection) as running:
        (ann,) = annotators(running, 1)
        assert Annotator(running, "a" * 26).next()["refused"] == "foreign"
        assert Annotator(running, None).next()["refused"] == "no token"
        assert ann.next(campaign="0" * 16)["refused"] == "another wave"
        assert ann.next(id="0" * 32)["refused"] == "another wave"
        assert running.client.post("/v1/nouns/next", content=b"{}").status_code == 422
        running.close()
        assert ann.next()["refused"] == "closed"


def test_with_an_open_link_devices_make_up_who_they_are(tmp_path: Path) -> None:
    """Their counts belong together, without a list of people."""
    (tmp_path / "news.txt").write_text("a b\nc d\n")
    (tmp_path / "campaign.toml").write_text(COUNTING.replace('kind = "tokens"', 'kind = "open"'))
    collection = Collection(tmp_path / "campaign.toml")
    with served(collection) as running:
        ann, ben = Annotator(running, "a" * 26), Annotator(running, "b" * 25 + "a")
        for who in (ann, ben):
            who.count(0, [1, 0])
            assert who.numbers() == [1]
    told = regions_in(collection, tmp_path / "counts.jsonl")
    assert len({who for _, _, who in told}) == 2


# -- what a line may hold ----------------------------------------------------------------------------------------------


def test_a_single_word_has_one_tag(tmp_path: Path) -> None:
    """Two tags, or none where every word has one, would be no label: a line is refused, and not the export."""
    collection = campaign_in(tmp_path, "single_words = 2\n")
    with served(collection) as running:
        (ann,) = annotators(running, 1)
        word = WORDS // 2
        for wrong in ([1, 1], [2, 0], [1, None], [None, None]):
            assert running.verdicts(ann.line(word, wrong)[1]) == "R"
        ann.count(word, [0, 1])
        ann.count(word + 1, [0, 0])
        ann.count(0, [2, None])
    told = [counts for _, counts, _ in regions_in(collection, tmp_path / "counts.jsonl")]
    assert sorted(map(str, told)) == ["{'NOUN': 2}", "{'OTHER': 1}", "{'VERB': 1}"]


def test_without_a_rest_every_word_has_a_tag(tmp_path: Path) -> None:
    (tmp_path / "news.txt").write_text("a b c\n")
    (tmp_path / "campaign.toml").write_text(COUNTING.replace('rest = "OTHER"\n', ""))
    with served(Collection(tmp_path / "campaign.toml")) as running:
        (ann,) = annotators(running, 1)
        assert running.verdicts(ann.line(1, [0, 0])[1]) == "R"
        assert running.verdicts(ann.line(0, [0, 0])[1]) == "T"  # people miscount


def test_all_lines_are_equally_long(tmp_path: Path) -> None:
    with served(campaign_in(tmp_path)) as running:
        (ann,) = annotators(running, 1)
        extremes = [(0, None, None, 0.0), (59, [3, 3], "f" * 32, 3599.9), (59, [None, 3], "f" * 32, 3599.9)]
        lengths = {len(ann.line(*line)[1]) for line in extremes}
        assert lengths == {ann.form.length}
        assert [running.verdicts(ann.line(*line)[1]) for line in extremes] == ["T"] * 3


def test_hostile_words_are_data(tmp_path: Path) -> None:
    collection = campaign_in(tmp_path, text=f"{HOSTILE}\n")
    with served(collection) as running:
        (ann,) = annotators(running, 1)
        answer = ann.next()["stretches"]
        assert answer[0]["words"] == HOSTILE.split()[:2]
        page = running.client.get("/").text
        assert "<script>alert" not in page
        assert "Content-Security-Policy" in page


# -- undo, skip, twice -------------------------------------------------------------------------------------------------


def test_what_was_undone_is_not_exported(tmp_path: Path) -> None:
    collection = campaign_in(tmp_path)
    with served(collection) as running:
        ann, ben = annotators(running, 2)
        first = ann.count(0, [1, 0])
        second = ann.count(0, [2, 0], first)
        ann.count(0, [0, 2], second)
        ann.count(1, None, ann.count(1, [1, 1]))  # counted, then skipped
        ann.count(2, [1, 1], ann.count(2, None))  # skipped, then counted
        other = ben.count(0, [1, 1])
        ann.count(3, [1, 0], other)  # of another stretch and person: replaces nothing
        _, line = ann.line(4, [1, 0])
        assert running.verdicts(line) == "T"
        assert running.verdicts(line) == "K"  # the answer was lost, and the same line comes again
        ann.count(4, [0, 1])  # on a second device: the same person once
        with collection.opened() as store:
            known = counted(running.collector.ingest.queue.counting, store.entries())  # type: ignore[union-attr]
    told = regions_in(collection, tmp_path / "counts.jsonl")
    numbers = [(sentence, tuple(counts.values())) for sentence, counts, _ in told]
    assert numbers[:4] == [(0, (0, 2)), (0, (1, 1)), (2, (1, 1)), (3, (1, 0))]
    assert [sentence for sentence, _ in numbers] == [0, 0, 2, 3, 4]
    assert (known.replaced, known.repeated, len(known.skipped)) == (4, 1, 1)


# -- the campaign file -------------------------------------------------------------------------------------------------


def test_a_sheet_says_what_is_asked_first(tmp_path: Path) -> None:
    text = "a b c d\ne f g\n"
    (tmp_path / "news.txt").write_text(text)
    corpus = Corpus.of([line.split() for line in text.splitlines()])
    write_sheet(tmp_path / "order.csv", corpus, [Stretch(1, 2, 3), Stretch(0, 1, 3)], ["NOUN", "VERB"], rest="OTHER")
    path = tmp_path / "campaign.toml"
    path.write_text(COUNTING)
    plain = read_campaign(path)
    path.write_text(COUNTING + 'order = "order.csv"\n')
    ordered = read_campaign(path)
    assert plain.counting is not None
    assert ordered.counting is not None
    assert plain.counting.order == (0, 1, 2, 3)
    assert ordered.counting.order == (3, 0, 1, 2)
    assert Queue(ordered.counting).next("ann", 2) == [3, 0]
    assert ordered.fingerprint == plain.fingerprint  # counts go on


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('ask = "all"', "line 16: counting.ask"),
        ("single_words = 99", "line 16: counting.single_words"),
        ('names = {ADJ = "adjectives"}', "line 16: counting.names.ADJ"),
        ('order = "sheet.csv"', "line 16: counting.order: no sentence of"),
        ('labelled = "gold.tsv"', "line 16: counting.labelled"),
        ('labelled = "text.txt"', "line 16: counting.labelled: .* NOUN, VERB; it has no tags"),
        ('labelled = "others.tsv"', "line 16: counting.labelled: .* NOUN, VERB; its tags are N, V"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, what: str) -> None:
    (tmp_path / "text.txt").write_text("a b c\n")
    (tmp_path / "others.tsv").write_text("a\tN\nb\tV\n")
    write_sheet(tmp_path / "sheet.csv", Corpus.of([["x", "y"]]), [Stretch(0, 0, 2)], ["NOUN", "VERB"])
    with pytest.raises(AskanceError, match=what):
        campaign_in(tmp_path, f"{line}\n", "a b c\n")
