"""People answer a survey in a real browser: on phones, in tunnels, with codes. What is sent is what was drawn."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from askance import Tally, estimate, load
from askance.channels.finite import FiniteChannel
from askance.collect.export import export
from askance.models import Enumerated

from .browsers import started_browser, visit
from .collectors import SURVEY, TOKENS, collection_in, served
from .respondents import SAY, Person

pytestmark = pytest.mark.integration

NAMES = ("cheated", "often", "age", "region")
REPORTS = {"cheated": ["no", "yes"], "often": ["never", "once", "very often"]}
OWN = "own_die = true\n"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as browser:
        yield browser


# -- phones, tunnels, reloads ------------------------------------------------------------------------------------------


def quiet(person: Person) -> None:
    """Nothing happens, and nothing on the page is against its own policy."""
    person.send()
    person.page.locator("#show").click()
    person.page.locator("#knows summary").click()
    assert person.console == []


def lose(route: Any) -> None:
    """The server has it, and its answer is lost on the way."""
    route.fetch()
    route.abort()


@contextmanager
def on_the_way(person: Person, *happens: Callable[[Any], None]) -> Iterator[None]:
    """Whatever is sent within meets these in turn: the page waits for as long as the test takes."""
    turns = cycle(happens)
    person.page.route("**/reports", lambda route: next(turns)(route))
    yield
    person.page.unroute_all(behavior="wait")


def try_again(person: Person) -> None:
    """Press the button that is there until the page has tried by itself."""
    person.page.evaluate("() => document.getElementById('again')?.click()")


def no_network(person: Person) -> None:
    """The first tries never leave the phone."""
    person.context.set_offline(True)
    person.go_on()
    person.heading(SAY["waiting_title"])
    person.context.set_offline(False)
    person.page.locator("#receipt").wait_for()


def lost_answer(person: Person) -> None:
    """The server has it, and does not come to say so."""
    with on_the_way(person, lose):
        person.go_on()
        person.heading(SAY["waiting_title"])
    try_again(person)
    person.page.locator("#receipt").wait_for()


def dead_battery(person: Person) -> None:
    """The answer is lost, the page is gone, and is opened again later."""
    with on_the_way(person, lose):
        person.go_on()
        person.heading(SAY["waiting_title"])
        person.context.set_offline(True)
    person.page.close()
    person.context.set_offline(False)
    person.open()
    person.page.locator("#receipt").wait_for()


def portal(person: Person) -> None:
    """Somebody in between answers in place of the server; then the server is busy; then the page is loaded again."""
    login = partial(_fulfil, status=200, body="<h1>Log in</h1>")
    busy = partial(_fulfil, status=503, body='{"error":"busy"}')
    with on_the_way(person, login, busy):
        person.go_on()
        person.heading(SAY["waiting_title"])
        with person.page.expect_response("**/reports"):
            try_again(person)
    person.page.reload()
    person.page.locator("#receipt").wait_for()


def _fulfil(route: Any, **told: Any) -> None:
    route.fulfill(**told)


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
            for name in REPORTS:
                export(collection.campaign, store, tmp_path / f"{name}.state", question=name)
    assert kept == sent
    assert len(sent) == 50
    assert lengths == {collection.form.length}
    assert hosts == {str(running.client.base_url).split("/")[2]}
    drawn = {name: Counter(answers[name] for answers in sent.values()) for name in REPORTS}
    assert {name: tallies[name] for name in REPORTS} == {
        name: [drawn[name][label] for label in labels] for name, labels in REPORTS.items()
    }
    for name, labels in REPORTS.items():
        channel = collection.campaign.by_name[name].channel
        assert isinstance(channel, FiniteChannel)
        expected = Tally(channel).add([answers[name] for answers in sent.values()])
        state, model = load(tmp_path / f"{name}.state"), Enumerated.saturated(labels)
        assert isinstance(state, Tally)
        assert state == expected
        assert estimate(model, state).theta.tolist() == estimate(model, expected).theta.tolist()
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
