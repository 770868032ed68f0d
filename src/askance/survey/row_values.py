"""Values of calculations, one per row: what may be computed with. `text` is what a value is called in a refusal."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._checks import shorten
from askance._words import words
from askance.survey.parsed_calculations import CalculationError, shortened


def plain(value: Any, text: str) -> Any:
    """One value per row, or a single one; splines and categories are several columns."""
    if hasattr(value, "__formulaic_metadata__") or np.ndim(value) > 1:
        raise TypeError(f"{text} is several columns or categories, and can only stand for itself")
    return value


def _kind(value: Any) -> str:
    return str(getattr(getattr(value, "dtype", np.asarray(value).dtype), "kind", "O"))


def numbers(value: Any, text: str) -> Any:
    """Numbers as floats; refused is what holds none."""
    kind = _kind(plain(value, text))
    if kind not in "biuf":
        raise TypeError(f"{text} holds no numbers")
    if np.ndim(value) == 0:
        return float(value)
    return value if kind == "f" else value.astype(np.float64)


def conditions(value: Any, text: str) -> Any:
    """True or false in every row; refused is anything else."""
    if _kind(plain(value, text)) != "b":
        raise TypeError(f"{text} is no condition, as age > 30 is")
    return value


def refuse_unlisted(value: Any, levels: list[Any], text: str, *, droppable: bool) -> None:
    """Values that levels leave out would count as the level that all others are compared with."""
    import pandas as pd

    others = [level for level in pd.unique(pd.Series(value)).tolist() if level not in levels]
    if others:
        problem = f"{text} holds {shorten(others)}, which levels={shortened(str(levels))} leaves out"
        way = words("Add it to the levels, or leave its rows out with {missing=drop}.")
        raise CalculationError(problem, way if droppable else "Add it to the levels.")
