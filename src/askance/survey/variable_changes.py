"""How the columns of a formula move with one of its variables.

Columns are known functions of the table, so that they are computed again for other values of the variable. A slope is
the derivative of the polynomial of degree 4 through five values around that of a respondent, which stay within the
range of the variable (a logarithm needs it, and so do splines). Of a polynomial of degree 4 it is exact but for
rounding; of others it is off by far less than a digit that anybody shows.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Polynomial

from askance._arrays import FloatArray
from askance._checks import shown
from askance.errors import InputError, LabelError
from askance.estimation.problems.sample import is_binary
from askance.estimation.results.variable_effects import Change
from askance.models.softmax import Covariates
from askance.survey.calculations import Calculation
from askance.survey.tables import Columns, Table, plain_value

if TYPE_CHECKING:
    from askance.survey.formula import FormulaDesign

# Between neighbouring values of the five, in standard deviations of the variable.
_STEP = 2.0**-12
_NODES = (-2, -1, 0, 1, 2)
# Functions that jump, or give categories.
_JUMPS = ("floor", "ceil", "round", "sign", "where", "isin", "C", "hashed", "logical_and", "logical_or", "logical_not")
_OPERATIONS = (ast.Compare, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.Invert)


def changes_of(design: FormulaDesign, data: Table, variables: Mapping[str, float | None]) -> list[Change]:
    """How the rows of a table move with variables of the formula, each by a number or (None) as suits it.

    Categories go from the level that the others are compared with to each of these; 0 and 1 from 0 to 1; numbers have a
    slope, or, where a calculation jumps, as in I(age > 30), go up by 1.
    """
    table = Columns.of(data).trimmed()
    changes = []
    for name, step in variables.items():
        if name not in design.columns:
            raise InputError(
                argument="variables",
                got=repr(name),
                allowed=", ".join(map(repr, design.columns)) or "none, for the formula has no columns",
                remedy="Name columns of the formula.",
            )
        if _is_category(design, table, name):
            changes += _between_levels(design, table, name, step)
        elif step is None and is_binary(_known_values(design, table, name)):
            ends = [_moved(design, table, name, np.full(len(table), value)) for value in (0.0, 1.0)]
            changes.append(Change(name, "0 → 1", None, *ends))
        elif step is None and all(map(_is_smooth, _calculations(design, name))):
            changes.append(Change(name, "slope", _slopes(design, table, name)))
        else:
            changes.append(_step_up(design, table, name, 1.0 if step is None else _finite(step, name)))
    return changes


def _calculations(design: FormulaDesign, name: str) -> list[Calculation]:
    return [calculation for calculation in design.calculations.values() if name in calculation.columns]


def _is_smooth(calculation: Calculation) -> bool:
    """Whether nothing in it jumps."""
    nodes = list(ast.walk(calculation.parsed.tree))
    names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in nodes}
    return not any(isinstance(node, _OPERATIONS) for node in nodes) and names.isdisjoint(_JUMPS)


def _is_category(design: FormulaDesign, table: Columns, name: str) -> bool:
    """Whether a column stands for categories wherever it is: it holds no numbers, or all its uses are C(column)."""
    if table[name].kind != "number":
        return name in design.levels
    used = _calculations(design, name)
    alone = all(
        isinstance(tree := calculation.parsed.tree, ast.Call)
        and isinstance(tree.func, ast.Name)
        and tree.func.id == "C"
        and isinstance(tree.args[0], ast.Name)
        for calculation in used
    )
    return name in design.levels and bool(used) and alone and name not in design.spec.encoder_state


def _between_levels(design: FormulaDesign, table: Columns, name: str, step: float | None) -> list[Change]:
    if step is not None:
        raise InputError(
            f"{name!r} holds categories, which do not go up by {step:g}.", remedy="Leave the number out, or None."
        )
    levels, kind = design.levels[name], table[name].values.dtype
    first = table.part(design.columns, np.arange(len(table)) == 0)
    sizes = [np.abs(_moved(design, first, name, _filled(1, level, kind))).sum() for level in levels]
    # The one that the others are compared with is coded by zeros.
    base = levels[int(np.argmin(np.round(sizes, 9)))]
    before = _moved(design, table, name, _filled(len(table), base, kind))
    return [
        Change(
            name,
            f"{plain_value(base)} → {plain_value(level)}",
            None,
            before,
            _moved(design, table, name, _filled(len(table), level, kind)),
        )
        for level in levels
        if level != base
    ]


def _filled(n: int, value: Any, kind: Any) -> Any:
    column = np.empty(n, dtype=kind)
    column[:] = value
    return column


def _step_up(design: FormulaDesign, table: Columns, name: str, step: float) -> Change:
    values = table[name].values.astype(np.float64)
    before = design.matrix(table)
    try:
        after = _moved(design, table, name, values + step)
    except LabelError as error:
        raise InputError(
            f"{name!r} cannot go up by {step:g}: {error.message}",
            remedy="Name the variables of interest, or columns of x: terms=[…].",
        ) from None
    return Change(name, f"{step:+g}", None, before, after)


def _finite(step: Any, name: str) -> float:
    if isinstance(step, bool) or not isinstance(step, int | float) or not math.isfinite(step) or step == 0:
        raise InputError(
            f"the change of {name!r} is {shown(step)}; allowed: a number other than 0, or None.",
            remedy='Write {"age": 10}, for example.',
        )
    return float(step)


def _known_values(design: FormulaDesign, table: Columns, name: str) -> FloatArray:
    """Values of a variable in these rows, and in those of the fit where they are at hand."""
    tables = [table] if design.respondents is None else [table, design.respondents]
    return np.concatenate([columns[name].values.astype(np.float64) for columns in tables])


def _moved(design: FormulaDesign, table: Columns, name: str, values: Any) -> Covariates:
    """X with other values of one column."""
    kinds = {"f": "number", "b": "boolean"}
    column = replace(table[name], values=values, missing=np.zeros(len(values), dtype=bool))
    column = replace(column, kind=kinds.get(values.dtype.kind, column.kind))  # type: ignore[arg-type]
    return design.matrix(Columns(table.names, len(table), lambda other: column if other == name else table[other]))


def _slopes(design: FormulaDesign, table: Columns, name: str) -> Covariates:
    """∂x/∂v of every row, shape (n, p)."""
    values, known = table[name].values.astype(np.float64), _known_values(design, table, name)
    spread, ends = float(known.std()), (float(known.min()), float(known.max()))
    if spread == 0:
        spread, ends = max(abs(ends[0]), 1.0), (-math.inf, math.inf)
    step = 2.0 ** round(math.log2(_STEP * spread))
    middle = np.clip(values, ends[0] + 2 * step, ends[1] - 2 * step)
    at = [_moved(design, table, name, np.clip(middle + k * step, *ends)) for k in _NODES]
    place, origin = (values - middle) / step, at[_NODES.index(0)]
    total: Any = 0.0 * origin
    for k, rows in zip(_NODES, at, strict=True):
        if k:
            weight = (_lagrange(k).deriv()(place) / step)[:, None]
            moved = rows - origin  # columns that stay have no slope, to the last bit
            total = total + (moved * weight if isinstance(moved, np.ndarray) else moved.multiply(weight).tocsr())
    return total


def _lagrange(k: int) -> Polynomial:
    """1 at k, and 0 at the other nodes."""
    others = [j for j in _NODES if j != k]
    return Polynomial.fromroots(others) / math.prod(k - j for j in others)
