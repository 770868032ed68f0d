"""`python -m tests.frozen record [FILE]` and `compare FILE [--digits N]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.frozen.family import frozen, members
from tests.frozen.record import RECORD, differences_of, moved, read, write


def main() -> int:
    """Record the family, or compare it with a record."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("task", choices=["record", "compare"])
    parser.add_argument("file", nargs="?", type=Path, default=RECORD)
    parser.add_argument("--digits", type=int, help="compare so many digits instead of millionths of standard errors")
    chosen = parser.parse_args()
    now = {}
    for name, make in members().items():
        if sys.stderr.isatty():
            print(f"\r\033[K{name}", end="", file=sys.stderr)
        now[name] = frozen(make)
    if chosen.task == "record":
        write(moved(now, read(chosen.file)) if chosen.file.exists() else now, chosen.file)
        return 0
    lines = differences_of(now, read(chosen.file), digits=chosen.digits)
    print("\n".join(lines) if lines else f"{len(now)} fits are as they were")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
