"""The built site in a real browser, opened from files: the search box finds, and copy buttons give input only."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import askance

from .browsers import started_browser, visit
from .pages import ROOT
from .signals import PATIENCE

PACKAGES = [
    "askance",
    *(f"askance.{name}" for name in ("channels", "design", "errors", "estimation", "evidence", "formats", "geometry")),
    *(f"askance.{name}" for name in ("models", "planning", "scale", "sklearn", "survey", "text")),
]
pytestmark = pytest.mark.integration
pytest.importorskip("mkdocs", reason="there is no mkdocs: pip install -e '.[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The site, as `make docs` builds it; its address begins with file://."""
    folder: Path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=10 * PATIENCE)
    return folder.as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as started:
        yield started


def _inventory(site: str) -> list[str]:
    """Full names of what the reference shows."""
    packed = Path(site.removeprefix("file://"), "objects.inv").read_bytes().split(b"\n", 4)[4]
    return [line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines()]


@pytest.mark.parametrize("name", PACKAGES)
def test_every_public_name_is_on_a_page(site: str, name: str) -> None:
    """By its last name: a class may be told of under the module that it is written in."""
    told = {full.rpartition(".")[2] for full in _inventory(site)}
    package = importlib.import_module(name)
    listed = getattr(package, "__all__", None) or [
        each
        for each, thing in vars(package).items()
        if not each.startswith("_") and callable(thing) and str(thing.__module__).startswith("askance.")
    ]
    assert len(listed) > 1
    assert {each for each in listed if callable(getattr(package, each))} - told == set()


def test_what_fits_return_is_on_a_page(site: str) -> None:
    told = {full.rpartition(".")[2] for full in _inventory(site)}
    returned = set[str]()
    for fit in ("RegressionFit", "HiddenFit", "FieldFit", "LinearFit", "MeansFit", "DistributionFit"):
        for name, method in inspect.getmembers(getattr(askance, fit), inspect.isfunction):
            words = re.findall(r"\b[A-Z]\w+", str(method.__annotations__.get("return", "")))
            things = [getattr(sys.modules[method.__module__], word, None) for word in words if name[0] != "_"]
            ours = [thing for thing in things if inspect.isclass(thing) and thing.__module__.startswith("askance.")]
            returned |= {thing.__name__ for thing in ours}
    assert "Prevalence" in returned
    assert returned - told == set()


def test_the_search_box_finds_from_files_and_asks_nobody(site: str, browser: Any) -> None:
    with visit(browser) as context:
        page, asked, errors = context.new_page(), list[str](), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{site}/start/survey.html")
        page.get_by_role("textbox", name="Search").click()
        page.keyboard.type("nonresponse_bounds")
        found = page.locator(".md-search-result__link").first
        found.wait_for()
        found.click()
        page.wait_for_url("**/*.html?h=*")
        assert "nonresponse_bounds" in page.locator("article").inner_text()
        assert not errors
        assert [url for url in asked if not url.startswith(f"{site}/")] == []


@pytest.mark.parametrize(
    ("place", "block", "copied"),
    [
        (
            "start/survey.html",
            ".language-console >> nth=0",
            "askance certify forced-response --truth 2/3 --yes 1/6\n",
        ),
        (
            "mathematics.html",
            ".language-pycon >> nth=0",
            "import numpy as np\nfrom askance import Enumerated, RandomizedResponse, Tally, asymptotics, estimate\n",
        ),
        ("start/telemetry.html", ".language-toml >> nth=0", 'kind = "randomized-response"\n'),
    ],
)
def test_a_click_on_copy_gives_what_was_typed_and_nothing_else(
    site: str, browser: Any, place: str, block: str, copied: str
) -> None:
    with visit(browser) as context:
        page = context.new_page()
        page.goto(f"{site}/{place}")
        shown = page.locator(block)
        shown.hover()
        shown.locator(".md-code__button[data-md-type=copy]").click()
        page.evaluate("document.body.append(document.createElement('textarea'))")
        page.locator("textarea").focus()
        page.keyboard.press("Control+V")
        pasted = page.locator("textarea").input_value()
        assert f"{pasted}\n".startswith(copied)
        assert not any(line.startswith((">>>", "...", "$ ", "privacy level", "array(")) for line in pasted.splitlines())
