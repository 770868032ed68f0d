"""Pages, headers, and the way from the link that works once to the export."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
import socket
import threading
from pathlib import Path

import httpx
import pytest

from askance.collect.device_page import assets
from askance.collect.live import BLOCK
from askance.collect.server.headers import HEADERS
from askance.collect.server.limits import Rate
from askance.collect.server.replies import ROOM
from tests.collectors import DEVICES, SURVEY, TOKENS, Served, collection_in, line_of, served
from tests.signals import PATIENCE

PASSWORD = "correct horse battery"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{ 7 * 7 }}{% raw %}'


# -- headers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/healthz", "/assets/survey.js", "/v1/exams/device", "/admin/login", "/nowhere"])
def test_every_answer_is_safe(survey: Served, path: str) -> None:
    headers = survey.client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "require-trusted-types-for 'script'" in policy
    assert ("form-action 'self'" if path.startswith("/admin") else "form-action 'none'") in policy
    own = {"Content-Security-Policy", "Referrer-Policy"}
    assert {name: headers[name] for name in HEADERS if name not in own} == {
        name: value for name, value in HEADERS.items() if name not in own
    }
    assert headers["referrer-policy"] == ("same-origin" if path.startswith("/admin") else "no-referrer")
    assert "server" not in headers
    assert "set-cookie" not in headers


def test_errors_are_answers_like_all_others(survey: Served, caplog: pytest.LogCaptureFixture) -> None:
    """With the same headers and one length; the log says where, and nothing of what was sent."""

    def fail(line: bytes, *others: object) -> None:
        raise ValueError(line.decode())

    own = str(survey.client.base_url).rstrip("/")
    line = line_of(survey.collection)
    survey.collection.form.read = fail  # type: ignore[method-assign, assignment]
    for answer, status in (
        (survey.post(line), 500),
        (survey.client.post("/admin/login", data={"password": "x" * 5000}, headers={"origin": own}), 413),
    ):
        assert (answer.status_code, len(answer.content)) == (status, ROOM)
        assert answer.headers["content-security-policy"].startswith("default-src 'none';")
        assert answer.headers["cache-control"] == "no-store"
    logged = caplog.text
    assert "ValueError" in logged
    assert "in read" in logged
    assert not any(part in logged for part in ("cheated", json.loads(line)["id"]))


def test_whoever_leaves_while_sending_is_no_error(survey: Served, caplog: pytest.LogCaptureFixture) -> None:
    port = survey.client.base_url.port
    assert port is not None
    with socket.create_connection(("127.0.0.1", port)) as leaving:
        leaving.sendall(b"POST /v1/exams/reports HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nabc")
    assert survey.verdicts(line_of(survey.collection)) == "T"
    assert caplog.text == ""


def test_the_module_can_be_loaded_by_pages_that_the_campaign_names(survey: Served) -> None:
    path = survey.client.get("/v1/exams/device").json()["module"]["path"]
    loaded = survey.client.get(path, headers={"origin": "https://pages.example"})
    assert loaded.headers["access-control-allow-origin"] == "https://pages.example"
    assert (
        "access-control-allow-origin" not in survey.client.get(path, headers={"origin": "https://evil.example"}).headers
    )


def test_only_pages_that_the_campaign_names_may_send_from_elsewhere(survey: Served) -> None:
    known, other = {"origin": "https://pages.example"}, {"origin": "https://evil.example"}
    asking = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    allowed = survey.client.options("/v1/exams/reports", headers=known | asking)
    assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "https://pages.example")
    refused = survey.client.options("/v1/exams/reports", headers=other | asking)
    assert refused.status_code == 400
    assert "access-control-allow-origin" not in refused.headers
    line = line_of(survey.collection)
    assert survey.post(line, headers=known).headers["access-control-allow-origin"] == "https://pages.example"
    assert "access-control-allow-origin" not in survey.post(line, headers=other).headers
    assert "access-control-allow-credentials" not in allowed.headers
    assert "access-control-allow-origin" not in survey.client.get("/admin/login", headers=known).headers


def test_other_names_and_methods_are_not_there(survey: Served) -> None:
    assert survey.client.post("/v1/other/reports", content=line_of(survey.collection)).status_code == 404
    assert survey.client.get("/v1/exams/reports").status_code == 405
    assert survey.client.get("/v1/exams/stretches").status_code == 404
    for path in ("/assets/../campaign.toml", "/assets/%2e%2e%2fcampaign.py", "/assets/campaign.py"):
        assert survey.client.get(path).status_code == 404


# -- what devices and respondents see ----------------------------------------------------------------------------------


def test_the_device_is_told_thresholds_as_texts(survey: Served) -> None:
    told = survey.client.get("/v1/exams/device").json()
    assert (told["format"], told["fingerprint"]) == ("device/1", survey.collection.campaign.fingerprint)
    assert told["bytes"] == survey.collection.form.length
    questions = {question["name"]: question for question in told["questions"]}
    columns = questions["cheated"]["channel"]["thresholds"]["columns"]
    assert [sum(map(int, column)) for column in columns] == [2**62, 2**62]
    assert all(isinstance(weight, str) for column in columns for weight in column)
    assert questions["often"]["channel"]["mapping"] == "reveal"
    assert len(questions["often"]["channel"]["thresholds"]["base"]) == 3
    assert questions["age"]["channel"] is None
    assert questions["age"]["range"] == [16, 105]


def test_devices_are_told_the_header_of_their_reports(tmp_path: Path) -> None:
    with served(collection_in(tmp_path, DEVICES)) as running:
        told = running.client.get("/v1/phones/device").json()
        assert [question["header"]["askance"] for question in told["questions"]] == ["reports/1"] * 2
        assert told["bytes"] == running.collection.devices.least_bytes
        assert "Phones" in running.client.get("/").text


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    text = SURVEY.replace('"Exams"', json.dumps(HOSTILE)).replace('"How old are you?"', json.dumps(HOSTILE))
    text = text.replace('["north", "south"]', json.dumps([HOSTILE, "south"]))
    with served(collection_in(tmp_path, text)) as running:
        page = running.client.get("/").text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert len(re.findall(r"<script", page)) == 2
        assert "{{ 7 * 7 }}" in page
        device = running.client.get("/v1/exams/device")
        assert device.headers["content-type"] == "application/json"
        assert running.verdicts(line_of(running.collection, region=HOSTILE)) == "T"


def test_the_page_speaks_the_language_of_the_browser(tmp_path: Path) -> None:
    text = """campaign = 1
