"""How estimates from states are shown: what was estimated, what to beware of, and whether the channel fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from askance.cli.shared.printing import print_json, show
from askance.cli.survey.estimate_tables import (
    finite,
    print_alarm,
    print_channel_test,
    print_rows,
    rows_as_json,
    test_as_json,
    title_of,
)

if TYPE_CHECKING:
    from askance.estimation.results.field_fit import FieldFit
    from askance.estimation.results.fit import DistributionFit
    from askance.estimation.results.linear_fit import LinearFit
    from askance.estimation.results.mean_statistics import MeanStatistics
    from askance.evidence import Tally

# What a reader of unbiased shares should know.
_UNBIASED = "they add up to 1, but those of rare answers may be below 0 by chance"
_SHARES, _PARAMETERS = ("answer", "share"), ("parameter", "estimate")


def show_estimate(
    result: FieldFit | LinearFit | MeanStatistics,
    evidence: Tally[Any],
    confidence: float,
    as_json: bool,
    told: list[str],
) -> None:
    """Print a result that has a table of its own, and whether its reports fit their channel."""
    show(result, as_json, confidence, **({"channel_test": test_as_json(evidence), "warnings": told} if as_json else {}))
    if not as_json:
        print_channel_test(evidence, result.alarm)


def show_fit(
    fit: DistributionFit,
    evidence: Tally[Any],
    confidence: float,
    as_json: bool,
    told: list[str],
    *,
    parameters: bool,
) -> None:
    """Print the shares of answers, and before them the parameters, where these are of a model of the user's own.

    Where shares were repaired, the unbiased ones stand beside them: errors and intervals are of those.
    """
    from askance.estimation.methods.moments import POSTERIOR_MESSAGE

    columns = (fit.model.parameter_names, fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
    of_theta = list(zip(*columns, strict=True)) if parameters else []
    table, unbiased = fit.probabilities(confidence), fit.unbiased_shares
    shares = list(zip(table.labels, table.estimate, table.standard_error, table.lower, table.upper, strict=True))
    if as_json:
        found = _head(fit, evidence, fit.method, confidence) | {"alarm": fit.alarm or None}
        found["messages"] = [*fit.alarms, *fit.diagnostics.messages]
        if parameters:
            found |= {"converged": bool(fit.converged), "log_likelihood": finite(fit.log_likelihood)}
            found["parameters"] = rows_as_json(("name", "estimate"), of_theta)
        rows = rows_as_json(_SHARES, shares)
        if unbiased is not None:
            rows = [{**row, "unbiased": float(raw)} for row, raw in zip(rows, unbiased[0], strict=True)]
        print_json({**found, "shares": rows, "warnings": told})
        return
    print_alarm(fit.alarm)
    title = title_of(evidence, fit.method)
    if parameters:
        print_rows(title, _PARAMETERS, of_theta, confidence)
    print_rows(
        "" if parameters else title,
        _SHARES,
        shares,
        confidence,
        None if unbiased is None else {"unbiased": unbiased[0]},
    )
    if unbiased is not None:
        click.echo(f"errors and intervals are of the unbiased shares: {_UNBIASED}, and are then taken as 0")
    for message in fit.diagnostics.messages:
        if parameters or unbiased is None or message != POSTERIOR_MESSAGE:  # said of θ only where it is shown
            click.echo(f"note: {message}")
    print_channel_test(evidence, fit.alarm)


def show_unbiased(
    means: MeanStatistics, evidence: Tally[Any], confidence: float, as_json: bool, told: list[str], notes: Sequence[str]
) -> None:
    """Print shares as they come out of the channel."""
    messages = [f"unbiased shares: {_UNBIASED}", *notes]
    columns = (evidence.channel.outputs.labels, means.mean, means.standard_errors)
    rows = list(zip(*columns, *means.confidence_interval(confidence), strict=True))
    if as_json:
        found = _head(means, evidence, "unbiased", confidence)
        found["messages"] = [means.alarm, *messages] if means.alarm else messages
        print_json({**found, "shares": rows_as_json(_SHARES, rows), "warnings": told})
        return
    print_alarm(means.alarm)
    print_rows(title_of(evidence, "unbiased"), _SHARES, rows, confidence)
    for message in messages:
        click.echo(f"note: {message}")
    print_channel_test(evidence, means.alarm)


def _head(
    result: DistributionFit | MeanStatistics, evidence: Tally[Any], method: str, confidence: float
) -> dict[str, Any]:
    """What was estimated from, for programs."""
    return {
        "channel": dict(result.channel),
        "n": result.n_observations,
        "privacy_level": finite(result.privacy_level),
        "method": method,
        "confidence": confidence,
        "channel_test": test_as_json(evidence),
    }
