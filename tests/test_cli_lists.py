"""List experiments on the command line: the calls of a researcher, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from askance import ListExperiment, regress

from .test_cli import assert_one_line, call, parsed
from .test_list_methods import survey

DESIGN = ("--design", "list-experiment", "--items", "3", "--treated", "treated")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file of the survey."""
    data = survey()
    path = tmp_path / "lists.csv"
    rows = zip(*(column.tolist() for column in data.values()), strict=True)
    path.write_text("\n".join([",".join(data), *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("method", ["marginal", "linear", "least-squares"])
def test_methods(table: Path, method: str) -> None:
    document = parsed(call("fit", str(table), "--formula", "n ~ x", *DESIGN, "--method", method, "--json"))
    fit = regress("n ~ x", survey(), ListExperiment(3), arm="treated", method=method)
    found = [row["estimate"] for row in document["coefficients"]]
    assert found == pytest.approx(fit.theta.tolist(), abs=1e-9)
    assert document["messages"] == list(fit.messages)
    assert document["shares"]["trait"][1]["share"] == pytest.approx(fit.shares("trait").estimate[1], abs=1e-9)
    if method != "marginal":
        asked = call("fit", str(table), "--formula", "n ~ x", *DESIGN, "--method", method, "--effects")
        assert_one_line(asked, ("--effects", f"--method {method}", "--method marginal"))


def test_laws(table: Path) -> None:
    said = call("fit", str(table), "--formula", "n ~ 1", *DESIGN, "--control-law", "binomial")
    assert said.code == 0
    assert "has a binomial distribution" in " ".join(said.out.split())
    free = parsed(call("fit", str(table), "--formula", "n ~ 1", *DESIGN, "--dependent", "true", "--json"))
    assert any("depends on the answer" in message for message in free["messages"])


def test_refusals(table: Path) -> None:
    short = [*DESIGN[:3], "2", *DESIGN[4:]]
    assert_one_line(call("fit", str(table), "--formula", "n ~ x", *short), ("'n'", "holds 3", "0, 1, 2"))
    assert_one_line(call("fit", str(table), "--formula", "n ~ x", *DESIGN, "--method", "one-step"), ("one-step",))
