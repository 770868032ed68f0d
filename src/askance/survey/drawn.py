"""How respondents were drawn, and what that makes of standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from askance._checks import shorten
from askance.evidence.responses import Responses

# Fewer clusters, taken as they are, say little of how clusters differ.
_FEW = 30


def on_clusters(fit: Any, evidence: Responses[Any], name: str) -> str:
    """Which errors a fit has whose rows stand in clusters, in words."""
    count = len(np.unique(np.concatenate([np.asarray(chunk.clusters) for chunk in evidence.chunks])))
    if fit.freedom is None:
        few = ", which are few: errors tend to be too small" if count < _FEW else ""
        return f"std. errors: {count} clusters by {name}{few}"
    alone = [n for n, known in zip(fit.parameter_names, fit.degrees_of_freedom.tolist(), strict=True) if known != known]
    gap = f"; one cluster alone tells of {shorten(alone)}, and no interval is known" if alone else ""
    return f"std. errors: CR2, {count} clusters by {name}, with Satterthwaite's degrees of freedom{gap}"
