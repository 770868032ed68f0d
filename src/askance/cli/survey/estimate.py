"""`askance estimate`: shares, means, models and random fields, from states that `askance aggregate` made."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import askance as lib
from askance.cli.shared.guided import command
from askance.cli.shared.options import (
    FILE,
    JSON,
    NAMES,
    PURPOSE_OF_UNNAMED_OPTION,
    confidence_option,
    method_option,
    option,
)
from askance.cli.shared.printing import wants_json
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import OutputFile
from askance.cli.survey.state_results import show_estimate, show_fit, show_unbiased
from askance.errors import InputError, NotIdentifiedError

if TYPE_CHECKING:
    from askance.estimation.results.mean_statistics import MeanStatistics

_METHODS = {
    "one-step": "as precise as the likelihood",
    "marginal": "maximum likelihood",
    "moments": "unbiased averages",
    "projection": "the closest distribution",
    "supervised": "where the truth was told",
    "unbiased": "shares as they come out of the channel: quick, and below 0 where an answer is rare",
    "ridge": "with --field",
}
_OF_MODELS = ("one-step", "marginal", "moments", "projection", "supervised")
# What is estimated, and the methods that it has.
_METHODS_OF = {
    "a field": ("moments", "ridge", "one-step", "marginal"),
    "a model": _OF_MODELS,
    "a state of noised statistics": ("moments", "unbiased"),
    "a state of answers": (*_OF_MODELS, "unbiased"),
}
_DEFAULTS = "  [default: one-step; moments for fields and statistics; unbiased for over 256 answers]"
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
@method_option(_METHODS, _DEFAULTS)
@confidence_option()
@option("--names A,B,…", "what the statistics are called, in the order of the channel", NAMES)
@PURPOSE_OF_UNNAMED_OPTION
@option("--save FILE", "keep the fit", OutputFile("fit"))
@option("--field", "fit a random field; the state is one of clique-release")
@option("--variables FILE", "with --field: the TOML file of names and labels that was planned with", FILE)
@option("--tables FILE", "with --field: where its tables go (.csv, .json)", OutputFile("text", ".csv", ".json"))
@JSON
def estimate_command(states: tuple[Path, ...], purpose_of_unnamed: str, confidence: float, **flags: Any) -> None:
    """Estimate from STATE, or from several together: what the respondents would have told without noise.

    States of answers give the share of every answer; those of several channels are pooled. States of statistics give
    their means. With --model the parameters of a model of one's own are fitted as well, with --field a random field.

    Private linear regressions are for `askance fit-linear`, tables with covariates for `askance fit`.
    """
    from askance.evidence.tally import of_statistics
    from askance.formats.states import read_states

    evidence = read_states(states, purpose_of_unnamed=purpose_of_unnamed)
    if flags["field"]:
        what, run = "a field", _field
    elif flags["model"] is not None:
        what, run = "a model", _model
    elif of_statistics(evidence):
        what, run = "a state of noised statistics", _means
    else:
        what, run = "a state of answers", _shares
    if flags["method"] not in (None, *_METHODS_OF[what]):
        raise InputError(
            f"--method is {flags['method']} for {what}; allowed: {', '.join(_METHODS_OF[what])}.",
            remedy="Leave --method out, or add --field." if flags["method"] == "ridge" else "Leave --method out.",
        )
    run(evidence, confidence, flags)


def _fitted(model: Any, evidence: lib.Tally[Any], method: str | None, save: Path | None) -> Any:
    """The fit, which is kept where that is asked for."""
    from askance.formats import files

    with working("fitting"):
        fit = lib.estimate(model, evidence, method)
    if save is not None:
        files.save(fit, save)
    return fit


def _field(evidence: lib.Tally[Any], confidence: float, flags: dict[str, Any]) -> None:
    """The random field whose tables a state holds sums of."""
    from askance.evidence.tally import of_statistics
    from askance.formats.field_fit_file import field_for, write_field_tables

    if not of_statistics(evidence):
        raise InputError(
            f"this is a state of {evidence.channel.kind}; allowed with --field: one of clique-release.",
            remedy="Leave --field out.",
        )
    fit = _fitted(field_for(evidence.channel, flags["variables"]), evidence, flags["method"], flags["save"])
    if flags["tables"] is not None:
        write_field_tables(fit, flags["tables"], confidence)
    show_estimate(fit, evidence, confidence, alarm=fit.alarm)


def _means(evidence: lib.Tally[Any], confidence: float, flags: dict[str, Any]) -> None:
    """The means of noised statistics."""
    if flags["save"] is not None:
        raise InputError(
            "--save is given for a state of noised statistics.", remedy="Keep the state itself, or use --json."
        )
    with working():
        means = _named(lib.estimate_mean(evidence), flags["names"], evidence.channel.purpose)
    if evidence.channel.purpose and not wants_json():
        click.echo(f"purpose: {evidence.channel.purpose}")
    show_estimate(means, evidence, confidence, alarm=means.alarm)


def _named(means: MeanStatistics, names: list[str] | None, purpose: str) -> MeanStatistics:
    """The means under names of the user's own, or those of the columns, where the purpose is a list of them."""
    columns = purpose.split(",")
    are_names = len(columns) == len(means.names) and ":" not in purpose and purpose != ""
    if names is None:
        return dataclasses.replace(means, names=tuple(columns)) if are_names else means
    if len(names) != len(means.names):
        raise InputError(
            f"--names has {len(names)} names; allowed: {len(means.names)}.", remedy="Name every statistic, in order."
        )
    if are_names and names != columns and set(names) == set(columns):
        raise InputError(
            f"--names is {','.join(names)}, and the reports are of the columns {purpose}, in this order.",
            remedy="Leave --names out.",
        )
    return dataclasses.replace(means, names=tuple(names))


