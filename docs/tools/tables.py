"""Cells of long text or names are marked when the site is built: on a phone they keep a width to be read at."""

from __future__ import annotations

import html
import re
from typing import Any

#: Characters from which a cell is long, and a single word in it.
LONG, LONG_WORD = 80, 25
_CELL = re.compile(r"<td(?P<style>(?: style=\"[^\"]*\")?)>(?P<inside>.*?)</td>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def on_page_content(content: str, **_: Any) -> str:
    """Called by mkdocs with the HTML of every page."""
    return _CELL.sub(_marked, content)


def _marked(match: re.Match[str]) -> str:
    text = html.unescape(_TAG.sub("", match["inside"]))
    if len(text) < LONG and all(len(word) < LONG_WORD for word in text.split()):
        return match[0]
    return f'<td class="long"{match["style"]}>{match["inside"]}</td>'
