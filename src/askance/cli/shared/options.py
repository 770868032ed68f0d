"""Options as commands declare them: how one is typed, what it means, and what is read from it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import click

from askance._checks import number, one_of
from askance.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: A file that is read.
FILE = click.Path(path_type=Path)
#: Where the context of a command keeps whether --json was given.
JSON_ASKED = "askance.json"


# -- what is read ------------------------------------------------------------------------------------------------------


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
    """A decimal such as 0.25, or a fraction such as 1/4.

    Args:
        limits: as `_checks.number` takes them, where whoever takes the number does not know them.
    """

    name = "number"

    def __init__(self, **limits: Any) -> None:
        self.limits = limits

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the text and check the range."""
        try:
            decimal = read_number(str(value))
        except ValueError:
            raise InputError(
                argument=flag_of(param), got=repr(value), allowed="a number", remedy="Write 0.25 or 1/4, for example."
            ) from None
        return number(decimal, flag_of(param), **self.limits) if self.limits else decimal


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
            whole = int(value)
        except ValueError:
            raise self._refusal(repr(value), param) from None
        if (self.least is not None and whole < self.least) or (self.most is not None and whole > self.most):
            raise self._refusal(str(value), param)
        return whole

    def _refusal(self, value: str, param: click.Parameter | None) -> InputError:
        bounds = ""
        if self.least is not None:
            bounds = f", {self.least:,} or more" if self.most is None else f", {self.least:,} to {self.most:,}"
        return InputError(
            argument=flag_of(param),
            got=value,
            allowed=f"a whole number{bounds}",
            remedy=self.remedy or f"Write {max(self.least or 0, 1)}, for example.",
        )


class Choice(click.Choice[str]):
    """One of a few words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word, or the refusal that names those there are."""
        see = f"See `{ctx.command_path} --help`." if ctx is not None else ""
        return one_of(value, [str(choice) for choice in self.choices], flag_of(param), see)


class Read(click.ParamType[Any]):
    """What a function makes of a text.

    Args:
        read: the function; ValueError where it can make nothing of it.
        allowed: what it can.
        remedy: the way out.
    """

    name = "text"

    def __init__(self, read: Callable[[str], Any], allowed: str = "", remedy: str = "") -> None:
        self.read, self.allowed, self.remedy = read, allowed, remedy

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text; what was read already passes."""
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except InputError as error:
            raise error.at(f"{flag_of(param)} is {value!r}") from None
        except (ValueError, csv.Error):
            raise InputError(
                argument=flag_of(param), got=repr(value), allowed=self.allowed, remedy=self.remedy
            ) from None


def read_names(text: str) -> list[str]:
    """Names separated by commas; those with commas in double quotes, as in CSV.

    >>> read_names('NN, "a,b"')
    ['NN', 'a,b']
    """
    return [name.strip() for name in next(csv.reader([text], strict=True, skipinitialspace=True))]


def read_pair(text: str) -> tuple[str, str]:
    """NAME=VALUE as both; ValueError where one of them is missing.

    >>> read_pair("age = 0.02")
    ('age', '0.02')
    """
    name, _, value = (piece.strip() for piece in text.partition("="))
    if not name or not value:
        raise ValueError(text)
    return name, value


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
#: Of intervals.
CONFIDENCE = Number(low=0, high=1, open=True, remedy="0.95 is usual.")
#: Several numbers, such as a guess of parameters.
NUMBERS = Read(
    lambda text: [read_number(part) for part in text.split(",")],
    "numbers with commas between them",
    "Write 5,-1, for example.",
)
#: Several names.
NAMES = Read(read_names, "names separated by commas", "Put a name with a comma or quote into double quotes, as in CSV.")


# -- options -----------------------------------------------------------------------------------------------------------


def option(
    spelling: str, help: str, kind: click.ParamType[Any] | None = None, *, default: Any = None, **more: Any
) -> Decorator:
    """One option.

    Args:
        spelling: as help shows it: "-o, --output FILE". Without a placeholder and a kind it is a flag.
        help: what it means.
        kind: what is read; None for text.
        default: shown in the help where it says something.
        more: as for `click.option`; `name` is what the function calls it, where that is not the flag.
    """
    flags, _, placeholder = spelling.replace(", -", ",-").partition(" ")
    name = [more.pop("name")] if "name" in more else []
    if kind is None and not placeholder:
        more["is_flag"] = True
    elif default is not None:
        more |= {"default": default, "show_default": default != ""}
    return click.option(*flags.split(","), *name, metavar=placeholder or None, type=kind, help=help, **more)


def options(*decorators: Decorator) -> Callable[[Function], Function]:
    """Several options as one decorator, in the order of the help."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)  # type: ignore[assignment]
        return function

    return decorate


def json_option(help: str = "print JSON") -> Decorator:
    """--json, which commands need not know of: `show` does."""

    def keep(context: click.Context, _: click.Parameter, asked: bool) -> None:
        context.meta[JSON_ASKED] = asked

    return option("--json", help, name="as_json", expose_value=False, callback=keep)


#: The result for programs.
JSON = json_option()
#: The same, where the result is a file and what is printed says what is in it.
JSON_SUMMARY = json_option("print the summary as JSON")


def confidence_option(
    help: str = "confidence of the intervals, above 0 and below 1",
    default: float = 0.95,
    kind: click.ParamType[float] = CONFIDENCE,
) -> Decorator:
    """--confidence."""
    return option("--confidence P", help, kind, default=default)


def method_option(methods: dict[str, str], note: str) -> Decorator:
    """--method, one of those that a command has: their names, and what is said of each."""
    text = "; ".join(f"{name}: {what}" for name, what in methods.items())
    return option("--method", text + note, Choice(list(methods)))


def level_option(help: str, **more: Any) -> Decorator:
    """--privacy-level."""
    return option("--privacy-level LEVEL", help, **more)


def purpose_option(note: str = "") -> Decorator:
    """--purpose: which question a channel answers."""
    return option("--purpose NAME", f"which question is answered: reports for different purposes do not mix{note}")


#: Which question reports and states answer that do not say so.
PURPOSE_OF_UNNAMED_OPTION = option(
    "--purpose-of-unnamed NAME",
    "take reports and states without a purpose, as version 0.1 wrote them, to be for this one",
    default="",
)


def seed_option(help: str = "seed of the random numbers", **more: Any) -> Decorator:
    """--seed, 0 unless it is required."""
    return option("--seed S", help, SEED, **(more or {"default": 0}))


def missing_option(help: str) -> Decorator:
    """--missing."""
    return option("--missing", help, Choice(["error", "drop"]), default="error")
