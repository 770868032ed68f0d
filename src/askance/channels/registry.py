"""The one list of channels: command-line flags, TOML files, documentation, certification and tests come from here.

A channel class joins with `@register(...)`, naming its parameters and a few examples. Whatever is generic over
channels asks `entries()`; nothing else keeps a list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from askance._checks import did_you_mean, shorten, shown
from askance._words import Argument, Either, words
from askance.categories import Categories, Label
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.channels.armed_design import ArmedDesign
    from askance.channels.described import Described
    from askance.channels.finite import FiniteChannel
    from askance.channels.statistics.base import StatisticsChannel

C = TypeVar("C", bound="type[Described]")
#: What is registered: channels that noise the answer itself (a `FiniteChannel`), or statistics of it (a
#: `StatisticsChannel`), and designs with groups of their own (a `ArmedDesign`), which have a channel for each.
Family: TypeAlias = Literal["answers", "statistics", "groups"]
AnyChannel: TypeAlias = "FiniteChannel | StatisticsChannel"
#: Parameter values of one example of a channel, used in documentation and in every inherited test.
Example: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class ParameterKind:
    """How a parameter is written on a command line, and how that text is read."""

    name: str
    placeholder: str
    read: Callable[[str], Any]
    syntax: str


def _read_row(text: str) -> list[str]:
    entries = [entry.strip() for entry in text.split(",")]
    if "" in entries:
        raise InputError(
            f"entry {entries.index('')} of {shown(text)} is empty; allowed: entries separated by single commas.",
            remedy="Take the extra comma or semicolon away, or fill the entry in.",
        )
    return entries


def _read_rows(text: str) -> list[list[str]]:
    return [_read_row(row) for row in text.split(";")]


def _read_labels(text: str) -> int | list[str]:
    if text.strip().startswith("["):
        raise InputError(
            f"{shown(text)} is written like a list; allowed: a number, or labels separated by commas.",
            remedy="Write no,yes, in quotes where labels have blanks.",
        )
    digits = text.strip().removeprefix("-")
    # Numbers beyond any limit are as good as the limit: reading thousands of digits is refused by Python itself.
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 100 else _read_row(text)


def _read_whole(text: str) -> int:
    entry = text.strip()
    if not (entry.isascii() and entry.isdecimal() and len(entry) < 19):
        raise InputError(
            f"{shown(text)} is no count; allowed: digits, at most 18 of them.", remedy="Write 4, for example."
        )
    return int(entry)


def _read_counts(text: str) -> list[int]:
    return [_read_whole(entry) for entry in _read_row(text)]


def _read_truth(text: str) -> bool:
    entry = text.strip().lower()
    if entry not in ("true", "false"):
        raise InputError(f"{shown(text)} is neither true nor false.", remedy="Write true or false.")
    return entry == "true"


def choice(name: str, *options: str) -> ParameterKind:
    """One of a few words."""
    return ParameterKind(name, "|".join(options), str.strip, " or ".join(options))


def _read_matrices(text: str) -> list[Any]:
    try:
        matrices = json.loads(text)
    except (ValueError, RecursionError):
        matrices = None
    if not isinstance(matrices, list):
        raise InputError(
            f"{shown(text)} is no JSON list; allowed: one entry per table, null or a matrix.",
            remedy='Write, for example, [null, [["3/4", "1/4"], ["1/4", "3/4"]]].',
        )
    return matrices


PROBABILITY = ParameterKind("probability", "P", str.strip, "a number, such as 0.25 or 1/4")
LEVEL = ParameterKind("level", "LEVEL", str.strip, "a positive number")
LABELS = ParameterKind("labels", "M|A,B,…", _read_labels, "a number, or labels separated by commas")
DISTRIBUTION = ParameterKind("distribution", "P,P,…", _read_row, "probabilities separated by commas")
MATRIX = ParameterKind("matrix", "P,P;P,P", _read_rows, "rows separated by semicolons, entries by commas")
COUNT = ParameterKind("count", "N", _read_whole, "a whole number")
NUMBER = ParameterKind("number", "X", str.strip, "a number, such as 2 or 3/2")
NUMBERS = ParameterKind("numbers", "X|X,X,…", _read_row, "one number, or one per statistic separated by commas")
COUNTS = ParameterKind("counts", "N,N,…", _read_counts, "whole numbers separated by commas")
CHOICE_OF_CALIBRATION = choice("calibration", "exact", "paper")
CHOICE_OF_STATISTICS = choice("statistics", "binary", "bounded")
TRUE_OR_FALSE = ParameterKind("true or false", "true|false", _read_truth, "true or false")
CHANCES = ParameterKind("chances", "P,P,…", _read_row, "a probability for every group, separated by commas")
NAMES = ParameterKind("names", "A,B,…", _read_row, "names separated by commas")
MATRICES = ParameterKind("matrices", "JSON", _read_matrices, "a JSON list, one matrix (a list of rows) or null each")
GROUPS = ParameterKind("groups", "A,B;C", _read_rows, "groups separated by semicolons, labels by commas")


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a channel."""

    name: str
    kind: ParameterKind
    description: str
    default: Any = REQUIRED
    symbol: str = ""  # what errors call it, where that is not its name

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


