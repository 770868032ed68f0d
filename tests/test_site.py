"""The tools that build the site: examples are shown and copied as a reader needs them, long cells are marked."""

from __future__ import annotations

import re
import runpy
from html import unescape
from typing import Any

import pytest

from tests.pages import ROOT

markdown = pytest.importorskip("markdown")
griffe = pytest.importorskip("griffe")
pytest.importorskip("pymdownx")


def _tool(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "tools" / f"{name}.py"))


def _page(text: str) -> str:
    """The HTML of a page, with the extensions of mkdocs.yml that concern blocks of code."""
    tool = _tool("examples")
    config: dict[str, Any] = {"markdown_extensions": ["pymdownx.superfences"]}
    extensions = tool["on_config"](config)["markdown_extensions"]
    settings = {"pymdownx.highlight": {"pygments_lang_class": True}}
    rendered = markdown.markdown(text, extensions=["pymdownx.highlight", *extensions], extension_configs=settings)
    return str(tool["on_page_content"](rendered))


def _copied(page: str) -> list[str]:
    return [unescape(text) for text in re.findall(r' data-copy="([^"]*)"', page)]


def _shown(page: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.parametrize("fence", ["```python\n{}\n```", "{}"], ids=["page", "docstring"])
def test_what_is_copied_of_an_example_is_what_was_typed(fence: str) -> None:
    page = _page(fence.format(">>> x = [\"a\",\n...      \"<b>\"]\n>>> x\n['a', '<b>']\n>>> print(x[0])\na"))
    assert _copied(page) == ['x = ["a",\n     "<b>"]\nx\nprint(x[0])\n']
    assert '<div class="language-pycon highlight" data-copy=' in page
    assert "\n['a', '<b>']\n" in _shown(page)


def test_a_loop_that_is_copied_ends_for_the_interpreter() -> None:
    page = _page("```python\n>>> for i in range(2):\n...     print(i)\n0\n1\n>>> i\n1\n```")
    assert _copied(page) == ["for i in range(2):\n    print(i)\n\ni\n"]


def test_what_is_copied_of_a_console_are_its_commands() -> None:
    page = _page("```console\n$ askance fit a.csv \\\n    --json\n{}\n$ head a.csv\nsaid,$ paid\n```")
    assert _copied(page) == ["askance fit a.csv \\\n    --json\nhead a.csv\n"]
    assert "said,$ paid" in _shown(page)


def test_other_blocks_are_copied_as_they_stand() -> None:
    page = _page("```text\n>>> no example\n```\n\n```toml\na = 1\n```\n\n```python\nx = 1\n```")
    assert _copied(page) == []
    assert "language-pycon" not in page


def test_what_only_doctest_reads_is_not_shown() -> None:
    page = _page(">>> print(table)  # doctest: +NORMALIZE_WHITESPACE\na\n<BLANKLINE>\nb\n")
    assert _copied(page) == ["print(table)\n"]
    assert _shown(page).strip() == ">>> print(table)\na\n\nb"


def test_cells_of_long_text_are_marked() -> None:
    long = "word <code>x</code> " * 20
    cells = _tool("tables")["on_page_content"](f'<td>short</td><td style="text-align: right;">{long}</td>')
    assert cells == f'<td>short</td><td class="long" style="text-align: right;">{long}</td>'
    name = "<td><code>askance.models.FiniteModel.outputs</code></td>"
    assert _tool("tables")["on_page_content"](name) == name.replace("<td>", '<td class="long">')


def test_the_docstring_of_a_package_gives_way_to_the_introduction_of_its_page() -> None:
    package = griffe.load(
        "askance", search_paths=[ROOT / "src"], extensions=griffe.Extensions(_tool("shown_once")["ShownOnce"]())
    )
    assert package.docstring is not None
    assert package["text"].docstring is None
    assert package["errors"].docstring is not None
    assert package["text"]["tagger"].docstring is not None


def test_the_page_about_the_paper_speaks_of_the_figures_that_it_has() -> None:
    tools = _tool("reproduced")
    page = tools["page_of"](tools["kept"]())
    assert not re.search(r"(?i)\b(first|second|third) figure", page)
    assert "| 10 | 5 | −13.3 | −4.397 | 0.234 | 0.638 |" in page
    assert tools["_cut"]("gives 1 at level 0.1, 2 at level 1, −3 at level 2, 4.5 at level 10. So") == (
        "gives 1 at level 0.1 … 4.5 at level 10. So"
    )
    assert tools["_cut"]("1 at level 1, 2 at level 2 and") == "1 at level 1, 2 at level 2 and"


def test_every_channel_with_parameters_says_what_they_are() -> None:
    from askance.channels import entries

    for each in entries():
        assert "Args:" in (each.channel_class.__doc__ or ""), each.kind
