"""The `askance` command."""

from __future__ import annotations

import click

from askance import __version__
from askance.cli.devices.aggregate import aggregate_command
from askance.cli.devices.audit import audit_group
from askance.cli.devices.certify import certify_group
from askance.cli.devices.channels import channels_command
from askance.cli.devices.randomize import randomize_group
from askance.cli.devices.synth import synth_command
from askance.cli.experiments.demo import demo_command
from askance.cli.experiments.reproduce import reproduce_command
from askance.cli.planning.optimal import optimal_command
from askance.cli.planning.plan import plan_group
from askance.cli.shared.errors import run_or_exit
from askance.cli.shared.guided import GuidedGroup
from askance.cli.survey.estimate import estimate_command
from askance.cli.survey.fit import fit_command
from askance.cli.survey.fit_linear import fit_linear_command
from askance.cli.survey.old_spelling import respelt
from askance.cli.survey.sensitivity import sensitivity_command
from askance.cli.text.evaluate import evaluate_command
from askance.cli.text.questions import questions_command
from askance.cli.text.regions import regions_command
from askance.cli.text.tag import tag_command
from askance.cli.text.train import train_command


@click.group(
    cls=GuidedGroup,
    respelt=respelt,
    context_settings={"help_option_names": ["-h", "--help"]},
    sections={
        "Surveys": ["plan", "fit", "sensitivity", "optimal"],
        "Devices that send noised records": ["randomize", "aggregate", "estimate", "fit-linear", "synth"],
        "Taggers from counts": ["questions", "regions", "train", "tag", "evaluate"],
        "Channels": ["channels", "certify", "audit"],
        "To see it work": ["demo", "reproduce"],
    },
    examples=[
        "askance demo",
        "askance plan survey --prevalence 0.2 --standard-error 0.02",
        "askance fit --help",
    ],
)
@click.version_option(__version__, prog_name="askance", help="print the version")
def askance() -> None:
    """Learn a model from what people are willing to tell you: noised answers, counts, partial labels.

    Every command prints a table for people; --json prints the same for programs. The words used throughout:

    \b
        channel        how the truth becomes what is seen; in surveys: a design,
                       such as a die that says when to answer truthfully
        report         one noised answer or record; all that leaves a device
        privacy level  how much a report may tell: at level 1 no report is
                       more than e = 2.7 times likelier under one truth than
                       under another (ε of local differential privacy)
        state          sums of many reports, in a file
        statistics     the numbers of a record, of which means are learned
        region         a stretch of a sentence in which tags are counted
    """


for _command in (
    aggregate_command,
    audit_group,
    certify_group,
    channels_command,
    demo_command,
    estimate_command,
    evaluate_command,
    fit_command,
    fit_linear_command,
    optimal_command,
    plan_group,
    questions_command,
    randomize_group,
    regions_command,
    reproduce_command,
    sensitivity_command,
    synth_command,
    tag_command,
    train_command,
):
    askance.add_command(_command)


def run() -> None:
    """Run the command; an error becomes one line on standard error and exit code 2."""
    run_or_exit(askance)
