"""A campaign: what is asked, through which channels, of whom, and how much may be told of anybody.

`campaign_file.read_campaign` reads one from TOML. What matters of it is fixed by its fingerprint once the first answer
is in; a change is a new wave, with a name of its own.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from askance.categories import Label
from askance.channels.finite import FiniteChannel
from askance.channels.registry import AnyChannel
from askance.channels.thresholds import log_rounded_up
from askance.survey.codebook import Codebook, Question

#: A text in every language of a campaign, by the codes of languages.
Texts: TypeAlias = Mapping[str, str]
Kind: TypeAlias = Literal["survey", "devices", "counting"]


@dataclass(frozen=True)
class Asked:
    """One question of a campaign.

    Attributes:
        name: in files and formulas; the purpose of its channel.
        texts: the wording.
        channel: how an answer is noised on the device; None: it is sent as it is.
        options: the wording of answers, by their labels.
        values: what an open answer can be: labels, or the least and the most of a whole number.
        may_decline: whether no answer at all may be sent. Who declines is not protected.
        expected_share: a guess of the share of the last label, for `check`.
    """

    name: str
    texts: Texts
    channel: AnyChannel | None = None
    options: Mapping[Label, Texts] = field(default_factory=dict)
    values: tuple[Label, ...] | range = ()
    may_decline: bool = False
    expected_share: float | None = None

    @property
    def largest_ratio(self) -> Fraction | None:
        """How many times likelier one report can be under one answer than under another; 1 where it is sent openly.

        None where a channel excludes some answer: there is no bound.
        """
        return Fraction(1) if self.channel is None else self.channel.largest_ratio()

    @property
    def level(self) -> float | None:
        """The privacy level, None where the question is open."""
        return None if self.channel is None else self.channel.privacy_level

    def to_json(self) -> dict[str, Any]:
        """What matters of it, for the fingerprint."""
        channel = None if self.channel is None else [self.channel.specification(), self.channel.fingerprint]
        values = [self.values.start, self.values.stop - 1] if isinstance(self.values, range) else list(self.values)
        options = [[label, dict(texts)] for label, texts in self.options.items()]
        return {"texts": dict(self.texts), "channel": channel, "options": options, "values": [values], **self._more()}

    def _more(self) -> dict[str, Any]:
        return {"may_decline": self.may_decline, "is_number": isinstance(self.values, range)}


@dataclass(frozen=True)
class Stretch:
    """Words of a sentence in which tags are counted: tokens from `start` up to, not including, `end`."""

    sentence: int
    start: int
    end: int


@dataclass(frozen=True)
class Counting:
    """What a counting campaign asks.

    Attributes:
        sentences: of the text, word by word.
        tags: that are counted.
        window: words of a stretch; None: whole sentences.
        times: how often each stretch is counted, by different people.
        text_digest: SHA-256 of the file of text.
        rest: the name for words that have none of the tags; "" where every word has one of them.
        ask: "together" (all tags of a stretch on one page) or "one" (one tag a page).
        single_words: so many single words, spread evenly over the text, are asked for their tag besides.
        again: whether the same person may be asked about a stretch again.
        names: of tags as people read them in "How many … are there?".
        singular: the same in "What is this word?".
        first: numbers of the stretches that are asked first, in that order; it may change while people count.
        labelled: a file of labelled text that taggers are tried on while counts come in.
    """

    sentences: tuple[tuple[str, ...], ...]
    tags: tuple[str, ...]
    window: int | None
    times: int
    text_digest: str
    rest: str = ""
    ask: Literal["together", "one"] = "together"
    single_words: int = 0
    again: bool = False
    names: Mapping[str, Texts] = field(default_factory=dict)
    singular: Mapping[str, Texts] = field(default_factory=dict)
    first: tuple[int, ...] = ()
    labelled: Path | None = None

    @property
    def tagset(self) -> tuple[str, ...]:
        """The tags that a word can have."""
        return (*self.tags, self.rest) if self.rest else self.tags

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """All stretches, side by side: every word is in one; after them the single words.

        >>> Counting((("a", "b", "c"),), ("N",), 2, 1, "", single_words=1).stretches
        (Stretch(sentence=0, start=0, end=2), Stretch(sentence=0, start=2, end=3), Stretch(sentence=0, start=1, end=2))
        """
        aside = [
            Stretch(number, start, min(start + (self.window or len(words)), len(words)))
            for number, words in enumerate(self.sentences)
            for start in range(0, len(words), self.window or len(words))
        ]
        places = [(number, start) for number, words in enumerate(self.sentences) for start in range(len(words))]
        chosen = [places[(2 * i + 1) * len(places) // (2 * self.single_words)] for i in range(self.single_words)]
        return (*aside, *(Stretch(number, start, start + 1) for number, start in chosen))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The numbers of all stretches in the order in which they are asked: single words among the others.

        >>> Counting((("a", "b", "c", "d"),), ("N",), 1, 1, "", single_words=2, first=(3,)).order
        (3, 0, 4, 1, 2, 5)
        """
        n, first = len(self.stretches), frozenset(self.first)
        aside = n - self.single_words
        share = [(number + 0.5) / aside for number in range(aside)]
        share += [(number + 0.5) / self.single_words for number in range(self.single_words)]
        others = sorted((number for number in range(n) if number not in first), key=lambda number: share[number])
        return (*self.first, *others)

    def words(self, stretch: Stretch) -> tuple[str, ...]:
        """The words of a stretch."""
        return self.sentences[stretch.sentence][stretch.start : stretch.end]

    def to_json(self) -> list[Any]:
        """What matters of it, for the fingerprint."""
        wording = [{tag: dict(texts) for tag, texts in named.items()} for named in (self.names, self.singular)]
        asked = [self.tagset, self.window, self.times, self.ask, self.single_words, self.again]
        return [self.text_digest, *asked, *wording]


