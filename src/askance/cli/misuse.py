"""What goes wrong on a command line: one line on standard error, exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from askance._checks import did_you_mean
from askance.errors import AskanceError, InputError


class GuidedGroup(click.Group):
    """A group that suggests the command that was probably meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which are allowed."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            raise InputError(
                f"`{ctx.command_path}` has no command {name!r}; allowed: {', '.join(known)}.",
                remedy=did_you_mean(name, known, f"See `{ctx.command_path} --help`."),
            )
        return super().resolve_command(ctx, args)


def run_or_exit(command: Callable[..., Any]) -> None:
    """Run a command; every refusal becomes one line on standard error."""
    try:
        code = command(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _stop(_one_line(error))
    except AskanceError as error:
        _stop(str(error))
    except click.Abort:
        _stop("stopped.", 130)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _one_line(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    if not text.endswith((".", "?", "!")):
        text += "."
    context = getattr(error, "ctx", None)
    return text if text.endswith("?") or context is None else f"{text} See `{context.command_path} --help`."


def _stop(text: str, code: int = 2) -> None:
    click.echo(f"askance: {text}", err=True)
    sys.exit(code)
