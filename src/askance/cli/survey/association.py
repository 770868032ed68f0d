"""`askance association`: how two answers go together, where one or both are hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from askance.cli.shared.guided import command
from askance.cli.shared.options import FILE, JSON, Choice, Read, confidence_option, missing_option, option, read_pair
from askance.cli.shared.printing import show
from askance.cli.shared.progress import working
from askance.errors import InputError


@command(
    "association",
    "How two answers go together, where one or both are hidden.",
    examples=[
        "askance association survey.csv --hidden cheats=warner:question=1/6 --hidden lies=warner:question=7/20",
        "askance association survey.csv --hidden cheats=forced-response:truth=2/3,yes=1/6 --seen income",
    ],
)
@click.argument("data", type=FILE)
@option(
    "--hidden COLUMN=DESIGN",
    "a column of reports and the design they came through, as NAME:PARAMETER=VALUE,… (repeatable)",
    Read(read_pair, "COLUMN=DESIGN", "Write, for example, cheats=warner:question=1/6."),
    multiple=True,
    required=True,
)
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
    hidden: tuple[tuple[str, str], ...],
    seen: tuple[str, ...],
    positive: tuple[tuple[str, str], ...],
    **options: Any,
) -> None:
    """Print the joint table of two answers in the table DATA, their correlation and odds ratio, with errors."""
    from askance.planning.design_texts import designs_of
    from askance.survey import association, read_table

    columns = [*(name for name, _ in hidden), *seen]
    if len(columns) != 2 or len(set(columns)) != 2:
        raise InputError(
            f"--hidden and --seen name {len(set(columns))} columns; allowed: two.",
            remedy="Give two --hidden, or one and --seen.",
        )
    for name, text in hidden:
        if ":" not in text:
            raise InputError(
                f"--hidden {name}={text} says no probabilities of the design.",
                remedy=f"Write them, as in {name}=warner:question=2/3; `askance channels {text}` lists them.",
            )
    designs: dict[str, Any] = {name: designs_of([text])[0] for name, text in hidden}
    designs |= dict.fromkeys(seen)
    with working() as doing:
        doing(f"reading {data}")
        result = association(read_table(data), designs, positive=dict(positive), **options)
    show(result)
