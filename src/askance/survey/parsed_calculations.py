"""The text of a calculation as a tree: parsed, never handed to Python."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from typing import NamedTuple

COMPUTE_BEFORE = "Compute the column before."
# Longer calculations are made by machines.
LONGEST = 5_000


class CalculationError(Exception):
    """What formulas do not know; whoever has the whole formula makes the message of it.

    Attributes:
        problem, remedy: what is wrong, and the way out.
        column, function: the name, where the problem is that no column or function has it.
    """

    def __init__(self, problem: str, remedy: str = COMPUTE_BEFORE, *, column: str = "", function: str = "") -> None:
        self.problem, self.remedy, self.column, self.function = problem, remedy, column, function
        super().__init__(problem)


class ParsedCalculation(NamedTuple):
    """The tree of a calculation, which is read here and never handed to Python.

    Attributes:
        source: its text, with names that stand in for those in backticks; only for messages.
        quoted: the names in backticks, by what stands in for them.
        tree: its nodes.
    """

    source: str
    quoted: Mapping[str, str]
    tree: ast.expr


def parse_calculation(code: str) -> ParsedCalculation:
    """The tree of a text, in which names in backticks may hold any character."""
    if len(code) > LONGEST:
        raise CalculationError(f"a calculation has {len(code):,} characters; allowed: {LONGEST:,}")
    stem, quoted = "_quoted_", dict[str, str]()
    while stem in code:
        stem += "_"

    def stand_in(match: re.Match[str]) -> str:
        if match[1] is not None:  # a text, in which a backtick is a character
            return match[0]
        quoted[f"{stem}{len(quoted)}"] = match[2]
        return f" {stem}{len(quoted) - 1} "

    whole = re.sub(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|`([^`]*)`""", stand_in, code)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in a text mean what they say
            return ParsedCalculation(whole.strip(), quoted, ast.parse(whole.strip(), mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise CalculationError(f"{shortened(code)}: {getattr(error, 'msg', error)}", "") from None
    except (MemoryError, RecursionError):  # how Python says that a tree is too deep
        raise CalculationError(f"{shortened(code)} is nested too deeply") from None


def shortened(text: str) -> str:
    """A text in one line of at most 60 characters."""
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}…"
