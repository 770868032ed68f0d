"""Files of fitted random fields: `field/1`; their tables as CSV or JSON; and descriptions of fields as TOML."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance._checks import shown
from askance.channels.registry import labels_as_json
from askance.channels.statistics.base import StatisticsChannel
from askance.channels.statistics.clique_release import CliqueRelease
from askance.errors import FormatError, InputError
from askance.estimation.results.field_fit import FieldDiagnostics, FieldFit
from askance.estimation.results.results import as_json
from askance.formats.container import MAGIC, pack, read_whole, unpack, write_whole
from askance.formats.fields import REWRITE, Fields
from askance.models.random_field import RandomField

FIELD_FORMAT = "field/1"

_BYTES = 8
# Of a description and of a fit, in bytes.
_LONGEST, _LONGEST_FIT = 1 << 24, 1 << 30


# -- fits --------------------------------------------------------------------------------------------------------------


def write_field_fit(fit: FieldFit, path: str | Path) -> None:
    """Write a fitted field to a file, whole or not at all."""
    write_whole(path, pack(*field_fit_to_parts(fit)))


def read_field_fit(path: str | Path) -> FieldFit:
    """Read what `write_field_fit` wrote; anything else is refused with a reason."""
    header, payload = unpack(read_whole(path, prefix=MAGIC, limit=_LONGEST_FIT), str(path))
    if header["askance"] != FIELD_FORMAT:
        raise FormatError(
            f"{path} has format {shown(header['askance'])}; allowed: {FIELD_FORMAT!r}, a fitted field.",
            remedy="Make one with `askance estimate STATE --field --save FIT`.",
        )
    return field_fit_from_parts(header, payload, str(path))


def field_fit_to_parts(fit: FieldFit) -> tuple[dict[str, Any], bytes]:
    """Header (the field, and how it was fitted) and payload: θ, the unbiased tables, their errors, the covariance.

    The payload is little-endian floats of 64 bits: a covariance has d² of them. It is left out where there is none.
    """
    field, has_covariance = fit.field, bool(np.isfinite(fit.covariance[0, 0]))
    labels = [known.labels for known in field.categories.values()]
    header = {
        "askance": FIELD_FORMAT,
        "variables": {name: labels_as_json(known) for name, known in field.categories.items()},
        "cliques": [list(clique) for clique in field.cliques],
        "impossible": [
            {field.variables[v]: labels[v][code] for v, code in assignment.items()} for assignment in field.impossible
        ],
        "largest_table": field.largest_table,
        "method": fit.method,
        "prior_scale": as_json(fit.prior_scale),
        "n": fit.n_observations,
        "privacy_level": as_json(fit.privacy_level),
        "converged": fit.converged,
        "log_likelihood": as_json(fit.log_likelihood),
        "measured": [list(names) for names in fit.measured],
        "channel": dict(fit.channel),
        "diagnostics": fit.diagnostics.to_json(),
        "raw_cells": len(fit.raw_statistics),
        "covariance": has_covariance,
        **({"alarm": fit.alarm} if fit.alarm else {}),
    }
    parts = [fit.theta, fit.raw_statistics, fit.raw_standard_errors]
    if has_covariance:
        parts.append(fit.covariance.ravel())
    return header, np.concatenate(parts).astype(f"<f{_BYTES}").tobytes()


def field_fit_from_parts(header: dict[str, Any], payload: bytes, name: str) -> FieldFit:
    """The fit that `field_fit_to_parts` wrote."""
    fields = Fields(header, name)
    try:
        field = RandomField(
            fields.read("variables", dict),
            fields.read("cliques", list),
            impossible=fields.read("impossible", list),
            largest_table=fields.read("largest_table", int),
        )
        measured = _read_measured(fields, field)
    except InputError as error:
        raise FormatError(f"{name} does not describe a field: {error.message}", remedy=REWRITE) from None
    cells, size = fields.read("raw_cells", int), field.dimension
    has_covariance = fields.read("covariance", bool)
    wanted = size + 2 * cells + (size**2 if has_covariance else 0)
    if len(payload) != wanted * _BYTES:
        raise FormatError(
            f"{name} announces {wanted} numbers of {_BYTES} bytes and holds {len(payload)} bytes; allowed: as many as "
            "announced.",
            remedy=REWRITE,
        )
    numbers: FloatArray = np.frombuffer(payload, dtype=f"<f{_BYTES}").astype(np.float64)
    if not np.isfinite(numbers).all():
        raise FormatError(f"{name} holds numbers that are not finite.", remedy=REWRITE)
    theta, raw, errors, rest = np.split(numbers, np.cumsum([size, cells, cells]))
    unknown = np.broadcast_to(np.float64(np.nan), (size, size))
    try:
        return FieldFit(
            model=field,
            theta=theta,
            covariance=rest.reshape(size, size) if has_covariance else unknown,
            method=fields.read("method", str),
            prior_scale=_or(fields, "prior_scale", math.inf),
            n_observations=fields.read("n", int),
            converged=fields.read("converged", bool),
            log_likelihood=_or(fields, "log_likelihood", -math.inf),
            measured=measured,
            raw_statistics=raw,
            raw_standard_errors=errors,
            channel=fields.read("channel", dict),
            privacy_level=_or(fields, "privacy_level", math.inf),
            diagnostics=_diagnostics(fields.inner("diagnostics")),
            alarm=fields.read("alarm", str) if "alarm" in header else "",
        )
    except InputError as error:
        raise FormatError(f"{name} does not describe a fitted field: {error.message}", remedy=REWRITE) from None


def _read_measured(fields: Fields, field: RandomField) -> tuple[tuple[str, ...], ...]:
    """Names of the variables of every measured table; together they must have the announced cells."""
    tables = fields.read("measured", list)
    sizes = dict(zip(field.variables, field.sizes, strict=True))
    known = all(isinstance(names, list) and all(isinstance(n, str) and n in sizes for n in names) for names in tables)
    if not known or sum(math.prod(sizes[name] for name in names) for names in tables) != fields.read("raw_cells", int):
        raise InputError(f"its measured tables are {shown(tables)}.", remedy=REWRITE)
    return tuple(tuple(names) for names in tables)


def _or(fields: Fields, field: str, otherwise: float) -> float:
    """A number; null stands for what JSON has no name for."""
    value: float | None = fields.read(field, float, optional=True)
    return otherwise if value is None else value


def _diagnostics(fields: Fields) -> FieldDiagnostics:
    given: dict[str, Any] = {}
    for each in dataclasses.fields(FieldDiagnostics):
        kind = type(each.default)
        value = fields.read(each.name, kind, optional=kind is float)
        given[each.name] = math.nan if value is None else value
    return FieldDiagnostics(**given)


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
            writer.writerow([row[0], "|".join(row[1]), "|".join(map(str, row[2])), *map(_csv_number, row[3:])])
        text = buffer.getvalue()
    write_whole(path, text.encode("utf-8"))


def _csv_number(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""


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
    given = {} if description is None else _read_description(description)
    variables, cliques = given.get("variables"), given.get("cliques")
    if isinstance(channel, CliqueRelease):
        variables = channel.tables.sizes if variables is None else variables
        cliques = channel.tables.cliques if cliques is None else cliques
    if variables is None or cliques is None:
        raise InputError(
            f"{channel.kind} does not know which variables its statistics are cells of.",
            remedy="Describe variables and cliques in a TOML file, or collect with clique-release.",
        )
    try:
        return RandomField(variables, cliques, impossible=given.get("impossible", ()))
    except InputError as error:
        if description is None:
            raise
        raise FormatError(f"{description} does not describe a field: {error.message}", remedy=error.remedy) from None


def read_field(path: str | Path) -> RandomField:
    """The field of a description that has variables and cliques; see `field_for`."""
    given = _read_description(path)
    if "variables" not in given or "cliques" not in given:
        raise FormatError(
            f"{path} has {shown(list(given))}; allowed: variables and cliques.",
            remedy='Write cliques = [["smokes", "ill"]] and a table [variables].',
        )
    try:
        return RandomField(given["variables"], given["cliques"], impossible=given.get("impossible", ()))
    except InputError as error:
        raise FormatError(f"{path} does not describe a field: {error.message}", remedy=error.remedy) from None


def _read_description(path: str | Path) -> Mapping[str, Any]:
    known = ("variables", "cliques", "impossible")
    data = read_whole(path, limit=_LONGEST)
    try:
        content = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{path} is not TOML ({error}).", remedy="Write a table [variables] with lines such as age = 3."
        ) from None
    unknown = [name for name in content if name not in known]
    if unknown:
        raise FormatError(
            f"{path} has {shown(unknown[0])}; allowed: {', '.join(known)}.", remedy="Take it out, or correct its name."
        )
    if not isinstance(content.get("variables", {}), dict):
        raise FormatError(
            f"variables in {path} is {shown(content['variables'])}; allowed: a table.",
            remedy='Write a table [variables] with lines such as smokes = ["no", "yes"].',
        )
    return content
