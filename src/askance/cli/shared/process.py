"""The process of a command: signals that end it, and a standard output that does not take what is printed.

Nothing is imported here that takes time: it must stand before anything else is.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

# Those that ask a process to end, where the system has them.
_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def prepare() -> None:
    """End by signals as by errors, so that what is half written is removed; show what the terminal has no letters for.

    A signal that whoever started the command has set to be ignored (`nohup`) stays so.
    """
    for number in _ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # a thread other than the first, which hears no signals
                signal.signal(number, _end)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _end(number: int, _: FrameType | None) -> NoReturn:
    for other in _ENDING:  # one is enough: the next must not interrupt the clearing up
        signal.signal(other, signal.SIG_IGN)
    sys.exit(128 + number)


def flush_output() -> None:
    """Write what is still held back, while there is somebody to be told that it cannot be."""
    if sys.stdout is not None:
        sys.stdout.flush()


def stop(text: str, code: int = 2) -> NoReturn:
    """End the process with one line on standard error."""
    if sys.stderr is not None:
        with suppress(OSError):  # it may be full, too
            sys.stderr.write(f"askance: {text}\n")
            sys.stderr.flush()
    sys.exit(code)


def stop_for_output(error: OSError) -> NoReturn:
    """End the process where standard output takes no more: without a word where nobody listens, as `| head`."""
    # What is held back would be tried again when Python ends, and fail with a traceback.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        sys.exit(1)
    reason = error.strerror or str(error)
    if error.filename is not None:
        stop(f"cannot use {error.filename}: {reason}.")
    stop(f"cannot write to standard output: {reason}. Make room, or send it elsewhere.")
