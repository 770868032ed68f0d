"""What the server answers: JSON, filled up so that its length tells how many lines were sent and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from askance.collect.answers import plain_json
from askance.collect.store import Verdict
from askance.collect.submission import Refusal

#: Bytes of an answer beside the letters of its lines: room for the first reasons.
ROOM = 2048
# Characters of a reason.
_LONGEST = 240
#: A letter for every line. All but the first two were not taken.
LETTERS = {
    Verdict.TAKEN: "T",
    Verdict.KNOWN: "K",
    Verdict.CONFLICT: "C",
    Verdict.SPENT: "S",
    Verdict.FOREIGN: "F",
    Verdict.CLOSED: "R",
}
_REFUSED = "R"
_WHY = {
    Verdict.CONFLICT: "another content was stored under its id.",
    Verdict.SPENT: "its token was used already.",
    Verdict.FOREIGN: "its token was never issued.",
    Verdict.CLOSED: "the campaign takes no more answers.",
}


def reply(outcomes: Sequence[Verdict | Refusal]) -> Response:
    """What became of every line: a letter each, and the first reasons; `ROOM` bytes and one for each line.

    >>> answer = reply([Verdict.TAKEN, Refusal("malformed", "it is not JSON.")])
    >>> answer.body.rstrip().decode(), len(answer.body)
    ('{"verdicts":"TR","refused":[{"line":1,"reason":"malformed","what":"it is not JSON."}]}', 2050)
    """
    if outcomes.count(Verdict.TAKEN) == len(outcomes):  # nearly always: a thousand times without a look at each
        return _filled({"verdicts": LETTERS[Verdict.TAKEN] * len(outcomes), "refused": []}, ROOM + len(outcomes), 200)
    letters = "".join(LETTERS[o] if isinstance(o, Verdict) else _REFUSED for o in outcomes)
    refused: list[dict[str, Any]] = []
    used = 64
    for line, outcome in enumerate(outcomes):
        if isinstance(outcome, Verdict) and outcome.acknowledged:
            continue
        why = Refusal(outcome.value, _WHY[outcome]) if isinstance(outcome, Verdict) else outcome
        told = {"line": line, "reason": why.reason, "what": _cut(why.what)}
        used += len(plain_json(told).encode()) + 1
        if used > ROOM:
            break
        refused.append(told)
    return _filled({"verdicts": letters, "refused": refused}, ROOM + len(outcomes), 200)


def failure(status: int, what: str, **headers: str) -> Response:
    """Why nothing of a request was taken."""
    return _filled({"error": _cut(what)}, ROOM, status, headers)


def busy(seconds: int, what: str) -> Response:
    """Nothing was stored, and the sender is to come again."""
    return failure(503, what, **{"Retry-After": str(seconds)})


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _filled(content: Any, length: int, status: int, headers: dict[str, str] | None = None) -> Response:
    body = plain_json(content).encode().ljust(length)
    return Response(body, status, headers, media_type="application/json")
