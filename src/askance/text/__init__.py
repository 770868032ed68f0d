"""Sentences, tags and regions: a tagger from counts.

Names are loaded when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askance.text.annotation_tools import read_annotations, write_annotations
    from askance.text.chain_features import ChainFeatures
    from askance.text.chain_fit import ChainParameters
    from askance.text.chain_model import ChainModel
    from askance.text.corpus import Corpus
    from askance.text.count_covariance import moment_covariance
    from askance.text.count_identifiability import identifiability
    from askance.text.count_likelihood import CountLikelihood
    from askance.text.count_moments import moment_counts
    from askance.text.evaluation import Evaluation, evaluate_tags
    from askance.text.features import FeatureConfig, TokenFeatures
    from askance.text.filled_sheet import read_sheet
    from askance.text.miscount_estimate import estimate_miscounts
    from askance.text.miscounts import Miscounts
    from askance.text.question_sheet import write_sheet
    from askance.text.questions import Stretch, draw_stretches, next_stretches
    from askance.text.region_file import read_regions, write_regions
    from askance.text.region_sampling import sample_regions
    from askance.text.regions import Region, RegionCounts
    from askance.text.tagged_text import read_sentences, read_tagged, write_tagged
    from askance.text.tagger import CountTagger
    from askance.text.word_classes import WordClasses

#: Where each public name lives.
_HOME = {
    "annotation_tools": ["read_annotations", "write_annotations"],
    "chain_features": ["ChainFeatures"],
    "chain_fit": ["ChainParameters"],
    "chain_model": ["ChainModel"],
    "corpus": ["Corpus"],
    "count_covariance": ["moment_covariance"],
    "count_likelihood": ["CountLikelihood"],
    "count_moments": ["moment_counts"],
    "evaluation": ["Evaluation", "evaluate_tags"],
    "features": ["FeatureConfig", "TokenFeatures"],
    "count_identifiability": ["identifiability"],
    "filled_sheet": ["read_sheet"],
    "miscount_estimate": ["estimate_miscounts"],
    "miscounts": ["Miscounts"],
    "question_sheet": ["write_sheet"],
    "questions": ["Stretch", "draw_stretches", "next_stretches"],
    "region_file": ["read_regions", "write_regions"],
    "region_sampling": ["sample_regions"],
    "regions": ["Region", "RegionCounts"],
    "tagged_text": ["read_sentences", "read_tagged", "write_tagged"],
    "tagger": ["CountTagger"],
    "word_classes": ["WordClasses"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ChainFeatures",
    "ChainModel",
    "ChainParameters",
    "Corpus",
    "CountLikelihood",
    "CountTagger",
    "Evaluation",
    "FeatureConfig",
    "Miscounts",
    "Region",
    "RegionCounts",
    "Stretch",
    "TokenFeatures",
    "WordClasses",
    "draw_stretches",
    "estimate_miscounts",
    "evaluate_tags",
    "identifiability",
    "moment_counts",
    "moment_covariance",
    "next_stretches",
    "read_annotations",
    "read_regions",
    "read_sentences",
    "read_sheet",
    "read_tagged",
    "sample_regions",
    "write_annotations",
    "write_regions",
    "write_sheet",
    "write_tagged",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"askance.text.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'askance.text' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"annotations", "importlib", "Any", "TYPE_CHECKING"})
