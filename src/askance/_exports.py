"""Names that are loaded when first used, listed once: in the stub file beside a package's `__init__.py`."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from typing import Any

from askance._former import former_names


def lazy_exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the `from … import …` lines of its stub.

    Type checkers read the same stub, so that no name stands in two lists.

    >>> load, names, public = lazy_exports("askance", importlib.import_module("askance").__file__)
    >>> load("Warner").__name__, "Warner" in names(), "Warner" in public
    ('Warner', True, True)
    """
    path = file.removesuffix(".py") + ".pyi"
    with open(path, encoding="utf-8") as stub:  # pathlib would load five modules more
        lines = ast.parse(stub.read()).body
    home: dict[str, str] = {}
    modules: set[str] = set()
    for line in lines:
        if isinstance(line, ast.ImportFrom) and line.module == package:
            modules.update(alias.name for alias in line.names)
        elif isinstance(line, ast.ImportFrom) and line.module is not None and line.module.startswith(f"{package}."):
            home.update({alias.name: line.module for alias in line.names})
            modules.add(line.module.removeprefix(f"{package}.").partition(".")[0])

    former = former_names(package, lambda name: load(name))

    def load(name: str) -> Any:
        if name in home:
            return getattr(importlib.import_module(home[name]), name)
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        return former(name, depth=3)

    def names() -> list[str]:
        return sorted({*home, *modules})

    return load, names, sorted(home)
