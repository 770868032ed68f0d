"""The page of a survey before a browser has it: texts, escaping, digests, dice, and the plain form."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest

from askance import Crosswise, ForcedResponse, RandomizedResponse, Warner
from askance.channels.finite import FiniteChannel
from askance.collect.campaign import Asked, Campaign
from askance.collect.campaign_file import read_campaign
from askance.collect.device_page import assets
from askance.collect.dice import last_faces, parts_of, sides_of
from askance.collect.pages.odds import stated_factor, told_odds
from askance.collect.pages.plain_form import PlainForm
from askance.collect.pages.survey_page import survey_file, survey_page
from askance.collect.pages.texts import page_texts
from askance.errors import AskanceError, InputError
from askance.formats.vectors import example_channels

from .collectors import SURVEY, TOKENS, collection_in, served
from .test_cli import call, parsed

MOST_BYTES = 60_000
HOSTILE = '"></script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\u202e&quot;{{ 7 * 7 }}{factor}\u2028'
LANGUAGES = ("en", "de", "es", "ar")


def campaign_of(*questions: Asked, **options: Any) -> Campaign:
    return Campaign("small", "survey", {"en": "Small"}, ("en",), questions, **{"access": "open", **options})


def data_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="survey">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def cheated(texts: dict[str, str] | None = None) -> Asked:
    return Asked("cheated", texts or {"en": "Did you cheat?"}, ForcedResponse("2/3", "1/6"))


def test_the_page_is_packed_on_the_wire(tmp_path: Path) -> None:
    """Who takes gzip gets it, always the same bytes; who does not gets the same page."""
    with served(collection_in(tmp_path)) as running:
        packed = [running.client.get("/", headers={"Accept-Encoding": "gzip"}) for _ in range(2)]
        plain = running.client.get("/", headers={"Accept-Encoding": "identity"})
    assert packed[0].headers["content-encoding"] == "gzip"
    assert len({answer.headers["content-length"] for answer in packed}) == 1
    assert int(packed[0].headers["content-length"]) < MOST_BYTES / 2
    assert "content-encoding" not in plain.headers
    assert plain.text == packed[0].text
    assert plain.headers["content-security-policy"] == packed[0].headers["content-security-policy"]


# -- texts -------------------------------------------------------------------------------------------------------------


def test_every_language_says_everything() -> None:
    texts = page_texts()
    assert set(texts) == set(LANGUAGES)
    for language in texts:
        assert texts[language].keys() == texts["en"].keys()
        for key, text in texts[language].items():
            assert text.strip() == text != ""
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", texts["en"][key])), (language, key)


def test_the_script_says_nothing_that_is_not_in_the_file() -> None:
    script = "".join(assets()[name][0].decode() for name in ("survey.js", "chance.js", "page.js"))
    known = page_texts()["en"].keys()
    assert set(re.findall(r'say\("([a-z_]+)"', script)) <= known
    built = {"was_fixed", "was_own", "was_turned", "spent_title", "closed_title", "refused_title"}
    outside = {"script", "script_own", "script_title"}  # where there is no script
    assert known - set(re.findall(r'"([a-z_]+)"', script)) == built | outside


def test_a_campaign_in_another_language_gets_english_buttons() -> None:
    asked = Asked("q", {"fr": "Fumez-vous ?"}, Warner("2/3"))
    campaign = Campaign("small", "survey", {"fr": "Petite"}, ("fr",), (asked,), access="open")
    html = survey_page(campaign).html
    assert '<html lang="fr" dir="ltr">' in html
    assert data_of(html)["strings"].keys() == {"en"}


# -- what is inside ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_small(language: str) -> None:
    texts = dict.fromkeys(LANGUAGES, "How often did you do this in the last twelve months?")
    questions = tuple(Asked(f"question{i}", texts, ForcedResponse("2/3", "1/6")) for i in range(5))
    everything: dict[str, Any] = {"access": "tokens", "own_die": True, "comprehension_check": True, "consent": texts}
    campaign = Campaign("small", "survey", texts, LANGUAGES, questions, **everything)
    assert len(survey_page(campaign, language).html.encode()) <= MOST_BYTES


def digests(html: str, element: str) -> list[str]:
    bodies = re.findall(rf"<{element}>(.*?)</", html, re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(b.encode()).digest()).decode()}'" for b in bodies]


def test_the_policy_names_the_very_bytes() -> None:
    page = survey_page(campaign_of(cheated()))
    (script,) = digests(page.html, 'script type="module"')
    (style,) = digests(page.html, "style")
    assert f"script-src {script};" in page.policy
    assert f"style-src {style};" in page.policy
    assert "default-src 'none';" in page.policy
    assert "form-action 'none';" in page.policy
    assert page.html.count("<script") == 2
    assert set(re.findall(r"https?://[^\"'\s]*", page.html)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<[^>]* (?:src|on\w+|style)=", page.html)


def test_hostile_texts_stay_texts() -> None:
    region = Asked("region", {"en": HOSTILE}, options={HOSTILE: {"en": HOSTILE}}, values=(HOSTILE, "south"))
    questions = (cheated({"en": HOSTILE}), region)
    options: dict[str, Any] = {"access": "open", "consent": {"en": HOSTILE}, "own_die": True}
    campaign = Campaign("hostile", "survey", {"en": HOSTILE}, ("en",), questions, **options)
    page = survey_page(campaign)
    assert page.html.count("<script") == page.html.count("</script>") == 2
    assert "<img" not in page.html
    data = data_of(page.html)
    assert data["titles"]["en"] == data["consent"]["en"] == data["questions"][1]["options"][0]["label"] == HOSTILE
    assert digests(page.html, 'script type="module"')[0] in page.policy


def test_the_factor_is_that_of_all_questions_together() -> None:
    questions = [Asked(f"q{i}", {"en": "?"}, ForcedResponse("2/3", "1/6")) for i in range(3)]
    assert data_of(survey_page(campaign_of(questions[0])).html)["factor"] == 5
    assert data_of(survey_page(campaign_of(*questions)).html)["factor"] == 125
    age = Asked("age", {"en": "Age?"}, values=range(16, 99))
    assert data_of(survey_page(campaign_of(questions[0], age)).html)["factor"] == 5


@pytest.mark.parametrize("ratio", [Fraction(5), Fraction(10, 3), Fraction(271828, 100000), Fraction(12345, 7)])
def test_stated_factors_are_never_below(ratio: Fraction) -> None:
    assert ratio <= Fraction(repr(stated_factor(ratio))) < ratio + Fraction(1, 100)


def test_no_text_says_how_sure_anybody_can_be() -> None:
    odds = [texts[key] for texts in page_texts().values() for key in ("odds_one", "odds_all")]
    assert all(text.count("{factor}") == 2 and "1" in text for text in odds)


def test_odds_of_asymmetric_designs_are_the_worst_of_their_reports() -> None:
    """Who answers yes is sent 2/3 + 1/12 of the time as yes, who answers no 1/12: nine times. For no it is 11/3."""
    asked = Asked("cheated", {"en": "Did you cheat?"}, ForcedResponse("2/3", "1/12"))
    assert data_of(survey_page(campaign_of(asked)).html)["factor"] == 9
    form = PlainForm(campaign_of(asked, own_die=True)).content("en")
    assert form["odds"] == page_texts()["en"]["odds_one"].format(factor=9)
    three = Asked("often", {"en": "?"}, RandomizedResponse("1/2", outputs=["never", "once", "I prefer not to say"]))
    assert data_of(survey_page(campaign_of(asked, three)).html)["factor"] == 36
    assert PlainForm(campaign_of(asked, three)).content("es")["odds"] == page_texts()["es"]["odds_all"].format(
        count=2, factor=36
    )
    assert "3,34" in told_odds(campaign_of(Asked("q", {"en": "?"}, Warner(Fraction(10, 13)))), "de")


def test_a_campaign_without_a_bound_has_no_page() -> None:
    asked = Asked("q", {"en": "?"}, Warner("1"))
    with pytest.raises(InputError, match="some report to q excludes an answer"):
        survey_page(campaign_of(asked))


# -- dice --------------------------------------------------------------------------------------------------------------

FINITE = [channel for channel in example_channels() if isinstance(channel, FiniteChannel)]


@pytest.mark.parametrize("channel", FINITE, ids=lambda channel: channel.kind)
def test_parts_are_the_draw(channel: FiniteChannel) -> None:
    parts = parts_of(channel)
    ends = [part.until for part in parts]
    assert ends == sorted(set(ends))
    assert ends[-1] == 1 << 62
    rng = np.random.default_rng(5)
    numbers = {0, *(end - 1 for end in ends), *ends[:-1], *rng.integers(0, 1 << 62, 50).tolist()}
    for number in numbers:
        part = next(part for part in parts if number < part.until)
        drawn = [channel.report_from_words(truth, [4 * number + 3])[0] for truth in channel.outputs.labels]
        assert [channel.observations.labels[report] for report in part.reports] == drawn


def test_dice_have_whole_faces() -> None:
    for channel in (
        ForcedResponse("3/4", "1/8"),
        Warner("0.7"),
        Crosswise("1/4"),
        RandomizedResponse("1/2", outputs=5),
    ):
        parts = parts_of(channel)
        sides = sides_of(parts)
        faces = last_faces(parts, sides)
        assert faces[-1] == sides > 0
        assert faces == sorted(set(faces))


def test_designs_without_a_die_cannot_be_rolled_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text("own_die = true\n" + SURVEY.replace('truth = "2/3"', 'truth = "0.66667"'))
    with pytest.raises(AskanceError, match="line 1: own_die: the probabilities of 'cheated' are on no die") as refused:
        read_campaign(path)
    assert "2/3 and 1/6" in str(refused.value)


# -- one file ----------------------------------------------------------------------------------------------------------


def test_the_file_sends_to_its_server_only(tmp_path: Path) -> None:
    texts = dict.fromkeys(LANGUAGES, "Small")
    campaign = Campaign("small", "survey", texts, LANGUAGES, (cheated(texts),), access="open", own_die=True)
    html = survey_file(campaign, "https://collect.example.org/ignored?x")
    data = data_of(html)
    assert data["address"] == "https://collect.example.org/v1/small/reports"
    assert set(data["strings"]) == set(LANGUAGES)
    assert "connect-src https://collect.example.org; form-action &#39;none&#39;" in html
    assert "<form" not in html
    for wrong in ("collect.example.org", "ftp://a", "https://a; script-src *", "https://"):
        with pytest.raises(InputError, match="server"):
            survey_file(campaign, wrong)


def test_the_command_writes_the_page_and_says_its_digest(tmp_path: Path) -> None:
    (tmp_path / "campaign.toml").write_text(SURVEY)
    page = tmp_path / "survey.html"
    asked = ("collect", "page", str(tmp_path / "campaign.toml"), "--server", "https://a.example")
    told = parsed(call(*asked, "-o", str(page), "--json"))
    assert told["sha256"] == hashlib.sha256(page.read_bytes()).hexdigest()


# -- without a script --------------------------------------------------------------------------------------------------


def fields(token: str = "", **changed: str) -> dict[str, str]:
    choices = {"q0": "0001", "q1": "0002", "q2": "0018", "q3": "0000"}
    return {"id": secrets.token_hex(16), **({"token": token} if token else {}), **choices, **changed}


def test_without_a_script_and_own_dice_nothing_is_asked() -> None:
    html = survey_page(campaign_of(cheated())).html
    assert page_texts()["en"]["script"] in html
    assert "<form" not in html


def test_a_plain_form_is_taken_once(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, "own_die = true\n" + TOKENS)
    with served(collection) as running:
        with collection.opened() as store:
            token, other = collection.issue_tokens(store, 2)
        assert 'href="/v1/exams/form?lang=en"' in running.client.get("/").text
        asked = running.client.get("/v1/exams/form")
        assert "form-action 'self'" in asked.headers["content-security-policy"]
        assert len(re.findall('type="radio"', asked.text)) == 2 + 3 + 3
        sent = fields(token.upper())
        for _ in range(2):  # a page that is loaded again sends the same
            answer = running.client.post("/v1/exams/form", data=sent)
            assert answer.status_code == 200
            assert sent["id"] in answer.text
        spent = running.client.post("/v1/exams/form", data=fields(token))
        assert page_texts()["en"]["spent"] in spent.text
        assert page_texts()["en"]["foreign"] in running.client.post("/v1/exams/form", data=fields("a" * 26)).text
        assert running.client.post("/v1/exams/form", data=fields(other, q0="7")).status_code == 422
        assert running.client.post("/v1/exams/form", data=fields(other, q0="1" * 9999)).status_code == 413
        assert running.client.post("/v1/exams/form", data=fields(other, id="x")).status_code == 422
        with collection.opened() as store:
            ((_, _, content),) = store.entries()
        assert json.loads(content) == {"cheated": "yes", "often": "very often", "age": 34, "region": "north"}


@pytest.mark.parametrize(
    ("code", "told"), [("hello", "code_wrong"), ("a" * 25 + "b", "code_wrong"), ("a" * 26, "foreign")]
)
def test_a_plain_form_with_a_wrong_code_comes_back_filled_in(tmp_path: Path, code: str, told: str) -> None:
    """Who had to choose anew would roll anew, and could keep the roll that pleases."""
    with served(collection_in(tmp_path, "own_die = true\n" + TOKENS)) as running:
        sent = fields(code, q3="xxxx")
        answer = running.client.post("/v1/exams/form?lang=en", data=sent)
        assert escape(page_texts()["en"][told]) in answer.text
        assert "form-action 'self'" in answer.headers["content-security-policy"]
        assert filled_in(answer.text) == sent


def test_a_plain_form_that_the_store_did_not_take_comes_back_filled_in(tmp_path: Path) -> None:
    """Without a script nothing is kept on the device: that it is sent later by itself is not to be promised."""
    collection = collection_in(tmp_path, "own_die = true\n" + SURVEY)
    with served(collection) as running:
        place = Path(collection.address)
        away = place.with_name("away.sqlite")
        place.rename(away)
        sent = fields()
        answer = running.client.post("/v1/exams/form", data=sent)
        assert answer.status_code == 503
        assert page_texts()["en"]["waiting_memory"] in answer.text
        assert page_texts()["en"]["waiting"] not in answer.text
        assert filled_in(answer.text) == sent
        away.rename(place)
        again = running.client.post("/v1/exams/form", data=filled_in(answer.text))
        assert "Thank you" in again.text


def filled_in(page: str) -> dict[str, str]:
    """What a browser would send of a form as it came."""
    texts = re.findall(r'<input [^>]*name="(id|token)" value="([^"]*)"', page)
    choices = re.findall(r'<input [^>]*name="(\w+)"[^>]*value="(\w+)" checked', page)
    menus = re.findall(r'<select name="(\w+)".*?value="(\w+)" selected', page, flags=re.DOTALL)
    return dict(texts + choices + menus)


def test_who_comes_too_late_is_told_before_answering(tmp_path: Path) -> None:
    with served(collection_in(tmp_path, "own_die = true\n" + SURVEY)) as running:
        running.close()
        for place in ("/", "/v1/exams/form"):
            assert page_texts()["en"]["closed"] in running.client.get(place).text


def test_a_campaign_without_own_dice_takes_no_form(tmp_path: Path) -> None:
    with served(collection_in(tmp_path)) as running:
        assert running.client.post("/v1/exams/form", data=fields()).status_code == 404


def test_plain_forms_have_one_length(tmp_path: Path) -> None:
    campaign = collection_in(tmp_path, "own_die = true\n" + SURVEY).campaign
    form = PlainForm(campaign)
    content = form.content("en")
    choices = [[code for code, _ in question["choices"]] for question in content["questions"]]
    assert [len(codes) for codes in choices] == [2, 3, 90, 2]
    assert {len(code) for codes in choices for code in codes} == {len(content["declined"])} == {4}
    sent = {"id": "0" * 32, "fill": content["fill"], **{f"q{i}": codes[0] for i, codes in enumerate(choices)}}
    assert len(urlencode(sent)) == collection_in(tmp_path, "own_die = true\n" + SURVEY).form.length
    line = form.line("&".join(f"{name}={value}" for name, value in fields(q3=content["declined"]).items()).encode())
    assert json.loads(line)["answers"]["region"] is None


def test_the_rule_says_what_to_choose() -> None:
    campaign = campaign_of(cheated(), own_die=True)
    (question,) = PlainForm(campaign).content("en")["questions"]
    assert question["sides"] == 6
    assert [(faces, re.sub("<.*?>", "'", str(text)).replace("''", "'")) for faces, text in question["rule"]] == [
        ("1", "choose 'no'"),
        ("2–5", "choose your true answer"),
        ("6", "choose 'yes'"),
    ]
