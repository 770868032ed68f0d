"""`askance plan regression` and `askance plan field`: what devices are to send, and what that is worth."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

import askance as lib
from askance._checks import did_you_mean
from askance.cli.planning.plan_common import (
    GOALS,
    OF_TESTS,
    covariate_options,
    goal_options,
    plan_and_show,
    read_covariates,
)
from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, NUMBERS, level_option, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import working
from askance.cli.shared.write_guards import CHANNEL, OutputFile
from askance.errors import InputError, LabelError

# What is given for a plan, and the section of the help.
_FOR_A_PLAN = (*GOALS, "effect", *OF_TESTS, "target", "theta", "covariates", "data", "plot", "text")
_SECTIONS = {"Respondents, error or privacy level, instead of -o": (*_FOR_A_PLAN, "seed", "confidence")}
# What is given for a plan, and not beside -o.
_WITHOUT_FILE = dict.fromkeys(_FOR_A_PLAN, ("output",))
_level_option = level_option("what the one report of a respondent may tell, above 0, at most 30")


def _required(privacy_level: str | None) -> str:
    if privacy_level is None:
        raise InputError("--privacy-level is missing.", remedy="Give the level of one report, such as 2.")
    return privacy_level


# -- regressions -------------------------------------------------------------------------------------------------------


@command(
    "regression",
    "What devices send for a private linear regression, or respondents, error or privacy level.",
    sections=_SECTIONS,
    needs={"pilot": ("output",)},
    apart={"pilot": ("n", "pilot_state", "channel"), **_WITHOUT_FILE},
    examples=[
        "askance plan regression people.toml --privacy-level 4 --respondents 50000 -o release.json",
        "askance plan regression people.toml --privacy-level 4 --pilot -o pilot.json",
        "askance plan regression people.toml --privacy-level 4 --standard-error 0.2 --target age --theta 100,2,60 "
        '--x "age:normal(45,15)"',
    ],
)
@click.argument("description", type=FILE)
@_level_option
@option("-o, --output FILE", "where the release goes, which devices read (.json)", OutputFile("release", ".json"))
@option(
    "--channel NAME",
    "how moments are told: quadratic, moments, per-value, coordinate-release, triple-release, or auto",
    default="auto",
)
@option("--pilot", "plan a pilot that finds centres and scales, instead")
@option("--pilot-state STATE", "take centres and scales from this state of a pilot", FILE)
@option("--target NAME", "plan for this coefficient, or Intercept  [default: all at once]")
@option(
    "--theta X,X,…",
    "guess: intercept, a coefficient per column, and the standard deviation of what they leave open",
    NUMBERS,
)
@covariate_options("spread of a column", "")
@goal_options(respondents="how many are asked; with -o, as far as known")
def regression_command(description: Path, output: Path | None, **flags: Any) -> None:
    """Decide what devices send, for the regression that the TOML file DESCRIPTION describes.

    \b
        outcome = "spending"
        [bounds]                 # from public knowledge, not from the data
        age = [18, 90]
        spending = [0, 500]

    Columns are standardised on the device: by a table [scales] of public centres and scales if there is one, by those
    of a pilot (--pilot first, asking some respondents; then --pilot-state, asking the others), or else by the bounds.

    Without -o, plan how precise coefficients will be: of --privacy-level, --respondents and a goal (--standard-error,
    --width or --power) give two, and a guess (--theta, with --x or --data); the third is worked out.
    """
    from askance.formats.release_file import read_regression

    if output is not None:
        _write_release(read_regression(description), output, flags)
        return
    field, _ = _with_scales(read_regression(description), flags["pilot_state"])
    channel = None if flags["channel"] == "auto" else flags["channel"]
    plan_and_show(field, channel, flags, **_guess_of_people(field, flags))


def _guess_of_people(field: lib.LinearModel, flags: dict[str, Any]) -> dict[str, Any]:
    """Coefficients and columns as `plan` takes them."""
    import numpy as np

    if flags["theta"] is None:
        raise InputError(
            "neither -o nor --theta is given.",
            remedy="Give -o release.json for the file that devices read; to plan, guess intercept, "
            f"{', '.join(field.feature_names)} and the deviation of what they leave open: --theta 1,…,20.",
        )
    names = tuple(field.feature_names)
    columns = read_covariates(flags, names, "Give a table with these columns, all numbers.")
    missing = [name for name in names if name not in columns]
    if missing:
        raise InputError(
            f"{missing[0]!r} is not described; needed: {', '.join(names)}.",
            remedy=f'Write --x "{missing[0]}:normal(40,15)", or give --data FILE.',
        )
    x = np.column_stack([columns[name] for name in names])
    return {"theta": flags["theta"], "x": x, "target": flags["target"]}


def _write_release(field: lib.LinearModel, output: Path, flags: dict[str, Any]) -> None:
    """Plan a release, or a pilot; write and print it."""
    from askance.estimation.release_summary import release_notes, release_rows
    from askance.formats.release_file import write_release

    level, respondents, pilot_state = _required(flags["privacy_level"]), flags["n"], flags["pilot_state"]
    release: lib.MomentRelease | lib.ScalePilot
    if flags["pilot"]:
        release = lib.ScalePilot(field, level)
    else:
        field, asked = _with_scales(field, pilot_state)
        release = lib.regression_release(
            field, level, channel=flags["channel"], n_respondents=respondents, pilot_observations=asked
        )
    write_release(release, output)
    columns, rows = release_rows(release)
    what = release.encoding if isinstance(release, lib.MomentRelease) else "pilot"
    title = f"{what}, privacy level {release.privacy_level:.6g}, written to {output}"
    content = {"output": str(output), "privacy_level": release.privacy_level, **release.specification()}
    others = [] if pilot_state is None else ["ask others than in the pilot: who reports twice spends both levels"]
    then = f"next: askance randomize release {quote(str(output))} --input people.csv -o reports.jsonl"
    notes = [f"note: {note}" for note in release_notes(release, respondents)]
    show(Card(title, rows, content, columns), below=[*notes, *others, then])


def _with_scales(field: lib.LinearModel, path: Path | None) -> tuple[lib.LinearModel, int]:
    """The field with the scales that the reports of a pilot tell, if there is one, and how many they are."""
    from askance.evidence.tally import of_statistics

    if path is None:
        return field, 0
    tally = lib.load(path)
    if not of_statistics(tally):
        raise InputError(f"{path} is no state of a pilot.", remedy="Make one with `askance aggregate REPORTS`.")
    scales = lib.ScalePilot.of_tally(field, tally).estimate(tally)
    return field.with_scales((scales.centres, scales.scales)), scales.n_observations


# -- fields ------------------------------------------------------------------------------------------------------------


@command(
    "field",
    "What devices send for a private random field, or respondents, error or privacy level.",
    sections=_SECTIONS,
    apart={**_WITHOUT_FILE, "n": ("output",)},
    examples=[
        "askance plan field people.toml --privacy-level 2 -o channel.toml",
        "askance plan field people.toml --privacy-level 1 --channel optimal -o channel.toml",
        "askance plan field people.toml --privacy-level 2 --standard-error 0.01 --target smokes=yes",
    ],
)
@click.argument("description", type=FILE)
@_level_option
@option("-o, --output FILE", "where the channel goes, which devices read (.toml)", CHANNEL)
@option(
    "--channel NAME",
    "auto, cliques (each respondent tells one table), records (the whole record), or optimal; without -o also "
    "per-value or coordinate-release, and auto compares all",
    default="auto",
)
@option(
    "--pilot-fit FIT",
    "guess: the fit of a pilot (`askance estimate --field --save`)  [default: all cells equally likely]",
    FILE,
)
@option("--target VARIABLE=LABEL,…", "plan for the share of this cell  [default: all tables at once]")
@goal_options("with --target: the difference from a reference share to detect, as in 0.05")
def field_command(description: Path, output: Path | None, channel: str, pilot_fit: Path | None, **flags: Any) -> None:
    """Choose the channel for the random field that the TOML file DESCRIPTION describes.

    \b
        cliques = [["smokes", "age"], ["age", "ill"]]
        [variables]
        smokes = ["no", "yes"]
        age = 4
        ill = 2

    A random field is one distribution over whole records, whose tables over the variables of every clique are learned.
    With --channel optimal the tables, how often each is drawn and how it is told are those of least error (small
    fields).

    Without -o, plan how precise the tables will be: of --privacy-level, --respondents and a goal (--standard-error,
    --width or --power) give two; the third is worked out.
    """
    import numpy as np

    from askance.formats.field_fit_file import read_field

    field = read_field(description)
    if output is not None:
        _write_channel(description, field, channel, pilot_fit, output, flags["privacy_level"])
        return
    if all(flags[name] is None for name in ("n", *GOALS)):
        raise InputError(
            "neither -o nor a goal is given.",
            remedy="Give -o channel.toml for the file that devices read; to plan, --respondents or --standard-error.",
        )
    guess = {"theta": np.zeros(field.dimension)} if pilot_fit is None else {"fit": _read_pilot(field, pilot_fit)}
    plan_and_show(
        field,
        None if channel == "auto" else channel,
        flags,
        where="" if pilot_fit else "with all cells equally likely",
        target=_cell(field, flags["target"]),
        **guess,
    )


def _write_channel(
    description: Path, field: lib.RandomField, channel: str, pilot_fit: Path | None, output: Path, level: str | None
) -> None:
    """Choose a channel; write and print it."""
    from askance.estimation.problems.field_tables import MeasuredField
    from askance.formats import channel_to_toml
    from askance.formats.disk import write_whole

    level = _required(level)
    theta = None if pilot_fit is None else _read_pilot(field, pilot_fit).theta
    if pilot_fit is not None and channel != "optimal":
        raise InputError(
            f"--pilot-fit is given with -o and --channel {channel}; allowed: with --channel optimal.",
            remedy="Leave --pilot-fit out, or take --channel optimal.",
        )
    with working("choosing tables"):
        chosen = lib.field_release(field, level, channel=channel, theta=theta)  # type: ignore[arg-type]
    write_whole(output, (channel_to_toml(chosen) + "\n").encode("utf-8"))
    cliques, memory = chosen.tables.cliques, MeasuredField(field, chosen.tables.cliques).memory_estimate()
    content = {"output": str(output), "privacy_level": chosen.privacy_level, "channel": chosen.specification()}
    rows = [
        (" · ".join(field.variables[v] for v in clique), str(release.cells), f"{100 * drawn:.3g} %")
        for clique, release, drawn in zip(cliques, chosen.releases, chosen.clique_probabilities, strict=True)
    ]
    whole = len(cliques) == 1 and len(cliques[0]) == len(field.variables)
    below = ["each device tells its whole record" if whole else "each device tells one of these tables"]
    if channel == "optimal":
        below.append("it is the best for fits by the likelihood of the reports: askance estimate … --method marginal")
    below += [
        f"fitting it takes about {memory / 2**20:.3g} MiB (treewidth {field.treewidth})",
        f"next: askance randomize records {quote(str(output))} --variables {quote(str(description))} "
        "--input people.csv -o reports.jsonl",
    ]
    title = f"clique-release, privacy level {chosen.privacy_level:.6g}, written to {output}"
    card = Card(title, rows, {**content, "treewidth": field.treewidth, "memory": memory}, ("table", "cells", "drawn"))
    show(card, below=below)


def _read_pilot(field: lib.RandomField, path: Path) -> lib.FieldFit:
    fit = lib.load(path)
    if not isinstance(fit, lib.FieldFit) or fit.field.purpose != field.purpose or fit.field.cliques != field.cliques:
        raise InputError(
            f"--pilot-fit {path} holds no fit of this field.",
            remedy="Fit the pilot's reports with `askance estimate … --field` and the same description.",
        )
    return fit


def _cell(field: lib.RandomField, text: str | None) -> dict[str, Any] | None:
    """VARIABLE=LABEL,… as a cell; labels may be numbers, and are compared with how they are written."""
    from askance.survey.record_tables import label_of

    if text is None:
        return None
    cell: dict[str, Any] = {}
    for part in text.split(","):
        name, _, typed = (piece.strip() for piece in part.partition("="))
        if name not in field.variables:
            raise InputError(
                f"--target is {text!r}; allowed: VARIABLE=LABEL,… of {', '.join(field.variables)}.",
                remedy=did_you_mean(name, field.variables, "Leave it out for all tables at once."),
            )
        known = field.categories[name]
        label = label_of(typed, known)
        if label is None:
            written = [str(label) for label in known]
            raise LabelError(
                f"--target asks for {name} = {typed!r}; labels are {', '.join(written)}.",
                remedy=did_you_mean(typed, written, "Give one of these."),
            )
        cell[name] = label
    return cell
