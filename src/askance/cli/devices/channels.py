"""`askance channels`: the registry, for people and programs."""

from __future__ import annotations

from typing import Any

import click

from askance.channels import registry
from askance.channels.armed_design import ArmedDesign
from askance.channels.registry import ChannelEntry
from askance.cli.devices.channel_options import flag, need, shown_level
from askance.cli.shared.guided import command
from askance.cli.shared.options import JSON
from askance.cli.shared.printing import print_file, print_json, print_table, wants_json


@command(
    "channels",
    "List the channels, or show one in full.",
    examples=["askance channels", "askance channels forced-response"],
)
@click.argument("kind", required=False)
@JSON
def channels_command(kind: str | None) -> None:
    """List the channels, or show one (KIND) with its parameters, when to use it, and an example as a TOML file.

    A channel is how the truth becomes what is seen: a survey design, noise on a device, labels that may be wrong.
    Designs with groups of their own have a channel for each of them: they are for `askance fit`, `askance sensitivity`
    and `askance plan survey`, and their levels stand below what is shown of one.
    """
    listed = [*registry.entries(None), *registry.entries("groups")] if kind is None else [registry.entry(kind)]
    if wants_json():
        print_json([*map(_describe, listed)] if kind is None else _describe(listed[0]))
    elif kind is None:
        rows = [(entry.kind, " ".join(map(_usage, entry.parameters)), entry.summary) for entry in listed]
        print_table("", ["channel", "parameters", "what it does"], rows)
    else:
        _show(listed[0])


def _usage(parameter: registry.Parameter) -> str:
    text = f"{flag(parameter.name)} {parameter.kind.placeholder}"
    return text if parameter.required else f"[{text}]"


def _describe(entry: ChannelEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "family": entry.family,
        "summary": entry.summary,
        "use": entry.use,
        "parameters": [
            {
                "name": p.name,
                "flag": flag(p.name),
                "type": p.kind.name,
                "required": p.required,
                "default": None if p.required else p.default,
                "description": p.description,
            }
            for p in entry.parameters
        ],
        "examples": list(entry.examples),
    }


def _show(entry: ChannelEntry) -> None:
    from askance.formats import channel_to_toml

    click.echo(f"{entry.kind}: {entry.summary}\nUse it when {entry.use}.\n")
    rows = [(flag(p.name), p.kind.syntax, need(p), p.description) for p in entry.parameters]
    print_table("", ["flag", "written as", "", "meaning"], rows)
    built = entry.build(entry.examples[0])
    click.echo("as a TOML file:\n")
    print_file(channel_to_toml(built) + "\n")
    if isinstance(built, ArmedDesign):
        levels = [(str(group), shown_level(level)) for group, level in built.privacy_levels.items()]
        print_table("\nwhat the example may tell of the trait:", ["group", "privacy level"], levels)
        return
    click.echo('\nand purpose = "NAME" (--purpose NAME) says which question is answered: two do not mix')
