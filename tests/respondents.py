"""Somebody who answers the survey of `tests/collectors.py` in a browser."""

from __future__ import annotations

import json
from typing import Any

from askance.collect.pages.texts import page_texts

from .collectors import Served

SAY = page_texts()["en"]


class Person:
    """Somebody on a page, and what their browser sent."""

    def __init__(self, context: Any, running: Served, fragment: str = "") -> None:
        self.context, self.address = context, f"{running.client.base_url}/{fragment}"
        self.sent: list[str] = []
        self.hosts: set[str] = set()
        self.wrong: list[str] = []
        self.console: list[str] = []
        context.on("request", self._see)
        self.page = self.open()

    def open(self) -> Any:
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        self.page.on("console", lambda told: self.console.append(told.text) if told.type == "error" else None)
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
