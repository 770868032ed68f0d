"""People count in a real browser: with a thumb, through tunnels, by keyboard. What is exported is what they said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askance.collect.collection import CLOSED, Collection
from askance.collect.export import export
from askance.collect.pages.counting_page import counting_page
from askance.collect.pages.texts import page_texts
from askance.collect.server.admin import COOKIE
from askance.text import read_regions

from .annotators import annotators
from .browsers import barriers, started_browser, visit
from .collectors import COUNTING, served
from .respondents import Person
from .test_cli import parsed, spawn
from .test_survey_barriers import press_until, small_targets
from .test_survey_html import LANGUAGES, MOST_BYTES, digests

pytestmark = pytest.mark.integration

SAY = page_texts("counting")["en"]
HOSTILE = '"></h1><script>alert(1)</script><img/src=x/onerror=alert(2)> \u202eevil\u2069 {tag}'
ONE = 'ask = "one"\nsingle_words = 12\n'
WAITING = """() => Object.values(localStorage).reduce(
    (n, text) => n + (text.startsWith("{") ? JSON.parse(text).lines.length : 0), 0)"""

AHEAD = """() => Object.values(localStorage).filter((text) => text.startsWith("{"))
    .flatMap((text) => JSON.parse(text).items).filter((item) => item.id === null).length"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


def campaign_in(folder: Path, more: str = "", text: str | None = None, access: str = "open") -> Collection:
    """120 stretches of three words, all different: n… is a noun, v… a verb, o… neither."""
    words = [f"{'nvo'[(i * i + i // 7) % 3]}{i}" for i in range(360)]
    lines = [" ".join(words[i : i + 9]) for i in range(0, 360, 9)]
    (folder / "news.txt").write_text("\n".join(lines) if text is None else text, encoding="utf-8")
    settings = COUNTING.replace("window = 2", "window = 3").replace('kind = "tokens"', f'kind = "{access}"')
    (folder / "campaign.toml").write_text(settings + more, encoding="utf-8")
    return Collection(folder / "campaign.toml")


class Counter(Person):
    """Somebody who counts, and remembers what was said of every stretch: by its words, None where it was skipped."""

    def __init__(self, context: Any, running: Any, fragment: str = "") -> None:
        super().__init__(context, running, fragment)
        self.said: dict[str, tuple[int, ...] | None] = {}

    def begin(self) -> None:
        """From the first page to the first question."""
        self.go_on()
        self.page.locator("mark").wait_for()

    def marked(self) -> str:
        """The words that are asked about; who is offered a break goes on."""
        self.page.locator("mark, main > form").first.wait_for()
        if not self.page.locator("mark").count():
            self.heading(SAY["break_title"].partition("}")[2].strip())
            self.go_on()
        text: str = self.page.locator("mark").inner_text()
        return text

    def say(self, counts: tuple[int, int]) -> None:
        """Tap an answer: a number for each tag, or what a single word is."""
        words = self.marked()
        if " " in words:
            for count in counts:
                self.page.locator(f".number >> text='{count}'").click()
        else:
            self.page.locator(".label").nth(2 if counts == (0, 0) else counts.index(1)).click()
        self.said[words] = counts

    def skip(self) -> None:
        self.said[self.marked()] = None
        self.page.locator("#skip").click()

    def wait(self) -> None:
        """Until the server has everything."""
        self.page.wait_for_function(f"() => ({WAITING})() === 0")

    def stock_up(self) -> None:
        """Until there is enough for a tunnel: what comes next is fetched after everything was sent."""
        self.page.wait_for_function(f"() => ({AHEAD})() >= 10")


def truth(words: str) -> tuple[int, int]:
    """What is right."""
    return words.count("n"), words.count("v")


def wrong(words: str) -> tuple[int, int]:
    return (0, 0) if truth(words) != (0, 0) else (1, 0)


def exported(collection: Collection, path: Path) -> dict[str, tuple[int, ...]]:
    """Counts by the words of their stretches; each of them once."""
    counting = collection.campaign.counting
    assert counting is not None
    with collection.opened() as store:
        n, _ = export(collection.campaign, store, path)
    regions = read_regions(path, may_miscount=True).regions
    assert len(regions) == n
    told = [regions.region(i) for i in range(n)]
    by_words = {
        " ".join(counting.sentences[region.sentence][region.start : region.end]): tuple(
            region.counts.get(tag, 0) for tag in counting.tags
        )
        for region in told
    }
    assert len(by_words) == n
    return by_words  # type: ignore[return-value]


