"""The older place of `StatisticsTally`, which is `Tally` now."""

from askance.evidence.tally import StatisticsTally

__all__ = ["StatisticsTally"]
