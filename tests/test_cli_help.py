"""Every command read aloud: help, options with a meaning, and examples that can be typed as they stand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click
import pytest

from askance.cli.command import START
from askance.cli.command import askance as root
from askance.cli.shared.guided import GuidedCommand, GuidedGroup

from .test_cli import all_commands, call

COMMANDS = [pytest.param(path, command, id=" ".join(("askance", *path))) for path, command in all_commands(root)]
# Placeholders that click makes up where nobody says what is meant.
MADE_UP = {"TEXT", "INTEGER", "FLOAT", "PATH", "FILENAME", "DIRECTORY"}


def examples_of(text: str) -> list[str]:
    """The command lines that the help of a command ends with; continued lines in one."""
    _, found, block = text.partition("\nExamples:\n")
    assert found, "there is no block of examples"
    assert re.fullmatch(r"(?:  .+\n)+", block), "nothing stands below the examples"
    return [line.strip() for line in re.sub(r" \\\n +", " ", block).splitlines()]


def words_of(example: str) -> list[str]:
    """The words behind `askance`, where it stands at the end of a pipe or alone."""
    words = shlex.split(example.rpartition("| ")[2])
    assert words[0] == "askance", example
    return words[1:]


def resolve(words: Sequence[str]) -> tuple[tuple[str, ...], click.Command, list[str]]:
    """The command that words lead to, and the rest of them."""
    command: click.Command = root
    path: list[str] = []
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command = command.commands[rest[0]]
        path.append(rest.pop(0))
    return tuple(path), command, rest


def test_alone_it_says_where_to_begin() -> None:
    """In a few lines, and every command among them can be typed."""
    outcome = call()
    assert (outcome.code, outcome.err) == (0, "")
    assert len(outcome.out.splitlines()) <= 16
    for story, lines in START.items():
        assert story in outcome.out
        for line in lines:
            assert line in outcome.out
            _, leads_to, rest = resolve(words_of(line))
            assert "--help" in rest or not leads_to.make_context(leads_to.name, rest).args


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_command_is_guided(path: tuple[str, ...], command: click.Command) -> None:
    assert isinstance(command, GuidedGroup if isinstance(command, click.Group) else GuidedCommand)
    named = [name for names in command.sections.values() for name in names]
    assert len(named) == len(set(named)), "an option or command stands in two sections"


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_options_say_what_they_are(path: tuple[str, ...], command: click.Command) -> None:
    text = call(*path, "--help").out
    for option in (each for each in command.params if isinstance(each, click.Option)):
        assert option.help, option.opts
        assert len(option.help.split()) > 1, option.help
        assert option.hidden or max(option.opts, key=len) in text
    for option in (each for each in command.params if isinstance(each, click.Option) and not each.is_flag):
        shown = option.make_metavar(click.Context(command))
        assert shown not in MADE_UP or option.opts == ["--id"], f"{option.opts}: {shown}"


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_examples_can_be_typed(path: tuple[str, ...], command: click.Command) -> None:
    """They lead to the command itself (or, of a group, to one inside), and all their options exist and are read."""
    text = call(*path, "--help").out
    examples = examples_of(text)
    assert 1 <= len(examples) <= 5
    for example in examples:
        where, found, rest = resolve(words_of(example))
        assert where[: len(path)] == path
        assert isinstance(command, click.Group) or where == path
        if "--help" not in rest:
            assert not found.make_context(found.name, rest).args, example


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_help_fits_a_terminal(path: tuple[str, ...], command: click.Command) -> None:
    """80 columns, but for what nothing could break."""
    for line in call(*path, "--help").out.splitlines():
        assert len(line) <= 80 or " " not in line.strip(), line
        assert line.startswith("Usage:") or not line.rstrip().endswith("..."), line


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_mentioned_commands_exist(path: tuple[str, ...], command: click.Command) -> None:
    """`askance …` in a help leads to a command that has the options mentioned with it."""
    for mention in re.findall(r"`askance ([^`]*)`", " ".join(call(*path, "--help").out.split())):
        where, found, rest = resolve(mention.split())
        assert where, mention
        known = {flag for param in found.params for flag in param.opts}
        assert {word for word in rest if word.startswith("-")} <= known, mention
