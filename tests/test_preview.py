"""A campaign that is being written: pages follow the file, mistakes stand on the page with their line."""

from __future__ import annotations

import json
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from askance.collect.server.preview import Preview
from askance.collect.server.serve import configuration
from askance.collect.toml_lines import TomlFile
from askance.formats.toml_file import PlacedError
from tests.collectors import COUNTING, DEVICES, NEWS, SURVEY, TOKENS
from tests.signals import PATIENCE, end_by, start
from tests.test_cli import assert_one_line, call

NOTE = "Preview: answers are thrown away."


@contextmanager
def previewed(path: Path) -> Iterator[httpx.Client]:
    """A campaign file, served in a thread to whoever writes it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(configuration(Preview(path)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with httpx.Client(base_url=address, timeout=PATIENCE, trust_env=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join()


def written(folder: Path, text: str) -> Path:
    (folder / "news.txt").write_text(NEWS)
    path = folder / "campaign.toml"
    path.write_text(text, encoding="utf-8")
    return path


def line(client: httpx.Client, token: str, campaign: str = "exams") -> bytes:
    """What somebody sends to the campaign as it is served now."""
    told = client.get(f"/v1/{campaign}/device").json()
    answers = {"cheated": "yes", "often": "once", "age": 34, "region": None}
    said = {"campaign": told["fingerprint"][:16], "id": "0" * 32, "token": token, "answers": answers}
    return json.dumps(said, separators=(",", ":")).encode().ljust(told["bytes"] - 1) + b"\n"


@pytest.mark.parametrize("text", [SURVEY, TOKENS], ids=["open", "tokens"])
def test_whoever_begins_is_somebody_new_and_nothing_is_kept(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with previewed(path) as client:
        tokens = {client.get("/preview").headers["location"].removeprefix("/#") for _ in range(2)}
        assert len(tokens) == 2
        for number, token in enumerate(tokens):
            body = line(client, token).replace(b"0" * 32, f"{number:032x}".encode())
            assert client.post("/v1/exams/reports", content=body).json()["verdicts"] == "T"
        assert client.get("/admin").status_code == 200  # no password: there is nothing to protect
    assert sorted(file.name for file in tmp_path.iterdir()) == ["campaign.toml", "news.txt"]


def test_every_page_says_that_it_is_a_preview(tmp_path: Path) -> None:
    path = written(tmp_path, "own_die = true\n" + SURVEY)
    with previewed(path) as client:
        for place in ("/", "/admin", "/admin/login", "/v1/exams/form", "/nowhere"):
            answer = client.get(place)
            assert answer.text.count(NOTE) == 1
            assert int(answer.headers["content-length"]) == len(answer.content)
            assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        client.get("/v1/exams/device").json()
        assert NOTE not in client.get("/assets/survey.css").text
        path.write_text("campaign = 2\n")
        assert NOTE in client.get("/").text


@pytest.mark.parametrize(
    ("text", "says"), [(DEVICES, "/v1/phones/device"), (COUNTING, "")], ids=["devices", "counting"]
)
def test_other_kinds_have_a_preview(tmp_path: Path, text: str, says: str) -> None:
    with previewed(written(tmp_path, text)) as client:
        begun = client.get("/preview")
        assert begun.status_code == 303
        page = client.get(begun.headers["location"])
        assert NOTE in page.text
        assert says in page.text
        assert client.get("/admin").status_code == 200


WRONG = {
    "a key": (SURVEY.replace("planned_n", "planed_n"), 6, "planed_n: there is no such key"),
    "a value": (SURVEY.replace('truth = "2/3"', 'truth = "4/3"'), 14, "questions.cheated.design"),
    "no TOML": (SURVEY.replace('kind = "survey"', "kind = survey"), 3, "is not TOML"),
    "the end": (SURVEY + '\n[questions.more]\ntext = """', SURVEY.count("\n") + 3, "is not TOML"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_stands_on_the_page_with_its_line_until_it_is_mended(tmp_path: Path, kind: str) -> None:
    text, number, what = WRONG[kind]
    path = written(tmp_path, SURVEY)
    with previewed(path) as client:
        before = client.get("/").text
        path.write_text(text)
        for place in ("/", "/preview", "/admin"):
            wrong = client.get(place)
            assert wrong.status_code == 503
            assert "The campaign file is wrong" in wrong.text
            assert what in wrong.text
            (marked,) = re.findall(r'<li value="(\d+)"><code><mark>', wrong.text)
            assert int(marked) == number
            assert f"← line {number}" in wrong.text
        assert client.post("/v1/exams/reports", content=b"x").json() == {"error": "the campaign file is wrong."}
        path.write_text(SURVEY)
        assert client.get("/").text == before


