"""The older place of `FieldResponses`, which is `Responses` now."""

from askance.evidence.responses import FieldResponses

__all__ = ["FieldResponses"]
