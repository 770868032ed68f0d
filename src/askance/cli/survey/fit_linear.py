"""`askance fit-linear`: a private linear regression, from a state of its reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import askance as lib
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, confidence_option, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.survey.state_results import show_estimate
from askance.errors import InputError


@command(
    "fit-linear",
    "Fit a private linear regression to a state of its reports.",
    examples=[
        "askance fit-linear all.state --release release.json",
        "askance fit-linear pilot.state --release pilot.json",
    ],
)
@click.argument("states", metavar="STATE...", nargs=-1, required=True, type=FILE)
@option("--release FILE", "what devices did: the file of `askance plan regression`", FILE, required=True)
@confidence_option()
@JSON
def fit_linear_command(states: tuple[Path, ...], release: Path, confidence: float) -> None:
    """Fit the linear regression whose noised moments STATE holds sums of; several states are added up.

    Of a pilot (`askance plan regression --pilot`), print the centres and scales that it found.
    """
    from askance.evidence.tally import of_statistics
    from askance.formats.release_file import read_release
    from askance.formats.states import read_states

    planned, evidence = read_release(release), read_states(states)
    if not of_statistics(evidence):
        raise InputError(
            f"{states[0]} is no state of noised statistics; allowed: one of the reports of {release}.",
            remedy="Make one with `askance aggregate REPORTS`.",
        )
    if isinstance(planned, lib.ScalePilot):
        _show_scales(planned, evidence)
        return
    with working("fitting"):
        fit = lib.estimate(planned, evidence)
    show_estimate(fit, evidence, confidence, alarm=fit.alarm)


def _show_scales(pilot: lib.ScalePilot, evidence: lib.Tally[Any]) -> None:
    with working():
        scales = pilot.estimate(evidence)
    names, n = ("name", "centre", "scale"), scales.n_observations
    rows = list(zip(pilot.field.names, scales.centres.tolist(), scales.scales.tolist(), strict=True))
    content = {"model": "scale-pilot", "n": n, "columns": [dict(zip(names, row, strict=True)) for row in rows]}
    shown = [(name, f"{centre:.5g}", f"{scale:.5g}") for name, centre, scale in rows]
    show(Card(f"pilot of {n:,} reports", shown, content, ("column", *names[1:])))
