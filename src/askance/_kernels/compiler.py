"""Numba, loaded when the first loop is called and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import Lock
from typing import Any, Generic, ParamSpec, TypeVar

#: Below this many reports the plain loops are faster than waking the compiler.
COMPILED_PAYS_FROM = 4096

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")
_LOCK = Lock()


class Compiled(Generic[_Arguments, _Result]):
    """A loop that is machine code from its first call on.

    Attributes:
        plain: the loop as Python has it, which is slow and can be stepped through.
    """

    def __init__(self, loop: Callable[_Arguments, _Result]) -> None:
        self.plain = loop
        self._machine: Any = None
        update_wrapper(self, loop)

    def __call__(self, *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        """Run it on arrays."""
        result: _Result = (self._machine or self.machine)(*arguments, **named)
        return result

    @property
    def machine(self) -> Any:
        """Numba's function, kept on disk between runs where there is a folder to keep it in."""
        with _LOCK:  # threads that call it for the first time at once share one
            self._machine = self._machine or _machine_code(self.plain)
        return self._machine

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks a loop for that another compiled loop calls."""
        return self.machine._numba_type_


def compiled(loop: Callable[_Arguments, _Result]) -> Compiled[_Arguments, _Result]:
    """Decorate a loop over arrays that Numba understands; compiled loops may call each other.

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
    return Compiled(loop)


def _machine_code(loop: Callable[..., Any]) -> Any:
    import numba

    try:
        return numba.njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # no such folder: compile once per process
        return numba.njit(nogil=True)(loop)
