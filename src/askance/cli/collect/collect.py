"""`askance collect`: a campaign from its file to its answers."""

from __future__ import annotations

import click

from askance.cli.collect.check import check_command
from askance.cli.collect.export import export_command
from askance.cli.collect.keeping import backup_command, close_command, delete_command, restore_command
from askance.cli.collect.new import new_command
from askance.cli.collect.page import page_command
from askance.cli.collect.rehearse import rehearse_command
from askance.cli.collect.serve import serve_command
from askance.cli.collect.tokens import tokens_command
from askance.cli.shared.guided import GuidedGroup


def _served(arguments: list[str]) -> list[str]:
    """A campaign file in place of a command is served."""
    return ["serve", *arguments] if arguments[0].endswith(".toml") else arguments


@click.group(
    "collect",
    cls=GuidedGroup,
    respelt=_served,
    short_help="Ask people, devices or annotators, and keep what they send.",
    sections={
        "Before": ["new", "check", "rehearse", "tokens", "page"],
        "While answers come in": ["serve", "backup", "close"],
        "After": ["export", "delete", "restore"],
    },
    examples=[
        "askance collect new survey -o exams.toml",
        "askance collect check exams.toml",
        "askance collect serve exams.toml",
        "askance collect tokens exams.toml --count 500 -o tokens.csv",
    ],
)
def collect_group() -> None:
    """Collect what CAMPAIGN, a TOML file, asks: noised answers of a survey, reports of devices, counts in a text.

    A campaign file in place of a command is served. Answers are kept in NAME.sqlite beside the file, or where --store
    says; what was acknowledged is on the disk. Nothing is kept of who sent what when.
    """


for _command in (
    *(new_command, check_command, rehearse_command, serve_command, tokens_command, page_command, export_command),
    *(backup_command, restore_command, close_command, delete_command),
):
    collect_group.add_command(_command)
