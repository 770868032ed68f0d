"""Covariates and records that come as a data frame: columns are taken by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from askance._checks import did_you_mean, shown
from askance.errors import InputError


def columns_by_name(table: Any, names: Sequence[str]) -> Any:
    """The columns of those names where a table has names (a data frame), in that order; anything else as it is."""
    columns = getattr(table, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return table
    missing = [name for name in names if name not in columns]
    if missing:
        raise InputError(
            f"there is no column {shown(missing[0])}; found: {shown(list(columns))}.",
            remedy=did_you_mean(missing[0], list(columns), f"Give the columns {', '.join(names)}."),
        )
    return table[list(names)]
