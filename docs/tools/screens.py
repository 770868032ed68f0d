"""Takes the pictures of pages in docs/screens with a real browser: python docs/tools/screens.py

What is drawn in them is drawn anew each time. It needs chromium and playwright, as the tests of pages do.
"""

from __future__ import annotations

import io
import random
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "docs" / "screens"
# States of `tests/survey_tour.py`.
ENGLISH = (
    *("code", "consent", "safe", "understood", "question", "decline", "commit", "waiting", "sent", "spent", "own die"),
    "form",
)
ARABIC = ("safe",)
_COLOURS = 32
_PHONE = {"viewport": {"width": 360, "height": 640}, "device_scale_factor": 1.5, "reduced_motion": "reduce"}
_THUMB = {**_PHONE, "has_touch": True, "is_mobile": True}
_DESK = {"width": 1280, "height": 1226}

NEWS = """the old sailor near the camp called him again before the storm came
a small grey cat sleeps on the warm mat in the kitchen
dogs cats and birds fear the storm because it came so late
"""
NOUNS = {"sailor", "camp", "storm", "cat", "mat", "kitchen", "dogs", "cats", "birds"}
VERBS = {"called", "came", "sleeps", "fear"}
NOUN_CAMPAIGN = """campaign = 1
name = "nouns"
kind = "counting"
title = "Nouns in the news"
planned_n = 300

[access]
kind = "tokens"

[counting]
text = "news.txt"
tags = ["NOUN", "VERB"]
rest = "OTHER"
window = 5
times = 2
single_words = 10

[counting.names]
NOUN = "nouns"
VERB = "verbs"

[counting.singular]
NOUN = "a noun"
VERB = "a verb"
OTHER = "something else"
"""


def keep(page: Any, name: str, *, whole: bool = True) -> None:
    """A picture of a page, or of what is seen of it without scrolling, in few colours."""
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole))).convert("RGB")
    path = SCREENS / f"{name}.png"
    picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.relative_to(ROOT), f"{path.stat().st_size:,} bytes")


@contextmanager
def campaign(text: str, news: str = "") -> Iterator[Any]:
    """A campaign that is being served."""
    from tests.collectors import served

    from askance.collect.collection import Collection

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "news.txt").write_text(news, encoding="utf-8")
        path = Path(folder, "campaign.toml")
        path.write_text(text, encoding="utf-8")
        with served(Collection(path)) as running:
            yield running


def survey(browser: Any, states: tuple[str, ...], text: str, suffix: str = "", **window: Any) -> None:
    """Go through all states of a survey, and take pictures of some."""
    from tests.survey_tour import tour

    with campaign(text) as running:
        for state, page in tour(
            browser.new_context(**{**_PHONE, "viewport": {"width": 360, "height": 520}}, **window), running
        ):
            if state in states:
                keep(page, f"{state.replace(' ', '-')}{suffix}")


def counting(browser: Any) -> None:
    """One tag at a time, a single word, all tags at once; and what the lead sees."""
    from tests.annotators import annotators
    from tests.respondents import Person

    rng = random.Random(1)
    for ask, name in (("one", "count"), ("together", "steppers")):
        with campaign(NOUN_CAMPAIGN.replace("times = 2", f'times = 2\nask = "{ask}"'), 12 * NEWS) as running:
            with running.collection.opened() as store:
                (token,) = running.collection.issue_tokens(store, 1)
            running.client.get("/healthz").raise_for_status()
            page = Person(browser.new_context(**_THUMB), running, f"#{token}").page
            page.locator("main button").click()
            page.locator("mark").wait_for()
            if ask == "together":
                page.locator("[data-step='0+']").click()
            keep(page, name, whole=False)
            while not page.locator(".label").count():
                page.locator("#skip").click()
            if ask == "one":
                keep(page, "label", whole=False)
                continue
            stretches = running.collection.campaign.counting
            for who, slips in zip(annotators(running, 2), (0.02, 0.1), strict=True):
                for number, stretch in enumerate(stretches.stretches):
                    words = stretches.words(stretch)
                    nouns, verbs = (sum(word in kind for word in words) for kind in (NOUNS, VERBS))
                    is_slip = len(words) > 1 and nouns > 0 and rng.random() < slips
                    who.count(number, [nouns - is_slip, verbs], seconds=rng.uniform(1, 6))
            keep(administration(browser, running, **_PHONE), "lead")


def administration(browser: Any, running: Any, **window: Any) -> Any:
    """The page of whoever runs a campaign."""
    from tests.test_dashboard_pages import Administrator

    admin = Administrator(browser.new_context(**window), running)
    admin.enter()
    return admin.page


def dashboards(browser: Any) -> None:
    """A survey of which four tenths are there, and devices in five windows."""
    import numpy as np
    from tests.collectors import DEVICES, SURVEY, line_of

    from askance.collect.store import Entry

    rng = random.Random(1)
    with campaign(SURVEY) as running:
        asked = running.collection.campaign.by_name
        for _ in range(21):
            lines = []
            for _ in range(40):
                age, region = rng.randint(16, 80), rng.choice(["north", "south"])
                truths = {"cheated": "yes" if rng.random() < 0.1 + age / 400 else "no"}
                truths["often"] = rng.choices(["never", "once", "very often"], (6, 3, 1))[0]
                drawn = {name: asked[name].channel.randomize_one(truth) for name, truth in truths.items()}
                lines.append(line_of(running.collection, age=age, region=region, **drawn))
            running.verdicts(b"".join(lines))
            running.collector.admin.progress.told()
        page = administration(browser, running, viewport=_DESK)
        page.set_viewport_size({"width": 360, "height": 1560})
        keep(page, "dashboard", whole=False)
        page.set_viewport_size(_DESK)
        page.emulate_media(color_scheme="dark")
        keep(page, "dashboard-wide", whole=False)
    with campaign(DEVICES.split("[questions.features]")[0]) as running:
        now, (asked,) = running.collection.window(), running.collection.campaign.questions
        labels = list(asked.channel.outputs)
        with running.collection.opened() as store:
            for window in range(now - 4, now + 1):
                shares = (6 - 0.3 * (now - window), 3, 1 + 0.3 * (now - window))
                for _ in range(700):
                    report = asked.channel.randomize_one(rng.choices(labels, shares)[0])
                    sums = np.eye(3, dtype=np.int64)[labels.index(report)]
                    store.take([Entry(secrets.token_bytes(16), b"{}", None, window, {"crashed": sums})])
        keep(administration(browser, running, **_PHONE), "windows")


def wrong(browser: Any) -> None:
    """A campaign file with a slip."""
    import os

    from tests.collectors import SURVEY
    from tests.test_preview import previewed, written

    with tempfile.TemporaryDirectory() as folder:
        written(Path(folder), SURVEY.replace("planned_n", "planed_n"))
        os.chdir(folder)  # files are named as they are given
        with previewed(Path("campaign.toml")) as client:
            page = browser.new_context(**_PHONE).new_page()
            page.goto(f"{client.base_url}/preview")
            keep(page, "wrong")
        os.chdir(ROOT)


def main() -> None:
    """Take all of them."""
    sys.path.insert(0, str(ROOT))
    from tests import survey_tour
    from tests.browsers import started_browser

    with started_browser() as browser:
        survey(browser, ENGLISH, survey_tour.ENGLISH)
        survey(browser, ARABIC, survey_tour.ARABIC, "-arabic-dark", color_scheme="dark", locale="ar")
        counting(browser)
        dashboards(browser)
        wrong(browser)


if __name__ == "__main__":
    main()
