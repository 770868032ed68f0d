"""`askance sensitivity`: what coefficients and shares would be if the design was not what it seems."""

from __future__ import annotations

from typing import Any

from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON, Choice, Read, WholeNumber, option, read_number, read_pair
from askance.cli.shared.printing import show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import PICTURE
from askance.cli.survey.saved_fits import TABLE_OPTION, keep_table
from askance.cli.survey.survey_options import DESIGN_SECTION, design_arguments, fit_survey, survey_options
from askance.errors import InputError


def _read_limits(text: str) -> tuple[float, float]:
    """Two shares with a comma between them, the lower one first."""
    low, high = (read_number(part) for part in text.split(","))
    if not 0 <= low <= high <= 1:
        raise ValueError(text)
    return low, high


@command(
    "sensitivity",
    "Coefficients and shares if the design was not what it seems.",
    sections={DESIGN_SECTION: design_arguments()},
    needs={"coefficient": ("plot",), "refused_share": ("refused",)},
    examples=[
        'askance sensitivity survey.csv --formula "said ~ age" --design warner --question 0.7 --share 0.1',
        'askance sensitivity survey.csv --formula "said ~ age" --design forced-response --truth 2/3 --yes 1/6 '
        "--bias truth=-0.05 --plot age.png",
        'askance sensitivity survey.csv --formula "said ~ age" --design crosswise --prevalence 1/6 --behaviour refuse',
    ],
)
@survey_options
@option(
    "--share P", "share of respondents who ignore the design (repeatable)  [default: 0.02, 0.05, 0.1]", multiple=True
)
@option(
    "--behaviour",
    "what they do instead: tell the truth, always give the report that points least to a yes (refuse), or report "
    "at random (repeatable)  [default: all three]",
    Choice(["truth", "refuse", "random"]),
    multiple=True,
)
@option(
    "--refuse-as REPORT",
    "what those report who refuse  [default: the report that points least to a yes; the table names it]",
)
@option(
    "--bias NAME=SHIFT",
    "a probability of the design that is off by SHIFT, as in truth=-0.05; the other outcomes of the same throw "
    "make up for it in proportion, and the table shows them (repeatable)",
    Read(read_pair, "NAME=SHIFT", "Write, for example, truth=-0.05."),
    multiple=True,
)
@option(
    "--refused N",
    "so many were asked and are not in DATA, or have no answer there: bounds of the share of all",
    WholeNumber(0),
)
@option(
    "--refused-share A,B",
    "with --refused: limits of the share of yes among them, beside 0 and 1",
    Read(_read_limits, "two shares from 0 to 1, the lower one first", "Write 0.2,0.5, for example."),
)
@option("--plot FILE", "draw a coefficient (.png, .svg, .pdf)", PICTURE)
@TABLE_OPTION
@option("--coefficient NAME", "with --plot: the one to draw  [default: the first but the intercept]")
@JSON
def sensitivity_command(
    share: tuple[str, ...], behaviour: tuple[Any, ...], bias: tuple[tuple[str, str], ...], **flags: Any
) -> None:
    """Fit the table DATA as planned, and as if some respondents had ignored the design or the device was biased.

    Readings that the answers contradict are marked with †: do not rely on their figures.

    DATA is .csv, .tsv or .json (also .gz, .bz2, .xz, .zip), .parquet, .dta or .sav, as for `askance fit`.
    """
    from askance.survey.nonresponse import nonresponse_bounds
    from askance.survey.sensitivity import plot_sensitivity, sensitivity

    refuse_as, coefficient, plot, place = (flags.pop(name) for name in ("refuse_as", "coefficient", "plot", "table"))
    refused, limits = flags.pop("refused"), flags.pop("refused_share")
    if refuse_as is not None and behaviour and "refuse" not in behaviour:
        raise InputError("--refuse-as is given without --behaviour refuse.", remedy="Add it, or leave both out.")
    biases: dict[str, list[str]] = {}
    for name, shift in bias:
        biases.setdefault(name.replace("-", "_"), []).append(shift)
    with working() as doing:
        planned = fit_survey(doing, **flags)
        assert planned.evidence is not None
        doing("reading the answers in other ways")
        table = sensitivity(
            planned.model,
            planned.evidence,
            shares=share or ("0.02", "0.05", "0.1"),
            behaviours=behaviour or ("truth", "refuse", "random"),
            refuse_as=refuse_as,
            biases=biases,
            method=planned.method,
        )
        if plot is not None:
            names = [name for name in table.parameter_names if not name.endswith("Intercept")] or table.parameter_names
            plot_sensitivity(table, coefficient or names[0], plot)
        keep_table(table, place)
    test = table.scenarios[0].test
    tells = not test.p_value_is_bound or test.p_value < 1  # a bound of 1 says nothing
    below, more = [f"fit of the design as planned: {test.shown_p_value}; {test.message}"] if tells else [], {}
    if refused is not None:
        bounds = nonresponse_bounds(planned, refused, between=limits)
        below, more = [*below, f"\n{bounds.summary()}"], {"nonresponse": bounds.to_json()}
    show(table, below=below, channel_test=test.to_json(), **more)
