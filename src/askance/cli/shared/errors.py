"""What goes wrong on a command line: one line on standard error, exit code 2."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import click

from askance._checks import did_you_mean
from askance.cli import NO_MEMORY
from askance.cli.shared.numbers import flag_of
from askance.cli.shared.process import flush_output, stop, stop_for_output
from askance.errors import AskanceError

# Where messages of Python name an argument: they begin with it, give its value, or advise about it.
_NAMED = (
    r"^{name}(?= (?:is|has|holds|contains)\b)",
    r"(?<= ){name}(?= = )",
    r"(?<=\bGive ){name}(?= as )",
    r"(?<=\bLeave ){name}(?= out\b)",
    r"(?<=\bWiden ){name}\b",
)
# What both Python and the command line are told, and the part for the command line.
_FOR_BOTH = (
    (r"""\b\w+=(?:True|["'][\w-]+["']) \((--[^)]+)\)""", r"\1"),
    (r"for_purpose\((['\"]).*\1\) \((--.+)\)\.$", r"\2."),
    (r"\b\w+ \(on the command line: ([\w-]+)\)", r"\1"),
    (r"Write 0\.25 or \"1/4\"", "Write 0.25 or 1/4"),
)
# Flags are short words of a language: at the usual similarity --save is taken for --share.
_LIKE_A_FLAG = 0.7
# More words than a command takes: behind --record without quotes they are the rest of somebody's answer.
_EXTRA = re.compile(r"^(Got unexpected extra arguments?) \(.*\)", re.DOTALL)
# A vector of the wrong length.
_SHAPES = r"^theta has shape \((\d+),\); allowed: \((\d+),\)"


def by_flags(error: AskanceError, command: click.Command) -> AskanceError:
    """The same refusal, with the options of a command in place of the arguments that Python has for them."""
    flags = {str(param.name): flag_of(param) for param in command.params if isinstance(param, click.Option)}
    return type(error)(_in_flags(error.message, flags), remedy=_in_flags(error.remedy, flags))


def _in_flags(text: str, flags: dict[str, str]) -> str:
    """A text with flags in place of names.

    >>> _in_flags("n_trials is 0; allowed: 1 or more.", {"trials": "--trials"})
    '--trials is 0; allowed: 1 or more.'
    >>> _in_flags("Use method='one-step'.", {"method": "--method"})
    'Use --method one-step.'
    >>> _in_flags("Warner(question='2/3') is no pilot.", {"question": "--question"})
    "Warner(question='2/3') is no pilot."
    """
    for pattern, words in _FOR_BOTH:
        text = re.sub(pattern, words, text)
    for name, flag in flags.items():
        if flag == "--theta":
            text = re.sub(_SHAPES, rf"{flag} has \1 numbers; allowed: \2", text)
        text = re.sub(rf"""(?<!\()(?<!, )\b{name}=["']([\w-]+)["']""", rf"{flag} \1", text)
        for pattern in _NAMED:
            text = re.sub(pattern.format(name=rf"(?:n_)?{name}"), flag, text)
    return text


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
    if isinstance(error, click.BadParameter) and isinstance(getattr(error.param, "type", None), click.Choice):
        return _no_choice(error, see)
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


def _no_choice(error: click.BadParameter, see: str) -> str:
    """What was given instead of one of a few words."""
    param = error.param
    assert param is not None
    assert isinstance(param.type, click.Choice)
    known = [str(choice) for choice in param.type.choices]
    given = re.match(r"'(.*)' is not one of", error.message, re.DOTALL)
    value = given[1] if given else ""
    return f"{flag_of(param)} is {value!r}; allowed: {', '.join(known)}. {did_you_mean(value, known, see)}"
