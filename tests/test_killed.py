"""Commands that are killed in the middle, as by a machine that fails: what was there before is whole."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from askance import RandomizedResponse, Tally, load
from askance.formats import write_reports

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL needs Linux or macOS"),
]

CHANNEL = RandomizedResponse("1/2", outputs=["no", "yes"])
KILLS = 12


def write_day(path: Path, people: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    write_reports(path, CHANNEL.simulate(rng.choice(["no", "yes"], people), rng), channel=CHANNEL)
    return path


def start_aggregate(reports: Path, state: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "askance", "aggregate", str(reports), "-o", str(state)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_killed_aggregate_leaves_the_last_state_whole(tmp_path: Path) -> None:
    """Killed at twelve moments from its start to its end: the state is Monday's or Tuesday's, never a part of one."""
    state = tmp_path / "day.state"
    monday, tuesday = write_day(tmp_path / "1.jsonl", 1_000, 1), write_day(tmp_path / "2.jsonl", 200_000, 2)
    assert start_aggregate(monday, state).wait() == 0
    before = state.read_bytes()
    begun = time.perf_counter()
    assert start_aggregate(tuesday, tmp_path / "other.state").wait() == 0
    whole, after = time.perf_counter() - begun, (tmp_path / "other.state").read_bytes()
    killed = 0
    for moment in range(KILLS):
        state.write_bytes(before)
        running = start_aggregate(tuesday, state)
        time.sleep(whole * moment / (KILLS - 1))
        running.kill()
        killed += running.wait() == -signal.SIGKILL
        assert state.read_bytes() in (before, after)
    assert killed >= 2  # at its start, and while Python was being loaded
    # What a killed command leaves beside the state is in nobody's way.
    assert start_aggregate(tuesday, state).wait() == 0
    tally = load(state)
    assert isinstance(tally, Tally)
    assert (tally.n_observations, state.read_bytes()) == (200_000, after)
