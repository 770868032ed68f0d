"""Evidence of several kinds about the same θ, as one."""

from __future__ import annotations

from typing import Any

from askance._checks import shown
from askance.channels.registry import AnyChannel
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError
from askance.evidence.pooled import pool
from askance.evidence.responses import Responses, joined_arms
from askance.evidence.tally import Tally, of_answers


class Together:
    """Parts of evidence about the same parameters: everybody is in one of them, and parts may have other designs.

    The log-likelihood of the whole is the sum of those of its parts, and so is its information. Moments weigh the
    residuals of each part by one positive number, so that the fit stays convex (see `ConditionalMoments`); the
    `raw_statistics` of a fit are averages in these weights. Sampling weights are scaled over all parts.

    Args:
        parts: `Responses` with the same columns of x, or tallies of answers; all about the same outputs and question.

    >>> import numpy as np
    >>> from askance import Direct, ForcedResponse, Softmax, estimate
    >>> direct, dice = Direct(["no", "yes"]), ForcedResponse("2/3", "1/6")
    >>> x = np.column_stack([np.ones(400), np.arange(400) // 4 % 2])
    >>> told = Responses(direct).add(x, ["yes", "no", "no", "no"] * 100)
    >>> noised = Responses(dice).add(x, ["yes", "no", "no", "no"] * 100)
    >>> fit = estimate(Softmax(["no", "yes"], ["Intercept", "odd"]), Together(told, noised))
    >>> fit.n_observations
    800
    """

    def __init__(self, *parts: Any) -> None:
        self.parts: tuple[Any, ...] = tuple(
            piece for part in parts for piece in (part.parts if isinstance(part, Together) else (part,))
        )
        if not self.parts:
            raise EmptyDataError("there is no evidence.", remedy="Give at least one part: Together(responses, …).")
        for place, part in enumerate(self.parts):
            if not isinstance(part, Responses) and not of_answers(part):
                raise InputError(
                    argument=f"parts[{place}]",
                    got=shown(part),
                    allowed="Responses, or a Tally of answers",
                    remedy="Collect reports with Responses(channel).add(x, reports) or Tally(channel).add(reports).",
                )
        kinds = {isinstance(part, Responses) for part in self.parts}
        if len(kinds) > 1:
            raise IncompatibleEvidenceError(
                "some parts have covariates and some have not: they are about different parameters.",
                remedy="Give Responses for all, with the same columns of x, or tallies for all.",
            )
        self._whole: Responses[Any] | Tally | None = None

    @property
    def whole(self) -> Responses[Any] | Tally:
        """All parts as evidence of one kind: `Responses` of several channels, or a pooled `Tally`."""
        if self._whole is None:
            answers = all(map(of_answers, self.parts))
            self._whole = pool(self.parts) if answers else joined_arms(self.parts)
        return self._whole

    @property
    def channels(self) -> tuple[AnyChannel, ...]:
        """The different channels, in the order of the parts."""
        seen = (channel for part in self.parts for channel in getattr(part, "channels", None) or (part.channel,))
        return tuple({channel.fingerprint: channel for channel in seen}.values())

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return sum(part.n_observations for part in self.parts)

    def __repr__(self) -> str:
        return f"Together({', '.join(map(repr, self.parts))})"


def whole_of(evidence: Any) -> Any:
    """Parts together as evidence of one kind; all other evidence as it is."""
    return evidence.whole if isinstance(evidence, Together) else evidence
