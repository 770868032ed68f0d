"""What goes wrong on a command line: one line on standard error, exit code 2."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from askance._checks import did_you_mean
from askance._words import Either, Part, Place, Spelling, Words
from askance.cli import NO_MEMORY
from askance.cli.shared.options import flag_of
from askance.cli.shared.process import flush_output, stop, stop_for_output
from askance.errors import AskanceError, InputError

_Error = TypeVar("_Error", bound=AskanceError)

# Flags are short words of a language: at the usual similarity --save is taken for --share.
_LIKE_A_FLAG = 0.7
# More words than a command takes: behind --record without quotes they are the rest of somebody's answer.
_EXTRA = re.compile(r"^(Got unexpected extra arguments?) \(.*\)", re.DOTALL)
# Arguments that commands have under other flags than their own names.
_FLAGS = {
    "n_respondents": "--respondents",
    "channels": "--channel",
    "x": "--x",
    "may_miscount": "--miscounts",
    "format": "--to",
}
#: Before the names of options that are parameters of designs.
OF_DESIGN = "of_design_"
# Where a command has words of its own for one.
_OF_COMMANDS = {
    "plan survey": {"Share(output)": "--share"},
    "plan model": {"Share(output)": "--target share:LABEL"},
    "plan shares": {"Share(output)": "--target LABEL"},
    "plan regression": {"Share(output)": "--target NAME"},
    "plan field": {"Share(output)": "--target VARIABLE=LABEL"},
}


def flags_of(command: click.Command, path: str = "") -> dict[str, str]:
    """What a command calls the arguments that it has flags for, those of designs included."""
    flags = {str(param.name): flag_of(param) for param in command.params if isinstance(param, click.Option)}
    others = {name: flag for name, flag in _FLAGS.items() if flag in flags.values()}
    others |= {name.removeprefix(OF_DESIGN): flag for name, flag in flags.items() if name.startswith(OF_DESIGN)}
    own = " ".join(path.split()[-2:])  # `askance plan survey` may be `python -m askance plan survey`
    return others | flags | _OF_COMMANDS.get(own, {})


def in_flags(error: _Error, flags: Mapping[str, str]) -> _Error:
    """A refusal with flags in place of the arguments that Python has for them.

    >>> from askance.errors import InputError
    >>> print(in_flags(InputError(argument="trials", got="0", allowed="1 or more"), {"trials": "--trials"}))
    --trials is 0; allowed: 1 or more.
    """
    return error.spelled(_spelling(flags))


def notes_in_flags(notes: Iterable[str]) -> tuple[str, ...]:
    """What a reader should know, with the flags of the command that runs in place of arguments."""
    context = click.get_current_context()
    spelling = _spelling(flags_of(context.command, context.command_path))
    return tuple(str(Words(note).spelled(spelling)) for note in notes)


def _spelling(flags: Mapping[str, str]) -> Spelling:
    """What the command line writes for the parts of a text."""

    def spelling(part: Part) -> str | None:
        if isinstance(part, Either):
            return part.command_line if not part.argument or part.argument in flags else None
        if isinstance(part, Place):
            return None
        name, bracket, position = part.name.partition("[")
        if name not in flags:
            return None
        return f"{flags[name]}{bracket}{position} {part.value if part.value not in ('True', '…') else ''}".rstrip()

    return spelling


def the_one(what: str, values: Mapping[str, object], remedy: str) -> str:
    """The option that was given, of those of which exactly one must be.

    >>> the_one("guesses", {"theta": "5,-1", "fit": None}, "Write --theta 5,-1.")
    'theta'
    """
    flags = {name: f"--{name.replace('_', '-')}" for name in values}
    chosen = [name for name, value in values.items() if value is not None and value is not False]
    if len(chosen) != 1:
        raise InputError(
            f"{what} given: {', '.join(flags[name] for name in chosen) or 'none'}; allowed: exactly one of "
            f"{', '.join(flags.values())}.",
            remedy=remedy,
        )
    return chosen[0]


def run_or_exit(command: Callable[..., Any]) -> None:
    """Run a command; every refusal becomes one line on standard error."""
    try:
        code = command(standalone_mode=False)
        flush_output()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        stop(_one_line(error))
    except AskanceError as error:
        stop(str(error))
    except MemoryError:
        stop(NO_MEMORY)
    except OSError as error:  # files have errors of their own
        stop_for_output(error)
    except click.Abort:
        stop("stopped.", 130)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _one_line(error: click.ClickException) -> str:
    """What is wrong with a command line, and the way out."""
    context = getattr(error, "ctx", None)
    path = "askance" if context is None else context.command_path
    see = "" if context is None else f"See `{path} --help`."
    if isinstance(error, click.NoSuchOption):
        known = [] if context is None else [flag for param in context.command.params for flag in param.opts]
        advice = did_you_mean(error.option_name, known, see, similarity=_LIKE_A_FLAG)
        return f"`{path}` has no option {error.option_name!r}. {advice}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_missing(error.param)} is missing. {see}"
    text = " ".join(error.format_message().split())
    if context is not None and any(param.name == "record" for param in context.command.params):
        text = _EXTRA.sub(r"\1", text)
    if not text.endswith((".", "?", "!")):
        text += "."
    return text if text.endswith("?") else f"{text} {see}".strip()


def _missing(param: click.Parameter) -> str:
    if not isinstance(param, click.Option):
        return str(param.human_readable_name)
    names = " / ".join(param.opts)
    return f"{names} ({param.help})" if param.help else names
