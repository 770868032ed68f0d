"""How version 0.1 spelt commands, which still works for one version."""

from __future__ import annotations

from collections.abc import Sequence

import click


def respelt(words: Sequence[str]) -> list[str]:
    """`fit --state FILE` as `estimate FILE`, and with --release as `fit-linear FILE`; anything else as it is.

    >>> respelt(["fit", "survey.csv", "--formula", "said ~ age"])
    ['fit', 'survey.csv', '--formula', 'said ~ age']
    """
    if words[:1] != ["fit"] or not any(word.partition("=")[0] == "--state" for word in words):
        return list(words)
    linear = any(word.partition("=")[0] == "--release" for word in words)
    name = "fit-linear" if linear else "estimate"
    click.echo(
        f"askance: note: `askance fit --state STATE` is now `askance {name} STATE`; the old spelling goes with the "
        "next version.",
        err=True,
    )
    rest = [word.removeprefix("--state=") for word in words[1:] if word != "--state"]
    return [name, *rest]
