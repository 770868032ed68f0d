"""`askance plan regression` and `askance plan field`: what devices are to send, before anybody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from askance.cli.planning.plan_common import check_plot, goal_options, show_plan
from askance.cli.planning.plan_precision import (
    PRECISION,
    PRECISION_OPTIONS,
    people_options,
    precision_of_field,
    precision_of_regression,
    refuse_goals,
)
from askance.cli.shared.guided import GuidedCommand
from askance.cli.shared.printing import print_json, print_table
from askance.cli.shared.progress import one_line_warnings, progress
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.channels.statistics.clique_release import CliqueRelease
    from askance.estimation.moment_release import MomentRelease
    from askance.estimation.results.field_fit import FieldFit
    from askance.estimation.scale_pilot import ScalePilot
    from askance.models.linear import GaussianField
    from askance.models.random_field import RandomField

_FILE = click.Path(path_type=Path)


@click.command(
    "regression",
    cls=GuidedCommand,
    short_help="What devices send for a private linear regression, or respondents, error or privacy level.",
    sections={PRECISION: PRECISION_OPTIONS},
    examples=[
        "askance plan regression people.toml --privacy-level 4 --respondents 50000 -o release.json",
        "askance plan regression people.toml --privacy-level 4 --pilot -o pilot.json",
        "askance plan regression people.toml --privacy-level 4 --standard-error 0.2 --target age --theta 100,2,60 "
        '--x "age:normal(45,15)"',
    ],
)
@click.argument("description", type=_FILE)
@click.option(
    "--privacy-level", metavar="LEVEL", help="what the one report of a respondent may tell, above 0, at most 30"
)
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="where the release goes, which devices read (.json)")
@click.option(
    "--channel",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="how moments are told: quadratic, moments, per-value, coordinate-release, triple-release, or auto",
)
@click.option("--pilot", is_flag=True, help="plan a pilot that finds centres and scales, instead")
@click.option("--pilot-state", metavar="STATE", type=_FILE, help="take centres and scales from this state of a pilot")
@click.option("--target", metavar="NAME", help="plan for this coefficient, or Intercept  [default: all at once]")
@people_options
@goal_options(respondents="how many are asked; with -o, as far as known")
def regression_command(
    description: Path, privacy_level: str | None, output: Path | None, plot: Path | None, as_json: bool, **given: Any
) -> None:
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

    _refuse_beside_pilot(given)
    if output is None:
        if given["pilot"]:
            raise InputError("--pilot is given without -o.", remedy="Say where the pilot goes: -o pilot.json.")
        check_plot(plot)
        field, _ = _with_scales(read_regression(description), given["pilot_state"])
        found = precision_of_regression(field, given["channel"], privacy_level, given)
        show_plan(found, plot, as_json)
        return
    refuse_goals({**given, "plot": plot})
    _write_regression(description, _required(privacy_level), output, as_json, given)


def _refuse_beside_pilot(given: dict[str, Any]) -> None:
    if given["pilot"] and given["respondents"] is not None:
        raise InputError(
            "--respondents is given with --pilot.", remedy="Leave it out: a pilot is the same for any number."
        )
    if given["pilot"] and (given["pilot_state"] is not None or given["channel"] != "auto"):
        raise InputError("--pilot is given with --pilot-state or --channel.", remedy="Plan the pilot first, alone.")


def _required(privacy_level: str | None) -> str:
    if privacy_level is None:
        raise InputError("--privacy-level is missing.", remedy="Give the level of one report, such as 2.")
    return privacy_level


def _write_regression(
    description: Path, privacy_level: str, output: Path, as_json: bool, given: dict[str, Any]
) -> None:
    """Plan a release, or a pilot; write and print it."""
    from askance.cli.shared.write_guards import refuse_other, require_writable
    from askance.estimation.regression_plan import plan_regression
    from askance.estimation.scale_pilot import ScalePilot
    from askance.formats.release_file import read_regression, write_release

    require_writable(output, "-o", (".json",))
    refuse_other(output, "release")
    field, respondents, pilot_state = read_regression(description), given["respondents"], given["pilot_state"]
    release: MomentRelease | ScalePilot
    if given["pilot"]:
        release = ScalePilot(field, privacy_level)
    else:
        field, asked = _with_scales(field, pilot_state)
        release = plan_regression(
            field, privacy_level, channel=given["channel"], n_respondents=respondents, pilot_observations=asked
        )
    write_release(release, output)
    if as_json:
        print_json({"output": str(output), "privacy_level": release.privacy_level, **release.specification()})
        return
    _print_release(release, output, _notes(release, respondents))
    if pilot_state is not None:
        click.echo("ask others than in the pilot: who reports twice spends both levels")
    click.echo(f"next: askance randomize release {output} --input people.csv -o reports.jsonl")


def _print_release(release: MomentRelease | ScalePilot, output: Path, notes: list[str]) -> None:
    """Columns with bounds and, but for a pilot, which has none yet, scales."""
    from askance.estimation.moment_release import MomentRelease

    field, what = release.field, release.encoding if isinstance(release, MomentRelease) else "pilot"
    columns = zip(field.names, field.low, field.high, field.centres, field.scales, *field.kept, strict=True)
    rows = [
        (name, f"{low:g} … {high:g}", f"{mid:.4g}", f"{scale:.4g}", f"{least:.4g} … {most:.4g}")
        for name, low, high, mid, scale, least, most in columns
    ]
    title = f"{what}, privacy level {release.privacy_level:.6g}, written to {output}"
    shown = 5 if isinstance(release, MomentRelease) else 2
    print_table(title, ["column", "bounds", "centre", "scale", "clipped at"][:shown], [row[:shown] for row in rows])
    for note in notes:
        click.echo(f"note: {note}")


def _notes(release: MomentRelease | ScalePilot, respondents: int | None) -> list[str]:
    """What should be known before anybody is asked."""
    from askance.estimation.moment_release import MomentRelease
    from askance.estimation.problems.moment_repair import STRENGTH
    from askance.estimation.regression_plan import predicted_noise

    if not isinstance(release, MomentRelease):
        return ["a fifth of the respondents is a good size of a pilot; ask the others for the regression"]
    notes = []
    if release.field.scaled_by_bounds:
        notes.append("there are no scales: columns are standardised by their bounds; a pilot makes errors smaller")
    if respondents is not None and release.encoding in ("quadratic", "moments"):
        noise = STRENGTH * predicted_noise(release, respondents) * release.field.n_features**0.5
        verdict = "too much to say anything" if noise > 1 else "much" if noise > 0.3 else "little"
        notes.append(f"noise of {respondents:,} reports: {noise:.2g} beside variances of 1, {verdict}")
    return notes


def _with_scales(field: GaussianField, path: Path | None) -> tuple[GaussianField, int]:
    """The field with the scales that the reports of a pilot tell, if there is one, and how many they are."""
    from askance.estimation.scale_pilot import ScalePilot
    from askance.evidence.tally import of_statistics
    from askance.formats import load

    if path is None:
        return field, 0
    tally = load(path)
    if not of_statistics(tally):
        raise InputError(f"{path} is no state of a pilot.", remedy="Make one with `askance aggregate REPORTS`.")
    found = ScalePilot.of_tally(field, tally).estimate(tally)
    return field.with_scales((found.centres, found.scales)), found.n_observations


@click.command(
    "field",
    cls=GuidedCommand,
    short_help="What devices send for a private random field, or respondents, error or privacy level.",
    sections={PRECISION: PRECISION_OPTIONS},
    examples=[
        "askance plan field people.toml --privacy-level 2 -o channel.toml",
        "askance plan field people.toml --privacy-level 1 --channel optimal -o channel.toml",
        "askance plan field people.toml --privacy-level 2 --standard-error 0.01 --target smokes=yes",
    ],
)
@click.argument("description", type=_FILE)
@click.option(
    "--privacy-level", metavar="LEVEL", help="what the one report of a respondent may tell, above 0, at most 30"
)
@click.option("-o", "--output", metavar="FILE", type=_FILE, help="where the channel goes, which devices read (.toml)")
@click.option(
    "--channel",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="auto, cliques (each respondent tells one table), records (the whole record), or optimal; without -o also "
    "per-value or coordinate-release, and auto compares all",
)
@click.option(
    "--pilot-fit",
    metavar="FIT",
    type=_FILE,
    help="guess: the fit of a pilot (`askance fit --field --save`)  [default: all cells equally likely]",
)
@click.option(
    "--target", metavar="VARIABLE=LABEL,…", help="plan for the share of this cell  [default: all tables at once]"
)
@goal_options("with --target: the difference from a reference share to detect, as in 0.05")
def field_command(
    description: Path,
    privacy_level: str | None,
    output: Path | None,
    channel: str,
    pilot_fit: Path | None,
    plot: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
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
    from askance.formats.field_fit_file import read_field

    field = read_field(description)
    if output is None:
        check_plot(plot)
        with one_line_warnings() as told:
            pilot = None if pilot_fit is None else _read_pilot(field, pilot_fit)
            found = precision_of_field(field, pilot, channel, privacy_level, given)
        show_plan(found, plot, as_json, "" if pilot_fit else "with all cells equally likely", told)
        return
    refuse_goals({**given, "plot": plot}, ("respondents",))
    _write_field(description, _required(privacy_level), channel, pilot_fit, output, as_json)


def _write_field(
    description: Path, privacy_level: str, channel: str, pilot_fit: Path | None, output: Path, as_json: bool
) -> None:
    """Choose a channel; write and print it."""
    from askance.channels.statistics.choices import require_choice
    from askance.cli.shared.write_guards import CHANNELS, refuse_other, require_writable
    from askance.design.field_release import FieldRelease, plan_field
    from askance.estimation.problems.field_tables import MeasuredField
    from askance.formats import channel_to_toml
    from askance.formats.disk import write_whole
    from askance.formats.field_fit_file import read_field

    field = read_field(description)
    require_choice(channel, "channel", get_args(FieldRelease))
    require_writable(output, "-o", CHANNELS)
    refuse_other(output, "channel")
    theta = None if pilot_fit is None else _read_pilot(field, pilot_fit).theta
    if pilot_fit is not None and channel != "optimal":
        raise InputError(
            f"--pilot-fit is given with -o and --channel {channel}; allowed: with --channel optimal.",
            remedy="Leave --pilot-fit out, or take --channel optimal.",
        )
    with one_line_warnings() as told, progress() as doing:
        doing("choosing tables")
        chosen = plan_field(field, privacy_level, channel=channel, theta=theta)  # type: ignore[arg-type]
    write_whole(output, (channel_to_toml(chosen) + "\n").encode("utf-8"))
    memory = MeasuredField(field, chosen.tables.cliques).memory_estimate()
    if as_json:
        found = {"output": str(output), "privacy_level": chosen.privacy_level, "channel": chosen.specification()}
        print_json({**found, "treewidth": field.treewidth, "memory": memory, "warnings": told})
        return
    _print_channel(field, chosen, output)
    if channel == "optimal":
        click.echo("it is the best for fits by the likelihood of the reports: askance fit … --method marginal")
    click.echo(f"fitting it takes about {memory / 2**20:.3g} MiB (treewidth {field.treewidth})")
    click.echo(
        f"next: askance randomize records {output} --variables {description} --input people.csv -o reports.jsonl"
    )


def _print_channel(field: RandomField, chosen: CliqueRelease, output: Path) -> None:
    rows = [
        (" · ".join(field.variables[v] for v in clique), str(release.cells), f"{100 * drawn:.3g} %")
        for clique, release, drawn in zip(
            chosen.tables.cliques, chosen.releases, chosen.clique_probabilities, strict=True
        )
    ]
    title = f"clique-release, privacy level {chosen.privacy_level:.6g}, written to {output}"
    print_table(title, ["table", "cells", "drawn"], rows)
    whole = len(chosen.tables.cliques) == 1 and len(chosen.tables.cliques[0]) == len(field.variables)
    click.echo("each device tells its whole record" if whole else "each device tells one of these tables")


def _read_pilot(field: RandomField, path: Path) -> FieldFit:
    from askance.estimation.results.field_fit import FieldFit
    from askance.formats import load

    fit = load(path)
    if not isinstance(fit, FieldFit) or fit.field.purpose != field.purpose or fit.field.cliques != field.cliques:
        raise InputError(
            f"--pilot-fit {path} holds no fit of this field.",
            remedy="Fit the pilot's reports with `askance fit --state … --field …` and the same description.",
        )
    return fit
