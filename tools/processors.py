"""Runs a command once for each other kind of processor: `python tools/processors.py [--only KIND] COMMAND …`.

The numerical libraries are told which processor to take this machine for. The last bits of sums differ between kinds;
what is decided, refused, warned of or printed must not.

| kind | what it stands for |
|---|---|
| haswell | AVX2: most laptops, and AMD servers up to 2022 |
| generic | SSE only: the oldest x86-64, and the nearest to other architectures |

Loops that Numba compiles are kept apart by kind, in `.processors/`. `--list` prints the settings, for a shell.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path

KINDS = {
    "haswell": {
        "OPENBLAS_CORETYPE": "Haswell",
        "NUMBA_CPU_NAME": "haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4,AVX512_ICL,AVX512_SPR",
    },
    "generic": {
        "OPENBLAS_CORETYPE": "Prescott",
        "NUMBA_CPU_NAME": "x86-64",
        "NUMBA_CPU_FEATURES": "",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3,X86_V4,AVX512_ICL,AVX512_SPR",
    },
}
CACHE = Path(__file__).resolve().parents[1] / ".processors"


def settings(kind: str) -> dict[str, str]:
    """The environment variables of a kind."""
    return {**KINDS[kind], "NUMBA_CACHE_DIR": str(CACHE / kind)}


def main(arguments: list[str]) -> int:
    """The exit code: 0 where the command succeeds on every kind."""
    parser = argparse.ArgumentParser(prog="processors", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=KINDS, action="append", help="this kind alone")
    parser.add_argument("--list", action="store_true", help="print the settings, and run nothing")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if not given.list and not given.command:
        parser.error("there is no command; write, for example: processors.py .venv/bin/python -m pytest tests")
    if not given.list and platform.machine().lower() not in ("x86_64", "amd64"):
        print(f"processors: this one is {platform.machine()}; other kinds of x86-64 only run there: nothing was run.")
        return 0
    failed = []
    for kind in given.only or KINDS:
        own = settings(kind)
        if given.list:
            print(kind, *(f"{name}={value}" for name, value in own.items()))
            continue
        print(f"processors: as on {kind}", flush=True)
        code = subprocess.run(given.command, env=os.environ | own, check=False).returncode
        print(f"processors: {kind} ended with {code}", flush=True)
        failed += [kind] * (code != 0)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
