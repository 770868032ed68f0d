"""What CI is made of: other kinds of processor, the lowest versions, compiling ahead; and what is published."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement

from tests import compile_loops, conftest
from tests.test_package import project_files

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def tool(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_ci_calls_targets_that_exist() -> None:
    """Tests as they are, as on other kinds of processor, and with processes that are killed."""
    called = re.findall(r"^make (\w+)$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"test", "processors", "integration"} <= set(called)
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*called, "matrix"} <= set(targets)


def test_files_that_the_choice_of_tests_names_exist() -> None:
    known = {path.name for path in (ROOT / "tests").glob("test_*.py")} | {"errata", "src"}
    assert {*conftest.LONGEST, *conftest.left_out("core")} <= known
    assert conftest.left_out("all") < conftest.left_out("core")
    named = [name for names in (*conftest.NOT_NUMERICAL.values(), *conftest.ON_ONE_KIND.values()) for name in names]
    assert len(named) == len(set(named))
    for name in tool("matrix").SMOKE:
        assert (ROOT / name).is_file()


def test_every_loop_is_listed() -> None:
    """One for every function that is decorated, wherever that is."""
    sources = ROOT / "src"
    decorated = {
        f"{'.'.join(path.relative_to(sources).with_suffix('').parts)}.{name}"
        for path in sources.rglob("*.py")
        for name in re.findall(
            r"^@(?:compiled|in_order|in_any_order)\ndef (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert {name for name, _ in compile_loops.loops()} == decorated


# -- what is published -------------------------------------------------------------------------------------------------


def test_archives_lack_nothing(tmp_path: Path) -> None:
    """The source archive holds every file of the repository, the wheel every file of the package."""
    installed = tool("installed")
    source, wheel = installed.packed(tmp_path)
    kept, archived = {path.relative_to(ROOT).as_posix() for path in project_files()}, installed.files_of(source)
    assert kept - archived == set()
    if (ROOT / ".git").exists():  # elsewhere nobody knows what belongs to the project
        assert archived - kept == {"PKG-INFO"}
    with zipfile.ZipFile(wheel) as archive:
        held = {name.removeprefix("askance/") for name in archive.namelist() if name.startswith("askance/")}
    assert held == installed.files_of(ROOT / "src" / "askance")
    assert {"py.typed", "collect/assets/askance-device.js", "collect/templates/base.html"} <= held
    for name in installed.TELLING:
        assert (source / name).exists()


def test_the_citation_is_of_this_version() -> None:
    cited = re.findall(r'^version: "(.+)"$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited == [PROJECT["version"].partition(".dev")[0]]


# -- other processors --------------------------------------------------------------------------------------------------


def processors(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "processors.py"), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.skipif(processors("true").stdout.endswith("nothing was run.\n"), reason="needs an x86-64 processor")
def test_a_command_runs_as_on_each_kind_and_fails_if_it_fails_on_one() -> None:
    told = processors(sys.executable, "-c", "import os; print(os.environ['NUMBA_CPU_NAME'])")
    assert told.returncode == 0
    assert [line for line in told.stdout.splitlines() if not line.startswith("processors:")] == ["haswell", "x86-64"]
    picky = "import os, sys; sys.exit(os.environ['NUMBA_CPU_NAME'] == 'haswell')"
    assert processors(sys.executable, "-c", picky).returncode == 1
    assert processors("--only", "generic", sys.executable, "-c", picky).returncode == 0


def test_settings_are_listed_and_keep_compiled_loops_apart() -> None:
    listed = processors("--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["haswell", "generic"]
    assert len({line.split("NUMBA_CACHE_DIR=")[1] for line in listed}) == 2
    assert processors().returncode == 2


# -- versions ----------------------------------------------------------------------------------------------------------


def test_the_lowest_versions_are_the_floors_of_the_project() -> None:
    extras = [text for name in ("files", "sklearn") for text in PROJECT["optional-dependencies"][name]]
    names = [Requirement(text).name for text in [*PROJECT["dependencies"], *extras]]
    for minor in (11, 12, 13):
        assert [floor.partition("==")[0] for floor in tool("matrix").floors((3, minor))] == names


def test_pythons_at_hand_are_found() -> None:
    found = tool("matrix").pythons()
    assert sys.version_info[:2] in found
    assert min(found) >= (3, 11)
