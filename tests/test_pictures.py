"""Pictures of the documentation: each has a file that draws it, is shown by a page, and says in words what it shows."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from tests.pages import PAGES, ROOT

TOOLS = runpy.run_path(str(ROOT / "docs" / "tools" / "draw.py"))
DRAWINGS: dict[str, Path] = TOOLS["DRAWINGS"]


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_draws_and_its_picture_is_kept(name: str) -> None:
    figure: Any = TOOLS["figure_of"](name)
    assert isinstance(figure, Figure)
    assert figure.axes
    assert TOOLS["picture_of"](name).read_text(encoding="utf-8").startswith("<?xml")


def test_every_picture_is_shown_with_words_for_those_who_cannot_see_it() -> None:
    shown: set[Path] = set()
    for page in PAGES:
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            assert len(words) > 20, f"{page.name}: {target} needs a sentence that says what it shows"
            shown.add((page.parent / target).resolve())
    folders = (ROOT / "docs" / "pictures", ROOT / "docs" / "screens")
    assert {path.resolve() for folder in folders for path in folder.iterdir()} == shown


def test_the_page_about_the_paper_is_the_one_of_the_kept_results() -> None:
    tools = runpy.run_path(str(ROOT / "docs" / "tools" / "reproduced.py"))
    assert tools["page_of"](tools["kept"]()) == tools["PAGE"].read_text(encoding="utf-8")
    for name, document in tools["kept"]().items():
        assert not document["quick"], name
        assert all(data["source"] in ("real", "simulated") for data in document["data"]), name
