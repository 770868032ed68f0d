"""All experiments by name; each module is loaded when its experiment is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import cast

from askance.experiments.experiment import Experiment


class Catalogue(Mapping[str, Experiment]):
    """Experiments by name, in the order of the report: the module of that name has it, in capitals.

    >>> list(EXPERIMENTS)
    ['efficiency', 'simplex', 'nonconvex', 'privacy', 'tagging']
    >>> EXPERIMENTS["efficiency"].name
    'efficiency'
    """

    def __init__(self, *names: str) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Experiment:
        if name not in self._names:
            raise KeyError(name)
        return cast(Experiment, getattr(importlib.import_module(f"askance.experiments.{name}"), name.upper()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without loading anything


#: name → experiment.
EXPERIMENTS: Mapping[str, Experiment] = Catalogue("efficiency", "simplex", "nonconvex", "privacy", "tagging")
