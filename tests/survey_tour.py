"""Every state of the survey page, one after the other, for those who look at all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .collectors import TOKENS, Served
from .respondents import Person

#: What people may choose, on top of the survey; the words of the page in Arabic beside English.
OPTIONS = "own_die = true\ncomprehension_check = true\n"
ENGLISH = OPTIONS + TOKENS
_WORDS = {
    "Exams": "امتحانات",
    "Have you ever cheated in an exam?": "هل غششت في امتحان من قبل؟",
    "How often?": "كم مرة؟",
    "How old are you?": "كم عمرك؟",
    "Where do you live?": "أين تعيش؟",
}


def _in_arabic(text: str) -> str:
    for english, arabic in _WORDS.items():
        text = text.replace(f'"{english}"', f'{{ar = "{arabic}", en = "{english}"}}')
    regions = 'options = {north = {ar = "الشمال", en = "north"}, south = {ar = "الجنوب", en = "south"}}'
    text = text.replace('options = ["north", "south"]', regions)
    answers = """[questions.cheated.options]
no = {ar = "لا", en = "no"}
yes = {ar = "نعم", en = "yes"}

[questions.often]"""
    return 'languages = ["ar", "en"]\n' + text.replace("[questions.often]", answers)


ARABIC = OPTIONS + _in_arabic(TOKENS)
#: Long texts, a wheel, a long list, declining as one more answer of the channel, a wide number.
_LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft, and " * 6
AWKWARD = f"""campaign = 1
name = "awkward"
kind = "survey"
title = "A rather long title of a survey that people read on small screens, and that has to be broken"
at_most_level = 9
planned_n = 2000
consent = "{_LONG}"

[access]
kind = "open"

[questions.wheel]
text = "{_LONG}?"
design = {{kind = "warner", question = "0.7123"}}
may_decline = true

[questions.wheel.options]
no = "{_LONG}"
yes = "Yes, {_LONG}"

[questions.three]
text = "Which of these?"
design = {{kind = "randomized-response", reveal_probability = "0.41", outputs = ["no", "yes", "I prefer not to say"]}}

[questions.many]
text = "Which one of {_LONG}"
design = {{kind = "randomized-response", reveal_probability = "1/2", outputs = 20}}

[questions.wide]
text = "How much?"
range = [-9007199254740991, 9007199254740991]

[questions.list]
text = "Where?"
options = {[f"{i}. {_LONG if i == 5 else 'place'}" for i in range(12)]}
may_decline = true
"""


#: In the order in which `tour` comes through them.
STATES = (
    *("code", "consent", "safe", "understood", "question", "number", "decline", "commit", "waiting", "receipt"),
    *("sent", "later", "spent", "unknown", "own die", "form", "closed"),
)


def tour(context: Any, running: Served) -> Iterator[tuple[str, Any]]:
    """The survey of `tests/collectors.py` with codes and `OPTIONS`: the name of every state, and the page in it."""
    with running.collection.opened() as store:
        tokens = running.collection.issue_tokens(store, 2)
    yield from _states(context, running, tokens)


def _states(context: Any, running: Served, tokens: list[str]) -> Iterator[tuple[str, Any]]:
    person = Person(context, running)
    page, alert = person.page, person.page.get_by_role("alert")
    page.locator("#code").fill("wrong")
    person.go_on()
    alert.wait_for()
    yield "code", page
    page.locator("#code").fill(tokens[0])
    person.go_on()
    page.locator("#code").wait_for(state="detached")
    yield "consent", page
    person.go_on()
    page.locator(".safe").wait_for()
    yield "safe", page
    person.go_on()
    person.choose("yes")
    alert.wait_for()
    yield "understood", page
    person.choose("no")
    page.locator(".mark.protected").wait_for()
    yield "question", page
    person.choose("1")
    page.locator("input[value='2']").wait_for()
    person.choose("2")
    page.locator("input[name=number]").fill("7")
    person.go_on()
    alert.wait_for()
    yield "number", page
    page.locator("input[name=number]").fill("34")
    person.go_on()
    page.locator("input[value=decline]").wait_for()
    yield "decline", page
    person.choose("decline")
    page.locator("main fieldset").wait_for(state="detached")
    yield "commit", page
    context.set_offline(True)
    person.go_on()
    page.locator("#again").wait_for()
    yield "waiting", page
    context.set_offline(False)
    page.locator("#receipt").wait_for()
    yield "receipt", page
    page.locator("#show").click()
    page.locator(".sent").wait_for()
    yield "sent", page
    page.reload()
    page.locator("#receipt").wait_for()
    yield "later", page
    yield from _endings(person, running, tokens)


def _endings(person: Person, running: Served, tokens: list[str]) -> Iterator[tuple[str, Any]]:
    """Refusals at the end, dice of one's own, and pages without a script."""
    address = str(running.client.base_url)
    person.page.evaluate("() => localStorage.clear()")
    page = _arrived(person, f"{address}/#{tokens[0]}", "", "page", "no", "1", "2", "34", "0", "")
    page.locator("main form").wait_for(state="detached")
    page.locator("main .draw").wait_for(state="detached")
    yield "spent", page
    page = _arrived(person, f"{address}/#{'a' * 26}", "", "page", "no", "1", "2", "34", "0", "")
    page.get_by_role("alert").wait_for()
    yield "unknown", page
    page = _arrived(person, f"{address}/#{tokens[1]}", "", "own", "no")
    page.locator("main .bar").wait_for()
    yield "own die", page
    page.goto(f"{address}/v1/exams/form")
    yield "form", page
    running.close()
    page.goto(f"{address}/#")
    page.reload()
    yield "closed", page


def _arrived(person: Person, address: str, *choices: str) -> Any:
    """A new window in which somebody has gone on with each of these choices."""
    person.page.close()
    person.address = address
    page = person.open()
    page.locator("main form").wait_for()
    for choice in choices:
        if choice == "34":
            page.locator("input[name=number]").fill(choice)
        elif choice:
            page.locator(f"input[value='{choice}']").check()
        person.go_on()
    return page
