"""Random fields from noised tables: do intervals cover, and how far are the pair tables from the truth?"""

from __future__ import annotations

import csv
import gzip
import math
import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from acceptance.check import Figure, check
from askance import CliqueRelease, CoordinateRelease, PerValue, Tally
from askance._arrays import FloatArray, IntArray
from askance.channels import StatisticsChannel
from askance.estimation.field import estimate_field
from askance.estimation.problems.field_problem import FieldMethod
from askance.models.random_field import RandomField

RING = RandomField([2, 3, 2, 3], [[0, 1], [1, 2], [2, 3], [3, 0]])
PAIRS = tuple(combinations(range(6), 2))


# -- intervals ---------------------------------------------------------------------------------------------------------


@check("fields-coverage")
def fields_coverage(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """95 % intervals of cells cover 94 to 96 % (averaged over cells) where no repair acted, n = 400,000."""
    theta = 0.4 * rng.normal(size=RING.dimension)
    channel_of = {level: CliqueRelease(RING.sizes, RING.cliques, level) for level in (1.0, 3.0)}
    targets: list[Sequence[int]] = [*RING.cliques, (0, 2), (1, 3), (0, 1, 2, 3)]
    truth = [RING.marginal(theta, clique) for clique in targets]
    for level, channel in channel_of.items():
        methods: tuple[FieldMethod, ...] = ("moments", "marginal")
        for method in methods:
            covered, repaired = [np.zeros(table.shape) for table in truth], 0
            for _ in range(max(simulations // 10, 1)):
                reports = channel.simulate(RING.sample(theta, 400_000, rng), rng)
                fit = estimate_field(RING, reports, method)
                repaired += fit.diagnostics.repaired
                for hits, wanted, table in zip(covered, targets, truth, strict=True):
                    found = fit.marginal(wanted)
                    hits += (found.lower <= table) & (table <= found.upper)
            shares = np.concatenate([hits.ravel() for hits in covered]) / max(simulations // 10, 1)
            note = f"{shares.size} cells, {shares.min():.3f}–{shares.max():.3f}, repaired {repaired}"
            yield Figure("fields-coverage", f"{method}, level {level:g}", float(shares.mean()), 0.94, 0.96, note)


# -- distance from the truth -------------------------------------------------------------------------------------------


def _distance(found: FloatArray, truth: FloatArray, field: RandomField) -> float:
    """The total variation between tables, averaged over cliques."""
    return float(np.abs(np.add.reduceat(np.abs(found - truth), field.offsets[:-1])).mean() / 2)


def _printed(field: RandomField, level: float) -> dict[str, StatisticsChannel]:
    """The paper's schemes on the cells of all tables, as printed."""
    d = field.dimension
    return {
        "per-value as printed": PerValue(d, level, l1_norm=len(field.cliques), calibration="paper"),
        "coordinate release as printed": CoordinateRelease(d, level, calibration="paper"),
    }


def _measure(
    field: RandomField,
    channel: StatisticsChannel,
    records: IntArray,
    truth: FloatArray,
    rng: np.random.Generator,
    method: FieldMethod = "moments",
) -> float:
    given = records if isinstance(channel, CliqueRelease) else field.statistics(records).astype(np.uint8)
    tally = Tally(channel).add(channel.simulate(given, rng))
    return _distance(estimate_field(field, tally, method, covariance=False).statistics, truth, field)


@check("fields-pairwise")
def fields_pairwise(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """Six ternary attributes, all pairs, n = 100,000, five random fields."""
    field = RandomField([3] * 6, PAIRS)
    full = RandomField([3] * 6, [*((v,) for v in range(6)), *PAIRS])
    limits = {1.0: 0.045, 4.0: 0.012}
    found: dict[tuple[float, str], list[float]] = {}
    for _ in range(5):
        theta = np.concatenate([rng.normal(size=18), 0.7 * rng.normal(size=135)])
        records = full.sample(theta, 100_000, rng)
        truth = full.mean_statistics(theta)[18:]
        for level in limits:
            ours = CliqueRelease(field.sizes, field.cliques, level)
            methods: tuple[FieldMethod, ...] = ("moments", "ridge")
            for method in methods:
                found.setdefault((level, method), []).append(_measure(field, ours, records, truth, rng, method))
            for name, channel in _printed(field, level).items():
                found.setdefault((level, name), []).append(_measure(field, channel, records, truth, rng))
    for (level, name), values in found.items():
        limit = limits[level] if name in ("moments", "ridge") else 1.0
        note = f"{min(values):.4f}–{max(values):.4f}"
        yield Figure("fields-pairwise", f"{name}, level {level:g}", float(np.mean(values)), 0.0, limit, note)


ADULT = {
    "age": ["-24", "25-34", "35-44", "45-54", "55-"],
    "workclass": ["private", "self-employed", "government", "other"],
    "education": ["below high school", "high school", "some college", "degree"],
    "marital": ["never", "married", "formerly"],
    "occupation": ["office", "manual", "service", "other"],
    "sex": ["Female", "Male"],
    "hours": ["-39", "40", "41-"],
    "income": ["<=50K", ">50K"],
}
_OFFICE = ("Exec-managerial", "Prof-specialty", "Adm-clerical", "Sales", "Tech-support")
_MANUAL = ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing")
_SERVICE = ("Other-service", "Protective-serv", "Priv-house-serv", "Armed-Forces")


def adult() -> IntArray | None:
    """Eight attributes of the 48,842 records of Adult as codes; None where the data are not at hand."""
    folder = os.environ.get("ASKANCE_DATA")
    if not folder or not (Path(folder) / "adult.train.csv.gz").exists():
        return None
    rows: list[list[int]] = []
    for part in ("train", "test"):
        with gzip.open(Path(folder) / f"adult.{part}.csv.gz", "rt", encoding="utf-8") as file:
            rows += [_adult_codes({k.strip(): v.strip() for k, v in row.items()}) for row in csv.DictReader(file)]
    return np.array(rows)


def _adult_codes(row: dict[str, str]) -> list[int]:
    """The bins of `ADULT`: public knowledge about the questions, chosen without looking at the answers."""
    work, job, marital = row["workclass"], row["occupation"], row["marital-status"]
    years, hours = int(row["education-num"]), int(row["hours-per-week"])
    return [
        int(np.searchsorted([25, 35, 45, 55], int(row["age"]), side="right")),
        0 if work == "Private" else 1 if work.startswith("Self-emp") else 2 if work.endswith("-gov") else 3,
        int(np.searchsorted([9, 10, 13], years, side="right")),
        0 if marital == "Never-married" else 1 if marital in ("Married-civ-spouse", "Married-AF-spouse") else 2,
        0 if job in _OFFICE else 1 if job in _MANUAL else 2 if job in _SERVICE else 3,
        int(row["sex"] == "Male"),
        int(hours >= 40) + int(hours > 40),
        int(row["income"].startswith(">")),
    ]


@check("fields-adult")
def fields_adult(rng: np.random.Generator, simulations: int) -> Iterator[Figure]:
    """How many times closer to the pair tables of Adult than the paper's schemes as printed, all with our repair."""
    records = adult()
    if records is None:
        yield Figure("fields-adult", "not measured: ASKANCE_DATA names no folder with Adult", math.nan, 2.0, math.inf)
        return
    field = RandomField(ADULT, list(combinations(range(len(ADULT)), 2)))
    truth = field.statistics(records).mean(axis=0)
    for level in (0.5, 1.0, 2.0, 4.0):
        channels = {"ours": CliqueRelease(field.sizes, field.cliques, level), **_printed(field, level)}
        found = {
            name: float(np.mean([_measure(field, channel, records, truth, rng) for _ in range(10)]))
            for name, channel in channels.items()
        }
        others = {name: value for name, value in found.items() if name != "ours"}
        note = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
        ratio = min(others.values()) / found["ours"]
        yield Figure("fields-adult", f"level {level:g}", ratio, 2.0, math.inf, note)
