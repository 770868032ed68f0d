"""What commands about a survey share: the data, the formula, the design, and the fit to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.cli.channel_options import build_from_flags, flag
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.regression_fit import RegressionFit

# The flags of these commands themselves; a parameter of a design with such a name is written --design-NAME.
_OWN = {
    *("formula", "design", "channel", "method", "positive", "missing", "cluster", "weights"),
    *("confidence", "save", "plot", "json", "help", "share", "behaviour", "bias", "coefficient"),
}
_METHODS = ("one-step", "moments", "marginal", "supervised", "ridge")


def _design_flag(name: str) -> str:
    """The flag of a parameter of a design on this command."""
    return flag(f"design_{name}") if name in _OWN else flag(name)


def _argument(name: str) -> str:
    return f"of_design_{name}"


def _design_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of all designs; texts are read when the design is known."""
    found: dict[str, list[tuple[registry.ChannelEntry, registry.Parameter]]] = {}
    for entry in registry.entries():
        for parameter in entry.parameters:
            found.setdefault(parameter.name, []).append((entry, parameter))
    for name, uses in reversed(found.items()):
        kinds = [entry.kind for entry, _ in uses]
        text = uses[0][1].description if len({use[1].description for use in uses}) == 1 else uses[-1][1].description
        where = ", ".join(kinds) if len(kinds) < 5 else f"{len(kinds)} designs"
        placeholder = uses[0][1].kind.placeholder
        option = click.option(_design_flag(name), _argument(name), metavar=placeholder, help=f"{where}: {text}")
        command = option(command)
    return command


def survey_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the data, the formula, the design with its flags, and how to fit."""
    missing = click.Choice(["error", "drop"])
    options: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("data", required=False, type=click.Path(path_type=Path)),
        click.option("--formula", metavar="FORMULA", help='"answer ~ age + I(age**2) + C(region)"'),
        click.option("--design", metavar="DESIGN", help="how the answers were given; see `askance channels`"),
        click.option(
            "--channel", metavar="FILE", type=click.Path(path_type=Path), help="TOML file of any channel, for --design"
        ),
        click.option("--method", type=click.Choice(_METHODS), help="the estimator (ridge: fields) [default: one-step]"),
        click.option("--positive", metavar="VALUE", help='the report that means yes  [default: 1, True, "yes"]'),
        click.option("--missing", type=missing, default="error", show_default=True, help="rows with gaps"),
        click.option("--cluster", metavar="COLUMN", help="groups whose answers may depend on each other"),
        click.option("--weights", metavar="COLUMN", help="sampling weights"),
        _design_options,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def fit_survey(doing: Callable[[str], None], **given: Any) -> RegressionFit:
    """Fit what the options of `survey_options` describe."""
    from askance.survey import read_table, regress

    flags = {name: given.pop(name) for name in list(given) if name.startswith(_argument(""))}
    data, formula = given.pop("data"), given.pop("formula")
    given["method"] = given["method"] or "one-step"
    for value, name, remedy in (
        (data, "DATA", "Name the file of answers."),
        (formula, "--formula", 'Write --formula "answer ~ age + C(region)".'),
    ):
        if value is None:
            raise InputError(f"{name} is missing.", remedy=remedy)
    design = {name.removeprefix(_argument("")): value for name, value in flags.items()}
    channel = _read_design(given.pop("design"), given.pop("channel"), design)
    doing(f"reading {data}")
    table = read_table(data)
    doing(f"fitting {len(table):,} rows by {given['method']}")
    return regress(formula, table, channel, **given)


def _read_design(kind: str | None, path: Path | None, given: dict[str, Any]) -> FiniteChannel:
    """The channel of --design and its flags, or of --channel."""
    given = {name: value for name, value in given.items() if value is not None}
    if (kind is None) == (path is None):
        raise InputError(
            f"{'neither' if kind is None else 'both'} of --design and --channel is given; allowed: one of them.",
            remedy=f"Designs: {', '.join(entry.kind for entry in registry.entries())}.",
        )
    if path is not None:
        from askance.formats import read_answer_channel

        if given:
            raise InputError(
                f"{', '.join(map(_design_flag, given))} belong to --design, not to --channel.",
                remedy=f"Write the parameters into {path}.",
            )
        return read_answer_channel(path)
    entry = registry.entry(str(kind))
    known = {parameter.name: parameter for parameter in entry.parameters}
    foreign = [_design_flag(name) for name in given if name not in known]
    if foreign:
        raise InputError(
            f"{entry.kind} has no {', '.join(foreign)}; allowed: {', '.join(map(_design_flag, known))}.",
            remedy=f"See `askance channels {entry.kind}`.",
        )
    read = {name: known[name].kind.read(text) for name, text in given.items()}
    built: FiniteChannel = build_from_flags(entry, read)
    return built
