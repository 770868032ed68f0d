"""The server over real HTTP: what is sent is stored once, answered in one length, and comes out as it went in."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askance import Tally, estimate, load, regress
from askance.channels.finite import FiniteChannel
from askance.collect.campaign_file import read_study
from askance.collect.export import export, tally_of
from askance.collect.server.replies import ROOM, reply
from askance.collect.store import Entry
from askance.collect.submission import Refusal
from askance.errors import IncompatibleEvidenceError
from askance.formats import aggregate, read_reports, write_reports
from askance.formats.report_schema import report_line
from askance.formats.states import read_states
from askance.models import Enumerated
from askance.survey import read_table
from tests.collectors import COUNTING, DEVICES, SURVEY, TOKENS, Served, answers, collection_in, line_of, served


@pytest.fixture
def devices(tmp_path: Path) -> Iterator[Served]:
    with served(collection_in(tmp_path, DEVICES)) as running:
        yield running


# -- what becomes of a line --------------------------------------------------------------------------------------------


def test_the_same_again_is_known_and_another_content_is_refused(survey: Served) -> None:
    id = secrets.token_bytes(16)
    line = line_of(survey.collection, id=id)
    assert [survey.verdicts(line) for _ in range(3)] == ["T", "K", "K"]
    told = survey.post(line_of(survey.collection, id=id, cheated="no")).json()
    assert told["verdicts"] == "C"
    assert told["refused"] == [{"line": 0, "reason": "conflict", "what": "another content was stored under its id."}]
    with survey.collection.opened() as store:
        assert store.count() == 1
        assert store.tallies()["cheated", 0].sums.tolist() == [0, 1]


def test_fields_in_another_order_and_with_blanks_are_the_same_content(survey: Served) -> None:
    line = line_of(survey.collection)
    content = json.loads(line)
    content["answers"] = dict(reversed(content["answers"].items()))
    spaced = json.dumps(content).encode().ljust(len(line) - 1) + b"\n"
    assert len(spaced) == len(line)
    assert survey.verdicts(line + spaced) == "TK"


def test_a_token_lets_one_person_answer_once(tmp_path: Path) -> None:
    collection = collection_in(tmp_path, TOKENS)
    with served(collection) as running:
        with collection.opened() as store:
            first, second = collection.issue_tokens(store, 2)
        line = line_of(collection, first)
        assert running.verdicts(line) == "T"
        assert running.verdicts(line) == "K"
        assert running.verdicts(line_of(collection, first)) == "S"
        assert running.verdicts(line_of(collection, second)) == "T"
        assert running.verdicts(line_of(collection, "a" * 26)) == "F"
        told = running.post(line_of(collection, "nonsense")).json()
        assert told["refused"][0]["reason"] == "no token"
        assert "nonsense" not in told["refused"][0]["what"]
        with collection.opened() as store:
            assert store.token_count() == (2, 2)


@pytest.mark.parametrize(
    ("change", "reason", "what"),
    [
        (lambda content: content | {"campaign": "0" * 16}, "another wave", "its campaign is '0000000000000000'"),
        (lambda content: content | {"id": "ab"}, "malformed", "its id is 'ab'"),
        (lambda content: content | {"id": 7}, "malformed", "its id is 7"),
        (lambda content: content | {"token": "a" * 26}, "malformed", "it has a token"),
        (lambda content: content | {"time": 1}, "malformed", "it has fields"),
        (lambda content: content | {"answers": {}}, "malformed", "allowed: all of cheated, often, age, region"),
        (lambda content: content | {"answers": answers(cheated="Yes")}, "malformed", "answer 'cheated' is 'Yes'"),
        (lambda content: content | {"answers": answers(cheated=None)}, "malformed", "is None; allowed: 'no', 'yes'"),
        (lambda content: content | {"answers": answers(age=15)}, "malformed", "a whole number, 16 to 105"),
        (lambda content: content | {"answers": answers(age=True)}, "malformed", "a whole number, 16 to 105"),
        (lambda content: content | {"answers": answers(age=34.0)}, "malformed", "a whole number, 16 to 105"),
        (lambda content: content | {"answers": answers(region=["north"])}, "malformed", "answer 'region' is ['north']"),
        (lambda content: [content], "malformed", "allowed: an object"),
    ],
)
def test_bad_lines_are_refused_one_by_one(survey: Served, change: Any, reason: str, what: str) -> None:
    good, size = line_of(survey.collection), survey.collection.form.length
    bad = json.dumps(change(json.loads(good)), separators=(",", ":")).encode().ljust(size - 1) + b"\n"
    told = survey.post(good + bad).json()
    assert told["verdicts"] == "TR"
    assert (told["refused"][0]["line"], told["refused"][0]["reason"]) == (1, reason)
    assert what in told["refused"][0]["what"]


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 150, b'{"a":NaN}', b'{"id":"","id":""}', b""])
def test_what_is_no_json_is_refused(survey: Served, text: bytes) -> None:
    size = survey.collection.form.length
    assert survey.verdicts(text.ljust(size - 1) + b"\n") == "R"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"\xff", "no UTF-8"),
        (b'{"a":NaN}', "NaN is none of its numbers"),
        (b'{"id":"","id":""}', "a field appears twice"),
    ],
)
def test_what_is_no_json_is_told_why(survey: Served, text: bytes, why: str) -> None:
    told = survey.post(text.ljust(survey.collection.form.length - 1) + b"\n").json()
    assert told["refused"][0]["what"] == f"it is not JSON ({why})."


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)
COUNT = {"stretch": 0, "counts": [1, 0], "seconds": 2.5, "replaces": None}


@pytest.mark.parametrize("text", [SURVEY, COUNTING], ids=["survey", "counting"])
@given(data=st.data())
def test_whatever_json_stands_in_a_line_is_taken_or_refused(
    text: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A line that fails in another way would fail all others that are sent with it."""
    form = collection_in(tmp_path_factory.mktemp("campaign"), text).form
    content = answers() if text == SURVEY else dict(COUNT)
    line = json.loads(form.write(bytes(16), content, None))
    inner = line["answers" if text == SURVEY else "count"]
    place = data.draw(st.sampled_from([line, inner]))
    place[data.draw(st.sampled_from(list(place)))] = data.draw(ANYTHING)
    read = form.read(json.dumps(line).encode(), bytes(32))
    assert isinstance(read, (Entry, Refusal))
    if isinstance(read, Refusal):
        assert len(reply([read]).body) == ROOM + 1


