"""The `askance` command."""

from __future__ import annotations

from importlib import import_module
from itertools import chain, zip_longest

import click

from askance import __version__
from askance.cli.shared.errors import run_or_exit
from askance.cli.shared.guided import GuidedGroup
from askance.cli.survey.old_spelling import respelt

# Titles of the help, and below each the modules of commands, which are called like them.
_SECTIONS = {
    "Surveys": ("planning.plan", "survey.fit", "survey.association", "survey.sensitivity", "planning.optimal"),
    "Saved fits": ("survey.predict", "survey.test", "survey.compare", "survey.report"),
    "Devices that send noised records": (
        *("devices.randomize", "devices.aggregate", "survey.estimate", "survey.fit_linear", "devices.synth"),
    ),
    "Collecting": ("collect.collect",),
    "Taggers from counts": ("text.questions", "text.regions", "text.train", "text.tag", "text.evaluate"),
    "Channels": ("devices.channels", "devices.certify", "devices.audit", "devices.vectors"),
    "To see it work": ("experiments.demo", "experiments.example", "experiments.reproduce"),
}


def _command_of(module: str) -> click.Command:
    """`fit_command` of survey.fit, or `plan_group` of planning.plan."""
    name, contents = module.rpartition(".")[2], vars(import_module(f"askance.cli.{module}"))
    command: click.Command = contents.get(f"{name}_command") or contents[f"{name}_group"]
    return command


_COMMANDS = {title: [_command_of(module) for module in modules] for title, modules in _SECTIONS.items()}


# What `askance` alone prints: by what somebody has in hand, a command that works as it stands or with their own file.
START = {
    "see it work": ("askance demo",),
    "ask a sensitive question": (
        "askance plan survey --prevalence 0.2 --standard-error 0.02",
        "askance collect new survey -o campaign.toml",
    ),
    "answers in a table": (
        "askance example survey",
        'askance fit answers.csv --formula "said ~ year" --design forced-response --truth 2/3 --yes 1/6',
    ),
    "numbers from devices": ("askance collect new devices -o campaign.toml", "askance randomize --help"),
    "tags from annotators": (
        "askance questions text.txt --tags NOUN,VERB --rest other -o sheet.csv",
        "askance collect new counting --text text.txt -o campaign.toml",
    ),
    "how private a design is": ("askance certify warner --question 1/6",),
}


@click.group(
    cls=GuidedGroup,
    invoke_without_command=True,
    respelt=respelt,
    context_settings={"help_option_names": ["-h", "--help"]},
    sections={title: [str(command.name) for command in commands] for title, commands in _COMMANDS.items()},
    examples=[
        "askance demo",
        "askance plan survey --prevalence 0.2 --standard-error 0.02",
        "askance fit --help",
    ],
)
@click.version_option(__version__, prog_name="askance", help="print the version")
@click.pass_context
def askance(ctx: click.Context) -> None:
    """Learn a model from what people are willing to tell you: noised answers, counts, partial labels.

    Every command prints a table for people; --json prints the same for programs. The words used throughout:

    \b
        channel        how the truth becomes what is seen; in surveys: a design,
                       such as a die that says when to answer truthfully
        output         an answer that can be true: what a channel is told
        report         one noised answer or record; all that leaves a device
        privacy level  how much a report may tell: at level 1 no report is
                       more than e = 2.7 times likelier under one truth than
                       under another (ε of local differential privacy)
        state          sums of many reports, in a file
        statistics     the numbers of a record, of which means are learned
        region         a stretch of a sentence in which tags are counted
    """
    if ctx.invoked_subcommand is None:
        click.echo(f"askance {__version__}: learn a model from what people are willing to tell you. Where to begin:\n")
        for story, lines in START.items():
            click.echo("\n".join(f"  {title:<26}{line}" for title, line in zip_longest((story,), lines, fillvalue="")))
        click.echo("\nAll commands: askance --help. What one does: askance COMMAND --help.")


for _command in chain.from_iterable(_COMMANDS.values()):
    askance.add_command(_command)


def run() -> None:
    """Run the command; an error becomes one line on standard error and exit code 2."""
    run_or_exit(askance)
