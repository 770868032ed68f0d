"""Formulas between dollars become MathML when the site is built: browsers show it without scripts or fonts."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)


def on_page_content(content: str, **_: Any) -> str:
    """Called by mkdocs with the HTML of every page."""
    return _FORMULA.sub(_as_mathml, content)


def _as_mathml(match: re.Match[str]) -> str:
    display = "inline" if match["open"] == "(" else "block"
    return str(convert(html.unescape(match["tex"]), display=display))
