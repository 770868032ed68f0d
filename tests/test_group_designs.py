"""Designs with groups of their own, one by one from the registry: built, written down, fitted by command, explained."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import regress
from askance.channels import ArmedDesign, build_channel, build_design, entries, entry
from askance.channels.registry import Example
from askance.errors import InputError
from askance.formats import channel_to_toml
from askance.survey.designs_file import read_designs

from .test_cli import assert_one_line, call, flags, parsed

EXAMPLES = [
    pytest.param(known.kind, example, id=f"{known.kind}-{number}")
    for known in entries("groups")
    for number, example in enumerate(known.examples)
]


def simulated(design: ArmedDesign, n: int = 3000) -> dict[str, Any]:
    """A survey in which all combinations of what is hidden are equally frequent."""
    rng = np.random.default_rng(7)
    groups = list(design.arms)
    hidden = design.arms[groups[0]].outputs.labels
    group = np.arange(n) % len(groups)
    truth = [hidden[code] for code in rng.integers(0, len(hidden), n)]
    said = np.empty(n, dtype=object)
    for code, name in enumerate(groups):
        rows = np.flatnonzero(group == code)
        said[rows] = design.arms[name].simulate([truth[row] for row in rows], rng)
    return {"said": said.tolist(), "old": (np.arange(n) // 7 % 2).tolist(), "group": [groups[code] for code in group]}


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_designs_are_built_again_from_what_describes_them(kind: str, example: Example, tmp_path: Path) -> None:
    design = build_design({"kind": kind, **example})
    assert isinstance(design, ArmedDesign)
    assert {known.name for known in entry(kind).parameters} >= set(design.parameters())
    assert build_design(json.loads(json.dumps(design.specification()))) == design
    (tmp_path / "design.toml").write_text(channel_to_toml(design), encoding="utf-8")
    assert read_designs(tmp_path / "design.toml") == design
    assert design != design.for_purpose("another question")
    assert repr(design).startswith(f"{type(design).__name__}(")
    with pytest.raises(InputError, match=r"has groups of its own.*build_design"):
        build_channel({"kind": kind, **example})


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_designs_by_flags(kind: str, example: Example, tmp_path: Path) -> None:
    design = build_design({"kind": kind, **example})
    assert isinstance(design, ArmedDesign)
    data = simulated(design)
    lines = [",".join(map(str, row)) for row in zip(*data.values(), strict=True)]
    (tmp_path / "survey.csv").write_text("\n".join([",".join(data), *lines]), encoding="utf-8")
    told = call(
        *("fit", str(tmp_path / "survey.csv"), "--formula", "said ~ old", "--arm", "group", "--json"),
        *("--design", kind, *flags(example)),
    )
    assert told.code == 0, told.err
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit: Any = regress("said ~ old", data, design, arm="group")
    assert design.law in json.loads(told.out)["messages"]
    assert design.law in fit.messages
    ours = {row["name"]: row["estimate"] for row in json.loads(told.out)["coefficients"]}
    assert ours == pytest.approx(dict(zip(fit.parameter_names, fit.theta.tolist(), strict=True)), rel=1e-9)


@pytest.mark.parametrize("kind", [known.kind for known in entries("groups")])
def test_designs_are_listed_and_explained(kind: str) -> None:
    listed = {row["kind"]: row for row in parsed(call("channels", "--json"))}
    assert listed[kind] == parsed(call("channels", kind, "--json"))
    assert listed[kind]["family"] == "groups"
    shown = call("channels", kind)
    assert shown.code == 0
    assert f'kind = "{kind}"' in shown.out
    assert "may tell of the trait" in shown.out


def test_levels_are_about_the_trait() -> None:
    """Whatever else is hidden: cheaters tell nothing, and who answers at random neither."""
    symmetric = build_design({"kind": "cheating-detection", "yes": ["1/5", "1/2"], "no": ["1/10", "3/10"]})
    assert isinstance(symmetric, ArmedDesign)
    worst = {1: max(0.9 / 0.2, 0.8 / 0.1), 2: max(0.7 / 0.5, 0.5 / 0.3)}
    assert symmetric.privacy_levels == pytest.approx({group: math.log(ratio) for group, ratio in worst.items()})
    assert symmetric.privacy_level == pytest.approx(math.log(8))
    crosswise = build_design({"kind": "crosswise-control", "prevalence": "1/4", "known": "1/2"})
    assert isinstance(crosswise, ArmedDesign)
    expected = {"question": math.log(3), "control": 0.0, "anchor": 0.0}
    assert crosswise.privacy_levels == pytest.approx(expected)
    plain = build_design({"kind": "cheating-detection", "yes": ["1/5", "7/10"]})
    assert isinstance(plain, ArmedDesign)
    assert plain.privacy_level == math.inf  # a no is never said by who has the trait and does not cheat


def test_lists_call_the_column_of_groups_treated(tmp_path: Path) -> None:
    design = build_design({"kind": "list-experiment", "items": 2})
    data = simulated(design)  # type: ignore[arg-type]
    by_arm: Any = regress("said ~ 1", data, design, arm="group")
    by_treated: Any = regress("said ~ 1", data, design, treated="group")
    np.testing.assert_array_equal(by_arm.theta, by_treated.theta)
    with pytest.raises(InputError, match="mean the same; allowed: one"):
        regress("said ~ 1", data, design, arm="group", treated="group")
    lines = [f"{said},{group}" for said, group in zip(data["said"], data["group"], strict=True)]
    (tmp_path / "list.csv").write_text("\n".join(["n,treat", *lines]), encoding="utf-8")
    common = ("fit", str(tmp_path / "list.csv"), "--formula", "n ~ 1", "--design", "list-experiment", "--items", "2")
    told = parsed(call(*common, "--treated", "treat", "--json"))
    assert [row["estimate"] for row in told["coefficients"]] == pytest.approx(by_arm.theta.tolist(), rel=1e-9)
    assert_one_line(call(*common), ("--treated",))
    assert_one_line(call(*common, "--treated", "treat", "--arm", "treat"), ("--arm", "--treated"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("stochastic-lie-detector", "--truth", "1/5"), "the number of groups with other chances is 1"),
        (("stochastic-lie-detector", "--truth", "1/5,4/5", "--yes", "1/2"), "has no --yes"),
        (("cheating-detection", "--yes", "1/5,x"), "--yes[1]"),
        (("list-experiment", "--items", "three"), "no count"),
        (("list-experiment", "--items", "3", "--dependent", "maybe"), "neither true nor false"),
        (("crosswise-control", "--prevalence", "1/4", "--anchor", "1/4"), "--known"),
    ],
)
def test_designs_that_are_refused_by_command(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("said,group\nyes,1\nno,2\n", encoding="utf-8")
    outcome = call("fit", str(tmp_path / "a.csv"), "--formula", "said ~ 1", "--arm", "group", "--design", *options)
    assert_one_line(outcome, (words,))
