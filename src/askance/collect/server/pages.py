"""Pages from templates. Texts of campaigns are escaped, wherever they stand."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from askance.collect.campaign import Campaign

_RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur", "yi", "ps", "sd", "dv"})


@cache
def _templates() -> Environment:
    return Environment(loader=PackageLoader("askance.collect"), autoescape=True, undefined=StrictUndefined)


def page(template: str, status: int = 200, **content: Any) -> Response:
    """A page."""
    return HTMLResponse(_templates().get_template(template).render(**content), status)


def language_of(campaign: Campaign, request: Request) -> str:
    """The language that is asked for by ?lang= or by the browser, of those that the campaign has."""
    wanted = [request.query_params.get("lang", "")]
    wanted += [part.partition(";")[0].strip() for part in request.headers.get("accept-language", "").split(",")]
    for code in wanted:
        for known in campaign.languages:
            if known.lower() in (code.lower(), code.lower().partition("-")[0]):
                return known
    return campaign.languages[0]


def survey_page(campaign: Campaign, request: Request) -> Response:
    """The questions of a survey on one page."""
    language = language_of(campaign, request)
    return page(
        "survey.html",
        campaign=campaign,
        language=language,
        direction="rtl" if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else "ltr",
        title=campaign.text(campaign.titles, language),
        say=lambda texts: campaign.text(texts, language),
        is_number=lambda question: isinstance(question.values, range),
    )
