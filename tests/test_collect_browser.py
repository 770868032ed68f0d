"""The plain page of a survey in a real browser: answers are noised there, sent once, and kept until then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.collectors import TOKENS, Served, collection_in, served
from tests.signals import PATIENCE

pytestmark = pytest.mark.integration
CHROMIUM = shutil.which("chromium")


@pytest.fixture
def page() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 360, "height": 740})
        context.set_default_timeout(1000 * PATIENCE // 10)
        yield context.new_page()
        browser.close()


def _answer(page: Any) -> None:
    page.check('fieldset[data-question="cheated"] >> text="yes"')
    page.check('fieldset[data-question="often"] >> text="once"')
    page.fill('input[name="age"]', "34")


def _stored(running: Served) -> list[dict[str, Any]]:
    with running.collection.opened() as store:
        return [json.loads(content) for _, _, content in store.entries()]


def test_answers_are_noised_in_the_browser_and_arrive(page: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running:
        hosts, lengths, wrong = set(), set(), []
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: lengths.add(len((request.post_data or "").encode())))
        page.goto(str(running.client.base_url))
        _answer(page)
        page.click("button")
        page.wait_for_selector("text=Your receipt")
        (stored,) = _stored(running)
        assert (stored["age"], stored["region"]) == (34, None)
        assert stored["cheated"] in ("no", "yes")
        receipt = page.inner_text("#status").split()[-1]
        with running.collection.opened() as store:
            assert [id.hex() for id, _, _ in store.entries()] == [receipt]
        page.reload()
        page.wait_for_selector("text=You have answered")
        assert len(_stored(running)) == 1
        assert hosts == {str(running.client.base_url).split("/")[2]}
        assert lengths == {0, running.collection.form.length}
        assert [text for text in wrong if "favicon" not in text and "404" not in text] == []


def test_what_could_not_be_sent_is_kept_and_sent_again_as_it_was(page: Any, tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running:
        bodies: list[str] = []
        page.on("request", lambda request: bodies.extend([request.post_data] if request.post_data else []))
        page.route("**/reports", lambda route: route.abort())
        page.goto(str(running.client.base_url))
        _answer(page)
        page.click("button")
        page.wait_for_selector("text=Not sent yet")
        page.unroute("**/reports")
        page.reload()
        page.wait_for_selector("text=Your receipt")
        assert len(bodies) == 2
        assert bodies[0] == bodies[1]
        assert len(_stored(running)) == 1


def test_a_token_of_a_link_is_used_once(page: Any, tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        page.goto(f"{running.client.base_url}#{token}")
        _answer(page)
        page.click("button")
        page.wait_for_selector("text=Your receipt")
        page.evaluate("localStorage.clear()")
        page.reload()
        _answer(page)
        page.click("button")
        page.wait_for_selector("text=its token was used already")
        assert len(_stored(running)) == 1
