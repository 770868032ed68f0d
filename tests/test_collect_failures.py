"""The server over real HTTP when much is sent or something fails: nothing is lost, and it goes on by itself."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from askance.collect.server.app import Collector
from askance.collect.server.limits import MOST_BYTES, Rate, Room
from askance.collect.server.replies import ROOM
from askance.collect.store import Entry, Verdict
from tests.collectors import SURVEY, TOKENS, Served, answers, collection_in, line_of, served
from tests.signals import until


def test_bodies_that_are_too_large_or_packed_are_refused(survey: Served) -> None:
    assert survey.post(b"\n" * (MOST_BYTES + 1)).status_code == 413
    pieces = (b"\n" * (1 << 20) for _ in range(9))
    assert survey.post(pieces).status_code == 413  # type: ignore[arg-type]
    assert survey.post(line_of(survey.collection), headers={"content-encoding": "gzip"}).status_code == 415


def test_large_bodies_share_one_room_and_small_ones_go_on(survey: Served) -> None:
    ingest, large = survey.collector.ingest, b"\n" * (1 << 20)
    ingest._room = Room(1 << 19)
    answer = survey.post(large)
    assert (answer.status_code, answer.headers["retry-after"], len(answer.content)) == (503, "1", ROOM)
    assert survey.verdicts(line_of(survey.collection)) == "T"
    assert ingest._room.left == 1 << 19
    ingest._room = Room(1 << 20)
    assert survey.post(large).status_code == 422
    assert ingest._room.left == 1 << 20


def test_a_body_that_comes_slowly_holds_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sender hears that nothing was stored, and sends it again; until then others had less room."""
    monkeypatch.setattr("askance.collect.server.limits._SECONDS", 0.05)
    with served(collection_in(tmp_path)) as running, socket.create_connection(address_of(running)) as slow:
        slow.sendall(b"POST /v1/exams/reports HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n" + b" " * 199_999)
        told = slow.recv(1 << 16)
        assert told.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1\r\n" in told
        room = running.collector.ingest._room
        until(lambda: room.left == Room().left)
        assert running.client.get("/healthz").status_code == 200


def address_of(running: Served) -> tuple[str, int]:
    address = running.client.base_url
    assert address.port is not None
    return address.host, address.port


