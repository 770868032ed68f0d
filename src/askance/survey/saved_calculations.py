"""Calculations of formulas as plain data, and back: trees of a few kinds of nodes, never text that is parsed.

What comes from a file is a tree of the nodes listed here. It is checked node by node, and then read by
`askance.survey.calculations` like one that was typed: that knows arithmetic, comparisons and functions by name, and
refuses everything else before anything is computed. The text of a calculation is kept for messages alone.
"""

from __future__ import annotations

import ast
from typing import Any

from askance._checks import shown
from askance.errors import FormatError
from askance.formats.fields import REWRITE
from askance.survey.calculations import Calculation, checked_calculation
from askance.survey.parsed_calculations import LONGEST, CalculationError, ParsedCalculation

_NODES: dict[str, type[ast.AST]] = {
    node.__name__: node
    for node in (
        *(ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.Compare, ast.Call, ast.keyword),
        *(ast.List, ast.Tuple, ast.Dict),
        *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr),
        *(ast.USub, ast.UAdd, ast.Invert, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    )
}
# What Python notes beside and no calculation needs: for assignments, and u"texts".
_UNUSED = ("ctx", "kind")
# Deeper trees are made by machines.
_DEEPEST = 250


def calculation_to_json(calculation: Calculation) -> dict[str, Any]:
    """A calculation as plain JSON values.

    >>> from askance.survey.calculations import read_calculation
    >>> content = calculation_to_json(read_calculation("age + 1", ["age"]))
    >>> content["tree"]["first"]
    {'node': 'Name', 'at': [0, 3], 'id': 'age'}
    >>> calculation_from_json(content, "age + 1", "a file").columns
    ('age',)
    """
    parsed = calculation.parsed
    return {
        "columns": list(calculation.columns),
        "source": parsed.source,
        "quoted": dict(parsed.quoted),
        "tree": _to_json(parsed.tree),
    }


def calculation_from_json(content: Any, text: str, name: str) -> Calculation:
    """The calculation of that text; `name` is that of the file, for messages."""
    if not isinstance(content, dict) or set(content) != {"columns", "source", "quoted", "tree"}:
        raise FormatError(f"a calculation in {name} is {shown(content)}.", remedy=REWRITE)
    columns, quoted, source = content["columns"], content["quoted"], content["source"]
    texts = isinstance(columns, list) and isinstance(quoted, dict)
    if not texts or not all(isinstance(word, str) for word in (source, *columns, *quoted.values())):
        raise FormatError(f"a calculation in {name} has names that are no texts.", remedy=REWRITE)
    # As short as what is typed, and on one line: messages look up in it what every node says.
    if not 0 < len(source) <= LONGEST or len(source.splitlines()) > 1:
        size = f"{len(source):,} characters; allowed: 1 to {LONGEST:,}, on one line"
        raise FormatError(f"the text of a calculation in {name} has {size}.", remedy=REWRITE)
    tree = _from_json(content["tree"], name, _DEEPEST)
    if not isinstance(tree, ast.expr):
        raise FormatError(f"a calculation in {name} is {shown(content['tree'])}.", remedy=REWRITE)
    try:
        return checked_calculation(text, ParsedCalculation(source, quoted, tree), columns)
    except CalculationError as error:
        raise FormatError(f"a calculation in {name} is none: {error.problem}.", remedy=REWRITE) from None


def _to_json(node: Any) -> Any:
    if isinstance(node, list):
        return [_to_json(item) for item in node]
    if not isinstance(node, ast.AST):
        return node
    content: dict[str, Any] = {"node": type(node).__name__}
    if isinstance(node, ast.BinOp):  # a row of operations, as long as a scale of many items, is no deeper than one
        row: list[Any] = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp):
            place = [first.col_offset, first.end_col_offset]
            row.insert(0, {"op": type(first.op).__name__, "at": place, "right": _to_json(first.right)})
            first = first.left
        return {**content, "first": _to_json(first), "row": row}
    if isinstance(node, (ast.expr, ast.keyword)):
        content["at"] = [node.col_offset, node.end_col_offset]
    fields = (field for field in node._fields if field not in _UNUSED)
    return {**content, **{field: _to_json(getattr(node, field)) for field in fields}}


