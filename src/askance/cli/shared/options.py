"""Options as commands declare them: how one is typed, what it means, and what is read from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from askance.cli.shared.numbers import NUMBER, SEED

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: A file that is read.
FILE = click.Path(path_type=Path)


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
    flags, _, placeholder = spelling.partition(" ") if "," not in spelling else _several(spelling)
    name = [more.pop("name")] if "name" in more else []
    if kind is None and not placeholder:
        more["is_flag"] = True
    elif default is not None:
        more |= {"default": default, "show_default": default != ""}
    return click.option(*flags.split(","), *name, metavar=placeholder or None, type=kind, help=help, **more)


def _several(spelling: str) -> tuple[str, str, str]:
    """Flags without blanks between them, and the placeholder."""
    return spelling.replace(", -", ",-").partition(" ")


def options(*decorators: Decorator) -> Callable[[Function], Function]:
    """Several options as one decorator, in the order of the help."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)  # type: ignore[assignment]
        return function

    return decorate


#: The result for programs.
JSON = option("--json", "print JSON", name="as_json")
#: The same, where the result is a file and what is printed says what is in it.
JSON_SUMMARY = option("--json", "print the summary as JSON", name="as_json")


def confidence_option(
    help: str = "confidence of the intervals, above 0 and below 1", default: float = 0.95
) -> Decorator:
    """--confidence."""
    return option("--confidence P", help, NUMBER, default=default)


def seed_option(help: str = "seed of the random numbers") -> Decorator:
    """--seed."""
    return option("--seed S", help, SEED, default=0)


def missing_option(help: str) -> Decorator:
    """--missing."""
    return option("--missing", help, click.Choice(["error", "drop"]), default="error")
