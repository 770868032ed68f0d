"""What devices send: files of reports (`reports/1`), lines of JSON or Parquet, each report with an id of its own."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import repeat
from typing import Any

import numpy as np

from askance._arrays import AnyArray, IntArray
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign
from askance.collect.store.entry import ID_BYTES, Entry
from askance.collect.submission import Refusal
from askance.errors import FormatError, InputError
from askance.formats.report_ids import Ids
from askance.formats.report_lines import read_lines
from askance.formats.report_parquet import read_parquet
from askance.formats.report_schema import STRICT_JSON, Block, Reason, Refusals, ReportSchema, json_line, kind_of
from askance.formats.report_texts import text_of
from askance.formats.reports import without_impossible

# Bodies are filled up to a multiple of this.
_STEP = 1024
_DIGITS = np.zeros(256, dtype=bool)
_DIGITS[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = True
# In one body: a few bytes of Parquet, or short lines that are none, would keep the server busy for minutes.
_MOST_REPORTS = 100_000
# Bodies of at most so many bytes are read line by line.
_SHORT = 4096
_ID = re.compile(f"[0-9a-f]{{{2 * ID_BYTES}}}")
_NUMBER = re.compile(r"(\d+)$")
_NO_ID = Refusal("malformed", f"it has no id of {2 * ID_BYTES} digits 0-9, a-f.")


class _Body(io.BytesIO):
    """The bytes of a request, as files are read."""

    name = "the body"


class _LineRefusals(Refusals):
    """Refused reports by their line or row."""

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.by_place: dict[int, Refusal] = {}

    def refuse(self, reason: Reason, place: str, what: str, count: int = 1) -> None:
        """Remember one; a header that differs counts for none, since its reports tell so themselves."""
        number = _NUMBER.search(place)
        if count and number:
            self.by_place[int(number[1])] = Refusal(reason, what)
        elif count:
            raise FormatError(f"{place}: {what}", remedy="Send reports of a channel of this campaign.")


class _Question:
    """How reports to one question are read, and what is kept of them."""

    def __init__(self, asked: Asked) -> None:
        assert asked.channel is not None
        self.name, self.channel, self.schema = asked.name, asked.channel, ReportSchema(asked.channel)
        self.texts = {column.name: text_of(column) for column in self.schema.columns}
        self._template = f'{{"channel":"{self.schema.tag}",' + ",".join(f'"{name}":%s' for name in self.texts) + "}"
        self.header = json_line(self.schema.header()).encode()
        self._never = frozenset(getattr(asked.channel, "never_observed", np.zeros(0, np.int64)).tolist())

    @cached_property
    def _added(self) -> list[Mapping[str, IntArray]]:
        """What every answer adds to the tally: one mapping for all reports that give it.

        Rows of the identity, each a stretch of zeros around one 1: memory grows with the answers, not their square.
        """
        k = self.channel.sums_size
        one = np.zeros(2 * k - 1, dtype=np.int64)
        one[k - 1] = 1
        return [{self.name: one[k - 1 - answer : 2 * k - 1 - answer]} for answer in range(k)]

    @cached_property
    def _contents(self) -> list[bytes]:
        """What is kept of every answer."""
        (text,) = self.texts.values()
        return [(self._template % value).encode() for value in text.encode(np.arange(self.channel.sums_size))]

    def few(self, lines: Sequence[bytes], window: int) -> list[Entry | Refusal] | None:
        """A few answers, without the arrays that pay for many; None where one of them is not as it should be."""
        if not isinstance(self.channel, FiniteChannel):
            return None
        ((name, text),) = self.texts.items()
        entries: list[Entry | Refusal] = []
        for line in lines:
            try:
                fields = STRICT_JSON.decode(line.decode())
                id, code = fields["id"], text.read(fields[name])
            except (ValueError, RecursionError, TypeError, KeyError):
                return None
            right = len(fields) == 3 and fields.get("channel") == self.schema.tag and isinstance(id, str)
            if not right or not _ID.fullmatch(id) or not 0 <= code < len(self._added) or code in self._never:
                return None
            entries.append(Entry(bytes.fromhex(id), self._contents[code], None, window, self._added[code]))
        return entries

    def entries(self, block: Block, ids: Sequence[bytes], window: int) -> list[Entry]:
        """Reports as they are stored."""
        contents, sums = self._kept(block.columns, len(ids))
        # Nothing is interpreted row by row here: the writer works at the same time, under the same lock of Python.
        rows = zip(ids, contents, repeat(None), repeat(window), sums, strict=False)
        return list(map(partial(tuple.__new__, Entry), rows))

    def _kept(
        self, columns: Mapping[str, AnyArray], n: int
    ) -> tuple[Iterable[bytes], Iterable[Mapping[str, IntArray]]]:
        """What is kept of n reports, and what each adds to the tally."""
        if isinstance(self.channel, FiniteChannel):
            codes = columns["answer"].tolist()
            return map(self._contents.__getitem__, codes), map(self._added.__getitem__, codes)
        texts = [text.encode(columns[name]) for name, text in self.texts.items()]
        reports = self.schema.assemble(columns)
        sums = [{self.name: self.channel.sums(reports[i : i + 1])} for i in range(n)]  # type: ignore[arg-type]
        return [(self._template % values).encode() for values in zip(*texts, strict=True)], sums

    def sums(self, columns: Mapping[str, AnyArray]) -> Mapping[str, IntArray]:
        """What one report adds to the tally."""
        return next(iter(self._kept(columns, 1)[1]))


class DeviceReports:
    """Reads the bodies of a campaign of devices.

    Attributes:
        least_bytes: a body of lines is at least as long, and has this length if there is one report in it: its length
            does not tell what was reported.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._questions = [_Question(asked) for asked in campaign.questions]
        longest = [len(q.header) + sum(t.longest for t in q.texts.values()) + 256 for q in self._questions]
        self.least_bytes = -(-max(longest) // _STEP) * _STEP

    def write(self, question: str, lines: Sequence[str]) -> bytes:
        """A body of reports to one question, as `report_line` writes them, filled up."""
        chosen = next(q for q in self._questions if q.name == question)
        return (chosen.header + "".join(f"{line}\n" for line in lines).encode()).ljust(self.least_bytes)

    def read(self, body: bytes, window: int) -> list[Entry | Refusal]:
        """The reports of a body, or what is wrong with them, in the order of their lines.

        Raises:
            FormatError: it is no file of reports, or one of another channel.
            InputError: it is too short, or holds more reports than it can have ids.
        """
        chosen = self._chosen(body)
        if (few := self._few(body, chosen, window)) is not None:
            return few
        file: Any = io.BufferedReader(_Body(body))
        kind = kind_of(file)
        refusals = _LineRefusals()
        if kind == "other" or chosen is None:
            raise FormatError(
                "the body is no file of reports to a question of this campaign.",
                remedy="Begin with the header of the question, which /device tells; do not pack lines.",
            )
        if kind == "lines" and len(body) < self.least_bytes:
            raise InputError(
                f"the body has {len(body):,} bytes; allowed: {self.least_bytes:,} at least.",
                remedy="Fill it up with blanks after the last line.",
            )
        if kind == "lines":
            _require_few(body.count(b"\n") - 1, body)
        blocks = (
            read_lines(file, refusals, chosen.schema, compiled_from=0)
            if kind == "lines"
            else read_parquet(file, refusals, chosen.schema)
        )
        outcome: dict[int, Entry | Refusal] = {}
        n = 0
        for block in blocks:
            n += len(block.places)
            _require_few(block.extent.rows if block.extent else n, body)
            if len(block.places):
                self._take(block, refusals, chosen, window, outcome)
        outcome.update(refusals.by_place)
        return [outcome[place] for place in sorted(outcome)]

    def _few(self, body: bytes, chosen: _Question | None, window: int) -> list[Entry | Refusal] | None:
        """The reports of a short body, where there is nothing to be said against it."""
        if chosen is None or not self.least_bytes <= len(body) <= _SHORT or not body.startswith(chosen.header):
            return None
        lines = body[len(chosen.header) :].rstrip(b" ").splitlines()
        return chosen.few(lines, window) if lines else None

    def _chosen(self, body: bytes) -> _Question | None:
        """The question whose channel the header names."""
        return next((q for q in self._questions if q.channel.fingerprint.encode() in body), None)

    def _take(
        self,
        block: Block,
        refusals: _LineRefusals,
        question: _Question,
        window: int,
        outcome: dict[int, Entry | Refusal],
    ) -> None:
        try:
            block.schema.assemble(block.columns)
        except InputError:
            block = without_impossible(block, refusals)
        named = _with_id(block.ids, len(block.places))
        outcome.update(dict.fromkeys(block.places[~named].tolist(), _NO_ID))
        if not named.all():
            block = block.take(named)
        digits = b"" if block.ids is None else bytes(block.ids)
        whole = bytes.fromhex(digits.decode())
        ids = [whole[i : i + ID_BYTES] for i in range(0, len(whole), ID_BYTES)]
        outcome.update(zip(block.places.tolist(), question.entries(block, ids, window), strict=True))

    def sums_of(self, content: bytes) -> Mapping[str, IntArray]:
        """What an entry of this content added to the tallies."""
        fields = STRICT_JSON.decode(content.decode())
        tag = fields.pop("channel")
        question = next(q for q in self._questions if q.schema.tag == tag)
        columns = {name: text.gather([text.read(fields[name])]) for name, text in question.texts.items()}
        return question.sums(columns)


def _require_few(n: int, body: bytes) -> None:
    """Refuse more reports than are read at once, or than a body can have random ids, which nothing packs."""
    most = min(_MOST_REPORTS, len(body) // ID_BYTES)
    if n > most:
        raise InputError(
            f"the body holds {n:,} reports; allowed: {most:,}, for each has {ID_BYTES} random bytes.",
            remedy=f"Draw ids at random, and send at most {_MOST_REPORTS:,} reports at a time.",
        )


def _with_id(ids: Ids | None, n: int) -> AnyArray:
    """Which reports have an id of 16 bytes in small hexadecimal digits."""
    if ids is None:
        return np.zeros(n, dtype=bool)
    right = np.concatenate([[0], np.cumsum(~_DIGITS[ids.letters[ids.bounds[0] : ids.bounds[-1]]])])
    ends = ids.bounds - ids.bounds[0]
    return np.asarray((ids.lengths == 2 * ID_BYTES) & (right[ends[1:]] == right[ends[:-1]]))