@given(data=st.data())
def test_whatever_json_stands_in_a_report_is_taken_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    collection = collection_in(tmp_path_factory.mktemp("campaign"), DEVICES)
    name = data.draw(st.sampled_from(["crashed", "features"]))
    channel: Any = collection.campaign.by_name[name].channel
    line = json.loads(report_line(channel, "once" if name == "crashed" else [0] * 5, "ab" * 16))
    line[data.draw(st.sampled_from([*line, "more"]))] = data.draw(ANYTHING)
    for lines in ([json.dumps(line)], [report_line(channel, "once" if name == "crashed" else [0] * 5, "cd" * 16)] * 70):
        read = collection.devices.read(collection.devices.write(name, [*lines, json.dumps(line)]), 0)
        assert len(read) == len(lines) + 1
        assert all(isinstance(one, (Entry, Refusal)) for one in read)


# -- lengths -----------------------------------------------------------------------------------------------------------


def test_bodies_and_answers_have_one_length_whatever_the_answers_are(survey: Served) -> None:
    readers = survey.collection.form.readers.values()
    lines, lengths = set(), set()
    for values in product(*(reader.examples() for reader in readers)):
        line = line_of(survey.collection, **dict(zip(survey.collection.campaign.by_name, values, strict=True)))
        answer = survey.post(line)
        assert answer.json()["verdicts"] == "T"
        lines.add(len(line))
        lengths.add((len(answer.content), len(answer.headers), sum(map(len, answer.headers.values()))))
    assert lines == {survey.collection.form.length}
    assert len(lengths) == 1
    refused = survey.post(line_of(survey.collection, cheated="no", age=0))
    assert len(refused.content) == ROOM + 1