def test_pages_follow_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, SURVEY)
    with previewed(path) as client:
        token = client.get("/preview").headers["location"].removeprefix("/#")
        body = line(client, token)
        path.write_text(SURVEY.replace("How old are you?", "What is your age?"))
        assert "What is your age?" in client.get("/").text
        verdict = client.post("/v1/exams/reports", content=body).json()
        assert verdict["refused"][0]["reason"] == "another wave"
        assert client.post("/v1/exams/reports", content=line(client, token)).json()["verdicts"] == "T"


def test_a_text_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    path = written(tmp_path, COUNTING)
    (tmp_path / "news.txt").unlink()
    with previewed(path) as client:
        assert "news.txt" in client.get("/").text
        (tmp_path / "news.txt").write_text("one two\n")
        assert client.get("/v1/nouns/stretches").json()["stretches"]
        (tmp_path / "news.txt").write_text("three four five six\n")
        assert "six" in client.get("/v1/nouns/stretches").text


def test_hostile_mistakes_stay_texts(tmp_path: Path) -> None:
    path = written(tmp_path, SURVEY + '"<img src=x onerror=alert(1)>\u202e" = """</code><script>alert(2)</script>"""\n')
    with previewed(path) as client:
        page = client.get("/").text
        assert "<img" not in page
        assert "<script" not in page
        assert "&lt;script&gt;alert(2)" in page
        path.write_bytes(b"\xff\xfe broken")
        assert client.get("/").status_code == 503
        path.unlink()
        assert client.get("/").status_code == 503


def test_lines_of_what_is_no_toml(tmp_path: Path) -> None:
    for text, number in (("a = 1\nb =\n", 2), ("a = 1\n\nb = [1,\n", 4), ("a = 1\na = 2\n", 2)):
        path = tmp_path / "x.toml"
        path.write_text(text)
        with pytest.raises(PlacedError, match="is not TOML") as wrong:
            TomlFile(path)
        assert wrong.value.line == number


def test_the_command_prints_a_link_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "askance collect first.toml --preview\n" in call("collect", "new", "survey", "-o", "first.toml").out
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "askance", "collect", str(tmp_path / "first.toml"), "--preview", "--port", "0"]
    with start(*command) as server:
        assert server.stdout is not None
        link = re.search(r"http://\S+/preview", server.stdout.readline().decode())
        assert link
        with httpx.Client(timeout=PATIENCE, trust_env=False, follow_redirects=True) as client:
            assert NOTE in client.get(link[0]).text
        assert [*(tmp_path / "temporary").iterdir()]
        assert end_by(server, signal.SIGTERM) in (0, 128 + signal.SIGTERM)
        assert server.stderr is not None
        assert server.stderr.read() == b""
    assert not [*(tmp_path / "temporary").iterdir()]
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["first.toml"]


def test_a_preview_is_for_this_machine(tmp_path: Path) -> None:
    path = str(written(tmp_path, SURVEY))
    for more in (["--host", "0.0.0.0"], ["--behind-proxy"], ["--store", "kept.sqlite"]):
        assert_one_line(call("collect", path, "--preview", *more), ("--preview is given with",))
