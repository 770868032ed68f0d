"""One thread of linear algebra while something is fitted: sums in one order, whatever the number of processors.

A product of matrices that BLAS divides among threads is added up in another order for every number of them, and threads
that wait for each other burn processors on a busy machine. Blocks of rows are small: one thread loses nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import ContextDecorator
from typing import Any


class _OneThread(ContextDecorator):
    """Holds all BLAS libraries to one thread; may be entered again inside, and by several threads at a time.

    Of most libraries the limit belongs to the process: the thread that enters first sets it, the one that leaves last
    restores what was before. Of those on OpenMP it belongs to every thread by itself.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = threading.local()
        self._libraries: list[Any] | None = None
        self._holders = 0
        self._before: list[tuple[Any, int]] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        """In a forked process, which has none of the other threads that may have held the limit, or the lock."""
        self._lock = threading.Lock()
        held, self._holders = self._holders, int(getattr(self._own, "depth", 0) > 0)
        if held and not self._holders:
            _restore(self._before)

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if not depth:
            libraries = self._blas_libraries()
            self._own.before = _limited(library for library in libraries if _is_own(library))
            with self._lock:
                if not self._holders:
                    self._before = _limited(library for library in libraries if not _is_own(library))
                self._holders += 1
        self._own.depth = depth + 1

    def __exit__(self, *error: object) -> None:
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._lock:
            self._holders -= 1
            if not self._holders:
                _restore(self._before)
        _restore(self._own.before)

    def _blas_libraries(self) -> list[Any]:
        """The libraries, looked for once: when something is first fitted."""
        if self._libraries is None:
            import scipy.linalg  # noqa: F401  # SciPy has a BLAS of its own, which is to be there to be found
            from threadpoolctl import ThreadpoolController

            self._libraries = [
                library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"
            ]
        return self._libraries


def _is_own(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _limited(libraries: Iterable[Any]) -> list[tuple[Any, int]]:
    """Hold libraries to one thread; each with the number it had."""
    before = [(library, library.get_num_threads()) for library in libraries]
    _restore([(library, 1) for library, _ in before])
    return before


def _restore(numbers: list[tuple[Any, int]]) -> None:
    for library, number in numbers:
        # threadpoolctl from 3.7 on lets the thread that set a limit first set it again, and no other: whoever is last
        # here may be another one.
        release = getattr(library, "clear_controlling_thread", lambda force: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


#: `with one_thread:`, or `@one_thread` above a function: at the entries of whatever is fitted, planned or predicted.
one_thread = _OneThread()
