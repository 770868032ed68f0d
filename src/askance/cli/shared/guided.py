"""Commands whose help ends with examples, and that say what is wrong in words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from askance._checks import did_you_mean
from askance.cli.shared.errors import flags_of, in_flags
from askance.cli.shared.write_guards import check_places
from askance.errors import AskanceError, InputError

# A word of a command line; what is quoted stays in one piece, and so do an option and its value.
_PIECE = r"""(?:"[^"]*"|'[^']*'|[^\s"'])+"""
_WORDS = re.compile(rf"""-{_PIECE} (?!-){_PIECE}|{_PIECE}""")


class GuidedCommand(click.Command):
    """A command whose help ends with examples.

    Args:
        positional: as for `click.Command`, as are those that are not listed here.
        examples: command lines that can be typed as they are.
        sections: titles, and what belongs below them: names of options, or of commands where it is a group. What is not
            named stands first, below the usual title.
        needs: by name of an option, those of which at least one must be given with it.
        apart: by name of an option, those that cannot be given with it.
    """

    def __init__(
        self,
        *positional: Any,
        examples: Sequence[str] = (),
        sections: Mapping[str, Sequence[str]] | None = None,
        needs: Mapping[str, Sequence[str]] | None = None,
        apart: Mapping[str, Sequence[str]] | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*positional, **named)
        self.needs, self.apart = dict(needs or {}), dict(apart or {})
        self.examples, self.sections = tuple(examples), dict(sections or {})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options, section by section."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        records = {str(option.name): option.get_help_record(ctx) for option in options}
        rows = {name: record for name, record in records.items() if record is not None}
        _write_sections(formatter, "Options", rows, {} if isinstance(self, click.Group) else self.sections)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, last."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(_continued(example, formatter.width, formatter.current_indent))

    def invoke(self, ctx: click.Context) -> Any:
        """Run, once all options fit together and all places will do; what the library refuses is said in flags."""
        try:
            self._refuse_combinations(ctx)
            check_places(ctx)
            return super().invoke(ctx)
        except AskanceError as error:
            raise in_flags(error, flags_of(self, ctx.command_path)) from None

    def _refuse_combinations(self, ctx: click.Context) -> None:
        """Refuse options that would do nothing, alone or beside others."""
        flags = {str(param.name): param.opts[0] for param in self.params}
        typed = {name for name in flags if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
        for name in [name for name in self.needs if name in typed and typed.isdisjoint(self.needs[name])]:
            needed = " or ".join(flags[other] for other in self.needs[name])
            raise InputError(f"{flags[name]} is given without {needed}.", remedy="Leave it out, or give both.")
        for name, other in ((name, other) for name, others in self.apart.items() for other in others):
            if name in typed and other in typed:
                raise InputError(
                    f"{flags[name]} is given with {flags[other]}; allowed: one of them.",
                    remedy="Leave one of them out.",
                )


def command(name: str, short_help: str, **more: Any) -> Callable[[Callable[..., Any]], GuidedCommand]:
    """A guided command of a function; `more` as for `GuidedCommand`."""
    return click.command(name, cls=GuidedCommand, short_help=short_help, **more)


class GuidedGroup(GuidedCommand, click.Group):
    """A group that suggests the command that was probably meant."""

    command_class = GuidedCommand

    def __init__(self, *positional: Any, respelt: Callable[[list[str]], list[str]] = list, **named: Any) -> None:
        """`respelt` turns what was typed as it was spelt before into what is spelt now."""
        super().__init__(*positional, **named)
        self.respelt = respelt

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which are allowed."""
        args = self.respelt(args)
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            raise InputError(
                f"`{ctx.command_path}` has no command {name!r}; allowed: {', '.join(known)}.",
                remedy=did_you_mean(name, known, f"See `{ctx.command_path} --help`."),
            )
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands first, section by section: they are what is looked for."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands with what they are for; nothing is cut."""
        rows = {name: (name, self.commands[name].get_short_help_str(limit=200)) for name in self.list_commands(ctx)}
        _write_sections(formatter, "Commands", rows, self.sections)


def _write_sections(
    formatter: click.HelpFormatter,
    title: str,
    rows: Mapping[str, tuple[str, str]],
    sections: Mapping[str, Iterable[str]],
) -> None:
    """Rows that no section names, then every section in the order of its names."""
    named = {name for names in sections.values() for name in names}
    parts = {title: [name for name in rows if name not in named], **sections}
    for heading, names in parts.items():
        listed = [rows[name] for name in names if name in rows]
        if listed:
            with formatter.section(heading):
                formatter.write_dl(listed)


def _continued(line: str, width: int, indent: int) -> str:
    """A command line in lines of a width, which a shell reads as one.

    >>> _continued("echo one --two three", 14, 0).split("\\n")
    ['echo one \\\\', '    --two three', '']
    """
    lines, margin = [" " * indent], " " * (indent + 4)
    for word in _WORDS.findall(line):
        if lines[-1].strip() and len(lines[-1]) + len(word) + 3 > width:
            lines[-1] += " \\"
            lines.append(margin)
        lines[-1] += (" " if lines[-1].strip() else "") + word
    return "\n".join(lines) + "\n"
