"""People answer a survey in a real browser: on phones, in tunnels, with keyboards, without scripts."""

from __future__ import annotations

import csv
import json
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from askance.collect.export import export
from askance.collect.pages.survey_page import survey_file
from askance.collect.pages.texts import page_texts

from .browsers import barriers, started_browser, visit
from .collectors import SURVEY, TOKENS, Served, collection_in, served

pytestmark = pytest.mark.integration

SAY = page_texts()["en"]
NAMES = ("cheated", "often", "age", "region")
REPORTS = {"cheated": ["no", "yes"], "often": ["never", "once", "very often"]}
HOSTILE = '"></h1><script>alert(1)</script><img src=x onerror=alert(2)>\u202eevil\u2069 {factor}'
OWN = "own_die = true\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


class Person:
    """Somebody on a page, and what their browser sent."""

    def __init__(self, context: Any, running: Served, fragment: str = "") -> None:
        self.context, self.address = context, f"{running.client.base_url}/{fragment}"
        self.sent: list[str] = []
        self.hosts: set[str] = set()
        self.wrong: list[str] = []
        context.on("request", self._see)
        self.page = self.open()

    def open(self) -> Any:
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.goto(self.address)
        return self.page

    def _see(self, request: Any) -> None:
        self.hosts.add(request.url.split("/")[2])
        if request.method == "POST":
            self.sent.append(request.post_data)

    def heading(self, text: str) -> None:
        """Wait for a heading."""
        self.page.locator("h1", has_text=text).wait_for()

    def go_on(self) -> None:
        self.page.locator("main button[type=submit]").click()

    def choose(self, value: str) -> None:
        self.page.locator(f"input[value='{value}']").check()
        self.go_on()

    def answer(self, cheated: int = 1, often: int = 0, age: int = 34, region: str = "0", rolls: str = "") -> None:
        """From the first page to the one that sends."""
        self.go_on()
        self.heading(SAY["safe_title"])
        if rolls:
            self.page.locator(f"input[value='{rolls}']").check()
        self.go_on()
        self.heading("Have you ever cheated")
        self.choose(str(cheated))
        self.heading("How often?")
        self.choose(str(often))
        self.heading("How old are you?")
        self.page.locator("input[name=number]").fill(str(age))
        self.go_on()
        self.heading("Where do you live?")
        self.choose(region)

    def send(self) -> str:
        """Roll and send; the receipt."""
        self.go_on()
        return self.receipt()

    def receipt(self) -> str:
        text: str = self.page.locator("#receipt").inner_text()
        return text

    def content(self) -> dict[str, Any]:
        """What was sent, which is the same whenever it was sent."""
        assert len(set(self.sent)) == 1
        content: dict[str, Any] = json.loads(self.sent[0])
        return content


# -- phones, tunnels, reloads ------------------------------------------------------------------------------------------


def quiet(person: Person) -> None:
    person.send()


def no_network(person: Person) -> None:
    """The first tries never leave the phone."""
    person.context.set_offline(True)
    person.go_on()
    person.heading(SAY["waiting_title"])
    person.context.set_offline(False)
    person.page.locator("#receipt").wait_for()


def lost_answer(person: Person) -> None:
    """The server has it, and the answer is lost on the way."""
    person.page.route("**/reports", lambda route: (route.fetch(), route.abort()), times=1)
    person.go_on()
    person.heading(SAY["waiting_title"])
    person.page.locator("#again").click()
    person.page.locator("#receipt").wait_for()


def dead_battery(person: Person) -> None:
    """The answer is lost, the page is gone, and is opened again later."""
    person.page.route("**/reports", lambda route: (route.fetch(), route.abort()), times=1)
    person.go_on()
    person.heading(SAY["waiting_title"])
    person.page.close()
    person.open()
    person.page.locator("#receipt").wait_for()


def portal(person: Person) -> None:
    """Somebody in between answers in place of the server; then the server is busy; then the page is loaded again."""
    person.page.route("**/reports", lambda route: route.fulfill(status=503, body='{"error":"busy"}'), times=1)
    person.page.route("**/reports", lambda route: route.fulfill(status=200, body="<h1>Log in</h1>"), times=1)
    person.go_on()
    person.heading(SAY["waiting_title"])
    person.page.unroute_all()
    person.page.reload()
    person.page.locator("#receipt").wait_for()


