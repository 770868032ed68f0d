"""The package as a whole: quick to import, nothing heavy loaded early, all documented, no traces of a machine."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import askance

PROJECT = Path(__file__).resolve().parents[1]
HEAVY = (
    *("scipy", "numba", "matplotlib", "rich", "click", "cryptography"),
    *("formulaic", "narwhals", "pandas", "polars", "pyarrow", "pyreadstat", "sklearn"),
)


def python(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# -- importing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "most"),
    [("", 5), ("; [getattr(askance, name) for name in askance.__all__]", 470)],
    ids=["bare", "every name"],
)
def test_importing_loads_little_beyond_numpy(names: str, most: int) -> None:
    """Modules are counted, which no other load of the machine changes: our own and those of Python, nothing else."""
    loaded = python(
        f"import sys, numpy; before = set(sys.modules); import askance{names}; print(*set(sys.modules) - before)"
    ).split()
    others = {name for name in loaded if name.partition(".")[0] not in {"askance", "numpy", *sys.stdlib_module_names}}
    assert others <= {"threadpoolctl"}
    assert len(loaded) <= most


USES = {
    "import": "import askance",
    "every name": "from askance import *",
    "a small survey": """
import numpy as np
from askance import RandomizedResponse, Tally, certify, Warner, load, save, Categories, build_channel
channel = RandomizedResponse("1/2", outputs=["no", "yes"])
answers = ["yes", "no"] * 100
tally = Tally(channel).add(channel.randomize(answers)) + Tally(channel).add([channel.randomize_one("no")])
tally = tally.add(channel.simulate(answers * 10, np.random.default_rng(0)))
assert tally.n_observations == 2201
assert certify(channel).unbiased and certify(Warner("2/3")).unbiased
assert build_channel(channel.specification()) == channel
""",
}


@pytest.mark.parametrize("code", USES.values(), ids=list(USES))
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert python(f"{code}\nimport sys\nprint(*sorted(set({HEAVY!r}) & set(sys.modules)))") == ""


def test_listing_names_loads_nothing() -> None:
    listed = python("import askance, sys; print(*dir(askance)); print('numpy' in sys.modules)").splitlines()
    assert set(askance.__all__) <= set(listed[0].split())
    assert listed[1] == "False"


def test_submodules_are_attributes() -> None:
    python("import askance; askance.errors.AskanceError; askance.channels.entries(); askance.formats.load")
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        getattr(askance, "nothing_of_the_kind")  # noqa: B009


def test_only_own_names_are_listed() -> None:
    foreign = {"Any", "TYPE_CHECKING", "importlib", "annotations"} & set(dir(askance))
    assert foreign == set()
    assert {"errors", "channels", "formats", "AskanceError"} <= set(dir(askance))


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", askance.__all__)
def test_public_name(name: str) -> None:
    thing = getattr(askance, name)
    assert (inspect.getdoc(thing) or "").strip()
    assert thing.__name__ == name
    assert name in dir(askance)
    assert thing.__module__.startswith("askance.")


def test_names_are_complete() -> None:
    assert list(askance.__all__) == sorted(set(askance.__all__))
    public = {name for name in dir(askance) if not name.startswith("_") and callable(getattr(askance, name))}
    assert {name for name in public if getattr(askance, name).__module__.startswith("askance")} == set(askance.__all__)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="'askance' has no attribute 'nonsense'"):
        getattr(askance, "nonsense")  # noqa: B009
    assert not hasattr(askance, "nonsense")


def test_version_is_the_installed_one() -> None:
    assert askance.__version__ == version("askance")


def test_types_are_shipped() -> None:
    assert (Path(askance.__file__).parent / "py.typed").is_file()


# -- documentation -----------------------------------------------------------------------------------------------------


def all_modules() -> Iterator[ModuleType]:
    yield askance
    for found in pkgutil.walk_packages(askance.__path__, "askance."):
        yield importlib.import_module(found.name)


def own_members(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Public classes and functions written in a module, and the public methods and properties of the classes."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing):
            for inner, member in vars(thing).items():
                described = (property, classmethod, staticmethod)
                if not inner.startswith("_") and (inspect.isfunction(member) or isinstance(member, described)):
                    yield f"{module.__name__}.{name}.{inner}", member


def has_docstring(name: str, thing: object) -> bool:
    """Whether there is one, and not the signature that a dataclass or a named tuple writes for itself."""
    written = (getattr(thing, "__doc__", None) or "").strip()
    return bool(written) and not written.startswith(f"{name.rsplit('.', 1)[-1]}(")


def test_everything_public_is_documented() -> None:
    modules = list(all_modules())
    assert len(modules) > 30
    assert [module.__name__ for module in modules if not has_docstring(module.__name__, module)] == []
    members = [each for module in modules for each in own_members(module)]
    assert len(members) > 100
    assert [name for name, thing in members if not has_docstring(name, thing)] == []


# -- traces of a machine -----------------------------------------------------------------------------------------------

# Written in pieces so that this file does not contain what it looks for.
HOSTS = ["py" + "pi.org", "python" + "hosted.org", "anacon" + "da.org", "artifact" + "ory", "index" + "-url"]
FOLDERS = ["/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/", "/wo" + "rk/", "C:" + "\\Users"]


def project_files() -> list[Path]:
    """What git knows or would add; in an unpacked archive, the sources and tests."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True).stdout.decode().split("\0")
        files = [PROJECT / name for name in listed if name]
    except (OSError, subprocess.CalledProcessError):
        files = [path for folder in ("src", "tests") for path in (PROJECT / folder).rglob("*")]
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def traces(text: str) -> list[str]:
    own = [str(path) for path in (PROJECT, Path(sys.prefix)) if len(path.parts) > 2]
    pattern = "|".join(re.escape(each) for each in [*HOSTS, *FOLDERS, *own])
    return re.findall(pattern, text)


def test_no_file_names_this_machine_or_a_package_registry() -> None:
    files = project_files()
    assert Path(__file__).resolve() in files
    found = {}
    for path in files:
        data = path.read_bytes()
        if b"\0" not in data and (seen := traces(data.decode(errors="replace"))):
            found[str(path.relative_to(PROJECT))] = seen
    assert found == {}


def test_traces_would_be_found() -> None:
    assert traces(f"see {PROJECT}/src") or len(PROJECT.parts) <= 2
    assert traces("https://" + HOSTS[0] + "/simple")
    assert traces("open('" + FOLDERS[0] + "me/data')")
    assert traces("the homepage of the root mean square") == []
