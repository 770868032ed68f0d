"""How large a formula is, told before it is read or written out: `(a + b + c)**20` is short, its terms are not."""

from __future__ import annotations

import math
from typing import Any

from askance.survey.formula_mistakes import refusal

# Formulas that people write, or programs for some thousand columns, are far below these.
_LONGEST, _DEEPEST, _MOST_TERMS = 100_000, 100, 100_000


def check_length(formula: str) -> None:
    """Refuse a formula that is too long, or with too many brackets inside each other, to be taken apart."""
    if len(formula) > _LONGEST:
        shown = f"{formula[:40]}…"
        raise refusal(shown, f"it has {len(formula):,} characters; allowed: {_LONGEST:,}", "Write . for all columns.")
    depth = deepest = 0
    for mark in formula:
        depth += (mark in "([{") - (mark in ")]}")
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        shown = f"{formula[:40]}…"
        raise refusal(shown, f"brackets are {deepest:,} deep; allowed: {_DEEPEST}", "Compute the column before.")


def check_terms(formula: str, right: str) -> None:
    """Refuse a right side that stands for too many terms.

    Counted is what formulaic has to go through, which is more than the terms that remain: n · kⁿ for the n-th power
    of k terms.
    """
    from formulaic.parser import DefaultFormulaParser

    root: Any = DefaultFormulaParser().get_ast(right)
    counts: dict[int, float] = {}
    waiting = [(root, False)]
    while waiting:  # no recursion: a sum of 5,000 terms is 5,000 deep
        node, is_ready = waiting.pop()
        if not hasattr(node, "operator"):
            counts[id(node)] = 1
        elif is_ready:
            counts[id(node)] = _count(node, [counts[id(arg)] for arg in node.args])
            if counts[id(node)] > _MOST_TERMS:
                problem = f"it stands for more than {_MOST_TERMS:,} products of terms"
                raise refusal(formula, problem, "Leave out interactions.")
        else:
            waiting += [(node, True), *((arg, False) for arg in node.args)]


def _count(node: Any, counts: list[float]) -> float:
    """How many terms an operator goes through, from those of its arguments."""
    symbol = node.operator.symbol
    if symbol in ("**", "^"):
        power = str(getattr(node.args[1], "token", "1"))
        n = int(power) if power.isdecimal() and len(power) < 10 else 10**9
        return math.inf if n * math.log(max(counts[0], 2)) > 700 else n * counts[0] ** n
    if symbol == ":":
        return math.prod(counts)
    return sum(counts) + (math.prod(counts) if symbol == "*" else 0)
