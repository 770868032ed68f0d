"""`askance fit`: a regression on noised answers, from a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import shorten
from askance.cli.devices.channel_options import PURPOSE_OF_UNNAMED_OPTION
from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.numbers import NUMBER
from askance.cli.shared.printing import print_json
from askance.cli.shared.progress import one_line_warnings, progress
from askance.cli.shared.write_guards import PICTURES, refuse_inputs, refuse_other, refuse_twice, require_writable
from askance.cli.survey.survey_options import (
    DESIGN_SECTION,
    design_arguments,
    fit_survey,
    flag_of_argument,
    survey_options,
)
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.checks.channel_fit import ChannelTest
    from askance.estimation.results.regression_fit import RegressionFit
    from askance.estimation.results.results import Prevalence


_METHODS = {
    "one-step": "as precise as the likelihood",
    "marginal": "maximum likelihood",
    "moments": "unbiased averages",
    "supervised": "where the truth was told (--design direct)",
    "projection": "with --state, the closest distribution",
    "unbiased": "with --state, shares as they come out of the channel: quick, and below 0 where an answer is rare",
    "ridge": "with --field",
}
_STATE = ("states", "purpose_of_unnamed", "model", "names", "field", "variables", "tables", "release")


@click.command(
    "fit",
    cls=GuidedCommand,
    short_help="Regress a hidden answer on covariates, or estimate from a state.",
    sections={"From a state, instead of DATA": _STATE, DESIGN_SECTION: design_arguments()},
    examples=[
        'askance fit survey.csv --formula "said ~ age + C(region)" --design forced-response --truth 2/3 --yes 1/6 '
        "--by region",
        "askance fit --state telemetry.state",
        "askance fit --state monday.state --state tuesday.state --model habits.json",
        "askance fit --state all.state --field --variables people.toml --tables tables.csv --save people.field",
        "askance fit --state all.state --release release.json",
    ],
)
@survey_options(_METHODS, "one-step; moments for fields and statistics; unbiased for over 256 answers")
@click.option(
    "--confidence",
    metavar="P",
    type=NUMBER,
    default=0.95,
    show_default=True,
    help="confidence of the intervals, above 0 and below 1",
)
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="keep the fit: coefficients and covariance, not the formula",
)
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="draw the coefficients (.png, .svg, .pdf)"
)
@click.option(
    "--by", metavar="COLUMN", multiple=True, help="shares by the groups of this column of the formula too (repeatable)"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="a state of `askance aggregate` (repeatable: answers of several channels are pooled)",
)
@PURPOSE_OF_UNNAMED_OPTION
@click.option(
    "--model",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="fit the model of this JSON file, as for `askance optimal` and `askance plan model`",
)
@click.option("--names", metavar="A,B,…", help="what the statistics are called, in the order of the channel")
@click.option("--field", is_flag=True, help="fit a random field; the state is one of clique-release")
@click.option(
    "--variables",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="with --field: the TOML file of names and labels that was planned with",
)
@click.option(
    "--tables", metavar="FILE", type=click.Path(path_type=Path), help="with --field: where its tables go (.csv, .json)"
)
@click.option(
    "--release",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="fit the private linear regression that `askance plan regression` wrote here",
)
def fit_command(
    confidence: float, save: Path | None, plot: Path | None, states: tuple[Path, ...], as_json: bool, **given: Any
) -> None:
    """Regress a hidden yes/no or categorical answer on covariates in the table DATA.

    DATA is .csv or .tsv (also .gz, .bz2, .xz, .zip), .parquet, .dta or .sav. The formula names the column of reports,
    then ~, then the terms. Quote it with single quotes where it contains backticks.

    Below the coefficients stands the share of every answer (of yes, where there are two), with an interval for the
    population that the respondents were drawn from.

    Or, without covariates, estimate from states of aggregated reports (--state): shares of answers, means of
    statistics, a model of one's own, a random field, or a private linear regression.
    """
    from askance.estimation.results.fit import normal_quantile

    # What is wrong is refused before any work is done.
    normal_quantile(confidence)
    of_states = {name: given.pop(name) for name in _STATE if name != "states"}
    _check_places(save, plot, [*states, *(path for path in (given["data"], *of_states.values()) if path)])
    _refuse_without_state(states, **of_states)
    if states:
        _refuse_beside_state(given)
        _fit_states(states, given["method"], confidence, save, plot, as_json, **of_states)
    else:
        _fit_table(confidence, save, plot, as_json, given)


def _check_places(save: Path | None, plot: Path | None, inputs: Sequence[object]) -> None:
    if plot is not None:
        require_writable(plot, "--plot", PICTURES)
    if save is not None:
        require_writable(save, "--save")
        refuse_inputs(save, [path for path in inputs if isinstance(path, Path)], "--save")
        refuse_other(save, "fit", "--save")
    refuse_twice({"--save": save, "--plot": plot})


def _fit_table(confidence: float, save: Path | None, plot: Path | None, as_json: bool, given: dict[str, Any]) -> None:
    """A regression on the answers of a table."""
    from askance.estimation.checks.channel_fit import channel_fit_test

    by = given.pop("by")
    with one_line_warnings() as told, progress() as doing:
        result = fit_survey(doing, **given)
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
        print_json({**fit_as_json(result, confidence, test), **_shares_as_json(shares), "warnings": told})
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


def _shares_as_json(shares: list[Prevalence]) -> dict[str, Any]:
    overall, *groups = shares
    return {"prevalence": overall.to_json(), "prevalence_by": {str(table.by): table.to_json() for table in groups}}


def _fit_states(
    states: tuple[Path, ...],
    method: str | None,
    confidence: float,
    save: Path | None,
    plot: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """A linear regression, a field, a model of answers, shares or means: whatever the flags of --state say."""
    from askance.cli.survey.fit_state import fit_field_of, fit_state

    names, model, unnamed = given["names"], given["model"], given["purpose_of_unnamed"]
    if given["release"] is not None:
        of_answers = {"names": names, "model": model, "purpose-of-unnamed": unnamed}
        _refuse_with_release(field=given["field"], save=save, plot=plot, method=method, **of_answers)
        from askance.cli.survey.fit_regression import fit_regression

        fit_regression(_only(states), given["release"], confidence, as_json)
    elif given["field"]:
        _refuse_for_field(names, plot, model)
        fit_field_of(states, unnamed, given["variables"], method, confidence, save, given["tables"], as_json)
    else:
        fit_state(states, unnamed, method, confidence, save, plot, names, model, as_json)


def _refuse_beside_state(given: dict[str, Any]) -> None:
    """Flags of regressions on a table."""
    others = [name for name, value in given.items() if value not in (None, (), "error") and name != "method"]
    if others:
        raise InputError(
            f"--state is given with {', '.join(map(flag_of_argument, others))}; allowed: --model, --method, "
            "--confidence, --save, --json.",
            remedy="A state knows its own channel; covariates need DATA and --formula.",
        )


def _only(states: tuple[Path, ...]) -> Path:
    if len(states) > 1:
        raise InputError(
            f"--state is given {len(states)} times with --release; allowed: once.",
            remedy=f"Add them up first: askance aggregate {' '.join(map(str, states))} -o all.state.",
        )
    return states[0]


def _refuse_without_state(states: tuple[Path, ...], **given: Any) -> None:
    """Flags that belong to --state, and to each other."""
    if given["names"] is not None and not states:
        raise InputError("--names is given without --state.", remedy="Regressions take names from the formula.")
    if given["purpose_of_unnamed"] and not states:
        raise InputError("--purpose-of-unnamed is given without --state.", remedy="Leave it out.")
    if given["model"] is not None and not states:
        raise InputError("--model is given without --state.", remedy="The model of a regression is its --formula.")
    field = given["field"]
    if ((given["variables"] or given["tables"]) and not field) or (field and not states):
        raise InputError(
            "--field, --variables and --tables belong together, and to --state.",
            remedy="Write --state FILE --field --variables people.toml.",
        )
    if given["release"] is not None and not states:
        raise InputError("--release is given without --state.", remedy="Give the state of its reports with --state.")


def _refuse_for_field(names: str | None, plot: Path | None, model: Path | None) -> None:
    for name, value, remedy in (
        ("--names", names, "Use --variables."),
        ("--plot", plot, "Leave it out."),
        ("--model", model, "The field is described by --variables."),
    ):
        if value is not None:
            raise InputError(f"{name} is given with --field.", remedy=remedy)


def _refuse_with_release(**given: Any) -> None:
    for name, value in given.items():
        if value:
            raise InputError(
                f"--{name} is given with --release; allowed: --confidence, --json.",
                remedy="Leave it out; --json prints all that is known, to be kept in a file.",
            )


def fit_as_json(fit: RegressionFit, confidence: float, test: ChannelTest) -> dict[str, Any]:
    """What `--json` prints; what is not finite becomes null."""
    lower, upper = fit.confidence_interval(confidence)
    columns = (fit.model.parameter_names, fit.theta, fit.standard_errors, lower, upper, fit.p_values)
    fields = ("name", "estimate", "std_error", "lower", "upper", "p_value")
    return {
        "method": fit.method,
        "n": fit.n_observations,
        "privacy_level": _finite(fit.privacy_level),
        "converged": bool(fit.converged),
        "log_likelihood": _finite(fit.log_likelihood),
        "covariance": fit.covariance_kind,
        "confidence": confidence,
        "messages": [*fit.alarms, *fit.diagnostics.messages],
        "channel_test": test.to_json(),
        "coefficients": [
            {field: value if field == "name" else _finite(value) for field, value in zip(fields, row, strict=True)}
            for row in zip(*columns, strict=True)
        ],
    }


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
