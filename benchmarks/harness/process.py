"""The harness's end of a worker: start it, ask, stop it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tools.processors import settings

#: The folder that contains the package `benchmarks`.
ROOT = Path(__file__).resolve().parents[2]

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
# What would let the surrounding environment leak into a worker's.
# The last would have our own sources, unlike installed packages, compiled anew in every process.
_NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
_PATIENCE_SECONDS = 1800.0


class WorkerError(Exception):
    """A worker died, or did not answer in time."""


def child_environment() -> dict[str, str]:
    """Environment variables of a measured process: one thread, no Python settings from outside."""
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return kept | _ONE_THREAD


class Worker:
    """A running `benchmarks.harness.worker`; use it as a context manager."""

    def __init__(self, python: Path, module: str, side: str, processor: str | None = None) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed in close
        self._process = subprocess.Popen(
            [str(python), "-m", "benchmarks.harness.worker", module, side],
            cwd=ROOT,
            env=child_environment() | ({} if processor is None else settings(processor)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
        )

    def ask(self, what: str, **details: Any) -> dict[str, Any]:
        """Send one request and wait for the reply.

        Raises:
            WorkerError: the worker ended instead, or took longer than the harness waits.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(_PATIENCE_SECONDS, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps({"do": what, **details}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            in_time = timer.is_alive()
            timer.cancel()
        if not line:
            raise WorkerError(self._last_words() if in_time else f"no answer within {_PATIENCE_SECONDS:.0f} s")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _last_words(self) -> str:
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else f"ended with exit code {self._process.returncode} and no message"

    def close(self) -> None:
        """Let the worker end by itself; end it when it does not."""
        try:
            self._process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