# -- one thumb ---------------------------------------------------------------------------------------------------------


def test_a_hundred_stretches_through_tunnels(browser: Any, tmp_path: Path) -> None:
    collection = campaign_in(tmp_path, ONE, access="tokens")
    with served(collection) as running, visit(browser, **browser.profiles["Pixel 5"]) as context:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        running.client.get("/healthz").raise_for_status()
        person = Counter(context, running, f"#{token}")
        person.begin()
        for i in range(100):
            words = person.marked()
            assert words not in person.said
            if i % 10 == 3:  # a slip, taken back
                person.say(wrong(words))
                person.page.locator("#undo").click()
                if " " in words:
                    person.page.locator("#undo").click()
                assert person.marked() == words
                person.say(truth(words))
            elif i % 10 == 5:
                person.skip()
            else:
                person.say(truth(words))
            if i % 20 == 7:
                person.stock_up()
                context.set_offline(True)  # a tunnel of eight stretches
            elif i % 20 == 15:
                context.set_offline(False)
            elif i == 36:  # the server has it, and its answers are lost
                person.page.route("**/reports", lambda route: (route.fetch(), route.abort()), times=3)
            elif i == 57:
                person.page.reload()
            elif i == 70:  # an empty battery in a tunnel
                assert person.page.evaluate(WAITING) > 0
                person.page.close()
                context.set_offline(False)
                person.open()
        for _ in range(5):
            person.page.locator("#undo").click()  # far back; what was said is shown, and may stay
        person.page.locator("#keep").click()
        assert person.marked() not in person.said
        person.wait()
        assert context.cookies() == []
        assert person.wrong == []
        assert {len(body) for body in person.sent} == {collection.form.length}
        assert person.hosts == {str(running.client.base_url).split("/")[2]}
        lines = {json.loads(body)["id"] for body in person.sent if '"count"' in body}
        with collection.opened() as store:
            # A request that begins while the page is reloaded may not be told to this test; the store has it.
            assert {id.hex() for id, _, _ in store.entries()} >= lines
    path = tmp_path / "counts.jsonl"
    assert len(person.said) == 100
    assert exported(collection, path) == {words: told for words, told in person.said.items() if told is not None}
    trained = parsed(spawn("train", str(path), "-o", str(tmp_path / "tagger.askance"), "--json"))
    assert trained["regions"] + trained["labelled_tokens"] == 90  # of a hundred, ten were skipped


def test_going_back_as_far_as_one_likes(browser: Any, tmp_path: Path) -> None:
    collection = campaign_in(tmp_path, ONE)
    with served(collection) as running, visit(browser) as context:
        person = Counter(context, running)
        person.begin()
        for _ in range(12):
            person.say(wrong(person.marked()))
        last = person.marked()
        while not person.page.locator("#undo").is_disabled():
            person.page.locator("#undo").click()
        assert person.page.get_by_text(SAY["said"]).count() == 1
        person.say(truth(person.marked()))
        assert person.marked() == last
        person.wait()
    assert exported(collection, tmp_path / "counts.jsonl") == person.said


def test_when_all_is_counted(browser: Any, tmp_path: Path) -> None:
    """The end; the last answer can still be taken back, and a stretch that was skipped is counted by others."""
    collection = campaign_in(tmp_path, ONE.replace("12", "1"), "n1 v1 o1 n2 v2 o2 n3 v3 o3")
    with served(collection) as running:
        for turn in range(2):
            with visit(browser) as context:
                person = Counter(context, running)
                person.begin()
                for _ in range(4):
                    person.say(truth(person.marked())) if turn or person.said else person.skip()
                person.heading(SAY["done_title"])
                person.page.locator("#undo").click()
                person.page.locator("#keep").click()
                person.heading(SAY["done_title"])
                person.wait()
                assert person.page.locator("#progress .hint").first.inner_text().startswith("4 done")
    with collection.opened() as store:
        told = [json.loads(content)["counts"] for _, _, content in store.entries()]
    assert told.count(None) == 1


# -- everybody ---------------------------------------------------------------------------------------------------------


