"""`askance fit --state`: estimates from states that `askance aggregate` made."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.channels.differences import between_purposes, way_out
from askance.cli.shared.printing import print_json
from askance.cli.shared.progress import one_line_warnings, progress
from askance.cli.survey.estimate_tables import (
    finite,
    print_alarm,
    print_channel_test,
    print_rows,
    rows_as_json,
    test_as_json,
    title_of,
)
from askance.cli.survey.fit_unbiased import MANY_ANSWERS, UNBIASED, print_unbiased
from askance.errors import IncompatibleEvidenceError, InputError, NotIdentifiedError

if TYPE_CHECKING:
    from askance.estimation.results.fit import DistributionFit
    from askance.estimation.results.mean_statistics import MeanStatistics
    from askance.evidence import StatisticsTally, Tally
    from askance.models.enumerated import Enumerated


def fit_state(
    paths: Sequence[Path],
    purpose_of_unnamed: str,
    method: str | None,
    confidence: float,
    save: Path | None,
    plot: Path | None,
    names: str | None,
    model: Path | None,
    as_json: bool,
) -> None:
    """Print the shares of answers, or the means of statistics, that state files hold sums of; or fit a model to them.

    Args:
        paths: of the states.
        purpose_of_unnamed: of those that do not say theirs.
        method: the estimator; None for the one that fits.
        confidence: of the intervals.
        save: where the fit goes.
        plot: refused.
        names: what statistics are called.
        model: a JSON file of a model; None for shares as they are, or means.
        as_json: whether to print JSON.
    """
    from askance.evidence.tally import of_statistics
    from askance.models import Enumerated

    if plot is not None:
        raise InputError("--plot is given with --state.", remedy="Leave it out: pictures are of regressions.")
    if model is not None:
        if names is not None:
            raise InputError(
                "--names is given with --model.", remedy=f'Write "parameter_names" into {model}, or leave it out.'
            )
        _fit_model(model, read_states(paths, purpose_of_unnamed), method, confidence, save, as_json)
        return
    evidence = read_states(paths, purpose_of_unnamed)
    if of_statistics(evidence):
        _fit_means(evidence, method, confidence, save, names, as_json)
        return
    if names is not None:
        raise InputError("--names is given for a state of answers, which have names.", remedy="Leave it out.")
    many = len(evidence.channel.outputs) > MANY_ANSWERS and save is None
    try:
        if method == "unbiased" or (method is None and many):
            print_unbiased(evidence, method, confidence, save, as_json)
            return
        fit, told = _estimated(Enumerated.saturated(evidence.channel.outputs), evidence, method)
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            error.message, remedy="A model with fewer parameters may be possible: give it with --model model.json."
        ) from None
    _keep(fit, save)
    if as_json:
        found = _fit_as_json(fit, evidence, confidence)
        print_json({**found, "shares": _shares_as_json(fit, confidence), "warnings": told})
        return
    print_alarm(fit.alarm)
    _print_shares(title_of(evidence, fit.method), fit, confidence)
    _print_notes(fit, of_theta=False)
    print_channel_test(evidence, fit.alarm)


def _fit_means(
    evidence: StatisticsTally,
    method: str | None,
    confidence: float,
    save: Path | None,
    names: str | None,
    as_json: bool,
) -> None:
    from askance.estimation import estimate_mean

    if method not in (None, "moments", "unbiased"):
        raise InputError(
            f"--method is {method} for a state of noised statistics; allowed: moments, unbiased.",
            remedy="Leave --method out.",
        )
    if save is not None:
        raise InputError(
            "--save is given for a state of noised statistics.", remedy="Keep the state itself, or use --json."
        )
    with one_line_warnings() as told:
        means = _named(estimate_mean(evidence), names, evidence.channel.purpose)
    if as_json:
        print_json({**means.to_json(confidence), "channel_test": test_as_json(evidence), "warnings": told})
    else:
        if evidence.channel.purpose:
            click.echo(f"purpose: {evidence.channel.purpose}")
        click.echo(means.summary(confidence))
        print_channel_test(evidence, means.alarm)


# -- states ------------------------------------------------------------------------------------------------------------


def read_states(paths: Sequence[Path], purpose_of_unnamed: str = "") -> Tally | StatisticsTally:
    """One state out of one or several, all for one purpose.

    Tallies of answers are pooled, whatever their channels, for all have a likelihood; sums of noised statistics are
    added where they come from one channel. States that share a file of reports are refused.
    """
    from askance.evidence.tally import of_answers, of_statistics
    from askance.formats.source_digests import SeenSources

    found = [_read_state(path, purpose_of_unnamed) for path in paths]
    _refuse_repeated(paths)
    sources = SeenSources()
    for path, state in zip(paths, found, strict=True):
        sources.add(state.sources, path, "the reports of files in it")
    tallies = {path: state for path, state in zip(paths, found, strict=True) if of_answers(state)}
    sums = {path: state for path, state in zip(paths, found, strict=True) if of_statistics(state)}
    if tallies and sums:
        raise IncompatibleEvidenceError(
            f"{next(iter(tallies))} counts answers, {next(iter(sums))} holds sums of noised statistics.",
            remedy="Estimate from each alone.",
        )
    return _pooled(tallies) if tallies else _summed(sums)


def _pooled(tallies: dict[Path, Tally]) -> Tally:
    from askance.evidence import pool

    (start, first), *others = tallies.items()
    for path, tally in others:
        if tally.channel.outputs != first.channel.outputs:
            raise IncompatibleEvidenceError(
                f"{start} is about {first.channel.outputs.shown()}, {path} about {tally.channel.outputs.shown()}.",
                remedy="Only reports about the same answers, in the same order, are estimated together.",
            )
        if tally.channel.purpose != first.channel.purpose:
            one, other = first.channel.purpose, tally.channel.purpose
            raise IncompatibleEvidenceError(
                f"{start} is for the purpose {one or None!r}, {path} for {other or None!r}.",
                remedy=between_purposes(one, other),
            )
    return pool(list(tallies.values())) if others else first


def _summed(sums: dict[Path, StatisticsTally]) -> StatisticsTally:
    (start, first), *others = sums.items()
    for path, state in others:
        one, other = first.channel, state.channel
        if one.fingerprint != other.fingerprint:
            raise IncompatibleEvidenceError(
                f"{path} comes from another channel ({other.kind}, {other.fingerprint[:12]}…) than {start} "
                f"({one.kind}, {one.fingerprint[:12]}…).",
                remedy=way_out(other, one)
                or "Sums of noised statistics are added only where all come from one channel.",
            )
    return sum((state for _, state in others), first)


def _read_state(path: Path, purpose_of_unnamed: str) -> Tally | StatisticsTally:
    from askance.evidence import Tally
    from askance.formats import load

    state = load(path)
    if not isinstance(state, Tally):
        raise InputError(
            f"{path} holds a fit; allowed: a state of reports.", remedy="Make one with `askance aggregate REPORTS`."
        )
    return state if state.channel.purpose else state.for_purpose(purpose_of_unnamed)


def _refuse_repeated(paths: Sequence[Path]) -> None:
    """A state that is given twice would count twice."""
    for i, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:i]):
            raise InputError(f"--state {path} is given twice; its reports would count twice.", remedy="Give it once.")


def fit_field_of(
    paths: Sequence[Path],
    purpose_of_unnamed: str,
    variables: Path | None,
    method: str | None,
    confidence: float,
    save: Path | None,
    tables: Path | None,
    as_json: bool,
) -> None:
    """Fit a random field to states of clique release."""
    from askance.cli.survey.fit_field import fit_field
    from askance.evidence.tally import of_statistics

    evidence = read_states(paths, purpose_of_unnamed)
    if not of_statistics(evidence):
        raise InputError(
            f"{paths[0]} is no state of noised tables; allowed with --field: one of clique-release.",
            remedy="Leave --field out.",
        )
    fit_field(evidence, variables, method, confidence, save, tables, as_json)


# -- estimates ---------------------------------------------------------------------------------------------------------


def _fit_model(
    path: Path,
    evidence: Tally | StatisticsTally,
    method: str | None,
    confidence: float,
    save: Path | None,
    as_json: bool,
) -> None:
    """Fit the model that a JSON file describes, and print its parameters and the shares of its outputs."""
    from askance.planning.model_file import read_model

    model = read_model(path)
    if method is None and not _has_unbiased_beta(model, evidence):
        click.echo(
            f"askance: note: through {evidence.channel.kind} no unbiased β exists for this model, so that one-step and "
            "moments have nothing to start from: --method marginal is taken.",
            err=True,
        )
        method = "marginal"
    fit, told = _estimated(model, evidence, method)
    _keep(fit, save)
    if as_json:
        found = {**_fit_as_json(fit, evidence, confidence), "converged": bool(fit.converged)}
        parts = {"parameters": _parameters_as_json(fit, confidence), "shares": _shares_as_json(fit, confidence)}
        print_json({**found, "log_likelihood": finite(fit.log_likelihood), **parts, "warnings": told})
        return
    columns = (fit.model.parameter_names, fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
    print_alarm(fit.alarm)
    print_rows(title_of(evidence, fit.method), ("parameter", "estimate"), zip(*columns, strict=True), confidence)
    _print_shares("", fit, confidence)
    _print_notes(fit, of_theta=True)
    print_channel_test(evidence, fit.alarm)


def _has_unbiased_beta(model: Enumerated, evidence: Tally | StatisticsTally) -> bool:
    """Whether one-step and moments can be used; sums of noised statistics are moments already."""
    from askance.evidence.tally import of_answers

    if not of_answers(evidence):
        return True
    try:
        evidence.channel.observation_function(model)
    except NotIdentifiedError:
        return False
    return True


def _estimated(
    model: Enumerated, evidence: Tally | StatisticsTally, method: str | None
) -> tuple[DistributionFit, list[str]]:
    """The fit, and the warnings that came with it."""
    from askance.estimation import estimate

    with one_line_warnings() as told, progress() as doing:
        doing("fitting")
        fit = estimate(model, evidence, method)
    return fit, told


def _keep(fit: DistributionFit, path: Path | None) -> None:
    if path is not None:
        from askance.formats import save

        save(fit, path)


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


# -- what is printed ---------------------------------------------------------------------------------------------------


def _fit_as_json(fit: DistributionFit, evidence: Tally | StatisticsTally, confidence: float) -> dict[str, Any]:
    return {
        "channel": dict(fit.channel),
        "n": fit.n_observations,
        "privacy_level": finite(fit.privacy_level),
        "method": fit.method,
        "confidence": confidence,
        "alarm": fit.alarm or None,
        "messages": [*fit.alarms, *fit.diagnostics.messages],
        "channel_test": test_as_json(evidence),
    }


def _shares_as_json(fit: DistributionFit, confidence: float) -> list[dict[str, Any]]:
    """With the unbiased share where the fitted one was repaired."""
    rows = rows_as_json(("answer", "share"), _shares(fit, confidence))
    if fit.unbiased_shares is None:
        return rows
    return [{**row, "unbiased": float(raw)} for row, raw in zip(rows, fit.unbiased_shares[0], strict=True)]


def _parameters_as_json(fit: DistributionFit, confidence: float) -> list[dict[str, Any]]:
    columns = (fit.model.parameter_names, fit.theta, fit.standard_errors, *fit.confidence_interval(confidence))
    return rows_as_json(("name", "estimate"), zip(*columns, strict=True))


def _shares(fit: DistributionFit, confidence: float) -> list[tuple[Any, ...]]:
    """Label, estimate, standard error and interval of every output."""
    table = fit.probabilities(confidence)
    return list(zip(table.labels, table.estimate, table.standard_error, table.lower, table.upper, strict=True))


def _print_shares(title: str, fit: DistributionFit, confidence: float) -> None:
    """With the unbiased shares, from which errors and intervals are, where the fitted ones were repaired."""
    names, rows = ("answer", "share"), _shares(fit, confidence)
    if fit.unbiased_shares is None:
        print_rows(title, names, rows, confidence)
        return
    print_rows(title, names, rows, confidence, {"unbiased": fit.unbiased_shares[0]})
    click.echo(f"errors and intervals are of the unbiased shares: {UNBIASED}, and are then taken as 0")


def _print_notes(fit: DistributionFit, *, of_theta: bool) -> None:
    """What happened on the way; what is said of θ only where it is shown."""
    from askance.estimation.methods.moments import POSTERIOR_MESSAGE

    for message in fit.diagnostics.messages:
        if of_theta or fit.unbiased_shares is None or message != POSTERIOR_MESSAGE:
            click.echo(f"note: {message}")
