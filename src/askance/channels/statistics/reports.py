"""Reports of channels on statistics (see `askance.channels.reports`), and one of them as it stands in JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from askance._arrays import AnyArray
from askance.channels.reports import Column, Reports, require_reports

__all__ = ["Column", "Reports", "bits_as_json", "report_as_json", "require_reports"]


def bits_as_json(dense: AnyArray, width: int) -> str:
    """Bits (w,) of one report as they stand in JSON, `width` of them: in hexadecimal, the first is the lowest."""
    return np.packbits(dense, None, "little").tobytes().hex().ljust(2 * -(-width // 8), "0")


def report_as_json(kinds: Sequence[Column], columns: Mapping[str, AnyArray], row: int) -> dict[str, Any]:
    """One report as plain JSON values: bits in hexadecimal (the first bit is the lowest of the first byte)."""
    report: dict[str, Any] = {}
    for column in kinds:
        value = columns[column.name][row]
        if column.kind == "bits":
            report[column.name] = value.astype("<u8").tobytes()[: -(-column.width // 8)].hex()
        elif column.kind == "seed":
            report[column.name] = f"{int(value):016x}"
        else:
            report[column.name] = value.tolist()
    return report
