"""One thread of linear algebra while something is fitted: sums in one order, whatever the number of processors.

A product of matrices that BLAS divides among threads is added up in another order for every number of them, and threads
that wait for each other burn processors on a busy machine. Blocks of rows are small: one thread loses nothing.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


class _OneThread(ContextDecorator):
    """Holds all BLAS libraries of the process to one thread; may be entered again inside, and by several threads.

    The limit belongs to the process: whoever enters first sets it, who leaves last restores what was before.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._libraries: ThreadpoolController | None = None
        self._limit: Any = None

    def __enter__(self) -> None:
        if self._libraries is None:
            self._find_libraries()
        with self._lock:
            if not self._holders:
                assert self._libraries is not None
                self._limit = self._libraries.limit(limits=1, user_api="blas")
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                self._limit.restore_original_limits()

    def _find_libraries(self) -> None:
        """Look once at what is loaded, when something is first fitted."""
        import scipy.linalg  # noqa: F401  # SciPy has a BLAS of its own, which is to be there to be found
        from threadpoolctl import ThreadpoolController

        self._libraries = ThreadpoolController()


#: `with one_thread:`, or `@one_thread` above a function: at the entries of whatever is fitted, planned or predicted.
one_thread = _OneThread()