def _from_json(content: Any, name: str, depth: int) -> Any:
    """A node, a list of them, or a value that is written out."""
    if depth == 0:
        raise FormatError(f"a calculation in {name} is nested too deeply.", remedy=REWRITE)
    if isinstance(content, list):
        return [_from_json(item, name, depth - 1) for item in content]
    if not isinstance(content, dict):
        return content
    kind = content.get("node")
    if kind == "BinOp":
        return _row_from_json(content, name, depth)
    place = _place(content, name)
    node = _NODES.get(kind) if isinstance(kind, str) else None
    fields = () if node is None else tuple(field for field in node._fields if field not in _UNUSED)
    placed = node is not None and issubclass(node, (ast.expr, ast.keyword))
    if node is None or placed != bool(place) or set(content) - {"node", "at"} != set(fields):
        raise FormatError(f"a calculation in {name} holds {shown(content)}.", remedy=REWRITE)
    values = {field: _from_json(content[field], name, depth - 1) for field in fields}
    for field, value in values.items():
        _check_field(node.__name__, field, value, name)
    return node(**values, **place)


def _row_from_json(content: dict[str, Any], name: str, depth: int) -> ast.expr:
    """((first op₁ second) op₂ third) …"""
    row = content.get("row")
    if not isinstance(row, list) or not row or set(content) != {"node", "first", "row"}:
        raise FormatError(f"a calculation in {name} holds {shown(content)}.", remedy=REWRITE)
    left = _operand(content["first"], name, depth)
    for step in row:
        operation = _NODES.get(str(step.get("op"))) if isinstance(step, dict) else None
        if operation is None or not issubclass(operation, ast.operator) or set(step) != {"op", "at", "right"}:
            raise FormatError(f"a calculation in {name} has the operation {shown(step)}.", remedy=REWRITE)
        right = _operand(step["right"], name, depth)
        left = ast.BinOp(left=left, op=operation(), right=right, **_place(step, name))
    return left


def _operand(content: Any, name: str, depth: int) -> ast.expr:
    node = _from_json(content, name, depth - 1)
    if not isinstance(node, ast.expr):
        raise FormatError(f"a calculation in {name} holds {shown(content)}.", remedy=REWRITE)
    return node


def _place(content: dict[str, Any], name: str) -> dict[str, int]:
    """Where a node stands in the text of its calculation, for messages."""
    place = content.get("at")
    if place is None:
        return {}
    whole = (
        isinstance(place, list) and len(place) == 2 and all(type(end) is int and 0 <= end < 1 << 20 for end in place)
    )
    if not whole:
        raise FormatError(f"a calculation in {name} has a part at {shown(place)}.", remedy=REWRITE)
    return {"lineno": 1, "end_lineno": 1, "col_offset": place[0], "end_col_offset": place[1]}


# What the fields of nodes may be.
_FIELDS: dict[tuple[str, str], type | tuple[type, ...]] = {
    ("Constant", "value"): (bool, int, float, str, type(None)),
    ("Name", "id"): str,
    ("Attribute", "attr"): str,
    ("keyword", "arg"): str,
    ("UnaryOp", "op"): ast.unaryop,
}
_LISTS: dict[tuple[str, str], type | tuple[type, ...]] = {
    ("Compare", "ops"): ast.cmpop,
    ("Call", "keywords"): ast.keyword,
    **dict.fromkeys((("Compare", "comparators"), ("Call", "args"), ("List", "elts"), ("Tuple", "elts")), ast.expr),
    **dict.fromkeys((("Dict", "keys"), ("Dict", "values")), ast.expr),
}


def _check_field(kind: str, field: str, value: Any, name: str) -> None:
    if (kind, field) in _LISTS:
        fits = isinstance(value, list) and all(isinstance(item, _LISTS[kind, field]) for item in value)
    else:
        fits = isinstance(value, _FIELDS.get((kind, field), ast.expr))
    if not fits:
        raise FormatError(f"{field} of a {kind} in {name} is {shown(value)}.", remedy=REWRITE)
