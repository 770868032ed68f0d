"""What makes two channels the same: kind, parameters and realised thresholds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar


class Described(ABC):
    """Something of the registry that can be written down and built again."""

    #: The name in the registry.
    kind: ClassVar[str]

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What rebuilds this channel, as plain JSON values: {parameter of the registry: value}."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A digest of the realised thresholds: evidence of equal fingerprints may be merged."""

    def specification(self) -> dict[str, Any]:
        """What rebuilds this channel: its kind and parameters, as plain JSON values."""
        return {"kind": self.kind, **self.parameters()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Described) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters().items())
        return f"{type(self).__name__}({given if len(given) < 160 else given[:157] + '…'})"
