"""Files of designs with several arms, as TOML: a table for every arm, or one design with groups of its own.

    [dice]
    kind = "forced-response"
    truth = "2/3"
    yes = "1/6"

    [direct]
    kind = "direct"
    outputs = ["no", "yes"]

or `kind = "stochastic-lie-detector"` with its parameters, and such as `groups = ["a", "b"]`.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from askance._checks import one_of
from askance.categories import Label
from askance.channels.finite import FiniteChannel
from askance.channels.hidden_designs import (
    CheatingDetection,
    CrosswiseControl,
    StochasticLieDetector,
    UnrelatedQuestionUnknown,
)
from askance.channels.list_experiment import ListExperiment
from askance.channels.registry import build_answer_channel
from askance.errors import FormatError
from askance.formats.fields import Fields, describing, fields_of
from askance.survey.arms import ArmedDesign

#: Designs with groups of their own, by the kinds that files name.
ARMED_DESIGNS: dict[str, Any] = {
    "cheating-detection": CheatingDetection,
    "crosswise-control": CrosswiseControl,
    "list-experiment": ListExperiment,
    "stochastic-lie-detector": StochasticLieDetector,
    "unrelated-question-unknown": UnrelatedQuestionUnknown,
}


def read_designs(path: str | Path) -> dict[Label, FiniteChannel] | ArmedDesign:
    """The design of every arm, or the design with groups of its own, that a TOML file describes."""
    fields = fields_of(path, "TOML", 'Write, for example: [dice] and, below it, kind = "warner" and question = "2/3".')
    if "kind" in fields.content:
        return _armed(fields, path)
    arms: dict[Label, FiniteChannel] = {}
    for arm in fields.content:
        with describing(f"arm {arm!r} of {path}", "a design"):
            arms[arm] = build_answer_channel(_table(fields, arm))
    if not arms:
        raise FormatError(
            f"{path} describes no arm; allowed: a table for every arm.", remedy="Write [dice], and the design below it."
        )
    return arms


def _armed(fields: Fields, path: str | Path) -> ArmedDesign:
    kind = one_of(fields.read("kind", str), tuple(ARMED_DESIGNS), f"kind in {path}", "Or write a table for every arm.")
    design, known = ARMED_DESIGNS[kind], inspect.signature(ARMED_DESIGNS[kind]).parameters
    fields.only(("kind", *known))
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in fields.content:
            raise FormatError(f"{path} does not say {name!r} of the {kind}.", remedy=f"Add {name} = ….")
    with describing(path, f"a {kind}"):
        built: ArmedDesign = design(**{name: value for name, value in fields.content.items() if name != "kind"})
    return built


def _table(fields: Fields, arm: str) -> dict[str, Any]:
    content: dict[str, Any] = fields.content[arm]
    if not isinstance(content, dict) or "kind" not in content:
        raise FormatError(
            f"{fields.name} says no design of {arm!r}; allowed: a table with a kind.",
            remedy=f'Write [{arm}] and, below it, kind = "forced-response" and its parameters.',
        )
    return content
