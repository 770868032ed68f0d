"""Models described in JSON, for plans on the command line."""

from __future__ import annotations

from pathlib import Path

from askance._checks import did_you_mean, shown
from askance.errors import FormatError
from askance.formats.fields import describing, fields_of
from askance.models.enumerated import Enumerated

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
    fields = fields_of(path, "JSON", _WRITE)
    content = fields.content
    kind = content.pop("kind", None)
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise FormatError(
            f"kind in {path} is {'missing' if kind is None else shown(kind)}; allowed: {', '.join(_FIELDS)}.",
            remedy=did_you_mean(kind, _FIELDS, _WRITE),
        )
    fields.only(_FIELDS[kind])
    with describing(path, "a model"):
        if kind == "saturated":
            return Enumerated.saturated(fields.read("outputs", list))
        return Enumerated(fields.read("table", list), **{name: content[name] for name in content if name != "table"})
