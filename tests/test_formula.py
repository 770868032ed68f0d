"""Formulas: what they mean, what they remember, and what a wrong one is told."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from askance.errors import InputError, LabelError, MissingValueError
from askance.survey import Columns, FormulaDesign
from askance.survey.formula import parse_formula

DATA: dict[str, Any] = {
    "y": [1, 0, 1, 0, 1, 0],
    "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0],
    "income": [1.0, 3.0, 2.0, 5.0, 8.0, 4.0],
    "region": ["north", "south", "west", "south", "north", "west"],
    "wave": [1, 2, 1, 2, 1, 2],
    "rural": [True, False, True, True, False, False],
    "my.col": [1.0, 2.0, 3.0, 1.0, 2.0, 4.0],
    "hours-per-week": [40.0, 20.0, 30.0, 35.0, 40.0, 10.0],
    "zero": [0.0] * 6,
    "when": [dt.date(2020, 1, 1)] * 6,
    "mix": [1, "a"] * 3,
}
AGE = np.array(DATA["age"])


def learn(formula: str, data: Any = None, rows: Any = None) -> tuple[FormulaDesign, Any]:
    table = Columns.of(DATA if data is None else data)
    return FormulaDesign.learn(parse_formula(formula, table), table, rows)


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("y ~ 1", ["Intercept"]),
        ("y ~ age + I(age**2)", ["Intercept", "age", "I(age ** 2)"]),
        ("y~age", ["Intercept", "age"]),
        ("y ~ 0 + age", ["age"]),
        ("y ~ age - 1", ["age"]),
        ("y ~ -1 + age", ["age"]),
        ("y ~ region", ["Intercept", "region[T.south]", "region[T.west]"]),
        ("y ~ C(wave)", ["Intercept", "C(wave)[T.2]"]),
        ("y ~ rural", ["Intercept", "rural"]),
        ("y ~ C(region, Treatment('west'))", [f"C(region, Treatment('west'))[T.{r}]" for r in ("north", "south")]),
        ("y ~ age:income + age", ["Intercept", "age", "age:income"]),
        ("y ~ age*rural", ["Intercept", "age", "rural", "age:rural"]),
        ("y ~ (age + rural)**2", ["Intercept", "age", "rural", "age:rural"]),
        ("y ~ (age + rural)^2", ["Intercept", "age", "rural", "age:rural"]),
        ("y ~ my.col + `hours-per-week`", ["Intercept", "my.col", "hours-per-week"]),
        ("y ~ I(`my.col`**2)", ["Intercept", "I(`my.col` ** 2)"]),
        ("y ~ I(age > 30)", ["Intercept", "I(age > 30)"]),
        ("y ~ age.clip(30, 50)", ["Intercept", "age.clip(30, 50)"]),
        ("y ~ age*income - age:income", ["Intercept", "age", "income"]),
    ],
)
def test_names_of_terms(formula: str, terms: list[str]) -> None:
    design, x = learn(formula)
    assert list(design.terms)[-len(terms) :] == terms
    assert x.shape == (6, len(design.terms))
    assert x.dtype == np.float64


@pytest.mark.parametrize(
    ("term", "values"),
    [
        ("I(age**2)", AGE**2),
        ("I(age / 10)", AGE / 10),
        ("log(age)", np.log(AGE)),
        ("np.log(age)", np.log(AGE)),
        ("exp(age / 100)", np.exp(AGE / 100)),
        ("sqrt(age)", np.sqrt(AGE)),
        ("exp10(age / 100)", 10 ** (AGE / 100)),
        ("I(1 - age)", 1 - AGE),
        ("I(age > 30)", AGE > 30),
        ("rural", DATA["rural"]),
        ("I(region == 'south')", [0, 1, 0, 1, 0, 0]),
        ("I((age > 30) & rural)", (AGE > 30) & DATA["rural"]),
        ("center(age)", AGE - AGE.mean()),
    ],
)
def test_values_of_terms(term: str, values: Any) -> None:
    _, x = learn(f"y ~ {term}")
    np.testing.assert_allclose(x, np.column_stack([np.ones(6), np.asarray(values, dtype=float)]), rtol=1e-12)


def test_dot_stands_for_all_other_columns() -> None:
    data = {name: DATA[name] for name in ("y", "age", "hours-per-week", "wave")}
    table = Columns.of(data)
    assert parse_formula("y ~ .", table).columns == ("age", "hours-per-week", "wave")
    assert parse_formula("y ~ . - age", table, leave_out=["wave"]).columns == ("hours-per-week",)


def test_only_columns_of_the_formula_are_used() -> None:
    parsed = parse_formula("y ~ log(age) + C(region):income", Columns.of(DATA))
    assert parsed.answer == "y"
    assert set(parsed.columns) == {"age", "region", "income"}


def test_a_column_named_like_a_function_does_not_hide_it() -> None:
    design, x = learn("y ~ log(age) + C(region)", {**DATA, "log": [1.0] * 6, "C": [3.0] * 6})
    assert design.terms == ("Intercept", "log(age)", "C(region)[T.south]", "C(region)[T.west]")
    np.testing.assert_allclose(x[:, 1], np.log(AGE))


# -- new data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "terms", ["age + region", "center(age)", "scale(age)", "poly(age, 2)", "bs(age, df=4)", "C(wave)*age", "rural"]
)
def test_new_data_are_coded_as_the_old(terms: str) -> None:
    design, x = learn(f"y ~ {terms}")
    few = pl.DataFrame({name: DATA[name] for name in ("age", "region", "wave", "rural")})[[4, 1]]
    np.testing.assert_allclose(design.matrix(few), x[[4, 1]], rtol=1e-12)


def test_new_data_without_some_category_keep_its_column() -> None:
    design, _ = learn("y ~ region")
    assert design.matrix({"region": ["west"]}).tolist() == [[1.0, 0.0, 1.0]]


def test_unseen_categories_are_named() -> None:
    design, _ = learn("y ~ region + C(wave)")
    with pytest.raises(LabelError, match=r"'region' holds 'east', unseen at the fit; known: 'north', 'south', 'west'"):
        design.matrix({"region": ["east", "west"], "wave": [1, 1]})
    with pytest.raises(LabelError, match=r"'wave' holds 3, unseen at the fit; known: 1, 2"):
        design.matrix({"region": ["west"], "wave": [3]})


def test_categories_of_rows_left_out_are_unseen() -> None:
    design, x = learn("y ~ region", rows=np.array(DATA["region"]) != "north")
    assert design.terms == ("Intercept", "region[T.west]")
    assert x.shape == (4, 2)
    with pytest.raises(LabelError, match="'north'"):
        design.matrix({"region": ["north"]})


def test_unused_levels_make_no_columns() -> None:
    levels = ["west", "north", "never", "south"]
    design, _ = learn("y ~ region", {**DATA, "region": pd.Categorical(DATA["region"], categories=levels)})
    assert design.terms == ("Intercept", "region[T.north]", "region[T.south]")


def test_new_data_with_gaps_are_refused() -> None:
    design, _ = learn("y ~ age + region")
    with pytest.raises(MissingValueError, match=r"1 of 2 rows miss a value \(age 1\)"):
        design.matrix({"age": [30, None], "region": ["west", "west"]})
    with pytest.raises(InputError, match="no column 'region'"):
        design.matrix({"age": [30]})


def test_many_categories_make_a_sparse_matrix() -> None:
    rng = np.random.default_rng(3)
    labels = [f"village {i}" for i in rng.permutation(np.arange(3000) % 300)]
    data: dict[str, Any] = {"y": rng.integers(0, 2, 3000), "village": labels, "age": rng.normal(size=3000)}
    design, x = learn("y ~ village + age", data)
    assert hasattr(x, "tocsr")
    assert x.shape == (3000, 301)
    new = design.matrix({"village": labels[:5], "age": data["age"][:5]})
    np.testing.assert_allclose(new.toarray(), x[:5].toarray())
    few, dense = learn("y ~ C(half) + age", {**data, "half": np.arange(3000) % 2})
    assert isinstance(dense, np.ndarray)
    assert few.terms == ("Intercept", "C(half)[T.1]", "age")


def test_many_categories_equal_dense_ones() -> None:
    rng = np.random.default_rng(4)
    data: dict[str, Any] = {"y": rng.integers(0, 2, 600), "g": rng.integers(0, 120, 600), "age": rng.normal(size=600)}
    _, sparse = learn("y ~ C(g) + age", data)
    codes = np.unique(data["g"], return_inverse=True)[1]
    dense = np.column_stack([np.ones(600), np.eye(codes.max() + 1)[codes][:, 1:], data["age"]])
    np.testing.assert_array_equal(sparse.toarray(), dense)


# -- first wrong formulas ----------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[str, ...]] = {
    "y ~ I(age^2)": ("exclusive or", "Write I(age**2)."),
    "y ~ age^2": ("only age", "I(age**2)"),
    "y ~ age**2": ("only age", "I(age**2)"),
    "y ~ factor(region)": ("factor()", "C(x)"),
    "y ~ as.factor(region)": ("as.factor()", "C(x)"),
    "y ~ relevel(region, ref='west')": ("Treatment",),
    "y ~ ifelse(age > 30, 1, 0)": ("np.where",),
    "y ~ I(age %in% c(1, 2))": ("no function c()",),
    "y ~ I(rural == TRUE)": ("True",),
    "y ~ I(rural && zero)": ("& (b > 0)",),
    "d$y ~ d$age": ("`$`",),
    "y <- age": ("no ~",),
    "y ~ (1|region) + age": ("random effect", "cluster"),
    "y ~ offset(age)": ("not offered",),
    "y ~ age/10": ("I(age/10)",),
    "y ~ 2*age": ("I(2*age)",),
    "y ~ age > 30": ("I(age > 30)",),
    "y ~ region == 'west'": ("I(region == 'west')",),
    "y ~ age | region": ("a:b",),
    "y ~ -age": ("not there",),
    "y ~ I(age - age.mean())": ("center(x)",),
    "y ~ I(age - np.mean(age))": ("center(x)",),
    "y == age": ("answer ~ term",),
    "y = age": ("answer ~ term",),
    "y + age": ("no ~", "answer ~ term"),
    "~ age": ("before ~",),
    "y ~": ("answer ~ 1",),
    "y ~ 0": ("answer ~ 1",),
    "y ~ ~ age": ("more than one ~",),
    "y ~ age +": ("both sides",),
    "y ~ age region": ("Put + between",),
    "y ~ 'age'": ("without quotation marks",),
    "y ~ 10": ("Numeric literals",),
    "y ~ I(age": ("brackets",),
    "y ~ age)": ("brackets",),
    "y ~ agee": ("'agee'", "Did you mean 'age'?"),
    "y ~ Age": ("Did you mean 'age'?",),
    "y ~ I(agee**2)": ("'agee'", "Did you mean 'age'?"),
    "yy ~ age": ("'yy'", "Did you mean 'y'?"),
    "y ~ lgo(age)": ("lgo()", "Did you mean log()?"),
    "y ~ foo(age)": ("foo()", "np."),
    "y ~ hours-per-week": ("`hours-per-week`",),
    "y ~ I(my.col**2)": ("`my.col`",),
    "hours-per-week ~ age": ("`hours-per-week`",),
    "I(y == 1) ~ age": ("not the name of a column", "positive"),
    "y + rural ~ age": ("not the name of a column",),
    "y ~ y + age": ("both sides",),
    "y ~ when": ("'when'", "dates"),
    "y ~ mix": ("'mix'", "mixes"),
    "y ~ I(region + 1)": ("cannot be computed",),
    "y ~ C(region, Treatment('east'))": ("'east'", "values of the column"),
    "y ~ __import__('os').getcwd()": ("formula",),
    "": ("formula is ''",),
}


@pytest.mark.parametrize("formula", WRONG)
def test_a_wrong_formula_gets_one_helpful_line(formula: str) -> None:
    with pytest.raises(InputError) as caught:
        learn(formula)
    said = str(caught.value)
    assert "\n" not in said
    assert ".." not in said.replace("…", "")
    assert said.endswith((".", "?"))
    assert [word for word in WRONG[formula] if word not in said] == []
    assert len(said) < 400


@pytest.mark.parametrize("formula", [None, 5, ["y ~ age"]])
def test_a_formula_is_a_text(formula: Any) -> None:
    with pytest.raises(InputError, match="formula is"):
        parse_formula(formula, Columns.of(DATA))


def test_terms_that_are_no_numbers_are_named() -> None:
    with pytest.raises(MissingValueError, match=r"log\(zero\) is not a finite number in 6 of 6 rows"):
        learn("y ~ age + log(zero)")


def test_variables_of_the_caller_are_out_of_reach() -> None:
    hidden = np.ones(6)
    assert hidden.sum() == 6
    with pytest.raises(InputError, match="no column 'hidden'"):
        learn("y ~ hidden")
    with pytest.raises(InputError, match="no column 'hidden'"):
        learn("y ~ I(hidden * 2)")
