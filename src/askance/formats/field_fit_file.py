"""Fitted random fields: their tables as CSV or JSON; and descriptions of fields as TOML."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from askance._checks import shown
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.errors import FormatError, InputError
from askance.estimation.results.field_fit import FieldFit
from askance.evidence.tally import Tally
from askance.formats.disk import write_whole
from askance.formats.fields import describing, fields_of
from askance.formats.files import load
from askance.models.random_field import RandomField
from askance.tables import as_json


def read_field_fit(path: str | Path) -> FieldFit:
    """Read a fitted field that `save` wrote; anything else is refused with a reason."""
    fit = load(path)
    if not isinstance(fit, FieldFit):
        what = "a state of reports" if isinstance(fit, Tally) else "the fit of another model"
        raise FormatError(
            f"{path} holds {what}; allowed: a fitted field.",
            remedy="Make one with `askance estimate STATE --field --save FIT`.",
        )
    return fit


# -- tables ------------------------------------------------------------------------------------------------------------


def write_field_tables(fit: FieldFit, path: str | Path, confidence: float = 0.95) -> None:
    """Write the fitted tables of all cliques: JSON where the name ends in .json, otherwise CSV with one row per cell.

    Columns: the number of the table, its variables and the labels of the cell (both joined by "|" in CSV), the fitted
    share with its error and interval, and the unbiased share where that table was measured.
    """
    rows: list[list[Any]] = []
    for number, (names, table) in enumerate(fit.tables(confidence).items()):
        unbiased = fit.unbiased(names).ravel().tolist()
        rows += [
            [number, names, labels, *numbers, before]
            for (labels, *numbers), before in zip(table.rows(), unbiased, strict=True)
        ]
    columns = ("table", "variables", "cell", "share", "std_error", "lower", "upper", "unbiased")
    if Path(path).suffix == ".json":
        content = [dict(zip(columns, as_json(row), strict=True)) for row in rows]
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1)
    else:
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            numbers = (repr(value) if math.isfinite(value) else "" for value in row[3:])
            writer.writerow([row[0], "|".join(row[1]), "|".join(map(str, row[2])), *numbers])
        text = buffer.getvalue()
    write_whole(path, text.encode("utf-8"))


# -- descriptions ------------------------------------------------------------------------------------------------------


def field_for(channel: StatisticsChannel, description: str | Path | None = None) -> RandomField:
    """The field whose tables a channel noises.

    Of clique release the channel knows sizes and cliques; a description adds names and labels, and may name other
    cliques. Other channels need both. A description is TOML:

        cliques = [["smokes", "age"], ["age", "ill"]]
        impossible = [{ smokes = "yes", age = "child" }]

        [variables]
        smokes = ["no", "yes"]
        age = ["child", "adult"]
        ill = 2

    >>> field_for(CliqueRelease([2, 3], [[0, 1]], 1))
    RandomField(2 variables, 1 cliques: 0–1)
    """
    content = {} if description is None else _read_description(description)
    variables, cliques = content.get("variables"), content.get("cliques")
    if isinstance(channel, CliqueRelease):
        variables = channel.tables.sizes if variables is None else variables
        cliques = channel.tables.cliques if cliques is None else cliques
    if variables is None or cliques is None:
        raise InputError(
            f"{channel.kind} does not know which variables its statistics are cells of.",
            remedy="Describe variables and cliques in a TOML file, or collect with clique-release.",
        )
    with nullcontext() if description is None else describing(description, "a field"):
        return RandomField(variables, cliques, impossible=content.get("impossible", ()))


def read_field(path: str | Path) -> RandomField:
    """The field of a description that has variables and cliques; see `field_for`."""
    content = _read_description(path)
    if "variables" not in content or "cliques" not in content:
        raise FormatError(
            f"{path} has {shown(list(content))}; allowed: variables and cliques.",
            remedy='Write cliques = [["smokes", "ill"]] and a table [variables].',
        )
    with describing(path, "a field"):
        return RandomField(content["variables"], content["cliques"], impossible=content.get("impossible", ()))


def _read_description(path: str | Path) -> Mapping[str, Any]:
    remedy = 'Write a table [variables] with lines such as smokes = ["no", "yes"].'
    fields = fields_of(path, "TOML", remedy).only(("variables", "cliques", "impossible"))
    if "variables" in fields.content:
        fields.read("variables", dict)
    return fields.content
