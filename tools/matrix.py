"""The smoke suite on every Python at hand, with the lowest and the newest versions of all dependencies.

`python tools/matrix.py` looks for Python 3.11 and newer on the path and among those of pyenv, makes a virtual
environment for each in `.matrix/`, and says what it found. The lowest versions are the floors of pyproject.toml;
dependencies of dependencies are the newest that go with them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".matrix"
OLDEST = (3, 11)
#: Newer ones are looked for as well, up to this one.
NEWEST = (3, 20)
VERSIONS = ("lowest", "newest")
EXTRAS = ("files", "sklearn")
#: What runs the tests; always the newest. Old scikit-learn makes lists of tests in a way that new pytest warns of.
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "polars")
TOLERATED = "ignore:Passing a non-Collection iterable to parametrize is deprecated"
#: A survey from a table, formulas, files of reports, tallies, a field, a tagger, scikit-learn, pictures.
SMOKE = (
    "tests/test_cli_fit.py",
    "tests/test_tables.py",
    "tests/test_formula.py",
    "tests/test_report_files.py",
    "tests/test_tally.py",
    "tests/test_field_estimation.py",
    "tests/test_tagger_files.py",
    "tests/test_sklearn.py",
    "tests/test_geometry.py",
)


def pythons() -> dict[tuple[int, int], Path]:
    """The interpreters at hand by version: the first on the path, else the last of pyenv."""
    minors = range(OLDEST[1], NEWEST[1] + 1)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python3.{minor}") for minor in minors]
    candidates = [Path(sys.executable), *map(Path, filter(None, named)), *sorted(pyenv.glob("*/bin/python"))[::-1]]
    found: dict[tuple[int, int], Path] = {}
    for path in candidates:
        version = version_of(path)
        if version is not None and version >= OLDEST:
            found.setdefault(version, path)
    return dict(sorted(found.items()))


def version_of(python: Path) -> tuple[int, int] | None:
    """Major and minor; None for what does not run, such as a name that pyenv has and that is not chosen."""
    asked = [str(python), "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def floors(python: tuple[int, int]) -> list[str]:
    """Every direct dependency at the lowest version that pyproject.toml allows on that Python.

    >>> [floor for floor in floors((3, 12)) if floor.startswith("click")]
    ['click==8.4']
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in EXTRAS for text in project["optional-dependencies"][extra])]
    version = ".".join(map(str, python))
    pinned = []
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate({"python_version": version}):
            lowest = [limit.version for limit in requirement.specifier if limit.operator in (">=", "==", "~=")]
            if len(lowest) != 1:
                raise SystemExit(f"matrix: {requirement} has no lowest version; write it as name>=version.")
            pinned.append(f"{requirement.name}=={lowest[0]}")
    return pinned


def install(python: Path, cell: Path, constraints: list[str]) -> int:
    """A new environment with askance in it; the exit code of pip."""
    subprocess.run([str(python), "-m", "venv", "--clear", str(cell)], check=True)
    limits = cell / "constraints.txt"
    limits.write_text("\n".join(constraints) + "\n", encoding="utf-8")
    given = ["--constraint", str(limits), "--editable", f"{ROOT}[{','.join(EXTRAS)}]", *TOOLS]
    quiet = ["--disable-pip-version-check", "--quiet", "--only-binary", ":all:"]
    return subprocess.run(
        [str(cell / "bin" / "python"), "-m", "pip", "install", *quiet, *given], check=False
    ).returncode


def smoke(cell: Path) -> int:
    """The exit code of the tests."""
    own = {"NUMBA_CACHE_DIR": str(cell / "loops"), "OPENBLAS_NUM_THREADS": "1"}
    how = ["-q", "-p", "no:cacheprovider", "--numprocesses", "auto", "--dist", "loadfile", "-W", TOLERATED]
    tests = [str(cell / "bin" / "python"), "-m", "pytest", *how, *SMOKE]
    return subprocess.run(tests, cwd=ROOT, env=os.environ | own, check=False).returncode


def main(arguments: list[str]) -> int:
    """The exit code: 0 where everything that was found installs and passes."""
    parser = argparse.ArgumentParser(prog="matrix", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", help="this version alone, such as 3.12")
    parser.add_argument("--versions", choices=VERSIONS, help="these alone")
    given = parser.parse_args(arguments)
    found = pythons()
    print("matrix: found", *(f"Python {major}.{minor} ({path});" for (major, minor), path in found.items()), flush=True)
    outcomes = []
    for version, path in found.items():
        name = ".".join(map(str, version))
        if given.python not in (None, name):
            continue
        for which in [given.versions] if given.versions else VERSIONS:
            begun, cell = time.perf_counter(), FOLDER / f"{name}-{which}"
            failed = install(path, cell, floors(version) if which == "lowest" else []) and "does not install"
            failed = failed or (smoke(cell) and "fails")
            outcomes.append(failed)
            print(
                f"matrix: Python {name}, {which}: {failed or 'passes'}, {time.perf_counter() - begun:.0f} s", flush=True
            )
    if not outcomes:
        print(f"matrix: no Python {given.python or '3.11 or newer'} was found; install one, or put it on the path.")
    return 0 if outcomes and not any(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
