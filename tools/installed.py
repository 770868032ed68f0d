"""Builds what is published, installs it into an empty environment and runs its own tests there.

`python tools/installed.py` packs the source archive, unpacks it, builds the wheel from that (as pip does), and installs
the wheel with what tests need, in `.installed/`. The tests of the archive then run on the installed package, a telling
part of them or, with `--all`, all: neither may need a file that stays behind.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".installed"
#: Tools, files of the repository, benchmarks and acceptance, golden files, commands, pages and assets of the collector.
TELLING = (
    *("tests/test_package.py", "tests/test_tools.py", "tests/test_benchmarks.py", "tests/test_acceptance_surveys.py"),
    *("tests/test_formats.py", "tests/test_tally.py", "tests/test_notation.py", "tests/test_cli_fit.py"),
    *("tests/test_collect_pages.py", "tests/test_device_js.py", "tests/test_campaign_file.py", "tests/errata"),
)
WHERE = "import askance, sys; sys.exit(not askance.__file__.startswith(sys.prefix) and askance.__file__)"


def build(kind: str, source: Path, target: Path) -> Path:
    """The archive of a kind, "sdist" or "wheel", made from a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
    subprocess.run(command, cwd=source, check=True, stdout=subprocess.DEVNULL)
    (archive,) = target.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return archive


def unpacked(sdist: Path, target: Path) -> Path:
    """The folder in a source archive."""
    with tarfile.open(sdist) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(target, filter="data")
        else:  # before Python 3.11.4; of an archive of our own nothing is left out
            archive.extractall(target)
    return target / sdist.name.removesuffix(".tar.gz")


def files_of(folder: Path) -> set[str]:
    """What is in a folder, but for what Python compiled."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in paths}


def packed(target: Path) -> tuple[Path, Path]:
    """The unpacked source archive, and the wheel made from it; neither lacks a file of the package."""
    source = unpacked(build("sdist", ROOT, target), target)
    wheel = build("wheel", source, target)
    with zipfile.ZipFile(wheel) as archive:
        if missing := {f"askance/{name}" for name in files_of(source / "src" / "askance")} - {*archive.namelist()}:
            raise SystemExit(f"installed: the wheel lacks {', '.join(sorted(missing))}.")
    return source, wheel


def install(wheel: Path, environment: Path) -> Path:
    """A new environment with the wheel and what its tests need; the Python in it."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment)], check=True)
    python = environment / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    limits = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, *limits, f"askance[dev] @ {wheel.as_uri()}"], check=True)
    return python


def main(arguments: list[str]) -> int:
    """The exit code: 0 where everything builds, installs and passes."""
    parser = argparse.ArgumentParser(prog="installed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="all tests, not a telling part")
    every = parser.parse_args(arguments).all
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    source, wheel = packed(FOLDER)
    python = install(wheel, FOLDER / "environment")
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([str(python), "-c", WHERE], cwd=source, env=own, check=True)
    how = ["-q", "--numprocesses", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder"]
    tests = ["tests"] if every else TELLING
    return subprocess.run([str(python), "-m", "pytest", *how, *tests], cwd=source, env=own, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
