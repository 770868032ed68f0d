"""`askance fit`: a regression on noised answers, from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON, confidence_option, option
from askance.cli.shared.printing import show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import PICTURE, OutputFile
from askance.cli.survey.saved_fits import TABLE_OPTION, keep_table
from askance.cli.survey.survey_options import DESIGN_SECTION, design_arguments, fit_survey, survey_options


@command(
    "fit",
    "Regress a hidden answer on covariates, from a table.",
    sections={DESIGN_SECTION: design_arguments()},
    needs={"contrasts": ("by",)},
    examples=[
        'askance fit survey.csv --formula "said ~ age + C(region)" --design forced-response --truth 2/3 --yes 1/6 '
        "--by region",
        'askance fit survey.csv --formula "said ~ age" --channel design.toml --save survey.fit --plot survey.png',
        'askance fit survey.csv --formula "said ~ age" --designs arms.toml --arm version',
        'askance fit list.csv --formula "count ~ age" --design list-experiment --items 3 --treated treat',
    ],
)
@survey_options
@confidence_option()
@option(
    "--save FILE",
    "keep the fit, with its formula, the levels of its columns and the tables printed below it; no respondents",
    OutputFile("fit"),
)
@option("--plot FILE", "draw the coefficients (.png, .svg, .pdf)", PICTURE)
@TABLE_OPTION
@option("--effects", "average effects of the variables of the formula too, in percentage points")
@option("--contrasts", "with --by: differences between the shares of its groups too")
@option("--by COLUMN", "shares by the groups of this column of the formula too (repeatable)", multiple=True)
@JSON
def fit_command(
    confidence: float,
    save: Path | None,
    plot: Path | None,
    table: Path | None,
    by: tuple[str, ...],
    *,
    effects: bool,
    contrasts: bool,
    **survey: Any,
) -> None:
    """Regress a hidden yes/no or categorical answer on covariates in the table DATA.

    DATA is .csv, .tsv or .json (also .gz, .bz2, .xz, .zip), .parquet, .dta or .sav; exports of Qualtrics, LimeSurvey
    and formr are read as they come. The formula names the column of reports, then ~, then the terms. Quote it with
    single quotes where it contains backticks. How people answered is told by one of --design, --channel, --designs and
    --codebook.

    Below the coefficients stands the share of every answer (of yes, where there are two), with an interval for the
    population that the respondents were drawn from; where more is hidden than the answer, what else is hidden follows.

    Reports that have been added up to a state, without covariates, are for `askance estimate`.
    """
    from askance.formats import files
    from askance.survey.fit_results import fit_results
    from askance.survey.plots import plot_coefficients

    with working() as doing:
        fit = fit_survey(doing, **survey)
        doing("averaging over respondents, testing the design")
        result = fit_results(fit, by=by, effects=effects, contrasts=contrasts, confidence=confidence)
        if plot is not None:
            doing("drawing")
            plot_coefficients(fit.trait, plot, confidence)
        if save is not None:
            files.save(result.kept, save)
        keep_table(result, table)
    show(result)
