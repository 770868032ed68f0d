"""One file a comparison; a file here with a `COMPARISON` in it is found by itself."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.harness.comparison import Comparison


def discover() -> dict[str, tuple[str, Comparison]]:
    """Name → (module, comparison) of every file in this folder."""
    modules = [f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__)]
    loaded: list[tuple[str, Comparison]] = [(name, importlib.import_module(name).COMPARISON) for name in modules]
    return {comparison.name: (module, comparison) for module, comparison in loaded}
