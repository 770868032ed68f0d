"""`askance certify` in a pipeline: a level that may not be exceeded, and what a device needs, as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askance import PerValue, RandomizedResponse, build_channel
from askance.channels import ChannelEntry, entries
from askance.channels.device import in_text
from askance.formats import channel_to_toml
from tests.test_cli import call, flags, parsed

STATISTICS = [entry for entry in entries(None) if entry not in entries()]


@pytest.mark.parametrize(
    ("arguments", "at_most", "code"),
    [
        (("warner", "--question", "2/3"), "0.7", 0),
        (("warner", "--question", "2/3"), "0.69", 1),
        (("randomized-response", "--outputs", "4", "--privacy-level", "0.1"), "0.1", 0),
        (("randomized-response", "--outputs", "4", "--privacy-level", "1/3"), "1/3", 0),
        (("per-value", "--dim", "5", "--privacy-level", "2"), "2", 0),
        (("per-value", "--dim", "5", "--privacy-level", "2"), "1.999999999", 1),
        (("direct", "--outputs", "2"), "30", 1),
    ],
)
def test_the_exit_code_says_whether_a_level_is_kept(arguments: tuple[str, ...], at_most: str, code: int) -> None:
    """What is printed on standard output is the same; standard error has one line where the level is too large."""
    plain, limited = call("certify", *arguments), call("certify", *arguments, "--at-most", at_most)
    assert (plain.code, limited.code, limited.out) == (0, code, plain.out)
    assert limited.err.count("\n") == code
    if code:
        assert limited.err.startswith(f"askance: the privacy level of {arguments[0]} is ")
        assert limited.err.endswith(f"; allowed: at most {at_most}.\n")


@pytest.mark.parametrize("level", ["0.1", "0.3", "0.7", "1", "1.1", "2.3", "29.9"])
def test_a_level_that_was_asked_for_is_never_exceeded(level: str, tmp_path: Path) -> None:
    """Decimals lie a hair above or below their floats; a file that states a level passes at that level."""
    for channel in (RandomizedResponse.for_privacy_level(level, outputs=3), PerValue(3, level, l1_norm=1)):
        path = tmp_path / "channel.toml"
        path.write_text(channel_to_toml(channel), encoding="utf-8")
        outcome = call("certify", "file", str(path), "--at-most", level, "--json")
        assert parsed(outcome)["privacy_level"] <= float(level)


@pytest.mark.parametrize("at_most", ["0", "-1", "nan", "31", "x", "inf"])
def test_a_limit_that_is_none_is_refused(at_most: str) -> None:
    outcome = call("certify", "warner", "--question", "2/3", "--at-most", at_most)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("askance: --at-most is ")


@pytest.mark.parametrize("entry", STATISTICS, ids=lambda entry: entry.kind)
def test_channels_on_statistics_say_the_same_fields(entry: ChannelEntry) -> None:
    """Fingerprint and thresholds are there for all channels, and the channel can be built again from its part."""
    found = parsed(call("certify", entry.kind, *flags(entry.examples[0]), "--json"))
    channel = build_channel(found["channel"])
    assert found["fingerprint"] == channel.fingerprint
    assert found["thresholds"] == json.loads(json.dumps(channel.thresholds()))
    assert found["thresholds_in_text"] == in_text(channel.thresholds())
    assert found["of"] == 2**62
