"""Calculations inside formulas, as `I(age**2)` or `center(log(income))`: a tree of a few known nodes.

Nothing of a formula is handed to Python. A calculation is parsed, each of its nodes is turned into a step that is
computed here, and what has no step is refused by name before anything is computed. There are columns, numbers (all
arithmetic is on floats), comparisons, `&`, `|` and `~` between them, and the functions listed below.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from askance.survey.parsed_calculations import (
    COMPUTE_BEFORE,
    CalculationError,
    ParsedCalculation,
    parse_calculation,
    shortened,
)
from askance.survey.row_values import conditions, numbers, plain, refuse_unlisted

if TYPE_CHECKING:
    import pandas as pd

#: Functions of numbers, row by row, as `log` or `np.log`.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("log", "log2", "log10", "log1p", "exp", "exp2", "expm1", "sqrt", "cbrt")},
    **{name: getattr(np, name) for name in ("abs", "sign", "square", "power", "minimum", "maximum")},
    **{name: getattr(np, name) for name in ("floor", "ceil", "sin", "cos", "tan", "arctan")},
    **{name: getattr(np, name) for name in ("sinh", "tanh", "arcsinh")},
    **{name: getattr(np, name) for name in ("logical_and", "logical_or", "logical_not")},
    "exp10": lambda x: np.power(10.0, x),
    "round": lambda x, decimals=0.0: np.round(x, int(decimals)),
    "clip": lambda x, lower=None, upper=None: np.clip(x, lower, upper),
}
# Arguments that may be named, as NumPy and pandas call them, by their place.
_NAMED = {
    "round": {"decimals": 1},
    "clip": {"lower": 1, "min": 1, "a_min": 1, "upper": 2, "max": 2, "a_max": 2},
}
#: Functions of formulaic, of numbers and of any values; those with a memory code new data as they coded the first.
OF_NUMBERS = ("center", "scale", "standardize", "poly", "bs", "cr", "cs", "cc")
OF_VALUES = ("C", "I", "hashed")
#: All that formulas may call.
CALLABLE = (*OF_VALUES, *OF_NUMBERS, "where", "isin", *FUNCTIONS)
# What may be written behind a value, as in age.clip(30, 50).
_METHODS = ("abs", "clip", "isin", "round")
_CONTRASTS = ("Treatment", "Sum", "Helmert", "Diff", "Poly")
_REGISTERED = ("treatment", "SAS", "sum", "helmert", "diff", "poly")
_CONSTANTS = {"pi": math.pi, "e": math.e}
# Arguments that say how many columns come out, and the most of each.
_MOST = {"df": 100, "degree": 100, "levels": 1_000}
# Deeper calculations are made by machines.
_DEEPEST = 100

_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_LOGIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {ast.BitAnd: operator.and_, ast.BitOr: operator.or_}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# What Python knows and formulas do not, and the way out.
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Attribute: ("takes an attribute, which formulas do not", COMPUTE_BEFORE),
    ast.Subscript: ("picks values by [ ], which formulas do not", COMPUTE_BEFORE),
    ast.BoolOp: ("joins conditions by words", "Write I((a > 0) & (b > 0)), with | for or."),
    ast.Not: ("uses not", "Write I(~(a > 0))."),
    ast.IfExp: ("uses if and else", "Write I(np.where(condition, a, b))."),
    ast.In: ("uses in", "Write I(isin(x, [1, 2]))."),
    ast.NotIn: ("uses not in", "Write I(~isin(x, [1, 2]))."),
}
_Step: TypeAlias = Callable[["pd.DataFrame", dict[str, Any]], Any]


@dataclass(frozen=True)
class Calculation:
    """A calculation that was checked.

    Attributes:
        text: as it stands in the formula.
        columns: the columns that it uses, in their order.
        parsed: its tree.
        listed: of columns that stand in C(column, levels=[…]), these levels.

    >>> import pandas as pd
    >>> read_calculation("I((age - 45) / 10 > 1)", ["age", "sex"]).compute(pd.DataFrame({"age": [30.0, 60.0]}), {})
    0    False
    1     True
    Name: age, dtype: bool
    """

    text: str
    columns: tuple[str, ...]
    parsed: ParsedCalculation
    listed: Mapping[str, Sequence[Any]]

    def compute(self, frame: pd.DataFrame, state: dict[str, Any]) -> Any:
        """Its values for a table, one per row, or several columns of them.

        Args:
            frame: the columns.
            state: what functions with a memory learned, by the calculation and their place in it; the first table
                fills it.

        Raises:
            ValueError, TypeError and the like: an operation that its columns do not have.
        """
        return _Reader(self.columns, self.text, self.parsed).read()(frame, state)


def read_calculation(code: str, columns: Iterable[str]) -> Calculation:
    """Read a calculation; names in backticks may hold any character.

    Raises:
        CalculationError: it holds anything but what the module lists.

    >>> read_calculation("log(age) + `hours per week` / 7", ["age", "hours per week"]).columns
    ('age', 'hours per week')
    >>> read_calculation("I(open('secrets'))", [])
    Traceback (most recent call last):
    askance.survey.parsed_calculations.CalculationError: there is no function open()
    """
    return checked_calculation(code, parse_calculation(code), columns)


def checked_calculation(text: str, parsed: ParsedCalculation, columns: Iterable[str]) -> Calculation:
    """A calculation from its tree, typed or saved.

    Raises:
        CalculationError: it holds anything but what the module lists.
    """
    reader = _Reader(columns, text, parsed)
    reader.read()
    return Calculation(text, tuple(dict.fromkeys(reader.used)), parsed, reader.listed)


class _Reader:
    """Turns a tree into steps; notes the columns that it met."""

    def __init__(self, columns: Iterable[str], text: str, parsed: ParsedCalculation) -> None:
        self.columns, self.used, self.listed = frozenset(columns), list[str](), dict[str, list[Any]]()
        self._text, self._memories = text, 0
        self._source, self._quoted, self._tree = parsed

    def read(self) -> _Step:
        step = self._value(self._tree, _DEEPEST)
        if not self.used:
            raise CalculationError(f"{shortened(self._text)} uses no column", "Name a column in it, or leave it out.")
        return step

    def _written(self, node: ast.AST) -> str:
        """A part as it stands in the formula, with names in backticks and not with what stands in for them."""
        text = ast.get_source_segment(self._source, node) or ""
        for stand_in, name in reversed([*self._quoted.items()]):  # the tenth before the first, which it begins with
            text = text.replace(f" {stand_in} ", f"`{name}`").replace(stand_in, f"`{name}`")
        return text

    def _shown(self, node: ast.AST) -> str:
        return shortened(self._written(node))

    def _value(self, node: ast.AST, depth: int) -> _Step:
        if depth == 0:
            raise CalculationError(f"a calculation is nested more than {_DEEPEST} deep")
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
            constant = node.value if isinstance(node.value, (bool, str)) else _finite(node.value, self._shown(node))
            return lambda frame, state: constant
        if isinstance(node, ast.Name):
            return self._column(node)
        if isinstance(node, ast.Attribute) and _is_name(node.value, "np") and node.attr in _CONSTANTS:
            number = _CONSTANTS[node.attr]
            return lambda frame, state: number
        if isinstance(node, ast.BinOp) and type(node.op) in (_ARITHMETIC | _LOGIC):
            return self._binary(node, depth)
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return self._unary(node, depth)
        if isinstance(node, ast.Compare) and all(type(op) in _COMPARISONS for op in node.ops):
            return self._comparison(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        raise self._refusal(node)

    def _refusal(self, node: ast.AST) -> CalculationError:
        parts = [node, getattr(node, "op", node), *getattr(node, "ops", ())]
        known = next((_REFUSED[type(part)] for part in parts if type(part) in _REFUSED), None)
        problem, remedy = known or ("is nothing that formulas compute", COMPUTE_BEFORE)
        return CalculationError(f"{self._shown(node)} {problem}", remedy)

    def _column(self, node: ast.Name) -> _Step:
        name = self._quoted.get(node.id, node.id)
        if name not in self.columns:
            raise CalculationError(f"there is no column {name!r}", column=name)
        self.used.append(name)
        return lambda frame, state: frame[name]

    def _binary(self, node: ast.BinOp, depth: int) -> _Step:
        """One operation, or a row of them as in q1 + q2 + q3, which is no deeper than its parts."""
        row: list[ast.BinOp] = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp) and type(first.op) in (_ARITHMETIC | _LOGIC):
            row.insert(0, first)
            first = first.left
        start, steps = self._value(first, depth - 1), [self._operation(part, depth) for part in row]

        def step(frame: pd.DataFrame, state: dict[str, Any]) -> Any:
            value = start(frame, state)
            for operation in steps:
                value = operation(value, frame, state)
            return value

        return step

    def _operation(self, node: ast.BinOp, depth: int) -> Callable[[Any, pd.DataFrame, dict[str, Any]], Any]:
        """What is done with the value on the left."""
        right, is_logic = self._value(node.right, depth - 1), type(node.op) in _LOGIC
        apply, kind = (_ARITHMETIC | _LOGIC)[type(node.op)], conditions if is_logic else numbers
        text, left_text, right_text = self._shown(node), self._shown(node.left), self._shown(node.right)

        def operation(left: Any, frame: pd.DataFrame, state: dict[str, Any]) -> Any:
            a, b = kind(left, left_text), kind(right(frame, state), right_text)
            if is_logic or np.ndim(a) or np.ndim(b):
                return apply(a, b)
            return _finite(apply(np.float64(a), np.float64(b)), text)

        return operation

    def _unary(self, node: ast.UnaryOp, depth: int) -> _Step:
        inner, text = self._value(node.operand, depth - 1), self._shown(node.operand)
        if isinstance(node.op, ast.Invert):
            return lambda frame, state: np.logical_not(conditions(inner(frame, state), text))
        sign = -1.0 if isinstance(node.op, ast.USub) else 1.0
        return lambda frame, state: sign * numbers(inner(frame, state), text)

    def _comparison(self, node: ast.Compare, depth: int) -> _Step:
        """One or several, as in 20 < age < 30: all must hold."""
        operands = [node.left, *node.comparators]
        steps = [self._value(operand, depth - 1) for operand in operands]
        texts, compare = [self._shown(operand) for operand in operands], [_COMPARISONS[type(op)] for op in node.ops]

        def step(frame: pd.DataFrame, state: dict[str, Any]) -> Any:
            values = [plain(inner(frame, state), text) for inner, text in zip(steps, texts, strict=True)]
            held = [apply(values[i], values[i + 1]) for i, apply in enumerate(compare)]
            return held[0] if len(held) == 1 else np.logical_and.reduce(held)

        return step

    def _call(self, node: ast.Call, depth: int) -> _Step:
        args = node.args
        if isinstance(node.func, ast.Name) and node.func.id not in self._quoted:
            name = shown = node.func.id
        elif isinstance(node.func, ast.Attribute) and _is_name(node.func.value, "np"):
            name, shown = node.func.attr, f"np.{node.func.attr}"
        elif isinstance(node.func, ast.Attribute):
            name, shown, args = node.func.attr, f".{node.func.attr}", [node.func.value, *args]
        else:
            raise self._refusal(node)
        is_transform = shown in (*OF_VALUES, *OF_NUMBERS)
        if not is_transform and (
            name not in (*FUNCTIONS, "where", "isin") or (shown[0] == "." and name not in _METHODS)
        ):
            raise CalculationError(f"there is no function {shown}()", function=shown)
        if any(isinstance(arg, ast.Starred) for arg in args) or any(keyword.arg is None for keyword in node.keywords):
            raise CalculationError(f"{self._shown(node)} unpacks arguments by *", "Write the arguments out.")
        if is_transform:
            return self._transform(node, name, depth)
        args = self._in_places(name, shown, args, node.keywords)
        if name == "isin":
            return self._isin(node, args, depth)
        texts = [self._shown(arg) for arg in args]
        if name == "where":
            return _where([self._value(arg, depth - 1) for arg in args], texts)
        return self._function(name, shown, args, texts, depth)

    def _in_places(self, name: str, shown: str, args: list[ast.expr], keywords: list[ast.keyword]) -> list[ast.expr]:
        """All arguments in their places, None where one is left out."""
        places = _NAMED.get(name, {})
        for keyword in keywords:
            place = places.get(str(keyword.arg))
            if place is None:
                remedy = f"Allowed: {', '.join(places)}." if places else "Write the values alone."
                raise CalculationError(f"{shown}() takes no argument {keyword.arg!r} here", remedy)
            args = [*args, *(ast.Constant(None) for _ in range(place + 1 - len(args)))]
            args[place] = keyword.value
        return args

    def _function(self, name: str, shown: str, args: list[ast.expr], texts: list[str], depth: int) -> _Step:
        """A function of numbers; what clip does not bound may be None."""
        function = FUNCTIONS[name]
        most = function.nin if isinstance(function, np.ufunc) else len(inspect.signature(function).parameters)
        least = most if isinstance(function, np.ufunc) else 1
        if not least <= len(args) <= most:
            allowed = f"{most}" if least == most else f"{least} to {most}"
            raise CalculationError(f"{shown}() has {len(args)} arguments; allowed: {allowed}", "Write them out.")
        is_open = [name == "clip" and isinstance(arg, ast.Constant) and arg.value is None for arg in args]
        pairs = zip(args, is_open, strict=True)
        steps = [None if left_open else self._value(arg, depth - 1) for arg, left_open in pairs]

        def step(frame: pd.DataFrame, state: dict[str, Any]) -> Any:
            parts = zip(steps, texts, strict=True)
            return function(*(None if inner is None else numbers(inner(frame, state), text) for inner, text in parts))

        return step

    def _isin(self, node: ast.Call, args: list[ast.expr], depth: int) -> _Step:
        if len(args) != 2 or not isinstance(args[1], (ast.List, ast.Tuple)):
            raise CalculationError(f"{self._shown(node)} lacks a list of values", "Write isin(x, [1, 2]).")
        inner, text, members = self._value(args[0], depth - 1), self._shown(args[0]), self._literal(args[1], depth - 1)

        def step(frame: pd.DataFrame, state: dict[str, Any]) -> Any:
            import pandas as pd

            return pd.Series(plain(inner(frame, state), text)).isin(list(members))

        return step

    def _transform(self, node: ast.Call, name: str, depth: int) -> _Step:
        """A function of formulaic: of one calculation, with literals for all other arguments."""
        from formulaic.transforms import TRANSFORMS

        function = TRANSFORMS[name]
        parameters = [p for p in inspect.signature(function).parameters.values() if not p.name.startswith("_")]
        try:
            bound = inspect.Signature(parameters).bind(
                *node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords}
            )
        except TypeError as error:
            known = ", ".join(parameter.name for parameter in parameters)
            raise CalculationError(f"{name}(): {error}; allowed: {known}", "") from None
        first = parameters[0].name
        argument, key = bound.arguments[first], f"{self._text} {self._memories}"
        self._memories += 1
        inner, text = self._value(argument, depth - 1), self._shown(argument)
        options = {
            option: self._contrasts(value, depth) if option == "contrasts" else self._option(option, value, depth)
            for option, value in bound.arguments.items()
            if option != first
        }
        has_memory = getattr(function, "__is_stateful_transform__", False)
        levels = options.get("levels") if name == "C" else None
        is_column = isinstance(argument, ast.Name)
        if isinstance(levels, list) and is_column:
            self.listed[self.used[-1]] = levels

        def step(frame: pd.DataFrame, state: dict[str, Any]) -> Any:
            value = inner(frame, state)
            value = numbers(value, text) if name in OF_NUMBERS else value
            if isinstance(levels, list):
                refuse_unlisted(value, levels, text, droppable=is_column)
            memory = {"_state": state.setdefault(key, {})} if has_memory else {}
            return function(value, **options, **memory)

        return step

    def _option(self, name: str, node: ast.AST, depth: int) -> Any:
        value = self._literal(node, depth - 1)
        if isinstance(value, (int, float)) and not abs(value) <= _MOST.get(name, math.inf):
            raise CalculationError(f"{name} is {value:g}; allowed: at most {_MOST[name]:,}", "Choose fewer.")
        return value

    def _contrasts(self, node: ast.AST, depth: int) -> Any:
        """Treatment("north"), Sum, contr.helmert, …, or a dict of weights."""
        from formulaic.transforms import TRANSFORMS

        call = node if isinstance(node, ast.Call) else None
        maker = call.func if call else node
        if isinstance(maker, ast.Name) and maker.id in _CONTRASTS:
            contrast = TRANSFORMS[maker.id]
        elif isinstance(maker, ast.Attribute) and _is_name(maker.value, "contr") and maker.attr in _REGISTERED:
            contrast = getattr(TRANSFORMS["contr"], maker.attr)
        else:
            return self._literal(node, depth - 1)
        if call is None:
            return contrast()
        keywords = {str(keyword.arg): self._literal(keyword.value, depth - 1) for keyword in call.keywords}
        try:
            return contrast(*(self._literal(arg, depth - 1) for arg in call.args), **keywords)
        except TypeError as error:
            raise CalculationError(f"{self._shown(node)}: {error}", 'Write C(x, Treatment("reference")).') from None

    def _literal(self, node: ast.AST | None, depth: int) -> Any:
        """A value that is written out: a number, text, True, False, None, or a list, tuple or dict of them."""
        if depth > 0 and isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str, type(None))):
            return node.value
        if depth > 0 and isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            number = self._literal(node.operand, depth - 1)
            if isinstance(number, (int, float)):
                return -number if isinstance(node.op, ast.USub) else +number
        if depth > 0 and isinstance(node, (ast.List, ast.Tuple)):
            return [self._literal(item, depth - 1) for item in node.elts]
        if depth > 0 and isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            return {self._key(key, depth): self._literal(value, depth - 1) for key, value in pairs}
        text = "**" if node is None else self._shown(node)
        raise CalculationError(f"{text} is no value that is written out", "Write numbers, texts or lists of them.")

    def _key(self, node: ast.AST | None, depth: int) -> Any:
        key = self._literal(node, depth - 1)
        if isinstance(key, dict) or (isinstance(key, list) and any(isinstance(part, (list, dict)) for part in key)):
            raise CalculationError(f"{shortened(str(key))} is no key", "Write numbers or texts before the colons.")
        return tuple(key) if isinstance(key, list) else key


def _where(steps: list[_Step], texts: list[str]) -> _Step:
    if len(steps) != 3:
        raise CalculationError(f"where() has {len(steps)} arguments", "Write np.where(condition, a, b).")

    def step(frame: pd.DataFrame, state: dict[str, Any]) -> Any:
        import pandas as pd

        condition, a, b = (plain(inner(frame, state), text) for inner, text in zip(steps, texts, strict=True))
        chosen = np.where(conditions(condition, texts[0]), a, b)
        return pd.Series(chosen.astype(object) if chosen.dtype.kind == "U" else chosen, index=frame.index)

    return step


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _finite(number: Any, text: str) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise CalculationError(f"{text} is no finite number", "Write a number below 1e308.")
    return value
