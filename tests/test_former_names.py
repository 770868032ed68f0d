"""What had another name or spelling in 0.1 still works, and warns with the new one and the version in which it goes.

`tests/test_count_likelihood.py` has the former methods of sums over counts, `tests/test_cli_fit_model.py` the former
`askance fit --state`.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import pytest

import askance
from askance._former import FORMER_NAMES, GONE_IN

CASES = [(package, old, new) for package, names in FORMER_NAMES.items() for old, new in names.items()]


@pytest.mark.parametrize(("package", "old", "new"), CASES)
def test_former_names_warn_and_are_what_took_their_place(package: str, old: str, new: str) -> None:
    module = importlib.import_module(package)
    with pytest.warns(FutureWarning) as told:
        thing = getattr(module, old)
    assert thing is getattr(module, new)
    assert [str(warning.message) for warning in told] == [
        f"{package}.{old} is called {new} now; it goes in askance {GONE_IN}."
    ]
    assert told[0].filename == __file__


@pytest.mark.parametrize(("package", "old", "new"), CASES)
def test_who_imports_a_former_name_hears_of_it(package: str, old: str, new: str) -> None:
    with pytest.warns(FutureWarning, match=f"{old} is called {new} now"):
        exec(f"from {package} import {old}", {})


def test_former_names_are_listed_nowhere() -> None:
    for package, old, _ in CASES:
        assert old not in dir(importlib.import_module(package))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec("from askance import *", {})
        with pytest.raises(AttributeError, match=r"'askance\.models' has no attribute 'plan_field'"):
            importlib.import_module("askance.models").plan_field  # noqa: B018


def test_they_go_in_the_version_that_is_named() -> None:
    """This fails when that version is made, and then everything in `_former` is to be taken away."""
    gone = tuple(map(int, GONE_IN.split(".")))
    assert tuple(map(int, askance.__version__.split(".")[:2])) < gone


def test_who_uses_new_names_hears_nothing() -> None:
    code = "import askance; askance.Tally; askance.Responses; askance.design.field_release"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
