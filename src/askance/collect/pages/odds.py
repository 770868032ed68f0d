"""What pages promise: the factor by which all that is sent can change anybody's odds."""

from __future__ import annotations

import math
from fractions import Fraction

from askance.collect.campaign import Campaign
from askance.collect.pages.texts import texts_in
from askance.errors import InputError

# Ratios are of whole numbers of 2⁻⁶²: five is written as five.
_ROUNDING = Fraction(1, 10**12)
# Of the languages of the page, those that write 3,34.
_WITH_COMMA = frozenset({"de", "es"})


def stated_factor(ratio: Fraction) -> float:
    """A factor of odds as people read it: two decimals, rounded up.

    >>> stated_factor(Fraction(5)), stated_factor(Fraction(10, 3)), stated_factor(Fraction(1000001, 10))
    (5.0, 3.34, 100000.1)
    """
    return math.ceil(ratio * (1 - _ROUNDING) * 100) / 100


def factor_of(campaign: Campaign) -> float:
    """That of all questions together; a campaign without a bound has no page, for it could promise nothing."""
    if campaign.largest_ratio is None:
        names = ", ".join(question.name for question in campaign.questions if question.largest_ratio is None)
        raise InputError(
            f"some report to {names} excludes an answer: nothing bounds what it tells.",
            remedy="Take a design in which every report can come from every answer.",
        )
    return stated_factor(campaign.largest_ratio)


def told_odds(campaign: Campaign, language: str) -> str:
    """The sentence about them, for pages without a script; nothing where nothing is protected.

    >>> from askance import Warner
    >>> from askance.collect.campaign import Asked
    >>> asked = Asked("smokes", {"en": "Do you smoke?"}, Warner("0.7"))
    >>> told_odds(Campaign("small", "survey", {"en": "Small"}, ("en",), (asked,)), "en")[-52:]
    'who thought 1 to 1 can get to 2.34 to 1, no further.'
    """
    count = sum(question.channel is not None for question in campaign.questions)
    if count == 0:
        return ""
    factor = f"{factor_of(campaign):.2f}".rstrip("0").rstrip(".")
    if language.partition("-")[0] in _WITH_COMMA:
        factor = factor.replace(".", ",")
    return texts_in(language)["odds_all" if count > 1 else "odds_one"].format(count=count, factor=factor)
