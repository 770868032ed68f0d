"""Designs with groups of their own: every group has a channel, about the trait and what else is hidden."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from askance.categories import Label
from askance.channels.described import Described
from askance.channels.matrix import MatrixChannel
from askance.models.hidden import HiddenVariables

#: The name of what a survey asks about, in models with other hidden variables.
TRAIT = "trait"


class ArmedDesign(Described):
    """A design that asks groups of respondents in different ways, and needs all of them.

    Attributes:
        arms: the channel of every group, from combinations of hidden variables, the trait first, to reports.
    """

    arms: dict[Label, MatrixChannel]
    _given: dict[str, Any]

    @abstractmethod
    def model(self, terms: Sequence[str]) -> HiddenVariables:
        """What is hidden, given covariates of these names."""

    @property
    @abstractmethod
    def law(self) -> str:
        """What is assumed of what is hidden beside the trait, in words."""

    def parameters(self) -> dict[str, Any]:
        """What rebuilds this design, as plain JSON values."""
        return dict(self._given)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the groups with their channels, and of the purpose."""
        content = [[str(group), channel.fingerprint] for group, channel in self.arms.items()]
        return hashlib.sha256(json.dumps([self.kind, content, self.purpose]).encode()).hexdigest()

    @cached_property
    def privacy_levels(self) -> dict[Label, float]:
        """What a report of each group may tell of the trait, whatever else is hidden; infinite where it can exclude it.

        The least α with P(o | trait, η) ≤ e^α P(o | trait′, η) for all o, η and traits: η, who cheats or lies, is
        taken for known. It then holds for every distribution of η that does not depend on the trait.

        >>> from askance import CheatingDetection, StochasticLieDetector
        >>> CheatingDetection(["1/4", "1/2"], ["1/4", "1/8"]).privacy_levels[1]  # log (3/4) / (1/4)
        1.0986...
        >>> StochasticLieDetector(["1/5", "4/5"]).privacy_levels  # a no is never said by a carrier who is honest
        {1: inf, 2: inf}
        """
        keys = [tuple(others) for _, *others in self.model(["Intercept"]).values.T.tolist()]
        same = [[place for place, key in enumerate(keys) if key == one] for one in dict.fromkeys(keys)]
        return {
            group: max(_columns(channel, places).privacy_level for places in same)
            for group, channel in self.arms.items()
        }

    @property
    def privacy_level(self) -> float:
        """The largest of `privacy_levels`."""
        return max(self.privacy_levels.values())


def _columns(channel: MatrixChannel, places: list[int]) -> MatrixChannel:
    """The channel where only some outputs are possible."""
    rows = channel.parameters()["matrix"]
    return MatrixChannel([[row[place] for place in places] for row in rows])
