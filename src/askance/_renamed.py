"""Old names that still work and say what is called what now."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Classes under the names that they had: where they are, and what they are called.
FORMER_CLASSES = {
    "FieldResponses": ("askance.evidence.responses", "Responses"),
    "GaussianField": ("askance.models.linear", "LinearModel"),
    "StatisticsTally": ("askance.evidence.tally", "Tally"),
}


def renamed(old: str, function: Callable[P, R]) -> Callable[P, R]:
    """A function under the name it had, which warns its callers."""

    @wraps(function)
    def alias(*args: P.args, **options: P.kwargs) -> R:
        warnings.warn(
            f"{old} is called {function.__name__} now; the old name goes with the next version.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **options)

    alias.__name__ = alias.__qualname__ = old
    return alias


def former_class(package: str, old: str) -> Any:
    """What a package has under a name of before, with a warning at the line that uses it; for `__getattr__`."""
    module, name = FORMER_CLASSES.get(old, ("", ""))
    if not module.startswith(f"{package}."):
        raise AttributeError(f"module {package!r} has no attribute {old!r}")
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "askance",
        "importlib",
    ):
        # Python does not count the frames of an import.
        level, frame = level + ("importlib" not in frame.f_globals["__name__"]), frame.f_back
    warnings.warn(f"{old} is called {name} now; the old name goes with the next version.", FutureWarning, level)
    return getattr(importlib.import_module(module), name)
