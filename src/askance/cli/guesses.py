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
        return {"fit": _read_fit(given["fit"])}
    return {flags[0]: _read_points(model, given[flags[0]], f"--{flags[0]}")}


def _read_numbers(text: str) -> list[float]:
    try:
        return [float(Fraction(part.strip())) if "/" in part else float(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        raise InputError(
            f"--theta is {text!r}; allowed: numbers with commas between them.", remedy="Write --theta 5,-1."
        ) from None


def _read_fit(path: Path) -> Any:
    from askance.design.optimum.prior import HasEstimate
    from askance.formats import load

    fit = load(path)
    if not isinstance(fit, HasEstimate):
        raise InputError(
            f"--fit {path} holds no fit but {type(fit).__name__}.", remedy="Save one with `askance fit … --save`."
        )
    return fit


def _read_points(model: Enumerated, path: Path, flag: str) -> FloatArray:
    """Columns by the names of the parameters, or as many columns in their order."""
    import numpy as np

    from askance.survey import read_table

    remedy = f"Give one column for each of {', '.join(model.parameter_names)}."
    names = set(read_table(path).names)
    wanted = model.parameter_names if names.issuperset(model.parameter_names) else ()
    columns = read_columns(path, wanted, flag, remedy)
    if len(columns) != model.dimension:
        raise InputError(
            f"{flag} {path} has {len(columns)} columns; allowed: {model.dimension}, one per parameter.", remedy=remedy
        )
    return np.column_stack(list(columns.values()))
