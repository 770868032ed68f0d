"""What pages themselves say, in the languages that they speak, and which way those are written."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

#: The language of what a page itself says, where it does not speak that of the campaign.
FALLBACK = "en"
_RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})


@cache
def page_texts() -> dict[str, dict[str, str]]:
    """What the survey page says, by language.

    >>> page_texts()["de"]["next"]
    'Weiter'
    """
    return tomllib.loads((files("askance.collect") / "assets" / "survey-texts.toml").read_text("utf-8"))


def texts_in(language: str) -> dict[str, str]:
    """What the page says in a language, such as de or de-AT, or in English."""
    known = page_texts()
    return known.get(language) or known.get(language.partition("-")[0].lower()) or known[FALLBACK]


def is_right_to_left(language: str) -> bool:
    """Whether a language is written from right to left.

    >>> is_right_to_left("ar"), is_right_to_left("de")
    (True, False)
    """
    return language.partition("-")[0].lower() in _RIGHT_TO_LEFT
