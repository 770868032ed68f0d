"""The survey without a script: a plain form for people who roll a die of their own. Nothing is drawn.

Every choice is sent as a code of the same length, and the form is filled up to what the script would send: lengths tell
nothing. Its id is drawn by the server when the page is made, and sent again with the same form.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign
from askance.collect.dice import Part, last_faces, parts_of, sides_of
from askance.collect.pages.odds import told_odds
from askance.collect.pages.texts import texts_in
from askance.collect.store.entry import ID_BYTES
from askance.collect.submission import Form
from askance.collect.tokens import TOKEN_LETTERS, read_token
from askance.errors import InputError

if TYPE_CHECKING:
    from markupsafe import Markup

# Values of an open number that a menu can list.
_MOST_LISTED = 1000
_DIGITS = len(str(_MOST_LISTED))
_DECLINED = "x" * _DIGITS
# Of a form, in bytes, beside what it is filled up with: some for every question, and the rest.
_FORM_BYTES, _FIELD_BYTES = 1024, 64


class PlainForm:
    """A form of all questions of a survey, and how it is read.

    Attributes:
        campaign: which one.
        most_bytes: of a form that somebody fills in.

    >>> from askance import ForcedResponse
    >>> asked = Asked("smokes", {"en": "Do you smoke?"}, ForcedResponse("2/3", "1/6"))
    >>> form = PlainForm(Campaign("small", "survey", {"en": "Small"}, ("en",), (asked,), access="open", own_die=True))
    >>> form.line(b"id=" + b"0" * 32 + b"&q0=0001").rstrip().endswith(b'"answers":{"smokes":"yes"}}')
    True
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._form = Form(campaign)
        self._answers = [_answers(question) for question in campaign.questions]
        self.most_bytes = _FORM_BYTES + _FIELD_BYTES * len(campaign.questions) + self._form.length

    def line(self, body: bytes) -> bytes:
        """The line that the script would have sent for a form; refused where something is missing."""
        fields = _fields(body)
        answers: dict[str, Any] = {}
        for i, question in enumerate(self.campaign.questions):
            codes = dict(zip(_codes(self._answers[i]), self._answers[i], strict=True))
            codes |= {_DECLINED: None} if question.may_decline else {}
            if (code := fields.get(f"q{i}")) not in codes:
                raise InputError(f"question {i + 1} has no answer.", remedy="Go back and choose one.")
            answers[question.name] = codes[code]
        try:
            id = bytes.fromhex(fields.get("id", ""))
        except ValueError:
            id = b""
        token = (
            None
            if self.campaign.access == "open"
            else fields.get("token", "").replace("-", "").replace(" ", "").lower()
        )
        line = self._form.write(id, answers, token)
        if len(id) != ID_BYTES or len(line) != self._form.length:
            raise InputError("the form is not one of this page.", remedy="Load the page again.")
        return line

    def lacks_code(self, body: bytes) -> bool:
        """Whether a form that needs a code came without one, or with a slip of the pen that no code can have."""
        return self.campaign.access == "tokens" and read_token(_fields(body).get("token")) is None

    def content(self, language: str, sent: bytes = b"") -> dict[str, Any]:
        """What the template is told. A form that was sent and not taken comes back as it was filled in, with its id."""
        campaign, fields = self.campaign, _fields(sent)
        return {
            "action": f"{plain_address(campaign)}?lang={language}",
            "id": fields.get("id") or secrets.token_hex(ID_BYTES),
            "token": fields.get("token", ""),
            "chosen": fields,
            "fill": self._fill(),
            "odds": told_odds(campaign, language),
            "needs_token": campaign.access == "tokens",
            "consent": campaign.text(campaign.consent, language),
            "declined": _DECLINED,
            "questions": [self._question(i, language) for i in range(len(campaign.questions))],
        }

    def _fill(self) -> str:
        """As much as makes the form as long as a line of the script, where it is shorter."""
        token = {} if self.campaign.access == "open" else {"token": "a" * TOKEN_LETTERS}
        codes = {f"q{i}": _DECLINED for i in range(len(self.campaign.questions))}
        empty = urlencode({"id": "0" * 2 * ID_BYTES, "fill": "", **token, **codes})
        return "0" * (self._form.length - len(empty))

    def _question(self, i: int, language: str) -> dict[str, Any]:
        question, answers = self.campaign.questions[i], self._answers[i]
        words = {
            answer: self.campaign.text(question.options.get(answer, {}), language) or str(answer) for answer in answers
        }
        choices = list(zip(_codes(answers), words.values(), strict=True))
        channel = question.channel
        parts = parts_of(channel) if isinstance(channel, FiniteChannel) else []
        text = self.campaign.text(question.texts, language)
        shared = {"name": f"q{i}", "text": text, "choices": choices, "may_decline": question.may_decline}
        is_number = isinstance(question.values, range)
        return shared | {
            "rule": self._rule(question, parts, language),
            "sides": sides_of(parts),
            "is_number": is_number,
        }

    def _rule(self, question: Asked, parts: Sequence[Part], language: str) -> list[tuple[str, Markup]]:
        """For every part of the faces, what to choose."""
        from markupsafe import Markup, escape

        if not isinstance(question.channel, FiniteChannel):
            return []
        channel, say = question.channel, texts_in(language)
        worded = [
            self.campaign.text(question.options.get(label, {}), language) or str(label)
            for label in channel.observations.labels
        ]
        truths = [
            self.campaign.text(question.options.get(label, {}), language) or str(label)
            for label in channel.outputs.labels
        ]
        quoted = Markup('<bdi><q dir="auto">{}</q></bdi>')
        last = last_faces(parts, sides_of(parts))
        lines = []
        for place, part in enumerate(parts):
            first = last[place - 1] + 1 if place else 1
            faces = str(first) if first == last[place] else f"{first}–{last[place]}"
            if len(set(part.reports)) == 1:
                meaning = escape(say["own_fixed"]).format(report=quoted.format(worded[part.reports[0]]))
            elif channel.observations.labels == channel.outputs.labels and part.reports == tuple(range(len(truths))):
                meaning = escape(say["own_true"])
            else:
                pairs = zip(truths, part.reports, strict=True)
                told = (
                    escape(say["own_turned"]).format(answer=quoted.format(truth), report=quoted.format(worded[report]))
                    for truth, report in pairs
                )
                meaning = Markup("; ").join(told)
            lines.append((faces, meaning))
        return lines


def plain_address(campaign: Campaign) -> str | None:
    """Where the form is, if people can answer all of it with dice of their own and menus."""
    is_possible = campaign.own_die and all(len(question.values) <= _MOST_LISTED for question in campaign.questions)
    return f"/v1/{campaign.name}/form" if is_possible else None


def _answers(question: Asked) -> list[Any]:
    """What can be sent, in the order of the page."""
    if isinstance(question.channel, FiniteChannel):
        return list(question.channel.observations.labels)
    return list(question.values)


def _fields(body: bytes) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(body.decode("latin-1")).items()}


def _codes(answers: Sequence[Any]) -> list[str]:
    return [f"{i:0{_DIGITS}d}" for i in range(len(answers))]
