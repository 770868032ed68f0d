"""Yes/no designs as they are typed: NAME, or NAME:PARAMETER=VALUE,…"""

from __future__ import annotations

from collections.abc import Sequence

from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.survey_designs import NO_YES
from askance.errors import InputError
from askance.planning.yes_no import design_at_level, textbook_design, yes_no_kinds

_LISTS = (
    "Of the difference in means of two equal groups, the standard error is √(2 (2 v + π (1 − π)) / n), with v the "
    "variance of the number of other items and π the share."
)
_GROUPS = "Simulate some hundred surveys of the design at what you guess, and fit each: docs/surveys.md shows one."


def designs_of(texts: Sequence[str], privacy_level: str | None = None) -> list[FiniteChannel]:
    """Yes/no designs, all of one privacy level or each as textbooks set it, unless its parameters are written.

    Args:
        texts: names, perhaps with parameters; none for all yes/no designs.
        privacy_level: of all of them.

    >>> designs_of(["warner:question=3/4", "direct"])
    [Warner(question='3/4', outputs=['no', 'yes']), Direct(outputs=['no', 'yes'])]
    """
    channels = []
    for text in texts or yes_no_kinds():
        kind, colon, parameters = text.partition(":")
        if colon and privacy_level is not None:
            raise InputError(
                f"--design {text} has parameters, and --privacy-level {privacy_level} would replace them.",
                remedy="Give one of them.",
            )
        if registry.entry(kind).family == "groups":
            raise InputError(
                f"{kind} asks groups in different ways, which is not planned here.",
                remedy=_LISTS if kind == "list-experiment" else _GROUPS,
            )
        if colon:
            channels.append(_build(kind, parameters))
        elif kind == "direct":
            channels.append(registry.entry(kind).build({"outputs": list(NO_YES)}))
        elif kind == "randomized-response" and privacy_level is not None:
            channels.append(registry.entry(kind).build({"outputs": list(NO_YES), "privacy_level": privacy_level}))
        else:
            channels.append(textbook_design(kind) if privacy_level is None else design_at_level(kind, privacy_level))
    return channels


def _build(kind: str, text: str) -> FiniteChannel:
    """A design with parameters written as NAME=VALUE, …; commas inside a value belong to it."""
    entry = registry.entry(kind)
    kinds = {parameter.name: parameter.kind for parameter in entry.parameters}
    pairs: list[list[str]] = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            pairs.append([name.strip().replace("-", "_"), value])
        elif pairs:
            pairs[-1][1] += "," + part
        else:
            raise InputError(f"--design {kind}:{text}: {part!r} is no NAME=VALUE.", remedy="Write warner:question=2/3.")
    specified = {name: kinds[name].read(value) if name in kinds else value for name, value in pairs}
    if "outputs" in kinds:
        specified.setdefault("outputs", list(NO_YES))
    return registry.build_answer_channel({"kind": kind, **specified})
