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
    said = ("'n' holds 3 in group 0, without", "from 0 to 2", "Correct --items (the counts speak of 3)")
    assert_one_line(call("fit", str(table), "--formula", "n ~ x", *short), said)
    swapped = call("fit", str(table), "--formula", "n ~ x", *DESIGN, "--groups", "1,0")
    assert_one_line(swapped, ("holds 4 in group '1'", "name it last in --groups", "correct --items"))
    named = call("fit", str(table), "--formula", "n ~ x", *DESIGN, "--groups", "a,b")
    assert_one_line(named, ("'treated' holds 0, 1;", "by --groups"))
    assert_one_line(call("fit", str(table), "--formula", "n ~ x", *DESIGN, "--method", "one-step"), ("one-step",))
    words = table.with_name("words.csv")
    words.write_text("n,treated\nyes,0\nno,0\nyes,1\nno,1\n", encoding="utf-8")
    told = ("'n' holds no counts", "from 0 to 3", "left of ~")
    assert_one_line(call("fit", str(words), "--formula", "n ~ 1", *DESIGN), told)
    words.write_text("n,treated\n2,0\nnobody,0\n1,1\n3,1\n", encoding="utf-8")
    assert_one_line(call("fit", str(words), "--formula", "n ~ 1", *DESIGN), ("'nobody'",))


def test_counts_that_do_not_go_with_the_list_are_told(table: Path) -> None:
    long = [*DESIGN[:3], "6", *DESIGN[4:], "--method", "linear", "--json"]
    told = parsed(call("fit", str(table), "--formula", "n ~ 1", *long))["messages"]
    assert "nobody counted more than 3 of 6 items: is --items right?" in told
    few = table.with_name("few.csv")
    few.write_text("n,treated\n" + "3,0\n2,0\n" * 30 + "1,1\n2,1\n" * 30, encoding="utf-8")
    found = parsed(call("fit", str(few), "--formula", "n ~ 1", *DESIGN, "--method", "linear", "--json"))["messages"]
    assert any("fewer items than the control group, 1.50 against 2.50 on average: are the --groups" in m for m in found)
    assert not any("nobody counted" in message for message in found)


@pytest.mark.parametrize(
    ("kind", "name"), [("list", "list-experiment"), ("CDM", "cheating-detection"), ("mirrored", "warner")]
)
def test_names_of_r_are_answered_with_ours(table: Path, kind: str, name: str) -> None:
    assert_one_line(call("fit", str(table), "--formula", "n ~ 1", "--design", kind), (f"{kind} is {name} here",))
