"""The page of a survey: one HTML file that has its texts, style and script inside, and loads nothing.

Its policy names script and style by their digests, so that a browser runs these bytes and no others, whatever a text of
the campaign says. The same page can be kept as a file and opened elsewhere (`survey_file`).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from askance.categories import Label
from askance.channels.device import device_description
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign, Texts
from askance.collect.device_page import MODULE, assets
from askance.collect.dice import last_faces, parts_of, sides_of
from askance.collect.pages.odds import factor_of
from askance.collect.pages.plain_form import plain_address
from askance.collect.pages.templates import rendered
from askance.collect.pages.texts import FALLBACK, is_right_to_left, page_texts, texts_in
from askance.collect.submission import Form
from askance.errors import InputError

_IMPORT = re.compile(rf'^import .* from "\./{re.escape(MODULE)}";$', re.MULTILINE)
# What people read and browsers do not: lines that are comments, and blanks before lines.
_UNREAD = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)?\n|^[ \t]+", re.MULTILINE)
# Of the description of a channel, what the module needs to draw.
_DEVICE_KEYS = frozenset({"format", "mapping", "outputs", "observations", "thresholds"})


@dataclass(frozen=True)
class Page:
    """A page and what a server says with it.

    Attributes:
        html: all of it.
        policy: its Content-Security-Policy; the page itself says it too.
    """

    html: str
    policy: str


def survey_page(campaign: Campaign, language: str | None = None) -> Page:
    """The page as a server hands it out, in one language; others are links.

    >>> from askance import Warner
    >>> asked = Asked("smokes", {"en": "Do you <b>smoke</b>?"}, Warner("2/3"))
    >>> page = survey_page(Campaign("small", "survey", {"en": "Small"}, ("en",), (asked,), access="open"))
    >>> "default-src 'none'" in page.policy, "<b>smoke" in page.html
    (True, False)
    """
    chosen = campaign.languages[0] if language is None else language
    return _page(campaign, chosen, [chosen], f"/v1/{campaign.name}/reports", "'self'")


def survey_file(campaign: Campaign, server: str) -> str:
    """The page as one file for another place, in all languages; it sends to a server.

    Args:
        campaign: whose origins must name the place, or browsers do not let the page send.
        server: as in https://collect.example.org
    """
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", parts.netloc):
        raise InputError(
            argument="server", got=server, allowed="scheme and host", remedy="Write https://collect.example.org."
        )
    origin = f"{parts.scheme}://{parts.netloc}"
    address = f"{origin}/v1/{campaign.name}/reports"
    return _page(campaign, campaign.languages[0], campaign.languages, address, origin).html


def _page(campaign: Campaign, language: str, spoken: Sequence[str], address: str, connect: str) -> Page:
    from markupsafe import Markup

    script, style = _script(), _read(assets()["survey.css"][0].decode())
    form = plain_address(campaign) if connect == "'self'" else None
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
    data = survey_data(campaign, language, spoken, address, hashlib.sha256(script.encode()).hexdigest())
    html = rendered(
        "survey.html",
        language=language,
        direction="rtl" if is_right_to_left(language) else "ltr",
        title=campaign.text(campaign.titles, language),
        policy=policy,
        say=texts_in(language),
        form=None if form is None else f"{form}?lang={language}",
        data=Markup(_inside_script(data)),
        style=Markup(style),
        script=Markup(script),
    )
    return Page(html, policy)


@cache
def _script() -> str:
    """Both modules as one: the second in a block of its own, so that their names do not meet."""
    device, page = (assets()[name][0].decode() for name in (MODULE, "survey.js"))
    return f"{_read(device)}{{\n{_read(_IMPORT.sub('', page))}}}\n"


def _read(code: str) -> str:
    return _UNREAD.sub("", code)


def digest_of(text: str) -> str:
    """The digest by which a policy names a script or a style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _inside_script(data: Any) -> str:
    """JSON that cannot end the element it stands in."""
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


# -- what the script is told -------------------------------------------------------------------------------------------


def survey_data(
    campaign: Campaign, language: str, spoken: Sequence[str], address: str, digest: str = ""
) -> dict[str, Any]:
    """What the script of the page is told of a campaign, as plain JSON."""
    form = Form(campaign)
    return {
        "campaign": campaign.name,
        "wave": form.wave,
        "length": form.length,
        "access": campaign.access,
        "address": address,
        "is_file": address.startswith("http"),
        "language": language,
        "languages": list(campaign.languages),
        "local": list(spoken),
        "right_to_left": [code for code in campaign.languages if is_right_to_left(code)],
        "titles": _in(spoken, campaign, campaign.titles),
        "consent": _in(spoken, campaign, campaign.consent) if campaign.consent else None,
        "own_die": campaign.own_die,
        "comprehension_check": campaign.comprehension_check,
        "factor": factor_of(campaign),
        "questions": [_question(question, campaign, spoken) for question in campaign.questions],
        "strings": _strings(campaign, spoken),
        "digest": digest,
    }


def _strings(campaign: Campaign, spoken: Sequence[str]) -> dict[str, dict[str, str]]:
    """Texts of the page in every language that it speaks, in English where it does not; those that are ever said."""
    said = {"code": campaign.access == "tokens", "check": campaign.comprehension_check, "own": campaign.own_die}
    unsaid = tuple(f"{key}_" for key, is_said in said.items() if not is_said)
    english = page_texts()[FALLBACK]
    found = {code: texts_in(code) for code in spoken}
    return {
        code if texts is not english or code.startswith("en") else FALLBACK: {
            key: text for key, text in texts.items() if not key.startswith(unsaid)
        }
        for code, texts in found.items()
    }


def _in(spoken: Sequence[str], campaign: Campaign, texts: Texts) -> Texts:
    return {code: campaign.text(texts, code) for code in spoken}


def _question(question: Asked, campaign: Campaign, spoken: Sequence[str]) -> dict[str, Any]:
    """What the script is told of a question: how it is answered, and how an answer is drawn."""
    channel, values = question.channel, question.values

    def worded(labels: Iterable[Label]) -> list[dict[str, Any]]:
        """Labels with the words for them: as the campaign says, or as they are called."""
        plain = {label: dict.fromkeys(spoken, str(label)) for label in labels}
        texts = {label: question.options.get(label) or plain[label] for label in plain}
        return [{"label": label, "texts": _in(spoken, campaign, texts[label])} for label in plain]

    about: dict[str, Any] = {
        "name": question.name,
        "texts": _in(spoken, campaign, question.texts),
        "may_decline": question.may_decline,
        "range": [values.start, values.stop - 1] if isinstance(values, range) else None,
        "device": None,
    }
    if not isinstance(channel, FiniteChannel):
        return about | {"options": [] if isinstance(values, range) else worded(values)}
    parts = parts_of(channel)
    sides = sides_of(parts)
    faces = last_faces(parts, sides) if sides else [0] * len(parts)
    same = channel.observations.labels == channel.outputs.labels
    drawn = zip(parts, faces, strict=True)
    return about | {
        "device": {key: value for key, value in device_description(channel).items() if key in _DEVICE_KEYS},
        "options": worded(channel.outputs.labels),
        "observations": None if same else worded(channel.observations.labels),
        "sides": sides,
        "parts": [{"until": str(part.until), "reports": list(part.reports), "face": face} for part, face in drawn],
    }
