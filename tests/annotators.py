"""People who count, without a browser: what their device would send."""

from __future__ import annotations

import json
import secrets
from typing import Any

from .collectors import Served


class Annotator:
    """Somebody with a code, and what this person sent."""

    def __init__(self, running: Served, token: str | None) -> None:
        self.running, self.token, self.form = running, token, running.collection.form

    def next(self, **changed: Any) -> dict[str, Any]:
        """What the server says is next."""
        body = json.dumps({"campaign": self.form.wave, "token": self.token, **changed}, separators=(",", ":"))
        name = self.running.collection.campaign.name
        answer = self.running.client.post(f"/v1/{name}/next", content=body.ljust(self.form.length - 1) + "\n")
        told: dict[str, Any] = answer.raise_for_status().json()
        return told

    def numbers(self) -> list[int]:
        """The stretches that are next."""
        return [question["stretch"] for question in self.next()["stretches"]]

    def line(self, stretch: int, counts: Any, replaces: str | None = None, seconds: float = 2.0) -> tuple[str, bytes]:
        """A line, and its id."""
        id = secrets.token_bytes(16)
        told = {"stretch": stretch, "counts": counts, "seconds": seconds, "replaces": replaces}
        return id.hex(), self.form.write(id, told, self.token)

    def count(self, stretch: int, counts: Any, replaces: str | None = None, seconds: float = 2.0) -> str:
        """Send a count; its id."""
        id, line = self.line(stretch, counts, replaces, seconds)
        assert self.running.verdicts(line) == "T"
        return id


def annotators(running: Served, count: int) -> list[Annotator]:
    """New people, whom the server knows."""
    with running.collection.opened() as store:
        tokens = running.collection.issue_tokens(store, count)
    running.client.get("/healthz").raise_for_status()  # the server looks who counts
    return [Annotator(running, token) for token in tokens]
