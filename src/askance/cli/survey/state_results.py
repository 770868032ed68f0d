"""How estimates from states are shown: what was estimated, what to beware of, and whether the channel fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import askance as lib
from askance.cli.shared.printing import Text, show

if TYPE_CHECKING:
    from askance.estimation.results.mean_statistics import MeanStatistics
    from askance.tables import Table

# Below this p-value a test of the channel is shown.
_DOUBTFUL = 0.01
# What a reader of unbiased shares should know.
_UNBIASED = "they add up to 1, but those of rare answers may be below 0 by chance"


def show_estimate(
    result: lib.FieldFit | lib.LinearFit | MeanStatistics | Text,
    evidence: lib.Tally[Any],
    *confidence: float,
    alarm: str,
) -> None:
    """Print a result, and whether its reports fit their channel: told where it is in doubt and no alarm says so.

    What is tested is what is proved, without simulated surveys.
    """
    test = lib.channel_fit_test(evidence, replicates=0)
    doubt = [f"fit of the channel: {test.shown_p_value}; {test.message}"]
    below = doubt if test.p_value < _DOUBTFUL and not alarm else []
    show(result, *confidence, below=below, channel_test=test.to_json())


def show_fit(fit: lib.DistributionFit, evidence: lib.Tally[Any], confidence: float, *, parameters: bool) -> None:
    """Print the shares of answers, and before them the parameters, where these are of a model of the user's own.

    Where shares were repaired, the unbiased ones stand beside them: errors and intervals are of those.
    """
    from askance.estimation.methods.moments import POSTERIOR_MESSAGE
    from askance.tables import Column, Table, estimate_columns

    shares = fit.probabilities(confidence)
    tables, messages, notes = [shares.table()], fit.diagnostics.messages, []
    content: dict[str, Any] = {"alarm": fit.alarm or None, "messages": fit.messages}
    if parameters:
        figures = (fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
        columns = (Column("parameter", key="name"), *estimate_columns(confidence, kind="decimal"))
        rows = list(zip(fit.parameter_names, *figures, strict=True))
        tables.insert(0, Table(columns, rows, notes=tables[0].notes, most_rows=len(rows)))
        content |= {"converged": bool(fit.converged), "log_likelihood": fit.log_likelihood}
        content["parameters"] = tables[0].to_json()["rows"]
    if shares.unbiased is not None:
        notes = [f"errors and intervals are of the unbiased shares: {_UNBIASED}, and are then taken as 0"]
        if not parameters:  # which it is about
            messages = [message for message in messages if message != POSTERIOR_MESSAGE]
    notes += [f"note: {message}" for message in messages]
    _show_shares(fit, evidence, fit.method, confidence, tables, notes, content)


def show_unbiased(means: MeanStatistics, evidence: lib.Tally[Any], confidence: float, notes: Sequence[str]) -> None:
    """Print shares as they come out of the channel."""
    from askance.estimation import ProbabilityTable

    messages = [f"unbiased shares: {_UNBIASED}", *notes]
    interval = means.confidence_interval(confidence)
    labels = evidence.channel.outputs.labels
    shares = ProbabilityTable(labels, means.mean, means.standard_errors, *interval, confidence).table()
    content = {"messages": [*filter(None, [means.alarm]), *messages]}
    said = [f"note: {message}" for message in messages]
    _show_shares(means, evidence, "unbiased", confidence, [shares], said, content)


def _show_shares(
    result: lib.DistributionFit | MeanStatistics,
    evidence: lib.Tally[Any],
    method: str,
    confidence: float,
    tables: Sequence[Table],
    notes: Sequence[str],
    content: dict[str, Any],
) -> None:
    """What a reader must know before any number, tables of which the last has the shares, and what is said of them."""
    titled = [replace(tables[0], title=_title(evidence, method)), *tables[1:]]
    alarm = [f"ALARM: {result.alarm}\n"] if result.alarm else []
    text = "\n".join([*alarm, *(f"{table}\n" for table in titled), *notes])
    head = {
        "channel": result.channel,
        "n": result.n_observations,
        "privacy_level": result.privacy_level,
        "method": method,
        "confidence": confidence,
    }
    whole = Text(text, {**head, **content, "shares": tables[-1].to_json()["rows"]})
    show_estimate(whole, evidence, alarm=result.alarm)


def _title(evidence: lib.Tally[Any], method: str) -> str:
    """What was estimated, from how many reports, and how."""
    from askance.estimation.results.fit_table import level_text
    from askance.evidence.pooled import PooledChannel

    channel = evidence.channel
    parts = channel.parts if isinstance(channel, PooledChannel) else (channel,)
    reports = f"{evidence.n_observations:,} reports" + (f" through {len(parts)} channels" if len(parts) > 1 else "")
    kinds = ", ".join(dict.fromkeys(part.kind for part in parts))
    purpose = f", purpose {channel.purpose}" if channel.purpose else ""
    return f"{kinds}: {reports}, privacy level {level_text(channel.privacy_level)}, method {method}{purpose}"
