"""Formulas run no code: what they compute, what they refuse, and how large they may be."""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import pickle
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from formulaic import Formula

from askance import ForcedResponse, regress
from askance.cli.command import askance
from askance.errors import AskanceError, InputError
from askance.survey import Columns, FormulaDesign
from askance.survey.calculations import CALLABLE, read_calculation
from askance.survey.formula import parse_formula
from askance.survey.parsed_calculations import CalculationError

RNG = np.random.default_rng(7)
ROWS = 60
DATA: dict[str, Any] = {
    "y": RNG.integers(0, 2, ROWS),
    "age": RNG.uniform(20, 70, ROWS),
    "income": RNG.uniform(1, 9, ROWS),
    "wave": np.arange(ROWS) % 3 + 1.0,
    "region": np.array(["north", "south", "west"])[np.arange(ROWS) % 3 - RNG.integers(0, 2, ROWS)].tolist(),
    "rural": RNG.random(ROWS) < 0.5,
    "my col": RNG.normal(size=ROWS),
}
TABLE = Columns.of(DATA)


def learn(right: str) -> tuple[FormulaDesign, Any]:
    return FormulaDesign.learn(parse_formula(f"y ~ {right}", TABLE), TABLE)


# -- what ordinary formulas mean stays what it was ---------------------------------------------------------------------

ORDINARY = [
    "age",
    "age + I(age**2) + I(age**3)",
    "I(age - 45) + C(region)",
    "I((age - 40) / 10) + rural + region",
    "log(age) + log10(income) + np.log1p(income) + exp(income) + np.sqrt(age) + log2(age) + np.tanh(income)",
    "center(age) + scale(income)",
    "standardize(age) + center(log(income))",
    "I(center(age)**2)",
    "poly(age, 3)",
    "poly(age, degree=2, raw=True)",
    "bs(age, df=5)",
    "bs(age, knots=[30, 50], degree=2, lower_bound=10, upper_bound=80)",
    "cr(age, df=4)",
    "cc(age, df=4)",
    "cs(age, df=3):rural",
    "C(wave) * age",
    "C(wave, Treatment(2)) + C(region, Treatment('west'))",
    "C(region, Sum) + C(region, contr.helmert)",
    "C(region, levels=['west', 'north', 'south'])",
    "C(region, {'a': [1, 0, -1]})",
    "C(age > 40)",
    "C(np.where(age > 30, 'old', 'young'))",
    "I(np.where(age > 30, income, 0))",
    "I(age > 30) + I(region == 'south') + I(wave != 2)",
    "I((age > 30) & rural) + I(~rural | (income <= 4))",
    "age.clip(30, 50) + np.clip(income, 2, 5) + wave.isin([1, 3])",
    "I(`my col`**2) + `my col`",
    "hashed(region, 3)",
    "I(age // 10) + I(age % 10) + I(-age / 3) + I(+income)",
    "np.minimum(age, 40) + np.maximum(income, 2) + np.round(age, 1) + np.floor(age) + np.power(income, 2)",
    "I(rural * 2 + 1)",
    "sin(2 * np.pi * age / 12) + cos(2 * np.pi * age / 12)",
    "(age + rural + region)**2",
    "age:region + 2:income",
    "0 + region:C(wave)",
]


@pytest.mark.parametrize("right", ORDINARY)
def test_ordinary_formulas_are_what_formulaic_makes_of_them(right: str) -> None:
    """The old way: formulaic evaluates the code itself."""
    design, x = learn(right)
    frame = TABLE.trimmed().to_pandas([name for name in TABLE.names if name != "y"])
    context = {"sin": np.sin, "cos": np.cos}
    old = Formula(right).get_model_matrix(frame, context=context, output="numpy", na_action="ignore")
    plain = np.asarray(old.__wrapped__, dtype=np.float64)
    np.testing.assert_array_equal(x.toarray() if hasattr(x, "toarray") else x, plain)
    assert [re.sub(r"(\d)\.0\]", r"\1]", name) for name in old.model_spec.column_names] == list(design.terms)
    assert np.array_equal(pickle.loads(pickle.dumps(design)).matrix(DATA), x)


