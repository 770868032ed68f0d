"""A small experiment: everything that an experiment has, in milliseconds."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from askance.experiments.experiment import Data, Experiment, Finding, Plain, Trial


def noisy_square(value: int, seed: int) -> Plain:
    return {"square": value**2, "noise": float(np.random.default_rng(seed).normal())}


def fail(value: int) -> Plain:
    raise ArithmeticError(f"{value} is too much")


def not_json() -> Plain:
    return math.nan


def wait(path: str, seconds: float) -> Plain:
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    time.sleep(seconds)
    return 0


class Squares(Experiment):
    """Squares with noise: everything an experiment has, in milliseconds."""

    name, title, description = "squares", "Squares & <noise>", "What squares are. <script>alert(1)</script>"

    def __init__(self, *, extra: Sequence[Trial] = (), fingerprint: str = "0") -> None:
        self.extra, self.fingerprint = extra, fingerprint

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        return {"values": (1, 2) if quick else (1, 2, 3), "seed": seed}

    def data(self, config: Mapping[str, Plain]) -> Sequence[Data]:
        return [Data("numbers & co", "stand-in", "generated <here>", self.fingerprint)]

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        own = [
            Trial(f"value-{value}", noisy_square, {"value": value, "seed": config["seed"] + value}, cost=value)
            for value in config["values"]
        ]
        return [*own, *self.extra]

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        return {"squares": [outcomes[f"value-{value}"] for value in config["values"]], "order": list(outcomes)}

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        figure = Figure(figsize=(2, 2))
        figure.subplots().plot([each["noise"] for each in result["squares"]])
        return {"squares": figure}

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        return [
            Finding("1² < 2²", f"{result['squares'][0]['square']}", "agrees"),
            Finding("all is well", "it is not", "differs", "because of <this>"),
        ]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
