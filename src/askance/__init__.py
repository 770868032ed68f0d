"""Learn a model from what people are willing to tell you: noised answers, counts, proportions, partial labels.

Names are loaded when first used, so that `import askance` costs little more than NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from askance.categories import Categories
    from askance.channels import (
        Coarsened,
        ComplementaryLabels,
        Crosswise,
        Direct,
        DisguisedResponse,
        ForcedResponse,
        MatrixChannel,
        NoisyLabels,
        RandomizedResponse,
        UnrelatedQuestion,
        Warner,
        build_channel,
        sufficient_channel,
    )
    from askance.design import asymptotics, certify
    from askance.estimation import DistributionFit, Fit, RegressionFit, estimate, project
    from askance.evidence import Responses, Tally
    from askance.formats import load, save
    from askance.models import Enumerated, Softmax

#: Where each public name lives.
_HOME = {
    "askance.categories": ["Categories"],
    "askance.models": ["Enumerated", "Softmax"],
    "askance.channels": [
        "Coarsened",
        "ComplementaryLabels",
        "Crosswise",
        "Direct",
        "DisguisedResponse",
        "ForcedResponse",
        "MatrixChannel",
        "NoisyLabels",
        "RandomizedResponse",
        "UnrelatedQuestion",
        "Warner",
        "build_channel",
        "sufficient_channel",
    ],
    "askance.design": ["asymptotics", "certify"],
    "askance.evidence": ["Responses", "Tally"],
    "askance.estimation": ["DistributionFit", "Fit", "RegressionFit", "estimate", "project"],
    "askance.formats": ["load", "save"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Categories",
    "Coarsened",
    "ComplementaryLabels",
    "Crosswise",
    "Direct",
    "DisguisedResponse",
    "DistributionFit",
    "Enumerated",
    "Fit",
    "ForcedResponse",
    "MatrixChannel",
    "NoisyLabels",
    "RandomizedResponse",
    "RegressionFit",
    "Responses",
    "Softmax",
    "Tally",
    "UnrelatedQuestion",
    "Warner",
    "asymptotics",
    "build_channel",
    "certify",
    "estimate",
    "load",
    "project",
    "save",
    "sufficient_channel",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'askance' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
