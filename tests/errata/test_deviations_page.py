"""docs/deviations.md has one row for every known slip of the paper, and names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "deviations.md").read_text(encoding="utf-8")
SLIPS = ["1", "2", "3", "4", "5", "5b", *map(str, range(6, 18)), "17b", "18", "19"]
NAMED = sorted(set(re.findall(r"`(test_\w+\.py)::(test_\w+)`", PAGE)))


def functions_of(file: Path) -> set[str]:
    """The names of the functions defined in a file."""
    return {node.name for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)}


def test_every_slip_has_one_row_with_a_test() -> None:
    rows = re.findall(r"^\| (\d+b?) \|.*$", PAGE, flags=re.MULTILINE)
    assert rows == SLIPS
    for line in PAGE.splitlines():
        if re.match(r"\| \d+b? \|", line):
            assert line.count(" | ") == 4, line
            assert "::test_" in line, line


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    assert name in functions_of(HERE / file)


def test_every_test_of_this_folder_that_shows_a_slip_is_named() -> None:
    """A docstring that begins with "Row" belongs on the page."""
    shown = set()
    for file in HERE.glob("test_*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and (ast.get_docstring(node) or "").startswith("Row"):
                shown.add((file.name, node.name))
    assert shown
    assert shown <= set(NAMED)
