"""Old names that still work and say what is called what now."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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
