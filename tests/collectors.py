"""Campaigns that are served on loopback by the real server, for as long as a test needs them."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from askance.collect.collection import CLOSED, Collection
from askance.collect.server.app import Collector
from askance.collect.server.serve import configuration
from tests.signals import PATIENCE

SURVEY = """campaign = 1
name = "exams"
kind = "survey"
title = "Exams"
at_most_level = 4
planned_n = 2000
origins = ["https://pages.example"]

[access]
kind = "open"

[questions.cheated]
text = "Have you ever cheated in an exam?"
design = {kind = "forced-response", truth = "2/3", yes = "1/6"}

[questions.often]
text = "How often?"
design = {kind = "randomized-response", reveal_probability = "1/2", outputs = ["never", "once", "very often"]}

[questions.age]
text = "How old are you?"
range = [16, 105]

[questions.region]
text = "Where do you live?"
options = ["north", "south"]
may_decline = true
"""
TOKENS = SURVEY.replace('kind = "open"', 'kind = "tokens"')
DEVICES = """campaign = 1
name = "phones"
kind = "devices"
title = "Phones"
at_most_level = 4
planned_n = 2000

[questions.crashed]
text = "How often did it crash?"
design = {kind = "randomized-response", reveal_probability = "1/2", outputs = ["never", "once", "often"]}

[questions.features]
text = "Which features were used?"
design = {kind = "per-value", dim = 5, privacy_level = 2}
"""
COUNTING = """campaign = 1
name = "nouns"
kind = "counting"
title = "Nouns"
planned_n = 100

[access]
kind = "tokens"

[counting]
text = "news.txt"
tags = ["NOUN", "VERB"]
rest = "OTHER"
window = 2
times = 2
"""
NEWS = "the dog barks\na cat sleeps\n"


def collection_in(folder: Path, text: str = SURVEY, store: str | None = None) -> Collection:
    """A campaign in a folder."""
    (folder / "news.txt").write_text(NEWS)
    path = folder / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    return Collection(path, store)


@dataclass
class Served:
    """A campaign that is being served."""

    collection: Collection
    collector: Collector
    client: httpx.Client

    def post(self, body: bytes, **options: Any) -> httpx.Response:
        """Send a body."""
        return self.client.post(f"/v1/{self.collection.campaign.name}/reports", content=body, **options)

    def close(self) -> None:
        """Close it in its store, as another process does, and have the server look."""
        with self.collection.opened() as store:
            store.set_meta(CLOSED, b"1")
        self.collector.look()

    def verdicts(self, body: bytes) -> str:
        """The letters of an answer."""
        letters: str = self.post(body).raise_for_status().json()["verdicts"]
        return letters


@contextmanager
def served(collection: Collection, **options: Any) -> Iterator[Served]:
    """Serve a campaign in a thread; requests wait in the socket until the server is ready."""
    collector = Collector(collection, **options)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(configuration(collector))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False) as client:
                yield Served(collection, collector, client)
        finally:
            server.should_exit = True
            thread.join()


def answers(**changed: Any) -> dict[str, Any]:
    """Answers to the survey."""
    return {"cheated": "yes", "often": "once", "age": 34, "region": "north", **changed}


def line_of(collection: Collection, token: str | None = None, id: bytes | None = None, **changed: Any) -> bytes:
    """What one person sends."""
    content: Mapping[str, Any] = answers(**changed)
    return collection.form.write(id or secrets.token_bytes(16), content, token)