def test_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    """Digits and letters, and, where they are turned off, Tab and Enter."""
    collection = campaign_in(tmp_path, ONE)
    with served(collection) as running, visit(browser) as context:
        person = Counter(context, running)
        press_until(person.page, "main button[type=submit]")
        person.page.keyboard.press("Enter")
        for turn in range(6):
            words = person.marked()
            if turn == 2:
                person.page.keyboard.press("s")
                person.said[words] = None
                continue
            right = truth(words)
            keys = [str(n) for n in right] if " " in words else [str(3 if right == (0, 0) else right.index(1) + 1)]
            for key in keys:
                person.page.keyboard.press(key)
            person.said[words] = right
        last = person.marked()
        person.page.keyboard.press("u")
        person.page.locator("#keep").wait_for()
        press_until(person.page, "#keep")
        person.page.keyboard.press("Enter")
        assert person.marked() == last
        press_until(person.page, "#keys summary")
        person.page.keyboard.press("Enter")
        press_until(person.page, "#use-keys")
        person.page.keyboard.press("Space")
        person.page.keyboard.press("Shift+Tab")
        person.page.keyboard.press("1")
        assert person.marked() == last
        person.wait()
    told = {words: counts for words, counts in person.said.items() if counts is not None}
    assert exported(collection, tmp_path / "counts.jsonl") == told


def test_all_tags_at_once(browser: Any, tmp_path: Path) -> None:
    collection = campaign_in(tmp_path)
    with served(collection) as running, visit(browser, **browser.profiles["Pixel 5"]) as context:
        person = Counter(context, running)
        person.begin()
        for _ in range(3):
            words = person.marked()
            for place, count in enumerate(truth(words)):
                for _ in range(count):
                    person.page.locator(f"[data-step='{place}+']").click()
            person.go_on()
            person.said[words] = truth(words)
        words = person.marked()
        allowed = SAY["number"].format(most=4)  # what the page says is what it and the server take
        for impossible in ("5", "x", "-1", ""):
            person.page.locator("#tag-1").fill(impossible)
            person.go_on()
            person.page.get_by_role("alert").get_by_text(allowed).wait_for()
        person.page.locator("#tag-1").fill("0")
        for _ in range(6):
            person.page.locator("[data-step='1+']").click()
        assert person.page.locator("#tag-1").input_value() == "4"  # of three words, one too many: people miscount
        person.go_on()
        person.said[words] = (0, 4)
        assert person.marked() != words
        person.wait()
    assert exported(collection, tmp_path / "counts.jsonl") == person.said


def test_a_code_a_second_window_and_the_end(browser: Any, tmp_path: Path) -> None:
    collection = campaign_in(tmp_path, ONE, access="tokens")
    with served(collection) as running, visit(browser) as context:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        running.client.get("/healthz").raise_for_status()
        person = Counter(context, running)
        mistyped = ("a" * 25 + "b", SAY["code_wrong"])  # the last letter has bits to spare
        for code, error in (("short", SAY["code_wrong"]), mistyped, ("a" * 26, SAY["foreign"])):
            person.heading(SAY["code_title"])
            person.page.locator("#code").fill(code)
            person.go_on()
            person.page.get_by_role("alert").get_by_text(error).wait_for()
        person.page.locator("#code").fill(token.upper())
        person.go_on()
        person.heading("Nouns")
        person.begin()
        person.say(truth(person.marked()))
        first = person.page
        person.open()
        person.heading(SAY["elsewhere_title"])
        person.page.close()
        person.page = first
        person.wait()
        with collection.opened() as store:
            store.set_meta(CLOSED, b"1")
        person.page.locator(".number, .label").first.click()
        person.heading(SAY["closed_title"])


def test_hostile_words_stay_words(browser: Any, tmp_path: Path) -> None:
    more = f"single_words = 1\n[counting.names]\nNOUN = {json.dumps(HOSTILE)}\n"
    collection = campaign_in(tmp_path, more + f"[counting.singular]\nVERB = {json.dumps(HOSTILE)}\n", f"{HOSTILE}\n")
    with served(collection) as running, visit(browser) as context:
        person = Counter(context, running)
        person.begin()
        seen = []
        while person.page.locator("mark").count():
            seen.append(person.page.locator(".text").text_content().strip())
            if person.page.locator(".label").count():
                assert HOSTILE in person.page.locator(".label").all_text_contents()
            else:
                assert person.page.locator(".stepper label").first.text_content() == HOSTILE
            person.page.locator("#skip").click()
        assert all("<script>alert(1)</script>" in text for text in seen)
        assert person.page.locator("main img, iframe, h1 script").count() == 0
        assert person.wrong == []


