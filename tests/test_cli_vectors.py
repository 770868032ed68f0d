"""`askance vectors`: known answers in a file, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askance.channels import ChannelEntry, build_channel, entries
from askance.formats import channel_to_toml

from .test_cli import assert_one_line, call, flags, parsed

MAPPED = [entry for entry in entries(None) if entry.channel_class.device_mapping]


@pytest.mark.parametrize("entry", MAPPED, ids=lambda entry: entry.kind)
def test_every_mapping_has_its_command(entry: ChannelEntry, tmp_path: Path) -> None:
    path = tmp_path / "vectors.json"
    outcome = parsed(call("vectors", entry.kind, *flags(entry.examples[0]), "-o", str(path), "--json"))
    content = json.loads(path.read_text(encoding="utf-8"))
    (known,) = content["channels"]
    assert outcome["vectors"] == len(known["vectors"]) > 5
    channel = entry.build(entry.examples[0])
    assert known["device"]["fingerprint"] == channel.fingerprint
    vector = known["vectors"][-1]
    found = channel.report_from_words(vector["truth"], list(map(int, vector["words"])))
    assert found == (vector["report"], vector["words_used"])


def test_all_examples_and_seeds(tmp_path: Path) -> None:
    one, same, other = (tmp_path / f"{name}.json" for name in ("one", "same", "other"))
    for path, seed in ((one, "4"), (same, "4"), (other, "5")):
        assert call("vectors", "all-examples", "-o", str(path), "--seed", seed).code == 0
    assert one.read_bytes() == same.read_bytes() != other.read_bytes()
    kinds = {known["device"]["kind"] for known in json.loads(one.read_bytes())["channels"]}
    assert kinds == {entry.kind for entry in MAPPED}


def test_a_channel_in_a_file_keeps_its_purpose(tmp_path: Path) -> None:
    channel = build_channel({"kind": "warner", "question": "2/3", "purpose": "smokes"})
    (tmp_path / "a.toml").write_text(channel_to_toml(channel), encoding="utf-8")
    assert call("vectors", "file", str(tmp_path / "a.toml"), "-o", str(tmp_path / "a.json")).code == 0
    assert json.loads((tmp_path / "a.json").read_bytes())["channels"][0]["device"]["purpose"] == "smokes"


def test_what_has_no_mapping_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('kind = "ball-release"\ndim = 3\nprivacy_level = 1\n', encoding="utf-8")
    outcome = call("vectors", "file", str(tmp_path / "a.toml"), "-o", str(tmp_path / "a.json"))
    assert_one_line(outcome, ("ball-release has no mapping in device/1",))
    assert not (tmp_path / "a.json").exists()
    assert "ball-release" not in call("vectors", "--help").out


def test_only_vectors_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "vectors.json"
    for _ in range(2):
        assert call("vectors", "warner", "--question", "2/3", "-o", str(path)).code == 0
    path.write_text('{"mine": 1}', encoding="utf-8")
    outcome = call("vectors", "warner", "--question", "2/3", "-o", str(path))
    assert_one_line(outcome, ("is there already", "no file of vectors"))
    assert path.read_text(encoding="utf-8") == '{"mine": 1}'
