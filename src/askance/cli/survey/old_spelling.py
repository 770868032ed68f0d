"""How version 0.1 spelt commands, which still works for one version."""

from __future__ import annotations

from collections.abc import Sequence

import click

from askance._former import GONE_IN
from askance.errors import InputError

# What only tables with covariates have.
_OF_TABLES = (
    "--formula",
    "--plot",
    "--by",
    "--design",
    "--channel",
    "--positive",
    "--weights",
    "--cluster",
    "--missing",
)
_FLAGS = ("--field", "--json", "--help", "-h")


def respelt(words: Sequence[str]) -> list[str]:
    """`fit --state FILE` as `estimate FILE`, and with --release as `fit-linear FILE`; anything else as it is.

    >>> respelt(["fit", "survey.csv", "--formula", "said ~ age"])
    ['fit', 'survey.csv', '--formula', 'said ~ age']
    """
    names = [word.partition("=")[0] for word in words]
    if names[:1] != ["fit"] or "--state" not in names:
        return list(words)
    name = "fit-linear" if "--release" in names else "estimate"
    _refuse_tables(words[1:], name)
    click.echo(
        f"askance: note: `askance fit --state STATE` is now `askance {name} STATE`; the old spelling goes "
        f"in askance {GONE_IN}.",
        err=True,
    )
    rest = [word.removeprefix("--state=") for word in words[1:] if word != "--state"]
    return [name, *rest]


def _refuse_tables(words: Sequence[str], name: str) -> None:
    """Refuse a state beside a table, or what only tables have: a state has no covariates."""
    others = [word for word in (word.partition("=")[0] for word in words) if word in _OF_TABLES]
    for before, word in zip(["fit", *words], words, strict=False):
        is_value = before.startswith("-") and "=" not in before and before not in _FLAGS
        others += [] if is_value or word.startswith("-") else [word]
    if others:
        raise InputError(
            f"--state is given with {others[0]}; allowed: a state, which has no covariates, or a table.",
            remedy=f"Write `askance {name} STATE`, or `askance fit DATA --formula …` without --state.",
        )
