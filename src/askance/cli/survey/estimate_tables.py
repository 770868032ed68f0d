"""Tables of estimates with their errors, printed or as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.printing import print_table

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.evidence import StatisticsTally, Tally


# Below this p-value a test of the channel is shown.
_DOUBTFUL = 0.01


def rows_as_json(names: tuple[str, str], rows: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
    """Objects of a label and numbers; what is not finite becomes null."""
    fields = (*names, "std_error", "lower", "upper")
    return [
        {field: value if field == names[0] else finite(value) for field, value in zip(fields, row, strict=True)}
        for row in rows
    ]


def print_rows(
    title: str,
    names: tuple[str, str],
    rows: Iterable[tuple[Any, ...]],
    confidence: float,
    beside: Mapping[str, FloatArray] | None = None,
) -> None:
    """Label, value, error and interval of every row; `beside` are further columns of numbers."""
    cells: list[tuple[str, ...]] = [
        (str(label), f"{v:.4f}", *_spread(error, low, high)) for label, v, error, low, high in rows
    ]
    for values in (beside or {}).values():
        cells = [(*row, f"{value:.4f}") for row, value in zip(cells, values, strict=True)]
    print_table(title, [*names, "std. error", f"{100 * confidence:g} % interval", *(beside or {})], cells)


def _spread(error: float, low: float, high: float) -> tuple[str, str]:
    """Standard error and interval; projections onto the edge of what is possible claim none."""
    if not math.isfinite(error):
        return "unknown", "unknown"
    return f"{error:.4f}", f"{low:.4f} … {high:.4f}"


def title_of(evidence: Tally | StatisticsTally, method: str) -> str:
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


def test_as_json(evidence: Tally | StatisticsTally) -> dict[str, Any]:
    """Whether reports can have come through their channel: what is proved, without simulated surveys."""
    from askance.estimation import channel_fit_test

    return channel_fit_test(evidence, replicates=0).to_json()


def print_channel_test(evidence: Tally | StatisticsTally, alarm: str) -> None:
    """Whether reports can have come through their channel, where that is in doubt and no alarm has said so."""
    from askance.estimation import channel_fit_test

    test = channel_fit_test(evidence, replicates=0)
    if test.p_value < _DOUBTFUL and not alarm:
        click.echo(f"fit of the channel: {test.shown_p_value}; {test.message}")


def finite(value: Any) -> float | None:
    """The number; None where JSON has no name for it."""
    number = float(value)
    return number if math.isfinite(number) else None
