"""Yes/no designs as they are typed: NAME, or NAME:PARAMETER=VALUE,…"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from askance.channels import registry
from askance.channels.armed_design import ArmedDesign
from askance.channels.finite import FiniteChannel
from askance.channels.survey_designs import NO_YES
from askance.errors import InputError
from askance.planning.guessed_design import Guess, GuessedDesign
from askance.planning.yes_no import design_at_level, textbook_design, yes_no_kinds


def designs_of(
    texts: Sequence[str], privacy_level: str | None = None, guesses: Mapping[str, Guess] | None = None
) -> list[FiniteChannel | GuessedDesign]:
    """Yes/no designs, all of one privacy level or each as textbooks set it, unless its parameters are written.

    Args:
        texts: names, perhaps with parameters; none for all yes/no designs.
        privacy_level: of all of them.
        guesses: of what is hidden beside the trait, by designs with groups of their own; each takes what it needs.

    >>> designs_of(["warner:question=3/4", "direct"])
    [Warner(question='3/4', outputs=['no', 'yes']), Direct(outputs=['no', 'yes'])]
    """
    channels: list[FiniteChannel | GuessedDesign] = []
    for text in texts or yes_no_kinds():
        kind, colon, parameters = text.partition(":")
        if colon and privacy_level is not None:
            raise InputError(
                f"--design {text} has parameters, and --privacy-level {privacy_level} would replace them.",
                remedy="Give one of them.",
            )
        if colon or registry.entry(kind).family == "groups":
            channels.append(guessed(_build(kind, parameters), guesses or {}))
        elif kind == "direct":
            channels.append(registry.entry(kind).build({"outputs": list(NO_YES)}))
        elif kind == "randomized-response" and privacy_level is not None:
            channels.append(registry.entry(kind).build({"outputs": list(NO_YES), "privacy_level": privacy_level}))
        else:
            channels.append(textbook_design(kind) if privacy_level is None else design_at_level(kind, privacy_level))
    needed = {name for channel in channels if isinstance(channel, GuessedDesign) for name in channel.guesses}
    if unused := [name for name in guesses or {} if name not in needed]:
        raise InputError(
            f"--guess {unused[0]} is given, but no design has that; guesses that designs here need: "
            f"{', '.join(sorted(needed)) or 'none'}.",
            remedy="Leave it out, or name a design with groups.",
        )
    return channels


def guessed(design: FiniteChannel | ArmedDesign, guesses: Mapping[str, Guess]) -> FiniteChannel | GuessedDesign:
    """The design with those of the guesses that it needs."""
    if isinstance(design, FiniteChannel):
        return design
    names = [factor.name for factor in design.model(["Intercept"]).factors[1:]]
    return GuessedDesign(design, {name: guess for name, guess in guesses.items() if name in names})


def _build(kind: str, text: str) -> FiniteChannel | ArmedDesign:
    """A design with parameters written as NAME=VALUE, …; commas inside a value belong to it. None: as in a textbook."""
    entry = registry.entry(kind)
    kinds = {parameter.name: parameter.kind for parameter in entry.parameters}
    pairs: list[list[str]] = []
    for part in filter(None, text.split(",")):
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
    if not pairs:
        specified = dict(entry.examples[0])
    return registry.build_design({"kind": kind, **specified})
