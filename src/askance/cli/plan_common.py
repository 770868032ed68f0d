"""What all `askance plan` commands about respondents share: goals, tables of numbers, and how plans are printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askance.cli.output import print_json, print_table
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.planning import Plan

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Flags of goals, and what Python calls them.
GOALS = {"standard_error": "standard_error", "width": "interval_width", "power": "power"}


def goal_options(function: _Function) -> _Function:
    """--standard-error, --width, --power, --effect, --respondents, --confidence, --plot, --json."""
    for option in reversed(
        [
            click.option("--standard-error", type=float, metavar="S", help="goal: this standard error"),
            click.option("--width", type=float, metavar="W", help="goal: an interval that wide from end to end"),
            click.option("--power", type=float, metavar="P", help="goal: detect --effect with this probability"),
            click.option(
                "--effect", type=float, metavar="E", help="difference to detect (default: the coefficient's guess)"
            ),
            click.option("--respondents", type=int, metavar="N", help="instead of a goal: what N respondents buy"),
            click.option(
                "--confidence", type=float, default=0.95, show_default=True, help="of intervals; tests have the rest"
            ),
            click.option("--plot", type=click.Path(path_type=Path), help="draw the plan into this PNG"),
            click.option("--json", "as_json", is_flag=True, help="print JSON"),
        ]
    ):
        function = option(function)
    return function


def goals_of(given: dict[str, Any]) -> dict[str, Any]:
    """The goals that were given, by the names that Python has for them."""
    return {GOALS[name]: given[name] for name in GOALS if given[name] is not None}


def read_columns(path: Path, names: tuple[str, ...], flag: str, remedy: str) -> dict[str, FloatArray]:
    """Numeric columns of a table: the named ones, or all."""
    import numpy as np

    from askance.survey import read_table

    table = read_table(path)
    if not len(table):
        raise InputError(f"{flag} {path} has no rows.", remedy=remedy)
    columns: dict[str, FloatArray] = {}
    for name in names or table.names:
        column = table[name]
        if column.kind not in ("number", "boolean") or column.missing.any():
            found = f"{int(column.missing.sum())} missing values" if column.missing.any() else f"{column.kind} values"
            raise InputError(f"{flag} {path}: {name} holds {found}; allowed: numbers.", remedy=remedy)
        columns[name] = np.asarray(column.values, dtype=np.float64)
    return columns


def show_plan(plan: Plan, plot: Path | None, as_json: bool, guess: str = "", **more: Any) -> None:
    """Draw and print a plan.

    Args:
        plan: the plan.
        plot: where the picture goes, if anywhere.
        as_json: whether to print JSON.
        guess: more words about what was guessed.
        more: fields that are put first in the JSON.
    """
    if plot is not None:
        _draw(plan, plot)
    if as_json:
        print_json({**more, **plan.to_json()})
        return
    from askance.planning.plan_table import columns_of, guess_of, notes_of, rows_of, title_of

    print_table(f"{title_of(plan)}\n{guess_of(plan, guess)}", columns_of(plan), rows_of(plan))
    click.echo("\n".join(notes_of(plan)))
    if plot is not None:
        click.echo(f"picture  {plot}")


def _draw(plan: Plan, path: Path) -> None:
    try:
        plan.plot(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"--plot {path}: {reason}.", remedy="Give the path of a PNG file.") from None
