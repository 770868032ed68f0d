"""The server from a wheel, as people install it: templates, scripts and styles are in it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.collectors import SURVEY
from tests.pages import ROOT

PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import askance
from askance.collect.collection import Collection
from askance.collect.device_page import assets
from askance.collect.server.app import Collector
from starlette.testclient import TestClient
assert Path(askance.__file__).is_relative_to(sys.argv[1]), askance.__file__
with TestClient(Collector(Collection("exams.toml")).app, base_url="http://127.0.0.1") as client:
    page = client.get("/")
    assert page.status_code == 200 and "Have you ever cheated" in page.text
    assert client.get("/admin/login").status_code == 200
    assert {"survey.js", "survey.css"} <= set(assets())
    for name in assets():
        assert client.get(f"/assets/{name}").status_code == 200
    assert client.get("/v1/exams/device").json()["campaign"] == "exams"
print("served", *sorted(assets()))
"""


@pytest.mark.integration
def test_pages_are_served_from_the_installed_wheel(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="wheels are built with hatchling, which is not installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    (tmp_path / "exams.toml").write_text(SURVEY)
    command = [sys.executable, "-c", PROGRAM, str(installed)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("served ")
