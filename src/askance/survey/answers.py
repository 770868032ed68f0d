"""Which report each value of a column stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten
from askance._words import words
from askance.channels.finite import FiniteChannel
from askance.errors import InputError, LabelError
from askance.survey.tables import Column, plain_value

# What means yes in a column, without capitals; True is 1.
_YES = {1.0, "yes", "true"}
_OTHERS = "Leave out or recode the rows with other values."


def read_reports(column: Column, channel: FiniteChannel, positive: Any = None) -> tuple[AnyArray, str]:
    """Turn a column without missing values into labels of the channel's observations.

    Values that are the labels, whatever their type (1, 1.0 and "1"), capitals or blanks around them, stand for
    themselves. Otherwise, with two observations, `positive` stands for the second one, in all its spellings, and the
    other value for the first. It must be named where the reports of the design are no answers: nobody knows whether a
    yes means "same" or "different".

    Args:
        column: what was said.
        channel: the design of the survey.
        positive: the value that means the second observation; default: 1, True or "yes" where that is a yes.

    Returns:
        labels, shape (n,), and a sentence on the values that are no labels as they are written, otherwise "".
    """
    values = column.distinct()
    labels = list(channel.observations.labels)
    if positive is None:
        code_of = codes_of(values, labels)
        if code_of is None:
            code_of = _by_default(column.name, values, channel)
    else:
        code_of = _by_positive(column.name, values, labels, positive)
    return _labels_of(column, code_of, channel), _told(column.name, code_of, labels)


def holds_reports(column: Column, channel: FiniteChannel) -> bool:
    """Whether all values of a column are labels of the channel's observations, in some spelling."""
    return codes_of(column.distinct(), list(channel.observations.labels)) is not None


def _key(value: Any) -> Any:
    """Numbers, and texts of numbers, as numbers; other texts without blanks at the ends."""
    if isinstance(value, str):
        text = value.strip()
        try:
            number = float(text)
        except ValueError:
            return text
        return number if np.isfinite(number) else text
    return float(value) if isinstance(value, (bool, int, float, np.generic)) else value


def _as_text(value: Any) -> Any:
    return str(value).strip().casefold()


def _folded(value: Any) -> Any:
    key = _key(value)
    return key.casefold() if isinstance(key, str) else key


def codes_of(values: list[Any], labels: list[Any]) -> dict[Any, int] | None:
    """Codes of the values where all are labels: as they are, as numbers, or but for capitals."""
    forms: tuple[Callable[[Any], Any], ...] = (lambda value: value, _key, _folded)
    for form in forms:
        codes = {form(label): code for code, label in enumerate(labels)}
        if len(codes) == len(labels) and all(form(value) in codes for value in values):
            return {value: codes[form(value)] for value in values}
    return None


def _by_default(name: str, values: list[Any], channel: FiniteChannel) -> dict[Any, int]:
    """Codes of two values of which one is a yes, for designs whose reports are answers."""
    labels = list(channel.observations.labels)
    if len(labels) != 2:
        strange = [value for value in values if codes_of([value], labels) is None]
        raise _refused(
            name,
            strange or values,
            labels,
            words("Recode the column, or give the design these labels ({outputs}, {observations}).")
            if len(strange) in (0, len(values))
            else _OTHERS,
        )
    kinds = {_folded(value) for value in values}
    if len(kinds) > 2:
        raise _refused(name, values, labels, _OTHERS)
    if channel.observations != channel.outputs and _folded(labels[1]) not in _YES:
        remedy = words("If it is the right column, say which value means {0} by {positive=…}.", repr(labels[1]))
        raise _refused(name, values, labels, remedy)
    yes = kinds & _YES
    if len(yes) != 1 or (1.0 in yes and 2.0 in kinds):
        raise _refused(name, values, labels, words("Say which value means {0} by {positive=…}.", repr(labels[1])))
    return {value: int(_folded(value) in yes) for value in values}


def _by_positive(name: str, values: list[Any], labels: list[Any], positive: Any) -> dict[Any, int]:
    """Codes of two values, in all their spellings, of which one was named."""
    if len(labels) != 2:
        raise InputError(
            f"is {positive!r}, but the design has {len(labels)} reports ({shorten(labels)})",
            argument="positive",
            remedy="Leave it out: the column must hold these labels.",
        )
    for form in (_folded, _as_text):
        if form(positive) in {form(value) for value in values}:
            break
    else:
        raise _refused(
            name, values, labels, words("{positive} is {0}: choose one of the values found.", repr(positive))
        )
    if len({form(value) for value in values}) > 2:
        raise _refused(name, values, labels, _OTHERS)
    return {value: int(form(value) == form(positive)) for value in values}


def _refused(name: str, values: list[Any], labels: list[Any], remedy: str) -> LabelError:
    return LabelError(
        f"column {name!r} holds {shorten([*map(plain_value, values)])}; the reports of the design are "
        f"{shorten(labels)}.",
        remedy=remedy,
    )


def _told(name: str, code_of: Mapping[Any, int], labels: list[Any]) -> str:
    """Which values are read as which labels, those apart that are written like them."""
    said, mark = [], ", "
    for code, label in enumerate(labels):
        read = [plain_value(value) for value, own in code_of.items() if own == code]
        values = [value for value in read if str(value) != str(label)]
        if len(values) > 1:
            mark = "; "
        if values:
            said.append(f"{shorten(values)} {'is' if len(values) == 1 else 'are'} read as {label!r}")
    return f"column {name!r}: {mark.join(said)}" if said else ""


def _labels_of(column: Column, code_of: Mapping[Any, int], channel: FiniteChannel) -> AnyArray:
    if column.values.dtype == object:
        codes = np.fromiter(map(code_of.__getitem__, column.values.tolist()), dtype=np.int64, count=len(column.values))
    else:
        codes = np.zeros(len(column.values), dtype=np.int64)
        for value, code in code_of.items():
            codes[column.values == value] = code
    return channel.observations.decode(codes)
