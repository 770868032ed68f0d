"""Numba, loaded when the first loop is compiled and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Below this many reports the plain loops are faster than waking the compiler.
COMPILED_PAYS_FROM = 4096


def compile_loop(loop: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The loop as machine code, kept on disk between runs where there is a folder to keep it in.

    Args:
        loop: in plain Python, over arrays.
        options: of `numba.njit`, beyond those that all loops have.
    """
    import numba

    if hasattr(loop, "py_func"):  # by another thread, a moment ago
        return loop
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, nogil=True, **options)(loop)
    except RuntimeError:  # no such folder: compile once per process
        compiled = numba.njit(nogil=True, **options)(loop)
    return compiled