@pytest.mark.parametrize("change", [-1, 1])
def test_other_lengths_are_refused_with_the_length_that_is_wanted(survey: Served, change: int) -> None:
    line = line_of(survey.collection).rstrip()
    answer = survey.post(line.ljust(survey.collection.form.length - 1 + change) + b"\n")
    assert answer.status_code == 422
    assert f"lines of {survey.collection.form.length} bytes" in answer.json()["error"]
    assert survey.post(b"").status_code == 422


def test_a_report_of_a_device_has_one_length_whatever_it_says(devices: Served) -> None:
    reader, campaign = devices.collection.devices, devices.collection.campaign
    channel = campaign.by_name["crashed"].channel
    assert isinstance(channel, FiniteChannel)
    bodies, lengths = set(), set()
    for label in channel.observations.labels:
        line = report_line(channel, "once", secrets.token_hex(16))
        content = json.loads(line) | {"answer": label}
        body = reader.write("crashed", [json.dumps(content, separators=(",", ":"))])
        answer = devices.post(body)
        assert answer.json()["verdicts"] == "T"
        bodies.add(len(body))
        lengths.add(len(answer.content))
    assert bodies == {reader.least_bytes}
    assert lengths == {ROOM + 1}
    short = devices.post(body.rstrip() + b"\n")
    assert short.status_code == 422
    assert f"{reader.least_bytes:,} at least" in short.json()["error"]


# -- round trips -------------------------------------------------------------------------------------------------------


def _drawn(collection: Any, n: int, seed: int) -> list[dict[str, Any]]:
    """What n simulated people send."""
    rng, campaign = np.random.default_rng(seed), collection.campaign
    age = rng.integers(16, 106, n)
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(-(age - 60) / 20)), "yes", "no")
    cheated = campaign.by_name["cheated"].channel.simulate(truth, rng)
    often = campaign.by_name["often"].channel.simulate(rng.choice(["never", "once", "very often"], n), rng)
    region = [None if row < 0.1 else "north" if row < 0.5 else "south" for row in rng.random(n)]
    rows = zip(cheated.tolist(), often.tolist(), age.tolist(), region, strict=True)
    return [dict(zip(("cheated", "often", "age", "region"), row, strict=True)) for row in rows]


def test_a_survey_comes_out_as_it_was_drawn(survey: Served, tmp_path: Path) -> None:
    collection, drawn = survey.collection, _drawn(survey.collection, 600, 1)
    lines = [line_of(collection, **row) for row in drawn]
    for start in range(0, len(lines), 100):
        assert survey.verdicts(b"".join(lines[start : start + 100])) == "T" * 100
    campaign = collection.campaign
    with collection.opened() as store:
        for name in ("cheated", "often"):
            channel = campaign.by_name[name].channel
            assert isinstance(channel, FiniteChannel)
            expected = Tally(channel).add([row[name] for row in drawn])
            assert tally_of(campaign.by_name[name], store) == expected
            export(campaign, store, tmp_path / f"{name}.jsonl", question=name)
            export(campaign, store, tmp_path / f"{name}.state", question=name)
            assert aggregate([tmp_path / f"{name}.jsonl"]).evidence == expected
            assert load(tmp_path / f"{name}.state") == expected
            with pytest.raises(
                IncompatibleEvidenceError, match=r"\.state: the reports of files in it are in .*\.jsonl"
            ):
                aggregate([tmp_path / f"{name}.jsonl", tmp_path / f"{name}.state"])
        written = [export(campaign, store, tmp_path / f"answers.{ending}") for ending in ("csv", "parquet")]
    assert written == [(600, [tmp_path / "answers.csv"]), (600, [tmp_path / "answers.parquet"])]
    model = Enumerated.saturated(["no", "yes"])
    from_state = estimate(model, read_states(tmp_path / "cheated.state"))
    said = [row["cheated"] for row in drawn]
    channel = campaign.by_name["cheated"].channel
    assert isinstance(channel, FiniteChannel)
    assert from_state.theta.tolist() == estimate(model, Tally(channel).add(said)).theta.tolist()
    codebook = read_study(tmp_path / "campaign.toml")
    direct = regress(
        "cheated ~ age", {"cheated": said, "age": [row["age"] for row in drawn]}, codebook.design("cheated")
    )
    for ending in ("csv", "parquet"):
        table = read_table(tmp_path / f"answers.{ending}")
        fit = regress("cheated ~ age", table, codebook)
        np.testing.assert_allclose(fit.theta, direct.theta, rtol=1e-9)  # rows stand in another order
        regions = [
            None if gap else value for value, gap in zip(table["region"].values, table["region"].missing, strict=True)
        ]
        assert sorted(map(str, regions)) == sorted(str(row["region"]) for row in drawn)