TROUBLES = (quiet, no_network, lost_answer, dead_battery, portal)


def test_fifty_people_on_phones(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    sent: dict[str, dict[str, Any]] = {}
    lengths, hosts = set(), set()
    with served(collection) as running:
        with collection.opened() as store:
            tokens = collection.issue_tokens(store, 50)
        for i, token in enumerate(tokens):
            with visit(browser, **browser.profiles["Pixel 5"]) as context:
                person = Person(context, running, f"#{token}")
                person.answer(i % 2, i % 3, 16 + i, ("0", "1", "decline")[i % 3])
                TROUBLES[i % len(TROUBLES)](person)
                content = person.content()
                assert person.receipt() == content["id"]
                assert person.wrong == []
                assert context.cookies() == []
                lengths |= {len(body) for body in person.sent}
                hosts |= person.hosts
                sent[content["id"]] = content["answers"]
        with collection.opened() as store:
            kept = {id.hex(): json.loads(answers) for id, _, answers in store.entries()}
            tallies = {name: sums.tolist() for (name, _), (sums, _) in store.tallies().items()}
            (path,) = export(collection.campaign, store, tmp_path / "responses.csv")[1]
    assert kept == sent
    assert len(sent) == 50
    assert lengths == {collection.form.length}
    assert hosts == {str(running.client.base_url).split("/")[2]}
    drawn = {name: Counter(answers[name] for answers in sent.values()) for name in REPORTS}
    assert {name: tallies[name] for name in REPORTS} == {
        name: [drawn[name][label] for label in labels] for name, labels in REPORTS.items()
    }
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert Counter(tuple(row[name] for name in NAMES) for row in rows) == Counter(
        tuple("" if answers[name] is None else str(answers[name]) for name in NAMES) for answers in sent.values()
    )


def test_what_is_true_is_never_kept(browser: Any, tmp_path: Path) -> None:
    """Before the draw nothing is kept, then the drawn line, at the end the receipt."""
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        person = Person(context, running)
        stored = "() => Object.values(localStorage).concat(Object.values(sessionStorage))"
        person.answer()
        assert person.page.evaluate(stored) == []
        context.set_offline(True)
        person.go_on()
        person.heading(SAY["waiting_title"])
        (line,) = person.page.evaluate(stored)
        assert SAY["knows_sealed"] in person.page.locator("#payload").text_content()
        context.set_offline(False)
        assert person.receipt() == person.content()["id"]
        assert line == person.sent[0]
        assert person.page.evaluate(stored) == [json.dumps({"receipt": person.receipt()}, separators=(",", ":"))]
        person.page.reload()
        assert person.receipt() == json.loads(line)["id"]
        assert person.page.locator("#show").count() == 0
        person.page.go_back()  # nowhere to draw again
        assert len(set(person.sent)) == 1


# -- the very draw -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", range(1, 7))
def test_the_die_shows_the_draw(browser: Any, tmp_path: Path, face: int) -> None:
    collection = collection_in(tmp_path)
    word = (2 * face - 1) * 2**64 // 12
    known = f"""const real = crypto.getRandomValues.bind(crypto);
        crypto.getRandomValues = (out) => out instanceof BigUint64Array ? out.fill({word}n) : real(out);"""
    with served(collection) as running, visit(browser, reduced_motion="reduce") as context:
        context.add_init_script(known)
        person = Person(context, running)
        person.answer(cheated=1, often=2)
        person.send()
        person.page.locator("#show").click()
        cards = person.page.locator(".sent li")
        for place, truth in ((0, "yes"), (1, "very often")):
            channel = collection.campaign.questions[place].channel
            assert channel is not None
            report, _ = channel.report_from_words(truth, [word])
            assert person.content()["answers"][NAMES[place]] == report
            told = cards.nth(place).inner_text()
            assert SAY["die_shows"].format(face=face) in told
            assert report in told
        assert cards.nth(0).locator("circle").count() == face
        animated = "() => document.getAnimations().length"
        assert person.page.evaluate(animated) == 0
        forced = SAY["was_fixed"].partition("{report}")[2]
        assert (forced in cards.nth(0).inner_text()) == (face in (1, 6))


def test_who_rolls_a_die_of_their_own_sends_what_they_choose(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path, OWN + SURVEY)) as running, visit(browser) as context:
        context.add_init_script(
            "crypto.getRandomValues = ((real) => (out) => { if (out instanceof BigUint64Array) "
            "throw new Error('drawn'); return real(out); })(crypto.getRandomValues.bind(crypto));"
        )
        person = Person(context, running)
        person.answer(cheated=0, often=2, rolls="own")
        person.send()
        assert person.content()["answers"] == {"cheated": "no", "often": "very often", "age": 34, "region": "north"}
        assert person.wrong == []


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_a_second_device_is_refused_kindly(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        with visit(browser) as context:
            first = Person(context, running, f"#{token}")
            first.answer()
            receipt = first.send()
        with visit(browser) as context:
            second = Person(context, running)
            second.heading(SAY["code_title"])
            second.page.locator("#code").fill("a-wrong-one")
            second.go_on()
            second.page.get_by_role("alert").wait_for()
            second.page.locator("#code").fill(token.upper()[:13] + " - " + token[13:])
            second.go_on()
            second.heading("Exams")
            second.answer()
            second.go_on()
            second.heading(SAY["spent_title"])
            assert second.page.evaluate("() => localStorage.length") == 0
        with collection.opened() as store:
            assert [id.hex() for id, _, _ in store.entries()] == [receipt]


def test_another_code_is_another_person(browser: Any, tmp_path: Path) -> None:
    """On one phone, in one window: the second person finds the beginning, the first one the receipt."""
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running, visit(browser) as context:
        with collection.opened() as store:
            first, second = collection.issue_tokens(store, 2)
        person = Person(context, running, f"#{first}")
        person.answer()
        receipt = person.send()
        person.page.evaluate("(code) => { location.hash = code; }", second)
        person.heading("Exams")
        person.answer()
        assert person.send() != receipt
        person.page.evaluate("(code) => { location.hash = code; }", first)
        person.page.locator("#receipt", has_text=receipt).wait_for()


def test_a_slip_of_the_pen_draws_nothing_again(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running, visit(browser) as context:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        person = Person(context, running, f"#{'a' * 26}")
        person.answer()
        person.go_on()
        person.heading(SAY["code_title"])
        person.page.locator("#code").fill(token)
        person.go_on()
        person.page.locator("#receipt").wait_for()
        first, last = map(json.loads, person.sent)
        assert first == {**last, "token": "a" * 26}
        assert {len(line) for line in person.sent} == {collection.form.length}


# -- anybody -----------------------------------------------------------------------------------------------------------


def test_hostile_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    text = SURVEY.replace('"Exams"', json.dumps(HOSTILE)).replace('"How old are you?"', json.dumps(HOSTILE))
    text = f"consent = {json.dumps(HOSTILE)}\n" + text.replace('["north", "south"]', json.dumps([HOSTILE, "south"]))
    with served(collection_in(tmp_path, text)) as running, visit(browser) as context:
        person = Person(context, running)
        person.page.locator("h1").wait_for()
        assert person.page.locator("h1").text_content() == HOSTILE
        assert person.page.locator("main p").first.text_content() == HOSTILE
        for value in ("", "", "0", "0"):
            person.choose(value) if value else person.go_on()
        assert person.page.locator("h1").text_content() == HOSTILE
        person.page.locator("input[name=number]").fill("40")
        person.go_on()
        assert person.page.locator("label").first.text_content() == HOSTILE
        person.choose("0")
        person.send()
        person.page.locator("#show").click()
        assert person.page.locator(".sent q").last.text_content() == HOSTILE
        assert person.page.locator("img, iframe, object, h1 *").count() == 0
        assert person.content()["answers"]["region"] == HOSTILE
        assert person.wrong == []


def test_nothing_runs_that_the_page_did_not_bring(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        person = Person(context, running)
        blocked = """() => new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
            const script = document.createElement("script");
            try {
                script.text = "globalThis.ran = true";
                document.body.append(script);
            } catch { resolve("trusted-types"); }
        })"""
        assert person.page.evaluate(blocked) in ("require-trusted-types-for", "trusted-types", "script-src-elem")
        assert person.page.evaluate("() => globalThis.ran") is None
        assert (
            person.page.evaluate("() => fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')") == "blocked"
        )


def press_until(page: Any, selector: str) -> None:
    """Go on with the Tab key until the focus is there; a page that has no way there fails."""
    for _ in range(30):
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_without_a_mouse(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path, "comprehension_check = true\n" + SURVEY)) as running, visit(browser) as context:
        person = Person(context, running)
        page = person.page
        steps = ["", "", "[value=yes]", "[value='0']", "[value='0']", "[name=number]", "[value='0']", ""]
        for step in steps:
            place = page.locator("h1").text_content()
            if step:
                press_until(page, step)
                page.keyboard.type("34") if "number" in step else page.keyboard.press("Space")
            if step == "[value=yes]":  # the wrong answer is explained, and the right one is below it
                press_until(page, "main button[type=submit]")
                page.keyboard.press("Enter")
                page.get_by_role("alert").get_by_text(SAY["check_wrong"]).wait_for()
                press_until(page, "[value=yes]")
                page.keyboard.press("ArrowDown")
            press_until(page, "main button[type=submit]")
            page.keyboard.press("Enter")
            page.wait_for_function("(place) => document.querySelector('h1').textContent !== place", arg=place)
        page.locator("#receipt").wait_for()
        press_until(page, "#show")
        page.keyboard.press("Enter")
        press_until(page, "#knows summary")
        page.keyboard.press("Enter")
        assert page.locator("#payload").inner_text() == person.sent[0].strip()


def test_a_file_from_elsewhere(browser: Any, tmp_path: Path) -> None:
    """The page as one file in another place sends to its server, and to nobody else."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    handler = partial(_QuietFiles, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        place = f"127.0.0.1:{elsewhere.server_port}"
        collection = collection_in(tmp_path, SURVEY.replace("https://pages.example", f"http://{place}"))
        thread = threading.Thread(target=elsewhere.serve_forever)
        thread.start()
        try:
            with served(collection) as running, visit(browser) as context:
                address = str(running.client.base_url)
                (folder / "survey.html").write_text(survey_file(collection.campaign, address), encoding="utf-8")
                person = Person(context, running)
                person.page.goto(f"http://{place}/survey.html")
                person.answer()
                assert person.send() == person.content()["id"]
                assert person.hosts == {address.split("/")[2], place}
                assert address.split("/")[2] in person.page.locator("#knows").text_content()
        finally:
            elsewhere.shutdown()
            thread.join()


class _QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_two_windows_draw_once(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        person = Person(context, running)
        first = person.page
        person.answer()
        person.open()
        person.answer(cheated=0)
        receipt = person.send()
        person.page = first
        assert person.send() == receipt
        assert person.content()["id"] == receipt


def test_without_javascript(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, OWN + SURVEY)
    with served(collection) as running, visit(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(str(running.client.base_url))
        assert SAY["script"] in page.locator("main").inner_text()
        page.locator("main a").click()
        page.locator("#q0-0001").check()
        page.locator("#q1-0000").check()
        page.locator("#q2").select_option("34")
        page.locator("#q3-none").check()
        page.locator("button").click()
        receipt = page.locator("#receipt").inner_text()
        with collection.opened() as store:
            ((id, _, content),) = store.entries()
        assert id.hex() == receipt
        assert json.loads(content) == {"cheated": "yes", "often": "never", "age": 34, "region": None}


def test_nobody_goes_on_without_an_answer(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        person = Person(context, running)
        person.go_on()
        person.go_on()
        person.go_on()
        person.page.get_by_role("alert").get_by_text(SAY["choose"]).wait_for()
        person.choose("1")
        person.choose("1")
        for wrong in ("", "15", "106", "3.5", "1e1", "abc"):
            person.page.locator("input[name=number]").fill(wrong)
            person.go_on()
            person.page.get_by_role("alert").wait_for()
        person.page.locator("input[name=number]").fill("٤٢")
        person.go_on()
        person.heading("Where do you live?")
        person.page.locator(".back").click()
        person.heading("How old are you?")
        assert person.page.locator("input[name=number]").input_value() == "42"
        person.go_on()
        person.choose("decline")
        person.send()
        assert person.content()["answers"]["age"] == 42
        assert person.content()["answers"]["region"] is None


# -- barriers ----------------------------------------------------------------------------------------------------------

ARABIC = (
    SURVEY.replace('title = "Exams"', 'title = {ar = "امتحانات", en = "Exams"}\nlanguages = ["ar", "en"]')
    .replace('text = "', 'text = {ar = "سؤال؟", en = "')
    .replace('?"', '?"}')
    .replace('؟"}, en', '؟", en')
    .replace(
        'options = ["north", "south"]', 'options = {n = {ar = "شمال", en = "north"}, s = {ar = "جنوب", en = "south"}}'
    )
)


def barriers_now(page: Any) -> list[str]:
    """What is wrong with a page as it is, with all that can be opened open."""
    page.locator("h1").first.wait_for()
    page.evaluate("() => { for (const part of document.querySelectorAll('details')) part.open = true; }")
    wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return barriers(page) + small_targets(page) + (["it scrolls sideways"] if wide else [])


SIZES = {"phone": (360, SURVEY, "en"), "400 %, arabic": (320, ARABIC, "ar"), "200 %": (640, SURVEY, "en")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_barriers(browser: Any, tmp_path: Path, scheme: str, size: str) -> None:
    """Every page, light and dark; 1280 pixels at 200 % are 640, and at 400 % 320, without scrolling sideways."""
    width, text, locale = SIZES[size]
    collection = collection_in(tmp_path, OWN + "comprehension_check = true\n" + text)
    window = {"viewport": {"width": width, "height": 640}, "device_scale_factor": 2, "reduced_motion": "reduce"}
    options = {"color_scheme": scheme, "locale": locale, "bypass_csp": True, **window}
    found = []
    with served(collection) as running, visit(browser, **options) as context:
        person = Person(context, running)
        assert person.page.locator(f"html[lang={locale}]").count() == 1
        for step in ["", "", "no", "0", "0", "number", "decline"]:
            found.append(barriers_now(person.page))
            if step == "number":
                person.page.locator("input[name=number]").fill("34")
            elif step:
                person.page.locator(f"input[value='{step}']").check()
            person.go_on()
        found.append(barriers_now(person.page))
        context.set_offline(True)
        person.go_on()
        person.page.locator("#again").wait_for()
        found.append(barriers_now(person.page))
        context.set_offline(False)
        person.page.locator("#show").click()
        found.append(barriers_now(person.page))
        person.page.goto(f"{running.client.base_url}/v1/exams/form")
        found.append(barriers_now(person.page))
    assert found == [[]] * 11


def test_barriers_are_found(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running, visit(browser, bypass_csp=True) as context:
        page = Person(context, running).page
        page.evaluate("() => document.documentElement.style.setProperty('--ink', '#bbb')")
        assert any("color-contrast" in wrong for wrong in barriers_now(page))
        page.evaluate("() => { document.querySelector('main button').style.minHeight = 0; }")
        page.evaluate("() => { document.querySelector('main button').style.padding = 0; }")
        assert len(small_targets(page)) == 1


def small_targets(page: Any) -> list[str]:
    """Buttons, fields and choices that are lower than 48 pixels."""
    script = """() => [...document.querySelectorAll("button, input:not([type=hidden]), select, summary, .choice label")]
        .filter((target) => target.checkVisibility() && target.getBoundingClientRect().height < 47.9)
        .map((target) => target.outerHTML)"""
    found: list[str] = page.evaluate(script)
    return found
