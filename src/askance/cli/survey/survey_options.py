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
from askance.cli.shared.options import FILE, missing_option, option, options
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.estimation.results.regression_fit import RegressionFit

# The flags of these commands themselves; a parameter of a design with such a name is written --design-NAME.
_OWN = {
    *("formula", "design", "channel", "method", "positive", "missing", "cluster", "weights"),
    *("confidence", "save", "plot", "json", "help", "share", "behaviour", "bias", "coefficient"),
    *("by", "refuse_as"),
}
# The estimators of a regression, and what each is.
_METHODS = {
    "one-step": "as precise as the likelihood",
    "marginal": "maximum likelihood",
    "moments": "unbiased averages",
    "supervised": "where the truth was told (--design direct)",
}
#: The section of the help with the parameters of all designs.
DESIGN_SECTION = "Parameters of the design; `askance channels DESIGN` explains them"


def design_arguments() -> list[str]:
    """What the parameters of all designs are called inside."""
    return list(dict.fromkeys(_argument(each.name) for entry in registry.entries() for each in entry.parameters))


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


#: The data, the formula, the design with its flags, and how to fit.
survey_options = options(
    click.argument("data", type=FILE),
    option("--formula FORMULA", 'the regression, as in "answer ~ age + I(age**2) + C(region)"', required=True),
    option("--design DESIGN", "how the answers were given; `askance channels` lists the designs"),
    option("--channel FILE", "TOML file of the design or of any other channel for answers, instead of --design", FILE),
    option(
        "--positive VALUE",
        'the value that means yes  [default: 1, True, "yes"], or, in designs whose reports are no answers, '
        'the second report (crosswise: "same")',
    ),
    missing_option("what to do about rows with gaps: stop, or leave them out"),
    option("--weights COLUMN", "column of sampling weights"),
    option("--cluster COLUMN", "column of groups whose answers may depend on each other"),
    option(
        "--method",
        "; ".join(f"{name}: {what}" for name, what in _METHODS.items()),
        click.Choice(list(_METHODS)),
        default="one-step",
    ),
    _design_options,
)


def fit_survey(doing: Callable[[str], None], **given: Any) -> RegressionFit:
    """Fit what the options of `survey_options` describe."""
    from askance.survey import read_table, regress

    flags = {name: given.pop(name) for name in list(given) if name.startswith(_argument(""))}
    data, formula = given.pop("data"), given.pop("formula")
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
