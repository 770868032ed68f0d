"""Who is asked in the experiment on private regression, and what they send: data sets, and surveys of every scheme."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from askance._arrays import FloatArray
from askance.channels.statistics.base import Averaging, Calibration, StatisticsChannel
from askance.channels.statistics.coordinate_release import CoordinateRelease
from askance.channels.statistics.per_value import PerValue
from askance.channels.statistics.triple_release import TripleRelease
from askance.design.regression_release import regression_release
from askance.errors import EmptyDataError, InputError
from askance.estimation.linear import estimate_linear
from askance.estimation.problems.moment_repair import repair_design
from askance.evidence.tally import Tally
from askance.experiments.experiment import Data, Plain
from askance.models.linear import LinearModel

# -- data sets ---------------------------------------------------------------------------------------------------------

#: Where a table comes from: a file of ASKANCE_DATA, the cache of scikit-learn, or a generator (a stand-in).
Origin = Literal["file", "scikit-learn", "generated"]
# So many respondents at a time: the largest survey is never in memory as a whole.
_CHUNK = 50_000


@dataclass(frozen=True)
class DataSet:
    """A data set by name; the R², mean and deviation of y are what a stand-in is given.

    Attributes:
        title: for people.
        group: which figure it is in.
        file: in the folder of ASKANCE_DATA.
        train: respondents who are asked.
        test: rows that are predicted.
        features: p.
        r_squared: of least squares, about.
        mean: of y.
        deviation: of y.
        fitted_to: the data set whose second moments a simulator has; empty for tables.
    """

    title: str
    group: str
    file: str
    train: int
    test: int
    features: int
    r_squared: float
    mean: float
    deviation: float
    fitted_to: str = ""


DATA_SETS = {
    "california": DataSet(
        "California housing", "housing", "california.csv.gz", 16_512, 4_128, 8, 0.64, 206_855.8, 115_392.8
    ),
    "boston": DataSet("Boston housing", "housing", "boston.csv.gz", 405, 101, 13, 0.74, 22.53, 9.19),
    "songs": DataSet("Songs", "songs", "songs_uci90_7000.npz", 5_000, 2_000, 90, 0.23, 1998.4, 10.9),
    # As many as the training and test part of the whole data set.
    "songs-many": DataSet("Songs, many people", "songs", "", 463_715, 51_630, 90, 0.23, 1998.4, 10.9, "songs"),
}


def locate(key: str) -> Origin:
    """Where the table of a data set is at hand; nothing is downloaded, and no folder made."""
    wanted, folder = DATA_SETS[DATA_SETS[key].fitted_to or key], os.environ.get("ASKANCE_DATA")
    if folder and (Path(folder) / wanted.file).is_file():
        return "file"
    cache = Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")).expanduser()
    return "scikit-learn" if key == "california" and (cache / "cal_housing_py3.pkz").is_file() else "generated"


def read_table(key: str, origin: Origin, rows: int) -> tuple[FloatArray, str]:
    """Columns of x, then y, shape (n, p + 1), and the sha256 of the file, or of the numbers where there is none.

    Args:
        key: of a data set; for a simulator, the table it is fitted to is read, and the sha256 marked as that of a fit.
        origin: where it comes from.
        rows: how many to generate; a simulator is fitted to as many as the real table has.
    """
    wanted = DATA_SETS[key]
    if wanted.fitted_to:
        fitted = DATA_SETS[wanted.fitted_to]
        table, digest = read_table(wanted.fitted_to, origin, fitted.train + fitted.test)
        return table, hashlib.sha256(f"Gaussian of {digest}".encode()).hexdigest()
    if origin == "file":
        path = Path(os.environ["ASKANCE_DATA"]) / wanted.file
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if path.suffix == ".npz":
            with np.load(path) as parts:
                table = np.column_stack(
                    [np.concatenate([parts[f"{part}_train"], parts[f"{part}_test"]]) for part in ("X", "y")]
                )
        else:  # columns after the outcome are other versions of it
            table = np.loadtxt(path, delimiter=",", skiprows=1)[:, : wanted.features + 1]
        return table.astype(np.float64), digest
    if origin == "scikit-learn":
        from sklearn.datasets import fetch_california_housing

        table = np.column_stack(fetch_california_housing(return_X_y=True, download_if_missing=False))
    else:
        table = generate(wanted, rows)
    return table, hashlib.sha256(np.ascontiguousarray(table).tobytes()).hexdigest()


def generate(wanted: DataSet, rows: int) -> FloatArray:
    """A stand-in: columns that share factors, every third with a long tail, and y as far explained by them as asked.

    >>> table = generate(DATA_SETS["boston"], 506)
    >>> table.shape, round(float(table[:, -1].mean()))
    ((506, 14), 23)
    """
    rng = np.random.default_rng([wanted.features, rows])
    factors = 2 + wanted.features // 4
    people, columns = rng.standard_normal((rows, factors)), rng.standard_normal((factors, wanted.features))
    # einsum adds up in one order, whatever the number of threads: fingerprints are the same in every process.
    x = np.einsum("nf,fp->np", people, columns) / factors**0.5 + 0.6 * rng.standard_normal((rows, wanted.features))
    x[:, ::3] = np.exp(x[:, ::3] / 2)
    signal = np.einsum("np,p->n", x / x.std(axis=0), rng.standard_normal(wanted.features))
    explained = wanted.r_squared**0.5 * (signal - signal.mean()) / signal.std()
    y = explained + (1 - wanted.r_squared) ** 0.5 * rng.standard_normal(rows)
    return np.column_stack([x, wanted.mean + wanted.deviation * y])


def describe(key: str, *, quick: bool) -> dict[str, Plain]:
    """What the config says of a data set; a quick run is on generated data, smaller ones."""
    wanted, origin = DATA_SETS[key], "generated" if quick else locate(key)
    train, test = wanted.train, wanted.test
    if quick and train > 5_000:
        train, test = (8_000, 2_000) if not wanted.fitted_to else (20_000, 5_000)
    table, digest = read_table(key, origin, train + test)
    if not wanted.fitted_to:
        train = round(len(table) * train / (train + test))
        test = len(table) - train
    return {"key": key, "origin": origin, "train": train, "test": test, "fingerprint": digest}


def as_data(entry: Mapping[str, Plain], *, quick: bool) -> Data:
    """The data set of a config, for the report."""
    wanted, origin = DATA_SETS[entry["key"]], entry["origin"]
    size = f"{entry['train']:,} people are asked, {entry['test']:,} predicted, {wanted.features} features"
    absent = "because a quick run always is" if quick else "because ASKANCE_DATA has not got the real ones"
    note = {
        "file": f"{DATA_SETS[wanted.fitted_to or entry['key']].file}; {size}",
        "scikit-learn": f"scikit-learn's copy, with the columns it derives; {size}",
        "generated": f"generated with as many columns, {absent}; {size}",
    }[origin]
    if wanted.fitted_to:
        note = f"drawn from a Gaussian with the means and second moments of {DATA_SETS[wanted.fitted_to].title}: {note}"
    source: Literal["real", "simulated", "stand-in"] = "simulated" if wanted.fitted_to else "real"
    return Data(wanted.title, "stand-in" if origin == "generated" else source, note, entry["fingerprint"])


class Sample:
    """The people of one trial: who is asked, who is predicted, and the means and deviations taken for public.

    Attributes:
        field: columns with public means and deviations: those of the training part, or of the simulator.
        train: how many are asked.
        test: rows that are predicted, shape (n, p + 1).
    """

    def __init__(self, entry: Mapping[str, Plain], rng: np.random.Generator) -> None:
        wanted = DATA_SETS[entry["key"]]
        self.train, rows = int(entry["train"]), int(entry["train"] + entry["test"])
        table, digest = read_table(entry["key"], entry["origin"], rows)
        if digest != entry["fingerprint"]:
            raise InputError(
                f"{wanted.title} has sha256 {digest[:12]}…; allowed: {entry['fingerprint'][:12]}…, that of the config.",
                remedy="Run again from the start, with the data as they are now.",
            )
        if wanted.fitted_to:
            self._centres, spread = table.mean(axis=0), np.cov(table.T)
            self._root, deviations = np.linalg.cholesky(spread), np.sqrt(np.diag(spread))
            self._rng, self.test = rng, self._draw(rows - self.train, rng)
        else:
            order = rng.permutation(len(table))
            self._table, self.test = table[order[: self.train]], table[order[self.train :]]
            self._centres, deviations = self._table.mean(axis=0), self._table.std(axis=0)
        self._simulated = bool(wanted.fitted_to)
        self.field = LinearModel(wanted.features, scales=(self._centres, deviations))

    def _draw(self, rows: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(self._centres + rng.standard_normal((rows, len(self._centres))) @ self._root.T)

    def chunks(self) -> Iterator[FloatArray]:
        """The people who are asked, columns of x, then y; to be gone through once."""
        for start in range(0, self.train, _CHUNK):
            count = min(_CHUNK, self.train - start)
            yield self._draw(count, self._rng) if self._simulated else self._table[start : start + count]


# -- surveys -----------------------------------------------------------------------------------------------------------
# Each adds up the reports of one scheme at one level, and has the coefficients that they give, by scheme: intercept and
# slopes in the units of the data.


class ChosenSurvey:
    """The channel that askance chooses, with all defaults and its repair: "askance"."""

    def __init__(self, field: LinearModel, level: float, respondents: int) -> None:
        self._release = regression_release(field, level, n_respondents=respondents)
        self._tally = Tally(self._release.channel)

    @property
    def privacy_level(self) -> float:
        """What a report spends."""
        return self._release.privacy_level

    def add(self, z: FloatArray, rng: np.random.Generator) -> None:
        """More respondents: (1, x, y) on the standard scale, clipped."""
        rows, _ = self._release.encode_standard(z)
        self._tally = self._tally.add(self._release.channel.simulate(rows, rng))

    def coefficients(self) -> dict[str, FloatArray]:
        """Of one scheme."""
        return {"askance": estimate_linear(self._release, self._tally).theta}


class PaperSurvey:
    """The paper's two schemes for regression, on standardised and clipped columns, which it leaves open.

    The statistics are x_i x_j and x_i y; there is no intercept: prediction starts from the public mean of y. Per-value
    release noises all of them. The other scheme draws a coin for every respondent: heads, x_i y of a random i; tails,
    the triple x_i², x_i x_j, x_j² of a random pair. The coin says nothing about anyone, so the level is the larger one.

    With the printed calibration the result is "printed": the printed β, and A⁻¹b of the moments as they come. With the
    exact one it is the same, "exact", and beside it "repaired": averages within coordinates, and askance's repair of A.

    Args:
        field: columns and scales.
        level: as stated.
        calibration: "paper" or "exact".
        triple: the second scheme.
    """

    def __init__(self, field: LinearModel, level: float, calibration: Calibration, *, triple: bool) -> None:
        self._field, self._calibration, self._triple = field, calibration, triple
        limits = field.limits[1:]
        self._limits, self._respondents = limits, 0
        self._first, self._second = np.triu_indices(field.n_features)
        pairs, outcomes = limits[self._first] * limits[self._second], limits[:-1] * limits[-1]
        if triple:
            self._outcomes = Tally(
                CoordinateRelease(
                    field.n_features, level, calibration=calibration, lower=-outcomes, statistic_bound=2 * outcomes
                )
            )
            self._tally: Tally[StatisticsChannel] = Tally(
                TripleRelease(field.n_features, level, calibration=calibration)
            )
            return
        largest = np.concatenate([pairs, outcomes])
        lower = np.where(np.concatenate([self._first == self._second, np.zeros(len(outcomes), bool)]), 0.0, -largest)
        self._tally = Tally(
            PerValue(
                len(largest),
                level,
                calibration=calibration,
                statistics="bounded",
                lower=lower,
                statistic_bound=largest - lower,
            )
        )

    @property
    def privacy_level(self) -> float:
        """What a report really spends: half of the level or so, as printed."""
        level = self._tally.channel.privacy_level
        return max(level, self._outcomes.channel.privacy_level) if self._triple else level

    def add(self, z: FloatArray, rng: np.random.Generator) -> None:
        """More respondents."""
        x, y = z[:, 1:-1], z[:, -1]
        self._respondents += len(z)
        if self._triple:
            heads = rng.random(len(z)) < 0.5
            told = x[heads] * y[heads, None]
            self._outcomes = self._outcomes.add(self._outcomes.channel.simulate(told, rng))
            rows = x[~heads] / self._limits[:-1]
        else:
            rows = np.column_stack([x[:, self._first] * x[:, self._second], x * y[:, None]])
        self._tally = self._tally.add(self._tally.channel.simulate(rows, rng))

    def coefficients(self) -> dict[str, FloatArray]:
        """Of "printed", or of "exact" and "repaired"."""
        design, target, _ = self._moments("printed")
        if self._calibration == "paper":
            return {"printed": self._solve(design, target)}
        schemes = {"exact": self._solve(design, target)}
        try:
            design, target, noise = self._moments("within")
        except EmptyDataError:  # some pair was never drawn: there is no average within it
            design, target, noise = self._moments("printed")
        bordered = np.eye(len(design) + 1)
        bordered[1:, 1:] = design
        return schemes | {"repaired": self._solve(repair_design(bordered, noise).repaired[1:, 1:], target)}

    def _moments(self, averaging: Averaging) -> tuple[FloatArray, FloatArray, float]:
        """A = E[xxᵀ] and b = E[xy] on the standard scale, and the standard error of A beside its diagonal."""
        scale = np.ones(len(self._first))
        products, errors = self._tally.mean(averaging), self._tally.standard_errors(averaging)
        if self._triple:
            scale = self._limits[self._first] * self._limits[self._second]
            target = self._outcomes.mean(averaging)
            if averaging == "printed":  # over everybody: half of them are expected on either side of the coin
                half = self._respondents // 2
                target = self._outcomes.channel.mean(self._outcomes.sums, half, averaging)
                products = self._tally.channel.mean(self._tally.sums, half, averaging)
        else:
            products, target = np.split(products, [len(self._first)])
        beside = self._first != self._second
        design = np.empty((self._field.n_features,) * 2)
        design[self._first, self._second] = design[self._second, self._first] = products * scale
        noise = np.sqrt(np.mean((errors[: len(scale)] * scale)[beside] ** 2))
        return design, target, float(noise)

    def _solve(self, design: FloatArray, target: FloatArray) -> FloatArray:
        matrix, offset = self._field.to_original()
        return np.asarray(matrix @ np.concatenate([[0.0], np.linalg.solve(design, target)]) + offset)
