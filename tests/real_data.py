"""Real data beside the project: tests that need them are skipped where they are not at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def needs_data(name: str) -> Path:
    """The file of that name in the folder that ASKANCE_DATA names; the test is skipped where it is not there."""
    folder = os.environ.get("ASKANCE_DATA")
    path = Path(folder or "", name)
    if folder is None or not path.exists():
        pytest.skip(f"ASKANCE_DATA names no folder with {name}")
    return path
