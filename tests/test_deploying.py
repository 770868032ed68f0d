"""docs/deploying.md: its very files, run by the real nginx in front of the real server, and read by systemd."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import missing
from tests.collectors import collection_in, line_of
from tests.pages import ROOT, blocks_of
from tests.signals import PATIENCE, end_by, start
from tests.test_cli_collect import certificate

pytestmark = pytest.mark.integration

_PAGE = (ROOT / "docs" / "deploying.md").read_text(encoding="utf-8")
FILES = {block.title: block.body for block in blocks_of(_PAGE) if block.title is not None}
# Ended by SIGTERM, which the unit calls a success.
STOPPED = int(FILES["askance-exams.service"].partition("SuccessExitStatus=")[2].split()[0])
# Whoever answers has an address that nothing else of the test has, so that it can be looked for.
_PERSON = "127.0.0.77"
# Around the site, as a distribution has it: with logs, which the site has to turn off for itself.
_AROUND = """daemon off;
pid nginx.pid;
error_log main.log info;
events {}
http {
    access_log http.log;
    error_log http-errors.log info;
    client_body_temp_path bodies;
    proxy_temp_path answers;
    fastcgi_temp_path others;
    uwsgi_temp_path others;
    scgi_temp_path others;
    include site.conf;
}
"""


def _replaced(text: str, old: str, new: str) -> str:
    """What differs between a machine and a test, and nothing else."""
    assert text.count(old) == 1, old
    return text.replace(old, new)


@contextmanager
def _service(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, str]]:
    """The server by the very command of the unit; its port, and the key of its administration."""
    command = re.search(r"^ExecStart=(.*)$", FILES["askance-exams.service"], re.MULTILINE)
    assert command
    said = _replaced(command[1], "/srv/askance/exams.toml", str(folder / "campaign.toml"))
    said = _replaced(said, "/var/lib/askance", str(folder))
    assert "--public-url https://collect.example.org " in said
    program, *arguments = shlex.split(_replaced(said, "--port 8000", "--port 0"))
    assert program == "/opt/askance/bin/askance"
    with start(sys.executable, "-m", "askance", *arguments) as server:
        assert server.stdout is not None
        port = re.search(rb"at https://collect\.example\.org/ .*http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
        key = re.search(rb"https://collect\.example\.org/admin/enter\?key=(\S+)", server.stdout.readline())
        assert port
        assert key
        try:
            yield server, port[1].decode(), key[1].decode()
        finally:
            code = server.poll() if server.poll() is not None else end_by(server, 15)
        assert code == STOPPED


@dataclass
class Proxied:
    """A campaign behind nginx."""

    folder: Path
    server: subprocess.Popen[bytes]
    key: str
    open: httpx.Client
    tls: httpx.Client

    def traces(self) -> list[str]:
        """Files of nginx that have the address of the person, or hold what was sent."""
        made = [path for path in (self.folder / "nginx").rglob("*") if path.is_file()]
        return [path.name for path in made if _PERSON.encode() in path.read_bytes() or path.parent.name == "bodies"]


@contextmanager
def _proxied(folder: Path) -> Iterator[Proxied]:
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        missing.skip("there is no nginx: apt-get install nginx-light")
    certificate(folder)
    inside = folder / "nginx"
    inside.mkdir()
    with ExitStack() as stack:
        server, port, key = stack.enter_context(_service(folder))
        plain, secure = (stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2))
        site = _replaced(FILES["collect.conf"], "listen 80;", f"listen 127.0.0.1:{plain.getsockname()[1]};")
        site = _replaced(site, "listen 443 ssl", f"listen 127.0.0.1:{secure.getsockname()[1]} ssl")
        site = _replaced(site, "http://127.0.0.1:8000", f"http://127.0.0.1:{port}")
        live = "/etc/letsencrypt/live/collect.example.org"
        site = _replaced(site, f"{live}/fullchain.pem", str(folder / "cert.pem"))
        site = _replaced(site, f"{live}/privkey.pem", str(folder / "key.pem"))
        (inside / "site.conf").write_text(site, encoding="utf-8")
        (inside / "nginx.conf").write_text(_AROUND, encoding="utf-8")
        # Sockets that listen already are handed over: no port is looked for that another process could take.
        sockets = [plain.fileno(), secure.fileno()]
        environment = {**os.environ, "NGINX": "".join(f"{number};" for number in sockets)}
        command = [program, "-p", str(inside), "-c", "nginx.conf", "-e", "start.log"]
        nginx = stack.enter_context(start(*command, env=environment, pass_fds=sockets))
        stack.callback(lambda: end_by(nginx, 15))
        trusted = ssl.create_default_context(cafile=str(folder / "cert.pem"))
        options: dict[str, Any] = {"timeout": PATIENCE, "headers": {"Host": "collect.example.org"}}
        clients = []
        for scheme, listening in (("http", plain), ("https", secure)):
            address = f"{scheme}://127.0.0.1:{listening.getsockname()[1]}"
            way = httpx.HTTPTransport(local_address=_PERSON, verify=trusted)
            clients.append(stack.enter_context(httpx.Client(base_url=address, transport=way, **options)))
        yield Proxied(folder, server, key, *clients)


def test_answers_come_through_the_proxy_of_the_page_and_no_address_is_written_down(tmp_path: Path) -> None:
    collection = collection_in(tmp_path)
    with _proxied(tmp_path) as site:
        moved = site.open.get("/")
        assert (moved.status_code, moved.headers["location"]) == (301, "https://collect.example.org/")

        page = site.tls.get("/")
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "max-age" in page.headers["strict-transport-security"]

        line = line_of(collection)
        for verdict in "TK":
            answer = site.tls.post("/v1/exams/reports", content=line).raise_for_status()
            assert answer.json()["verdicts"] == verdict

        spooled = (tmp_path / "nginx" / "bodies").stat().st_mtime_ns
        many = b"".join(line_of(collection) for _ in range(3000))  # half a megabyte, far beyond nginx's usual buffer
        assert set(site.tls.post("/v1/exams/reports", content=many).raise_for_status().json()["verdicts"]) == {"T"}
        assert (tmp_path / "nginx" / "bodies").stat().st_mtime_ns == spooled

        form = {"key": site.key, "password": "correct horse battery"}
        for origin, status in (("https://elsewhere.example", 403), ("https://collect.example.org", 303)):
            entered = site.tls.post("/admin/enter", data=form, headers={"Origin": origin})
            assert entered.status_code == status
        assert "secure" in entered.headers["set-cookie"].lower()

        # What nginx would write a line about, with the address in it.
        assert site.tls.post("/v1/exams/reports", content=bytes(9 << 20)).status_code == 413
        assert site.tls.get("/nowhere").status_code == 404
        assert end_by(site.server, 15) == STOPPED
        assert site.tls.get("/").status_code == 502
        assert site.traces() == []
    assert site.traces() == []
    with collection.opened() as store:
        assert store.count() == 3001


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("askance-")])
def test_systemd_reads_the_units_of_the_page(name: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze")
    for title, text in FILES.items():
        there = re.sub(r"=/opt/askance/bin/askance ", f"={sys.executable} ", text)  # what a unit starts has to exist
        (tmp_path / title).write_text(there, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", f"./{name}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_backup_of_the_page_takes_the_place_of_the_one_before_and_can_be_restored(tmp_path: Path) -> None:
    """The commands of the unit, twice, and then those of the section on restoring."""
    collection = collection_in(tmp_path)
    commands = re.findall(r"^ExecStart(?:Pre|Post)?=(.*)$", FILES["askance-backup.service"], re.MULTILINE)
    restored = re.search(r"^sudo -u askance (.* collect restore .*)$", _PAGE, re.MULTILINE)
    assert restored
    assert len(commands) == 3

    def run(command: str) -> None:
        command = command.replace("/srv/askance/exams.toml", str(tmp_path / "campaign.toml"))
        command = command.replace("/var/lib/askance", str(tmp_path))
        command = command.replace("/opt/askance/bin/askance", f"{sys.executable} -m askance")
        subprocess.run(shlex.split(command), check=True, capture_output=True, timeout=PATIENCE)

    with _service(tmp_path) as (_, port, _key):
        for _ in range(2):
            sent = httpx.post(
                f"http://127.0.0.1:{port}/v1/exams/reports", content=line_of(collection), timeout=PATIENCE
            )
            assert sent.json()["verdicts"] == "T"
            for command in commands:
                run(command)
    assert sorted(path.name for path in tmp_path.glob("*.sqlite")) == ["backup.sqlite", "exams.sqlite"]
    (tmp_path / "exams.sqlite").rename(tmp_path / "broken.bin")
    run(restored[1])
    with collection_in(tmp_path, store=str(tmp_path / "exams.sqlite")).opened() as store:
        assert store.count() == 2
