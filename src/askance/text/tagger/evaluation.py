"""How good tags are: accuracy with an interval, tag by tag, and what is taken for what."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askance._arrays import IntArray
from askance._checks import shorten
from askance.errors import EmptyDataError, ForeignTagsWarning, ShapeError
from askance.estimation.freedom import normal_quantile
from askance.estimation.results.share_intervals import share_interval
from askance.tables import as_json
from askance.text.corpus.corpus import NO_TAG, Corpus, tag_codes


@dataclass(frozen=True)
class TagScore:
    """One tag: precision, recall, F1 (NaN where they have no meaning) and how many tokens have it in truth."""

    tag: str
    precision: float
    recall: float
    f1: float
    tokens: int


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Tags against true ones.

    Attributes:
        accuracy: share of tokens with the right tag.
        standard_error: of the accuracy, sentences being drawn at random: words of one sentence are right or wrong
            together more often than by chance, so that tokens cannot be counted as independent.
        unknown_word_accuracy: among tokens whose word was not seen in training; NaN where there are none.
        tokens: how many were looked at.
        unknown_tokens: how many of them have an unknown word.
        sentences: how many there were.
        tags: scores of every tag.
        confusions: (true tag, given tag, how often), the most frequent mistake first.
        tally: how many sentences have true tags, and hold a mistake or a right token.
    """

    accuracy: float
    standard_error: float
    unknown_word_accuracy: float
    tokens: int
    unknown_tokens: int
    sentences: int
    tags: tuple[TagScore, ...]
    confusions: tuple[tuple[str, str, int], ...]
    tally: SentenceTally

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Of the accuracy, within 0 and 1 (`accuracy_interval`); NaN where there are fewer than two sentences.

        Where every tag is right it is 1 − q to 1 with q = 1 − (α/2)^(1/sentences), α = 1 − confidence.
        """
        return accuracy_interval(self.accuracy, self.standard_error, self.tally, confidence)

    def rows(self, confidence: float = 0.95) -> list[tuple[str, str]]:
        """For people: a name and a value each."""
        lower, upper = self.interval(confidence)
        unknown = f"{self.unknown_word_accuracy:.4f}" if self.unknown_tokens else "none seen"
        return [
            ("accuracy", f"{self.accuracy:.4f}"),
            (f"{100 * confidence:g} % interval", "unknown" if math.isnan(lower) else f"{lower:.4f} … {upper:.4f}"),
            ("unknown words", f"{unknown} ({self.unknown_tokens:,} tokens)"),
            ("tokens", f"{self.tokens:,} in {self.sentences:,} sentences"),
        ]

    def tag_rows(self) -> list[tuple[str, ...]]:
        """For people: name, precision, recall, F1 and tokens of every tag that was given or true."""
        return [
            (s.tag, *("–" if math.isnan(x) else f"{x:.3f}" for x in (s.precision, s.recall, s.f1)), f"{s.tokens:,}")
            for s in self.tags
            if s.tokens or not math.isnan(s.precision)  # which a tag has that was given
        ]

    def to_json(self, confidence: float = 0.95) -> dict[str, Any]:
        """Plain values."""
        lower, upper = self.interval(confidence)
        plain: dict[str, Any] = {
            "accuracy": self.accuracy,
            "std_error": self.standard_error,
            "lower": lower,
            "upper": upper,
            "confidence": confidence,
            "unknown_word_accuracy": self.unknown_word_accuracy,
            "tokens": self.tokens,
            "unknown_tokens": self.unknown_tokens,
            "sentences": self.sentences,
        }
        mistakes = [{"true": true, "given": told, "tokens": count} for true, told, count in self.confusions]
        plain |= {"tags": list(map(asdict, self.tags)), "confusions": mistakes}
        return {name: as_json(value) for name, value in plain.items()}


def evaluate_tags(
    gold: Corpus, given: npt.ArrayLike, tagset: tuple[str, ...], is_unknown: npt.ArrayLike | None = None
) -> Evaluation:
    """Compare tags with those of a corpus; tokens without a true tag are left out.

    Args:
        gold: with tags, of any tag set: names are compared.
        given: code of every token in `tagset`, shape (N,).
        tagset: names of the given tags.
        is_unknown: which types of the corpus were not seen in training, shape (types,).

    >>> gold = Corpus.of([["a", "b"], ["c"]], tags=[["X", "Y"], ["X"]])
    >>> found = evaluate_tags(gold, [0, 0, 0], ("X",))
    >>> round(found.accuracy, 3), found.confusions, [(s.tag, s.tokens) for s in found.tags]
    (0.667, (('Y', 'X', 1),), [('X', 2), ('Y', 1)])
    """
    codes = np.asarray(given)
    if gold.tags is None or codes.shape != gold.tags.shape:
        raise ShapeError(
            f"there are {codes.shape} given tags and {None if gold.tags is None else gold.tags.shape} true ones; "
            "allowed: one each for every token.",
            remedy="Give a corpus with tags, and its own predictions.",
        )
    names = tuple(sorted({*tagset, *gold.tagset}))
    true = tag_codes(gold.tagset, names, "the corpus has")[gold.tags].astype(np.int64)
    told = tag_codes(tagset, names, "the tagger has")[codes]
    seen = true != NO_TAG
    if not seen.any():
        raise EmptyDataError("no token has a true tag.", remedy="Give a corpus with tags.")
    table = np.bincount(true[seen] * len(names) + told[seen], minlength=len(names) ** 2)
    table = table.reshape(len(names), len(names))
    right = (true == told) & seen
    accuracy = float(right.sum() / seen.sum())
    unknown = np.zeros(len(seen), dtype=bool) if is_unknown is None else np.asarray(is_unknown)[gold.tokens] & seen
    error, tally = _by_sentence(gold, right, seen)
    return Evaluation(
        accuracy,
        error,
        float(right[unknown].mean()) if unknown.any() else math.nan,
        int(seen.sum()),
        int(unknown.sum()),
        len(gold),
        tuple(_score(table, k, name) for k, name in enumerate(names)),
        _confusions(table, names),
        tally,
    )


def warn_of_foreign_tags(evaluation: Evaluation, tagset: Sequence[str], stacklevel: int) -> None:
    """Say how many tokens have true tags that a tagger with this tag set can never give, and what it gives instead.

    Tags of the tagger that no token has in truth are told only then: a small test need not have all tags.
    """
    lacking = {score.tag: score.tokens for score in evaluation.tags if score.tokens and score.tag not in tagset}
    if not lacking:
        return
    true = {score.tag for score in evaluation.tags if score.tokens}
    idle = Counter[str]()
    for _, told, count in evaluation.confusions:
        if told not in true:
            idle[told] += count
    text = (
        f"{sum(lacking.values()):,} of {evaluation.tokens:,} tokens have a true tag that the tagger does not know and "
        f"can never give: {shorten(list(lacking))}."
    )
    if idle:
        text += f" {idle.total():,} tokens were given a tag that no token has in truth: {shorten(sorted(idle))}."
    remedy = "Choose another column of tags, or rename tags so that both have the same names."
    if len(idle) == 1:
        remedy += f" If {next(iter(idle))!r} was the name of all tags that were not counted, give it as the rest."
    warnings.warn(f"{text} {remedy}", ForeignTagsWarning, stacklevel=stacklevel + 1)


def _by_sentence(
    gold: Corpus, right: npt.NDArray[np.bool_], seen: npt.NDArray[np.bool_]
) -> tuple[float, SentenceTally]:
    """The standard error of a ratio of sums over sentences, and what sentences hold.

    The error is √Σ_s (right_s − accuracy · tokens_s)² / tokens, with m/(m − 1); NaN with fewer than two sentences.
    """
    owner = np.repeat(np.arange(len(gold)), gold.lengths)
    n_right, n_seen = np.bincount(owner, right, len(gold)), np.bincount(owner, seen, len(gold))
    used = int((n_seen > 0).sum())
    tally = SentenceTally(used, int((n_right < n_seen).sum()), int((n_right > 0).sum()))
    if used < 2:
        return math.nan, tally
    total = n_seen.sum()
    # Products of whole numbers: where sentences are all alike this is 0, not nearly 0.
    residual = (n_right * total - n_right.sum() * n_seen) / total
    return float(np.sqrt((residual**2).sum() * used / (used - 1)) / total), tally


def _score(table: IntArray, k: int, name: str) -> TagScore:
    hit, told, true = int(table[k, k]), int(table[:, k].sum()), int(table[k].sum())
    precision, recall = (hit / told if told else math.nan), (hit / true if true else math.nan)
    f1 = 2 * hit / (told + true) if told + true else math.nan
    return TagScore(name, precision, recall, f1, true)


def _confusions(table: IntArray, names: tuple[str, ...]) -> tuple[tuple[str, str, int], ...]:
    wrong = table.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")
    cells = [(int(cell) // len(names), int(cell) % len(names)) for cell in order[: int((wrong > 0).sum())]]
    return tuple((names[true], names[told], int(wrong[true, told])) for true, told in cells)


# -- the interval ------------------------------------------------------------------------------------------------------


# With so many sentences that hold a mistake their spread can be relied on.
_ENOUGH = 5


class SentenceTally(NamedTuple):
    """Sentences with true tags, and how many of them hold a mistake, or a right token."""

    sentences: int
    with_mistakes: int
    with_right: int


def accuracy_interval(accuracy: float, error: float, tally: SentenceTally, confidence: float) -> tuple[float, float]:
    """Lower and upper end, where sentences, not tokens, are drawn at random; NaN with fewer than two sentences.

    Let p̂ be the share of right tokens and e its standard error, found from sentences. The interval is Wilson's with
    the effective number of tokens n* = p̂ (1 − p̂) / e², which is the number of tokens divided by the design effect: it
    holds every p with

        |p̂ − p| ≤ z √(p (1 − p) / n*),

    and so stays within 0 and 1 and leans away from them, unlike p̂ ± z e.

    How mistakes gather in sentences is not seen where next to no sentence has one: e is then nearly or quite 0, and
    says nothing. With fewer than five sentences that hold a mistake (or fewer than five that hold a right token), and
    wherever e is 0, the interval reaches at least as far as m sentences that are all alike allow. Suppose that a share
    q of all sentences is not like those that were seen. The chance that none of them is among m is (1 − q)^m, and it is
    at least α/2, half of what the confidence leaves, for q up to

        q = 1 − (α/2)^(1/m).

    At worst all tokens of such sentences are wrong, or all are right: p̂ (1 − q) ≤ p ≤ p̂ + (1 − p̂) q. If no mistake
    is seen, this is 1 − q to 1: an exact bound, as long as sentences with mistakes are no longer than others.

    >>> [round(end, 4) for end in accuracy_interval(1.0, 0.0, SentenceTally(600, 0, 600), 0.95)]
    [0.9939, 1.0]
    >>> [round(end, 4) for end in accuracy_interval(0.9, 0.01, SentenceTally(600, 400, 600), 0.95)]
    [0.8787, 0.9179]
    """
    z = normal_quantile(confidence)
    if math.isnan(error):
        return math.nan, math.nan
    spread = accuracy * (1 - accuracy)
    effective = spread / error**2 if error > 0 else math.inf
    lower, upper = (
        float(end[0]) for end in share_interval(np.array([accuracy]), np.array([error]), z, min(effective, 1e300))
    )
    if error == 0 or min(tally.with_mistakes, tally.with_right) < _ENOUGH:
        alike = ((1 - confidence) / 2) ** (1 / tally.sentences)
        lower, upper = min(lower, accuracy * alike), max(upper, 1 - (1 - accuracy) * alike)
    return lower, upper
