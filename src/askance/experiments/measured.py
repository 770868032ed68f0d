"""Numbers that a clock gave, told apart from those that the seed decides, so that the latter can be compared."""

from __future__ import annotations

from collections.abc import Mapping

from askance.experiments.experiment import Plain

# What a name of such a number begins with.
_MEASURED = "measured"


def separate(result: Mapping[str, Plain]) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What the seed decides, and what was measured: every entry, at any depth, whose name begins with "measured".

    Both have the shape of the whole; objects without anything measured are left out of the second. Lists are not
    looked into.

    >>> separate({"a": {"score": 0.5, "measured_seconds": [1.2]}, "b": {"score": 0.7}})
    ({'a': {'score': 0.5}, 'b': {'score': 0.7}}, {'a': {'measured_seconds': [1.2]}})
    """
    decided: dict[str, Plain] = {}
    measured: dict[str, Plain] = {}
    for name, value in result.items():
        if name.startswith(_MEASURED):
            measured[name] = value
        elif isinstance(value, Mapping):
            decided[name], inner = separate(value)
            if inner:
                measured[name] = inner
        else:
            decided[name] = value
    return decided, measured


def together(decided: Mapping[str, Plain], measured: Mapping[str, Plain]) -> dict[str, Plain]:
    """The whole again.

    >>> together({"a": {"score": 0.5}, "b": {"score": 0.7}}, {"a": {"measured_seconds": [1.2]}})
    {'a': {'score': 0.5, 'measured_seconds': [1.2]}, 'b': {'score': 0.7}}
    """
    whole = dict(decided)
    for name, value in measured.items():
        inner = whole.get(name)
        whole[name] = together(inner, value) if isinstance(inner, Mapping) and isinstance(value, Mapping) else value
    return whole
