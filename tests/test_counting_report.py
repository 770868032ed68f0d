"""What the lead of a counting campaign sees: agreement, seconds, miscounts, and what a tagger learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance.collect import agreement
from askance.collect.agreement import CountingLook, counting_report
from askance.collect.campaign import Counting
from askance.collect.counts import Count, Counted
from askance.collect.curve import CurvePoint, learning_curve
from askance.collect.server.admin import COOKIE
from askance.text import Corpus
from askance.text.io.tagged_text import read_tagged

from .annotators import annotators
from .collectors import COUNTING, collection_in, served

RNG = np.random.default_rng(7)
WORDS = {"NOUN": ["dog", "cat", "mat", "camp"], "VERB": ["barks", "sleeps"], "OTHER": ["the", "a", "old", "on"]}


def campaign(sentences: int = 120, **options: object) -> tuple[Counting, list[list[str]]]:
    """A text of which the tags are known."""
    tags = [[str(tag) for tag in RNG.choice(list(WORDS), size=10)] for _ in range(sentences)]
    words = tuple(tuple(str(RNG.choice(WORDS[tag])) for tag in row) for row in tags)
    return Counting(words, ("NOUN", "VERB"), 5, 2, "", "OTHER", **options), tags  # type: ignore[arg-type]


def told(counting: Counting, tags: list[list[str]], people: str = "ab", missed: float = 0.0) -> list[Count]:
    """What people say who miss some."""
    said: list[Count] = []
    for who in people:
        for number, stretch in enumerate(counting.stretches):
            inside = tags[stretch.sentence][stretch.start : stretch.end]
            right = [inside.count(tag) for tag in counting.tags]
            counts = [int(RNG.binomial(n, 1 - missed)) for n in right] if len(inside) > 1 else right
            said.append(Count(number, tuple(counts), 2.0 + len(said) % 3, who))
    return said


def alpha_by_pairs(units: Sequence[Sequence[int]]) -> float:
    """Krippendorff's α as it is defined, pair by pair."""
    values = [n for said in units for n in said]
    observed = sum(sum(a != b for a, b in permutations(said, 2)) / (len(said) - 1) for said in units) / len(values)
    expected = sum(a != b for a, b in permutations(values, 2)) / (len(values) * (len(values) - 1))
    return 1 - observed / expected if expected else math.nan


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=4), min_size=1, max_size=6))
def test_agreement_is_what_pairs_say(units: list[list[int]]) -> None:
    counting = Counting((tuple("ab" * len(units)),), ("N",), 2, 2, "")
    said = [Count(number, (n,), 1.0, f"{who}") for number, row in enumerate(units) for who, n in enumerate(row)]
    (tag,) = counting_report(counting, Counted(said, []), ()).agreement
    pairs = [a == b for row in units for a, b in permutations(row, 2)]
    assert tag.stretches == len(units)
    assert tag.same == pytest.approx(sum(pairs) / len(pairs))
    assert tag.alpha == pytest.approx(alpha_by_pairs(units), nan_ok=True)


def test_published_alpha() -> None:
    """Four observers, twelve units, gaps (Krippendorff 2011, Computing Krippendorff's alpha-reliability): .743."""
    observers = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
    units = [[int(row[i]) for row in observers if row[i] != "."] for i in range(12)]
    assert round(agreement._same_and_alpha([unit for unit in units if len(unit) > 1])[1], 3) == 0.743


def test_who_counts_how(tmp_path: Path) -> None:
    counting, tags = campaign(single_words=30)
    said = told(counting, tags, "a") + told(counting, tags, "b", missed=0.3)
    report = counting_report(counting, Counted(said, [(0, "a"), (1, "a")], 3, 1), ())
    careful, careless = report.people
    assert (careful.counts, careful.skipped, careless.skipped) == (len(said) // 2, 2, 0)
    assert careful.missed == 0
    assert abs(careless.missed - 0.3) < 5 * careless.missed_error
    assert careful.same == careless.same < 1
    assert [tag.tag for tag in report.agreement] == ["NOUN", "VERB", "one word"]
    assert report.agreement[-1].alpha == 1
    assert report.seconds == 3.0
    assert {"Agreement", "Annotators"} == {table["title"] for table in report.to_json()["tables"]}
    summary = " ".join(report.summary().split())
    assert "missed: of the words of a tag, the share that was not counted" in summary
    assert "two people differ wherever either errs" in summary
    assert all(math.isnan(error) or math.isfinite(error) for p in report.people for error in (p[6], p[8]))


def test_a_curve_grows_with_counts(tmp_path: Path) -> None:
    """On labelled text it is its accuracy; without, how often counts of held-out stretches are predicted."""
    counting, tags = campaign()
    said = told(counting, tags)
    points = learning_curve(counting, said)
    assert [point.counts for point in points] == sorted({point.counts for point in points})
    assert points[-1].right > 0.9
    assert math.isnan(points[-1].lower)
    gold = Corpus.of([["the", "cat", "sleeps"]] * 30, tags=[["DT", "NOUN", "VERB"]] * 30)
    path = tmp_path / "gold.tsv"
    path.write_text("the\tDT\ncat\tNOUN\nsleeps\tVERB\n\n" * 30)
    assert read_tagged(path).n_tokens == gold.n_tokens
    labelled, tags = campaign(labelled=path)
    points = learning_curve(labelled, told(labelled, tags))
    assert points[-1].lower < points[-1].right == 1.0
    assert learning_curve(counting, said[:10]) == []


def test_what_a_look_costs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than so many counts are learned from, and only when a quarter more was counted."""
    learned: list[int] = []

    def learn(counting: Counting, counts: Sequence[Count]) -> list[CurvePoint]:
        learned.append(len(counts))
        return []

    monkeypatch.setattr(agreement, "learning_curve", learn)
    counting, tags = campaign(20)
    said, look = told(counting, tags), CountingLook(counting)
    for n in (20, 22, 24, 25, 30, 40, 10):
        look.report(Counted(said[:n], []))
    assert learned == [20, 25, 40, 10]


def test_the_lead_sees_it_in_blocks(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, COUNTING)
    (tmp_path / "news.txt").write_text("".join(f"w{i} x{i}\n" for i in range(40)))
    collection = type(collection)(tmp_path / "campaign.toml")
    with served(collection) as running:
        address = str(running.client.base_url)
        entered = running.client.post(
            "/admin/enter",
            data={"key": running.collector.admin.key, "password": "a long password"},
            headers={"origin": address},
        )
        running.client.cookies.set(COOKIE, entered.cookies[COOKIE])
        people = annotators(running, 2)
        for number in range(9):
            for who in people:
                who.count(number, [1, 1])
        assert running.client.get("/admin/live").json()["counting"] is None
        for number in range(9, 12):
            people[0].count(number, [0, 0])
        told = running.client.get("/admin/live").json()["counting"]
        assert told["counts"] == 21
        assert [row["same"] for row in told["agreement"]] == [1.0, 1.0]
        page = running.client.get("/admin").text
        assert "Annotators" in page
        assert page.count("<table>") >= 3