def barriers_now(page: Any) -> list[str]:
    """What is wrong with a page as it is, with all that can be opened open."""
    page.locator("h1").first.wait_for()
    page.evaluate("() => { for (const part of document.querySelectorAll('details')) part.open = true; }")
    wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return barriers(page) + small_targets(page) + (["it scrolls sideways"] if wide else [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 640, 320], ids=["phone", "200 %", "400 %"])
def test_no_barriers(browser: Any, tmp_path: Path, scheme: str, width: int) -> None:
    """Every page, light and dark; 1280 pixels at 200 % are 640, and at 400 % 320, without scrolling sideways."""
    ask = ONE if width != 640 else ONE.replace('"one"', '"together"')
    language = 'languages = ["ar", "en"]\n' if width == 320 else ""
    window = {
        "viewport": {"width": width, "height": 640},
        "device_scale_factor": 2,
        "locale": "ar" if language else "en",
    }
    collection = campaign_in(tmp_path, ask)
    if language:
        path = tmp_path / "campaign.toml"
        path.write_text(language + path.read_text().replace('title = "Nouns"', 'title = {ar = "أسماء", en = "Nouns"}'))
        collection = Collection(path)
    found = []
    with served(collection) as running, visit(browser, color_scheme=scheme, bypass_csp=True, **window) as context:
        person = Counter(context, running)
        found.append(barriers_now(person.page))
        person.begin()
        found.append(barriers_now(person.page))
        while not person.page.locator(".label").count():
            person.page.locator("#skip").click()
        found.append(barriers_now(person.page))
        person.page.locator("#undo").click()
        found.append(barriers_now(person.page))
        person.page.locator("#keep").click()
        context.set_offline(True)
        for _ in range(60):
            if person.page.locator("#fetching").count():
                break
            person.page.locator("#skip, main > form button").first.click()
        person.page.locator("#status").wait_for()  # which is seen when it says that there is no connection
        found.append(barriers_now(person.page))
        context.set_offline(False)
        person.page.locator("mark, main > form").first.wait_for()
        person.wait()
        found.append(barriers_now(person.page))
    assert found == [[]] * 6


def test_the_lead_reads_tables_on_a_phone(browser: Any, tmp_path: Path) -> None:
    """Agreement, annotators and the curve: no barriers, and only the tables scroll."""
    collection = campaign_in(tmp_path, access="tokens")
    window = {"viewport": {"width": 360, "height": 640}, "bypass_csp": True}
    with served(collection) as running, visit(browser, **window) as context:
        for who in annotators(running, 2):
            for number in range(40):
                who.count(number, list(truth(words_of(collection, number))))
        address = str(running.client.base_url)
        fields = {"key": running.collector.admin.key, "password": "a long password"}
        entered = running.client.post("/admin/enter", data=fields, headers={"origin": address})
        context.add_cookies([{"name": COOKIE, "value": entered.cookies[COOKIE], "url": f"{address}/admin"}])
        page = context.new_page()
        page.goto(f"{address}/admin")
        page.locator("caption", has_text="Annotators").wait_for()
        assert page.locator("table").count() == 3
        learned = page.locator("table").last.locator("tbody tr").count()
        assert page.locator("figure circle").count() == learned > 1  # the curve, from the same numbers
        assert barriers(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        ends = "() => [...document.querySelectorAll('tfoot p')].map((note) => note.getBoundingClientRect().right)"
        assert 0 < max(page.evaluate(ends)) <= 360  # notes are read without scrolling


def words_of(collection: Collection, number: int) -> str:
    """The words of a stretch."""
    counting = collection.campaign.counting
    assert counting is not None
    return " ".join(counting.words(counting.stretches[number]))


# -- what is inside ----------------------------------------------------------------------------------------------------


def test_every_language_says_everything() -> None:
    texts = page_texts("counting")
    assert set(texts) == set(LANGUAGES)
    for language in texts:
        assert texts[language].keys() == texts["en"].keys()
        for key, text in texts[language].items():
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", texts["en"][key])), (language, key)


def test_the_page_is_small_and_names_its_bytes(tmp_path: Path) -> None:
    page = counting_page(campaign_in(tmp_path).campaign)
    assert len(page.html.encode()) <= MOST_BYTES
    (script,) = digests(page.html, 'script type="module"')
    assert f"script-src {script};" in page.policy
    assert f"style-src {digests(page.html, 'style')[0]};" in page.policy
    said = set(re.findall(r'say\("([a-z_]+)"', page.html))
    assert said - page_texts("counting")["en"].keys() == set()
