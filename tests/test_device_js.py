"""`askance-device.js` gives what Python gives, bit for bit: in node, and in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from askance import CliqueRelease, PerValue, RandomizedResponse, SubsetSelection
from askance.channels import AnyChannel, device_description, permanent_words
from askance.formats.vectors import device_vectors, example_channels

from . import missing
from .browsers import started_browser
from .signals import PATIENCE

CHECK = Path(__file__).parent / "device_check.mjs"
SECRET = bytes(range(7, 39))
# Sizes beyond the examples: many labels, bits and cells, and bounds of every statistic.
LARGER: list[AnyChannel] = [
    RandomizedResponse.for_privacy_level(2, outputs=40),
    PerValue(130, 4, l1_norm=1),
    PerValue(70, 3, statistics="bounded", max_l1_norm="7/2", lower=-0.1, statistic_bound=[0.3] * 69 + [7.0]),
    SubsetSelection(200, "1/2"),
    SubsetSelection(65536, 10),
    CliqueRelease([3, 40, 2], [[0, 1], [1, 2], [2]], 1),
]


def module() -> str:
    return (files("askance.collect") / "assets" / "askance-device.js").read_text(encoding="utf-8")


@cache
def known() -> dict[str, Any]:
    """Vectors of all examples and of larger channels, permanent reports, and truths that are refused."""
    vectors = device_vectors([*example_channels(), *LARGER], seed=3)
    reports, refused = [], []
    for channel, described in zip([*example_channels(), *LARGER], vectors["channels"], strict=True):
        truth = described["vectors"][-1]["truth"]
        report, _ = channel.report_from_words(truth, permanent_words(SECRET, "né", channel.kind))
        named = {"secret": SECRET.hex(), "campaign": "né", "question": channel.kind}
        reports.append({**named, "device": described["device"], "truth": truth, "report": report})
        size = len(truth) if isinstance(truth, list) else 0
        wrong: list[Any] = ["471100", 471100, [471100] * (size + 1), [471100] * max(size, 1), None]
        refused += [{"device": described["device"], "truth": each} for each in wrong]
        refused += [{"device": described["device"], "truth": [None] * size}] if size else []
    return {**vectors, "reports": reports, "refused": refused}


def require_agreement(found: dict[str, Any]) -> None:
    assert found["wrong"] == []
    assert found["mismatches"] == 0
    vectors = sum(len(channel["vectors"]) for channel in known()["channels"])
    assert found["checked"] > vectors > 4000


# -- what is shipped ---------------------------------------------------------------------------------------------------


def test_the_module_is_part_of_the_package() -> None:
    assert 'export const FORMAT = "device/1"' in module()


def test_words_come_from_webcrypto_alone() -> None:
    code = re.sub(r"/\*.*?\*/", "", module(), flags=re.DOTALL)
    code = re.sub(r"//.*", "", code)
    assert "Math.random" not in code
    assert "Date" not in code
    assert not re.search(r"\bimport\b", code)
    assert not re.search(r"\b(fetch|XMLHttpRequest|localStorage|document|window)\b", code)


# -- known answers -----------------------------------------------------------------------------------------------------


@pytest.fixture
def node(tmp_path: Path) -> Callable[[str], str]:
    found = shutil.which("node")
    if found is None:
        missing.skip("there is no node: apt-get install nodejs")
    (tmp_path / "askance-device.mjs").write_text(module(), encoding="utf-8")
    shutil.copy(CHECK, tmp_path / CHECK.name)

    def run(script: str) -> str:
        (tmp_path / "run.mjs").write_text(
            'import * as device from "./askance-device.mjs";\n' + script, encoding="utf-8"
        )
        done = subprocess.run([found, tmp_path / "run.mjs"], capture_output=True, timeout=PATIENCE, cwd=tmp_path)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run


def test_all_vectors_in_node(node: Callable[[str], str], tmp_path: Path) -> None:
    (tmp_path / "known.json").write_text(json.dumps(known()), encoding="utf-8")
    script = """
        import { readFileSync } from "node:fs";
        import { check } from "./device_check.mjs";
        console.log(JSON.stringify(await check(device, JSON.parse(readFileSync("known.json", "utf8")))));
    """
    require_agreement(json.loads(node(script)))


def test_a_wrong_mapping_is_noticed(node: Callable[[str], str], tmp_path: Path) -> None:
    """The check can fail: with a threshold that is larger by one, and with words in another order."""
    chosen = device_vectors([RandomizedResponse("1/2", outputs=2), SubsetSelection(6, 1)])
    content = {**chosen, "reports": [], "refused": []}
    reveal = content["channels"][0]["device"]["thresholds"]
    reveal["reveal"], reveal["base"][0] = str(int(reveal["reveal"]) + 1), str(int(reveal["base"][0]) - 1)
    for vector in content["channels"][1]["vectors"]:
        vector["words"] = vector["words"][::-1]
    (tmp_path / "known.json").write_text(json.dumps(content), encoding="utf-8")
    script = """
        import { readFileSync } from "node:fs";
        import { check } from "./device_check.mjs";
        const { wrong, mismatches } = await check(device, JSON.parse(readFileSync("known.json", "utf8")));
        console.log(JSON.stringify([mismatches, wrong.map((one) => one.where)]));
    """
    mismatches, where = json.loads(node(script))
    assert mismatches > 10
    assert where[:3] == ["randomized-response", "randomized-response", "subset-selection"]


def test_numbers_where_texts_are_needed_are_refused(node: Callable[[str], str], tmp_path: Path) -> None:
    """A description whose thresholds went through a reader that rounds must not be taken."""
    channel = RandomizedResponse.for_privacy_level(1, outputs=4)
    (tmp_path / "one.json").write_text(json.dumps({**device_description(channel), "thresholds": channel.thresholds()}))
    script = """
        import { readFileSync } from "node:fs";
        const described = JSON.parse(readFileSync("one.json", "utf8"));
        try { device.randomize(described, 1); } catch (error) { console.log(error.message); }
    """
    assert "threshold is no text" in node(script)


@pytest.mark.parametrize("size", ["0", "9", "400", "x", None])
def test_a_subset_that_cannot_be_drawn_is_refused(size: str | None, node: Callable[[str], str], tmp_path: Path) -> None:
    """It was drawn for ever: a page stood still."""
    described = device_description(SubsetSelection(9, 1))
    thresholds = {**described["thresholds"], "subset_size": size}
    (tmp_path / "one.json").write_text(json.dumps({**described, "thresholds": thresholds}))
    script = """
        import { readFileSync } from "node:fs";
        const described = JSON.parse(readFileSync("one.json", "utf8"));
        for (const wrong of [described, undefined])
            try { device.randomize(wrong, 1); } catch (error) { console.log(error instanceof device.DeviceError); }
    """
    assert node(script).split() == ["true", "true"]


def test_a_campaign_in_place_of_a_channel_is_refused_with_the_way_out(
    node: Callable[[str], str], tmp_path: Path
) -> None:
    channel = device_description(RandomizedResponse.for_privacy_level(1, outputs=4))
    (tmp_path / "one.json").write_text(json.dumps({"format": "device/1", "questions": [{"channel": channel}]}))
    script = """
        import { readFileSync } from "node:fs";
        const told = JSON.parse(readFileSync("one.json", "utf8"));
        for (const wrong of [told, told.questions[0]])
            try { device.randomize(wrong, 1); } catch (error) { console.log(error.message); }
        console.log(device.randomize(told.questions[0].channel, 1) < 4);
    """
    *refused, drawn = node(script).splitlines()
    assert drawn == "true"
    assert len(refused) == 2
    assert all("of a campaign, each question has one" in message for message in refused)


@pytest.mark.integration
def test_all_vectors_in_chromium() -> None:
    served = {
        "/": ("text/html", "<!doctype html><title>check</title>"),
        "/askance-device.js": ("text/javascript", module()),
        "/device_check.mjs": ("text/javascript", CHECK.read_text(encoding="utf-8")),
        "/known.json": ("application/json", json.dumps(known())),
    }

    def answer(route: Any) -> None:
        kind, body = served["/" + route.request.url.split("/", 3)[3]]
        route.fulfill(content_type=f"{kind}; charset=utf-8", body=body)

    with started_browser() as browser:
        page = browser.new_page()
        page.route("**/*", answer)  # nothing goes beyond this process; localhost counts as secure
        page.goto("http://localhost/")
        found = page.evaluate("""async () => {
            const device = await import("/askance-device.js");
            const { check } = await import("/device_check.mjs");
            return check(device, await (await fetch("/known.json")).json());
        }""")
    require_agreement(found)
