"""One answer as it is sent: a value of JSON, checked, and what it adds to the tally of its question."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from askance._arrays import IntArray
from askance._checks import shorten, shown
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked
from askance.formats.report_schema import ReportSchema
from askance.formats.report_texts import text_of


def plain_json(value: Any) -> str:
    """JSON as JavaScript writes it: no blanks, letters as they are."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class AnswerReader:
    """What may be sent as the answer to a question of a survey.

    Attributes:
        question: which one.
        longest: bytes of the longest answer.

    >>> from askance import Warner
    >>> reader = AnswerReader(Asked("smokes", {"en": "Do you smoke?"}, Warner("2/3")))
    >>> reader.read("yes"), reader.longest
    (array([0, 1]), 5)
    """

    def __init__(self, question: Asked) -> None:
        self.question = question
        channel = question.channel
        self._text = None
        if isinstance(channel, FiniteChannel):
            schema = ReportSchema(channel)
            self._text = text_of(schema.columns[0])
            self._sums = np.eye(channel.sums_size, dtype=np.int64)
            self._never = frozenset(channel.never_observed.tolist())
            self._allowed = list(channel.observations.labels)
        self.longest = max(len(plain_json(value).encode()) for value in self.examples())

    def examples(self) -> list[Any]:
        """All answers of a choice; of a number, those that are longest."""
        values = self.question.values
        declined = [None] if self.question.may_decline else []
        if self._text is not None:
            return [*self._allowed, *declined]
        ends = [values.start, values.stop - 1] if isinstance(values, range) else list(values)
        return [*ends, *declined]

    def read(self, value: Any) -> IntArray | None:
        """What an answer adds to the tally, None where nothing is tallied; ValueError says what is allowed."""
        if value is None and self.question.may_decline:
            return None
        if self._text is not None:
            code: int = self._text.read(value)
            if code in self._never or not 0 <= code < len(self._sums):
                raise ValueError(shorten(self._allowed))
            added: IntArray = self._sums[code]
            return added
        values = self.question.values
        if isinstance(values, range):
            if type(value) is not int or value not in values:
                raise ValueError(f"a whole number, {values.start} to {values.stop - 1}")
        elif not isinstance(value, str) or value not in values:
            raise ValueError(shorten(list(values)))
        return None

    def refusal(self, value: Any, allowed: ValueError) -> str:
        """What is said of an answer that cannot be. It was noised, or is open: it may be named."""
        return f"answer {self.question.name!r} is {shown(value)}; allowed: {allowed}."
