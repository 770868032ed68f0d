"""Private regressions on disk: `release/1` and `pilot/1`, which devices hold, and their descriptions as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askance._checks import shown
from askance.channels.statistics.moment_release import MomentRelease
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.errors import FormatError
from askance.formats.disk import write_whole
from askance.formats.fields import describing, fields_of
from askance.models.linear import LinearModel

RELEASE_FORMAT, PILOT_FORMAT = "release/1", "pilot/1"
_MAKE = "Make one with `askance plan regression`."


def write_release(release: MomentRelease | ScalePilot, path: str | Path) -> None:
    """Write what devices need as JSON: columns, bounds, scales, encoding and channel. Nothing in it is secret."""
    kind = RELEASE_FORMAT if isinstance(release, MomentRelease) else PILOT_FORMAT
    content = {"askance": kind, **release.specification(), "fingerprint": release.channel.fingerprint}
    write_whole(path, (json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode("utf-8"))


def read_release(path: str | Path) -> MomentRelease | ScalePilot:
    """Read what `write_release` wrote; the channel must have the probabilities it had then."""
    fields = fields_of(path, "JSON", _MAKE)
    kind = fields.format((RELEASE_FORMAT, PILOT_FORMAT), _MAKE)
    release: MomentRelease | ScalePilot
    with describing(path, "a release", _MAKE, (KeyError, TypeError, IndexError, ValueError, ArithmeticError)):
        release = (MomentRelease if kind == RELEASE_FORMAT else ScalePilot).from_specification(fields.content)
    if release.channel.fingerprint != fields.read("fingerprint", str):
        raise FormatError(
            f"the channel in {path} has not the fingerprint that stands there: probabilities have changed.",
            remedy="Take the file as it was written, and the version of askance that the devices have.",
        )
    return release


def read_regression(path: str | Path) -> LinearModel:
    """A regression described in TOML: the outcome, and (low, high) of every column, in the order of the coefficients.

    outcome = "spending"

    [bounds]
    age = [18, 90]
    income = [0, 200000]
    spending = [0, 500]

    [scales]            # optional: centre and scale of every column, where they are public
    age = [45, 15]
    income = [50000, 30000]
    spending = [80, 60]
    """
    fields = fields_of(path, "TOML", 'Write outcome = "y" and a table [bounds].')
    content = fields.only(("outcome", "bounds", "scales")).content
    bounds, outcome = _pairs(content, "bounds", path), content.get("outcome")
    if not isinstance(outcome, str) or outcome not in bounds or len(bounds) < 2:
        raise FormatError(
            f"outcome in {path} is {shown(outcome)}; allowed: one of at least two columns of [bounds].",
            remedy="Give bounds of the outcome, and of every other column.",
        )
    names = [name for name in bounds if name != outcome]
    scales = None
    if "scales" in content:
        pairs = _pairs(content, "scales", path)
        if set(pairs) != set(bounds):
            raise FormatError(
                f"[scales] in {path} has {shown(list(pairs))}; allowed: all columns of [bounds].",
                remedy="Give centre and scale of every column, or of none (then a pilot can find them).",
            )
        scales = tuple(zip(*(pairs[name] for name in [*names, outcome]), strict=True))
    with describing(path, "a regression"):
        return LinearModel(
            len(names),
            x_bounds=tuple(zip(*(bounds[name] for name in names), strict=True)),
            y_bounds=bounds[outcome],
            scales=scales,
            feature_names=names,
            outcome_name=outcome,
        )


def _pairs(content: Mapping[str, Any], name: str, path: str | Path) -> dict[str, tuple[float, float]]:
    """A table of two numbers each."""
    table, pairs = content.get(name), {}
    if not isinstance(table, dict) or not table:
        raise FormatError(
            f"{name} in {path} is {shown(table)}; allowed: a table.", remedy=f"Write [{name}] and age = [18, 90]."
        )
    for column, pair in table.items():
        numbers = isinstance(pair, list) and len(pair) == 2 and all(_is_number(value) for value in pair)
        if not numbers:
            raise FormatError(
                f"{column} in [{name}] of {path} is {shown(pair)}; allowed: two numbers.",
                remedy=f"Write {column} = [18, 90].",
            )
        pairs[column] = (float(pair[0]), float(pair[1]))
    return pairs


def _is_number(value: object) -> bool:
    """Whether a value is a number that a float can hold."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