def test_arithmetic_is_on_floats() -> None:
    _, x = learn("I(rural + rural) + I(rural - 1) + I((age > 40) + (income > 4) + (wave > 1)) + I(20 < age < 40)")
    age, rural = DATA["age"], DATA["rural"].astype(float)
    np.testing.assert_array_equal(x[:, 1], 2 * rural)
    np.testing.assert_array_equal(x[:, 2], rural - 1)
    np.testing.assert_array_equal(x[:, 3], (age > 40) * 1 + (DATA["income"] > 4) + (DATA["wave"] > 1))
    np.testing.assert_array_equal(x[:, 4], (age > 20) & (age < 40))


# -- what is refused ---------------------------------------------------------------------------------------------------

CODE = {
    "I(canary(age))": "no function canary()",
    "center(canary(age))": "no function canary()",
    "C(region, canary())": "canary() is no value",
    "bs(age, df=canary())": "canary() is no value",
    "hashed(region, 3, hash_func=canary)": "canary is no value",
    "center(age, _state=canary())": "allowed: data",
    "age.apply(canary)": "no function .apply()",
    "age.clip(canary(), 2)": "no function canary()",
    "I(age.values)": "takes an attribute",
    "I(age.__class__)": "takes an attribute",
    "I(np.core)": "takes an attribute",
    "I(np)": "no column 'np'",
    "np.load('x')": "no function np.load()",
    "np.lib.npyio.load('x')": "no function .load()",
    "np.vectorize(canary)(age)": "is nothing that formulas compute",
    "I(__import__('os').system('true') + age)": "no function .system()",
    "I((lambda: canary())() + age)": "is nothing that formulas compute",
    "I([canary() for i in age])": "is nothing that formulas compute",
    "I((canary() for i in age))": "is nothing that formulas compute",
    "I({canary(): 1} and age)": "joins conditions by words",
    "I(age if canary() else age)": "uses if and else",
    "I((z := canary()) + age)": "is nothing that formulas compute",
    "I(f'{canary()}' == region)": "is nothing that formulas compute",
    "I(age[canary()])": "picks values by [ ]",
    "I(*canary())": "unpacks arguments",
    "I(**canary())": "unpacks arguments",
    "{canary(age)}": "no function canary()",
    "I(not rural)": "uses not",
    "I(age in [1, 2])": "uses in",
    "I(age @ age)": "is nothing that formulas compute",
    "I(age << 2)": "is nothing that formulas compute",
    "I(1j * age)": "1j is nothing",
    "I(b'a' == region)": "is nothing",
    "I(age == None)": "None is nothing",
    "I(open('x') + age)": "no function open()",
    "eval('canary()')": "no function eval()",
    "Q('age')": "no function Q()",
    "I(`my col`.eval('canary()'))": "no function .eval()",
    "log(age, out=age)": "takes no argument 'out'",
    "I(region % 5)": "region holds no numbers",
    "I('%999999999d' % age)": "holds no numbers",
    "I(region * 10**9)": "region holds no numbers",
    "I(age & rural)": "age is no condition",
    "I(2 * poly(age, 2))": "only stand for itself",
    "I(5)": "uses no column",
    "I(age, 5)": "too many positional arguments",
}


