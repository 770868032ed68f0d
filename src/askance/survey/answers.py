"""Which report each value of a column stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from askance._arrays import AnyArray
from askance._checks import shorten
from askance.channels.finite import FiniteChannel
from askance.errors import InputError, LabelError
from askance.survey.tables import Column


def read_reports(column: Column, channel: FiniteChannel, positive: Any = None) -> tuple[AnyArray, str]:
    """Turn a column without missing values into labels of the channel's observations.

    Values that are the labels, whatever their type (1, 1.0 and "1") or capitals, stand for themselves. Otherwise, with
    two observations, `positive` stands for the second one and the other value for the first.

    Args:
        column: what was said.
        channel: the design of the survey.
        positive: the value that means the second observation (yes); default: 1, True or "yes".

    Returns:
        labels, shape (n,), and a sentence on the reading where it was not plain, otherwise "".
    """
    found = column.distinct()
    labels = list(channel.observations.labels)
    if positive is None:
        code_of = _by_labels(found, labels)
        if code_of is None:
            code_of = _by_default(column.name, found, labels)
            return _labels_of(column, code_of, channel), _told(column.name, code_of, labels)
        return _labels_of(column, code_of, channel), ""
    if len(labels) != 2:
        raise InputError(
            f"positive is {positive!r}, but the design has {len(labels)} reports ({shorten(labels)}).",
            remedy="Leave it out: the column must hold these labels.",
        )
    code_of = _by_positive(column.name, found, labels, positive)
    return _labels_of(column, code_of, channel), _told(column.name, code_of, labels)


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


def _same(value: Any) -> Any:
    return value


def _as_text(value: Any) -> Any:
    return str(value).strip().casefold()


def _folded(value: Any) -> Any:
    key = _key(value)
    return key.casefold() if isinstance(key, str) else key


def _by_labels(found: list[Any], labels: list[Any]) -> dict[Any, int] | None:
    """Codes of the values where all are labels: as they are, as numbers, or but for capitals."""
    for form in (_same, _key, _folded):
        codes = {form(label): code for code, label in enumerate(labels)}
        if len(codes) == len(labels) and all(form(value) in codes for value in found):
            return {value: codes[form(value)] for value in found}
    return None


def _by_default(name: str, found: list[Any], labels: list[Any]) -> dict[Any, int]:
    if len(labels) != 2:
        raise _refused(
            name, found, labels, "Recode the column, or give the design these labels (outputs, observations)."
        )
    yes = [value for value in found if _folded(value) in (1.0, "yes", "true")]
    if len(found) > 2:
        raise _refused(name, found, labels, "Leave out or recode the rows with other values.")
    if len(yes) != 1 or (_key(yes[0]) == 1.0 and any(_key(value) == 2.0 for value in found)):
        raise _refused(name, found, labels, f"Say which value means {labels[1]!r} by positive= (--positive).")
    return {value: int(value == yes[0]) for value in found}


def _by_positive(name: str, found: list[Any], labels: list[Any], positive: Any) -> dict[Any, int]:
    for form in (_same, _key, _folded, _as_text):
        yes = [value for value in found if form(value) == form(positive)]
        if len(yes) == 1:
            break
    else:
        raise _refused(name, found, labels, f"positive is {positive!r}: choose one of the values found.")
    if len(found) > 2:
        raise _refused(name, found, labels, "Leave out or recode the rows with other values.")
    return {value: int(value == yes[0]) for value in found}


def _refused(name: str, found: list[Any], labels: list[Any], remedy: str) -> LabelError:
    return LabelError(
        f"column {name!r} holds {shorten([_shown(value) for value in found])}; the reports of the design are "
        f"{shorten(labels)}.",
        remedy=remedy,
    )


def _shown(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _told(name: str, code_of: Mapping[Any, int], labels: list[Any]) -> str:
    said = ", ".join(f"{_shown(value)!r} is read as {labels[code]!r}" for value, code in code_of.items())
    return f"column {name!r}: {said}"


def _labels_of(column: Column, code_of: Mapping[Any, int], channel: FiniteChannel) -> AnyArray:
    if column.values.dtype == object:
        codes = np.fromiter(map(code_of.__getitem__, column.values.tolist()), dtype=np.int64, count=len(column.values))
    else:
        codes = np.zeros(len(column.values), dtype=np.int64)
        for value, code in code_of.items():
            codes[column.values == value] = code
    return channel.observations.decode(codes)
