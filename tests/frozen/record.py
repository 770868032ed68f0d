"""The family as a file, and how two of them are compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tests.frozen.family import Frozen

RECORD = Path(__file__).parent / "estimates.json"
#: Estimates may move by this share of their standard error.
SHARE_OF_ERROR = 1e-6
#: Covariances and unbiased statistics may move by this share of their size.
SHARE_OF_SIZE = 1e-5


def write(family: Mapping[str, Frozen], path: Path) -> None:
    """One line per fit, so that a change shows which fits it moved."""
    lines = [f"{json.dumps(name)}: {json.dumps(_as_json(kept))}" for name, kept in family.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _as_json(kept: Frozen) -> dict[str, object]:
    numbers = {name: {"shape": value.shape, "values": value.ravel().tolist()} for name, value in kept.numbers.items()}
    return {"facts": kept.facts, "numbers": numbers, "errors": kept.errors.tolist()}


def read(path: Path) -> dict[str, Frozen]:
    """What `write` wrote."""
    return {
        name: Frozen(
            {key: np.reshape(part["values"], part["shape"]) for key, part in kept["numbers"].items()},
            kept["facts"],
            np.array(kept["errors"]),
        )
        for name, kept in json.loads(path.read_text()).items()
    }


def differences_of(now: Mapping[str, Frozen], before: Mapping[str, Frozen], digits: int | None = None) -> list[str]:
    """A line for everything that is not as it was."""
    lines = [f"{name}: was not there" for name in now if name not in before]
    for name, old in before.items():
        if name not in now:
            lines.append(f"{name}: is gone")
            continue
        lines += [f"{name}: {line}" for line in difference(now[name], old, digits)]
    return lines


def moved(now: Mapping[str, Frozen], before: Mapping[str, Frozen]) -> dict[str, Frozen]:
    """The family as it is now, in the order of the record and with its numbers for every fit that is as it was.

    Last digits are of a processor: without this hardly a line would stay.
    """
    names = [*filter(now.__contains__, before), *(name for name in now if name not in before)]
    return {
        name: before[name] if name in before and not difference(now[name], before[name]) else now[name]
        for name in names
    }


def difference(now: Frozen, old: Frozen, digits: int | None = None) -> list[str]:
    """What differs between a fit and its record: facts exactly, numbers within their tolerance."""
    lines = [
        f"{key} was {old.facts.get(key)!r}, is {now.facts.get(key)!r}"
        for key in sorted(now.facts.keys() | old.facts.keys())
        if now.facts.get(key) != old.facts.get(key)
    ]
    for key in sorted(now.numbers.keys() | old.numbers.keys()):
        if key not in now.numbers or key not in old.numbers or now.numbers[key].shape != old.numbers[key].shape:
            lines.append(f"{key} is there only once, or of another shape")
            continue
        allowed = _allowed(key, old, digits)
        moved = np.abs(now.numbers[key] - old.numbers[key])
        both_missing = np.isnan(now.numbers[key]) & np.isnan(old.numbers[key])
        if not (both_missing | (moved <= allowed)).all():
            lines.append(f"{key} moved by {np.nanmax(moved / allowed):.3g} times what is allowed")
    return lines


def _allowed(key: str, old: Frozen, digits: int | None) -> np.ndarray:
    value = old.numbers[key]
    if digits is not None:
        return np.full(value.shape, 10.0**-digits * max(1.0, float(np.nanmax(np.abs(value), initial=0.0))))
    if key == "theta":
        return SHARE_OF_ERROR * np.where(np.isfinite(old.errors), old.errors, 1.0) + 1e-9
    return np.full(value.shape, SHARE_OF_SIZE * float(np.nanmax(np.abs(value), initial=0.0)) + 1e-9)
