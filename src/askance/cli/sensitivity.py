"""`askance sensitivity`: what the coefficients would be if the design was not what it seems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from askance.cli.output import print_json, print_table
from askance.cli.progress import one_line_warnings, progress
from askance.cli.survey_options import fit_survey, survey_options
from askance.errors import InputError


@click.command("sensitivity", short_help="Coefficients if the design was not what it seems.")
@click.option(
    "--share", multiple=True, metavar="P", help="share who ignore the device (repeatable)  [default: 2, 5, 10 %]"
)
@click.option(
    "--behaviour",
    multiple=True,
    type=click.Choice(["truth", "refuse", "random"]),
    help="what they do instead (repeatable)  [default: all three]",
)
@click.option(
    "--bias", multiple=True, metavar="NAME=SHIFT", help="a probability of the design that is off, as truth=-0.05"
)
@click.option("--coefficient", metavar="NAME", help="the coefficient to draw  [default: the first but the intercept]")
@click.option("--plot", metavar="FILE", type=click.Path(path_type=Path), help="picture of one coefficient")
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@survey_options
def sensitivity_command(
    share: tuple[str, ...],
    behaviour: tuple[Any, ...],
    bias: tuple[str, ...],
    coefficient: str | None,
    plot: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Fit the table DATA as planned, and as if some respondents had ignored the device or the device was biased.

    Example:

        askance sensitivity survey.csv --formula "said ~ age" --design warner --question 0.7 --share 0.1
    """
    from askance.survey.misfit import channel_fit_test
    from askance.survey.sensitivity import plot_sensitivity, sensitivity

    biases: dict[str, list[str]] = {}
    for text in bias:
        name, equals, shift = text.partition("=")
        if not equals:
            raise InputError(f"--bias is {text!r}; allowed: NAME=SHIFT.", remedy="Write, for example, truth=-0.05.")
        biases.setdefault(name.strip().replace("-", "_"), []).append(shift.strip())
    with one_line_warnings(), progress() as doing:
        planned = fit_survey(doing, **given)
        assert planned.evidence is not None
        doing("reading the answers in other ways")
        table = sensitivity(
            planned.model,
            planned.evidence,
            shares=share or ("0.02", "0.05", "0.1"),
            behaviours=behaviour or ("truth", "refuse", "random"),
            biases=biases,
            method=planned.method,
        )
        test = channel_fit_test(planned.evidence)
        if plot is not None:
            names = [name for name in table.parameter_names if not name.endswith("Intercept")] or table.parameter_names
            plot_sensitivity(table, coefficient or names[0], plot)
    if as_json:
        print_json({**table.to_json(), "channel_test": test.to_json()})
        return
    rows = [
        (scenario.name, *("not identified" if value != value else f"{value:.4f}" for value in estimates))
        for scenario, estimates in zip(table.scenarios, table.estimates(), strict=True)
    ]
    print_table("coefficients under other readings of the design", ["reading", *table.parameter_names], rows)
    click.echo(f"fit of the design: p = {test.p_value:.3g}; {test.message}")
