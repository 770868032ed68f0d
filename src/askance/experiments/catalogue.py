"""All experiments by name; each module is loaded when its experiment is first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from askance.experiments.experiment import Experiment


class Catalogue(Mapping[str, Experiment]):
    """Experiments by name, in the order of the report.

    >>> list(EXPERIMENTS)
    ['efficiency', 'simplex', 'nonconvex', 'privacy', 'tagging']
    >>> EXPERIMENTS["efficiency"].name
    'efficiency'
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = dict(homes)

    def __getitem__(self, name: str) -> Experiment:
        module, instance = self._homes[name].split(":")
        experiment = getattr(importlib.import_module(module), instance)
        if not isinstance(experiment, Experiment):
            raise TypeError(f"{self._homes[name]} is no Experiment")
        return experiment

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes  # without loading anything


#: name → experiment.
EXPERIMENTS: Mapping[str, Experiment] = Catalogue(
    {
        "efficiency": "askance.experiments.efficiency:EFFICIENCY",
        "simplex": "askance.experiments.simplex:SIMPLEX",
        "nonconvex": "askance.experiments.nonconvex:NONCONVEX",
        "privacy": "askance.experiments.privacy:PRIVACY",
        "tagging": "askance.experiments.tagging:TAGGING",
    }
)
