"""Virtual environments of the peers: created on demand, kept between runs, made anew when the requirements change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.harness.comparison import Environment
from benchmarks.harness.process import child_environment
from benchmarks.harness.progress import Progress

_FOLDER = Path(__file__).resolve().parents[1] / "environments"
_MARKER = "installed.json"
_LOG = "pip.log"
_INSTALL_SECONDS = 900


class PeerUnavailableError(Exception):
    """A peer's environment could not be made."""


def python_of(environment: Environment | None, progress: Progress) -> Path:
    """The interpreter of an environment, which is created first where it does not exist; ours for None.

    Raises:
        PeerUnavailableError: it could not be created.
    """
    if environment is None:
        return Path(sys.executable)
    folder = _FOLDER / environment.name
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = {"requirements": list(environment.requirements), "python": list(sys.version_info[:3])}
    marker = folder / _MARKER
    if not (marker.exists() and python.exists() and json.loads(marker.read_text(encoding="utf-8")) == wanted):
        progress.say(f"installing {', '.join(environment.requirements)} into environments/{environment.name}")
        _create(folder, python, environment)
        marker.write_text(json.dumps(wanted), encoding="utf-8")  # last: half an environment does not count
    return python


def _create(folder: Path, python: Path, environment: Environment) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise PeerUnavailableError(f"no virtual environment for {environment.name}: {error}") from error
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", *environment.requirements]
    log = folder / _LOG
    try:
        with log.open("w", encoding="utf-8") as output:
            subprocess.run(
                command,
                env=child_environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                check=True,
                timeout=_INSTALL_SECONDS,
            )
    except subprocess.TimeoutExpired as error:
        raise PeerUnavailableError(f"pip took more than {_INSTALL_SECONDS} s for {environment.name}") from error
    except subprocess.CalledProcessError as error:
        lines = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("ERROR")]
        reason = lines[-1] if lines else f"see {_LOG} in environments/{environment.name}"
        raise PeerUnavailableError(f"pip could not install {environment.name}: {reason}") from error
