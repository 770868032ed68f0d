"""The help of every command, put where a page says `<!-- commands -->`: the site shows what the program says."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import indent
from typing import Any

import click

from askance.cli.command import askance

_MARK = "<!-- commands -->"
_WIDTH = 88


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of every page."""
    return markdown.replace(_MARK, "\n".join(_sections())) if _MARK in markdown else markdown


def _sections() -> Iterator[str]:
    for context in _contexts(_context(askance, "askance", None)):
        path, text = context.command_path, f"```text\n{context.command.get_help(context)}\n```\n"
        if _is_one_of_many(context):
            yield f'??? abstract "{path}"\n\n{indent(text, "    ")}'
        else:
            yield f"{'#' * len(path.split())} {path}\n\n{text}"


def _is_one_of_many(context: click.Context) -> bool:
    """Whether its group has a command for every kind of channel: these are folded, or nobody would find the others."""
    group = context.parent and context.parent.command
    return isinstance(group, click.Group) and "warner" in group.commands


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    settings = {**command.context_settings, "max_content_width": _WIDTH, "terminal_width": _WIDTH}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _contexts(context: click.Context) -> Iterator[click.Context]:
    """Every command below, groups before what is in them; the program itself has the page's title."""
    if context.parent is not None:
        yield context
    if isinstance(context.command, click.Group):
        for name, command in sorted(context.command.commands.items()):
            if not command.hidden:
                yield from _contexts(_context(command, name, context))
