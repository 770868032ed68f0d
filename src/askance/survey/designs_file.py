"""Files of designs with several arms, as TOML: a table for every arm, or one design with groups of its own.

    [dice]
    kind = "forced-response"
    truth = "2/3"
    yes = "1/6"

    [direct]
    kind = "direct"

or `kind = "stochastic-lie-detector"` with its parameters, and such as `groups = ["a", "b"]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askance._checks import one_of
from askance.categories import Label
from askance.channels.armed_design import ArmedDesign
from askance.channels.finite import FiniteChannel
from askance.channels.registry import build_answer_channel, build_design, entries
from askance.channels.survey_designs import NO_YES
from askance.errors import FormatError
from askance.formats.fields import Fields, describing, fields_of


def read_designs(path: str | Path) -> dict[Label, FiniteChannel] | ArmedDesign:
    """The design of every arm, or the design with groups of its own, that a TOML file describes."""
    fields = fields_of(path, "TOML", 'Write, for example: [dice] and, below it, kind = "warner" and question = "2/3".')
    if "kind" in fields.content:
        return _armed(fields, path)
    arms: dict[Label, FiniteChannel] = {}
    for arm in fields.content:
        with describing(f"arm {arm!r} of {path}", "a design"):
            arms[arm] = arm_channel(_table(fields, arm))
    if not arms:
        raise FormatError(
            f"{path} describes no arm; allowed: a table for every arm.", remedy="Write [dice], and the design below it."
        )
    return arms


def arm_channel(specification: Mapping[str, Any]) -> FiniteChannel:
    """The channel of one arm; who is asked directly says no or yes, unless other labels are given."""
    outputs = {"outputs": list(NO_YES)} if specification.get("kind") == "direct" else {}
    return build_answer_channel({**outputs, **specification})


def _armed(fields: Fields, path: str | Path) -> ArmedDesign:
    kinds = [entry.kind for entry in entries("groups")]
    one_of(fields.read("kind", str), kinds, f"kind in {path}", "Or write a table for every arm.")
    with describing(path, "a design"):
        design = build_design(fields.content)
    assert isinstance(design, ArmedDesign)
    return design


def _table(fields: Fields, arm: str) -> dict[str, Any]:
    content: dict[str, Any] = fields.content[arm]
    if not isinstance(content, dict) or "kind" not in content:
        raise FormatError(
            f"{fields.name} says no design of {arm!r}; allowed: a table with a kind.",
            remedy=f'Write [{arm}] and, below it, kind = "forced-response" and its parameters.',
        )
    return content
