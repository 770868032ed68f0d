"""Equal seeds give equal results to the last digit: in this process, and in two others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from askance.experiments.catalogue import EXPERIMENTS
from askance.experiments.experiment import Data, Experiment, Finding, Plain, Trial
from askance.experiments.privacy_data import DATA_SETS, generate
from askance.experiments.runner import run_experiment
from askance.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def smallest(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """The quick config with everything in it, and as little of each as there can be."""
    match name:
        case "efficiency":
            config |= {
                "surveys": 20,
                "simulated_at": [0.3],
                "privacy_levels": [1.0],
                "reveal_probability": [1e-6, 0.5, 1.0],
            }
        case "simplex":
            config["counted"] |= {"samples": 50}
        case "nonconvex":
            config |= {"samples": 2, "em_steps": 5, "em_starts": [0.0, 4.0], "scanned": [-1.1]}
        case "privacy":
            config |= {"trials": 1, "levels": [1.0]}
            for entry in config["data_sets"]:
                entry |= {"train": 300, "test": 100}
                if not DATA_SETS[entry["key"]].fitted_to:
                    table = np.ascontiguousarray(generate(DATA_SETS[entry["key"]], 400))
                    entry["fingerprint"] = hashlib.sha256(table.tobytes()).hexdigest()
        case "tagging":
            config["text"] |= {"sentences": 40, "test_sentences": 20}
            config["region_sizes"] = [4]
            config["passes"] = {key: {"4": 2} for key in config["passes"]}
    return config


class Smallest(Experiment):
    """An experiment on its smallest config, without its pictures."""

    def __init__(self, name: str) -> None:
        self.whole = EXPERIMENTS[name]
        self.name, self.title, self.description = name, self.whole.title, self.whole.description

    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        return smallest(self.name, self.whole.config(quick=quick, seed=seed))

    def data(self, config: Mapping[str, Plain]) -> Sequence[Data]:
        return self.whole.data(config)

    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        return self.whole.trials(config)

    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        return self.whole.collect(config, outcomes)

    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        return {}

    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        return self.whole.tables(result)

    def main_number(self, result: Mapping[str, Plain]) -> str:
        return self.whole.main_number(result)

    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        return self.whole.findings(result)


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_two_runs_give_the_same_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASKANCE_DATA", raising=False)
    for workers in (0, 2):
        run_experiment(Smallest(name), tmp_path / str(workers), quick=True, seed=5, workers=workers)
    one, two = ((tmp_path / workers / name / "result.json").read_bytes() for workers in "02")
    assert one == two
    assert (tmp_path / "0" / name / "timings.json").exists() == (name == "tagging")