@pytest.fixture
def canary(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What sang: a function that Python would find from anywhere."""
    sang: list[str] = []
    monkeypatch.setattr(builtins, "canary", lambda *_: sang.append("!"), raising=False)
    return sang


@pytest.mark.parametrize("right", CODE)
def test_code_is_refused_by_name_and_never_runs(right: str, canary: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        learn(right)
    said = str(caught.value)
    assert CODE[right] in said
    assert "\n" not in said
    assert canary == []


def test_the_caller_s_names_are_out_of_reach() -> None:
    DATA_OF_THE_CALLER = 3.0  # noqa: F841
    with pytest.raises(InputError, match="no column 'DATA_OF_THE_CALLER'"):
        learn("I(age * DATA_OF_THE_CALLER)")


def test_regressions_and_commands_refuse_code(tmp_path: Path) -> None:
    path, mark = tmp_path / "a.csv", tmp_path / "mark"
    path.write_text("said,age\nyes,30\nno,40\nyes,50\n")
    formula = f"said ~ I(__import__('pathlib').Path({str(mark)!r}).touch() or age)"
    with pytest.raises(InputError, match="formula"):
        regress(formula, {"said": ["yes", "no"], "age": [1, 2]}, ForcedResponse("2/3", "1/6"))
    design = ["--design", "forced-response", "--truth", "2/3", "--yes", "1/6"]
    for command in ("fit", "sensitivity"):
        result = CliRunner().invoke(askance, [command, str(path), "--formula", formula, *design])
        assert isinstance(result.exception, InputError)
    assert not mark.exists()


# -- size --------------------------------------------------------------------------------------------------------------

LARGE = {
    "I(9**9**9 + age)": "9 ** 9 ** 9 is no finite number",
    "I(age < 10**400)": "10 ** 400 is no finite number",
    f"I(age < 1{'0' * 400})": "is no finite number",
    "I(age * 1e999)": "is no finite number",
    "I(age**9**9)": "is not a finite number in 60 of 60 rows",
    "I(1 / 0 + age)": "1 / 0 is no finite number",
    "bs(age, df=10000000000)": "allowed: at most 100",
    "poly(age, 1000000000)": "allowed: at most 100",
    "hashed(region, 1000000000)": "allowed: at most 1,000",
    "(age + income)**40": "100,000 products",
    "(age + income + wave)**1000000": "100,000 products",
    "(age + income)^99999999999999999999999": "100,000 products",
    "*".join(f"I(age + {i})" for i in range(40)): "100,000 products",
    ":".join(["(age + income + rural)"] * 20): "100,000 products",
    ":".join(["bs(age, df=100)", "bs(income, df=100)", "bs(wave, df=100)"]): "columns; allowed: 20,000",
    "(" * 5000 + "age" + ")" * 5000: "brackets are 5,000 deep",
    "I(" + "(" * 100_000 + "age": "characters",
    "I(" + "-" * 4000 + "age)": "deep",
    "I(" + "~" * 40_000 + "rural)": "characters; allowed: 5,000",
    "I(" + "2 ** " * 150 + "age)": "nested more than 100 deep",
    "I(age" + "".join(f" + {i}" for i in range(2000)) + ")": "characters; allowed: 5,000",
    "log(" * 90 + "-" * 50 + "age" + ")" * 90: "nested more than 100 deep",
    "I('" + "x" * 6000 + "' == region)": "characters; allowed: 5,000",
    "age + " * 50_000 + "age": "characters; allowed: 100,000",
    "I(\0age)": "null bytes",
    "I('\\d' == age) + I(\ud800)": "formula",
}


@pytest.mark.parametrize("right", LARGE, ids=[str(i) for i in range(len(LARGE))])
def test_sizes_are_bounded(right: str) -> None:
    with pytest.raises(AskanceError) as caught:
        learn(right)
    assert LARGE[right] in str(caught.value)


def test_long_sums_are_read() -> None:
    names = [f"column_{i}" for i in range(1000)]
    table = Columns.of({"y": [1.0, 0.0], **{name: [1.0, 2.0] for name in names}})
    assert parse_formula("y ~ " + " + ".join(names), table).columns == tuple(names)


# -- random code -------------------------------------------------------------------------------------------------------

LEAVES = ["age", "rural", "region", "np", "wave", "canary", "__builtins__", "os", "1", "2.5", "'a'", "True", "1j"]
# Ways to make code of code: those of formulas, and those that formulas do not have.
ALLOWED = [
    *(
        "({} + {})",
        "(({}) ** ({}))",
        "({} > {})",
        "({} == {})",
        "-({})",
        "~({})",
        "({} & {})",
        "I({})",
        "log({})",
        "C({})",
    ),
    *("np.sqrt({})", "center({})", "np.where({}, {}, {})", "bs({}, df=4)", "({}).clip({}, {})", "isin({}, ['a', 1])"),
]
FOREIGN = [
    *("canary({})", "({}).__class__", "({})[{}]", "(lambda: {})", "(lambda x: canary())({})", "[{}, canary()]"),
    *("[canary() for x in [{}]]", "{{canary(): {}}}", "({} if canary() else {})", "(canary() and {})"),
    *("f'{{canary()}}' + {}", "type({})", "vars()[{}]"),
    *("(x := canary({}))", "print(*[{}])", "open({})", "__import__({})", "getattr({}, {})", "np.save({}, {})"),
    *("eval({})", "({}).apply(canary)", "center({}, _state=canary())", "C({}, canary())", "({} @ {})", "(not {})"),
    *("exec('canary()', {})", "(canary)({})", "(canary(), {})", "np.vectorize(canary)({})", "type({})", "vars()[{}]"),
]
NODES = (
    *(ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute, ast.keyword),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.List),
)


def random_code(draw: random.Random, depth: int, forms: list[str]) -> str:
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(LEAVES)
    form = draw.choice(forms)
    return form.format(*(random_code(draw, depth - 1, forms) for _ in range(form.replace("{{", "").count("{}"))))


def is_of_formulas(code: str) -> bool:
    """The rule again, told otherwise: nodes of these kinds, calls of listed names, attributes of calls only."""
    nodes = list(ast.walk(ast.parse(code, mode="eval").body))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    called = {id(call.func) for call in calls}
    names = {call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "?") for call in calls}
    loose = [node for node in nodes if isinstance(node, ast.Attribute) and id(node) not in called]
    free = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called}
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return (
        all(isinstance(node, NODES) and not isinstance(node, (ast.MatMult, ast.Not, ast.In)) for node in nodes)
        and not loose
        and names <= {*CALLABLE}
        and free <= {*DATA, "np"}
        and all(isinstance(value, (bool, int, float, str)) for value in values)
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_code_does_nothing(seed: int, canary: list[str]) -> None:
    draw = random.Random(seed)
    folder = os.getcwd()
    read = refused = 0
    for i in range(250):
        # Half of them hold nothing but the words of formulas, or else hardly any would be read.
        code = ast.unparse(ast.parse(random_code(draw, 4, ALLOWED if i % 2 else ALLOWED + FOREIGN), mode="eval"))
        try:
            calculation = read_calculation(code, DATA)
        except CalculationError:
            refused += 1
        else:
            read += 1
            assert is_of_formulas(code), code
            assert set(calculation.columns) <= set(DATA)
        with contextlib.suppress(AskanceError):
            learn(f"I({code})")
        assert canary == [], code
    assert read > 10
    assert refused > 100
    assert os.getcwd() == folder


# -- arguments ---------------------------------------------------------------------------------------------------------


def matrix(right: str, table: Columns = TABLE) -> Any:
    return np.asarray(FormulaDesign.learn(parse_formula(f"y ~ {right}", table), table)[1])


def test_columns_in_backticks_have_memories_of_their_own() -> None:
    rng = np.random.default_rng(1)
    table = Columns.of({"y": rng.integers(0, 2, 50), "a b": rng.normal(3, 1, 50), "c d": rng.normal(-8, 2, 50)})
    for transform in ("center({})", "scale({})", "bs({}, df=4)", "poly({}, 2)"):
        alone = matrix(transform.format("`c d`"), table)
        together = matrix(f"{transform.format('`a b`')} + {transform.format('`c d`')}", table)
        np.testing.assert_allclose(together[:, -(alone.shape[1] - 1) :], alone[:, 1:], atol=1e-12)


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ("log(age, income)", "log() has 2 arguments; allowed: 1"),
        ("minimum(age, income, wave)", "minimum() has 3 arguments; allowed: 2"),
        ("C(region, {[1, [2]]: 2})", "is no key"),
    ],
)
def test_arguments_are_counted_and_keys_are_plain(right: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        learn(right)


def test_ordinary_arguments() -> None:
    np.testing.assert_array_equal(matrix("C(data=region)"), matrix("C(region)"))
    for same in ("age.clip(upper=30)", "np.clip(age, None, 30)", "np.clip(age, a_min=None, a_max=30)"):
        np.testing.assert_array_equal(matrix(same), matrix("np.minimum(age, 30)"))
    np.testing.assert_array_equal(matrix("np.round(age / 7, decimals=1)"), matrix("round(age / 7, 1)"))
    np.testing.assert_allclose(matrix("I(" + " + ".join(["age"] * 120) + ")"), matrix("I(120 * age)"))
