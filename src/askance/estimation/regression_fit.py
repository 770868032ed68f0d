"""The fit of a regression, with what a researcher asks of it."""

from __future__ import annotations

from dataclasses import dataclass

from askance.estimation.fit import Fit
from askance.evidence.responses import Responses
from askance.models.softmax import Softmax


@dataclass(frozen=True, eq=False, kw_only=True)
class RegressionFit(Fit):
    """A fit of a model with covariates.

    Attributes:
        evidence: the reports it was fitted to; None after loading from a file.
    """

    model: Softmax
    evidence: Responses | None = None
