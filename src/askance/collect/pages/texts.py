"""What pages themselves say, in the languages that they speak, and which way those are written."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

#: The language of what a page itself says, where it does not speak that of the campaign.
FALLBACK = "en"
_RIGHT_TO_LEFT = frozenset({"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"})


@cache
def page_texts(page: str = "survey") -> dict[str, dict[str, str]]:
    """What a page says, by language: "survey" or "counting".

    >>> page_texts()["de"]["next"]
    'Weiter'
    """
    return tomllib.loads((files("askance.collect") / "assets" / f"{page}-texts.toml").read_text("utf-8"))


def texts_in(language: str, page: str = "survey") -> dict[str, str]:
    """What a page says in a language, such as de or de-AT, or in English."""
    known = page_texts(page)
    return known.get(language) or known.get(language.partition("-")[0].lower()) or known[FALLBACK]


def spoken_texts(languages: Sequence[str], page: str = "survey") -> dict[str, dict[str, str]]:
    """What a page says in every language that it speaks; in English where it does not.

    >>> spoken_texts(["fr"]).keys()
    dict_keys(['en'])
    """
    english = page_texts(page)[FALLBACK]
    texts = {code: texts_in(code, page) for code in languages}
    return {code if said is not english or code.startswith("en") else FALLBACK: said for code, said in texts.items()}


def is_right_to_left(language: str) -> bool:
    """Whether a language is written from right to left.

    >>> is_right_to_left("ar"), is_right_to_left("de")
    (True, False)
    """
    return language.partition("-")[0].lower() in _RIGHT_TO_LEFT