name = "two"
kind = "survey"
title = {en = "Two", ar = "اثنان"}
languages = ["en", "ar"]
planned_n = 10
access = {kind = "open"}
[questions.q]
text = {en = "Which?", ar = "أي؟"}
options = {a = {en = "A", ar = "أ"}, b = {en = "B", ar = "ب"}}
"""
    with served(collection_in(tmp_path, text)) as running:
        arabic = running.client.get("/", headers={"accept-language": "fr, ar-EG;q=0.8"}).text
        assert '<html lang="ar" dir="rtl">' in arabic
        assert "أي؟" in arabic
        assert '<html lang="en" dir="ltr">' in running.client.get("/").text
        assert '<html lang="ar"' in running.client.get("/?lang=ar").text


def test_scripts_and_styles_are_served_as_what_they_are(survey: Served) -> None:
    assert {"survey.js", "survey.css"} <= set(assets())
    for name, (content, kind) in assets().items():
        answer = survey.client.get(f"/assets/{name}")
        assert answer.content == content
        assert answer.headers["content-type"].startswith(kind)


# -- administration ----------------------------------------------------------------------------------------------------


def _post(running: Served, path: str, origin: str | None = None, **fields: str) -> httpx.Response:
    own = str(running.client.base_url).rstrip("/")
    headers = {} if origin == "" else {"origin": origin or own}
    return running.client.post(path, data=fields, headers=headers)


def _entered(running: Served) -> httpx.Response:
    return _post(running, "/admin/enter", key=running.collector.admin.key, password=PASSWORD)


def test_the_link_works_once_and_the_password_afterwards(survey: Served) -> None:
    key = survey.collector.admin.key
    assert survey.client.get("/admin").headers["location"] == "/admin/login"
    first = survey.client.get(f"/admin/enter?key={key}").text
    assert key in first
    assert "Choose a password" in first
    assert 'action="/admin/enter"' in first
    assert _post(survey, "/admin/enter", key="wrong", password=PASSWORD).status_code == 403
    assert _post(survey, "/admin/enter", key=key, password="short").status_code == 422
    entered = _entered(survey)
    cookie = entered.headers["set-cookie"].lower()
    assert (entered.status_code, entered.headers["location"]) == (303, "/admin")
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/admin"))
    assert survey.client.get("/admin").status_code == 200
    assert _post(survey, "/admin/logout").status_code == 303
    assert survey.client.get("/admin").status_code == 303
    assert _post(survey, "/admin/enter", key=key, password=PASSWORD).status_code == 403
    for again in (key, "of-another-start", ""):  # a link that works no more says so, and asks for the password
        told = survey.client.get(f"/admin/enter?key={again}")
        assert told.status_code == 403
        assert "This link was used already" in told.text
        assert "start the server again: it prints a new link" in told.text
        assert 'action="/admin/login"' in told.text
        assert "Choose a password" not in told.text
        assert not again or again not in told.text
    assert _post(survey, "/admin/login", password="wrong").status_code == 403
    assert _post(survey, "/admin/login", password=PASSWORD).status_code == 303
    assert survey.client.get("/admin").status_code == 200
    with survey.collection.opened() as store:
        assert PASSWORD.encode() not in b"".join(store.meta().values())


def test_cookies_are_for_tls_only_where_there_is_tls(tmp_path: Path) -> None:
    with served(collection_in(tmp_path), secure=True) as running:
        assert "secure" in _entered(running).headers["set-cookie"].lower()


@pytest.mark.parametrize("origin", ["", "null", "https://evil.example", "http://127.0.0.1:1", "http://["])
def test_forms_of_other_sites_are_refused(survey: Served, origin: str) -> None:
    _entered(survey)
    for path in ("/admin/close", "/admin/logout", "/admin/login", "/admin/enter"):
        assert _post(survey, path, origin, password=PASSWORD).status_code == 403
    assert survey.client.get("/admin").status_code == 200
    assert survey.verdicts(line_of(survey.collection)) == "T"


def test_passwords_cannot_be_tried_without_end_and_nobody_locks_others_out(survey: Served) -> None:
    _entered(survey)
    survey.collector.admin._tries = Rate(0, at_once=10)  # on a busy machine tries come back before the last one is made
    codes = [_post(survey, "/admin/login", password="guess").status_code for _ in range(12)]
    assert codes == [403] * 10 + [429] * 2
    with httpx.Client(base_url=survey.client.base_url, timeout=PATIENCE, trust_env=False) as other:
        answer = other.post("/admin/login", data={"password": PASSWORD}, headers={"origin": str(other.base_url)})
        assert answer.status_code == 303


def test_passwords_are_looked_at_one_at_a_time(survey: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is looked at few others wait, and all the rest are sent away at once."""
    begun, go_on, at_once = threading.Semaphore(0), threading.Event(), list[int]()
    running = 0

    def slow(password: str, salt: bytes | None = None) -> bytes:
        nonlocal running
        running += 1
        at_once.append(running)
        begun.release()
        assert go_on.wait(PATIENCE)
        running -= 1
        return b""

    monkeypatch.setattr("askance.collect.server.admin.password_hash", slow)
    monkeypatch.setattr("askance.collect.server.admin._MOST_WAITING", 3)
    survey.collector.admin._tries = Rate(0, at_once=10)
    codes, ended = list[int](), threading.Semaphore(0)

    def guess() -> None:
        codes.append(_post(survey, "/admin/login", password="guess").status_code)
        ended.release()

    tries = [threading.Thread(target=guess) for _ in range(8)]
    for thread in tries:
        thread.start()
    assert begun.acquire(timeout=PATIENCE)
    turned_away = [ended.acquire(timeout=PATIENCE) for _ in range(5)]  # while the first is still being looked at
    go_on.set()
    for thread in tries:
        thread.join()
    assert all(turned_away)
    assert codes == [429] * 5 + [403] * 3
    assert set(at_once) == {1}


