"""Channels of the registry with truth and reports of each, and a validator of the published schema of lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import PerValue, Tally
from askance._arrays import AnyArray
from askance.channels import AnyChannel, Reports, StatisticsChannel, entries

from .golden.contents import FOLDER

EXAMPLES = {
    f"{entry.kind}-{number}": entry.build(example)
    for entry in entries(None)
    for number, example in enumerate(entry.examples)
}
STATISTICS = {name: channel for name, channel in EXAMPLES.items() if isinstance(channel, StatisticsChannel)}
SUFFIXES = ("jsonl", "parquet")
BITS = PerValue(6, 1)
every_channel = pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES.keys())
both_formats = pytest.mark.parametrize("suffix", SUFFIXES)


@cache
def truths(channel: AnyChannel, n: int) -> AnyArray:
    """Valid truth of n respondents: the two that are hardest to tell apart, or all outputs."""
    rng = np.random.default_rng(5)
    if isinstance(channel, StatisticsChannel):
        pair = np.concatenate(channel.worst_pair())
        return np.asarray(pair[rng.integers(0, 2, n)])
    return channel.outputs.decode(rng.integers(0, len(channel.outputs), n))


@cache
def some_reports(channel: AnyChannel, n: int = 40) -> Any:
    return channel.simulate(truths(channel, n), np.random.default_rng(n))


def same(left: Any, right: Any) -> bool:
    if isinstance(left, Reports):
        return bool(left == right)
    return bool(left.dtype == right.dtype) and np.array_equal(left, right)


def evidence_of(channel: AnyChannel, reports: Any) -> Tally[Any]:
    if isinstance(channel, StatisticsChannel):
        return Tally(channel).add(reports)
    return Tally(channel).add(reports)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


# -- a validator of the part of JSON Schema that the published schema uses ---------------------------------------------

TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "type": lambda kinds, value: any(TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)),
    "const": lambda wanted, value: type(value) is type(wanted) and value == wanted,
    "enum": lambda wanted, value: any(type(value) is type(each) and value == each for each in wanted),
    "pattern": lambda pattern, value: not isinstance(value, str) or re.search(pattern, value) is not None,
    "minLength": lambda size, value: not isinstance(value, str) or len(value) >= size,
    "maxLength": lambda size, value: not isinstance(value, str) or len(value) <= size,
    "minimum": lambda low, value: not TYPES["number"](value) or value >= low,
    "maximum": lambda high, value: not TYPES["number"](value) or value <= high,
    "minItems": lambda size, value: not isinstance(value, list) or len(value) >= size,
    "maxItems": lambda size, value: not isinstance(value, list) or len(value) <= size,
    "minProperties": lambda size, value: not isinstance(value, dict) or len(value) >= size,
    "required": lambda names, value: not isinstance(value, dict) or set(names) <= set(value),
}
NOTES = ("$schema", "$defs", "title", "description")


def satisfies(schema: Any, value: Any, root: Any) -> bool:
    """Whether a JSON value satisfies a schema; a keyword that is not known here is an error of the test."""
    if isinstance(schema, bool):
        return schema
    for keyword, given_value in schema.items():
        if keyword in NOTES:
            continue
        if keyword == "$ref":
            inner = root
            for part in given_value.removeprefix("#/").split("/"):
                inner = inner[part]
            good = satisfies(inner, value, root)
        elif keyword == "oneOf":
            good = sum(satisfies(each, value, root) for each in given_value) == 1
        elif keyword == "items":
            good = not isinstance(value, list) or all(satisfies(given_value, each, root) for each in value)
        elif keyword == "properties":
            good = not isinstance(value, dict) or all(
                satisfies(each, value[name], root) for name, each in given_value.items() if name in value
            )
        elif keyword == "propertyNames":
            good = not isinstance(value, dict) or all(satisfies(given_value, name, root) for name in value)
        elif keyword == "additionalProperties":
            others = set(value) - set(schema["properties"]) if isinstance(value, dict) else set()
            good = all(satisfies(given_value, value[name], root) for name in others)
        else:
            good = CHECKS[keyword](given_value, value)
        if not good:
            return False
    return True


PUBLISHED = json.loads((FOLDER.parents[1] / "docs" / "schemas" / "reports-1.schema.json").read_text(encoding="utf-8"))


def is_published(line: str) -> bool:
    return satisfies(PUBLISHED, json.loads(line), PUBLISHED)
