"""Numba, loaded when the first loop is called and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import Any, Generic, TypeVar

#: Below this many reports the plain loops are faster than waking the compiler.
COMPILED_PAYS_FROM = 4096

_Result = TypeVar("_Result")
_LOCK = Lock()


class Compiled(Generic[_Result]):
    """A loop that is machine code from its first call on.

    Attributes:
        plain: the loop as Python has it, which is slow and can be stepped through.
    """

    def __init__(self, loop: Callable[..., _Result], options: dict[str, Any]) -> None:
        self.plain = loop
        self._options = options
        self._machine: Any = None
        update_wrapper(self, loop)

    def __call__(self, *arguments: Any) -> _Result:
        """Run it on arrays."""
        result: _Result = (self.machine if self._machine is None else self._machine)(*arguments)
        return result

    @property
    def machine(self) -> Any:
        """Numba's function, kept on disk between runs where there is a folder to keep it in."""
        with _LOCK:  # threads that call it for the first time at once share one
            if self._machine is None:
                self._machine = _machine_code(self.plain, self._options)
        return self._machine

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks a loop for that another compiled loop calls."""
        return self.machine._numba_type_


def compiled(loop: Callable[..., _Result], **options: Any) -> Compiled[_Result]:
    """Decorate a loop over arrays that Numba understands; compiled loops may call each other.

    Options are those of `numba.njit`, beyond those that all loops have.

    >>> @compiled
    ... def double(values: Any) -> None:
    ...     for i in range(values.size):
    ...         values[i] *= 2
    >>> import numpy as np
    >>> values = np.array([1.0, 2.0])
    >>> double.plain(values)
    >>> values
    array([2., 4.])
    """
    return Compiled(loop, options)


def _machine_code(loop: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba

    try:
        return numba.njit(cache=True, nogil=True, **options)(loop)
    except RuntimeError:  # no such folder: compile once per process
        return numba.njit(nogil=True, **options)(loop)
