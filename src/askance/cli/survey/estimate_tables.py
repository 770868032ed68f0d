"""Tables of estimates with their errors, printed or as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.evidence import Tally
    from askance.tables import Table

# Below this p-value a test of the channel is shown.
_DOUBTFUL = 0.01


def rows_as_json(names: tuple[str, str], rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Objects of a label and numbers; what is not finite becomes null."""
    found: list[dict[str, Any]] = _table("", names, rows, 0.95).to_json()["rows"]
    return found


def print_rows(
    title: str,
    names: tuple[str, str],
    rows: Iterable[tuple[Any, ...]],
    confidence: float,
    beside: Mapping[str, FloatArray] | None = None,
) -> None:
    """Label, value, error and interval of every row; `beside` are further columns of numbers."""
    click.echo(f"{_table(title, names, rows, confidence, beside or {})}\n")


def _table(
    title: str,
    names: tuple[str, str],
    rows: Iterable[tuple[Any, ...]],
    confidence: float,
    beside: Mapping[str, FloatArray] | None = None,
) -> Table:
    from askance.tables import Column, Table, estimate_columns

    others = beside or {}
    columns = (Column(names[0]), *estimate_columns(confidence, names[1], "decimal"))
    cells = [(*row, *more) for row, *more in zip(rows, *others.values(), strict=True)]
    more_columns = (Column(name, "decimal") for name in others)
    notes = [f"{100 * confidence:g} % intervals"]
    return Table((*columns, *more_columns), cells, title=title, notes=notes, most_rows=len(cells))


def title_of(evidence: Tally[Any], method: str) -> str:
    """What was estimated, from how many reports, and how."""
    from askance.evidence.pooled import PooledChannel

    channel = evidence.channel
    parts = channel.parts if isinstance(channel, PooledChannel) else (channel,)
    level = "none" if math.isinf(channel.privacy_level) else f"{channel.privacy_level:.4g}"
    reports = f"{evidence.n_observations:,} reports" + (f" through {len(parts)} channels" if len(parts) > 1 else "")
    kinds = ", ".join(dict.fromkeys(part.kind for part in parts))
    purpose = f", purpose {channel.purpose}" if channel.purpose else ""
    return f"{kinds}: {reports}, privacy level {level}, method {method}{purpose}"


def print_alarm(alarm: str) -> None:
    """What a reader must know before any number."""
    if alarm:
        click.echo(f"ALARM: {alarm}\n")


def test_as_json(evidence: Tally[Any]) -> dict[str, Any]:
    """Whether reports can have come through their channel: what is proved, without simulated surveys."""
    from askance.estimation import channel_fit_test

    return channel_fit_test(evidence, replicates=0).to_json()


def print_channel_test(evidence: Tally[Any], alarm: str) -> None:
    """Whether reports can have come through their channel, where that is in doubt and no alarm has said so."""
    from askance.estimation import channel_fit_test

    test = channel_fit_test(evidence, replicates=0)
    if test.p_value < _DOUBTFUL and not alarm:
        click.echo(f"fit of the channel: {test.shown_p_value}; {test.message}")


def finite(value: Any) -> float | None:
    """The number; None where JSON has no name for it."""
    number = float(value)
    return number if math.isfinite(number) else None
