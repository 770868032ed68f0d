"""Pages that are one HTML file: texts, style and script are inside, and nothing is loaded.

The policy of a page names its script and its style by their digests, so that a browser runs these bytes and no others,
whatever a text of the campaign says.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from askance.collect.device_page import assets
from askance.collect.pages.templates import rendered
from askance.collect.pages.texts import is_right_to_left

# Modules stand in one script, one after the other: what they import and export is there.
_IMPORT = re.compile(r'^import [^;]* from "\./[\w.-]+";$', re.MULTILINE)
# What people read and browsers do not: lines that are comments, and blanks before lines.
_UNREAD = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)?\n|^[ \t]+", re.MULTILINE)


@dataclass(frozen=True)
class Page:
    """A page and what a server says with it.

    Attributes:
        html: all of it.
        policy: its Content-Security-Policy; the page itself says it too.
    """

    html: str
    policy: str


def made_page(template: str, data: Mapping[str, Any], script: str, style: str, connect: str, **content: Any) -> Page:
    """A page from its template.

    Args:
        template: its name.
        data: what the script is told, with its "language".
        script: of `script_of`.
        style: of `style_of`.
        connect: where it may send to, as the policy spells it.
        content: what else the template is told.
    """
    from markupsafe import Markup

    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{digest_of(script)}'",
            f"style-src '{digest_of(style)}'",
            f"connect-src {connect}",
            "form-action 'none'",
            "base-uri 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    html = rendered(
        template,
        language=data["language"],
        direction="rtl" if is_right_to_left(data["language"]) else "ltr",
        policy=policy,
        data=Markup(_inside_script(data)),
        style=Markup(style),
        script=Markup(script),
        **content,
    )
    return Page(html, policy)


@cache
def script_of(*names: str) -> str:
    """Modules as one script: what others import first, the last in a block of its own, so that names do not meet."""
    *before, last = map(_code, names)
    return f"{''.join(before)}{{\n{last}}}\n"


@cache
def style_of(*names: str) -> str:
    """Style sheets as one."""
    return "".join(_code(name) for name in names)


def _code(name: str) -> str:
    return _UNREAD.sub("", _IMPORT.sub("", assets()[name][0].decode()))


def digest_of(text: str) -> str:
    """The digest by which a policy names a script or a style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _inside_script(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
