"""Levels of categories: codes for a gap and several spellings are noticed, and ordinary data pass in silence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from askance import ForcedResponse, regress
from askance.errors import AskanceWarning, LabelError, MissingValueError
from askance.survey.levels import gap_codes

DESIGN = ForcedResponse("2/3", "1/6")
N = 1200
RNG = np.random.default_rng(3)
SAID = RNG.choice(["yes", "no"], N)


def column(*levels: Any, rare: Any = None, rows: int = 0) -> Any:
    """Levels in turn, as objects; the first so many rows hold the rare one."""
    values = np.array([levels[i % len(levels)] for i in range(N)], dtype=object)
    values[:rows] = rare
    return values


def fit(values: Any, formula: str = "said ~ x", **options: Any) -> Any:
    return regress(formula, {"said": SAID, "x": values, "age": np.arange(N) / N}, DESIGN, **options)


@pytest.mark.parametrize("stray", [".", "-", "refused", "nan", "NA"])
def test_numbers_with_a_few_texts_are_refused_whatever_the_number_of_levels(stray: str) -> None:
    values = column("0", "1", rare=stray, rows=30)
    with pytest.raises(LabelError) as caught:
        fit(values)
    assert f"column 'x' is text: 1170 of 1200 rows hold numbers, the others '{stray}'" in str(caught.value)
    assert "C(x)" in caught.value.remedy
    with pytest.raises(LabelError, match="is text"):
        fit(values, "said ~ I(x / 10)")
    with pytest.raises(LabelError, match="is text"):
        fit(values, "said ~ C(x) + x")
    with pytest.raises(LabelError, match="1170 of 1200"):
        fit(pd.Categorical(values))


def test_named_ends_of_a_scale_are_no_strays() -> None:
    """Declared categories, as .dta and .sav files have them; under a tenth of the rows are at the ends."""
    scale = ["Not at all", *map(str, range(1, 10)), "Completely"]
    places = np.resize([0, *[1, 2, 3, 4, 5, 6, 7, 8, 9] * 3, 10], 1200)
    values = pd.Categorical.from_codes(places, categories=scale, ordered=True)
    assert len(fit(values).model.parameter_names) == len(scale)


def test_values_of_a_comparison_are_no_levels() -> None:
    """Nothing is warned of: "?" is one of those that are not "a"."""
    values = column("a", "b", rare="?", rows=30)
    assert fit(values, "said ~ I(x == 'a')").model.parameter_names == ("Intercept", "I(x == 'a')")


def test_categories_on_purpose_pass() -> None:
    values = column("0", "1", rare="refused", rows=30)
    assert fit(values, "said ~ C(x)").model.parameter_names == ("Intercept", "C(x)[T.1]", "C(x)[T.refused]")
    assert fit(values, "said ~ I(x == '1')").model.parameter_names == ("Intercept", "I(x == '1')")
    with pytest.warns(AskanceWarning, match=r"column 'x': '\.' \(30 rows\) looks like a code"):
        fit(column("0", "1", rare=".", rows=30), "said ~ C(x)")


@pytest.mark.parametrize("top", ["4+", "4 or more", ">3"])
def test_brackets_among_numbers_are_categories(top: str) -> None:
    assert len(fit(column("0", "1", "2", "3", rare=top, rows=30)).theta) == 5


def test_many_numbers_with_one_text_in_many_rows_are_refused() -> None:
    with pytest.raises(LabelError, match="840 of 1200 rows hold numbers, the others 'unknown'") as caught:
        fit(column(*map(str, range(20, 70)), rare="unknown", rows=360))
    assert "C(x)" not in caught.value.remedy


CODES: dict[str, tuple[list[Any], list[Any]]] = {
    "negative among words": (["female", "male", "-99"], ["-99"]),
    "negative among codes": ([-9.0, 1.0, 2.0, 3.0], [-9.0]),
    "negatives among texts of codes": (["-8", "-9", "1", "2"], ["-8", "-9"]),
    "minus one where scales start at 1": ([-1.0, 1.0, 2.0, 3.0], [-1.0]),
    "point": (["a", "b", "."], ["."]),
    "dashes": (["a", "b", "--", "\u2013"], ["--", "\u2013"]),
    "question mark": (["1", "2", "?"], ["?"]),
    "nan": (["a", "b", "nan"], ["nan"]),
    "n.a.": (["a", "b", "n.a."], ["n.a."]),
    "nines among words": (["a", "b", "999"], ["999"]),
    "nines among codes": ([1.0, 2.0, 5.0, 99.0], [99.0]),
    "eights and nines": (["1", "2", "88", "99"], ["88", "99"]),
    # what is ordinary
    "words": (["north", "south", "none", "unknown"], []),
    "signs": (["+", "-"], []),
    "prices": (["$", "$$", "$$$"], []),
    "ticks": (["x", "-"], []),
    "grades": (["A", "A-", "B+"], []),
    "ages": (["18-34", "35-64", "65+", "<18"], []),
    "contrast": ([-1.0, 1.0], []),
    "scale": ([-2.0, -1.0, 0.0, 1.0, 2.0], []),
    "scale without a middle": ([-2.0, -1.0, 1.0, 2.0], []),
    "years": ([1999.0, 2000.0, 2001.0], []),
    "districts": ([11.0, 22.0, 77.0, 99.0], []),
    "waves": ([7.0, 8.0, 9.0], []),
    "booleans": ([False, True], []),
}


@pytest.mark.parametrize(("levels", "codes"), CODES.values(), ids=list(CODES))
def test_codes_for_gaps(levels: list[Any], codes: list[Any]) -> None:
    assert gap_codes(levels) == codes


def test_codes_for_gaps_are_told_with_their_rows() -> None:
    with pytest.warns(AskanceWarning, match=r"column 'x': '-99' \(40 rows\) looks like a code .* \(--missing drop\)"):
        fit(column("female", "male", rare="-99", rows=40))
    with pytest.warns(AskanceWarning, match=r"column 'x': -9 \(40 rows\) looks like a code"):
        fit(column(1, 2, 3, rare=-9, rows=40), "said ~ C(x)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(column(1, 2, 3, rare=-9, rows=40))  # a slope is no category
        fit(column("female", "male", rare="no answer", rows=40))


def test_blanks_around_texts_do_not_make_levels() -> None:
    plain = fit(column("north", "south", "west"), "said ~ x + age")
    with_blanks = column("north", "south", "west")
    with_blanks[:3] = ["north ", " south", "west\u00a0"]
    messy = fit(with_blanks, "said ~ x + age")
    assert messy.model.parameter_names == plain.model.parameter_names
    np.testing.assert_array_equal(messy.theta, plain.theta)
    assert messy.diagnostics.messages == ("column 'x': blanks around the values of 3 rows are left out",)
    new = {"x": ["south ", "west"], "age": [0.1, 0.2]}
    np.testing.assert_array_equal(messy.design.matrix(new)[:, 1:3], [[1, 0], [0, 1]])
    assert messy.prevalence(by="x").groups == ("north", "south", "west")
    data = {"x": with_blanks, "age": np.arange(N) / N}
    assert messy.prevalence(data, by="x").groups == ("north", "south", "west")


def test_texts_of_blanks_alone_are_gaps() -> None:
    values = column("north", "south", rare="  ", rows=4)
    with pytest.raises(MissingValueError, match=r"4 of 1200 rows miss a value \(x 4\)"):
        fit(values)
    dropped = fit(values, missing="drop")
    assert dropped.n_observations == N - 4
    assert dropped.diagnostics.messages == ("4 of 1200 rows dropped for missing values",)


def test_levels_that_differ_in_capitals_come_with_a_warning() -> None:
    told = r"'x' holds levels that differ in capitals, .* only: 'NORTH' \(7 rows\), 'north' \(\d+ rows\)\. They"
    with pytest.warns(AskanceWarning, match=told):
        both = fit(column("north", "south", rare="NORTH", rows=7))
    assert both.model.parameter_names == ("Intercept", "x[T.north]", "x[T.south]")


@pytest.mark.parametrize("twin", ["Ko\u0308ln", "K\u00f6\u200bln"])
def test_levels_that_look_the_same_are_refused(twin: str) -> None:
    with pytest.raises(LabelError, match="look the same") as caught:
        fit(column("K\u00f6ln", "Bonn", rare=twin, rows=7))
    assert ascii(twin) in str(caught.value)
