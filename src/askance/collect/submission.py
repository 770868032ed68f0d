"""What is sent in a survey or a counting campaign: lines of JSON, all of one length.

    {"campaign":"df4e66b4292e429b","id":"<32 digits>","token":"<26 letters>","answers":{"cheated":"yes","age":34}}
    {"campaign":"…","id":"…","token":"…","count":{"stretch":17,"counts":[2,0],"seconds":3.5,"replaces":null}}

A count that is null was skipped, and a tag that is null was not asked. A line is filled up with blanks to the length of
its campaign, the newline included: the length of a body tells how many were sent, and nothing else. All answers of a
person come in one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from askance._arrays import IntArray
from askance._checks import shown
from askance.collect.answers import AnswerReader, plain_json
from askance.collect.campaign import Campaign, Stretch
from askance.collect.store.entry import ID_BYTES, Entry, token_hash
from askance.collect.tokens import TOKEN_LETTERS, read_token
from askance.errors import InputError
from askance.formats.report_schema import STRICT_JSON

#: Digits of the fingerprint that every line repeats: a page of another wave is refused.
WAVE_DIGITS = 16
# Lengths are rounded up to this many bytes, so that campaigns that differ by a word do not differ in length.
_STEP = 64
_ID = re.compile(f"[0-9a-f]{{{2 * ID_BYTES}}}")
#: Of one stretch, in seconds: who took longer has had a break.
MOST_SECONDS = 3600.0
#: Of the hash of a token, by which the counts of one person belong together.
PSEUDONYM_DIGITS = 8
#: The name under which counts are tallied.
COUNTS = "counts"


class Refusal(NamedTuple):
    """Why a line was not taken."""

    reason: str
    what: str


class _RefusedError(Exception):
    def __init__(self, reason: str, what: str) -> None:
        super().__init__(what)
        self.refusal = Refusal(reason, what)


class Form:
    """How the lines of a campaign are written and read.

    Attributes:
        campaign: which one.
        length: bytes of every line, with its newline.

    >>> from askance import Warner
    >>> from askance.collect.campaign import Asked
    >>> asked = Asked("smokes", {"en": "Do you smoke?"}, Warner("2/3"))
    >>> form = Form(Campaign("small", "survey", {"en": "Small"}, ("en",), (asked,), access="open"))
    >>> {len(form.write(bytes(16), {"smokes": answer})) for answer in ("no", "yes")} == {form.length}
    True
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.wave = campaign.fingerprint[:WAVE_DIGITS]
        self.readers = {question.name: AnswerReader(question) for question in campaign.questions}
        longest = len(self._line(bytes(ID_BYTES), "a" * TOKEN_LETTERS, self._longest_content()))
        self.length = -(-(longest + 1) // _STEP) * _STEP

    def _longest_content(self) -> Any:
        counting = self.campaign.counting
        if counting is None:
            return {
                name: max(r.examples(), key=lambda v: len(plain_json(v).encode())) for name, r in self.readers.items()
            }
        most = max(stretch.end - stretch.start for stretch in counting.stretches) + 1
        counts = [max(most, 1000)] * len(counting.tags)  # as long as null, or longer
        return {"stretch": len(counting.stretches), "counts": counts, "seconds": 3599.9, "replaces": "0" * 2 * ID_BYTES}

    def _line(self, id: bytes, token: str | None, content: Any) -> bytes:
        field = "answers" if self.campaign.counting is None else "count"
        return plain_json({"campaign": self.wave, "id": id.hex(), "token": token, field: content}).encode()

    def write(self, id: bytes, content: Mapping[str, Any], token: str | None = None) -> bytes:
        """A line: answers by question, or a count."""
        return self._line(id, token, content).ljust(self.length - 1) + b"\n"

    def lines(self, body: bytes) -> list[bytes]:
        """The lines of a body; refused where one has another length."""
        size = self.length
        if not body or len(body) % size or any(body[i] != 10 for i in range(size - 1, len(body), size)):
            raise InputError(
                f"the body has {len(body):,} bytes; allowed: lines of {size} bytes each, the newline included.",
                remedy="Fill every line up with blanks before its newline.",
            )
        return [body[i : i + size] for i in range(0, len(body), size)]

    # -- reading ---------------------------------------------------------------------------------------------------

    def read(self, line: bytes, salt: bytes, knows: Callable[[bytes], bool] = lambda hash: False) -> Entry | Refusal:
        """What a line holds, as it is stored.

        Args:
            line: its bytes.
            salt: of the campaign.
            knows: whether a token of that hash belongs to somebody who counts.
        """
        try:
            return self._entry(line, salt, knows)
        except _RefusedError as error:
            return error.refusal

    def _entry(self, line: bytes, salt: bytes, knows: Callable[[bytes], bool]) -> Entry:
        fields = _object_of(line)
        field = "answers" if self.campaign.counting is None else "count"
        if fields.keys() != {"campaign", "id", "token", field}:
            raise _RefusedError(
                "malformed", f"it has fields {shown(sorted(fields))}; allowed: campaign, id, token, {field}."
            )
        if fields["campaign"] != self.wave:
            raise _RefusedError("another wave", f"its campaign is {shown(fields['campaign'])}; allowed: {self.wave!r}.")
        if not isinstance(fields["id"], str) or not _ID.fullmatch(fields["id"]):
            raise _RefusedError(
                "malformed", f"its id is {shown(fields['id'])}; allowed: {2 * ID_BYTES} digits 0-9, a-f."
            )
        id = bytes.fromhex(fields["id"])
        token = self._token(fields["token"])
        if self.campaign.counting is not None:
            return self._count(id, fields[field], self._annotator(token, salt, knows))
        spent = None if token is None else token_hash(token, salt)
        return self._answers(id, fields[field], spent)

    def asker(self, line: bytes, salt: bytes, knows: Callable[[bytes], bool] = lambda hash: False) -> str | Refusal:
        """The pseudonym of somebody who asks for stretches to count: {"campaign":"…","token":"…"}."""
        try:
            fields = _object_of(line)
            if fields.keys() != {"campaign", "token"} or fields["campaign"] != self.wave:
                raise _RefusedError("another wave", f"allowed: campaign {self.wave!r}, and a token.")
            return self._annotator(self._token(fields["token"]), salt, knows)
        except _RefusedError as error:
            return error.refusal

    def _annotator(self, token: bytes | None, salt: bytes, knows: Callable[[bytes], bool]) -> str:
        """A pseudonym of whoever counts; where the link is open, of a device that made up its own token."""
        if token is None:
            return ""
        person = token_hash(token, salt)
        if self.campaign.access == "tokens" and not knows(person):
            raise _RefusedError("foreign", "its token was never issued.")
        return person.hex()[:PSEUDONYM_DIGITS]

    def _token(self, token: Any) -> bytes | None:
        """The token of a line; where the link is open there is none, but that of a device that counts.

        The token itself is never named.
        """
        if self.campaign.access == "open" and (token is None or self.campaign.counting is None):
            if token is not None:
                raise _RefusedError("malformed", "it has a token; allowed: null, for the link is open.")
            return None
        if (known := read_token(token)) is None:
            raise _RefusedError("no token", f"its token is none; allowed: {TOKEN_LETTERS} letters and digits.")
        return known

    def _answers(self, id: bytes, answers: Any, spent: bytes | None) -> Entry:
        if not isinstance(answers, dict) or answers.keys() != self.readers.keys():
            names = ", ".join(self.readers)
            came = list(answers) if isinstance(answers, dict) else answers
            raise _RefusedError("malformed", f"it answers {shown(came)}; allowed: all of {names}.")
        sums: dict[str, IntArray] = {}
        for name, reader in self.readers.items():
            try:
                added = reader.read(answers[name])
            except ValueError as allowed:
                raise _RefusedError("malformed", reader.refusal(answers[name], allowed)) from None
            if added is not None:
                sums[name] = added
        return Entry(id, _canonical(answers), spent, 0, sums)

    def _count(self, id: bytes, count: Any, annotator: str) -> Entry:
        counting = self.campaign.counting
        assert counting is not None
        if not isinstance(count, dict) or count.keys() != {"stretch", "counts", "seconds", "replaces"}:
            raise _RefusedError("malformed", "its count has other fields; allowed: stretch, counts, seconds, replaces.")
        stretch, counts, seconds, replaces = (count[name] for name in ("stretch", "counts", "seconds", "replaces"))
        if type(stretch) is not int or not 0 <= stretch < len(counting.stretches):
            raise _RefusedError(
                "malformed", f"stretch is {shown(stretch)}; allowed: 0 to {len(counting.stretches) - 1}."
            )
        self._require_counts(counts, counting.stretches[stretch])
        if type(seconds) not in (int, float) or not 0 <= seconds <= MOST_SECONDS:
            raise _RefusedError("malformed", f"seconds is {shown(seconds)}; allowed: 0 to {MOST_SECONDS:g}.")
        if replaces is not None and not (isinstance(replaces, str) and _ID.fullmatch(replaces)):
            raise _RefusedError(
                "malformed", f"replaces is {shown(replaces)}; allowed: the id of another count, or null."
            )
        content = {**count, "seconds": math.floor(10 * seconds) / 10, "annotator": annotator}
        return Entry(id, _canonical(content), None, 0, _sums_of_counts(counts))

    def _require_counts(self, counts: Any, stretch: Stretch) -> None:
        """Refuse counts that cannot be; None says that the stretch was skipped, or a tag not asked.

        One more than there are words can be: people miscount, and how often is estimated from such counts, too.
        """
        counting = self.campaign.counting
        assert counting is not None
        tags, size = len(counting.tags), stretch.end - stretch.start
        if counts is None:
            return
        if not isinstance(counts, list) or len(counts) != tags or counts == [None] * tags:
            raise _RefusedError("malformed", f"counts is {shown(counts)}; allowed: a list of {tags}, or null.")
        told = [number for number in counts if number is not None]
        if not all(type(number) is int and 0 <= number <= size + 1 for number in told):
            raise _RefusedError(
                "malformed", f"counts is {shown(counts)}; allowed: whole numbers, 0 to {size + 1}, or null."
            )
        if size == 1 and (len(told) < tags or sum(told) > 1 or sum(told) < (not counting.rest)):
            which = "one of them 1, or none" if counting.rest else "one of them 1"
            raise _RefusedError("malformed", f"counts of one word is {shown(counts)}; allowed: 0, and {which}.")

    def sums_of(self, content: bytes) -> Mapping[str, IntArray]:
        """What an entry of this content added to the tallies."""
        fields = STRICT_JSON.decode(content.decode())
        if self.campaign.counting is not None:
            return _sums_of_counts(fields["counts"])
        read = {name: reader.read(fields[name]) for name, reader in self.readers.items()}
        return {name: sums for name, sums in read.items() if sums is not None}


def _sums_of_counts(counts: list[int | None] | None) -> Mapping[str, IntArray]:
    """What a count adds to the tally; nothing where the stretch was skipped."""
    return {} if counts is None else {COUNTS: np.array([number or 0 for number in counts], dtype=np.int64)}


def _object_of(line: bytes) -> dict[str, Any]:
    try:
        content = STRICT_JSON.decode(line.decode())
    except RecursionError:
        raise _RefusedError("malformed", "it is not JSON (nested without end).") from None
    except ValueError as error:  # not UTF-8, or not JSON
        what = "no UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "msg", error)
        raise _RefusedError("malformed", f"it is not JSON ({what}).") from None
    if not isinstance(content, dict):
        raise _RefusedError("malformed", f"it is {shown(content)}; allowed: an object.")
    return content


def _canonical(content: Mapping[str, Any]) -> bytes:
    """Two of the same content have the same bytes."""
    return plain_json(dict(sorted(content.items()))).encode()
