"""What two channels differ in, in words: their reprs may be cut before the first difference."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from askance._checks import shown
from askance._words import Either, words

if TYPE_CHECKING:
    from askance.channels.described import Described

# More differences say no more.
_MOST = 4


def differences(other: Described, expected: Described) -> str:
    """The parameters that differ, each with both values: a sentence.

    >>> from askance import PerValue
    >>> differences(PerValue(3, 2, lower=[0, 0, 1]), PerValue(3, 1))
    "They differ in privacy_level ('2', not '1') and lower ([0.0, 0.0, 1.0], which is not given there)."
    """
    if other.kind != expected.kind:
        return f"They differ in kind ({other.kind}, not {expected.kind})."
    differing = list(_found(other.specification(), expected.specification()))
    if not differing:
        return "Their parameters are the same, their thresholds are not: other versions of askance made them."
    told = differing[:_MOST] + ([f"{len(differing) - _MOST} more"] if len(differing) > _MOST else [])
    return f"They differ in {' and '.join([', '.join(told[:-1]), told[-1]] if len(told) > 1 else told)}."


def _found(other: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    names = [*other, *(name for name in expected if name not in other)]
    return [_difference(name, other, expected) for name in names if other.get(name) != expected.get(name)]


def _difference(name: str, other: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """One parameter with both values; of lists of one length only the first place that differs."""
    if name not in expected:
        return f"{name} ({shown(other[name])}, which is not given there)"
    if name not in other:
        return f"{name} (not given, and {shown(expected[name])} there)"
    here, there = other[name], expected[name]
    while isinstance(here, list) and isinstance(there, list) and len(here) == len(there):
        place = next(i for i in range(len(here)) if here[i] != there[i])
        name, here, there = f"{name}[{place}]", here[place], there[place]
    return f"{name} ({shown(here)}, not {shown(there)})"


def way_out(other: Described, expected: Described) -> str:
    """What to do where two channels differ in nothing but their purposes; "" where they differ in more.

    >>> from askance import Warner
    >>> way_out(Warner("2/3"), Warner("2/3").for_purpose("smokes"))
    "If all answer the same question, name what has no purpose: for_purpose('smokes')."
    """
    same = other.for_purpose("") == expected.for_purpose("")
    return between_purposes(other.purpose, expected.purpose) if same else ""


def between_purposes(one: str, other: str) -> str:
    """What to do with evidence for two purposes, one of which may be missing; "" where they are the same."""
    if one == other:
        return ""
    if one and other:
        return "Keep reports of different questions apart."
    name = one or other
    named = Either(f"for_purpose({name!r})", f"--purpose-of-unnamed {shlex.quote(name)}")
    return words("If all answer the same question, name what has no purpose: {0}.", named)
