"""`askance fit --state`: estimates from a state that `askance aggregate` made."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.cli.output import print_json, print_table
from askance.cli.progress import one_line_warnings
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.fit import DistributionFit
    from askance.estimation.mean_statistics import MeanStatistics


def fit_state(
    path: Path,
    method: str | None,
    confidence: float,
    save: Path | None,
    plot: Path | None,
    names: str | None,
    as_json: bool,
) -> None:
    """Print the shares of answers, or the means of statistics, that a state file holds sums of."""
    from askance.estimation import estimate, estimate_mean
    from askance.evidence import StatisticsTally, Tally
    from askance.formats import load
    from askance.models import Enumerated

    if plot is not None:
        raise InputError("--plot is given with --state.", remedy="Leave it out: pictures are of regressions.")
    evidence = load(path)
    if isinstance(evidence, StatisticsTally):
        if method not in (None, "moments"):
            raise InputError(
                f"--method is {method} for a state of noised statistics; allowed: moments.",
                remedy="Leave --method out.",
            )
        if save is not None:
            raise InputError(
                "--save is given for a state of noised statistics.", remedy="Keep the state itself, or use --json."
            )
        _print_means(_named(estimate_mean(evidence), names), confidence, as_json)
        return
    if not isinstance(evidence, Tally):
        raise InputError(
            f"{path} holds a fit; allowed: a state of reports.", remedy="Make one with `askance aggregate REPORTS`."
        )
    if names is not None:
        raise InputError("--names is given for a state of answers, which have names.", remedy="Leave it out.")
    with one_line_warnings():
        fit = estimate(Enumerated.saturated(evidence.channel.outputs), evidence, method)
    if save is not None:
        from askance.formats import save as save_file

        save_file(fit, save)
    _print_shares(fit, confidence, as_json)


def fit_field_of(
    path: Path,
    variables: Path | None,
    method: str | None,
    confidence: float,
    save: Path | None,
    tables: Path | None,
    as_json: bool,
) -> None:
    """Fit a random field to a state of clique release."""
    from askance.cli.fit_field import fit_field
    from askance.evidence import StatisticsTally
    from askance.formats import load

    evidence = load(path)
    if not isinstance(evidence, StatisticsTally):
        raise InputError(
            f"{path} is no state of noised tables; allowed with --field: one of clique-release.",
            remedy="Leave --field out.",
        )
    fit_field(evidence, variables, method, confidence, save, tables, as_json)


def _named(means: MeanStatistics, names: str | None) -> MeanStatistics:
    """The means under names of the user's own."""
    if names is None:
        return means
    given = tuple(name.strip() for name in names.split(","))
    if len(given) != len(means.names):
        raise InputError(
            f"--names has {len(given)} names; allowed: {len(means.names)}.", remedy="Name every statistic, in order."
        )
    return dataclasses.replace(means, names=given)


def _print_means(means: MeanStatistics, confidence: float, as_json: bool) -> None:
    if as_json:
        print_json(means.to_json(confidence))
    else:
        click.echo(means.summary(confidence))


def _print_shares(fit: DistributionFit, confidence: float, as_json: bool) -> None:
    table = fit.probabilities(confidence)
    rows = list(zip(table.labels, table.estimate, table.standard_error, table.lower, table.upper, strict=True))
    level = fit.privacy_level if math.isfinite(fit.privacy_level) else None
    if as_json:
        fields = ("answer", "share", "std_error", "lower", "upper")
        shares: list[dict[str, Any]] = [
            {
                field: value if field == "answer" else float(value) if math.isfinite(value) else None
                for field, value in zip(fields, row, strict=True)
            }
            for row in rows
        ]
        print_json(
            {
                "channel": dict(fit.channel),
                "n": fit.n_observations,
                "privacy_level": level,
                "method": fit.method,
                "confidence": confidence,
                "messages": list(fit.diagnostics.messages),
                "shares": shares,
            }
        )
        return
    stated = "none" if level is None else f"{level:.4g}"
    title = f"{fit.channel['kind']}: {fit.n_observations:,} reports, privacy level {stated}, method {fit.method}"
    cells = [(str(label), f"{p:.4f}", f"{error:.4f}", f"{low:.4f} … {high:.4f}") for label, p, error, low, high in rows]
    print_table(title, ["answer", "share", "std. error", f"{100 * confidence:g} % interval"], cells)
    for message in fit.diagnostics.messages:
        click.echo(f"note: {message}")
