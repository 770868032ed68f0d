"""Respondents in Parquet files, as several machines may have written them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from askance import Direct, ForcedResponse

DESIGNS = {"dice": ForcedResponse("2/3", "1/6"), "direct": Direct(["no", "yes"])}


def people(n: int = 30_000) -> pd.DataFrame:
    """Two arms, a gap, categories, weights and towns."""
    rng = np.random.default_rng(9)
    age = rng.integers(18, 80, n).astype(np.float64)
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(2 - age / 30)), "yes", "no")
    arm = rng.choice(list(DESIGNS), n)
    columns: dict[str, Any] = {
        "said": np.where(arm == "dice", DESIGNS["dice"].simulate(truth, rng), truth),
        "arm": arm,
        "age": age,
        "income": np.exp(rng.normal(size=n)),
        "region": rng.choice(["north", "south", "east"], n, p=[0.5, 0.499, 0.001]),
        "weight": rng.gamma(2.0, 1.0, n),
        "town": rng.choice([f"town {i}" for i in range(40)], n),
    }
    frame = pd.DataFrame(columns)
    frame.loc[[5, 20_000], "age"] = np.nan
    return frame


def written(frame: pd.DataFrame, folder: Path, *ends: int, rows: int = 9_000) -> list[Path]:
    """The rows up to each of the ends in a file of their own, in row groups of so many."""
    paths, start = [], 0
    for number, end in enumerate([*ends, len(frame)]):
        paths.append(folder / f"{number}.parquet")
        frame.iloc[start:end].to_parquet(paths[-1], row_group_size=rows)
        start = end
    return paths
