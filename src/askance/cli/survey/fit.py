"""`askance fit`: a regression on noised answers, from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import askance as lib
from askance._checks import shorten
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON, confidence_option, option
from askance.cli.shared.printing import Text, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import PICTURE, OutputFile
from askance.cli.survey.saved_fits import TABLE_OPTION, keep_table
from askance.cli.survey.survey_options import DESIGN_SECTION, design_arguments, fit_survey, survey_options
from askance.errors import InputError, NotIdentifiedError

# What --json tells of a fit, and of each of its coefficients.
_ABOUT = ("method", "n", "privacy_level", "converged", "log_likelihood", "confidence", "messages")
_FIGURES = ("estimate", "std_error", "lower", "upper", "p_value")


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
    single quotes where it contains backticks.

    Below the coefficients stands the share of every answer (of yes, where there are two), with an interval for the
    population that the respondents were drawn from; where more is hidden than the answer, what else is hidden follows.

    Reports that have been added up to a state, without covariates, are for `askance estimate`.
    """
    from askance.formats import files

    with working() as doing:
        result = fit_survey(doing, **survey)
        hidden = isinstance(result, lib.HiddenFit)
        means = isinstance(result, lib.MeansFit)
        if means and (by or effects or contrasts or plot is not None):
            raise InputError(
                f"--by, --effects, --contrasts or --plot is given with --method {result.method}, which gives shares.",
                remedy="Leave these out, or take --method marginal.",
            )
        answer = result if means or not hidden else result.trait
        doing("averaging over respondents")
        shares = [] if means else _shares(answer, by, confidence)
        nuisances = _nuisances(result, confidence, all_of_them=means) if hidden else {}
        doing("comparing arms")
        arms = None if hidden else _arms(result, confidence)
        doing("testing the design")
        assert result.evidence is not None
        test = None if hidden else lib.channel_fit_test(result.evidence)  # hidden variables fit most reports
        changes = answer.marginal_effects(confidence=confidence) if effects else None
        gaps = [each.contrasts() for each in shares if each.by] if contrasts else []
        if save is not None:
            titled = [each.table() for each in shares]
            titled += [replace(each.table(), title=f"Shares of {name}") for name, each in nuisances.items()]
            others = [each for each in (*gaps, changes, arms, test) if each is not None]
            files.save(result.with_tables(*titled, *others), save)
        keep_table(result.table(confidence), table)
        if plot is not None:
            from askance.survey.plots import plot_coefficients

            doing("drawing")
            plot_coefficients(answer, plot, confidence)
    below = [f"\n{table.summary()}" for table in shares]
    below += [f"\n{gap.summary()}" for gap in gaps]
    below += [f"\n{name}, for these respondents as they are\n{table.summary()}" for name, table in nuisances.items()]
    if changes is not None:
        below.append(f"\n{changes.summary()}")
    if arms is not None:
        below.append(f"\n{arms.summary()}")
    if test is not None and test.p_value < 1:
        below.append(f"fit of the design: {test.shown_p_value}; {test.message}")
    content = result.to_json(confidence)
    named = zip(result.parameter_names, content["parameters"], strict=True)
    more = {
        "covariance": result.covariance_kind,
        "channel_test": None if test is None else test.to_json(),
        "coefficients": [{"name": name, **{key: row[key] for key in _FIGURES}} for name, row in named],
    }
    if shares:
        first, *others = shares
        more |= {"prevalence": first.to_json(), "prevalence_by": {str(table.by): table.to_json() for table in others}}
    if hidden:
        tables = nuisances if means else {answer.name: result.shares(answer.name, confidence=confidence), **nuisances}
        more["shares"] = {name: table.table().to_json()["rows"] for name, table in tables.items()}
    if contrasts:
        more["contrasts"] = [{"by": gap.by, **gap.to_json()} for gap in gaps]
    if changes is not None:
        more["effects"] = changes.to_json()
    if arms is not None:
        more["arms"] = arms.to_json()
    content = {key: value for key, value in content.items() if key in _ABOUT}
    show(Text(result.summary(confidence), {**content, **more}), below=below)


def _arms(fit: lib.RegressionFit, confidence: float) -> Any:
    """What every arm tells; None where there are none to compare, of which the messages of the fit speak."""
    if fit.evidence is None or len({chunk.arm for chunk in fit.evidence.chunks}) < 2:
        return None
    try:
        return lib.arm_agreement(fit, confidence=confidence)
    except NotIdentifiedError:
        return None


def _shares(fit: lib.RegressionFit, by: Sequence[str], confidence: float) -> list[Any]:
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


def _nuisances(fit: lib.HiddenFit, confidence: float, *, all_of_them: bool) -> dict[str, Any]:
    """The share of every value of every hidden variable but the first, which is the answer, or of all."""
    names = fit.variables if all_of_them else fit.variables[1:]
    return {name: fit.shares(name, confidence=confidence) for name in names}
