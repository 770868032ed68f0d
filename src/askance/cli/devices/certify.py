"""`askance certify`: prove the level of a channel; one subcommand per channel of the registry."""

from __future__ import annotations

import math

import click

from askance._checks import as_positive_level, shorten
from askance.channels.device import in_text
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel
from askance.channels.thresholds import exceeds
from askance.cli.devices.channel_commands import ChannelTask, add_channel_commands
from askance.cli.devices.channel_options import CHANNEL_SECTIONS, shown_level
from askance.cli.shared.guided import GuidedGroup
from askance.cli.shared.options import JSON, option
from askance.cli.shared.printing import Card, show, wants_json
from askance.cli.shared.progress import progress


@click.group(
    "certify",
    cls=GuidedGroup,
    short_help="Prove the privacy level of a channel.",
    sections=CHANNEL_SECTIONS,
    examples=[
        "askance certify forced-response --truth 2/3 --yes 1/6",
        "askance certify file my-channel.toml",
        "askance certify file my-channel.toml --at-most 1",
    ],
)
def certify_group() -> None:
    """Prove the privacy level of a channel, and whether unbiased estimation is possible.

    Exact arithmetic on the very thresholds that the sampler compares random numbers with. Nothing is drawn; `askance
    audit` tests the sampler itself. With --at-most it exits with code 1 when the level is larger, as tests want it.
    Every channel has its own options: askance certify CHANNEL --help.
    """


def _run(channel: AnyChannel, at_most: str | None) -> int:
    from askance.design import certify

    limit = None if at_most is None else as_positive_level(at_most, "--at-most")
    with progress("proving the level"):
        proof = certify(channel)
    rounding = "" if proof.rounding is None else f" (rounding of β at most {proof.rounding:.2g})"
    hidden = "no, not of every output (of the statistics of a model, perhaps)"
    worst = shorten(list(proof.worst_observations))
    rows = [
        ("privacy level", shown_level(proof.privacy_level)),
        ("most revealing observations", worst if proof.complete else f"for example {worst}"),
        ("unbiased estimation possible", ("yes, of every statistic" if proof.unbiased else hidden) + rounding),
        ("outputs, observations", f"{len(channel.outputs)}, {len(channel.observations)}")
        if isinstance(channel, FiniteChannel)
        else ("stated level", f"{channel.stated_level:.10g}{'' if proof.holds else ' (exceeded)'}"),
        *([("purpose", channel.purpose)] if channel.purpose else []),
        ("proved by", proof.proved_by),
    ]
    named = {"channel": channel.specification(), "fingerprint": channel.fingerprint}
    thresholds = channel.thresholds() if wants_json() else {}
    # Numbers above 2⁵³ are rounded by readers in other languages: the texts are exact for all.
    written = {"thresholds": thresholds, "thresholds_in_text": in_text(thresholds), "of": 2**62}
    show(Card(f"certificate of {channel.kind}", rows, {**named, **proof.to_json(), **written}))
    if limit is None or not exceeds(proof.privacy_level, limit):
        return 0
    shown = "unbounded" if math.isinf(proof.privacy_level) else repr(proof.privacy_level)
    click.echo(f"askance: the privacy level of {channel.kind} is {shown}; allowed: at most {at_most}.", err=True)
    return 1


add_channel_commands(
    certify_group,
    ChannelTask(
        _run,
        options=[
            option("--at-most LEVEL", "exit with code 1 when the privacy level is larger; above 0, at most 30"),
            JSON,
        ],
        file_help="Certify the channel that the TOML file PATH describes; `askance channels CHANNEL` shows such a "
        "file.",
        file_examples=["", "--at-most 1"],
    ),
)
