"""What is drawn is drawn once, kept until it has arrived, and shown to nobody before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from askance.collect.collection import CLOSED

from .browsers import started_browser, visit
from .collectors import SURVEY, TOKENS, collection_in, served
from .respondents import SAY, Person

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


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


# The second digest names the shelf on which the drawn line is kept; with it one window stops between draw and keeping.
SLOW = """const real = crypto.subtle.digest.bind(crypto.subtle);
    globalThis.calls = 0;
    globalThis.go_on = () => {};
    crypto.subtle.digest = async (...what) => {
        if (++globalThis.calls === globalThis.stops) await new Promise((done) => { globalThis.go_on = done; });
        return real(...what);
    };"""


# What another window kept is seen by this one a few looks later: the two may be processes.
LATE = """(looks) => {
    const real = Storage.prototype.getItem;
    Storage.prototype.getItem = function (key) { return looks-- > 0 ? null : real.call(this, key); };
}"""


@pytest.mark.parametrize("late", [0, 3])
def test_two_windows_at_once_draw_once(browser: Any, tmp_path: Path, late: int) -> None:
    """One window stops after its draw and before it has kept it; the other one waits, and sends the same."""
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        context.add_init_script(SLOW)
        person = Person(context, running)
        first = person.page
        person.answer()
        second = person.open()
        person.answer(cheated=0)
        # after the digests that name the lock and look for a line that is kept
        first.evaluate("() => { globalThis.stops = globalThis.calls + 3; }")
        first.locator("main button[type=submit]").click()
        first.wait_for_function("() => globalThis.calls === globalThis.stops")
        second.locator("main button[type=submit]").click()
        second.wait_for_function("async () => (await navigator.locks.query()).pending.length === 1")
        assert person.sent == []
        second.evaluate(LATE, late)
        first.evaluate("() => globalThis.go_on()")
        first.locator("#receipt").wait_for()
        second.locator("#receipt").wait_for()
        assert first.locator("#receipt").inner_text() == second.locator("#receipt").inner_text()
        assert person.content()["id"] == first.locator("#receipt").inner_text()


def test_a_page_that_goes_before_it_kept_its_draw_sent_nothing(browser: Any, tmp_path: Path) -> None:
    """Between the draw and the moment it is kept nothing was sent or shown: drawing again tells nobody anything."""
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        context.add_init_script(SLOW)
        person = Person(context, running)
        person.answer()
        person.page.evaluate("() => { globalThis.stops = globalThis.calls + 3; }")
        person.go_on()
        person.page.wait_for_function("() => globalThis.calls === globalThis.stops")
        assert person.page.locator(".sent, .draw").count() == 0
        person.page.reload()
        person.heading("Exams")
        assert person.sent == []
        assert person.page.evaluate("() => localStorage.length") == 0


def test_who_clears_the_storage_is_refused_with_the_same_code(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running, visit(browser) as context:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        person = Person(context, running, f"#{token}")
        person.answer()
        receipt = person.send()
        person.page.evaluate("() => localStorage.clear()")
        person.page.reload()
        person.answer(cheated=0)
        person.go_on()
        person.heading(SAY["spent_title"])
        assert person.page.locator("#show").count() == 0
        with collection.opened() as store:
            assert [id.hex() for id, _, _ in store.entries()] == [receipt]


def test_after_a_reload_nobody_comes_further_than_before(browser: Any, tmp_path: Path) -> None:
    """Answers are forgotten, and the history does not lead past the consent."""
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        person = Person(context, running)
        person.answer()
        person.page.reload()
        person.heading("Exams")
        person.page.go_back()
        person.page.wait_for_function("() => history.state.at > 0")
        person.heading("Exams")
        person.answer(cheated=0)
        assert person.send() == person.content()["id"]


def test_a_code_that_was_typed_goes_on_after_a_dead_battery(browser: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running, visit(browser) as context:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        person = Person(context, running)
        person.page.locator("#code").fill(token)
        person.go_on()
        person.heading("Exams")
        person.answer()
        context.set_offline(True)
        person.go_on()
        person.heading(SAY["waiting_title"])
        (line,) = person.page.evaluate("() => Object.values(localStorage)")
        person.address = person.page.url
        person.page.close()
        context.set_offline(False)
        person.open()
        assert person.receipt() == json.loads(line)["id"]
        assert person.sent == [line] * len(person.sent)


def test_a_browser_that_keeps_nothing_says_so(browser: Any, tmp_path: Path) -> None:
    """The page asks to stay open, warns who closes it, and sends the same line later."""
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        context.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
        person = Person(context, running)
        person.answer()
        context.set_offline(True)
        person.go_on()
        person.page.get_by_role("status").get_by_text(SAY["waiting_memory"]).wait_for()
        leaving = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
        assert person.page.evaluate(leaving)
        context.set_offline(False)
        assert person.receipt() == person.content()["id"]
        assert not person.page.evaluate(leaving)


def test_what_a_closed_survey_never_takes_is_not_left_on_the_device(browser: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running, visit(browser) as context:
        person = Person(context, running)
        person.answer()
        with running.collection.opened() as store:  # which decides what is taken
            store.set_meta(CLOSED, b"1")
        person.go_on()
        person.heading(SAY["closed_title"])
        assert person.page.evaluate("() => localStorage.length") == 0


def test_declining_comes_before_the_die(browser: Any, tmp_path: Path) -> None:
    """With a die of one's own the page says when to decide; who declined is never drawn for."""
    text = SURVEY.replace('yes = "1/6"}', 'yes = "1/6"}\nmay_decline = true')
    with served(collection_in(tmp_path, "own_die = true\n" + text)) as running, visit(browser) as context:
        context.add_init_script(
            "globalThis.drawn = 0; const real = crypto.getRandomValues.bind(crypto); crypto.getRandomValues = "
            "(out) => { globalThis.drawn += out instanceof BigUint64Array; return real(out); };"
        )
        person = Person(context, running)
        person.go_on()
        person.go_on()
        note = person.page.locator("#choice-decline-note")
        assert note.inner_text() == SAY["decline_note"]
        person.page.locator(".back").click()
        person.page.locator("input[value=own]").check()
        person.go_on()
        assert note.inner_text() == f"{SAY['decline_note']} {SAY['own_decline']}"
        person.page.locator(".back").click()
        person.page.locator("input[value=page]").check()
        person.go_on()
        person.choose("decline")
        person.choose("2")
        person.page.locator("input[name=number]").fill("20")
        person.go_on()
        person.choose("0")
        person.send()
        assert person.content()["answers"]["cheated"] is None
        assert person.page.evaluate("() => globalThis.drawn") == 1
        assert person.page.locator("input[value=decline]").count() == 0
