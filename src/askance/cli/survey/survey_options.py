"""What commands about a survey share: the data, the formula, the design, and the fit to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

import askance as lib
from askance._checks import one_of
from askance.channels import registry
from askance.cli.devices.channel_options import build_from_flags, flag
from askance.cli.shared.errors import OF_DESIGN, notes_in_flags, the_one
from askance.cli.shared.options import (
    FILE,
    NUMBER,
    NUMBERS,
    Choice,
    Function,
    method_option,
    missing_option,
    option,
    options,
)
from askance.errors import InputError
from askance.models.outcome import FAMILIES

# How respondents were drawn: the fields of `Drawn`.
_DRAWN = (
    *("weights", "cluster", "strata", "fpc", "lonely_psu"),
    *("replicates", "replicate_kind", "replicate_scale", "replicate_scales", "fay"),
)
# The flags of these commands themselves; a parameter of a design with such a name is written --design-NAME.
_OWN = {
    *_DRAWN,
    *("formula", "design", "channel", "method", "positive", "missing"),
    *("confidence", "save", "plot", "json", "help", "share", "behaviour", "bias", "coefficient"),
    *("by", "table", "effects", "contrasts", "refuse_as", "designs", "arm", "outcome", "treated"),
    *("source", "no_labels", "codebook", "refused", "refused_share"),
}
# The estimators of a regression, and what each is.
_METHODS = {
    "one-step": "as precise as the likelihood",
    "marginal": "maximum likelihood",
    "moments": "unbiased averages",
    "supervised": "where the truth was told (--design direct)",
    "linear": "of lists, the difference in means given covariates",
    "least-squares": "of lists, logistic means",
}
# What designs are called in rr, RRreg and list, without capitals.
_IN_R = {
    "forced-known": "forced-response",
    "fr": "forced-response",
    "mirrored": "warner",
    "disguised": "disguised-response",
    "unrelated-known": "unrelated-question",
    "uqtknown": "unrelated-question",
    "uqtunknown": "unrelated-question-unknown",
    "cdm": "cheating-detection",
    "cdmsym": "cheating-detection",
    "sld": "stochastic-lie-detector",
    "custom": "matrix",
    "list": "list-experiment",
    "ictreg": "list-experiment",
}
#: The section of the help with the parameters of all designs.
DESIGN_SECTION = "Parameters of the design; `askance channels DESIGN` explains them"


def design_arguments() -> list[str]:
    """What the parameters of all designs are called inside."""
    return list(dict.fromkeys(_argument(known.name) for entry in registry.designs() for known in entry.parameters))


def _design_flag(name: str) -> str:
    """The flag of a parameter of a design on this command."""
    return flag(f"design_{name}") if name in _OWN else flag(name)


def _argument(name: str) -> str:
    return f"{OF_DESIGN}{name}"


def _design_options(command: Function) -> Function:
    """Add the flags of all designs; texts are read when the design is known."""
    uses: dict[str, list[tuple[str, registry.Parameter]]] = {}
    for entry in registry.designs():
        for parameter in entry.parameters:
            uses.setdefault(parameter.name, []).append((entry.kind, parameter))
    flags = []
    for name, used in uses.items():
        written = "|".join(dict.fromkeys(parameter.kind.placeholder for _, parameter in used))
        flags.append(option(f"{_design_flag(name)} {written}", _meanings(used), name=_argument(name)))
    return options(*flags)(command)


def _meanings(used: list[tuple[str, registry.Parameter]]) -> str:
    """What a flag means, design by design; of many meanings, the most frequent."""
    kinds: dict[str, list[str]] = {}
    for kind, parameter in used:
        kinds.setdefault(parameter.description, []).append(kind)
    if len(kinds) > 2:
        return f"most designs: {max(kinds, key=lambda text: len(kinds[text]))}"
    return "; ".join(f"{', '.join(own) if len(own) < 5 else 'most designs'}: {text}" for text, own in kinds.items())


#: The file that says how everything was asked.
CODEBOOK = option(
    "--codebook FILE", "TOML file with the questions of the study: a codebook, or the campaign that was collected", FILE
)
#: The data, the formula, the design with its flags, and how to fit.
survey_options = options(
    click.argument("data", type=FILE),
    option("--formula FORMULA", 'the regression, as in "answer ~ age + I(age**2) + C(region)"', required=True),
    option("--design DESIGN", "how the answers were given; `askance channels` lists the designs"),
    option("--channel FILE", "TOML file of the design or of any other channel for answers, instead of --design", FILE),
    option(
        "--designs FILE",
        "TOML file with a table for every arm, its design in it; or with one design that has groups of its own",
        FILE,
    ),
    CODEBOOK,
    option("--arm COLUMN", "the column that says in which way each row was asked, where there are several"),
    option("--treated COLUMN", "the same for a list experiment: the column that says who had the sensitive item"),
    option(
        "--positive VALUE",
        'the value that means yes  [default: 1, True, "yes"], or, in designs whose reports are no answers, '
        'the second report (crosswise: "same")',
    ),
    option(
        "--source",
        "where DATA comes from  [default: as it looks; plain: a table and nothing else]",
        Choice(["plain", "qualtrics", "limesurvey", "formr"]),
    ),
    option("--no-labels", "keep the numbers of .dta and .sav files where their values have labels"),
    missing_option("what to do about rows with gaps: stop, or leave them out"),
    option("--weights COLUMN", "column of sampling weights"),
    option("--cluster COLUMN", "column of groups whose answers may depend on each other"),
    option("--strata COLUMN", "column of strata that clusters (without --cluster: rows) were drawn from"),
    option("--fpc COLUMN", "with --strata: column with the number of clusters of the stratum, or the share drawn"),
    option(
        "--lonely-psu WAY",
        'what to do about a stratum with one cluster: stop ("error"), or "adjust" as R does',
        Choice(["error", "adjust"]),
        default="error",
    ),
    option(
        "--replicates PATTERN", "columns of replicate weights, such as 'w_rep*'; errors are those of R's svrepdesign"
    ),
    option(
        "--replicate-kind", "with --replicates: how they were made", Choice(["JK1", "JKn", "BRR", "Fay", "bootstrap"])
    ),
    option("--replicate-scale NUMBER", "factor of the spread of JK1, JKn or bootstrap  [default: as in R]", NUMBER),
    option(
        "--replicate-scales NUMBERS", "factors, one for every replicate, as in 0.5,0.5,0.75; JKn needs them", NUMBERS
    ),
    option("--fay NUMBER", "ρ of replicates of the kind Fay, above 0 and below 1; 0.5 and 0.3 are usual", NUMBER),
    option(
        "--outcome",
        "what is left of ~, where hidden(COLUMN) explains it  [default: what it holds]",
        Choice(list(FAMILIES)),
    ),
    method_option(_METHODS, "  [default: one-step; marginal where more is hidden than the answer]"),
    _design_options,
)


def fit_survey(doing: Callable[[str], None], **flags: Any) -> Any:
    """Fit what the options of `survey_options` describe."""
    from askance.survey import read_table

    values = {name: flags.pop(name) for name in list(flags) if name.startswith(_argument(""))}
    data, formula = flags.pop("data"), flags.pop("formula")
    design = {name.removeprefix(_argument("")): text for name, text in values.items() if text is not None}
    files = {name: flags.pop(name) for name in ("channel", "designs", "codebook")}
    channel: Any = _read_design(flags.pop("design"), files, design)
    drawn = lib.Drawn(**{name: flags.pop(name) for name in _DRAWN})
    doing(f"reading {data}")
    table = read_table(data, source=flags.pop("source"), labels=not flags.pop("no_labels"))
    doing(f"fitting {len(table):,} rows")
    fit = lib.regress(formula, table, channel, drawn=drawn, **flags)
    return replace(fit, diagnostics=replace(fit.diagnostics, messages=notes_in_flags(fit.diagnostics.messages)))


def _read_design(kind: str | None, files: dict[str, Path | None], texts: dict[str, str]) -> Any:
    """The channel of --design and its flags, or what one of the files describes."""
    designs = [entry.kind for entry in registry.designs()]
    source = the_one("the design is", {"design": kind, **files}, f"Designs: {', '.join(designs)}.")
    file = files.get(source)
    if file is not None:
        from askance.collect.campaign_file import read_study
        from askance.formats import read_answer_channel
        from askance.survey.designs_file import read_designs

        if texts:
            raise InputError(
                f"{', '.join(map(_design_flag, texts))} belong to --design, not to --{source}.",
                remedy=f"Write the parameters into {file}.",
            )
        readers = {"channel": read_answer_channel, "designs": read_designs, "codebook": read_study}
        return readers[source](file)
    name = _IN_R.get(str(kind).lower(), str(kind).lower())
    here = f"What R's packages call {kind} is {name} here; see `askance channels {name}`."
    entry = registry.entry(one_of(kind, designs, "--design", here if name in designs else "See `askance channels`."))
    known = {parameter.name: parameter for parameter in entry.parameters}
    foreign = [_design_flag(name) for name in texts if name not in known]
    if foreign:
        raise InputError(
            f"{entry.kind} has no {', '.join(foreign)}; allowed: {', '.join(map(_design_flag, known))}.",
            remedy=f"See `askance channels {entry.kind}`.",
        )
    return build_from_flags(entry, {name: known[name].kind.read(text) for name, text in texts.items()})