def _shares(evidence: lib.Tally[Any], confidence: float, flags: dict[str, Any]) -> None:
    """The share of every answer: of the distribution that fits, or as it comes out of the channel."""
    if flags["names"] is not None:
        raise InputError("--names is given for a state of answers, which have names.", remedy="Leave it out.")
    method, save, outputs = flags["method"], flags["save"], evidence.channel.outputs
    many = method is None and save is None and len(outputs) > _MANY_ANSWERS
    try:
        if method != "unbiased" and not many:
            fit = _fitted(lib.Enumerated.saturated(outputs), evidence, method, save)
            show_fit(fit, evidence, confidence, parameters=False)
            return
        if save is not None:
            raise InputError(
                "--save is given for unbiased shares, which are no fit.", remedy="Keep the state itself, or use --json."
            )
        with working():
            means = lib.estimate_mean(evidence)
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            error.message, remedy="A model with fewer parameters may be possible: give it with --model model.json."
        ) from None
    many_answers = f"over {_MANY_ANSWERS} answers: a distribution of all of them takes minutes, with --method one-step"
    show_unbiased(means, evidence, confidence, [many_answers] if many else [])


def _model(evidence: lib.Tally[Any], confidence: float, flags: dict[str, Any]) -> None:
    """The model that a JSON file describes: its parameters, and the shares of its outputs."""
    from askance.planning.model_file import read_model

    model, method = read_model(flags["model"]), flags["method"]
    if method is None and not _has_unbiased_beta(model, evidence):
        click.echo(
            f"askance: note: through {evidence.channel.kind} no unbiased β exists for this model, so that one-step and "
            "moments have nothing to start from: --method marginal is taken.",
            err=True,
        )
        method = "marginal"
    show_fit(_fitted(model, evidence, method, flags["save"]), evidence, confidence, parameters=True)


def _has_unbiased_beta(model: lib.Enumerated, evidence: lib.Tally[Any]) -> bool:
    """Whether one-step and moments can be used; sums of noised statistics are moments already."""
    from askance.evidence.tally import of_answers

    if not of_answers(evidence):
        return True
    try:
        evidence.channel.observation_function(model)
    except NotIdentifiedError:
        return False
    return True
