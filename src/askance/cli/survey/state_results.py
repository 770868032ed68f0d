"""How estimates from states are shown: what was estimated, what to beware of, and whether the channel fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.printing import print_json, show

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.estimation.results.field_fit import FieldFit
    from askance.estimation.results.fit import DistributionFit
    from askance.estimation.results.linear_fit import LinearFit
    from askance.estimation.results.mean_statistics import MeanStatistics
    from askance.evidence import Tally
    from askance.tables import Table

# Below this p-value a test of the channel is shown.
_DOUBTFUL = 0.01
# What a reader of unbiased shares should know.
_UNBIASED = "they add up to 1, but those of rare answers may be below 0 by chance"


def show_estimate(
    result: FieldFit | LinearFit | MeanStatistics,
    evidence: Tally[Any],
    confidence: float,
    as_json: bool,
    told: list[str],
) -> None:
    """Print a result that has a table of its own, and whether its reports fit their channel."""
    more = {"channel_test": _test_as_json(evidence), "warnings": told} if as_json else {}
    show(result, as_json, confidence, **more)
    if not as_json:
        _print_channel_test(evidence, result.alarm)


def show_fit(
    fit: DistributionFit, evidence: Tally[Any], confidence: float, as_json: bool, told: list[str], *, parameters: bool
) -> None:
    """Print the shares of answers, and before them the parameters, where these are of a model of the user's own.

    Where shares were repaired, the unbiased ones stand beside them: errors and intervals are of those.
    """
    from askance.estimation.methods.moments import POSTERIOR_MESSAGE

    title, table, unbiased = _title(evidence, fit.method), fit.probabilities(confidence), fit.unbiased_shares
    of_shares = (table.labels, table.estimate, table.standard_error, table.lower, table.upper)
    shares = _table("" if parameters else title, ("answer", "share"), of_shares, confidence, unbiased and unbiased[0])
    of_theta = (fit.model.parameter_names, fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
    thetas = _table(title, ("parameter", "estimate"), of_theta, confidence, key="name") if parameters else None
    if as_json:
        found = {**_head(fit, evidence, fit.method, confidence), "alarm": fit.alarm or None}
        found["messages"] = [*fit.alarms, *fit.diagnostics.messages]
        if thetas is not None:
            found |= {"converged": bool(fit.converged), "log_likelihood": fit.log_likelihood}
            found["parameters"] = thetas.to_json()["rows"]
        _print_json({**found, "shares": shares.to_json()["rows"], "warnings": told})
        return
    said_of_theta = POSTERIOR_MESSAGE if thetas is None and unbiased is not None else ""
    of_errors = f"errors and intervals are of the unbiased shares: {_UNBIASED}, and are then taken as 0"
    notes = [f"note: {message}" for message in fit.diagnostics.messages if message != said_of_theta]
    tables = [shares] if thetas is None else [thetas, shares]
    _print(fit.alarm, tables, notes if unbiased is None else [of_errors, *notes], evidence)


def show_unbiased(
    means: MeanStatistics, evidence: Tally[Any], confidence: float, as_json: bool, told: list[str], notes: Sequence[str]
) -> None:
    """Print shares as they come out of the channel."""
    messages = [f"unbiased shares: {_UNBIASED}", *notes]
    columns = (
        evidence.channel.outputs.labels,
        means.mean,
        means.standard_errors,
        *means.confidence_interval(confidence),
    )
    shares = _table(_title(evidence, "unbiased"), ("answer", "share"), columns, confidence)
    if as_json:
        found = _head(means, evidence, "unbiased", confidence)
        found["messages"] = [means.alarm, *messages] if means.alarm else messages
        _print_json({**found, "shares": shares.to_json()["rows"], "warnings": told})
        return
    _print(means.alarm, [shares], [f"note: {message}" for message in messages], evidence)


def _table(
    title: str,
    names: tuple[str, str],
    columns: tuple[Any, ...],
    confidence: float,
    unbiased: FloatArray | None = None,
    *,
    key: str = "",
) -> Table:
    """Label, value, error and interval of every row, and the unbiased value where there is another."""
    from askance.tables import Column, Table, estimate_columns

    named = [Column(names[0], key=key), *estimate_columns(confidence, names[1], "decimal")]
    if unbiased is not None:
        named, columns = [*named, Column("unbiased", "decimal")], (*columns, unbiased)
    rows = list(zip(*columns, strict=True))
    return Table(named, rows, title=title, notes=[f"{100 * confidence:g} % intervals"], most_rows=len(rows))


def _title(evidence: Tally[Any], method: str) -> str:
    """What was estimated, from how many reports, and how."""
    from askance.evidence.pooled import PooledChannel

    channel = evidence.channel
    parts = channel.parts if isinstance(channel, PooledChannel) else (channel,)
    level = "none" if math.isinf(channel.privacy_level) else f"{channel.privacy_level:.4g}"
    reports = f"{evidence.n_observations:,} reports" + (f" through {len(parts)} channels" if len(parts) > 1 else "")
    kinds = ", ".join(dict.fromkeys(part.kind for part in parts))
    purpose = f", purpose {channel.purpose}" if channel.purpose else ""
    return f"{kinds}: {reports}, privacy level {level}, method {method}{purpose}"


def _head(
    result: DistributionFit | MeanStatistics, evidence: Tally[Any], method: str, confidence: float
) -> dict[str, Any]:
    """What was estimated from, for programs."""
    return {
        "channel": dict(result.channel),
        "n": result.n_observations,
        "privacy_level": result.privacy_level,
        "method": method,
        "confidence": confidence,
        "channel_test": _test_as_json(evidence),
    }


def _print(alarm: str, tables: Sequence[Table], lines: Sequence[str], evidence: Tally[Any]) -> None:
    """What a reader must know before any number, the numbers, and what is said of them."""
    if alarm:
        click.echo(f"ALARM: {alarm}\n")
    for table in tables:
        click.echo(f"{table}\n")
    for line in lines:
        click.echo(line)
    _print_channel_test(evidence, alarm)


def _print_json(content: dict[str, Any]) -> None:
    """What is not finite becomes null."""
    from askance.tables import as_json

    print_json(as_json(content))


def _test_as_json(evidence: Tally[Any]) -> dict[str, Any]:
    """Whether reports can have come through their channel: what is proved, without simulated surveys."""
    from askance.estimation import channel_fit_test

    return channel_fit_test(evidence, replicates=0).to_json()


def _print_channel_test(evidence: Tally[Any], alarm: str) -> None:
    """The same for people, where it is in doubt and no alarm has said so."""
    from askance.estimation import channel_fit_test

    test = channel_fit_test(evidence, replicates=0)
    if test.p_value < _DOUBTFUL and not alarm:
        click.echo(f"fit of the channel: {test.shown_p_value}; {test.message}")