def test_one_look_at_the_store_answers_all_who_ask_how_it_is(survey: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[int]()
    collector = Collector(survey.collection)
    monkeypatch.setattr(collector, "look", lambda: looks.append(1))

    async def asked() -> list[int]:
        answers = await asyncio.gather(*(collector._health(Request({"type": "http"})) for _ in range(20)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(asked()) == [200] * 20
    assert len(looks) == 2  # one for the first, and one that began after all others had asked
    collector._writer.stop()


def test_requests_of_one_connection_are_limited(survey: Served) -> None:
    survey.collector.ingest._rate = Rate(0, at_once=2)
    codes = [survey.post(line_of(survey.collection)).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


def test_plain_forms_of_one_connection_are_limited_too(tmp_path: Path) -> None:
    with served(collection_in(tmp_path, "own_die = true\n" + SURVEY)) as running:
        running.collector.ingest._rate = Rate(0, at_once=1)
        codes = [running.client.post("/v1/exams/form", content=b"").status_code for _ in range(2)]
        assert codes == [422, 429]


def test_a_full_queue_and_a_store_that_is_gone_are_503_and_it_goes_on_by_itself(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    with served(collection) as running:
        lines = [line_of(collection) for _ in range(3)]
        assert running.verdicts(lines[0]) == "T"
        place = Path(collection.address)
        away = place.with_name("away.sqlite")
        place.rename(away)
        for _ in range(3):
            answer = running.post(lines[1])
            assert (answer.status_code, answer.headers["retry-after"], len(answer.content)) == (503, "5", ROOM)
        assert running.client.get("/healthz").status_code == 503
        assert not place.exists(), "no empty store takes the place of one that was moved away"
        away.rename(place)
        assert running.verdicts(b"".join(lines)) == "KTT"
        with collection.opened() as store:
            assert store.count() == 3


def test_too_much_at_once_is_503(tmp_path: Path) -> None:
    """One entry may wait: while a first request is being written, one more waits and the others are refused."""
    collection = collection_in(tmp_path)
    with served(collection, most_waiting=1) as running:
        writer, entered, go = running.collector._writer, threading.Event(), threading.Event()
        assert running.verdicts(line_of(collection)) == "T"
        store = writer._store
        assert store is not None
        take = store.take

        def slowly(entries: Any) -> list[Verdict]:
            entered.set()
            go.wait()
            return take(entries)

        store.take = slowly  # type: ignore[method-assign]
        lines, codes = [line_of(collection) for _ in range(3)], list[int]()
        first = threading.Thread(target=lambda: codes.append(running.post(lines[0]).status_code))
        first.start()
        entered.wait()
        writer.submit([Entry(secrets.token_bytes(16), b'{"age":1}')])  # waits
        refused = running.post(lines[1])
        go.set()
        first.join()
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert codes == [200]
        assert running.verdicts(lines[1]) == "T"


def test_a_full_disk_is_503_and_nothing_is_lost(survey: Served) -> None:
    store = survey.collector._writer
    assert survey.verdicts(line_of(survey.collection)) == "T"
    inner = store._store
    assert inner is not None
    pages = inner._rows("PRAGMA page_count")[0][0]  # type: ignore[attr-defined]
    inner._rows(f"PRAGMA max_page_count = {pages}")  # type: ignore[attr-defined]
    lines = [line_of(survey.collection) for _ in range(2000)]
    body = b"".join(lines)
    assert survey.post(body).status_code == 503
    assert set(survey.verdicts(body)) == {"T"}, "a store that failed is opened anew, without the limit"
    with survey.collection.opened() as other:
        assert other.count() == 2001


def test_a_closed_campaign_takes_nothing_from_that_moment_on(survey: Served) -> None:
    """No answer is taken while the server has not looked; one that came before is acknowledged again."""
    from askance.collect.collection import CLOSED

    before = line_of(survey.collection)
    assert survey.verdicts(before) == "T"
    with survey.collection.opened() as store:
        store.set_meta(CLOSED, b"1")
    told = survey.post(line_of(survey.collection) + before).json()
    assert (told["verdicts"], told["refused"][0]["reason"]) == ("RK", "closed")


def test_a_damaged_store_is_503(survey: Served) -> None:
    """Nothing is wrong with the answer: its device must keep it."""
    assert survey.verdicts(line_of(survey.collection)) == "T"
    survey.collector._writer._close()
    place = Path(survey.collection.address)
    good = place.read_bytes()
    place.write_bytes(b"no store" * 512)
    line = line_of(survey.collection)
    assert survey.post(line).status_code == 503
    assert survey.client.get("/healthz").status_code == 503
    place.write_bytes(good)
    assert survey.verdicts(line) == "T"


def test_answers_are_not_mixed_into_a_campaign_that_was_changed_meanwhile(tmp_path: Path) -> None:
    """Somebody makes tokens for a changed file while the first version is served, and nobody has answered yet."""
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running:
        with collection.opened() as store:
            (token,) = collection.issue_tokens(store, 1)
        changed = collection_in(tmp_path, TOKENS.replace("cheated in", "cheated at"))
        with changed.opened(new=True) as store:
            changed.issue_tokens(store, 1)
        assert running.post(line_of(collection, token)).status_code == 503
        assert running.client.get("/healthz").status_code == 503
        with changed.opened() as store:
            assert store.count() == 0


def test_another_wave_is_not_mixed_in(tmp_path: Path) -> None:
    from askance.errors import IncompatibleEvidenceError

    collection = collection_in(tmp_path)
    with served(collection) as running:
        running.verdicts(line_of(collection))
    changed = collection_in(tmp_path, SURVEY.replace("cheated in", "cheated at"))
    with pytest.raises(IncompatibleEvidenceError, match="another version of 'exams'"), changed.opened():
        pass
    with collection_in(tmp_path).opened() as store:
        assert store.count() == 1


def test_an_empty_campaign_may_change(tmp_path: Path) -> None:
    for text in (SURVEY, SURVEY.replace("cheated in", "cheated at")):
        with collection_in(tmp_path, text).opened(new=True) as store:
            assert store.count() == 0


def test_nothing_of_the_server_knows_when_or_from_where(survey: Served) -> None:
    survey.verdicts(line_of(survey.collection))
    with survey.collection.opened() as store:
        ((_, window, content),) = store.entries()
    assert window == 0
    assert json.loads(content) == answers()
