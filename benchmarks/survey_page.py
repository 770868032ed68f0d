"""How heavy the survey page is on a slow phone: `python -m benchmarks.survey_page`.

A real browser, its processor slowed down four times, opens the page of a campaign that asks five noised questions in
four languages with all a page can have (codes, consent, a check of understanding, dice of one's own), and goes on to
the first question. Seconds are of the processor, spent by the main thread and slowed down as they are (`TaskDuration`
of the DevTools protocol in thread ticks): until the first page is there, and until the first question is. The slowing
down goes by the clock, so that a busy machine adds to them. Bytes are all that came over the wire, headers too; beside
them stand those of the page when it is unpacked.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.harness.figures import Row, add_options, tell

SLOWER = 4
MOST_SECONDS, MOST_BYTES = 1.0, 60_000
QUESTION = (
    f"How heavy is the survey page on a processor {SLOWER} times slower? "
    f"(Wanted: the first question within {MOST_SECONDS:g} s, at most {MOST_BYTES:,} bytes.)"
)
LANGUAGES = ("en", "de", "es", "ar")


def _texts(text: str) -> str:
    return "{" + ", ".join(f'{code} = "{text}"' for code in LANGUAGES) + "}"


CAMPAIGN = f"""campaign = 1
name = "bench"
kind = "survey"
title = {_texts("Studying and exams")}
languages = {list(LANGUAGES)}
consent = {_texts("We ask how people study and how exams go. Taking part is voluntary. Write to us at any time.")}
comprehension_check = true
own_die = true
at_most_level = 9
planned_n = 2000
""" + "".join(
    f"""[questions.question{i}]
text = {_texts("How often did you do this in the last twelve months, all in all?")}
design = {{kind = "forced-response", truth = "2/3", yes = "1/6"}}
may_decline = true
"""
    for i in range(5)
)


class Reading(NamedTuple):
    """Seconds of the main thread, bytes, and requests."""

    first_page: float
    first_question: float
    bytes: int
    unpacked: int
    requests: int


@contextmanager
def _server() -> Iterator[tuple[str, str]]:
    """The address of a campaign that is served, and a code."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "bench.toml"
        path.write_text(CAMPAIGN, encoding="utf-8")
        askance = [sys.executable, "-m", "askance", "collect"]
        tokens = Path(name) / "tokens.csv"
        subprocess.run([*askance, "tokens", path, "--count", "1", "-o", tokens], check=True, capture_output=True)
        token = re.search(r"\b[a-z2-7]{26}\b", tokens.read_text("utf-8"))
        assert token is not None
        with subprocess.Popen([*askance, path, "--port", "0"], stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            address = re.search(r"http://[^/\s]+/", server.stdout.readline())
            assert address is not None
            try:
                yield address[0], token[0]
            finally:
                server.terminate()


def _seconds(protocol: Any) -> float:
    told = {metric["name"]: metric["value"] for metric in protocol.send("Performance.getMetrics")["metrics"]}
    return float(told["TaskDuration"])


def reading(browser: Any, address: str, token: str, language: str) -> Reading:
    """What one visit costs, in a browser that has nothing of the page yet."""
    context = browser.new_context(**browser.profile, locale=language)
    page = context.new_page()
    protocol = context.new_cdp_session(page)
    finished: list[int] = []
    protocol.on("Network.loadingFinished", lambda told: finished.append(int(told["encodedDataLength"])))
    unpacked: list[int] = []
    protocol.on("Network.dataReceived", lambda told: unpacked.append(int(told["dataLength"])))
    protocol.send("Network.enable")
    protocol.send("Performance.enable", {"timeDomain": "threadTicks"})
    protocol.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    before = _seconds(protocol)
    page.goto(f"{address}#{token}")
    _do(protocol, "document.querySelector('main button[type=submit]') !== null")
    first_page = _seconds(protocol) - before
    for choice in ("", "", "[value=no]"):  # consent, why it is safe, the check of understanding
        chosen = f"document.querySelector('{choice}').checked = true, " if choice else ""
        _do(protocol, f"{chosen}document.querySelector('main button[type=submit]').click() === undefined")
    _do(protocol, "document.querySelector('.mark.protected') !== null")
    first_question = _seconds(protocol) - before
    context.close()
    return Reading(first_page, first_question, sum(finished), sum(unpacked), len(finished))


def _do(protocol: Any, expression: str) -> None:
    """Try until it is true, once a frame, and wait for a frame. By the protocol: scripts of Playwright are large."""
    look = f"const look = () => ({expression}) ? requestAnimationFrame(() => done(true)) : requestAnimationFrame(look)"
    asked = f"new Promise((done) => {{ {look}; requestAnimationFrame(look); }})"
    protocol.send("Runtime.evaluate", {"expression": asked, "awaitPromise": True})


def measure(repetitions: int) -> dict[str, list[Reading]]:
    """Readings by language, languages in turn; the first round, which wakes everything, does not count."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium: apt-get install chromium")
    with _server() as (address, token), sync_playwright() as started:
        browser: Any = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        browser.profile = started.devices["Pixel 5"]
        readings: dict[str, list[Reading]] = {language: [] for language in LANGUAGES}
        for i in range(repetitions + 1):
            for language, found in readings.items():
                found += [reading(browser, address, token, language)][: i > 0]
        browser.close()
    return readings


def main() -> int:
    """Print medians; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    add_options(parser)
    options, begun = parser.parse_args(), time.perf_counter()
    readings = measure(options.repetitions)
    rows: list[Row] = [
        {
            "language": language,
            "first page, s": round(median(r.first_page for r in found), 3),
            "first question, s": round(median(r.first_question for r in found), 3),
            "slowest, s": round(max(r.first_question for r in found), 3),
            "bytes": max(r.bytes for r in found),
            "unpacked": max(r.unpacked for r in found),
            "requests": max(r.requests for r in found),
        }
        for language, found in readings.items()
    ]
    tell("survey_page", QUESTION, rows, time.perf_counter() - begun, options)
    medians = [median(r.first_question for r in found) for found in readings.values()]
    most = max(r.bytes for found in readings.values() for r in found)
    return int(max(medians) > MOST_SECONDS or most > MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
