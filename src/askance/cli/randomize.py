"""`askance randomize`: noise records on the device; one subcommand per channel of the registry."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from askance._checks import as_fraction, shorten, shown
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel, ChannelEntry
from askance.channels.statistics.base import StatisticsChannel
from askance.cli.channel_options import as_text, build_from_flags, channel_options, example_flags, in_flags
from askance.cli.misuse import GuidedGroup
from askance.cli.output import print_json, print_table
from askance.cli.progress import progress
from askance.errors import InputError, LabelError, MissingValueError, ShapeError

if TYPE_CHECKING:
    from askance._arrays import AnyArray
    from askance.categories import Categories, Label
    from askance.survey.tables import Column, Columns

_SOURCE = (
    "Random numbers come from the cryptographic source of the system: nothing can be repeated, there is no --seed."
)
# Records noised at a time.
_PIECE = 1 << 16
# Numbers noised at a time, where records are long.
_NUMBERS = 1 << 22
_NUMBER = re.compile(r"\s*[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?\s*")
# Characters of a channel's parameters in a table.
_LONGEST = 160


@click.group("randomize", cls=GuidedGroup, short_help="Noise records on the device, before they are sent.")
def randomize_group() -> None:
    """Noise the answers or statistics of respondents: what runs on the device, before anything is sent.

    Random numbers come from the cryptographic source of the system: nothing can be repeated, there is no --seed.
    One record is printed as one line of JSON; a table becomes a file of reports. Examples:

        askance randomize forced-response --truth 2/3 --yes 1/6 --record yes

        askance randomize per-value --dim 3 --privacy-level 2 --l1-norm 1 --input people.csv -o reports.jsonl
    """


def _own_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is noised, and where it goes."""
    file = click.Path(path_type=Path)
    options = [
        click.option("--record", metavar="X,X,…|ANSWER", help="one respondent: print one line of JSON"),
        click.option("--id", metavar="TEXT", help="with --record: the id of the report"),
        click.option("--input", metavar="FILE", type=file, help="a table: one row per respondent (.csv, .parquet, …)"),
        click.option("--columns", metavar="A,B,…", help="with --input: what is noised  [default: all but the ids]"),
        click.option("--id-column", metavar="NAME", help="with --input: the column of ids"),
        click.option("-o", "--output", metavar="FILE", type=file, help="with --input: .jsonl or .parquet"),
        click.option("--header", is_flag=True, help="print the first line of a file of such reports, and stop"),
        click.option("--json", "as_json", is_flag=True, help="with --input: print the summary as JSON"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _command_for(entry: ChannelEntry) -> click.Command:
    summary = f"{entry.summary[0].upper()}{entry.summary[1:]}.\n\n{_SOURCE}"
    example = (
        f"\b\nExample:\n  askance randomize {entry.kind} {example_flags(entry)} --input people.csv -o reports.jsonl"
    )

    @click.command(entry.kind, help=summary, short_help=entry.summary, epilog=example)
    @channel_options(entry)
    @_own_options
    def command(**given: Any) -> None:
        own = {name: given.pop(name) for name in _OWN}
        channel = build_from_flags(entry, given)
        try:
            _randomize(channel, **own)
        except InputError as error:
            raise type(error)(error.message, remedy=in_flags(error.remedy, entry)) from None

    return command


_OWN = ("record", "id", "input", "columns", "id_column", "output", "header", "as_json")
for _entry in registry.entries(None):
    randomize_group.add_command(_command_for(_entry))


@randomize_group.command("file", short_help="a channel described in a TOML file")
@click.argument("path", type=click.Path(path_type=Path))
@_own_options
def randomize_file(path: Path, **own: Any) -> None:
    """Noise records through the channel described in the TOML file PATH.

    Random numbers come from the cryptographic source of the system: nothing can be repeated, there is no --seed.
    Example: askance randomize file my-channel.toml --record yes
    """
    from askance.formats import read_channel

    _randomize(read_channel(path), **own)


def _randomize(channel: AnyChannel, record: str | None, input: Path | None, header: bool, **given: Any) -> None:
    """Do what the flags say, once they fit together."""
    modes = {"--record": record is not None, "--input": input is not None, "--header": header}
    chosen = [name for name, is_given in modes.items() if is_given]
    if len(chosen) != 1:
        raise InputError(
            f"{' and '.join(chosen) or 'nothing to noise'} is given; allowed: one of {', '.join(modes)}.",
            remedy="Give --record for one respondent, --input for a table.",
        )
    needs = {"--id": "--record", "--columns": "--input", "--id-column": "--input", "--output": "--input"}
    for name, mode in needs.items():
        if given[name[2:].replace("-", "_")] is not None and mode != chosen[0]:
            raise InputError(f"{name} is given with {chosen[0]}; allowed: with {mode}.", remedy="Leave it out.")
    if header:
        _print_header(channel)
    elif record is not None:
        _print_record(channel, record, given["id"])
    else:
        assert input is not None
        if given["output"] is None:
            raise InputError("-o is not given.", remedy="Say where the reports go: -o reports.jsonl.")
        names = given["columns"].split(",") if given["columns"] is not None else None
        _noise_table(channel, input, given["output"], names, given["id_column"], given["as_json"])


def _print_header(channel: AnyChannel) -> None:
    from askance.formats.report_schema import ReportSchema, json_line

    click.echo(json_line(ReportSchema(channel).header()), nl=False)


# -- one record --------------------------------------------------------------------------------------------------------


def _print_record(channel: AnyChannel, text: str, id: str | None) -> None:
    from askance.formats.report_schema import ReportSchema, json_line

    report: Any
    labels = _labels_of(channel)
    if labels is not None:
        label = _label(text, labels)
        if label is None:
            raise LabelError(
                f"--record is {shown(text)}; allowed: {shorten(labels.labels)}.", remedy="Give one of them."
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
        numbers = [as_fraction(entry, f"number {i + 1} of --record") for i, entry in enumerate(entries)]
        try:
            report = channel.randomize_one(_numbers([float(number) for number in numbers]))
        except InputError as error:
            raise type(error)(f"--record: {_without_row(error.message)}", remedy=error.remedy) from None
    click.echo(json_line(ReportSchema(channel).record(report, id)), nl=False)


def _labels_of(channel: AnyChannel) -> Categories | None:
    """The labels of the answers that a channel noises; None where it noises numbers."""
    return channel.outputs if isinstance(channel, FiniteChannel) else channel.truth_labels


def _label(value: Any, labels: Categories) -> Label | None:
    """The label that a value of a table, or a text, stands for: itself, or the one that is written like it."""
    if labels.are_codes:
        text = _written(value)
        return int(text) if re.fullmatch("[0-9]{1,18}", text) and int(text) < len(labels) else None
    alike = [label for label in labels if type(label) is type(value) and label == value]
    alike = alike or [label for label in labels if _written(label) == _written(value)]
    return alike[0] if len(alike) == 1 else None


def _written(value: Any) -> str:
    """A value as people write it: 1 for 1.0, true for True."""
    if isinstance(value, bool):
        return str(value).lower()
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).strip()


def _numbers(values: Any) -> AnyArray:
    """Numbers as an array: of integers where all are whole."""
    import numpy as np

    array = np.asarray(values, dtype=np.float64)
    whole = np.isfinite(array).all() and (np.abs(array) < 2**53).all() and (np.rint(array) == array).all()
    return array.astype(np.int64) if whole else array


def _without_row(message: str, names: Sequence[str] = ()) -> str:
    """A message about row 0 of an array without the row, and with the names of columns."""

    def named(found: re.Match[str]) -> str:
        return f"column {names[int(found[1])]!r}" if int(found[1]) < len(names) else found[0]

    return re.sub(r"\b(?:statistic|variable) (\d+)\b", named, re.sub(r" of row 0\b", "", message))


# -- a table -----------------------------------------------------------------------------------------------------------


def _noise_table(
    channel: AnyChannel, path: Path, output: Path, names: Sequence[str] | None, id_column: str | None, as_json: bool
) -> None:
    """Noise the rows of a table into a file of reports."""
    from askance.formats.reports import report_writer, require_suffix
    from askance.survey.files import read_table

    require_suffix(output)
    with progress() as doing:
        doing(f"reading {path}")
        labels = _labels_of(channel)
        # Labels that are texts are compared as texts: "1.10" is no number, and "NA" may be a country.
        table = read_table(path, texts=labels is not None and all(isinstance(label, str) for label in labels))
        _refuse_headless(table, path)
        ids = None if id_column is None else _read_ids(table[id_column], path)
        chosen = _chosen(table, names, id_column, channel, path)
        with report_writer(output, channel, ids=ids is not None) as writer:
            for rows in _pieces(len(table), len(chosen)):
                doing(f"noising {path}: row {rows.start + 1:,} of {len(table):,}")
                writer.write(_noised(channel, chosen, rows, path), None if ids is None else ids[rows])
    _print_summary(channel, writer.written, output, as_json)


def _refuse_headless(table: Columns, path: Path) -> None:
    """A first line of numbers is a respondent, not names: taken as names, it would be lost."""
    if table.names and all(_NUMBER.fullmatch(name.strip()) for name in table.names):
        raise InputError(
            f"the first line of {path} is {shorten(table.names)}; allowed: names of columns.",
            remedy="Put a line of names in front.",
        )


def _pieces(n: int, width: int) -> Iterator[slice]:
    step = max(1, min(_PIECE, _NUMBERS // width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _chosen(
    table: Columns, names: Sequence[str] | None, id_column: str | None, channel: AnyChannel, path: Path
) -> list[Column]:
    """The columns to be noised: as many as the channel takes, without gaps."""
    found = [name.strip() for name in names] if names is not None else [n for n in table.names if n != id_column]
    wanted = channel.truth_width if isinstance(channel, StatisticsChannel) else 1
    if len(found) != wanted:
        count = f"{len(found)} columns are chosen" if len(found) != 1 else "1 column is chosen"
        raise ShapeError(
            f"{path}: {count} ({shorten(found) or 'none'}); allowed with {channel.kind}: {wanted}.",
            remedy="Name them with --columns, in the order of the channel, and the column of ids with --id-column.",
        )
    if len(set(found)) < len(found):
        raise InputError(
            f"--columns names {shown(max(found, key=found.count))} twice.", remedy="Name every column once."
        )
    columns = [table[name] for name in found]
    for column in columns:
        _require_complete(column, path)
        if _labels_of(channel) is None:
            _require_numbers(column, path)
    return columns


def _require_complete(column: Column, path: Path) -> None:
    if column.missing.any():
        raise MissingValueError(
            f"{path}, row {int(column.missing.argmax()) + 1}: column {column.name!r} is missing.",
            remedy="Leave respondents with missing values out, and count them.",
        )


def _require_numbers(column: Column, path: Path) -> None:
    if column.kind in ("number", "boolean") or not len(column.values):
        return
    texts = [str(value) for value in column.values.tolist()]
    row = next((i for i, text in enumerate(texts) if not _NUMBER.fullmatch(text)), 0)
    raise InputError(
        f"{path}, row {row + 1}: column {column.name!r} is {shown(texts[row])}; allowed: numbers.",
        remedy="Turn texts into numbers first, or choose other columns with --columns.",
    )


def _read_ids(column: Column, path: Path) -> list[str]:
    _require_complete(column, path)
    ids = [_written(value) for value in column.values.tolist()]
    met: set[str] = set()
    for row, id in enumerate(ids):
        if id in met or not id:
            raise InputError(
                f"{path}, row {row + 1}: column {column.name!r} is {shown(id)}{' a second time' if id else ''}; "
                "allowed: one text per respondent.",
                remedy="Give every respondent an id of their own, or leave --id-column out.",
            )
        met.add(id)
    return ids


def _noised(channel: AnyChannel, columns: Sequence[Column], rows: slice, path: Path) -> Any:
    """The reports of some rows; what is wrong is told by row and column of the table."""
    import numpy as np

    labels = _labels_of(channel)
    if labels is not None:
        return channel.randomize(_read_labels(columns[0], labels, rows, path))
    truth = _numbers(np.column_stack([column.values[rows] for column in columns]))
    try:
        return channel.randomize(truth)
    except InputError:
        row, error = _first_refused(channel.randomize, truth)
        what = _without_row(error.message, [column.name for column in columns])
        raise type(error)(f"{path}, row {rows.start + row + 1}: {what}", remedy=error.remedy) from None


def _read_labels(column: Column, labels: Categories, rows: slice, path: Path) -> list[Label]:
    values = column.values[rows].tolist()
    label_of = {value: _label(value, labels) for value in set(values)}
    found = [label_of[value] for value in values]
    if None in found:
        row = found.index(None)
        raise LabelError(
            f"{path}, row {rows.start + row + 1}: column {column.name!r} is {shown(values[row])}; allowed: "
            f"{shorten(labels.labels)}.",
            remedy="Recode the column, or give the channel these labels.",
        )
    return [label for label in found if label is not None]


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


# -- what was done -----------------------------------------------------------------------------------------------------


def _print_summary(channel: AnyChannel, written: int, output: Path, as_json: bool) -> None:
    if as_json:
        print_json({"reports": written, "output": str(output), **channel_as_json(channel)})
        return
    rows = [("reports", f"{written:,}"), *channel_rows(channel)]
    print_table(f"reports written to {output}", ["", ""], rows)


def channel_as_json(channel: AnyChannel) -> dict[str, Any]:
    """Channel and level, for programs; a level that is not bounded is null."""
    level = channel.privacy_level
    return {
        "channel": channel.specification(),
        "fingerprint": channel.fingerprint,
        "privacy_level": level if math.isfinite(level) else None,
    }


def channel_rows(channel: AnyChannel) -> list[tuple[str, str]]:
    """Channel and level, for people."""
    level = channel.privacy_level
    parameters = ", ".join(f"{name} {as_text(value)}" for name, value in channel.parameters().items())
    cut = parameters if len(parameters) <= _LONGEST else f"{parameters[: _LONGEST - 1]}…"
    return [
        ("channel", f"{channel.kind}: {cut}"),
        ("privacy level", f"{level:.10g}" if math.isfinite(level) else "unbounded"),
    ]
