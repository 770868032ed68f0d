"""`askance randomize`: noise records on the device; one subcommand per channel of the registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import as_fraction, shorten, shown
from askance._words import Part, Place, Spelling
from askance.channels.finite import FiniteChannel
from askance.channels.purposes import purpose_of_columns
from askance.channels.registry import AnyChannel
from askance.channels.statistics.base import StatisticsChannel
from askance.cli.devices.channel_commands import ChannelTask, add_channel_commands
from askance.cli.devices.channel_options import CHANNEL_SECTIONS
from askance.cli.devices.noising import REPORTS, SPLIT, noise_table
from askance.cli.devices.randomize_planned import randomize_records, randomize_release
from askance.cli.shared.guided import GuidedGroup
from askance.cli.shared.options import FILE, json_option, option
from askance.cli.shared.printing import print_file
from askance.errors import InputError, LabelError, ShapeError

if TYPE_CHECKING:
    from askance._arrays import AnyArray
    from askance.categories import Categories
    from askance.survey.tables import Column, Columns

_SOURCE = (
    "Random numbers come from the cryptographic source of the system: nothing can be repeated, there is no --seed."
)
_UNNAMED = (
    "askance: note: no --purpose is given, and there are no names of columns: reports to any other question through "
    "this channel could be added to these."
)


@click.group(
    "randomize",
    cls=GuidedGroup,
    short_help="Noise records on the device, before they are sent.",
    sections=CHANNEL_SECTIONS,
    examples=[
        "askance randomize forced-response --truth 2/3 --yes 1/6 --record yes",
        "askance randomize per-value --dim 3 --privacy-level 2 --l1-norm 1 --input people.csv -o reports.jsonl",
    ],
)
def randomize_group() -> None:
    """Noise the answers or statistics of respondents: what runs on the device, before anything is sent.

    Random numbers come from the cryptographic source of the system: nothing can be repeated, there is no --seed.
    One record is printed as one line of JSON; a table becomes a file of reports. Reports for different purposes do not
    mix: a table's is the names of the columns that are noised, in their order, unless --purpose says otherwise. Every
    channel has its own options: askance randomize CHANNEL --help.
    """


def _randomize(channel: AnyChannel, record: str | None, input: Path | None, header: bool, **flags: Any) -> None:
    """Do what the flags say, once they fit together."""
    modes = {"--record": record is not None, "--input": input is not None, "--header": header}
    if sum(modes.values()) != 1:
        chosen = " and ".join(flag for flag, is_chosen in modes.items() if is_chosen)
        raise InputError(
            f"given: {chosen or 'nothing to noise'}; allowed: one of {', '.join(modes)}.",
            remedy="Give --record for one respondent, --input for a table.",
        )
    if header:
        from askance.formats.report_schema import ReportSchema, json_line

        if not channel.purpose:
            click.echo(_UNNAMED, err=True)
        print_file(json_line(ReportSchema(channel).header()))
    elif record is not None:
        _print_record(channel, record, flags["id"])
    else:
        assert input is not None
        if flags["output"] is None:
            raise InputError("-o is not given.", remedy="Say where the reports go: -o reports.jsonl.")
        names = flags["columns"].split(",") if flags["columns"] is not None else None
        _noise_table(channel, input, flags["output"], names, flags["id_column"], flags["split"])


# -- one record --------------------------------------------------------------------------------------------------------


def _print_record(channel: AnyChannel, text: str, id: str | None) -> None:
    from askance.formats.report_schema import ReportSchema, json_line
    from askance.survey.record_tables import label_of

    report: Any
    labels = _labels_of(channel)
    if labels is not None:
        label = label_of(text, labels)
        if label is None:
            raise LabelError(
                f"--record is none of the labels; allowed: {shorten(labels.labels)}.", remedy="Give one of them."
            )
        report = channel.randomize_one(label)
    else:
        assert isinstance(channel, StatisticsChannel)
        entries = text.split(",")
        if len(entries) != channel.truth_width:
            raise ShapeError(
                f"--record has {len(entries)} numbers; allowed: {channel.truth_width}.",
                remedy="Give one number per statistic, separated by commas.",
            )
        numbers = [_number(entry, i + 1) for i, entry in enumerate(entries)]
        try:
            report = channel.randomize_one(numbers)
        except InputError as error:
            raise error.spelled(_named()).at("--record") from None
    print_file(json_line(ReportSchema(channel).record(report, id)))


def _number(entry: str, place: int) -> float:
    try:
        return float(as_fraction(entry, "entry"))
    except (InputError, OverflowError):
        pass  # the refusal below does not know the entry, and neither does what it is raised from
    raise InputError(f"number {place} of --record is no finite number.", remedy="Write 0.25 or 1/4.")


def _labels_of(channel: AnyChannel) -> Categories | None:
    """The labels of the answers that a channel noises; None where it noises numbers."""
    return channel.outputs if isinstance(channel, FiniteChannel) else channel.truth_labels


def _named(names: Sequence[str] = ()) -> Spelling:
    """Places of an array of one row in the words of a table: columns have names, and the row needs none."""

    def spelling(part: Part) -> str | None:
        if not isinstance(part, Place):
            return None
        is_named = part.number is not None and part.number < len(names)
        return f"column {names[part.number or 0]!r}" if is_named else str(replace(part, row=None))

    return spelling


# -- a table -----------------------------------------------------------------------------------------------------------


def _noise_table(
    channel: AnyChannel,
    path: Path,
    output: Path,
    names: Sequence[str] | None,
    id_column: str | None,
    split: int | None,
) -> None:
    """Noise the rows of a table into a file of reports.

    The columns are told in their order: reports hold no names, and `askance estimate --names` wants them so.
    """
    from askance.survey.record_tables import refuse_answers_as_names, refuse_other_columns
    from askance.survey.tables import unknown_column

    labels = _labels_of(channel)

    def choose(table: Columns) -> list[Column]:
        known = [] if labels is None else [labels]
        asked = [name.strip() for name in names or ()] + ([] if id_column is None else [id_column])
        wrong = names is None and len(table.names) - (id_column in table.names) != _width(channel)
        if labels is not None or wrong or any(name not in table.names for name in asked):
            refuse_answers_as_names(table, None if names is None else asked, known, path, but=id_column)
        if id_column is not None and id_column not in table:
            raise unknown_column(id_column, table.names)
        chosen = _chosen(table, names, id_column, channel, path)
        refuse_other_columns([column.name for column in chosen], channel.purpose, table.names, path)
        return chosen

    def noiser(columns: Sequence[Column], _: Sequence[int]) -> tuple[AnyChannel, Callable[[slice], Any]]:
        named = channel.named(channel.purpose or purpose_of_columns([column.name for column in columns]))
        return named, partial(_noised, named, columns, path)

    # Labels that are texts are compared as texts: "1.10" is no number, and "NA" may be a country.
    texts = labels is not None and all(isinstance(label, str) for label in labels)
    noise_table(path, output, choose, noiser, id_column=id_column, split=split, texts=texts)


def _chosen(
    table: Columns, names: Sequence[str] | None, id_column: str | None, channel: AnyChannel, path: Path
) -> list[Column]:
    """The columns to be noised: as many as the channel takes, without gaps."""
    from askance.survey.record_tables import require_complete, require_numbers

    chosen = [name.strip() for name in names] if names is not None else [n for n in table.names if n != id_column]
    wanted = _width(channel)
    if len(chosen) != wanted:
        count = f"{len(chosen)} columns are chosen" if len(chosen) != 1 else "1 column is chosen"
        raise ShapeError(
            f"{path}: {count} ({shorten(chosen) or 'none'}); allowed with {channel.kind}: {wanted}.",
            remedy="Name them with --columns, in the order of the channel, and the column of ids with --id-column.",
        )
    if len(set(chosen)) < len(chosen):
        raise InputError(
            f"--columns names {shown(max(chosen, key=chosen.count))} twice.", remedy="Name every column once."
        )
    columns = [table[name] for name in chosen]
    for column in columns:
        require_complete(column, path)
        if _labels_of(channel) is None:
            require_numbers(column, path)
    return columns


def _width(channel: AnyChannel) -> int:
    """How many columns the channel takes."""
    return channel.truth_width if isinstance(channel, StatisticsChannel) else 1


def _noised(channel: AnyChannel, columns: Sequence[Column], path: Path, rows: slice) -> Any:
    """The reports of some rows; what is wrong is told by row and column of the table."""
    import numpy as np

    from askance.survey.record_tables import read_labels

    labels = _labels_of(channel)
    if labels is not None:
        return channel.randomize(read_labels(columns[0], labels, range(rows.start, rows.stop), path))
    truth = np.column_stack([column.values[rows] for column in columns]).astype(np.float64)
    try:
        return channel.randomize(truth)
    except InputError:
        row, error = _first_refused(channel.randomize, truth)
        named = error.spelled(_named([column.name for column in columns]))
        raise named.at(f"{path}, row {rows.start + row + 1}") from None


def _first_refused(randomize: Callable[[Any], Any], truth: AnyArray) -> tuple[int, InputError]:
    """The first row that is refused, by halving, and what is said of it alone."""

    def refused(some: AnyArray) -> InputError | None:
        try:
            randomize(some)
        except InputError as error:
            return error
        return None

    good, bad = 0, len(truth)  # the first `good` rows pass, the first `bad` rows do not
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if refused(truth[:middle]) else (middle, bad)
    error = refused(truth[good:bad])
    assert error is not None
    return good, error


randomize_group.add_command(randomize_records)
randomize_group.add_command(randomize_release)
add_channel_commands(
    randomize_group,
    ChannelTask(
        _randomize,
        options=[
            option("--record X,X,…|ANSWER", "one respondent: print their report as one line of JSON"),
            option("--id TEXT", "with --record: the id of the report"),
            option("--input FILE", "a table, one row per respondent (.csv, .tsv, .parquet, .dta, .sav)", FILE),
            option("--columns A,B,…", "with --input: the columns that are noised  [default: all but the ids]"),
            option("--id-column NAME", "with --input: the column of ids"),
            SPLIT,
            option("-o, --output FILE", "with --input: where reports go (.jsonl, .parquet)", REPORTS),
            option("--header", "print the line that a file of single reports must begin with, and stop"),
            json_option("with --input: print the summary as JSON"),
        ],
        file_help="Noise records through the channel that the TOML file PATH describes, such as one of "
        f"`askance optimal -o`.\n\n{_SOURCE}",
        file_examples=["--record yes", "--input people.csv -o reports.jsonl"],
        needs={"id": ("record",), **dict.fromkeys(("columns", "id_column", "split", "output"), ("input",))},
        note=_SOURCE,
        section=(
            "What is noised, and where it goes",
            ("purpose", "record", "id", "input", "columns", "id_column", "split", "output", "header", "as_json"),
        ),
        example="--input people.csv -o reports.jsonl",
    ),
)
