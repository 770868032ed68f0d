"""The fit of a regression, and what a weak prior acted on: of rows in memory, and of rows in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._arrays import FloatArray
from askance.errors import RepairWarning
from askance.estimation.entry import solve
from askance.estimation.outcome import tell
from askance.evidence.chunks import Chunk
from askance.evidence.responses import Responses
from askance.models.softmax import Softmax

# Effects of this many log-odds per standard deviation of a term are more than surveys tell of.
_FAR = 2.0


def solved(model: Any, evidence: Responses[Any], method: str | None, **options: Any) -> tuple[Any, str]:
    """The fit, and where a weak prior acted the terms it acted on; its warning then names them too."""
    fit, notices = solve(model, evidence, method, **options)
    blame = _least_known(fit, evidence) if fit.diagnostics.repaired and isinstance(model, Softmax) else ""
    more = f". {blame[:1].upper()}{blame[1:]}" if blame else ""
    tell(n._replace(text=n.text + more) if issubclass(n.kind, RepairWarning) else n for n in notices)
    return fit, blame


def _least_known(fit: Any, evidence: Responses[Any]) -> str:
    """Where the weak prior acted: the terms whose effects it kept within bounds."""
    rows, first, second = evidence.total(_moments)
    spread = np.sqrt(np.maximum(second / rows - (first / rows) ** 2, 0.0))
    # How far from 0 the effect of one standard deviation may well be; constants have none.
    reach = (np.hypot(fit.theta, fit.standard_errors).reshape(-1, len(spread)) * spread).ravel()
    names = [name for name, far in zip(fit.model.parameter_names, reach, strict=True) if not far <= _FAR]
    if not names:
        names = ["Intercept"] if not reach.any() else [fit.model.parameter_names[int(np.argmax(reach))]]
    shown = ", ".join(repr(name) for name in names[:6]) + (" and others" if len(names) > 6 else "")
    return (
        f"the data leave most open the effect of {shown}: a rare answer, few rows, or a term that separates the "
        "answers; do not read its z and P, compare shares"
    )


def _moments(rows: Chunk[Any]) -> tuple[FloatArray, ...]:
    """How many rows there are, and sums of x and of its squares, shape (p,)."""
    x, count = rows.x, np.ones(len(rows)) if rows.multiplicity is None else rows.multiplicity
    squares = x.multiply(x) if hasattr(x, "multiply") else x * x
    return np.asarray(count.sum()), np.asarray(x.T @ count), np.asarray(squares.T @ count)