@dataclass(frozen=True)
class ChannelEntry:
    """A channel in the registry."""

    kind: str
    family: Family
    channel_class: type[Described]
    summary: str
    use: str
    parameters: tuple[Parameter, ...]
    examples: tuple[Example, ...]

    def build(self, values: Mapping[str, Any]) -> Any:
        """Build the channel from parameter values, refusing unknown and missing names."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in values:
            if name not in known:
                raise InputError(
                    f"{self.kind} has no parameter {shown(name)}; allowed: {', '.join(known)}.",
                    remedy=did_you_mean(name, known, f"See `askance channels {self.kind}`."),
                )
        for parameter in self.parameters:
            if parameter.required and values.get(parameter.name) is None:
                raise InputError(
                    words("{0} needs {1} ({2}).", self.kind, Argument(parameter.name), parameter.description),
                    remedy=f"Give it as {parameter.kind.syntax}; see `askance channels {self.kind}`.",
                )
        present = {name: value for name, value in values.items() if value is not None}
        make = getattr(self.channel_class, "from_parameters", self.channel_class)
        return make(**present)


_ENTRIES: dict[str, ChannelEntry] = {}


def register(
    *,
    summary: str,
    use: str,
    parameters: Sequence[Parameter],
    examples: Sequence[Example],
    family: Family = "answers",
) -> Callable[[C], C]:
    """Enter a channel class into the registry under its `kind`."""

    def enter(channel_class: C) -> C:
        kind = channel_class.kind
        _ENTRIES[kind] = ChannelEntry(kind, family, channel_class, summary, use, tuple(parameters), tuple(examples))
        return channel_class

    return enter


def entries(family: Family | None = "answers") -> tuple[ChannelEntry, ...]:
    """The registered channels on answers, on statistics, or (None) both; or the designs with "groups"; by name."""
    families = ("answers", "statistics") if family is None else (family,)
    return tuple(_ENTRIES[kind] for kind in sorted(_ENTRIES) if _ENTRIES[kind].family in families)


def designs() -> tuple[ChannelEntry, ...]:
    """What a survey may have been asked by: channels on answers, and designs with groups of their own."""
    return *entries(), *entries("groups")


def entry(kind: str) -> ChannelEntry:
    """The channel of that name."""
    if kind not in _ENTRIES:
        raise InputError(
            f"there is no channel {shown(kind)}; allowed: {', '.join(sorted(_ENTRIES))}.",
            remedy=did_you_mean(kind, _ENTRIES, "See `askance channels`."),
        )
    return _ENTRIES[kind]


def build_channel(specification: Mapping[str, Any]) -> AnyChannel:
    """Build a channel from its specification: {"kind": name, parameter: value, …}, the content of a TOML file.

    It may have a "purpose" beside the parameters, whatever the kind.

    >>> build_channel({"kind": "forced-response", "truth": "2/3", "yes": "1/6"}).matrix.round(4)
    array([[0.8333, 0.1667],
           [0.1667, 0.8333]])
    """
    if not isinstance(specification, Mapping):
        raise InputError(
            f"the specification is {shown(specification)}; allowed: a mapping.",
            remedy='Give one such as {"kind": "warner", "question": "2/3"}.',
        )
    if "kind" not in specification:
        raise InputError(
            f"the channel has no kind (found: {shorten(list(specification)) or 'nothing'}).",
            remedy=f"Add kind = one of {', '.join(sorted(_ENTRIES))}.",
        )
    values = dict(specification)
    registered = entry(str(values.pop("kind")))
    if registered.family == "groups":
        raise InputError(
            f"{registered.kind} has groups of its own, with a channel for each: it is no channel.",
            remedy=words("It is a design of {0}.", Either("build_design and regress", "`askance fit`, by --designs")),
        )
    purpose = values.pop("purpose", "")
    channel: AnyChannel = registered.build(values)
    return channel if purpose == "" else channel.for_purpose(purpose)


def build_design(specification: Mapping[str, Any]) -> FiniteChannel | ArmedDesign:
    """`build_channel` for surveys: a channel on answers, or a design with groups of its own.

    >>> build_design({"kind": "stochastic-lie-detector", "truth": ["1/5", "4/5"]}).arms[1].matrix[1].tolist()
    [0.8, 0.8, 0.0, 1.0]
    """
    kind = specification.get("kind") if isinstance(specification, Mapping) else None
    if not isinstance(kind, str) or kind not in _ENTRIES or _ENTRIES[kind].family != "groups":
        return build_answer_channel(specification)
    design: ArmedDesign = _ENTRIES[kind].build({name: v for name, v in specification.items() if name != "kind"})
    return design


def build_answer_channel(specification: Mapping[str, Any]) -> FiniteChannel:
    """`build_channel` where only a channel on answers will do."""
    from askance.channels.finite import FiniteChannel

    channel = build_channel(specification)
    if not isinstance(channel, FiniteChannel):
        raise InputError(
            f"{channel.kind} noises statistics, not answers.",
            remedy=f"Take one of {', '.join(known.kind for known in entries())}.",
        )
    return channel


def labels_as_json(categories: Categories) -> int | list[Label]:
    """How labels are written in a specification."""
    return len(categories) if categories.are_codes else list(categories.labels)
