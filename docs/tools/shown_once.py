"""What the reference says once: a page introduces itself, so the docstring of its package is not printed again."""

from __future__ import annotations

from typing import Any

from griffe import Extension, Module


class ShownOnce(Extension):
    """Read by mkdocstrings."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called with everything that was read of askance; docstrings of single modules say more and stay."""
        for module in pkg.modules.values():
            if module.is_init_module:
                module.docstring = None
