"""Numbers on the command line: decimals and fractions, and whole numbers within a range."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from askance.errors import InputError


def read_number(text: str) -> float:
    """A decimal or a fraction; ValueError for anything else. NaN passes: whoever takes the number knows its range.

    >>> read_number("0.25"), read_number(" 1/4")
    (0.25, 0.25)
    """
    try:
        return float(Fraction(text)) if "/" in text else float(text)
    except (ZeroDivisionError, OverflowError):
        raise ValueError(text) from None


class Number(click.ParamType[float]):
    """A decimal such as 0.25, or a fraction such as 1/4."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the text; defaults pass."""
        if not isinstance(value, str):
            return float(value)
        try:
            return read_number(value)
        except ValueError:
            raise InputError(
                f"{flag_of(param)} is {value!r}; allowed: a number.", remedy="Write 0.25 or 1/4, for example."
            ) from None


class WholeNumber(click.ParamType[int]):
    """A whole number within a range.

    Args:
        least: the smallest that is allowed; None: whoever takes it knows.
        most: the largest.
        remedy: the way out of a number beyond.
    """

    name = "whole number"

    def __init__(self, least: int | None = None, most: int | None = None, remedy: str = "") -> None:
        self.least, self.most, self.remedy = least, most, remedy

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the text and check the range."""
        try:
            number = int(value)
        except ValueError:
            raise self._refusal(repr(value), param) from None
        if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
            raise self._refusal(str(value), param)
        return number

    def _refusal(self, value: str, param: click.Parameter | None) -> InputError:
        bounds = ""
        if self.least is not None:
            bounds = f", {self.least:,} or more" if self.most is None else f", {self.least:,} to {self.most:,}"
        return InputError(
            f"{flag_of(param)} is {value}; allowed: a whole number{bounds}.",
            remedy=self.remedy or f"Write {max(self.least or 0, 1)}, for example.",
        )


def flag_of(param: click.Parameter | None) -> str:
    """What a user types for an option: the longest form of it; an argument is called by its name in capitals.

    >>> flag_of(click.Option(["-n", "--records"]))
    '--records'
    """
    if param is None:
        return "the number"
    return max(param.opts, key=len) if isinstance(param, click.Option) else str(param.human_readable_name)


#: The seed of random numbers.
SEED = WholeNumber(0, remedy="The same seed gives the same numbers; 0 is usual.")
#: A decimal or a fraction.
NUMBER = Number()
