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
        BallRelease,
        CliqueRelease,
        Coarsened,
        ComplementaryLabels,
        CoordinateRelease,
        Crosswise,
        Direct,
        DisguisedResponse,
        ForcedResponse,
        Hybrid,
        Hypercube,
        MatrixChannel,
        NoisyLabels,
        PerValue,
        QuadraticRelease,
        RandomizedResponse,
        SubsetSelection,
        TripleRelease,
        UnrelatedQuestion,
        Warner,
        build_channel,
        sufficient_channel,
    )
    from askance.design import (
        Prior,
        asymptotics,
        audit,
        certify,
        optimal_channel,
        optimal_cliques,
        optimal_release,
        plan_field,
        recommend,
    )
    from askance.errors import AskanceError
    from askance.estimation import (
        ConditionalFieldFit,
        DistributionFit,
        FieldFit,
        Fit,
        LinearFit,
        MomentRelease,
        RegressionFit,
        ScalePilot,
        TwoStage,
        channel_fit_test,
        combine_means,
        estimate,
        estimate_field,
        estimate_linear,
        estimate_mean,
        plan_regression,
        project,
    )
    from askance.evidence import FieldResponses, Responses, StatisticsTally, Tally, pool
    from askance.formats import load, save
    from askance.models import Enumerated, GaussianField, RandomField, Softmax
    from askance.planning import Share, plan, plan_survey
    from askance.survey import regress
    from askance.text import CountTagger

#: Where each public name lives.
_HOME = {
    "askance.errors": ["AskanceError"],
    "askance.categories": ["Categories"],
    "askance.models": ["Enumerated", "GaussianField", "RandomField", "Softmax"],
    "askance.channels": [
        "BallRelease",
        "CliqueRelease",
        "Coarsened",
        "ComplementaryLabels",
        "CoordinateRelease",
        "Crosswise",
        "Direct",
        "DisguisedResponse",
        "ForcedResponse",
        "Hybrid",
        "Hypercube",
        "MatrixChannel",
        "NoisyLabels",
        "PerValue",
        "QuadraticRelease",
        "RandomizedResponse",
        "SubsetSelection",
        "TripleRelease",
        "UnrelatedQuestion",
        "Warner",
        "build_channel",
        "sufficient_channel",
    ],
    "askance.design": [
        "Prior",
        "asymptotics",
        "audit",
        "certify",
        "optimal_channel",
        "optimal_cliques",
        "optimal_release",
        "plan_field",
        "recommend",
    ],
    "askance.evidence": ["FieldResponses", "Responses", "StatisticsTally", "Tally", "pool"],
    "askance.estimation": [
        "ConditionalFieldFit",
        "DistributionFit",
        "FieldFit",
        "Fit",
        "LinearFit",
        "MomentRelease",
        "RegressionFit",
        "ScalePilot",
        "TwoStage",
        "channel_fit_test",
        "combine_means",
        "estimate",
        "estimate_field",
        "estimate_linear",
        "estimate_mean",
        "plan_regression",
        "project",
    ],
    "askance.formats": ["load", "save"],
    "askance.planning": ["Share", "plan", "plan_survey"],
    "askance.survey": ["regress"],
    "askance.text": ["CountTagger"],
}
#: Public modules that no name is taken from.
_MODULES = ("experiments", "geometry")
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AskanceError",
    "BallRelease",
    "Categories",
    "CliqueRelease",
    "Coarsened",
    "ComplementaryLabels",
    "ConditionalFieldFit",
    "CoordinateRelease",
    "CountTagger",
    "Crosswise",
    "Direct",
    "DisguisedResponse",
    "DistributionFit",
    "Enumerated",
    "FieldFit",
    "FieldResponses",
    "Fit",
    "ForcedResponse",
    "GaussianField",
    "Hybrid",
    "Hypercube",
    "LinearFit",
    "MatrixChannel",
    "MomentRelease",
    "NoisyLabels",
    "PerValue",
    "Prior",
    "QuadraticRelease",
    "RandomField",
    "RandomizedResponse",
    "RegressionFit",
    "Responses",
    "ScalePilot",
    "Share",
    "Softmax",
    "StatisticsTally",
    "SubsetSelection",
    "Tally",
    "TripleRelease",
    "TwoStage",
    "UnrelatedQuestion",
    "Warner",
    "asymptotics",
    "audit",
    "build_channel",
    "certify",
    "channel_fit_test",
    "combine_means",
    "estimate",
    "estimate_field",
    "estimate_linear",
    "estimate_mean",
    "load",
    "optimal_channel",
    "optimal_cliques",
    "optimal_release",
    "plan",
    "plan_field",
    "plan_regression",
    "plan_survey",
    "pool",
    "project",
    "recommend",
    "regress",
    "save",
    "sufficient_channel",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(_MODULE_OF[name]), name)
    if f"askance.{name}" in _HOME or name in _MODULES:
        return importlib.import_module(f"askance.{name}")
    raise AttributeError(f"module 'askance' has no attribute {name!r}")


def __dir__() -> list[str]:
    hidden = {"annotations", "importlib", "Any", "TYPE_CHECKING"}
    modules = {home.removeprefix("askance.") for home in _HOME}
    return sorted({*globals(), *_MODULE_OF, *modules, *_MODULES} - hidden)
