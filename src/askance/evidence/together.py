"""Evidence of several kinds about the same θ, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from askance._checks import shown
from askance.channels.differences import between_purposes
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel
from askance.channels.reports import Reports
from askance.errors import EmptyDataError, IncompatibleEvidenceError, InputError
from askance.evidence.candidates import Candidates
from askance.evidence.pooled import pool
from askance.evidence.protocols import Seen
from askance.evidence.responses import Responses, joined_arms
from askance.evidence.tally import Tally

#: The kind of what several channels together are; its parts are theirs.
SEVERAL = "several"


class Together:
    """Parts of evidence about the same parameters: everybody is in one of them, and parts may have other designs.

    The log-likelihood of the whole is the sum of those of its parts, and so is its information. Moments weigh the
    residuals of each part by one positive number, so that the fit stays convex (see `ConditionalMoments` and
    `SumMoments`); the `raw_statistics` of a fit are averages in these weights, and the `raw_tables` of a field averages
    by precision. Sampling weights are scaled over all parts.

    Args:
        parts: all with the same columns of x, or all without covariates, and about the same question:

            - `Responses` of answers about the same outputs, and `Candidates`;
            - `Responses` of clique releases about the variables of the same field;
            - tallies of answers or of noised statistics, and `Candidates` without covariates, about the same model;
            - tallies or `Reports` of noised tables, and `NoisyTables`, about the same field.

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
            if not isinstance(part, (Seen, Reports)):
                raise InputError(
                    argument=f"parts[{place}]",
                    got=shown(part),
                    allowed="Responses, a Tally, Reports, Candidates or NoisyTables",
                    remedy="Collect reports with Responses(channel).add(x, reports) or Tally(channel).add(reports).",
                )
        self._pieces = [_plain(part) for part in self.parts]
        if len({isinstance(piece, Responses) for piece in self._pieces}) > 1:
            raise IncompatibleEvidenceError(
                "some parts have covariates and some have not: they are about different parameters.",
                remedy="Give Responses for all, with the same columns of x, or tallies for all.",
            )

    @cached_property
    def whole(self) -> Any:
        """All parts as evidence of one kind: `Responses` of several channels, or a (pooled) `Tally`.

        Without covariates parts of other kinds stay beside each other, those of equal channels added up.
        """
        if isinstance(self._pieces[0], Responses):
            return joined_arms(self._pieces)
        require_one_purpose(self.channels)
        answers = [piece for piece in self._pieces if isinstance(piece, Tally) and _has_law(piece.channel)]
        others = [piece for piece in self._pieces if not any(piece is one for one in answers)]
        merged: dict[str, Any] = {} if others and not any(map(_count, answers)) else {"": pool(answers)}
        for number, piece in enumerate(others):
            key = piece.channel.fingerprint if isinstance(piece, Tally) else str(number)
            merged[key] = merged[key] + piece if key in merged else piece
        kept = [piece for piece in merged.values() if _count(piece)]
        if not kept:
            raise EmptyDataError("there are no reports.", remedy="Add reports to the parts before estimating.")
        if len(kept) == 1:
            return kept[0]
        same = len(kept) == len(self.parts) and all(any(piece is part for part in self.parts) for piece in kept)
        return self if same else Together(*kept)

    @property
    def channels(self) -> tuple[AnyChannel, ...]:
        """The different channels, in the order of the parts."""
        seen = (channel for part in self.parts for channel in getattr(part, "channels", None) or _only(part))
        return tuple({channel.fingerprint: channel for channel in seen}.values())

    @property
    def n_observations(self) -> int:
        """The number of reports."""
        return sum(map(_count, self.parts))

    def __repr__(self) -> str:
        return f"Together({', '.join(map(repr, self.parts))})"


def whole_of(evidence: Any) -> Any:
    """Parts together, and candidate sets, as evidence of one kind; all other evidence as it is."""
    return evidence.whole if isinstance(evidence, (Together, Candidates)) else evidence


def through_channels(evidence: Any) -> Tally | Responses[Any]:
    """Reports of answers through channels, with covariates or without; other evidence is refused."""
    whole = whole_of(evidence)
    channels = () if isinstance(whole, Together) else getattr(whole, "channels", ())
    if not channels or not all(map(_has_law, channels)):
        raise InputError(
            argument="evidence",
            got=shown(whole),
            allowed="a Tally or Responses of answers through channels",
            remedy="A fit that was loaded holds no respondents: fit again to their answers."
            if evidence is None
            else "Take the parts that came through a channel, and leave candidate sets out.",
        )
    return whole  # type: ignore[no-any-return]


def several(specifications: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The specification of one channel, or of several with their own as parts."""
    one, *others = map(dict, specifications)
    return {"kind": SEVERAL, "parts": [one, *others]} if others else one


def require_one_purpose(channels: tuple[AnyChannel, ...]) -> None:
    """Refuse channels that answer different questions."""
    for channel in channels[1:]:
        one, other = channels[0].purpose, channel.purpose
        if one != other:
            raise IncompatibleEvidenceError(
                f"the first part is for the purpose {one or None!r}, another for {other or None!r}.",
                remedy=between_purposes(one, other),
            )


def _plain(part: Any) -> Any:
    """A part as estimators take it; reports of answers need no more than their counts."""
    if isinstance(part, Reports) and isinstance(part.channel, FiniteChannel):
        return Tally(part.channel).add(part)
    return whole_of(part)


def _has_law(channel: AnyChannel) -> bool:
    return isinstance(channel, FiniteChannel) and channel.has_law


def _only(part: Any) -> tuple[AnyChannel, ...]:
    """The channel of `Reports`; tables that somebody has measured have none."""
    return (part.channel,) if isinstance(part, Reports) else ()


def _count(part: Any) -> int:
    return len(part) if isinstance(part, Reports) else int(part.n_observations)
