"""`askance fit --state STATE --field`: a random field from a state of noised tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.shared.printing import print_json
from askance.cli.shared.progress import one_line_warnings, progress
from askance.cli.shared.write_guards import refuse_inputs, refuse_precious, refuse_twice, require_writable
from askance.cli.survey.estimate_tables import print_channel_test, test_as_json

if TYPE_CHECKING:
    from askance.evidence import StatisticsTally


def fit_field(
    evidence: StatisticsTally,
    variables: Path | None,
    method: str | None,
    confidence: float,
    save: Path | None,
    tables: Path | None,
    as_json: bool,
) -> None:
    """Fit the field whose tables a state holds sums of; print it, keep the fit (`save`) and its tables.

    Args:
        evidence: the state.
        variables: a TOML file with names and labels of variables, and perhaps other cliques.
        method: "moments" (default), "ridge", "one-step" or "marginal".
        confidence: of the intervals.
        save: where the fit goes; `askance synth` reads it.
        tables: where the tables go: .csv or .json.
        as_json: whether to print JSON.
    """
    from askance.estimation.field import estimate_field
    from askance.formats.field_fit_file import field_for, write_field_tables
    from askance.formats.files import save as save_fit

    if tables is not None:
        require_writable(tables, "--tables", (".csv", ".json"))
        refuse_inputs(tables, [] if variables is None else [variables], "--tables")
        refuse_twice({"--save": save, "--tables": tables})
        refuse_precious(tables, "--tables")
    with one_line_warnings() as told, progress() as doing:
        doing("fitting the field")
        fit = estimate_field(field_for(evidence.channel, variables), evidence, method)  # type: ignore[arg-type]
    if save is not None:
        save_fit(fit, save)
    if tables is not None:
        write_field_tables(fit, tables, confidence)
    if as_json:
        print_json({**fit.to_json(confidence), "channel_test": test_as_json(evidence), "warnings": told})
    else:
        click.echo(fit.summary(confidence))
        print_channel_test(evidence, fit.alarm)
