"""The page of a survey, as a server hands it out, and as a file that is opened elsewhere (`survey_file`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from askance.categories import Label
from askance.channels.device import device_description
from askance.channels.finite import FiniteChannel
from askance.collect.addresses import origin_of
from askance.collect.campaign import Asked, Campaign, Texts
from askance.collect.device_page import MODULE
from askance.collect.dice import last_faces, parts_of, sides_of
from askance.collect.pages.odds import factor_of
from askance.collect.pages.plain_form import plain_address
from askance.collect.pages.single_file import Page, made_page, script_of, style_of
from askance.collect.pages.texts import is_right_to_left, spoken_texts, texts_in
from askance.collect.submission import Form
from askance.errors import InputError

# Of the description of a channel, what the module needs to draw.
_DEVICE_KEYS = frozenset({"format", "mapping", "outputs", "observations", "thresholds"})


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
    if campaign.kind != "survey":
        raise InputError(
            f"{campaign.name!r} is a campaign of {campaign.kind}; allowed: a survey, which alone has such a page.",
            remedy="Serve it with `askance collect serve`: the server tells devices, or who counts, what they need.",
        )
    origin = origin_of(server, "server")
    address = f"{origin}/v1/{campaign.name}/reports"
    return _page(campaign, campaign.languages[0], campaign.languages, address, origin).html


def _page(campaign: Campaign, language: str, spoken: Sequence[str], address: str, connect: str) -> Page:
    form = plain_address(campaign) if connect == "'self'" else None
    script = script_of(MODULE, "page.js", "chance.js", "survey.js")
    data = survey_data(campaign, language, spoken, address, hashlib.sha256(script.encode()).hexdigest())
    return made_page(
        "survey.html",
        data,
        script,
        style_of("survey.css"),
        connect,
        title=campaign.text(campaign.titles, language),
        say=texts_in(language),
        form=None if form is None else f"{form}?lang={language}",
    )


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
    """Texts of the page that are ever said."""
    said = {"code": campaign.access == "tokens", "check": campaign.comprehension_check, "own": campaign.own_die}
    unsaid = tuple(f"{key}_" for key, is_said in said.items() if not is_said)
    return {
        code: {key: text for key, text in texts.items() if not key.startswith(unsaid)}
        for code, texts in spoken_texts(spoken).items()
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
