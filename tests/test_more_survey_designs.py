"""Mangat's, the triangular and Kuk's design: their tables by enumeration of what respondents do."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from askance import DisguisedResponse, Kuk, Mangat, Triangular
from askance.errors import AskanceError, InputError


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_cards_drawn_one_by_one(draws: int) -> None:
    """All sequences of cards, each put back."""
    red = {"no": Fraction(3, 10), "yes": Fraction(4, 5)}
    table = np.zeros((draws + 1, 2))
    for column, share in enumerate(red.values()):
        for cards in product((0, 1), repeat=draws):
            table[sum(cards), column] += float(math.prod(share if card else 1 - share for card in cards))
    design = Kuk(red["yes"], red["no"], draws=draws)
    np.testing.assert_allclose(design.matrix, table, rtol=1e-14)
    assert list(design.observations.labels) == list(range(draws + 1))
    assert design.privacy_level == pytest.approx(draws * math.log(0.7 / 0.2))


def test_one_draw_is_the_disguised_response() -> None:
    np.testing.assert_array_equal(Kuk("4/5", "3/10").matrix, DisguisedResponse("4/5", "3/10").matrix)
    np.testing.assert_array_equal(Kuk("4/5").matrix, DisguisedResponse("4/5").matrix)


def test_answers_that_need_no_protection() -> None:
    np.testing.assert_array_equal(Mangat("7/10").matrix, [[0.7, 0.0], [0.3, 1.0]])
    np.testing.assert_array_equal(Triangular("1/4").matrix, [[0.75, 0.0], [0.25, 1.0]])
    assert Mangat("7/10").privacy_level == Triangular("1/4").privacy_level == math.inf


def test_refusals() -> None:
    with pytest.raises(InputError, match="draws is 0"):
        Kuk("4/5", draws=0)
    for useless in (lambda: Kuk("1/2", draws=3), lambda: Mangat(0), lambda: Triangular(1)):
        with pytest.raises(AskanceError, match="no information"):
            useless()
