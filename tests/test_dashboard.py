"""The dashboard: pictures are exact functions of numbers, what is told changes in blocks, texts stay texts."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import askance as ak
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign
from askance.collect.collection import Collection
from askance.collect.live import BLOCK, live_estimates
from askance.collect.pages import pictures
from askance.collect.pages.dashboard import dashboard, tables_in
from askance.collect.progress import Progress
from askance.collect.store import Entry
from askance.tables import Column, Table
from tests.collectors import COUNTING, DEVICES, SURVEY, Served, collection_in, line_of, served

HOSTILE = '"></svg><script>alert(1)</script><img src=x onerror=alert(2)>\u202eevil\u2069 {{ 7 * 7 }}'
FORCED = ak.ForcedResponse("2/3", "1/6")


def record(estimate: float, lower: float, upper: float, reach: float = 0.05, name: str = "yes") -> dict[str, Any]:
    return {"name": name, "estimate": estimate, "lower": lower, "upper": upper, "expected_reach": reach}


def parsed(svg: str) -> ET.Element:
    """A picture as XML, which it must be."""
    return ET.fromstring(svg)


def places(svg: str, kind: str, *names: str) -> list[tuple[float, ...]]:
    """Places of all elements of a class."""
    return [tuple(float(one.attrib[name]) for name in names) for one in parsed(svg).iter() if one.get("class") == kind]


# -- pictures --------------------------------------------------------------------------------------------------------


def test_ticks_are_round_and_within() -> None:
    assert pictures.ticks(0.0, 1.0) == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert pictures.ticks(0, 100_000, 4) == [0.0, 50_000.0, 100_000.0]
    assert pictures.ticks(0.5, 0.5) == [0.5]
    for low, high in ((0, 1e9), (0.49, 0.51), (0, 7), (0.001, 0.0011)):
        found = pictures.ticks(low, high)
        assert 2 <= len(found) <= 5
        assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)


def test_progress_is_a_bar_that_is_full_at_the_plan() -> None:
    widths = [places(pictures.progress_picture(n, 200), "done", "width") for n in (50, 200, 1000)]
    assert widths == [[(89.5,)], [(358.0,)], [(358.0,)]]
    assert places(pictures.progress_picture(0, 200), "done", "width") == []
    assert "50 of 200 planned." in pictures.progress_picture(50, 200)


def test_shares_stand_where_they_are_between_0_and_100() -> None:
    svg = pictures.shares_picture([record(0.5, 0.25, 1.0, 0.125)], 2000, "Shares")
    assert places(svg, "interval", "x1", "x2") == [(93.0, 354.0)]
    assert places(svg, "point", "cx") == [(180.0,)]
    assert places(svg, "expected", "x", "width") == [(136.5, 87.0)]
    beyond = pictures.shares_picture([record(-0.1, -0.2, 1.3)], 2000, "Shares", expected=False)
    assert places(beyond, "interval", "x1", "x2") == [(6.0, 354.0)]
    assert places(beyond, "expected", "x") == []
    said = parsed(svg).find("desc")
    assert said is not None
    assert said.text == "yes 50\xa0%, from 25\xa0% to 100\xa0%. Pale: what is expected at 2,000."


def test_a_path_goes_from_block_to_block_and_on_to_the_plan() -> None:
    points = [(20, record(0.4, 0.01, 0.99)), (50, record(0.5, 0.21, 0.79, 0.2))]
    svg = pictures.path_picture(points, 100, "Path")
    assert places(svg, "interval", "x1", "x2", "y1", "y2") == [(200.0, 200.0, 135.2, 44.8)]
    assert places(svg, "plan", "x1", "y1", "y2") == [(346.0, 121.2, 58.8)]
    corners = {one.get("class"): one.attrib["points"] for one in parsed(svg).iter() if "points" in one.attrib}
    assert corners["estimate"] == "112.4,105.6 200,90"
    assert corners["band"] == "112.4,13.6 200,44.8 200,135.2 112.4,166.4"
    assert corners["expected"] == "200,44.8 346,58.8 346,121.2 200,135.2"
    done = pictures.path_picture([(150, record(0.5, 0.4, 0.6))], 100, "Path")
    assert "expected" not in done
    assert places(done, "interval", "x1") == [(346.0,)]


def test_windows_stand_side_by_side() -> None:
    points = [(f"2026-01-0{i}", record(0.5, 0.01, 0.99)) for i in (1, 2, 3)]
    svg = pictures.trend_picture(points, "Trend")
    assert places(svg, "point", "cx", "cy") == [(102.7, 90.0), (200.0, 90.0), (297.3, 90.0)]
    assert places(svg, "interval", "y1", "y2") == [(166.4, 13.6)] * 3
    assert "2026-01-02" in svg  # in words
    assert parsed(pictures.trend_picture(points[:1], "Trend")) is not None


def test_numbers_beside_an_axis_are_where_its_lines_are() -> None:
    """Of a rare answer that is known well a line stands at 0.25 %, not at 0.2 %."""
    rare = pictures.path_picture([(50, record(0.001, 0.0005, 0.002))], 50, "Path")
    beside = [one.text for one in parsed(rare).iter() if one.get("text-anchor") == "end" and "%" in (one.text or "")]
    assert beside == [f"{text}\xa0%" for text in ("0", "0.25", "0.5", "0.75", "1")]


def test_texts_of_pictures_are_escaped_and_short() -> None:
    rows = [record(0.5, 0.4, 0.6, name=HOSTILE), record(0.5, 0.4, 0.6, name="two\nlines")]
    drawn = (
        pictures.shares_picture(rows, 100, HOSTILE),
        pictures.path_picture([(20, rows[0])], 100, HOSTILE),
        pictures.trend_picture([(HOSTILE, rows[0])], HOSTILE),
    )
    for svg in drawn:
        assert "<script" not in svg
        assert "<img" not in svg
        title = parsed(svg).find("title")
        assert title is not None
        assert title.text == HOSTILE
    assert pictures.short("a" * 40) == "a" * 33 + "…"
    assert "two lines" in drawn[0]


# -- the page, from what is told ---------------------------------------------------------------------------------------


def campaign_of(channel: Any = FORCED, kind: Any = "survey", name: str = "cheated", **more: Any) -> Campaign:
    asked = Asked(name, {"en": "Have you <i>cheated</i>?"}, channel)
    return Campaign("exams", kind, {"en": "Exams"}, ("en",), (asked,), planned_n=1000, **more)


def told_of(reported: Any, campaign: Campaign, **more: Any) -> dict[str, Any]:
    """What would be told of these reports."""
    live = live_estimates({campaign.questions[0].name: reported}, campaign.planned_n)
    n = max(live.n.values())
    same = {"planned_n": campaign.planned_n, "block": BLOCK, "withdrawn": 0, "tokens": {"issued": 0, "spent": 0}}
    return {"campaign": campaign.name, "n": n, "live": live.to_json(), "path": {}, **same, **more}


def test_what_can_be_said_now_and_at_the_planned_n_stands_in_words() -> None:
    campaign, at = campaign_of(), ak.share_sequence(ak.Tally(FORCED, [350, 150]), 1000)
    html = dashboard(campaign, told_of(ak.Tally(FORCED, [350, 150]), campaign)).html
    ends = [pictures.percent(float(end[1])) for end in (at.lower, at.upper)]
    assert f"between <b>{ends[0]}</b> and <b>{ends[1]}</b>; that holds at all looks, with 95 % confidence." in html
    assert f"At 1,000 reports it will be known to about ± {100 * at.expected_reach[1]:.2g} points." in html
    assert "Have you &lt;i&gt;cheated&lt;/i&gt;?" in html
    full = dashboard(campaign, told_of(ak.Tally(FORCED, [700, 300]), campaign)).html
    assert "will be known" not in full
    assert "valid only if it was decided beforehand" in full
    nothing = dashboard(campaign, {**told_of(ak.Tally(FORCED), campaign), "n": 0}).html
    assert "Nothing is told before 20 are." in nothing
    assert "all looks at once; pale: expected at 1,000</figcaption>" in html
    assert "pale" not in re.sub(r"<style>.*?</style>", "", full, flags=re.DOTALL)


def test_every_picture_has_its_table() -> None:
    campaign = campaign_of(ak.RandomizedResponse("1/2", outputs=["never", "once", "often"]))
    tally = ak.Tally(campaign.questions[0].channel, [300, 150, 50])  # type: ignore[type-var]
    told = told_of(tally, campaign)
    shares = told["live"]["questions"]["cheated"]["shares"]
    told["path"] = {"cheated": [{"n": n, "shares": shares} for n in (100, 500)]}
    html = dashboard(campaign, told).html
    assert html.count("block by block; pale: expected up to 1,000</figcaption>") == 3
    assert html.count("<svg") == 1 + 1 + 3  # progress, shares, and a path for each answer
    tables = re.findall(r"<table>.*?</table>", html, re.DOTALL)
    assert len(tables) == 2
    assert tables[1].count('<th scope="row"') == 6
    assert "style=" not in html.partition("</head>")[2]  # its policy would stop it


def test_ways_of_asking_stand_side_by_side() -> None:
    campaign, direct = campaign_of(), ak.Direct(["no", "yes"])
    ways = {"dice": ak.Tally(FORCED, [600, 300]), HOSTILE: ak.Tally(direct, [720, 180])}
    html = dashboard(campaign, told_of(ways, campaign)).html
    assert "The ways of asking do not contradict each other." in html
    assert "dice: yes" in html
    assert "dice, 900 reports" in html
    assert "<script" not in html
    apart = dashboard(campaign, told_of({**ways, HOSTILE: ak.Tally(direct, [890, 10])}, campaign)).html
    assert "Do not trust the shares of <bdi>cheated</bdi>" in apart
    assert "do not tell the same" in apart


def test_alarms_stand_above_everything() -> None:
    campaign = campaign_of()
    html = dashboard(campaign, told_of(ak.Tally(FORCED, [990, 10]), campaign)).html
    assert html.index("cannot have come through this channel") < html.index("In short")
    assert 'role="alert"' in html
    withdrawn = dashboard(campaign, told_of(ak.Tally(FORCED, [60, 30]), campaign, withdrawn=7)).html
    assert "7 answers were withdrawn" in withdrawn
    assert 'role="alert"' not in withdrawn
    one = dashboard(campaign, told_of(ak.Tally(FORCED, [60, 30]), campaign, withdrawn=1)).html
    assert "1 answer was withdrawn" in one


def test_tables_that_others_tell_are_shown_wherever_they_are() -> None:
    table = Table((Column("tag"), Column("share", "percent")), [(HOSTILE, 0.25)], title="Agreement")
    told = {"agreement": {"first": table.to_json()}, "more": [table.to_json(), 3, "text", None]}
    assert [found.title for found in tables_in(told)] == ["Agreement"] * 2
    campaign = campaign_of()
    html = dashboard(campaign, told_of(ak.Tally(FORCED, [60, 30]), campaign, counting=told)).html
    assert html.count("<caption>Agreement</caption>") == 2
    assert "25.0 %" in html
    assert "<script" not in html


def test_the_report_is_one_file_that_asks_nobody() -> None:
    campaign = campaign_of()
    made = dashboard(campaign, told_of(ak.Tally(FORCED, [350, 150]), campaign), report=True)
    assert not re.findall(r"(?:href|src|action)=|<form|<a |<script|https?:", made.html)
    assert made.policy.replace("'", "&#39;") in made.html
    assert "form-action 'none'" in made.policy
    assert "<svg" in made.html
    assert "@media print" in made.html


@pytest.mark.parametrize("name", ["cheated", HOSTILE])
def test_hostile_names_and_texts_stay_texts(name: str) -> None:
    channel = ak.RandomizedResponse("1/2", outputs=["no", HOSTILE, "often"])
    campaign = campaign_of(channel, name=name)
    told = told_of(ak.Tally(channel, [300, 150, 50]), campaign)
    told["path"] = {name: [{"n": 500, "shares": told["live"]["questions"][name]["shares"]}]}
    html = dashboard(campaign, told).html
    assert "<script" not in html
    assert "<img" not in html
    assert "alert(1)" in html
    outside = re.sub(r"<(bdi|h[12]|text|title|desc|th|td|figcaption)\b[^>]*>.*?</\1>", "", html, flags=re.DOTALL)
    assert "\u202e" not in outside  # whatever turns the direction is alone in its element


# -- what is told, in blocks -------------------------------------------------------------------------------------------


@pytest.fixture
def survey(tmp_path: Path) -> Iterator[tuple[Collection, Any]]:
    collection = collection_in(tmp_path)
    with collection.opened(new=True) as store:
        yield collection, store


def entry_of(collection: Collection, line: bytes) -> Entry:
    entry = collection.form.read(line, b"")
    assert isinstance(entry, Entry)
    return entry


def take(collection: Collection, store: Any, n: int, **changed: Any) -> None:
    store.take([entry_of(collection, line_of(collection, **changed)) for _ in range(n)])


def test_nineteen_answers_change_nothing(survey: tuple[Collection, Any]) -> None:
    collection, store = survey
    take(collection, store, 47, cheated="no")
    progress = Progress(collection)
    first = json.dumps(progress.told())
    for _ in range(BLOCK - 1):
        take(collection, store, 1, cheated="yes")
        assert json.dumps(progress.told()) == first
    take(collection, store, 1)
    assert json.dumps(progress.told()) != first


def test_reports_to_one_question_of_many_wait_for_a_block_of_their_own(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, SURVEY.replace("[questions.often]", "[questions.often]\nmay_decline = true"))
    with collection.opened(new=True) as store:
        progress = Progress(collection)
        take(collection, store, BLOCK - 1, often=None)
        take(collection, store, 1)
        assert list(progress.told()["live"]["questions"]) == ["cheated"]  # one answer to `often` is nobody's business
        take(collection, store, BLOCK)
        assert progress.told()["live"]["questions"]["often"]["n"] == BLOCK + 1
        before = progress.told()["live"]["questions"]["often"]
        take(collection, store, BLOCK - 1, often=None)
        take(collection, store, 1, often="never")
        now = progress.told()["live"]["questions"]
        assert now["cheated"]["n"] == 3 * BLOCK
        assert now["often"] == before


def test_the_path_of_an_interval_grows_block_by_block(survey: tuple[Collection, Any]) -> None:
    collection, store = survey
    progress = Progress(collection)
    step = collection.campaign.planned_n // 50
    for _ in range(12):
        take(collection, store, BLOCK)
        told = progress.told()
    points = [point["n"] for point in told["path"]["cheated"]]
    assert points == [BLOCK, *range(BLOCK + step, 12 * BLOCK, step), 12 * BLOCK]
    assert told["path"]["cheated"][-1]["shares"] == told["live"]["questions"]["cheated"]["shares"]
    assert json.dumps(Progress(collection).told()["path"]["cheated"]) == json.dumps(told["path"]["cheated"][-1:])


def test_withdrawn_answers_shorten_the_path(survey: tuple[Collection, Any]) -> None:
    collection, store = survey
    progress = Progress(collection)
    ids = [secrets.token_bytes(16) for _ in range(60)]
    take(collection, store, 40)
    progress.told()
    store.take([entry_of(collection, line_of(collection, id=id)) for id in ids])
    assert [point["n"] for point in progress.told()["path"]["cheated"]] == [40, 100]
    collection.withdraw(store, ids[:BLOCK])
    told = progress.told()
    assert ([point["n"] for point in told["path"]["cheated"]], told["withdrawn"]) == ([40, 80], BLOCK)
    collection.withdraw(store, ids[BLOCK:])
    assert [point["n"] for point in progress.told()["path"]["cheated"]] == [40]


def test_somebody_looks_where_nobody_does(survey: tuple[Collection, Any]) -> None:
    collection, store = survey
    progress = Progress(collection)
    for _ in range(3):
        take(collection, store, collection.campaign.planned_n // 50)
        progress.watch()
    take(collection, store, BLOCK - 1)
    progress.watch()
    assert [point["n"] for point in progress.told()["path"]["cheated"]] == [40, 80, 120]


def test_the_store_keeps_nothing_of_it(tmp_path: Path) -> None:
    """Whoever looks leaves no trace: the file is a function of the answers alone."""
    contents = []
    lines = None
    for looks in (0, 5):
        folder = tmp_path / str(looks)
        folder.mkdir()
        collection = collection_in(folder)
        lines = lines or [line_of(collection) for _ in range(5 * BLOCK)]
        with collection.opened(new=True) as store:
            progress = Progress(collection)
            for start in range(0, len(lines), BLOCK):
                store.take([entry_of(collection, line) for line in lines[start : start + BLOCK]])
                if looks:
                    progress.told()
            meta = {name: value for name, value in store.meta().items() if name != "salt"}
            contents.append((sorted(store.entries()), meta, sorted(store.tallies())))
    assert contents[0] == contents[1]


def test_devices_are_told_window_by_window(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, DEVICES)
    channel = collection.campaign.by_name["crashed"].channel
    assert isinstance(channel, FiniteChannel)
    now = collection.window()
    with collection.opened(new=True) as store:
        for window, n in ((now - 2, 50), (now - 1, BLOCK - 1), (now, 30)):
            for i in range(n):
                sums = np.eye(3, dtype=np.int64)[i % 3]
                store.take([Entry(secrets.token_bytes(16), b"{}", None, window, {"crashed": sums})])
        told = Progress(collection).told()
    windows = told["windows"]["crashed"]
    assert [(own["window"], own["n"]) for own in windows] == [(now - 2, 50), (now, 30)]  # of less than a block nothing
    assert np.datetime64(windows[0]["begins"]).astype(int) == now - 2
    assert told["live"]["questions"]["crashed"]["n"] == 30
    assert windows[1]["shares"] == told["live"]["questions"]["crashed"]["shares"]
    html = dashboard(collection.campaign, told).html
    assert "99</b> reports are there, in all windows together" in html
    assert html.count("window by window</figcaption>") == 3
    assert windows[0]["begins"] in html


def test_stretches_are_counted_without_what_was_replaced(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, COUNTING.replace('kind = "tokens"', 'kind = "open"'))
    with collection.opened(new=True) as store:
        ids = [secrets.token_bytes(16) for _ in range(24)]
        for place, id in enumerate(ids):
            replaces = ids[0].hex() if place == 1 else None
            stretch = min(place // 8, 2)
            count = {"stretch": stretch, "counts": [1, 0], "seconds": 1.0, "replaces": replaces}
            if stretch < 2 or place == 16:
                store.take([entry_of(collection, collection.form.write(id, count))])
        take_more = {"stretch": 0, "counts": [0, 0], "seconds": 1.0, "replaces": None}
        for _ in range(3):
            store.take([entry_of(collection, collection.form.write(secrets.token_bytes(16), take_more))])
        told = Progress(collection).told()
    assert told["n"] == 20
    assert told["stretches"] == {"all": 4, "begun": 3, "enough": 2, "times": 2}
    html = dashboard(collection.campaign, told).html
    assert "<b>2</b> of 4 stretches were counted 2 times, 3 at least once." in html


def test_tokens_of_those_who_count_are_issued_and_never_spent(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, COUNTING)
    with collection.opened(new=True) as store:
        collection.issue_tokens(store, 3)
        assert Progress(collection).told()["tokens"] == {"issued": 3, "spent": 0}


# -- the page, served --------------------------------------------------------------------------------------------------


def entered(running: Served) -> None:
    fields = {"key": running.collector.admin.key, "password": "correct horse battery"}
    origin = str(running.client.base_url).rstrip("/")
    assert running.client.post("/admin/enter", data=fields, headers={"origin": origin}).status_code == 303


def test_nineteen_answers_change_no_byte_of_the_page(tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running:
        entered(running)
        running.post(b"".join(line_of(running.collection) for _ in range(25)))
        places = ("/admin", "/admin/report", "/admin/live")
        first = [running.client.get(place).content for place in places]
        for i in range(BLOCK - 1):
            running.post(line_of(running.collection, cheated="no" if i % 2 else "yes"))
        assert [running.client.get(place).content for place in places] == first
        running.post(line_of(running.collection))
        assert all(running.client.get(place).content != before for place, before in zip(places, first, strict=True))


def test_the_page_and_the_report_are_safe(tmp_path: Path) -> None:
    text = SURVEY.replace('"Exams"', json.dumps(HOSTILE)).replace(
        '"Have you ever cheated in an exam?"', json.dumps(HOSTILE)
    )
    with served(collection_in(tmp_path, text)) as running:
        assert running.client.get("/admin/report").status_code == 303
        entered(running)
        running.post(b"".join(line_of(running.collection, age=20 + i % 30) for i in range(60)))
        page, report = (running.client.get(place) for place in ("/admin", "/admin/report"))
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "script-src" not in policy
        assert report.headers["content-disposition"] == 'attachment; filename="exams-report.html"'
        for answer in (page, report):
            assert "<script" not in answer.text
            assert "<img" not in answer.text
            assert "{{ 7 * 7 }}" in answer.text
