"""Many simulated surveys on an engine, each with a seed of its own: the same figures, wherever they run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, cast

import numpy as np
from numpy.random import SeedSequence

from askance._arrays import FloatArray
from askance.errors import AskanceWarning
from askance.scale.shipping import Sender

#: One survey, drawn and estimated: what came of it, by name. Sent to other processes: a function of a module.
Survey: TypeAlias = Callable[[np.random.Generator], Mapping[str, float]]

# Surveys of one task: they take longer than it takes to send it, and there are enough tasks for many workers.
_TOGETHER = 10


def simulated(engine: Sender, survey: Survey, count: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """What came of surveys, by name, in their order; one that leaves a name out is not counted there.

    Seeds are spawned from the generator's: neither what else is drawn from it nor who runs which survey makes a
    difference.
    """
    seeds = cast(SeedSequence, rng.bit_generator.seed_seq).spawn(count)
    tasks = [seeds[start : start + _TOGETHER] for start in range(0, count, _TOGETHER)]
    columns: dict[str, list[float]] = {}
    for task in engine.map(partial(_each, survey), tasks):
        for told in task:
            for name, value in told.items():
                columns.setdefault(name, []).append(float(value))
    return {name: np.array(values) for name, values in columns.items()}


def _each(survey: Survey, seeds: Sequence[SeedSequence]) -> list[Mapping[str, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        return [survey(np.random.default_rng(seed)) for seed in seeds]


def inside(lower: FloatArray, truth: FloatArray, upper: FloatArray, names: Sequence[str]) -> dict[str, bool]:
    """Which intervals hold the truth, by name."""
    return dict(zip(names, ((lower <= truth) & (truth <= upper)).tolist(), strict=True))
