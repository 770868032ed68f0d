"""`askance collect`: what it prints, what it refuses, and that a server which is told to stop finishes its work."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import secrets
import signal
import ssl
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from askance.collect.campaign_file import read_campaign
from askance.collect.collection import Collection
from askance.collect.store import open_store
from askance.collect.tokens import read_token
from tests.collectors import COUNTING, DEVICES, NEWS, SURVEY, TOKENS, answers, collection_in, line_of
from tests.signals import PATIENCE, end_by, start
from tests.test_cli import assert_one_line, call, parsed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("exams", SURVEY), ("tokens", TOKENS), ("phones", DEVICES), ("nouns", COUNTING)):
        (tmp_path / f"{name}.toml").write_text(text)
    (tmp_path / "news.txt").write_text(NEWS)
    return tmp_path


def _filled(collection: Collection, n: int) -> list[bytes]:
    """A store with some answers; their ids."""
    form = collection.form
    ids = [secrets.token_bytes(16) for _ in range(n)]
    with collection.opened(new=True) as store:
        entries = [
            form.read(line_of(collection, id=id, age=20 + i % 9, cheated=("yes", "no", "no")[i % 3]), b"")
            for i, id in enumerate(ids)
        ]
        store.take(entries)  # type: ignore[arg-type]
    return ids


@pytest.mark.parametrize("name", ["exams", "tokens", "phones", "nouns"])
def test_check_prints_what_it_found(folder: Path, name: str) -> None:
    told = parsed(call("collect", "check", f"{name}.toml", "--json"))
    assert told["bytes"] > 0
    printed = call("collect", "check", f"{name}.toml").out
    assert told["fingerprint"] in re.sub(r"\s", "", printed)  # none of it is cut off


def test_mistakes_in_a_campaign_are_one_line(folder: Path) -> None:
    (folder / "exams.toml").write_text(SURVEY.replace("planned_n = 2000", "planned_n = 0"))
    assert_one_line(call("collect", "check", "exams.toml"), ("exams.toml, line 6: planned_n: it is 0",))


@pytest.mark.parametrize("ending", ["csv", "html"])
def test_tokens_are_written_once_and_kept_as_hashes(folder: Path, ending: str) -> None:
    told = parsed(call("collect", "tokens", "tokens.toml", "--count", "5", "-o", f"t.{ending}", "--json"))
    assert told["tokens"] == 5
    assert told["links_to"] == "http://127.0.0.1:8000/"
    text = (folder / f"t.{ending}").read_text()
    tokens = set(re.findall(r"(?<![a-z0-9])(?:[a-z2-7]{5}-){5}[a-z2-7]|(?<![a-z0-9#])[a-z2-7]{26}(?=,)", text))
    assert len(tokens) == 5
    assert os.stat(folder / f"t.{ending}").st_mode & 0o077 == 0
    with open_store(folder / "exams.sqlite") as store:
        assert store.token_count() == (5, 0)
        kept = Path(folder / "exams.sqlite").read_bytes()
    for token in tokens:
        assert (read_token(token) or b"no token") not in kept
    assert_one_line(call("collect", "tokens", "tokens.toml", "-o", f"t.{ending}"), ("is there already",))
    assert_one_line(
        call("collect", "tokens", "phones.toml", "-o", "other.csv"), ("it has no tokens. Devices need none",)
    )


@pytest.mark.parametrize(
    "link", ["survey.example", "localhost:8000", "ftp://survey.example/", "https://", "https://a.b/#c", "https://a b/"]
)
def test_slips_have_links_that_open(folder: Path, link: str) -> None:
    refused = call("collect", "tokens", "tokens.toml", "--link", link, "-o", "t.csv")
    assert_one_line(refused, (f"--link is {link};", "Write https://"))
    assert not (folder / "exams.sqlite").exists()  # no token was made
    assert "this machine alone" in call("collect", "tokens", "tokens.toml", "-o", "t.csv").out
    public = call("collect", "tokens", "tokens.toml", "--link", "https://survey.example/", "-o", "u.csv")
    assert "this machine alone" not in public.out
    assert "https://survey.example/#" in (folder / "u.csv").read_text()


def test_from_answers_to_a_fit(folder: Path) -> None:
    _filled(Collection("exams.toml"), 30)
    assert parsed(call("collect", "export", "exams.toml", "-o", "answers.csv", "--json"))["rows"] == 30
    assert call("fit", "answers.csv", "--codebook", "exams.toml", "--formula", "cheated ~ age").code == 0
    plan = call(
        "plan",
        "survey",
        "--codebook",
        "exams.toml",
        "--question",
        "cheated",
        "--prevalence",
        "0.2",
        "--respondents",
        "900",
    )
    assert plan.code == 0
    assert call("collect", "export", "exams.toml", "--question", "often", "-o", "often.state").code == 0
    assert call("estimate", "often.state").code == 0
    assert_one_line(call("collect", "export", "exams.toml", "-o", "reports.jsonl"), ("--question is missing",))
    assert_one_line(call("collect", "export", "exams.toml", "--as", "regions", "-o", "r.jsonl"), ("--as is regions",))
    assert_one_line(call("collect", "export", "phones.toml", "-o", "answers.csv"), ("nothing was collected",))


def test_windows_that_are_there_are_exported_and_deleted(folder: Path) -> None:
    collection = Collection("phones.toml")
    lines = [f'{{"id":"{i:032x}","channel":"TAG","answer":"once"}}' for i in range(3)]
    tag = collection.campaign.by_name["crashed"].channel.fingerprint[:16]  # type: ignore[union-attr]
    with collection.opened(new=True) as store:
        body = collection.devices.write("crashed", [line.replace("TAG", tag) for line in lines])
        store.take(collection.devices.read(body, 41))  # type: ignore[arg-type]
    asked = ("collect", "export", "phones.toml", "--question", "crashed")
    assert parsed(call(*asked, "--window", "41", "-o", "one.state", "--json"))["rows"] == 3
    assert_one_line(call(*asked, "--window", "40", "-o", "none.state"), ("--window is 40; allowed: 41",))
    assert not (folder / "none.state").exists()
    deleted = [call("collect", "delete", "phones.toml", "--before-window", str(w), "--json") for w in (41, 42)]
    assert [parsed(told) for told in deleted] == [{"deleted": n, "withdrawn": 0} for n in (0, 3)]
    _filled(Collection("exams.toml"), 1)
    assert_one_line(call("collect", "export", "exams.toml", "--window", "0", "-o", "a.csv"), ("has no windows",))


@pytest.mark.parametrize("name", ["phones", "nouns"])
def test_only_surveys_have_a_page_of_their_own(folder: Path, name: str) -> None:
    assert_one_line(call("collect", "page", f"{name}.toml", "-o", "page.html"), ("allowed: a survey",))
    assert not (folder / "page.html").exists()


def test_backup_restore_delete_and_close(folder: Path) -> None:
    ids = _filled(Collection("exams.toml"), 5)
    assert parsed(call("collect", "backup", "exams.toml", "-o", "noon.sqlite", "--json"))["answers"] == 5
    told = parsed(call("collect", "delete", "exams.toml", "--id", ids[0].hex(), "--id", ids[1].hex(), "--json"))
    assert told == {"deleted": 2, "withdrawn": 2}
    assert parsed(call("collect", "delete", "exams.toml", "--id", ids[0].hex(), "--json")) == {
        "deleted": 0,
        "withdrawn": 2,
    }
    with Collection("exams.toml").opened() as store:
        assert store.tallies()["cheated", 0].n == 3
    restored = call("collect", "restore", "exams.toml", "--from", "noon.sqlite", "--store", "new.sqlite", "--json")
    assert parsed(restored)["answers"] == 5
    again = call("collect", "restore", "exams.toml", "--from", "noon.sqlite", "--store", "new.sqlite")
    assert_one_line(again, ("new.sqlite: the store to be filled has a campaign already",))
    assert "noon.sqlite" not in again.err, "nothing is wrong with the backup"
    assert parsed(call("collect", "close", "exams.toml", "--json")) == {"closed": True, "answers": 3}
    assert_one_line(call("collect", "delete", "exams.toml"), ("nothing is said to be deleted",))
    windows = call("collect", "delete", "exams.toml", "--before-window", "3")
    assert_one_line(windows, ("--before-window is 3, and a campaign of kind 'survey' has no windows",))
    assert parsed(call("collect", "close", "exams.toml", "--json"))["answers"] == 3
    assert_one_line(call("collect", "delete", "exams.toml", "--id", "short"), ("--id is",))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_nothing_listens_beyond_this_machine_without_tls(folder: Path, host: str) -> None:
    assert_one_line(call("collect", "exams.toml", "--host", host), ("beyond this machine, without TLS",))
    assert not (folder / "exams.sqlite").exists()
    assert_one_line(call("collect", "exams.toml", "--tls-cert", "cert.pem"), ("allowed: both, or none",))


@pytest.mark.parametrize(
    "address", ["http://a.example", "https://a.example/x", "https://", "collect.example.org", "https://a:b"]
)
def test_an_address_that_people_cannot_follow_is_refused(folder: Path, address: str) -> None:
    assert_one_line(
        call("collect", "exams.toml", "--behind-proxy", "--public-url", address),
        (f"--public-url is {address};", "https, and a host"),
    )
    assert_one_line(
        call("collect", "exams.toml", "--public-url", "https://a.example"), ("--public-url is given, but nobody",)
    )
    assert not (folder / "exams.sqlite").exists()


def certificate(folder: Path) -> None:
    """A certificate of 127.0.0.1 that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 7, start, end, [])
    signed = builder.add_extension(address, critical=False).sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(key.private_bytes(*form))


