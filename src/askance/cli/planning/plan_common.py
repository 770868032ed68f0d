"""What all `askance plan` commands about respondents share: goals, tables of numbers, and how plans are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from askance.cli.shared.numbers import NUMBER, WholeNumber
from askance.cli.shared.printing import print_json, print_table, terminal_width
from askance.cli.shared.write_guards import PICTURES, require_writable
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.planning import Plan
    from askance.survey.tables import Columns

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: Flags of goals, and what Python calls them.
GOALS = {"standard_error": "standard_error", "width": "interval_width", "power": "power"}

#: The difference that a test is to detect, where nothing more can be said of it.
_EFFECT = "difference to detect  [default for a parameter: its guess]"


def goal_options(effect: str = _EFFECT, respondents: str = "how many are asked") -> Callable[[_Function], _Function]:
    """--standard-error, --width, --power, --effect, --respondents, --confidence, --plot, --json.

    Args:
        effect: the help of --effect.
        respondents: the help of --respondents.
    """

    def decorate(function: _Function) -> _Function:
        for option in reversed(
            [
                click.option("--respondents", type=WholeNumber(), metavar="N", help=respondents),
                click.option(
                    "--standard-error", type=NUMBER, metavar="S", help="goal: this standard error, as in 0.02"
                ),
                click.option(
                    "--width", type=NUMBER, metavar="W", help="goal: a confidence interval that wide from end to end"
                ),
                click.option(
                    "--power", type=NUMBER, metavar="P", help="goal: detect --effect with this probability, as in 0.8"
                ),
                click.option("--effect", type=NUMBER, metavar="E", help=effect),
                click.option(
                    "--confidence",
                    type=NUMBER,
                    metavar="P",
                    default=0.95,
                    show_default=True,
                    help="confidence of intervals; tests raise a false alarm in the rest",
                ),
                click.option(
                    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="draw the plan (.png, .svg, .pdf)"
                ),
                click.option("--json", "as_json", is_flag=True, help="print JSON"),
            ]
        ):
            function = option(function)
        return function

    return decorate


def goals_of(given: dict[str, Any]) -> dict[str, Any]:
    """The goals that were given, by the names that Python has for them."""
    return {GOALS[name]: given[name] for name in GOALS if given[name] is not None}


def read_columns(path: Path, names: tuple[str, ...], flag: str, remedy: str) -> dict[str, FloatArray]:
    """Numeric columns of a table: the named ones, or all."""
    from askance.survey import read_table

    return numeric_columns(read_table(path), path, names, flag, remedy)


def numeric_columns(
    table: Columns, path: Path, names: tuple[str, ...], flag: str, remedy: str
) -> dict[str, FloatArray]:
    """The same of a table that was read; `path` is where it came from."""
    import numpy as np

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


def check_plot(plot: Path | None) -> None:
    """Refuse a place where no picture can be drawn, before the work."""
    if plot is not None:
        require_writable(plot, "--plot", PICTURES)


def show_plan(
    plan: Plan, plot: Path | None, as_json: bool, guess: str = "", warnings: Sequence[str] = (), **more: Any
) -> None:
    """Draw and print a plan.

    Args:
        plan: the plan.
        plot: where the picture goes, if anywhere.
        as_json: whether to print JSON.
        guess: more words about what was guessed.
        warnings: that came with it, put last in the JSON.
        more: fields that are put first in the JSON.
    """
    if plot is not None:
        _draw(plan, plot)
    if as_json:
        print_json({**more, **plan.to_json(), "warnings": list(warnings)})
        return
    from askance.planning.plan_table import PARAMETERS, guess_of, has_parameters, notes_of, table_within, title_of

    columns, *rows = table_within(plan, terminal_width())
    print_table(f"{title_of(plan)}\n{guess_of(plan, guess)}", columns, rows, whole=True)
    notes = notes_of(plan)
    if has_parameters(plan) and PARAMETERS not in columns:
        notes.append("parameters of the designs: in a wider window, or with --json")
    click.echo("\n".join(notes))
    if plot is not None:
        click.echo(f"picture  {plot}")


def _draw(plan: Plan, path: Path) -> None:
    try:
        plan.plot(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise InputError(f"--plot {path}: {reason}.", remedy="Give the path of a .png, .svg or .pdf file.") from None
