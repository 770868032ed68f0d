"""Models described in JSON, for plans on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from askance._checks import did_you_mean, shown
from askance.errors import FormatError, InputError
from askance.formats.disk import read_whole
from askance.formats.fields import Fields
from askance.models.enumerated import Enumerated

# Of a file, in bytes.
_LONGEST = 1 << 24
_FIELDS = {
    "enumerated": ("table", "outputs", "parameter_names", "log_base_measure"),
    "saturated": ("outputs",),
}
_WRITE = 'Write {"kind": "saturated", "outputs": ["no", "yes"]} or {"kind": "enumerated", "table": [[0, 1, 2]]}.'


def read_model(path: str | Path) -> Enumerated:
    """A model from its description.

    {"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]], "outputs": …, "parameter_names": …}, where all but
    the table may be left out, or {"kind": "saturated", "outputs": ["no", "maybe", "yes"]}.
    """
    try:
        content = json.loads(read_whole(path, limit=_LONGEST).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}).", remedy=_WRITE) from None
    if not isinstance(content, dict):
        raise FormatError(f"{path} holds {shown(content)}; allowed: an object.", remedy=_WRITE)
    kind = content.pop("kind", None)
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise FormatError(
            f"kind in {path} is {'missing' if kind is None else shown(kind)}; allowed: {', '.join(_FIELDS)}.",
            remedy=did_you_mean(kind, _FIELDS, _WRITE),
        )
    unknown = [name for name in content if name not in _FIELDS[kind]]
    if unknown:
        raise FormatError(
            f"{path} has {shown(unknown[0])}; allowed with {kind}: {', '.join(_FIELDS[kind])}.",
            remedy=did_you_mean(unknown[0], _FIELDS[kind], "Take it out, or correct it."),
        )
    fields = Fields(content, str(path))
    try:
        if kind == "saturated":
            return Enumerated.saturated(fields.read("outputs", list))
        return Enumerated(fields.read("table", list), **{name: content[name] for name in content if name != "table"})
    except InputError as error:
        raise FormatError(f"{path} does not describe a model: {error.message}", remedy=error.remedy) from None
    except FormatError as error:
        raise FormatError(error.message, remedy=_WRITE) from None
