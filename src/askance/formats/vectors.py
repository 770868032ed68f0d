"""Known answers of `device/1` (`vectors/1`): by them a device in another language proves itself.

A file is one JSON object. For every channel it has the description that devices take, and vectors: a truth, words, the
report that is made of them, and how many words it took. Words are chosen, not only drawn: on both sides of every
threshold of the truth (4T − 4, 4T − 1, 4T, 4T + 3 and 4T + 4 for a threshold T of 62 bits), at both ends, and, where
whole numbers below a limit are drawn, at words that are left aside and at edges of results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from askance.channels.device import DEVICE_FORMAT, device_description
from askance.channels.permanent import access_from_token, permanent_words, secret_from_token
from askance.channels.registry import AnyChannel, entries

VECTORS_FORMAT = "vectors/1"
_ENDS = (0, 2**64 - 1)
_SPAN = 1 << 64
# Truths of a channel that has many: the first, the last, and some between.
_MOST_TRUTHS = 16
# Vectors of every truth whose words are drawn, not chosen.
_DRAWN = 4
#: For every word of a report, the values it shall take.
_Plan: TypeAlias = Sequence[Sequence[int]]


def device_vectors(channels: Iterable[AnyChannel], seed: int = 0) -> dict[str, Any]:
    """Known answers for channels, as plain JSON values; words and thresholds are texts.

    Args:
        channels: channels that have a mapping in `device/1`.
        seed: of what is drawn: the same gives the same vectors.

    >>> from askance import Warner
    >>> known = device_vectors([Warner("2/3")])["channels"][0]
    >>> known["device"]["mapping"], known["vectors"][0]
    ('columns', {'truth': 'no', 'words': ['0'], 'report': 'no', 'words_used': 1})
    """
    rng = np.random.default_rng(seed)
    return {
        "askance": VECTORS_FORMAT,
        "device": DEVICE_FORMAT,
        "seed": seed,
        "channels": [_of_channel(channel, rng) for channel in channels],
        "permanent": _permanent(),
    }


def example_channels() -> list[AnyChannel]:
    """Every example of the registry that has a mapping in `device/1`."""
    every = [entry.build(example) for entry in entries(None) for example in entry.examples]
    return [channel for channel in every if channel.device_mapping]


def vectors_as_json(vectors: Mapping[str, Any]) -> bytes:
    """The file: one line for every vector, so that a difference is a line."""
    text = json.dumps(vectors, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (text.replace('{"truth":', '\n{"truth":') + "\n").encode()


def _of_channel(channel: AnyChannel, rng: np.random.Generator) -> dict[str, Any]:
    described, vectors = device_description(channel), []
    for truth in _truths(channel, rng):
        plans = _PLANS[channel.device_mapping](described, channel.thresholds(), truth)
        longest = max(map(len, plans))
        for plan in plans:
            for words in _words_of(plan, longest if longest > 1 else 0, rng):
                report, used = channel.report_from_words(truth, words)
                vectors.append({"truth": truth, "words": list(map(str, words)), "report": report, "words_used": used})
    return {"device": described, "vectors": vectors}


def _words_of(plan: _Plan, spare: int, rng: np.random.Generator) -> list[list[int]]:
    """Words that take all values of a plan, each place in its own order; all the least and largest; some drawn ones.

    Words that are left aside move the rest on by one place, and a drawn word may choose a longer plan: so many `spare`
    ones follow.
    """
    size, turns = len(plan), max(map(len, plan))
    chosen = [[values[(turn + place) % len(values)] for place, values in enumerate(plan)] for turn in range(turns)]
    chosen += [[values[end] for values in plan] for end in (0, -1) if size > 1]
    drawn = rng.integers(0, 2**64, size=(len(chosen) + _DRAWN, size + spare), dtype=np.uint64).tolist()
    chosen += [row[spare:] for row in drawn[-_DRAWN:]]
    return [own + row[:spare] for own, row in zip(chosen, drawn, strict=True)]


# -- truths ------------------------------------------------------------------------------------------------------------


def _truths(channel: Any, rng: np.random.Generator) -> list[Any]:
    labels = getattr(channel, "outputs", None)
    if labels is not None:
        known = list(labels.labels)
        if len(known) <= _MOST_TRUTHS:
            return known
        some = rng.choice(len(known), size=_MOST_TRUTHS - 2, replace=False).tolist()
        return [known[code] for code in sorted({0, len(known) - 1, *some})]
    rows = [row[0] for row in channel.worst_pair()]
    described = device_description(channel)
    if "sizes" in described:
        rows += list(rng.integers(0, described["sizes"], size=(4, len(described["sizes"]))))
    elif "possible" in described:
        rows = list(np.asarray(described["lower"]) + np.asarray(described["statistic_bound"]) * described["possible"])
    elif described["binary"]:
        rows += [np.roll(row, 1) for row in rows]
    else:
        rows += [rows[0] + share * (rows[1] - rows[0]) for share in rng.random((3, 1))]
    return [row.tolist() for row in rows]


# -- words, by mapping -------------------------------------------------------------------------------------------------


def _sides(thresholds: Iterable[int]) -> list[int]:
    """Both ends, and words on both sides of every threshold over 2⁶²."""
    near = {4 * number + step for number in thresholds for step in (-4, -1, 0, 3, 4)}
    return sorted({word for word in near if 0 <= word < _SPAN} | set(_ENDS))


def _edges(limit: int) -> list[int]:
    """Both ends, of which 0 is left aside unless the limit is a power of 2, and words between two results."""
    near = {-(-result * _SPAN // limit) for result in (1, limit // 2, limit - 1)}
    return sorted({word + step for word in near for step in (-1, 0, 1) if 0 <= word + step < _SPAN} | set(_ENDS))


def _columns(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Any) -> list[_Plan]:
    labels = described["outputs"]
    own = thresholds["columns"][truth if isinstance(labels, int) else labels.index(truth)]
    return [[_sides(accumulate(own))]]


def _reveal(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Any) -> list[_Plan]:
    return [[_sides(accumulate(thresholds["base"], initial=thresholds["reveal"]))]]


def _bits(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Sequence[float]) -> list[_Plan]:
    keep, raised = thresholds["keep"], thresholds["raised"]
    return [[_sides({keep, raised, own}) for own in _raised_by(described, thresholds, truth)]]


def _coordinate(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Sequence[float]) -> list[_Plan]:
    keep, raised = thresholds["keep"], thresholds["raised"]
    return [
        [_sides(accumulate(thresholds["release"])), _sides({keep, raised, *_raised_by(described, thresholds, truth)})]
    ]


def _raised_by(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Sequence[float]) -> list[int]:
    """The threshold of every statistic: S + ⌊(P − S) t⌋."""
    span = thresholds["keep"] - thresholds["raised"]
    shares = (np.asarray(truth) - described["lower"]) / described["statistic_bound"]
    return [thresholds["raised"] + min(int(span * share), span) for share in shares.clip(0, 1).tolist()]


def _subset(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Any) -> list[_Plan]:
    labels = described["outputs"]
    return [_of_subset(labels if isinstance(labels, int) else len(labels), thresholds)]


def _of_subset(cells: int, thresholds: Mapping[str, Any]) -> _Plan:
    limits = range(cells - 1, cells - 1 - thresholds["subset_size"], -1)
    return [_sides([thresholds["inside"]]), *map(_edges, limits)]


def _clique(described: Mapping[str, Any], thresholds: Mapping[str, Any], truth: Sequence[int]) -> list[_Plan]:
    ends = list(accumulate(thresholds["cliques"]))
    plans: list[_Plan] = []
    for clique, table, end, drawn in zip(
        described["cliques"], thresholds["tables"], ends, thresholds["cliques"], strict=True
    ):
        shape = [described["sizes"][variable] for variable in clique]
        inside = [word for word in _sides([end - drawn, end]) if 4 * (end - drawn) <= word < 4 * end]
        if "columns" in table:
            own = table["columns"][int(np.ravel_multi_index([truth[variable] for variable in clique], shape))]
            plans.append([inside, _sides(accumulate(own))])
        else:
            plans.append([inside, *_of_subset(int(np.prod(shape)), table)])
    return plans


_PLANS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any], Any], list[_Plan]]] = {
    "columns": _columns,
    "reveal": _reveal,
    "bits": _bits,
    "coordinate": _coordinate,
    "subset": _subset,
    "clique": _clique,
}


def _permanent() -> list[dict[str, Any]]:
    """What tokens and names become: the secret, what is sent, and the first words of a question."""
    known = []
    for token, campaign, question in (
        ("0123456789abcdef", "health-2027", "smokes"),
        ("Zürich–東京-a-token", "", "was ist, wenn …?"),
    ):
        words = permanent_words(secret_from_token(token), campaign, question)
        known.append(
            {
                "token": token,
                "secret": secret_from_token(token).hex(),
                "access": access_from_token(token),
                "campaign": campaign,
                "question": question,
                "words": [str(next(words)) for _ in range(9)],
            }
        )
    return known
