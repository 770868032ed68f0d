"""`askance fit --state STATE --release RELEASE`: a private linear regression from a state of its reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.shared.printing import print_json
from askance.cli.shared.progress import one_line_warnings, progress
from askance.cli.survey.estimate_tables import print_channel_test, test_as_json
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.scale_pilot import ScalePilot
    from askance.evidence import StatisticsTally


def fit_regression(state: Path, release: Path, confidence: float, as_json: bool) -> None:
    """Print the coefficients behind the reports of a release; of a pilot, the centres and scales it found.

    Args:
        state: sums of the reports.
        release: what devices did, a file of `askance plan regression`.
        confidence: of the intervals.
        as_json: whether to print JSON.
    """
    from askance.estimation.linear import estimate_linear
    from askance.estimation.scale_pilot import ScalePilot
    from askance.evidence.tally import of_statistics
    from askance.formats import load
    from askance.formats.release_file import read_release

    planned, evidence = read_release(release), load(state)
    if not of_statistics(evidence):
        raise InputError(
            f"{state} is no state of noised statistics; allowed with --release: one of the reports of {release}.",
            remedy="Make one with `askance aggregate REPORTS`.",
        )
    if isinstance(planned, ScalePilot):
        _print_scales(planned, evidence, as_json)
        return
    with one_line_warnings() as told, progress() as doing:
        doing("fitting")
        fit = estimate_linear(planned, evidence)
    if as_json:
        print_json({**fit.to_json(confidence), "channel_test": test_as_json(evidence), "warnings": told})
    else:
        click.echo(fit.summary(confidence))
        print_channel_test(evidence, fit.alarm)


def _print_scales(pilot: ScalePilot, evidence: StatisticsTally, as_json: bool) -> None:
    from askance.cli.shared.printing import print_table

    with one_line_warnings() as told:
        found = pilot.estimate(evidence)
    rows = list(zip(pilot.field.names, found.centres.tolist(), found.scales.tolist(), strict=True))
    if as_json:
        columns = [{"name": name, "centre": centre, "scale": scale} for name, centre, scale in rows]
        print_json({"model": "scale-pilot", "n": found.n_observations, "columns": columns, "warnings": told})
        return
    shown = [(name, f"{centre:.5g}", f"{scale:.5g}") for name, centre, scale in rows]
    print_table(f"pilot of {found.n_observations:,} reports", ["column", "centre", "scale"], shown)
