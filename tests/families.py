"""Every channel of the registry, and for each a family of models: what the inherited tests run over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askance import Enumerated
from askance._arrays import FloatArray
from askance.categories import Categories
from askance.channels import FiniteChannel, entries


@dataclass(frozen=True)
class Case:
    """A channel with a model of its outputs and a θ."""

    name: str
    channel: FiniteChannel
    model: Enumerated
    theta: FloatArray


def models_for(outputs: Categories) -> dict[str, Enumerated]:
    """All distributions; a trend; statistics of uneven scale with a base measure."""
    size = len(outputs)
    steps = np.arange(size, dtype=float)
    uneven = np.stack([np.where(steps % 2 == 0, 5.0, -1.0), 0.25 * (steps == size - 1)])[: min(2, size - 1)]
    return {
        "saturated": Enumerated.saturated(outputs),
        "trend": Enumerated([steps], outputs=outputs, parameter_names=["trend"]),
        "uneven": Enumerated(uneven, outputs=outputs, log_base_measure=np.log(1 + steps)),
    }


def channels() -> dict[str, FiniteChannel]:
    """Every example of every entry of the registry."""
    return {
        f"{entry.kind}-{number}": entry.build(example)
        for entry in entries()
        for number, example in enumerate(entry.examples)
    }


def cases() -> list[Case]:
    """Every channel with every model of its family."""
    found = []
    for kind, channel in channels().items():
        for name, model in models_for(channel.outputs).items():
            rng = np.random.default_rng([len(kind), len(name), model.dimension])
            theta = rng.normal(size=model.dimension) / model.statistic_ranges
            found.append(Case(f"{kind}-{name}", channel, model, theta))
    return found


CHANNELS = channels()
CASES = cases()
