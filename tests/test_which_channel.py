"""The page that says which channel to take has a place for every channel of the registry."""

from __future__ import annotations

import re

import pytest

import askance
from askance.channels import registry
from tests.pages import ROOT

PAGE = (ROOT / "docs" / "which-channel.md").read_text(encoding="utf-8")
KINDS = [entry.kind for entry in registry.entries(None)]
_DESIGNS, _ALL = PAGE.split("### Designs with groups of their own")[1].split("## All channels")
_ROW = re.compile(r"^\| `([a-z-]+)` \|[^|]*\| `([^`]+)` \|", re.MULTILINE)
#: Rows of the last table of the page, and of that of designs with groups: a name, and the Python that builds one.
ROWS, DESIGNS = _ROW.findall(_ALL), _ROW.findall(_DESIGNS.split("## ")[0])


def test_the_last_table_has_every_channel_once_and_no_other() -> None:
    assert sorted(kind for kind, _ in ROWS) == sorted(KINDS)
    assert sorted(kind for kind, _ in DESIGNS) == [entry.kind for entry in registry.entries("groups")]


@pytest.mark.parametrize(("kind", "python"), [*ROWS, *DESIGNS])
def test_the_python_of_a_row_builds_the_channel(kind: str, python: str) -> None:
    names = {name: getattr(askance, name) for name in askance.__all__}
    assert eval(python, names).kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_every_channel_is_shown_in_code(kind: str) -> None:
    name = registry.entry(kind).channel_class.__name__
    blocks = "".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    assert re.search(rf"\b{name}\b", blocks), f"{name} is in no block of Python"


def test_the_page_counts_right() -> None:
    assert len(KINDS) == 23
    picture = (ROOT / "docs" / "tools" / "drawings" / "channel-choice.py").read_text(encoding="utf-8")
    missing = {kind for kind in [*KINDS, *dict(DESIGNS)] if not re.search(rf'["→ ]{kind}"', picture)}
    assert missing == {"hypercube", "triple-release"}
