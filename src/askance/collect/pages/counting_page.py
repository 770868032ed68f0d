"""The page of a counting campaign: a few words at a time, and how many of them are nouns."""

from __future__ import annotations

from typing import Any

from askance.collect.campaign import Campaign
from askance.collect.pages.single_file import Page, made_page, script_of, style_of
from askance.collect.pages.texts import is_right_to_left, spoken_texts, texts_in
from askance.collect.submission import Form


def counting_page(campaign: Campaign, language: str | None = None) -> Page:
    """The page as a server hands it out, in one language; others are links.

    >>> from askance.collect.campaign import Counting
    >>> counting = Counting((("the", "dog"),), ("NOUN",), 2, 1, "")
    >>> page = counting_page(Campaign("nouns", "counting", {"en": "<b>Nouns</b>"}, ("en",), (), counting))
    >>> "default-src 'none'" in page.policy, "<b>Nouns" in page.html
    (True, False)
    """
    chosen = campaign.languages[0] if language is None else language
    return made_page(
        "counting.html",
        counting_data(campaign, chosen),
        script_of("page.js", "counting.js"),
        style_of("survey.css", "counting.css"),
        "'self'",
        title=campaign.text(campaign.titles, chosen),
        say=texts_in(chosen, "counting"),
    )


def counting_data(campaign: Campaign, language: str) -> dict[str, Any]:
    """What the script of the page is told of a campaign, as plain JSON. Stretches are fetched as they are needed."""
    counting, form = campaign.counting, Form(campaign)
    assert counting is not None

    def named(tag: str) -> dict[str, dict[str, str]]:
        texts = {"names": counting.names.get(tag, {}), "singular": counting.singular.get(tag, {})}
        return {key: {language: campaign.text(text, language) or tag} for key, text in texts.items()}

    return {
        "campaign": campaign.name,
        "wave": form.wave,
        "length": form.length,
        "access": campaign.access,
        "address": f"/v1/{campaign.name}/reports",
        "next": f"/v1/{campaign.name}/next",
        "language": language,
        "languages": list(campaign.languages),
        "local": [language],
        "right_to_left": [code for code in campaign.languages if is_right_to_left(code)],
        "titles": {language: campaign.text(campaign.titles, language)},
        "ask": counting.ask,
        "again": counting.again,
        "tags": [named(tag) for tag in counting.tags],
        "rest": named(counting.rest) if counting.rest else None,
        "strings": spoken_texts([language], "counting"),
    }
