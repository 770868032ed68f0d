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
    """`fit --state FILE` as `estimate FILE`, with --release as `fit-linear FILE`; `optimal --by` as `optimal --method`.

    Anything else is as it is.

    >>> respelt(["fit", "survey.csv", "--formula", "said ~ age"])
    ['fit', 'survey.csv', '--formula', 'said ~ age']
    """
    names = [word.partition("=")[0] for word in words]
    if names[:1] == ["optimal"] and "--by" in names:
        _note("askance optimal --by", "askance optimal --method")
        return [f"--method{word.removeprefix('--by')}" if word.partition("=")[0] == "--by" else word for word in words]
    if names[:1] != ["fit"] or "--state" not in names:
        return list(words)
    name = "fit-linear" if "--release" in names else "estimate"
    _refuse_tables(words[1:], name)
    _note("askance fit --state STATE", f"askance {name} STATE")
    rest = [word.removeprefix("--state=") for word in words[1:] if word != "--state"]
    return [name, *rest]


def _note(old: str, new: str) -> None:
    """Say on standard error how something is spelt now."""
    click.echo(f"askance: note: `{old}` is now `{new}`; the old spelling goes in askance {GONE_IN}.", err=True)


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
