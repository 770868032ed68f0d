"""The survey page for everybody in a real browser: keyboards, no script, hostile texts, other places, no barriers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from askance.collect.pages.survey_page import survey_file

from .browsers import barriers, started_browser, visit
from .collectors import SURVEY, collection_in, served
from .respondents import SAY, Person
from .survey_tour import ARABIC, AWKWARD, ENGLISH, STATES, tour

pytestmark = pytest.mark.integration

HOSTILE = '"></h1><script>alert(1)</script><img src=x onerror=alert(2)>\u202eevil\u2069 {factor}'
OWN = "own_die = true\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


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


def test_a_file_from_a_disk(browser: Any, tmp_path: Path) -> None:
    """Somebody got the page as a file and opens it: it sends, and has the receipt when it is opened again."""
    collection = collection_in(tmp_path, SURVEY.replace("https://pages.example", "null"))
    with served(collection) as running, visit(browser) as context:
        file = tmp_path / "survey.html"
        file.write_text(survey_file(collection.campaign, str(running.client.base_url)), encoding="utf-8")
        person = Person(context, running)
        person.page.goto(file.as_uri())
        person.answer()
        receipt = person.send()
        person.page.reload()
        assert person.receipt() == receipt == person.content()["id"]


class _QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def test_without_javascript(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, OWN + SURVEY)
    with served(collection) as running, visit(browser, java_script_enabled=False) as context:
        page = context.new_page()
        sent: list[str] = []
        context.on("request", lambda request: sent.append(request.post_data) if request.method == "POST" else None)
        page.goto(str(running.client.base_url))
        assert SAY["script"] in page.locator("main").inner_text()
        assert page.locator("footer").inner_text() == ""  # what the page knows is told by its script
        page.locator("noscript a").click()
        page.locator("#q0-0001").check()
        page.locator("#q1-0000").check()
        page.locator("#q2").select_option("34")
        page.locator("#q3-none").check()
        page.locator("button").click()
        receipt = page.locator("#receipt").inner_text()
        assert [len(body) for body in sent] == [collection.form.length]
        with collection.opened() as store:
            ((id, _, content),) = store.entries()
        assert id.hex() == receipt
        assert json.loads(content) == {"cheated": "yes", "often": "never", "age": 34, "region": None}


def test_a_script_that_does_not_start_says_so(browser: Any, tmp_path: Path) -> None:
    """As in a browser that is too old for it: no empty page, and the way without a script."""
    with served(collection_in(tmp_path, OWN + SURVEY)) as running, visit(browser, bypass_csp=True) as context:
        page = context.new_page()
        html = running.client.get("/").text.replace('<script type="module">', '<script type="module">syntax error;')
        page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
        page.goto(str(running.client.base_url))
        page.get_by_text(SAY["started"]).wait_for()
        assert page.locator(".late a").get_attribute("href") == "/v1/exams/form?lang=en"


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


def barriers_now(page: Any) -> list[str]:
    """What is wrong with a page as it is, with all that can be opened open."""
    page.locator("h1").first.wait_for()
    page.evaluate("() => { for (const part of document.querySelectorAll('details')) part.open = true; }")
    wide = page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
    return barriers(page) + small_targets(page) + (["it scrolls sideways"] if wide else [])


SIZES = {"phone": (360, ENGLISH, "en"), "400 %, arabic": (320, ARABIC, "ar"), "200 %": (640, ENGLISH, "en")}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_barriers(browser: Any, tmp_path: Path, scheme: str, size: str) -> None:
    """Every state, light and dark; 1280 pixels at 200 % are 640, and at 400 % 320, without scrolling sideways."""
    width, text, locale = SIZES[size]
    window = {"viewport": {"width": width, "height": 640}, "device_scale_factor": 2, "reduced_motion": "reduce"}
    options = {"color_scheme": scheme, "locale": locale, "bypass_csp": True, **window}
    with served(collection_in(tmp_path, text)) as running, visit(browser, **options) as context:
        found = {name: (locale_of(page), barriers_now(page)) for name, page in tour(context, running)}
    assert found == dict.fromkeys(STATES, (locale, []))


def locale_of(page: Any) -> Any:
    return page.evaluate("() => document.documentElement.lang")


@pytest.mark.parametrize("width", [320, 360, 768])
def test_awkward_questions_fit(browser: Any, tmp_path: Path, width: int) -> None:
    """Long words and lists, a design on no die, declining as one more answer of a channel, the widest number."""
    window = {"viewport": {"width": width, "height": 640}, "bypass_csp": True, "reduced_motion": "reduce"}
    with served(collection_in(tmp_path, AWKWARD)) as running, visit(browser, **window) as context:
        person = Person(context, running)
        page = person.page
        for choice in ("", "", "1", "2", "menu", "number", "5", ""):
            assert barriers_now(page) == [], choice
            if choice == "menu":
                page.locator("select[name=menu]").select_option("7")
            elif choice == "number":
                field = page.locator("input[name=number]")
                field.fill("-9007199254740991")
                assert field.evaluate("(field) => field.scrollWidth <= field.clientWidth")
            elif choice:
                page.locator(f"input[value='{choice}']").check()
            person.go_on()
        page.locator("#show").click()
        page.locator(".sent .wheel").first.wait_for()
        assert barriers_now(page) == []
        told = person.content()["answers"]
        assert told["wide"] == -9007199254740991
        assert told["three"] in ("no", "yes", "I prefer not to say")


def test_answers_of_another_direction_begin_beside_their_circles(browser: Any, tmp_path: Path) -> None:
    """Latin letters on an Arabic page: the words end where the label does, at the circle."""
    ends = """(label) => {
        const words = document.createRange();
        words.selectNodeContents(label);
        return [words.getBoundingClientRect().right, label.getBoundingClientRect().right];
    }"""
    with served(collection_in(tmp_path, ARABIC)) as running, visit(browser, locale="ar") as context:
        page = context.new_page()
        page.goto(f"{running.client.base_url}/v1/exams/form")
        label = page.locator("label[for=q1-0000]")
        assert label.inner_text() == "never"
        words, end = label.evaluate(ends)
        assert abs(words - end) < 1


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