def test_what_is_no_certificate_is_refused_before_anything_is_served(folder: Path) -> None:
    certificate(folder)
    (folder / "junk.pem").write_text("junk")
    (folder / "other").mkdir()
    certificate(folder / "other")
    for cert, key in (("junk.pem", "junk.pem"), ("cert.pem", "junk.pem"), ("cert.pem", "other/key.pem")):
        refused = call("collect", "exams.toml", "--port", "0", "--tls-cert", cert, "--tls-key", key)
        assert_one_line(refused, ("are no certificate with its key",))
    assert not (folder / "exams.sqlite").exists()


def test_passwords_of_databases_are_not_printed(folder: Path) -> None:
    place = "postgresql://ask:s3cret@127.0.0.1:1/none?password=0ther"
    for command in (["export", "-o", "x.csv"], ["tokens", "-o", "x.csv"], ["close"]):
        refused = call("collect", command[0], "exams.toml", *command[1:], "--store", place)
        assert refused.code != 0
        assert not any(secret in refused.out + refused.err for secret in ("s3cret", "0ther"))


def test_tls_is_spoken_where_a_certificate_is_given(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    certificate(tmp_path)
    command = [sys.executable, "-m", "askance", "collect", str(tmp_path / "campaign.toml"), "--port", "0"]
    with start(*command, "--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem") as server:
        assert server.stdout is not None
        address = re.search(r"https://\S+", server.stdout.readline().decode())
        link = re.search(r"https://\S+key=(\S+)", server.stdout.readline().decode())
        assert address
        assert link
        trusted = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        with httpx.Client(base_url=address[0], timeout=PATIENCE, trust_env=False, verify=trusted) as client:
            assert client.post("/v1/exams/reports", content=line_of(collection)).json()["verdicts"] == "T"
            fields = {"key": link[1], "password": "correct horse battery"}
            entered = client.post("/admin/enter", data=fields, headers={"origin": address[0].rstrip("/")})
            assert "secure" in entered.headers["set-cookie"].lower()
        end_by(server, signal.SIGTERM)


def test_a_server_that_is_told_to_stop_has_written_what_it_acknowledged(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    command = [sys.executable, "-m", "askance", "collect", str(tmp_path / "campaign.toml"), "--port", "0"]
    with start(*command) as server:
        _used(server, collection)
    with collection.opened() as store:
        assert store.count() == 100
        assert {json.loads(content)["age"] for _, _, content in store.entries()} == {answers()["age"]}
    assert not list(tmp_path.glob("*.sqlite-wal"))


def _used(server: subprocess.Popen[bytes], collection: Collection) -> None:
    """Answers are sent to a server, which is then told to stop."""
    assert server.stdout is not None
    address = re.search(r"http://\S+", server.stdout.readline().decode())
    link = re.search(r"http://\S+", server.stdout.readline().decode())
    assert address
    assert link
    with httpx.Client(base_url=address[0], timeout=PATIENCE, trust_env=False) as client:
        for _ in range(5):
            body = b"".join(line_of(collection) for _ in range(20))
            assert client.post("/v1/exams/reports", content=body).json()["verdicts"] == "T" * 20
        assert client.get(link[0]).status_code == 200
    assert end_by(server, signal.SIGTERM) in (0, 128 + signal.SIGTERM)
    assert server.stderr is not None
    assert server.stderr.read() == b""


@pytest.mark.parametrize("kind", ["survey", "devices", "counting"])
def test_new_campaigns_work_as_they_are(kind: str, tmp_path: Path) -> None:
    path, text = tmp_path / "My First.toml", tmp_path / "words" / "news.txt"
    text.parent.mkdir()
    text.write_text("the dog barks\na cat sleeps on the mat\n")
    more = ["--text", str(text)] if kind == "counting" else []
    assert call("collect", "new", kind, *more, "-o", str(path)).code == 0
    assert read_campaign(path).name == "my-first"
    assert call("collect", "check", str(path)).code == 0
    again = call("collect", "new", kind, *more, "-o", str(path))
    assert again.code == 2
    assert "not replaced" in again.err


def test_what_to_type_next_can_be_copied_where_names_have_blanks(folder: Path) -> None:
    made = call("collect", "new", "survey", "-o", "my first.toml")
    assert "askance collect 'my first.toml' --preview\n" in made.out


def test_a_store_that_is_none_is_named(folder: Path) -> None:
    for command in ("serve", "export"):
        wrong = call(
            "collect", command, "exams.toml", "--store", "exams.toml", *(["-o", "a.csv"] * (command == "export"))
        )
        assert_one_line(wrong, ("exams.toml: this is no SQLite file",))


def test_only_counting_campaigns_have_a_text(tmp_path: Path) -> None:
    for arguments in (["counting"], ["survey", "--text", "news.txt"]):
        outcome = call("collect", "new", *arguments, "-o", str(tmp_path / "new.toml"))
        assert outcome.code == 2
        assert "--text" in outcome.err
    assert not (tmp_path / "new.toml").exists()


def test_refusals_are_in_words_of_the_command_line(folder: Path) -> None:
    """No names of Python's arguments, no place twice, and a misspelt kind is guessed."""
    assert_one_line(
        call("collect", "new", "surveys", "-o", "new.toml"), ("KIND is 'surveys'", "Did you mean 'survey'?")
    )
    assert_one_line(
        call("collect", "rehearse", "exams.toml", "-o", "r.txt"), ("-o is r.txt; allowed: ", ".csv or .parq")
    )
    serve = ("collect", "serve", "exams.toml")
    assert_one_line(call(*serve, "--host", "0.0.0.0"), ("Give --tls-cert and --tls-key, or say --behind-proxy",))
    assert_one_line(call(*serve, "--tls-cert", "a.pem"), ("one of --tls-cert and --tls-key is given",))
    assert_one_line(call(*serve, "--public-url", "https://x.example"), ("Say --behind-proxy", "--tls-cert"))
    restored = call("collect", "restore", "exams.toml", "--from", "noon.sqlite")
    assert_one_line(restored, ("cannot read noon.sqlite",))
    assert restored.err.count("noon.sqlite") == 1
    assert not list(folder.glob("*.sqlite"))
