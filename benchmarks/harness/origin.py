"""Where and when a figure was measured: date, machine, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.harness.process import ROOT
from benchmarks.harness.results import Origin


def origin_of(command: str) -> Origin:
    """Of what a command measures now."""
    status = _git("status", "--porcelain", "--", "src")
    return Origin(
        command=command,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        machine=_machine(),
        commit=_git("rev-parse", "--short", "HEAD") or "unknown",
        sources_clean=None if status is None else not status,
    )


def _git(*arguments: str) -> str | None:
    """What git says about this clone; None where there is no git, or no clone."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _machine() -> str:
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
