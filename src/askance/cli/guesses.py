"""Guesses of parameters on the command line: numbers, a saved fit, or a file of several."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from askance.cli.plan_common import read_columns
from askance.errors import InputError

if TYPE_CHECKING:
    from askance._arrays import FloatArray
    from askance.models.enumerated import Enumerated


def read_guess(model: Enumerated, given: dict[str, Any]) -> dict[str, Any]:
    """The one guess that was given, by the name that Python has for it: of --theta, --fit, --prior (and --minimax)."""
    allowed = [name for name in ("theta", "fit", "prior", "minimax") if name in given]
    flags = [name for name in allowed if given[name] is not None]
    if len(flags) != 1:
        found = ", ".join(f"--{name}" for name in flags) or "none"
        raise InputError(
            f"guesses given: {found}; allowed: exactly one of {', '.join(f'--{name}' for name in allowed)}.",
            remedy="Write --theta 5,-1.",
        )
    if given["theta"] is not None:
        return {"theta": _read_numbers(given["theta"])}
    if given["fit"] is not None:
        return {"fit": _read_fit(model, given["fit"])}
    return {flags[0]: _read_points(model, given[flags[0]], f"--{flags[0]}")}


def _read_numbers(text: str) -> list[float]:
    try:
        return [float(Fraction(part.strip())) if "/" in part else float(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"--theta is {text!r}; allowed: numbers with commas between them.", remedy="Write --theta 5,-1."
        ) from None


def _read_fit(model: Enumerated, path: Path) -> Any:
    """The fit of a pilot; that of another question is refused."""
    from askance.design.optimum.prior import HasEstimate
    from askance.formats import load
    from askance.planning.guesses import require_fit_of

    fit = load(path)
    if not isinstance(fit, HasEstimate):
        raise InputError(
            f"--fit {path} holds no fit but {type(fit).__name__}.", remedy="Save one with `askance fit … --save`."
        )
    require_fit_of(model, fit, dimension=model.dimension, name=f"--fit {path}")
    return fit


def _read_points(model: Enumerated, path: Path, flag: str) -> FloatArray:
    """Columns by the names of the parameters, shape (rows, d); other columns do not matter.

    Never by position: a file without a first line of names would lose a row, and swapped columns would go unnoticed.
    """
    import numpy as np

    from askance.survey import read_table

    wanted = model.parameter_names
    remedy = f"The first line must name the columns: {','.join(wanted)}."
    try:
        names = read_table(path).names
    except InputError as error:
        raise InputError(f"{flag} {path}: {error.message}", remedy=f"{error.remedy} {remedy}") from None
    missing = [name for name in wanted if name not in names]
    if missing and all(map(_is_number, names)):
        raise InputError(
            f"{flag} {path} starts with {','.join(names)}, which are numbers, not names of columns.", remedy=remedy
        )
    if missing:
        raise InputError(
            f"{flag} {path} has the columns {', '.join(names)}, but none for {', '.join(missing)}.", remedy=remedy
        )
    columns = read_columns(path, wanted, flag, f"Give one column of numbers for each of {', '.join(wanted)}.")
    return np.column_stack(list(columns.values()))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
