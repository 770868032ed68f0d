"""`askance vectors`: known answers for devices in other languages; one subcommand per channel of the registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from askance.channels.registry import AnyChannel, ChannelEntry, entries
from askance.cli.devices.channel_commands import ChannelTask, add_channel_commands
from askance.cli.devices.channel_options import CHANNEL_SECTIONS
from askance.cli.shared.guided import GuidedGroup, command
from askance.cli.shared.options import JSON_SUMMARY, option, options, seed_option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress
from askance.cli.shared.write_guards import OutputFile

_OPTIONS = (
    option("-o, --output FILE", "where they go (.json)", OutputFile("file of vectors", ".json"), required=True),
    seed_option("seed of the words that are drawn: the same gives the same file"),
    JSON_SUMMARY,
)


def _has_mapping(entry: ChannelEntry) -> bool:
    return bool(entry.channel_class.device_mapping)


_FITTING = {"file", *(entry.kind for entry in entries(None) if _has_mapping(entry))}
_SECTIONS = {title: [kind for kind in kinds if kind in _FITTING] for title, kinds in CHANNEL_SECTIONS.items()}
_SECTIONS["All channels"] = ["all-examples"]


@click.group(
    "vectors",
    cls=GuidedGroup,
    short_help="Write known answers for devices in other languages.",
    sections=_SECTIONS,
    examples=[
        "askance vectors warner --question 2/3 -o warner.json",
        "askance vectors file my-channel.toml -o vectors.json",
        "askance vectors all-examples -o vectors.json",
    ],
)
def vectors_group() -> None:
    """Write known answers: what a device must report for given truths and given random words.

    A device in another language proves itself by them (docs/device.md has the mapping, device/1): it takes the
    description of the channel, a truth and words, and must give the same report from as many words. Words lie on both
    sides of every threshold, at both ends, where words are left aside, and some are drawn. Thresholds and words are
    texts, because many readers of JSON round whole numbers above 2^53.

    Every channel has its own options: askance vectors CHANNEL --help.
    """


def _write(channels: Sequence[AnyChannel], output: Path, seed: int) -> None:
    from askance.formats.disk import write_whole
    from askance.formats.vectors import device_vectors, vectors_as_json

    with progress(f"writing {output}"):
        vectors = device_vectors(channels, seed)
        write_whole(output, vectors_as_json(vectors))
    number = sum(len(known["vectors"]) for known in vectors["channels"])
    named = {name: vectors[name] for name in ("askance", "device", "seed")}
    content = {"output": str(output), "channels": len(channels), "vectors": number, **named}
    rows = [("channels", f"{len(channels):,}"), ("vectors", f"{number:,}"), ("seed", str(seed))]
    show(Card(f"known answers of {vectors['device']} written to {output}", rows, content))


def _run(channel: AnyChannel, output: Path, seed: int) -> None:
    _write([channel], output, seed)


@command(
    "all-examples",
    "every example of every channel that has a mapping",
    examples=["askance vectors all-examples -o vectors.json"],
)
@options(*_OPTIONS)
def all_examples_command(output: Path, seed: int) -> None:
    """Write known answers for every example of the registry: what a port of the whole of device/1 is checked with."""
    from askance.formats.vectors import example_channels

    _write(example_channels(), output, seed)


vectors_group.add_command(all_examples_command)
add_channel_commands(
    vectors_group,
    ChannelTask(
        _run,
        options=_OPTIONS,
        file_help="Write known answers for the channel that the TOML file PATH describes; `askance channels CHANNEL` "
        "shows such a file.",
        file_examples=["-o vectors.json"],
        example="-o vectors.json",
        fits=_has_mapping,
    ),
)
