"""How much work a function does, counted and not timed.

Seconds depend on the processor and on who else is at work; the number of calls that Python makes does not. A step that
grows with the square of its input shows in it as well as in seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def calls_of(work: Callable[[], object]) -> int:
    """The number of functions that `work` calls, written in Python or in C.

    >>> calls_of(lambda: [abs(value) for value in range(1000)]) > 1000
    True
    """
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