def test_split_files_have_each_row_once(survey: Served, tmp_path: Path) -> None:
    collection = survey.collection
    drawn = _drawn(collection, 50, 2)
    survey.verdicts(b"".join(line_of(collection, **row) for row in drawn))
    with collection.opened() as store:
        _, tables = export(collection.campaign, store, tmp_path / "a.csv", split=3)
        _, reports = export(collection.campaign, store, tmp_path / "r.jsonl", question="often", split=3)
    rows = [row for path in tables for row in path.read_text().splitlines()[1:]]
    assert len(rows) == len(set(rows)) == 50
    assert sorted(str(label) for path in reports for label in np.asarray(read_reports(path))) == sorted(
        r["often"] for r in drawn
    )


def test_reports_of_devices_come_out_as_they_were_drawn(
    devices: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, rng = devices.collection, np.random.default_rng(3)
    campaign, reader = collection.campaign, collection.devices
    crashed, features = (campaign.by_name[name].channel for name in ("crashed", "features"))
    assert isinstance(crashed, FiniteChannel)
    assert features is not None
    labels = crashed.simulate(rng.choice(["never", "once", "often"], 300), rng)
    bits = features.simulate(rng.integers(0, 2, (200, 5)), rng)
    ids = [secrets.token_hex(16) for _ in range(300)]
    write_reports(tmp_path / "crashed.jsonl", labels, channel=crashed, ids=ids)
    write_reports(tmp_path / "features.parquet", bits, ids=ids[:200][::-1])
    body = (tmp_path / "crashed.jsonl").read_bytes()
    assert devices.verdicts(body) == "T" * 300
    assert devices.verdicts(body) == "K" * 300
    parquet = (tmp_path / "features.parquet").read_bytes()
    assert devices.verdicts(parquet) == "C" * 200, "ids are of the campaign, not of the question"
    write_reports(tmp_path / "features.parquet", bits, ids=[secrets.token_hex(16) for _ in range(200)])
    assert devices.verdicts((tmp_path / "features.parquet").read_bytes()) == "T" * 200
    with collection.opened() as store:
        assert tally_of(campaign.by_name["crashed"], store) == Tally(crashed).add(labels)
        assert tally_of(campaign.by_name["features"], store) == Tally(features).add(bits)
        assert {window for _, window in store.tallies()} == {collection.window()}
        for name in ("crashed", "features"):
            for ending in ("jsonl", "parquet"):
                path = tmp_path / f"out-{name}.{ending}"
                export(campaign, store, path, question=name)
                assert aggregate([path]).evidence == tally_of(campaign.by_name[name], store)
                state = tmp_path / f"out-{name}.state"
                for hashed in (16, 1 << 16):  # of more reports the first alone are looked at
                    monkeypatch.setattr("askance.formats.source_digests.HASHED", hashed)
                    monkeypatch.setattr("askance.collect.export.HASHED", hashed)
                    export(campaign, store, state, question=name, window=collection.window())
                    for twice in ([path, state], [state, path]):
                        with pytest.raises(IncompatibleEvidenceError, match="would count twice"):
                            aggregate(twice)
        removed = [id for id, _, _ in store.entries()][:7]
        assert store.delete(removed, reader.sums_of) == 7
        assert store.count() == 493


def test_bad_reports_of_devices_are_refused_by_their_lines(devices: Served) -> None:
    channel = devices.collection.campaign.by_name["features"].channel
    other = devices.collection.campaign.by_name["crashed"].channel
    assert channel is not None
    assert other is not None
    ids = [secrets.token_hex(16) for _ in range(4)]
    good = report_line(channel, [0, 1, 0, 0, 1], ids[0])
    lines = [good, report_line(other, "once", ids[1]), "{", report_line(channel, [1] * 5), good]
    lines.append(json.dumps(json.loads(report_line(channel, [1] * 5, ids[2])) | {"bits": "ff"}))
    told = devices.post(devices.collection.devices.write("features", lines)).json()
    assert told["verdicts"] == "TRRRKR"
    assert [refused["reason"] for refused in told["refused"]] == ["another channel", *["malformed"] * 3]


def test_more_reports_than_a_body_can_have_ids_are_not_read(devices: Served, tmp_path: Path) -> None:
    """A few bytes of Parquet hold millions of the same report, and a body has room for millions of lines that are none.

    Each would keep the server from everybody else for as long as it takes to read them.
    """
    crashed = devices.collection.campaign.by_name["crashed"].channel
    assert isinstance(crashed, FiniteChannel)
    write_reports(tmp_path / "same.parquet", ["once"] * 5000, channel=crashed, ids=["ab" * 16] * 5000)
    packed = (tmp_path / "same.parquet").read_bytes()
    body = devices.collection.devices.write("crashed", ["1"] * 100_001)
    for large, n, most in ((packed, 5000, len(packed) // 16), (body, 100_001, len(body) // 16)):
        answer = devices.post(large)
        assert answer.status_code == 422
        assert f"the body holds {n:,} reports; allowed: {min(most, 100_000):,}" in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{}", b"PAR1" + bytes(100), b'{"askance":"reports/1"}\n'.ljust(4096)])
def test_what_is_no_file_of_reports_is_refused(devices: Served, body: bytes) -> None:
    assert devices.post(body).status_code == 422


def test_what_is_sent_again_in_the_next_window_is_known(devices: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = devices.collection.campaign.by_name["crashed"].channel
    assert channel is not None
    body = devices.collection.devices.write("crashed", [report_line(channel, "once", secrets.token_hex(16))])
    now = devices.collection.window()
    monkeypatch.setattr(devices.collection, "window", lambda: now)
    assert devices.verdicts(body) == "T"
    monkeypatch.setattr(devices.collection, "window", lambda: now + 1)
    assert devices.verdicts(body) == "K"
    with devices.collection.opened() as store:
        assert store.count() == 1


def test_counts_come_out_as_regions(tmp_path: Path) -> None:
    from askance.text import read_regions

    collection = collection_in(tmp_path, COUNTING)
    with served(collection) as running:
        with collection.opened() as store:
            (ann,) = collection.issue_tokens(store, 1)
        running.client.get("/healthz").raise_for_status()  # the server looks who counts
        form, first = collection.form, secrets.token_bytes(16)
        count = {"stretch": 0, "counts": [1, 0], "seconds": 2.75, "replaces": None}
        assert running.verdicts(form.write(first, count, ann)) == "T"
        again = {**count, "counts": [0, 1], "replaces": first.hex()}
        assert running.verdicts(form.write(secrets.token_bytes(16), again, ann)) == "T"
        assert running.verdicts(form.write(secrets.token_bytes(16), {**count, "stretch": 1}, ann)) == "T"
        for wrong in ({"stretch": 4}, {"counts": [4, 0]}, {"counts": [1]}, {"seconds": -1}, {"replaces": "ab"}):
            assert running.verdicts(form.write(secrets.token_bytes(16), {**count, **wrong}, ann)) == "R"
        assert running.post(form.write(first, count, "a" * 26)).json()["refused"][0]["reason"] == "foreign"
        stretches = running.client.get("/v1/nouns/stretches").json()
        assert stretches["stretches"][0] == ["the", "dog"]
        with collection.opened() as store:
            assert export(collection.campaign, store, tmp_path / "counts.jsonl")[0] == 2
            contents = [content for _, _, content in store.entries()]
    regions = read_regions(tmp_path / "counts.jsonl").regions
    assert regions.tagset == ("NOUN", "OTHER", "VERB")
    assert sorted(str(regions.region(i).counts) for i in range(2)) == [
        "{'NOUN': 0, 'VERB': 1}",
        "{'NOUN': 1}",
    ]
    assert len(regions.annotators) == 1
    assert all(b'"seconds":2.7' in content for content in contents), "durations, in tenths, and no times"