@dataclass(frozen=True)
class Campaign:
    """What is collected, and how.

    Attributes:
        name: in addresses, and of the file that answers are kept in: letters, digits and hyphens.
        kind: "survey" (all questions of one person at once), "devices" (reports in windows of time) or "counting".
        titles: for people.
        languages: codes, the first of which is used where a browser asks for none of them.
        questions: in the order in which they are asked; none in a counting campaign.
        counting: what is counted, in a counting campaign.
        at_most_level: what all questions together may tell of one person; None where nothing is noised.
        planned_n: how many answers are planned.
        stopping: "planned" (at the planned n, looked at once) or "anytime".
        access: "tokens" (one answer for each) or "open".
        origins: of pages elsewhere that may send answers, as in https://example.org; null: of files on a disk.
        window_days: of devices: how long a window is, the only time that is kept.
        keep_windows: of devices: older windows are deleted; None: never.
        consent: of surveys: what people agree to before they begin; empty: the page's own words.
        own_die: of surveys: whether people may roll a die of their own instead.
        comprehension_check: of surveys: whether the page asks if the method was understood. Nothing of it is sent.
    """

    name: str
    kind: Kind
    titles: Texts
    languages: tuple[str, ...]
    questions: tuple[Asked, ...]
    counting: Counting | None = None
    at_most_level: Fraction | None = None
    planned_n: int = 0
    stopping: Literal["planned", "anytime"] = "planned"
    access: Literal["tokens", "open"] = "tokens"
    origins: tuple[str, ...] = ()
    window_days: int = 1
    keep_windows: int | None = None
    consent: Texts = field(default_factory=dict)
    own_die: bool = False
    comprehension_check: bool = False

    @cached_property
    def by_name(self) -> dict[str, Asked]:
        """The questions by their names."""
        return {question.name: question for question in self.questions}

    @cached_property
    def largest_ratio(self) -> Fraction | None:
        """The factor by which all questions together can change the odds between any two ways of answering.

        Ratios are fractions of the thresholds that samplers use, so their product is exact. None where a question has
        no bound.
        """
        ratios = [question.largest_ratio for question in self.questions]
        product = math.prod((ratio for ratio in ratios if ratio is not None), start=Fraction(1))
        return None if None in ratios else product

    @cached_property
    def level(self) -> float:
        """What all questions together tell at most: the logarithm of `largest_ratio`, rounded up, or infinite."""
        return math.inf if self.largest_ratio is None else log_rounded_up(self.largest_ratio)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what matters: questions, wordings, channels, plan, access, consent, text. Titles may change."""
        counted = self.counting
        content = {
            "name": self.name,
            "kind": self.kind,
            "questions": [[question.name, question.to_json()] for question in self.questions],
            "counting": counted and counted.to_json(),
            "at_most_level": None if self.at_most_level is None else str(self.at_most_level),
            "plan": [self.planned_n, self.stopping],
            "access": self.access,
            "window_days": self.window_days,
            "page": [dict(self.consent), self.own_die, self.comprehension_check],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def codebook(self) -> Codebook:
        """The questions as `regress` and `plan` take them; columns of exported answers are called like questions.

        >>> from askance import Warner
        >>> asked = Asked("smokes", {"en": "Do you smoke?"}, Warner("2/3"))
        >>> campaign = Campaign("small", "survey", {"en": "Small"}, ("en",), (asked,))
        >>> campaign.codebook().hidden
        ['smokes']
        """
        return Codebook(
            {question.name: self._in_codebook(question) for question in self.questions}, self.text(self.titles)
        )

    def _in_codebook(self, question: Asked) -> Question:
        others = {language: text for language, text in question.texts.items() if language != self.languages[0]}
        channel = question.channel
        design = channel.for_purpose("") if isinstance(channel, FiniteChannel) else None
        return Question(question.name, question.name, self.text(question.texts), others, design=design)

    def text(self, texts: Texts, language: str | None = None) -> str:
        """A text in a language, or in the first one that has it."""
        for code in (language, *self.languages):
            if code is not None and code in texts:
                return texts[code]
        return ""
