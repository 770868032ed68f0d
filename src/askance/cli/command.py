"""The `askance` command."""

from __future__ import annotations

import click

from askance import __version__
from askance.cli.aggregate import aggregate_command
from askance.cli.audit import audit_group
from askance.cli.certify import certify_group
from askance.cli.channels import channels_command
from askance.cli.demo import demo_command
from askance.cli.fit import fit_command
from askance.cli.misuse import GuidedGroup, run_or_exit
from askance.cli.optimal import optimal_command
from askance.cli.plan import plan_group
from askance.cli.randomize import randomize_group
from askance.cli.regions import regions_command
from askance.cli.reproduce import reproduce_command
from askance.cli.sensitivity import sensitivity_command
from askance.cli.synth import synth_command
from askance.cli.tag import evaluate_command, tag_command
from askance.cli.train import train_command


@click.group(cls=GuidedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="askance")
def askance() -> None:
    """Learn a model from what people are willing to tell you.

    Every command prints a table for people; --json prints the same for programs.
    """


askance.add_command(aggregate_command)
askance.add_command(channels_command)
askance.add_command(certify_group)
askance.add_command(audit_group)
askance.add_command(demo_command)
askance.add_command(fit_command)
askance.add_command(optimal_command)
askance.add_command(plan_group)
askance.add_command(randomize_group)
askance.add_command(regions_command)
askance.add_command(reproduce_command)
askance.add_command(sensitivity_command)
askance.add_command(synth_command)
askance.add_command(train_command)
askance.add_command(tag_command)
askance.add_command(evaluate_command)


def run() -> None:
    """Run the command; an error becomes one line on standard error and exit code 2."""
    run_or_exit(askance)
