"""`askance fit`: a regression on noised answers, from a file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.output import print_json
from askance.cli.progress import one_line_warnings, progress
from askance.cli.survey_options import fit_survey, survey_options
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.regression_fit import RegressionFit
    from askance.survey.misfit import ChannelTest


@click.command("fit", short_help="Regress a hidden answer on covariates, or estimate from a state.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="of the intervals")
@click.option(
    "--save", metavar="FILE", type=click.Path(path_type=Path), help="keep coefficients and covariance (not the formula)"
)
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="picture of the coefficients (.png, .svg, .pdf)"
)
@click.option(
    "--state",
    "states",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="a state of `askance aggregate`, instead of DATA (repeatable: answers of several channels are pooled)",
)
@click.option(
    "--model",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="with --state: fit the model of this JSON file, as for `askance optimal` and `askance plan model`",
)
@click.option("--names", metavar="A,B,…", help="with --state: what the statistics are called")
@click.option("--field", is_flag=True, help="with --state of clique release: fit a random field")
@click.option(
    "--variables", metavar="FILE", type=click.Path(path_type=Path), help="with --field: TOML of names and labels"
)
@click.option(
    "--tables", metavar="FILE", type=click.Path(path_type=Path), help="with --field: where tables go (.csv, .json)"
)
@click.option(
    "--release",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="with --state: a linear regression, as `askance plan regression` planned it",
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@survey_options
def fit_command(
    confidence: float,
    save: Path | None,
    plot: Path | None,
    states: tuple[Path, ...],
    model: Path | None,
    names: str | None,
    field: bool,
    variables: Path | None,
    tables: Path | None,
    release: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Regress a hidden yes/no or categorical answer on covariates in the table DATA.

    DATA is .csv or .tsv (also .gz, .bz2, .xz, .zip), .parquet, .dta or .sav. The formula names the column of reports,
    then ~, then the terms. Quote it with single quotes where it contains backticks. Example:

        askance fit survey.csv --formula "said ~ age + C(region)" --design forced-response --truth 2/3 --yes 1/6

    Or, without covariates, print the shares of answers or the means of statistics behind aggregated reports:

        askance fit --state telemetry.state

    Answers that were given through different channels are estimated together, and to a model of one's own:

        askance fit --state monday.state --state tuesday.state --model habits.json

    With --field, a random field from a state of clique release; with --release, a private linear regression.
    """
    from askance.cli.outputs import PICTURES, require_writable
    from askance.estimation.fit import normal_quantile
    from askance.survey.misfit import channel_fit_test

    # What is wrong is refused before any work is done.
    normal_quantile(confidence)
    if plot is not None:
        require_writable(plot, "--plot", PICTURES)
    if save is not None:
        require_writable(save, "--save")
    of_states = {"model": model, "names": names, "field": field}
    of_states |= {"variables": variables, "tables": tables, "release": release}
    _refuse_without_state(states, **of_states)
    if states:
        _refuse_beside_state(given)
        _fit_states(states, given["method"], confidence, save, plot, as_json, **of_states)
        return
    with one_line_warnings(), progress() as doing:
        result = fit_survey(doing, **given)
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
        print_json(fit_as_json(result, confidence, test))
        return
    click.echo(result.summary(confidence))
    if test.p_value < 1:
        click.echo(f"fit of the design: p = {test.p_value:.3g}; {test.message}")


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
    from askance.cli.fit_state import fit_field_of, fit_state

    names, model = given["names"], given["model"]
    if given["release"] is not None:
        _refuse_with_release(field=given["field"], names=names, save=save, plot=plot, method=method, model=model)
        from askance.cli.fit_regression import fit_regression

        fit_regression(_only(states), given["release"], confidence, as_json)
    elif given["field"]:
        _refuse_for_field(names, plot, model)
        fit_field_of(states, given["variables"], method, confidence, save, given["tables"], as_json)
    else:
        fit_state(states, method, confidence, save, plot, names, model, as_json)


def _refuse_beside_state(given: dict[str, Any]) -> None:
    """Flags of regressions on a table."""
    others = [name for name, value in given.items() if value not in (None, "error") and name != "method"]
    if others:
        raise InputError(
            f"--state is given with {', '.join(others)}; allowed: --model, --method, --confidence, --save, --json.",
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
        "messages": list(fit.diagnostics.messages),
        "channel_test": test.to_json(),
        "coefficients": [
            {field: value if field == "name" else _finite(value) for field, value in zip(fields, row, strict=True)}
            for row in zip(*columns, strict=True)
        ],
    }


def _finite(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
