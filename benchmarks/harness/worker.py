"""One contender in a process of its own, driven by JSON lines; standard library only.

Start: `python -m benchmarks.harness.worker MODULE SIDE`, in the contender's environment. One request a line on standard
input, one reply a line on standard output:

    {"do": "versions", "packages": ["numpy"]}  →  {"python": "3.12.1", "numpy": "2.1.0"}
    {"do": "prepare", "case": {"k": 16}}       →  {"units": 1000000, "calls": 8}
    {"do": "measure"}                          →  {"value": 1.2e7}

An error ends the process: its traceback goes to standard error, where the harness picks it up.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from importlib import metadata
from typing import Any, TextIO

from benchmarks.harness.comparison import Comparison, Side
from benchmarks.harness.timing import Prepared, prepare


class _Server:
    def __init__(self, comparison: Comparison, side: Side) -> None:
        self._comparison, self._side = comparison, side
        self._prepared: Prepared | None = None

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "versions":
            return {"python": platform.python_version()} | {p: metadata.version(p) for p in request["packages"]}
        if request["do"] == "prepare":
            self._prepared = None  # lets go of the data of the case before
            self._prepared = prepare(self._side.build, request["case"], self._comparison.sizes)
            return {"units": self._prepared.units, "calls": self._prepared.calls}
        if request["do"] == "measure" and self._prepared is not None:
            return {"value": self._prepared.take()}
        raise ValueError(f"request {request} does not fit here")


def _claim_standard_output() -> TextIO:
    """Keep the real standard output for replies; what a contender prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def main() -> None:
    """Serve until standard input ends."""
    module, side_name = sys.argv[1:]
    replies = _claim_standard_output()
    comparison: Comparison = importlib.import_module(module).COMPARISON
    server = _Server(comparison, comparison.side(side_name))
    for line in sys.stdin:
        print(json.dumps(server.reply(json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
