"""`askance fit`: a regression on noised answers, from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import shorten
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON, confidence_option, option
from askance.cli.shared.printing import print_json
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import PICTURE, OutputFile
from askance.cli.survey.survey_options import DESIGN_SECTION, design_arguments, fit_survey, survey_options
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.checks.channel_fit import ChannelTest
    from askance.estimation.results.regression_fit import RegressionFit
    from askance.estimation.results.results import Prevalence


@command(
    "fit",
    "Regress a hidden answer on covariates, from a table.",
    sections={DESIGN_SECTION: design_arguments()},
    examples=[
        'askance fit survey.csv --formula "said ~ age + C(region)" --design forced-response --truth 2/3 --yes 1/6 '
        "--by region",
        'askance fit survey.csv --formula "said ~ age" --channel design.toml --save survey.fit --plot survey.png',
    ],
)
@survey_options
@confidence_option()
@option(
    "--save FILE", "keep the fit, with its formula and the levels of its columns; no respondents", OutputFile("fit")
)
@option("--plot FILE", "draw the coefficients (.png, .svg, .pdf)", PICTURE)
@option("--by COLUMN", "shares by the groups of this column of the formula too (repeatable)", multiple=True)
@JSON
def fit_command(
    confidence: float, save: Path | None, plot: Path | None, by: tuple[str, ...], as_json: bool, **survey: Any
) -> None:
    """Regress a hidden yes/no or categorical answer on covariates in the table DATA.

    DATA is .csv or .tsv (also .gz, .bz2, .xz, .zip), .parquet, .dta or .sav. The formula names the column of reports,
    then ~, then the terms. Quote it with single quotes where it contains backticks.

    Below the coefficients stands the share of every answer (of yes, where there are two), with an interval for the
    population that the respondents were drawn from.

    Reports that have been added up to a state, without covariates, are for `askance estimate`.
    """
    from askance.estimation.checks.channel_fit import channel_fit_test
    from askance.estimation.results.fit import normal_quantile

    normal_quantile(confidence)  # refused before any work is done
    with working() as (told, doing):
        result = fit_survey(doing, **survey)
        doing("averaging over respondents")
        shares = _shares(result, by, confidence)
        doing("testing the design")
        assert result.evidence is not None
        test = channel_fit_test(result.evidence)
        if save is not None:
            from askance.formats import save as save_file

            save_file(result, save)
        if plot is not None:
            from askance.survey.plots import plot_coefficients

            doing("drawing")
            plot_coefficients(result, plot, confidence)
    if as_json:
        print_json(_as_json(result, shares, confidence, test, told))
        return
    click.echo(result.summary(confidence))
    for table in shares:
        click.echo(f"\n{table.summary()}")
    if test.p_value < 1:
        click.echo(f"fit of the design: {test.shown_p_value}; {test.message}")


def _shares(fit: RegressionFit, by: Sequence[str], confidence: float) -> list[Prevalence]:
    """Prevalence over all respondents, and by group where asked.

    The errors are those of the population: what a reader takes an interval of a survey for.
    """
    assert fit.design is not None
    names = list(fit.design.columns)
    for column in by:
        if column not in names:
            raise InputError(
                f"--by is {column!r}; allowed: {shorten(names) or 'no column, for the formula has none'}.",
                remedy="Put it into --formula: a model that does not know the groups cannot tell their shares apart.",
            )
    return [fit.prevalence(by=column, confidence=confidence, population=True) for column in (None, *dict.fromkeys(by))]


def _as_json(
    fit: RegressionFit, shares: Sequence[Prevalence], confidence: float, test: ChannelTest, told: list[str]
) -> dict[str, Any]:
    """What `--json` prints; what is not finite becomes null."""
    from askance.tables import as_json

    columns = (
        fit.model.parameter_names,
        fit.theta,
        fit.standard_errors,
        *fit.confidence_interval(confidence),
        fit.p_values,
    )
    fields = ("name", "estimate", "std_error", "lower", "upper", "p_value")
    found = {
        "method": fit.method,
        "n": fit.n_observations,
        "privacy_level": fit.privacy_level,
        "converged": bool(fit.converged),
        "log_likelihood": fit.log_likelihood,
        "covariance": fit.covariance_kind,
        "confidence": confidence,
        "messages": [*fit.alarms, *fit.diagnostics.messages],
        "channel_test": test.to_json(),
        "coefficients": [dict(zip(fields, row, strict=True)) for row in zip(*columns, strict=True)],
        "prevalence": shares[0].to_json(),
        "prevalence_by": {str(table.by): table.to_json() for table in shares[1:]},
        "warnings": told,
    }
    return as_json(found)  # type: ignore[no-any-return]
