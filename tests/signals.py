"""Processes that are started and told to end, as a terminal or a service manager does it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Seconds after which a process is said to hang, on however busy a machine.
PATIENCE = 900
# Seconds after which somebody presses Ctrl-C again.
_AGAIN = 20


def start(*arguments: str | Path, stdout: Any = subprocess.PIPE, **options: Any) -> subprocess.Popen[bytes]:
    """A process that is not deaf to Ctrl-C or a lost terminal, as those are that a shell or nohup starts."""
    return subprocess.Popen(
        arguments,
        stdout=stdout,
        stderr=subprocess.PIPE,
        preexec_fn=_listening,
        **options,
    )


def _listening() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def end_by(process: subprocess.Popen[bytes], number: int) -> int:
    """The exit code of a process after a signal.

    Python acts upon a signal between two of its instructions, or when one interrupts a system call. A signal that comes
    in the microseconds between the last look and a call that waits is acted upon only after that call: where a process
    wakes by what the sender did just before, these moments meet in one of fifty runs. So a process gets time to reach
    its call, and is told again as a person would.
    """
    time.sleep(0.2)
    for _ in range(PATIENCE // _AGAIN - 1):
        process.send_signal(number)
        try:
            return process.wait(_AGAIN)
        except subprocess.TimeoutExpired:
            continue
    return process.wait(_AGAIN)


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds that other threads or processes bring about."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "what was waited for did not come about"
        time.sleep(0.005)
