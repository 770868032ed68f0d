"""Pages from templates. Texts of campaigns are escaped, wherever they stand."""

from __future__ import annotations

import gzip
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from askance.collect.campaign import Campaign
from askance.collect.pages.counting_page import counting_page
from askance.collect.pages.plain_form import PlainForm
from askance.collect.pages.survey_page import survey_page
from askance.collect.pages.templates import rendered
from askance.collect.pages.texts import is_right_to_left, texts_in
from askance.collect.server.headers import FORM_POLICY
from askance.collect.server.ingest import Ingest
from askance.collect.server.limits import BodyTooLargeError, body_of
from askance.collect.store import Verdict
from askance.errors import AskanceError, InputError


def page(template: str, status: int = 200, **content: Any) -> Response:
    """A page."""
    return HTMLResponse(rendered(template, **content), status)


def language_of(campaign: Campaign, request: Request) -> str:
    """The language that is asked for by ?lang= or by the browser, of those that the campaign has."""
    wanted = [request.query_params.get("lang", "")]
    wanted += [part.partition(";")[0].strip() for part in request.headers.get("accept-language", "").split(",")]
    for code in wanted:
        for known in campaign.languages:
            if known.lower() in (code.lower(), code.lower().partition("-")[0]):
                return known
    return campaign.languages[0]


def home_page(campaign: Campaign, request: Request) -> Response:
    """The page of a survey or for counting, with a policy of its own: it names the digests of script and style."""
    make = survey_page if campaign.kind == "survey" else counting_page
    made = make(campaign, language_of(campaign, request))
    headers = {"Content-Security-Policy": f"{made.policy}; frame-ancestors 'none'", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return HTMLResponse(made.html, headers=headers)
    # The same for everybody, with nothing secret in it: packed, it has a length that tells nothing.
    packed = gzip.compress(made.html.encode(), mtime=0)
    return HTMLResponse(packed, headers={**headers, "Content-Encoding": "gzip"})


def closed_page(campaign: Campaign, request: Request) -> Response:
    """What people see who come too late."""
    language = language_of(campaign, request)
    say = texts_in(language, campaign.kind)
    return _in_language("plain_reply.html", language, title=say["closed_title"], text=say["closed"], receipt="")


def plain_page(campaign: Campaign, request: Request) -> Response:
    """GET /v1/{campaign}/form: the survey for somebody without a script, who rolls and chooses."""
    return _plain_form(PlainForm(campaign), language_of(campaign, request))


def _plain_form(form: PlainForm, language: str, status: int = 200, sent: bytes = b"", **problem: str) -> Response:
    campaign = form.campaign
    told = {"title": campaign.text(campaign.titles, language), "form": form.content(language, sent), **problem}
    made = _in_language("plain_form.html", language, status, **told)
    made.headers["Content-Security-Policy"] = FORM_POLICY
    return made


def _in_language(template: str, language: str, status: int = 200, **content: Any) -> Response:
    direction = "rtl" if is_right_to_left(language) else "ltr"
    return page(template, status, language=language, direction=direction, say=texts_in(language), **content)


async def plain_answer(campaign: Campaign, ingest: Ingest, request: Request) -> Response:
    """POST /v1/{campaign}/form: what somebody without a script rolled and chose.

    Nothing is kept on the device. So the form comes back filled in where its code is wrong or the store does not
    answer: who had to choose anew would roll anew.
    """
    ingest.limit(request)
    form, language = PlainForm(campaign), language_of(campaign, request)
    say = texts_in(language)
    key, receipt, what, status = "refused", "", "", 200
    sent = b""
    try:
        sent = await body_of(request, form.most_bytes)
        if form.lacks_code(sent):
            return _plain_form(form, language, 422, sent, problem=say["wrong"], remedy=say["code_wrong"])
        line = form.line(sent)
        outcome = (await ingest.settled(line))[0]
        if isinstance(outcome, Verdict):
            keys = {Verdict.SPENT: "spent", Verdict.FOREIGN: "foreign", Verdict.CLOSED: "closed"}
            key, what = "done" if outcome.acknowledged else keys.get(outcome, "refused"), outcome.value
            receipt = line.partition(b'"id":"')[2][:32].decode() if outcome.acknowledged else ""
        else:
            what = outcome.what
    except BodyTooLargeError:
        what, status = "the form is too large.", 413
    except InputError as error:
        what, status = str(error), 422
    except AskanceError:  # the store is gone, or too much waits: the same form can be sent again
        return _plain_form(form, language, 503, sent, problem=say["waiting_title"], remedy=say["waiting_memory"])
    if key == "foreign":
        return _plain_form(form, language, status, sent, problem=say["foreign_title"], remedy=say["foreign"])
    text = say["receipt_note"] if key == "done" else say[key].format(reason=what)
    return _in_language("plain_reply.html", language, status, title=say[f"{key}_title"], text=text, receipt=receipt)
