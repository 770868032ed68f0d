"""Every channel on statistics of the registry, and valid truth for each: what the inherited tests run over.

A new kind of channel fails here, loudly, until it says in `_TRUTHS` what truth it takes, in `_LABELS` how its
enumerated observations are read (where it has any), and in `_OTHER_SIZES` which other sizes are worth a test.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from askance._arrays import AnyArray, FloatArray
from askance._kernels import bits
from askance.channels import Reports, StatisticsChannel, entries, entry
from askance.channels.statistics import Enumeration, HasReportLikelihood
from askance.errors import InputError

# Reports are written out one by one up to this many.
_MOST_REPORTS = 4096


def channels() -> dict[str, StatisticsChannel]:
    """Every example of every entry of the registry."""
    return {
        f"{each.kind}-{number}": each.build(example)
        for each in entries("statistics")
        for number, example in enumerate(each.examples)
    }


def with_parameters(channel: StatisticsChannel, **changed: Any) -> StatisticsChannel:
    """The same channel with some parameters of the registry changed."""
    rebuilt: StatisticsChannel = entry(channel.kind).build(channel.parameters() | changed)
    return rebuilt


def is_exact(channel: StatisticsChannel) -> bool:
    """Whether the stated level is to be spent, rather than what the paper prints."""
    return bool(getattr(channel, "calibration", "exact") == "exact")


# -- truth -------------------------------------------------------------------------------------------------------------


def truths_for(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    """Valid truth of n respondents, at random, extreme values included."""
    return np.asarray(_known(_TRUTHS, channel)(channel, n, rng))


def _bounds_of(channel: StatisticsChannel) -> tuple[FloatArray, FloatArray]:
    given = channel.parameters()
    lower, width = (
        np.asarray(given.get(name, default), dtype=float)
        for name, default in (("lower", 0.0), ("statistic_bound", 1.0))
    )
    return np.broadcast_to(lower, channel.dimension), np.broadcast_to(width, channel.dimension)


def from_shares(channel: StatisticsChannel, shares: FloatArray) -> FloatArray:
    """φ = lower + c t, for channels whose statistics have bounds."""
    lower, width = _bounds_of(channel)
    return np.asarray(lower + width * shares)


def _within_bounds(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    shares = rng.random((n, channel.dimension))
    extreme = rng.random(shares.shape) < 0.4
    return from_shares(channel, np.where(extreme, np.rint(shares), shares))


def _per_value(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    given, d = channel.parameters(), channel.dimension
    if "possible" in given:
        rows = np.array([[float(Fraction(value)) for value in row] for row in given["possible"]])
        return np.asarray(rows[rng.integers(len(rows), size=n)])
    norm = Fraction(given.get("l1_norm", given.get("max_l1_norm", d)))
    if given.get("statistics") == "bounded":
        shares = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
        shares *= np.minimum(1.0, float(norm) / np.maximum(shares.sum(axis=1, keepdims=True), 1e-9))
        return from_shares(channel, shares * (1 - 1e-14))
    ones = np.full(n, int(norm)) if "l1_norm" in given else rng.integers(0, int(norm) + 1, size=n)
    ranks = rng.random((n, d)).argsort(axis=1).argsort(axis=1)
    return from_shares(channel, (ranks < ones[:, None]).astype(float))


def _labels(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    labels = np.array(
        channel.statistic_names if isinstance(channel.parameters()["outputs"], list) else range(channel.dimension)
    )
    return np.asarray(labels[rng.integers(channel.dimension, size=n)])


def _records(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    sizes = channel.parameters()["sizes"]
    return rng.integers(0, sizes, size=(n, len(sizes)))


def _vectors(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    radius = float(Fraction(channel.parameters().get("radius", 1)))
    vectors = rng.normal(size=(n, channel.truth_width))
    lengths = rng.choice([0.0, 1.0, *rng.random(6)], size=(n, 1)) * (1 - 1e-12)
    lengthened = vectors * (radius * lengths / np.linalg.norm(vectors, axis=1, keepdims=True))
    return np.asarray(lengthened + channel.parameters().get("centre", 0))


def _cube(channel: StatisticsChannel, n: int, rng: np.random.Generator) -> AnyArray:
    vectors = rng.uniform(-1, 1, (n, channel.truth_width))
    return np.where(rng.random(vectors.shape) < 0.4, np.rint(vectors), vectors)


Truths = Callable[[StatisticsChannel, int, np.random.Generator], AnyArray]
_TRUTHS: dict[str, Truths] = {
    "ball-release": _vectors,
    "clique-release": _records,
    "coordinate-release": _within_bounds,
    "hybrid": _within_bounds,
    "hypercube": _within_bounds,
    "per-value": _per_value,
    "quadratic-release": _vectors,
    "subset-selection": _labels,
    "triple-release": _cube,
}

# Parameters of other sizes than the examples have: the smallest, and some beyond one word of 64 bits.
_OTHER_SIZES: dict[str, list[dict[str, Any]]] = {
    "ball-release": [{"dim": 1}, {"dim": 100}],
    "clique-release": [
        {"sizes": [2], "cliques": [[0]]},
        {"sizes": [2, 3, 2, 4, 2, 2, 3, 2], "cliques": [[i, j] for i in range(8) for j in range(i)]},
        {"sizes": [10, 9], "cliques": [[0, 1]]},
    ],
    "coordinate-release": [{"dim": 1}, {"dim": 65}, {"dim": 1000}],
    "hybrid": [{"dim": 1}, {"dim": 100}, {"dim": 1000, "sampled": 3}],
    "hypercube": [{"dim": 2}, {"dim": 64}, {"dim": 65}, {"dim": 1001}],
    "per-value": [
        {"dim": 1},
        {"dim": 2, "l1_norm": 1},
        {"dim": 64, "max_l1_norm": 3},
        {"dim": 65, "l1_norm": 1},
        {"dim": 200, "max_l1_norm": 5, "density": "1/50"},
        {"dim": 130, "max_l1_norm": "7/2", "statistics": "bounded"},
    ],
    "quadratic-release": [{"dim": 20}, {"dim": 3, "candidates": 64}],
    "subset-selection": [{"outputs": 2}, {"outputs": 64}, {"outputs": 100}],
    "triple-release": [{"dim": 2}, {"dim": 20}],
}


def other_sizes(level: str) -> dict[str, StatisticsChannel]:
    """Every kind at the sizes of `_OTHER_SIZES` and that level."""
    return {
        f"{each.kind}-{','.join(f'{name}={value}' for name, value in size.items())}": each.build(
            size | {"privacy_level": level}
        )
        for each in entries("statistics")
        for size in _OTHER_SIZES[each.kind]
    }


# -- reports written out -----------------------------------------------------------------------------------------------


@cache
def every_report(channel: StatisticsChannel) -> Reports | None:
    """All reports that some respondent could send, once each; None where they are too many."""
    choices: list[list[Any]] = []
    for column in channel.columns:
        if column.kind == "bits" and column.width <= 16:
            choices.append([_packed(seen, column.width) for seen in product((0, 1), repeat=column.width)])
        elif column.kind == "integer" and column.limit <= _MOST_REPORTS:
            choices.append(list(range(column.limit)))
        elif column.kind == "integers" and column.limit**column.width <= _MOST_REPORTS:
            choices.append(list(product(range(column.limit), repeat=column.width)))
        else:
            return None
    if np.prod([len(values) for values in choices]) > 16 * _MOST_REPORTS:
        return None
    possible = [_one_report(channel, values) for values in product(*choices)]
    found = [report for report in possible if report is not None]
    return Reports.join(found) if len(found) <= _MOST_REPORTS else None


def _packed(seen: tuple[int, ...], width: int) -> AnyArray:
    row = np.zeros((1, width), dtype=np.uint8)
    row[0, : len(seen)] = seen
    return np.asarray(bits.pack(row)[0])


def _one_report(channel: StatisticsChannel, values: tuple[Any, ...]) -> Reports | None:
    columns = {
        column.name: np.array([value], dtype=column.dtype)
        for column, value in zip(channel.columns, values, strict=True)
    }
    try:
        return Reports(channel, columns)
    except InputError:
        return None


def enumeration(channel: StatisticsChannel) -> Enumeration:
    exact = channel.enumerate_exactly()
    assert exact is not None
    return exact


def enumerated_probabilities(channel: StatisticsChannel) -> FloatArray:
    """S(o | φ) of the enumerated observations and statistics, shape (k, m)."""
    exact = enumeration(channel)
    return np.array([[float(Fraction(weight, exact.total)) for weight in row] for row in exact.weights])


def enumerated_truths(channel: StatisticsChannel) -> AnyArray:
    """Truth of the statistics that `enumerate_exactly` lists, in its order."""
    exact = enumeration(channel)
    columns = np.array([[float(value) for value in row] for row in exact.statistics]).T
    return _FROM_STATISTICS.get(channel.kind, from_shares)(channel, columns)


def _label_of(channel: StatisticsChannel, columns: FloatArray) -> AnyArray:
    labels = channel.parameters()["outputs"]
    codes = columns.argmax(axis=1)
    return np.asarray([labels[code] for code in codes] if isinstance(labels, list) else codes)


def _record_of(channel: StatisticsChannel, columns: FloatArray) -> AnyArray:
    given, start = channel.parameters(), 0
    records = np.zeros((len(columns), len(given["sizes"])), dtype=np.int64)
    for clique in given["cliques"]:
        shape = tuple(given["sizes"][variable] for variable in clique)
        cells = columns[:, start : start + int(np.prod(shape))].argmax(axis=1)
        records[:, clique] = np.stack(np.unravel_index(cells, shape), axis=1)
        start += int(np.prod(shape))
    return records


def _vector_of(channel: StatisticsChannel, columns: FloatArray) -> AnyArray:
    """Vectors of −1, 0 and 1 with these products; the first that is not 0 is 1, since v and −v have the same."""
    size = channel.truth_width
    matrices = np.zeros((len(columns), size, size))
    first, second = np.triu_indices(size)
    matrices[:, first, second] = matrices[:, second, first] = columns
    leading = np.argmax(np.diagonal(matrices, axis1=1, axis2=2) > 0, axis=1)
    return np.asarray(matrices[np.arange(len(columns)), leading])


_FROM_STATISTICS: dict[str, Callable[[StatisticsChannel, FloatArray], AnyArray]] = {
    "clique-release": _record_of,
    "subset-selection": _label_of,
    "triple-release": _vector_of,
}


def enumerated_reports(channel: StatisticsChannel) -> Reports:
    """The reports that `enumerate_exactly` lists, in its order."""
    exact = enumeration(channel)
    read = _known(_LABELS, channel)
    rows = [read(label) for label in exact.observations]
    columns = {}
    for i, column in enumerate(channel.columns):
        values = [_packed(row[i], column.width) if column.kind == "bits" else row[i] for row in rows]
        columns[column.name] = np.array(values, dtype=column.dtype)
    return Reports(channel, columns)


def _bits(label: str) -> tuple[int, ...]:
    return tuple(map(int, label))


# The columns of an enumerated observation: bits as 0 and 1, integers as they are.
_LABELS: dict[str, Callable[[str], tuple[Any, ...]]] = {
    "clique-release": lambda label: (int(label.split(":")[0]), _bits(label.split(":")[1])),
    "coordinate-release": lambda label: tuple(map(int, label.split(":"))),
    "hybrid": lambda label: tuple(tuple(map(int, part.split(","))) for part in label.split(":")),
    "hypercube": lambda label: (_bits(label),),
    "per-value": lambda label: (_bits(label),),
    "subset-selection": lambda label: (_bits(label),),
    "triple-release": lambda label: tuple(map(int, label.split(":"))),
}


def _known(table: dict[str, Any], channel: StatisticsChannel) -> Any:
    if channel.kind not in table:
        raise NotImplementedError(f"tests/statistics_families.py knows nothing of {channel.kind}; add it there.")
    return table[channel.kind]


CHANNELS = channels()
ENUMERATED = {name: channel for name, channel in CHANNELS.items() if channel.enumerate_exactly() is not None}
#: Whose reports can all be written out.
LISTED = {name: each for name, each in CHANNELS.items() if every_report(each) is not None}
#: Whose reports hold a seed of 64 bits: too many to write out.
SEEDED = {name: each for name, each in CHANNELS.items() if any(column.kind == "seed" for column in each.columns)}
WITH_LIKELIHOOD = {name: channel for name, channel in CHANNELS.items() if isinstance(channel, HasReportLikelihood)}
