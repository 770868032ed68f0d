"""Options as commands declare them: how one is typed, what it means, and what is read from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from askance.cli.shared.values import CONFIDENCE, SEED, Choice

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: A file that is read.
FILE = click.Path(path_type=Path)
#: Where the context of a command keeps whether --json was given.
JSON_ASKED = "askance.json"


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


def method_option(methods: dict[str, str], note: str = "", default: str | None = None) -> Decorator:
    """--method, one of those that a command has: their names, and what is said of each."""
    text = "; ".join(f"{name}: {what}" for name, what in methods.items())
    return option("--method", text + note, Choice(list(methods)), default=default)


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
