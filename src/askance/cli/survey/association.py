"""`askance association`: how two answers go together, where one or both are hidden."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, Choice, Read, confidence_option, missing_option, option, read_pair
from askance.cli.shared.printing import show
from askance.cli.shared.progress import working
from askance.cli.survey.survey_options import CODEBOOK
from askance.errors import InputError

if TYPE_CHECKING:
    from askance.survey.codebook import Codebook

Pairs: TypeAlias = tuple[tuple[str, str], ...]
_OR = "Or give --codebook, which says the design."
_EXAMPLE = "Write, for example, cheats=warner:question=1/6."


def _read_hidden(text: str) -> tuple[str, str]:
    return read_pair(text) if "=" in text else (text.strip(), "")


@command(
    "association",
    "How two answers go together, where one or both are hidden.",
    examples=[
        "askance association survey.csv --hidden cheats=warner:question=1/6 --hidden lies=warner:question=7/20",
        "askance association survey.csv --hidden cheats=forced-response:truth=2/3,yes=1/6 --seen income",
        "askance association survey.csv --codebook study.toml --hidden cheats --seen income",
    ],
)
@click.argument("data", type=FILE)
@option(
    "--hidden COLUMN[=DESIGN]",
    "a column of reports and the design they came through, as NAME:PARAMETER=VALUE,… (repeatable); with --codebook the "
    "name of the question alone",
    Read(_read_hidden, "COLUMN=DESIGN", _EXAMPLE),
    multiple=True,
    required=True,
)
@CODEBOOK
@option("--seen COLUMN", "a column that was seen as it is: a category or a number", multiple=True)
@option(
    "--positive COLUMN=VALUE",
    "the value of a column of reports that means yes (repeatable)",
    Read(read_pair, "COLUMN=VALUE", "Write, for example, cheats=2."),
    multiple=True,
)
@option("--outcome", "what --seen is  [default: what it holds]", Choice(["category", "number"]))
@missing_option("what to do about rows with gaps: stop, or leave them out")
@option("--weights COLUMN", "column of sampling weights")
@option("--cluster COLUMN", "column of groups whose answers may depend on each other")
@confidence_option()
@JSON
def association_command(
    data: Path,
    hidden: Pairs,
    seen: tuple[str, ...],
    positive: Pairs,
    codebook: Path | None,
    **options: Any,
) -> None:
    """Print the joint table of two answers in the table DATA, their correlation and odds ratio, with errors.

    With --codebook, the file of the study says how both were asked, which values and rows count, weights and clusters.
    """
    from askance.collect.campaign_file import read_study
    from askance.survey import association, read_table

    columns = [*(name for name, _ in hidden), *seen]
    if len(columns) != 2 or len(set(columns)) != 2:
        raise InputError(
            f"--hidden and --seen name {len(set(columns))} columns; allowed: two.",
            remedy="Give two --hidden, or one and --seen.",
        )
    study = None if codebook is None else read_study(codebook)
    designs = _designs(hidden, seen) if study is None else _named(study, hidden, seen)
    with working() as doing:
        doing(f"reading {data}")
        result = association(read_table(data), designs, codebook=study, positive=dict(positive), **options)
    show(result)


def _designs(hidden: Pairs, seen: Sequence[str]) -> dict[str, Any]:
    """The designs of columns, as flags say them."""
    from askance.planning.design_texts import designs_of

    for name, text in hidden:
        if not text:
            raise InputError(argument="--hidden", got=repr(name), allowed="COLUMN=DESIGN", remedy=f"{_EXAMPLE} {_OR}")
        if ":" not in text:
            raise InputError(
                f"--hidden {name}={text} says no probabilities of the design.",
                remedy=f"Write them, as in {name}=warner:question=2/3; `askance channels {text}` lists them.",
            )
    return {**{name: designs_of([text])[0] for name, text in hidden}, **dict.fromkeys(seen)}


def _named(study: Codebook, hidden: Pairs, seen: Sequence[str]) -> list[str]:
    """The names of two questions; refuses what the codebook says otherwise."""
    for name, text in hidden:
        if text:
            raise InputError(
                f"--hidden {name}={text} and --codebook are given, and both say the design.", remedy="Give one of them."
            )
        study.design(name)
    for name in seen:
        if name in study.hidden:
            raise InputError(
                f"--seen is {name!r}, of which the codebook has a design: it was not seen as it is.",
                remedy=f"Write --hidden {name}.",
            )
    return [*(name for name, _ in hidden), *seen]