def test_sessions_end_by_themselves_and_with_a_new_password(survey: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askance.collect.server.admin.SESSION_SECONDS", 0.0)
    _entered(survey)
    assert survey.client.get("/admin").status_code == 303
    monkeypatch.setattr("askance.collect.server.admin.SESSION_SECONDS", 1e6)
    assert _post(survey, "/admin/login", password=PASSWORD).status_code == 303
    assert survey.client.get("/admin").status_code == 200
    before = f"askance_admin={survey.client.cookies['askance_admin']}"
    survey.collector.admin.key = "another link"
    assert _entered(survey).status_code == 303
    survey.client.cookies.clear()
    assert survey.client.get("/admin", headers={"cookie": before}).status_code == 303


def test_what_came_twice_is_told(survey: Served) -> None:
    _entered(survey)
    id = secrets.token_bytes(16)
    lines = [line_of(survey.collection) for _ in range(BLOCK)]
    other = [line_of(survey.collection, id=id, cheated=said) for said in ("yes", "no")]
    assert survey.verdicts(b"".join([*lines, *lines[:3], *other])) == "T" * BLOCK + "KKKTC"
    told = survey.client.get("/admin/live").json()["live"]["findings"]
    texts = {finding["kind"]: finding["text"] for finding in told}
    assert texts["duplicates"].endswith(": 3")
    assert ": 1;" in texts["conflicts"]


def test_without_a_session_nothing_is_told(survey: Served) -> None:
    for path in ("/admin", "/admin/live", "/admin/export/responses"):
        for cookie in ("", "askance_admin=", "askance_admin=guess"):
            answer = survey.client.get(path, headers={"cookie": cookie})
            assert (answer.status_code, answer.content) == (303, b"")


def test_numbers_change_in_blocks(survey: Served) -> None:
    _entered(survey)
    seen = []
    for _ in range(BLOCK + 1):
        assert survey.verdicts(line_of(survey.collection)) == "T"
        seen.append(survey.client.get("/admin/live").json())
    assert [told["n"] for told in seen] == [0] * (BLOCK - 1) + [BLOCK] * 2
    assert all(told["live"]["questions"] == {} for told in seen[: BLOCK - 1])
    assert seen[-1] == seen[-2]
    cheated = seen[-1]["live"]["questions"]["cheated"]
    assert cheated["n"] == BLOCK
    assert [share["name"] for share in cheated["shares"]] == ["no", "yes"]
    assert seen[-1]["planned_n"] == 2000


def test_from_the_link_to_the_export(survey: Served) -> None:
    _entered(survey)
    for cheated in ("yes", "no", "no"):
        survey.verdicts(line_of(survey.collection, cheated=cheated))
    page = survey.client.get("/admin").text
    assert 'href="/admin/export/responses"' in page
    rows = list(csv.DictReader(io.StringIO(survey.client.get("/admin/export/responses").text)))
    assert sorted(row["cheated"] for row in rows) == ["no", "no", "yes"]
    reports = survey.client.get("/admin/export/reports?question=cheated")
    assert reports.headers["content-disposition"] == 'attachment; filename="exams.jsonl"'
    assert len(reports.text.splitlines()) == 4
    assert survey.client.get("/admin/export/reports?question=none").status_code == 422
    assert survey.client.get("/admin/export/regions").status_code == 422
    assert survey.client.get("/admin/export/../../etc").status_code == 404
    assert _post(survey, "/admin/close").status_code == 303
    assert survey.verdicts(line_of(survey.collection)) == "R"
    assert "Take no more answers" not in survey.client.get("/admin").text


def test_tokens_are_counted(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running:
        with collection.opened() as store:
            collection.issue_tokens(store, 30)
        _entered(running)
        assert running.client.get("/admin/live").json()["tokens"] == {"issued": 30, "spent": 0}


def test_looks_between_blocks_show_no_single_answer(survey: Served) -> None:
    """Who looks for the first time in the middle of a block waits for a whole one from there."""
    for _ in range(BLOCK + 7):
        survey.verdicts(line_of(survey.collection))
    _entered(survey)
    first = survey.client.get("/admin/live").json()
    for _ in range(BLOCK - 1):
        survey.verdicts(line_of(survey.collection))
        assert survey.client.get("/admin/live").json() == first
    survey.verdicts(line_of(survey.collection))
    assert (first["n"], survey.client.get("/admin/live").json()["n"]) == (BLOCK + 7, 2 * BLOCK + 7)


def test_regressions_on_open_answers_are_told(survey: Served) -> None:
    lines = [line_of(survey.collection, cheated="yes" if i % 3 else "no", age=20 + i % 40) for i in range(400)]
    assert set(survey.verdicts(b"".join(lines))) == {"T"}
    _entered(survey)
    told = survey.client.get("/admin/live").json()["live"]
    assert any("share of 'yes' is between" in sentence for sentence in told["sentences"])
    page = survey.client.get("/admin").text
    assert "is between" in page
    assert "<b>400</b> of 2,000 planned answers" in page
    names = [coefficient["name"] for coefficient in told["questions"]["cheated"]["coefficients"]]
    assert names[:2] == ["Intercept", "age"]
