"""`askance audit`: test the level of a channel on its real sampler; one subcommand per channel of the registry."""

from __future__ import annotations

import click

from askance.channels.registry import AnyChannel
from askance.cli.devices.channel_commands import ChannelTask, add_channel_commands
from askance.cli.devices.channel_options import CHANNEL_SECTIONS, shown_level
from askance.cli.shared.guided import GuidedGroup
from askance.cli.shared.options import JSON, NUMBER, WholeNumber, confidence_option, option
from askance.cli.shared.printing import Card, show
from askance.cli.shared.progress import progress

# Said here once more, so that help needs no mathematics to be loaded; a test compares the two.
_DEFAULT_TRIALS = 200_000


@click.group(
    "audit",
    cls=GuidedGroup,
    short_help="Test the privacy level of a channel on its real sampler.",
    sections=CHANNEL_SECTIONS,
    examples=[
        "askance audit forced-response --truth 2/3 --yes 1/6",
        "askance audit file my-channel.toml --trials 1000000",
    ],
)
def audit_group() -> None:
    """Test the privacy level of a channel by drawing from its real sampler.

    Prints a lower bound on the level that is right with the given confidence, and exits with code 1 when it exceeds
    the stated level. Draws come from the cryptographic source of the system, as on devices: there is no --seed, and
    two audits differ a little. Every channel has its own options: askance audit CHANNEL --help.
    """


def _run(channel: AnyChannel, trials: int, confidence: float) -> int:
    from askance.design.audit import audit

    with progress() as doing:
        outcome = audit(channel, trials, confidence, progress=doing)
    verdict = "nothing found against it" if outcome.holds else "EXCEEDED"
    rows = [
        ("level at least", f"{outcome.lower_bound:.6g} (with confidence {outcome.confidence:.12g})"),
        ("stated level", f"{shown_level(outcome.stated_level)} ({verdict})"),
        ("level of the thresholds", shown_level(outcome.privacy_level)),
        ("told apart by", outcome.event),
        ("seen with", f"{outcome.frequencies[0]:.4%} of {outcome.likelier}"),
        ("and with", f"{outcome.frequencies[1]:.4%} of {outcome.rarer}"),
        ("reports drawn", f"{outcome.trials:,}"),
    ]
    content = {"channel": channel.specification(), **outcome.to_json()}
    show(Card(f"audit of {channel.kind}", rows, content))
    if not outcome.holds:
        click.echo(
            f"askance: the sampler of {channel.kind} is less private than stated: its level is at least "
            f"{outcome.lower_bound:.4g}, stated is {outcome.stated_level:.4g}. Do not use it.",
            err=True,
        )
    return int(not outcome.holds)


add_channel_commands(
    audit_group,
    ChannelTask(
        _run,
        options=[
            option("--trials N", "reports to draw, 1000 or more", WholeNumber(), default=_DEFAULT_TRIALS),
            confidence_option("probability that the lower bound is right, at least 0.5 and below 1", 0.999, NUMBER),
            JSON,
        ],
        file_help="Audit the channel that the TOML file PATH describes; `askance channels CHANNEL` shows such a file.",
        file_examples=["", "--trials 1000000"],
    ),
)
