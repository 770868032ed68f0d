"""Tools that a machine may not have: tests that need them are skipped, with what to install."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def skip(reason: str) -> NoReturn:
    """Skip the test; where all tools were to be installed (`.ci/run` says so), fail: nothing is left out unseen."""
    if os.environ.get("ASKANCE_ALL_TOOLS"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
