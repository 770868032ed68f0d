"""What the commands about campaigns share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from askance.cli.shared.options import FILE, option

if TYPE_CHECKING:
    from askance.collect.collection import Collection

#: The campaign file.
campaign_argument = click.argument("campaign", type=FILE)
#: Where answers are kept.
store_option = option(
    "--store PLACE",
    "where answers are kept: a SQLite file, or postgresql://…  [default: NAME.sqlite beside CAMPAIGN]",
)


def collection_of(campaign: Path, store: str | None) -> Collection:
    """The campaign and the place of its answers."""
    from askance.collect.collection import Collection

    return Collection(campaign, store)
