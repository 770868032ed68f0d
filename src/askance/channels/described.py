"""What makes two channels the same: kind, parameters, realised thresholds, and the question that they answer."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from askance._checks import shown
from askance._words import Either, words
from askance.channels.differences import differences, way_out
from askance.channels.purposes import as_purpose
from askance.errors import IncompatibleEvidenceError


class Described(ABC):
    """Something of the registry that can be written down and built again."""

    #: The name in the registry.
    kind: ClassVar[str]
    #: Which question is answered, or what the numbers mean and in which order: a public name. Reports for different
    #: purposes do not mix; an empty purpose adds nothing to the fingerprint.
    purpose: str = ""
    #: How `device/1` (docs/device.md) makes a report of random words; empty where it does not say.
    device_mapping: ClassVar[str] = ""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What rebuilds this channel, as plain JSON values: {parameter of the registry: value}."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of the realised thresholds and the purpose: evidence of equal fingerprints may be merged."""

    def for_purpose(self, purpose: str) -> Self:
        """The same channel for that question, or for numbers of that meaning; "" for none.

        >>> from askance import Warner
        >>> smokes, drinks = (Warner("2/3").for_purpose(question) for question in ("smokes", "drinks"))
        >>> smokes == drinks, smokes == Warner("2/3").for_purpose("smokes")
        (False, True)
        """
        if as_purpose(purpose) == self.purpose:
            return self
        other = copy.copy(self)
        other.__dict__.pop("fingerprint", None)
        other.purpose = purpose
        return other

    def named(self, purpose: str) -> Self:
        """This channel for that purpose, where it has none yet; refused where it has another."""
        if self.purpose and self.purpose != purpose:
            raise IncompatibleEvidenceError(
                f"the purpose is {self.purpose!r} already; allowed: to name what has none, not {shown(purpose)} now.",
                remedy="Keep reports of different questions apart.",
            )
        return self if self.purpose else self.for_purpose(purpose)

    def require_same(self, other: Described) -> None:
        """Refuse another channel."""
        if self is not other and self.fingerprint != other.fingerprint:
            raise IncompatibleEvidenceError(
                words(
                    "the reports come from another channel: {0} ({1}…), not {2} ({3}…). {4}",
                    other.in_words,
                    other.fingerprint[:12],
                    self.in_words,
                    self.fingerprint[:12],
                    differences(other, self),
                ),
                remedy=way_out(other, self)
                or words("Keep reports of different channels apart{0}.", Either(": one tally per channel", "")),
            )

    @property
    def in_words(self) -> Either:
        """What messages call it: as it is made in Python, or by its kind."""
        return Either(repr(self), self.kind)

    def specification(self) -> dict[str, Any]:
        """What rebuilds this channel: its kind, parameters and purpose, as plain JSON values."""
        named = {"purpose": self.purpose} if self.purpose else {}
        return {"kind": self.kind, **self.parameters(), **named}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        written = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        named = f".for_purpose({self.purpose!r})" if self.purpose else ""
        return f"{type(self).__name__}({written if len(written) < 160 else written[:157] + '…'}){named}"
