"""The `askance` command."""

from __future__ import annotations

import sys

import click

from askance import __version__
from askance.cli.certify import certify_group
from askance.cli.channels import channels_command
from askance.cli.demo import demo_command
from askance.errors import AskanceError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="askance")
def askance() -> None:
    """Learn a model from what people are willing to tell you.

    Every command prints a table for people; --json prints the same for programs.
    """


askance.add_command(channels_command)
askance.add_command(certify_group)
askance.add_command(demo_command)


def run() -> None:
    """Run the command; an error becomes one line on standard error and exit code 2."""
    try:
        askance()
    except AskanceError as error:
        click.echo(f"askance: {error}", err=True)
        sys.exit(2)
