"""`askance certify`: prove the level of a channel; one subcommand per channel of the registry."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from askance._checks import shorten
from askance.channels import registry
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel, ChannelEntry
from askance.cli.channel_options import build_from_flags, channel_options, example_flags
from askance.cli.misuse import GuidedGroup
from askance.cli.output import print_json, print_table


@click.group("certify", cls=GuidedGroup, short_help="Prove the privacy level of a channel.")
def certify_group() -> None:
    """Prove the privacy level of a channel, and that unbiased estimation is possible.

    Exact arithmetic on the very thresholds the sampler uses. Example:

        askance certify forced-response --truth 2/3 --yes 1/6
    """


def _print_certificate(channel: AnyChannel, as_json: bool) -> None:
    from askance.design import certify

    certificate = certify(channel)
    if as_json:
        sampler = {} if isinstance(channel, FiniteChannel) else {"thresholds": channel.thresholds(), "of": 2**62}
        print_json({"channel": channel.specification(), **certificate.to_json(), **sampler})
        return
    level = "unbounded" if math.isinf(certificate.privacy_level) else f"{certificate.privacy_level:.10g}"
    rounding = "" if certificate.rounding is None else f" (rounding of β at most {certificate.rounding:.2g})"
    hidden = "no, not of every output (of the statistics of a model, perhaps)"
    possible = "yes, of every statistic" if certificate.unbiased else hidden
    rows = [
        ("privacy level", level),
        (
            "most revealing observations",
            f"{'' if certificate.complete else 'for example '}{shorten(list(certificate.worst_observations))}",
        ),
        ("unbiased estimation possible", possible + rounding),
        ("outputs, observations", f"{len(channel.outputs)}, {len(channel.observations)}")
        if isinstance(channel, FiniteChannel)
        else ("stated level", f"{channel.stated_level:.10g}{'' if certificate.holds else ' (exceeded)'}"),
        ("proved by", certificate.proved_by),
    ]
    print_table(f"certificate of {channel.kind}", ["", ""], rows)


def _command_for(entry: ChannelEntry) -> click.Command:
    summary = f"{entry.summary[0].upper()}{entry.summary[1:]}."
    example = f"\b\nExample:\n  askance certify {entry.kind} {example_flags(entry)}"

    @click.command(entry.kind, help=summary, short_help=entry.summary, epilog=example)
    @channel_options(entry)
    @click.option("--json", "as_json", is_flag=True, help="print JSON")
    def command(as_json: bool, **given: Any) -> None:
        _print_certificate(build_from_flags(entry, given), as_json)

    return command


for _entry in registry.entries(None):
    certify_group.add_command(_command_for(_entry))


@certify_group.command("file", short_help="a channel described in a TOML file")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="print JSON")
def certify_file(path: Path, as_json: bool) -> None:
    """Certify the channel described in the TOML file PATH.

    Example: askance certify file my-channel.toml
    """
    from askance.formats import read_channel

    _print_certificate(read_channel(path), as_json)
