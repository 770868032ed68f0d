"""What a formula learned, as plain data in the file of a fit, and back: nothing is parsed and nothing is evaluated.

A design is its terms (lists of names), the calculations behind these names (trees, `saved_calculations`), the levels of
categories, and what functions with a memory remember: means, scales, knots. These are numbers about all respondents
together; only the ends of splines are the smallest and the largest value of a column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from askance._checks import shown
from askance.errors import FormatError
from askance.formats.fields import REWRITE, Fields
from askance.survey.formula import FormulaDesign, ParsedFormula
from askance.survey.saved_calculations import calculation_from_json, calculation_to_json
from askance.tables import as_json

DESIGN_FORMAT = "formula/1"
# A factor that is no column: 1 for the intercept, or what a term is multiplied with.
_NUMBER = re.compile(r"\d+(\.\d+)?")
_FIELDS = {
    **dict.fromkeys(("format", "formula", "answer", "output"), str),
    **dict.fromkeys(("columns", "terms", "factors", "levels", "memories"), list),
    **dict.fromkeys(("calculations", "kinds", "categories"), dict),
}


def design_to_json(design: FormulaDesign) -> dict[str, Any]:
    """A design as plain JSON values."""
    spec = design.spec
    encoders = {factor: (str(kind.value), state) for factor, (kind, state) in spec.encoder_state.items()}
    return {
        "format": DESIGN_FORMAT,
        "formula": design.formula,
        "answer": design.answer,
        "columns": list(design.columns),
        "output": str(spec.output),
        "terms": list(design.terms),
        "factors": [[factor.expr for factor in term.factors] for term in spec.formula],
        "calculations": {name: calculation_to_json(calculation) for name, calculation in design.calculations.items()},
        "kinds": {factor: kind for factor, (kind, _) in encoders.items()},
        "categories": {f: as_json(state["categories"]) for f, (_, state) in encoders.items() if "categories" in state},
        "levels": [[name, as_json(levels)] for name, levels in design.levels.items()],
        "memories": [[call, _memory_to_json(memory)] for call, memory in design.state.items()],
    }


def design_from_json(content: Mapping[str, Any], name: str) -> FormulaDesign:
    """The design that `design_to_json` wrote; `name` is that of the file, for messages."""
    fields = Fields(content, f"the formula in {name}")
    for field, kind in _FIELDS.items():
        fields.read(field, kind)
    if content["format"] != DESIGN_FORMAT or set(content) != set(_FIELDS):
        raise FormatError(
            f"the formula in {name} has format {shown(content['format'])}; this version reads {DESIGN_FORMAT!r}.",
            remedy="Use the version of askance that wrote it.",
        )
    columns = _texts(content["columns"], "columns", name)
    factors = [_texts(term, "factors", name) for term in content["factors"]]
    calculations = {text: calculation_from_json(tree, text, name) for text, tree in content["calculations"].items()}
    known = {*columns, *calculations}
    strange = [f for term in factors for f in term if f not in known and not _NUMBER.fullmatch(f)]
    missing = [
        column for calculation in calculations.values() for column in calculation.columns if column not in columns
    ]
    if strange or missing:
        raise FormatError(f"the formula in {name} uses {shown((strange or missing)[0])}.", remedy=REWRITE)
    levels = {
        column: tuple(_values(seen, name)) for column, seen in _pairs(content["levels"], name) if column in columns
    }
    try:
        spec = _spec(content, factors, name)
    except (ValueError, TypeError) as error:
        raise FormatError(f"{name} does not describe a formula: {error}", remedy=REWRITE) from None
    uses = dict.fromkeys(columns, ())
    parsed = ParsedFormula(content["formula"], content["answer"], spec.formula, calculations, uses)
    memories = {str(key): _memory_from_json(value, name) for key, value in _pairs(content["memories"], name)}
    return FormulaDesign(parsed, _texts(content["terms"], "terms", name), spec, memories, levels, None)


def _spec(content: Mapping[str, Any], factors: list[tuple[str, ...]], name: str) -> Any:
    """What formulaic needs to code new data: factors that are looked up, their kinds and categories."""
    from formulaic import ModelSpec, SimpleFormula
    from formulaic.parser.types import Factor, Term

    kinds = {kind.value: kind for kind in Factor.Kind}
    if content["output"] not in ("numpy", "sparse") or not all(kind in kinds for kind in content["kinds"].values()):
        raise FormatError(f"the formula in {name} makes {shown(content['output'])}.", remedy=REWRITE)

    def factor(text: str) -> Any:
        return Factor(text, eval_method="literal" if _NUMBER.fullmatch(text) else "lookup")

    categories = content["categories"]
    return ModelSpec(
        formula=SimpleFormula([Term([factor(text) for text in term]) for term in factors], _ordering="none"),
        output=content["output"],
        na_action="ignore",
        encoder_state={
            text: (kinds[kind], {"categories": _values(categories[text], name)} if text in categories else {})
            for text, kind in content["kinds"].items()
        },
    )


def _memory_to_json(value: Any) -> Any:
    """Numbers, texts, lists, and dicts whose keys may be numbers; what JSON has no name for is told apart."""
    if isinstance(value, np.ndarray):
        return {"array": _memory_to_json(value.tolist())}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {"pairs": [[key, _memory_to_json(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [_memory_to_json(item) for item in value]
    return {"float": repr(value)} if isinstance(value, float) and not math.isfinite(value) else value


def _memory_from_json(content: Any, name: str) -> Any:
    if isinstance(content, list):
        return [_memory_from_json(item, name) for item in content]
    if not isinstance(content, dict):
        return content
    kind = next(iter(content), None) if len(content) == 1 else None
    if kind == "pairs":
        return {key: _memory_from_json(item, name) for key, item in _pairs(content["pairs"], name)}
    if kind == "float" and content["float"] in ("nan", "inf", "-inf"):
        return float(content["float"])
    try:
        if kind == "array":
            return np.asarray(_memory_from_json(content["array"], name), dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise FormatError(f"the formula in {name} remembers {shown(content)}.", remedy=REWRITE)


def _texts(values: Any, what: str, name: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise FormatError(f"{what!r} of the formula in {name} is {shown(values)}; allowed: texts.", remedy=REWRITE)
    return tuple(values)


def _values(values: Any, name: str) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(value, str | bool | int | float) for value in values):
        raise FormatError(f"categories of the formula in {name} are {shown(values)}.", remedy=REWRITE)
    return values


def _pairs(pairs: Any, name: str) -> list[tuple[Any, Any]]:
    whole = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
    if not whole or not all(isinstance(pair[0], str | int) for pair in pairs):
        raise FormatError(f"the formula in {name} holds {shown(pairs)}.", remedy=REWRITE)
    return [(key, value) for key, value in pairs]
