"""Calls on a device take whole units of time, so that what a processor does within one tells nothing of a truth."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from os import urandom
from time import perf_counter_ns
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Report = TypeVar("_Report")

#: Nanoseconds. Several times what the calls of most channels need, so that nearly all of theirs take one unit.
UNIT = 20_000
# Nanoseconds, of which 0 to 255 are added at random: many times what one look at the clock takes.
_STEP = 8


def in_even_time(call: Callable[_Given, _Report]) -> Callable[_Given, _Report]:
    """Wait after a call, or its refusal, until a whole number of `UNIT`s and two microseconds at most have passed.

    Equal steps still differ by some nanoseconds: by how long the label is that a text is compared with, or by what is
    in a cache. How many units a call takes is a function of its time, so it never tells more than that, and nearly
    always it is the same number. The wait ends with the first look at the clock that comes late enough, and when looks
    come depends on when the call was over: so the end is moved by a random time as long as many looks. The processor
    stays busy while it waits: no system sleeps for so short a time.

    >>> from time import perf_counter_ns
    >>> start = perf_counter_ns()
    >>> in_even_time(len)("yes"), perf_counter_ns() - start >= UNIT
    (3, True)
    """

    @wraps(call)
    def even(*args: _Given.args, **named: _Given.kwargs) -> _Report:
        late, start = _STEP * urandom(1)[0], perf_counter_ns()
        try:
            return call(*args, **named)
        finally:
            now = perf_counter_ns()
            end = now + (start - now) % UNIT + late
            while perf_counter_ns() < end:
                pass

    return even
