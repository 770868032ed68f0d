"""The page of the demonstration: its stories in one HTML file that needs nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from askance._version import __version__
from askance.experiments.demo_stories import STORIES, Story
from askance.experiments.runner import require_folder
from askance.formats.disk import regular_target, write_whole

# The look is that of the report on the paper, by the same style sheet and the same figures and tables.
from askance.formats.html_page import figure_html, html_document, table_html

TITLE = "askance: what can be learned from what people are willing to tell"
_ABOUT = (
    "Stories that are simulated, so that the truth is known and can be put beside what was estimated. In none of them "
    "are the data themselves seen by whoever estimates. A privacy level bounds what a report can give away: no report "
    "is more than e to the power of the level times as likely from one person as from any other."
)
#: The stories, in their order, and the name of the page.
PARTS, PAGE = tuple(STORIES), "report.html"


def narrow_name(part: str) -> str:
    """What the picture of a story for phones is called."""
    return f"{part}, narrow"


def require_places(folder: Path) -> None:
    """Make the folder, and refuse one where a file of the demonstration cannot be written, before work begins."""
    require_folder(folder)
    for name in (*(f"{part}{ending}" for part in PARTS for ending in (".png", ".json")), PAGE):
        regular_target(folder / name)


def write_demo(
    folder: Path, results: Mapping[str, Mapping[str, Any]], pictures: Mapping[str, bytes], command: str
) -> Path:
    """Write picture and numbers of every part, then the page (arguments as for `demo_page`); each file whole.

    Returns:
        where the page is.
    """
    for part, result in results.items():
        write_whole(folder / f"{part}.png", pictures[part])
        write_whole(folder / f"{part}.json", (json.dumps(result, indent=2) + "\n").encode())
    write_whole(folder / PAGE, demo_page(results, pictures, command).encode())
    return folder / PAGE


def demo_page(results: Mapping[str, Mapping[str, Any]], pictures: Mapping[str, bytes], command: str) -> str:
    """The whole document.

    Args:
        results: by the name of their story; stories that were left out are not on the page.
        pictures: PNG files by the same names; those for phones, if there are any, by `narrow_name`.
        command: what makes this page again.
    """
    sections = [_section(name, STORIES[name], result, pictures) for name, result in results.items()]
    end = [
        "<h2>To make this page again</h2>",
        f"<pre>{escape(command)}</pre>",
        f'<p class="soft">askance {escape(__version__)}. Every number is in a file beside this page '
        f"({', '.join(f'{name}.json' for name in results)}), and the pictures are drawn from them alone.</p>",
    ]
    return html_document(TITLE, _ABOUT, [*sections, *end])


def _section(name: str, story: Story, result: Mapping[str, Any], pictures: Mapping[str, bytes]) -> str:
    return "\n".join(
        [
            f'<section id="{escape(name)}">',
            f"<h2>{escape(story.title)}</h2>",
            *(f"<p><strong>{escape(what)}</strong> {escape(text)}</p>" for what, text in story.words(result)),
            figure_html(story.shown, pictures[name], story.title, narrow=pictures.get(narrow_name(name))),
            *(table_html(table) for table in [*story.tables(result), *story.further_tables(result)]),
            "</section>",
        ]
    )
