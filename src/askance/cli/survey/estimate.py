"""`askance estimate`: shares, means, models and random fields, from states that `askance aggregate` made."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.devices.channel_options import PURPOSE_OF_UNNAMED_OPTION
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, confidence_option, option
from askance.cli.shared.progress import one_line_warnings, working
from askance.cli.shared.write_guards import OutputFile
from askance.cli.survey.state_results import show_estimate, show_fit, show_unbiased
from askance.errors import InputError, NotIdentifiedError

if TYPE_CHECKING:
    from askance.estimation.results.mean_statistics import MeanStatistics
    from askance.evidence import Tally
    from askance.models.enumerated import Enumerated

_METHODS = {
    "one-step": "as precise as the likelihood",
    "marginal": "maximum likelihood",
    "moments": "unbiased averages",
    "projection": "the closest distribution",
    "supervised": "where the truth was told",
    "unbiased": "shares as they come out of the channel: quick, and below 0 where an answer is rare",
    "ridge": "with --field",
}
# A distribution of more answers than this is not fitted unless asked for: time grows with the cube of their number.
_MANY_ANSWERS = 256


@command(
    "estimate",
    "Estimate from states of reports: shares, means, a model of one's own, or a random field.",
    sections={"A random field": ("field", "variables", "tables")},
    needs={"variables": ("field",), "tables": ("field",)},
    apart={"names": ("field", "model"), "model": ("field",)},
    examples=[
        "askance estimate telemetry.state",
        "askance estimate monday.state tuesday.state --model habits.json --save habits.fit",
        "askance estimate all.state --field --variables people.toml --tables tables.csv --save people.field",
    ],
)
@click.argument("states", metavar="STATE...", nargs=-1, required=True, type=FILE)
@option("--model FILE", "fit the model of this JSON file, as for `askance optimal` and `askance plan model`", FILE)
@option(
    "--method",
    "; ".join(f"{name}: {what}" for name, what in _METHODS.items())
    + "  [default: one-step; moments for fields and statistics; unbiased for over 256 answers]",
    click.Choice(list(_METHODS)),
)
@confidence_option()
@option("--names A,B,…", "what the statistics are called, in the order of the channel")
@PURPOSE_OF_UNNAMED_OPTION
@option("--save FILE", "keep the fit", OutputFile("fit"))
@option("--field", "fit a random field; the state is one of clique-release")
@option("--variables FILE", "with --field: the TOML file of names and labels that was planned with", FILE)
@option("--tables FILE", "with --field: where its tables go (.csv, .json)", OutputFile("text", ".csv", ".json"))
@JSON
def estimate_command(states: tuple[Path, ...], purpose_of_unnamed: str, confidence: float, **given: Any) -> None:
    """Estimate from STATE, or from several together: what the respondents would have told without noise.

    States of answers give the share of every answer; those of several channels are pooled. States of statistics give
    their means. With --model the parameters of a model of one's own are fitted as well, with --field a random field.

    Private linear regressions are for `askance fit-linear`, tables with covariates for `askance fit`.
    """
    from askance.estimation.results.fit import normal_quantile
    from askance.evidence.tally import of_statistics
    from askance.formats.states import read_states

    normal_quantile(confidence)  # refused before any work is done
    evidence = read_states(states, purpose_of_unnamed=purpose_of_unnamed)
    if given["field"]:
        _field(states[0], evidence, confidence, given)
    elif given["model"] is not None:
        _model(evidence, confidence, given)
    elif of_statistics(evidence):
        _means(evidence, confidence, given)
    else:
        _shares(evidence, confidence, given)


def _field(state: Path, evidence: Tally[Any], confidence: float, given: dict[str, Any]) -> None:
    """The random field whose tables a state holds sums of."""
    from askance.estimation.field import estimate_field
    from askance.evidence.tally import of_statistics
    from askance.formats.field_fit_file import field_for, write_field_tables
    from askance.formats.files import save

    if not of_statistics(evidence):
        raise InputError(
            f"{state} is no state of noised tables; allowed with --field: one of clique-release.",
            remedy="Leave --field out.",
        )
    with working("fitting the field") as (told, _):
        fit = estimate_field(field_for(evidence.channel, given["variables"]), evidence, given["method"])
    if given["save"] is not None:
        save(fit, given["save"])
    if given["tables"] is not None:
        write_field_tables(fit, given["tables"], confidence)
    show_estimate(fit, evidence, confidence, given["as_json"], told)


def _means(evidence: Tally[Any], confidence: float, given: dict[str, Any]) -> None:
    """The means of noised statistics."""
    from askance.estimation import estimate_mean

    if given["method"] not in (None, "moments", "unbiased"):
        raise InputError(
            f"--method is {given['method']} for a state of noised statistics; allowed: moments, unbiased.",
            remedy="Leave --method out.",
        )
    if given["save"] is not None:
        raise InputError(
            "--save is given for a state of noised statistics.", remedy="Keep the state itself, or use --json."
        )
    with one_line_warnings() as told:
        means = _named(estimate_mean(evidence), given["names"], evidence.channel.purpose)
    if evidence.channel.purpose and not given["as_json"]:
        click.echo(f"purpose: {evidence.channel.purpose}")
    show_estimate(means, evidence, confidence, given["as_json"], told)


def _named(means: MeanStatistics, names: str | None, purpose: str) -> MeanStatistics:
    """The means under names of the user's own, or those of the columns, where the purpose is a list of them."""
    columns = tuple(purpose.split(","))
    are_names = len(columns) == len(means.names) and ":" not in purpose and purpose != ""
    if names is None:
        return dataclasses.replace(means, names=columns) if are_names else means
    own = tuple(name.strip() for name in names.split(","))
    if len(own) != len(means.names):
        raise InputError(
            f"--names has {len(own)} names; allowed: {len(means.names)}.", remedy="Name every statistic, in order."
        )
    if are_names and own != columns and set(own) == set(columns):
        raise InputError(
            f"--names is {names}, and the reports are of the columns {purpose}, in this order.",
            remedy="Leave --names out.",
        )
    return dataclasses.replace(means, names=own)


