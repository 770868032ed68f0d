"""What commands about a survey share: the data, the formula, the design, and the fit to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import did_you_mean
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.cli.devices.channel_options import build_from_flags, flag
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.results.regression_fit import RegressionFit

# The flags of these commands themselves; a parameter of a design with such a name is written --design-NAME.
_OWN = {
    *("formula", "design", "channel", "method", "positive", "missing", "cluster", "weights"),
    *("confidence", "save", "plot", "json", "help", "share", "behaviour", "bias", "coefficient"),
    *("by", "refuse_as"),
}
#: The section of the help with the parameters of all designs.
DESIGN_SECTION = "Parameters of the design; `askance channels DESIGN` explains them"


def design_arguments() -> list[str]:
    """What the parameters of all designs are called inside."""
    return list(dict.fromkeys(_argument(each.name) for entry in registry.entries() for each in entry.parameters))


def flag_of_argument(name: str) -> str:
    """What a user types for an argument of these commands.

    >>> flag_of_argument("of_design_truth"), flag_of_argument("formula"), flag_of_argument("data")
    ('--truth', '--formula', 'DATA')
    """
    if name == "data":
        return "DATA"
    inner = name.removeprefix(_argument(""))
    return flag(name) if inner == name else _design_flag(inner)


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
        where = ", ".join(kinds) if len(kinds) < 5 else "most designs"
        placeholder = uses[0][1].kind.placeholder
        option = click.option(_design_flag(name), _argument(name), metavar=placeholder, help=f"{where}: {text}")
        command = option(command)
    return command


def survey_options(
    methods: dict[str, str], default: str = "one-step"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the data, the formula, the design with its flags, and how to fit.

    Args:
        methods: the estimators of the command, and what each is.
        default: which is taken, in words.
    """
    explained = "; ".join(f"{name}: {what}" for name, what in methods.items())
    options: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = [
        click.argument("data", required=False, type=click.Path(path_type=Path)),
        click.option(
            "--formula", metavar="FORMULA", help='the regression, as in "answer ~ age + I(age**2) + C(region)"'
        ),
        click.option(
            "--design", metavar="DESIGN", help="how the answers were given; `askance channels` lists the designs"
        ),
        click.option(
            "--channel",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="TOML file of the design or of any other channel for answers, instead of --design",
        ),
        click.option(
            "--positive",
            metavar="VALUE",
            help='the value that means yes  [default: 1, True, "yes"], or, in designs whose reports are no answers, '
            'the second report (crosswise: "same")',
        ),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop"]),
            default="error",
            show_default=True,
            help="what to do about rows with gaps: stop, or leave them out",
        ),
        click.option("--weights", metavar="COLUMN", help="column of sampling weights"),
        click.option("--cluster", metavar="COLUMN", help="column of groups whose answers may depend on each other"),
        click.option("--method", type=click.Choice(list(methods)), help=f"{explained}  [default: {default}]"),
        _design_options,
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


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
    if kind is not None and path is not None:
        raise InputError("--design and --channel are both given; allowed: one of them.", remedy="Leave one out.")
    if kind is None and path is None:
        raise InputError(
            "neither --design nor --channel is given; allowed: one of them.",
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
    entry = _answer_design(str(kind))
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


def _answer_design(kind: str) -> registry.ChannelEntry:
    """The design of that name; channels for numbers are none."""
    known = [entry.kind for entry in registry.entries()]
    if kind not in known:
        raise InputError(
            f"--design is {kind!r}; allowed: {', '.join(known)}.",
            remedy=did_you_mean(kind, known, "See `askance channels`."),
        )
    return registry.entry(kind)
