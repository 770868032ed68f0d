"""What the reference shows: names where packages list them, and what is said once.

A page introduces itself, so the docstring of its package is not printed again. What a package imports from this library
is there to be used from it (`from askance.x import Y as Y`), which griffe takes for private.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from griffe import Alias, Extension, Module


class ShownOnce(Extension):
    """Read by mkdocstrings."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Called with everything that was read of askance; docstrings of single modules say more and stay."""
        for package in _packages(pkg):
            for name, member in package.members.items():
                inside = isinstance(member, Alias) and member.target_path.startswith(f"{pkg.name}.")
                if inside and not name.startswith("_"):
                    member.public = True
        for module in pkg.modules.values():
            if module.is_init_module:
                module.docstring = None


def _packages(package: Module) -> Iterator[Module]:
    yield package
    for module in package.modules.values():
        if module.is_init_module and not module.is_alias:
            yield from _packages(module)