def _shares(evidence: Tally[Any], confidence: float, given: dict[str, Any]) -> None:
    """The share of every answer: of the distribution that fits, or as it comes out of the channel."""
    from askance.estimation import estimate_mean
    from askance.models import Enumerated

    if given["names"] is not None:
        raise InputError("--names is given for a state of answers, which have names.", remedy="Leave it out.")
    many = given["method"] is None and given["save"] is None and len(evidence.channel.outputs) > _MANY_ANSWERS
    try:
        if given["method"] != "unbiased" and not many:
            _fit(Enumerated.saturated(evidence.channel.outputs), evidence, given["method"], confidence, given)
            return
        if given["save"] is not None:
            raise InputError(
                "--save is given for unbiased shares, which are no fit.", remedy="Keep the state itself, or use --json."
            )
        with one_line_warnings() as told:
            means = estimate_mean(evidence)
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            error.message, remedy="A model with fewer parameters may be possible: give it with --model model.json."
        ) from None
    many_answers = f"over {_MANY_ANSWERS} answers: a distribution of all of them takes minutes, with --method one-step"
    show_unbiased(means, evidence, confidence, given["as_json"], told, [many_answers] if many else [])


def _model(evidence: Tally[Any], confidence: float, given: dict[str, Any]) -> None:
    """The model that a JSON file describes: its parameters, and the shares of its outputs."""
    from askance.planning.model_file import read_model

    model, method = read_model(given["model"]), given["method"]
    if method is None and not _has_unbiased_beta(model, evidence):
        click.echo(
            f"askance: note: through {evidence.channel.kind} no unbiased β exists for this model, so that one-step and "
            "moments have nothing to start from: --method marginal is taken.",
            err=True,
        )
        method = "marginal"
    _fit(model, evidence, method, confidence, given)


def _has_unbiased_beta(model: Enumerated, evidence: Tally[Any]) -> bool:
    """Whether one-step and moments can be used; sums of noised statistics are moments already."""
    from askance.evidence.tally import of_answers

    if not of_answers(evidence):
        return True
    try:
        evidence.channel.observation_function(model)
    except NotIdentifiedError:
        return False
    return True


def _fit(model: Enumerated, evidence: Tally[Any], method: Any, confidence: float, given: dict[str, Any]) -> None:
    """Fit, keep and show."""
    from askance.estimation import estimate
    from askance.formats import save

    with working("fitting") as (told, _):
        fit = estimate(model, evidence, method)
    if given["save"] is not None:
        save(fit, given["save"])
    show_fit(fit, evidence, confidence, given["as_json"], told, parameters=given["model"] is not None)
