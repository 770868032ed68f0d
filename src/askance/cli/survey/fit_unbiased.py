"""`askance fit --state … --method unbiased`: shares of answers as they come out of the channel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.shared.printing import print_json
from askance.cli.shared.progress import one_line_warnings
from askance.cli.survey.estimate_tables import (
    finite,
    print_alarm,
    print_channel_test,
    print_rows,
    rows_as_json,
    test_as_json,
    title_of,
)
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.evidence import Tally

#: A distribution of more answers than this is not fitted unless asked for: time grows with the cube of their number.
MANY_ANSWERS = 256
#: What a reader of such shares should know.
UNBIASED = "they add up to 1, but those of rare answers may be below 0 by chance"


def print_unbiased(evidence: Tally, method: str | None, confidence: float, save: Path | None, as_json: bool) -> None:
    """Shares as they come out of the channel."""
    from askance.estimation import estimate_mean

    if save is not None:
        raise InputError(
            "--save is given for unbiased shares, which are no fit.", remedy="Keep the state itself, or use --json."
        )
    with one_line_warnings() as told:
        means = estimate_mean(evidence)
    messages = [f"unbiased shares: {UNBIASED}"]
    if method is None:
        messages.append(
            f"over {MANY_ANSWERS} answers: a distribution of all of them takes minutes, with --method one-step"
        )
    columns = (evidence.channel.outputs.labels, means.mean, means.standard_errors)
    rows = list(zip(*columns, *means.confidence_interval(confidence), strict=True))
    if as_json:
        head = {
            "channel": dict(means.channel),
            "n": means.n_observations,
            "privacy_level": finite(means.privacy_level),
        }
        shares = rows_as_json(("answer", "share"), rows)
        print_json(
            {
                **head,
                "method": "unbiased",
                "confidence": confidence,
                "messages": [means.alarm, *messages] if means.alarm else messages,
                "channel_test": test_as_json(evidence),
                "shares": shares,
                "warnings": told,
            }
        )
        return
    print_alarm(means.alarm)
    print_rows(title_of(evidence, "unbiased"), ("answer", "share"), rows, confidence)
    for message in messages:
        click.echo(f"note: {message}")
    print_channel_test(evidence, means.alarm)
