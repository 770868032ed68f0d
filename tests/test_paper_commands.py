"""From a saved fit to a paper on the command line: predict, test, compare, report; tables as files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from askance import ForcedResponse, RegressionFit, StochasticLieDetector, Tally, compare_fits, load, regress, save
from askance.errors import FormatError
from askance.formats.fit_file import fit_to_json
from askance.formats.table_json import table_to_json
from askance.survey import read_table
from askance.survey.report import report_page
from askance.tables import Column, Table

from . import test_cli
from .test_cli import Outcome, assert_one_line, parsed

DESIGN = ForcedResponse("2/3", "1/6")
FORCED = ("--design", "forced-response", "--truth", "2/3", "--yes", "1/6", "--method", "marginal")
FULL, SMALL = "said ~ age + I(age**2) + C(region)", "said ~ age + I(age**2)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey, and two fits of it."""
    place, rng, n = tmp_path_factory.mktemp("paper"), np.random.default_rng(6), 1200
    age, region = rng.uniform(-2, 2, n), rng.choice(["north", "a|b"], n)
    truth = np.where(rng.random(n) < 1 / (1 + np.exp(0.5 - age)), "yes", "no")
    data = {"said": DESIGN.simulate(truth, rng), "age": age, "region": region, "v": rng.integers(0, 60, n)}
    pd.DataFrame(data).to_csv(place / "survey.csv", index=False)
    for name, formula, more in (("full", FULL, ("--by", "region", "--effects")), ("small", SMALL, ())):
        outcome = call(
            "fit", place / "survey.csv", "--formula", formula, *FORCED, *more, "--save", place / f"{name}.fit"
        )
        assert outcome.code == 0, outcome.err
    return place


def call(*words: str | Path) -> Outcome:
    return test_cli.call(*map(str, words))


def fit_in(path: Path) -> RegressionFit:
    fit = load(path)
    assert isinstance(fit, RegressionFit)
    return fit


# -- the file of a fit -------------------------------------------------------------------------------------------------


def test_saved_fits_keep_what_was_printed(folder: Path) -> None:
    fit = regress(FULL, read_table(folder / "survey.csv"), DESIGN, method="marginal")
    kept = fit_in(folder / "full.fit").kept_tables
    shares = [fit.prevalence(by=by, population=True).table() for by in (None, "region")]
    for table, again in zip([*shares, fit.marginal_effects().table()], kept, strict=False):
        assert str(again) == str(table)
        assert again.to_markdown() == table.to_markdown()
    assert [table.title for table in kept][3:] == ["Fit of the design to the reports"]


def test_tables_come_back_as_they_were(folder: Path, tmp_path: Path) -> None:
    strange = Table(
        (Column("g", "heading"), Column("a|b", key="k", align="right"), Column("x", "points", digits="error", width=9)),
        [("one", "né\n", 0.5), ("one", 3, None), ("two", True, np.nan)],
        title="<T>",
        head=["above"],
        notes=["below"],
        alarms=["!"],
    )
    fit = fit_in(folder / "small.fit").with_tables(strange)
    save(fit, tmp_path / "again.fit")
    (*_, again) = fit_in(tmp_path / "again.fit").kept_tables
    assert str(again) == str(strange)
    assert table_to_json(again) == table_to_json(strange)


@pytest.mark.parametrize(
    "change",
    [
        {"columns": [{"name": "x"}]},
        {"columns": [{"name": "x", "kind": "eval", "key": "", "digits": 4, "width": 0, "align": None}]},
        {"columns": [{"name": "x", "kind": "text", "key": "", "digits": 10**9, "width": 0, "align": None}]},
        {"rows": [[1, 2]]},
        {"rows": [["a text"]]},
        {"notes": [3]},
        {"title": 3},
    ],
    ids=lambda change: str(change)[:40],
)
def test_damaged_tables_are_refused(change: dict[str, Any], folder: Path) -> None:
    from askance.formats.fit_file import fit_from_json

    content = fit_to_json(replace(fit_in(folder / "small.fit"), kept_tables=()))
    table = table_to_json(Table((Column("x", "number"),), [(1.0,)]))
    assert fit_from_json({**content, "tables": [table]}, "a file").kept_tables
    with pytest.raises(FormatError, match="a file"):
        fit_from_json({**content, "tables": [table | change]}, "a file")


# -- commands ----------------------------------------------------------------------------------------------------------


def test_predict_is_the_fit(folder: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("age,region\n0.5,north\n-1,a|b\n")
    printed = parsed(call("predict", folder / "full.fit", new, "--confidence", "0.9", "--json"))
    expected = fit_in(folder / "full.fit").predict({"age": [0.5, -1.0], "region": ["north", "a|b"]}, 0.9).to_json()
    assert {name: printed[name] for name in expected} == expected
    new.write_text("age,region\n0.5,west\n")
    assert_one_line(call("predict", folder / "full.fit", new), ("column 'region' holds 'west', unseen at the fit",))


def test_hypotheses(folder: Path) -> None:
    full, small = fit_in(folder / "full.fit"), fit_in(folder / "small.fit")
    names = ["I(age ** 2)", "C(region)[T.north]"]
    printed = parsed(call("test", folder / "full.fit", "--zero", ",".join(names), "--json"))
    assert printed["p_value"] == full.wald_test(names).p_value
    assert printed["hypotheses"] == [f"{name} = 0" for name in names]
    printed = parsed(call("test", folder / "full.fit", "--against", folder / "small.fit", "--json"))
    assert printed["statistic"] == pytest.approx(2 * (full.log_likelihood - small.log_likelihood))
    assert printed["dropped"] == ["C(region)[T.north]"]
    assert "χ²" in call("test", folder / "full.fit", "--zero", "age").out


def test_notes_of_a_test_speak_of_commands(folder: Path, tmp_path: Path) -> None:
    for name, formula in (("full", FULL), ("small", SMALL)):
        words = ("fit", folder / "survey.csv", "--formula", formula, *FORCED[:-1], "one-step")
        assert call(*words, "--save", tmp_path / f"{name}.fit").code == 0
    printed = parsed(call("test", tmp_path / "full.fit", "--against", tmp_path / "small.fit", "--json"))["notes"]
    assert any("`askance fit --method marginal` gives the exact one" in note for note in printed)
    test = fit_in(tmp_path / "full.fit").likelihood_ratio_test(fit_in(tmp_path / "small.fit"))
    assert any('method="marginal" gives the exact one' in note for note in test.notes)


def test_contrasts_of_groups(folder: Path) -> None:
    words = ("fit", folder / "survey.csv", "--formula", FULL, *FORCED, "--by", "region", "--contrasts")
    fit = regress(FULL, read_table(folder / "survey.csv"), DESIGN, method="marginal")
    expected = fit.prevalence(by="region", population=True).contrasts()
    printed = parsed(call(*words, "--json"))["contrasts"]
    assert printed == [{"by": "region", **expected.to_json()}]
    assert expected.summary() in call(*words).out
    assert_one_line(call(*words[:-3], "--contrasts"), ("--contrasts is given without --by",))


def test_other_readings_as_a_table(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "readings.csv"
    outcome = call(
        "sensitivity", folder / "survey.csv", "--formula", SMALL, *FORCED, "--share", "0.1", "--table", place
    )
    assert outcome.code == 0
    assert place.read_text().startswith("reading,quantity,estimate,std_error,lower,upper\nas planned,share of yes,")


def test_fits_side_by_side(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "fits.csv"
    outcome = call("compare", folder / "small.fit", folder / "full.fit", "--names", "one,two", "--table", place)
    fits = {"one": fit_in(folder / "small.fit"), "two": fit_in(folder / "full.fit")}
    assert outcome.out.strip() == compare_fits(fits).summary()
    rows = list(csv.DictReader(place.read_text().splitlines()))
    assert [row["fit"] for row in rows] == ["one"] * 3 + ["two"] * 4
    assert [float(row["estimate"]) for row in rows[:3]] == fits["one"].theta.tolist()
    assert parsed(call("compare", folder / "full.fit", "--json"))["fits"][0]["name"] == "full"


@pytest.mark.parametrize("ending", [".tex", ".html", ".md", ".csv"])
def test_tables_as_files(ending: str, folder: Path, tmp_path: Path) -> None:
    place = tmp_path / f"table{ending}"
    outcome = call("fit", folder / "survey.csv", "--formula", FULL, *FORCED, "--table", place)
    assert outcome.code == 0
    fit = fit_in(folder / "full.fit")
    text = place.read_text(encoding="utf-8")
    forms = {".tex": fit.to_latex(), ".md": fit.to_markdown(), ".csv": fit.to_csv()}
    if ending == ".html":
        assert text.startswith("<!DOCTYPE html>")
        assert "<h1>Regression of yes against no</h1>" in text
    else:
        assert text.strip() == forms[ending].strip()


def test_refusals(folder: Path, tmp_path: Path) -> None:
    full, tally = folder / "full.fit", tmp_path / "answers.tally"
    save(Tally(DESIGN, [60, 40]), tally)
    page = tmp_path / "page.html"
    refused: dict[tuple[Any, ...], str] = {
        ("predict", tally, folder / "survey.csv"): "holds a tally; allowed: a fit",
        ("test", full): "exactly one of --zero, --against",
        ("test", full, "--zero", "agee"): "there is no parameter 'agee'",
        ("test", folder / "small.fit", "--against", full): "not nested",
        ("compare", full, full): "a name of its own for each",
        ("compare", full, "--names", "a,b"): "a name of its own for each",
        ("compare", full, "--table", tmp_path / "fits.doc"): "allowed: a name that ends in .tex",
        ("report", tally, "-o", page): "holds a tally",
        ("report", full, "-o", tmp_path / "page.pdf"): "ends in .html",
        ("report", folder / "survey.csv", "-o", page): "survey.csv",
        ("fit", folder / "survey.csv", "--formula", "said ~ 1", *FORCED, "--effects"): "no variable",
    }
    for words, message in refused.items():
        outcome = call(*words)
        assert_one_line(outcome, (message,))
    assert not page.exists()


# -- the report --------------------------------------------------------------------------------------------------------


class Outline(HTMLParser):
    """Tags that are open, headings, and addresses that a browser would ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.headings: list[str] = []
        self.addresses: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "line", "circle"):
            self.opened.append(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href", "srcset")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.opened and re.fullmatch("h[1-6]", self.opened[-1]):
            self.headings.append(data)


def _hidden() -> Any:
    rng, lies = np.random.default_rng(4), StochasticLieDetector(["1/5", "4/5"])
    pairs = np.array(lies.combinations(*(np.where(rng.random(1500) < p, "yes", "no") for p in (0.3, 0.75))))
    group = rng.integers(1, 3, 1500)
    said = np.where(group == 1, lies.arms[1].simulate(pairs, rng), lies.arms[2].simulate(pairs, rng))
    data = {"said": said, "group": group, "<age>": rng.normal(size=1500)}
    fit = regress("said ~ `<age>`", data, lies, arm="group")
    return fit.with_tables(fit.shares("trait"))


def _pages(folder: Path) -> Iterator[tuple[Any, str]]:
    for fit in (fit_in(folder / "full.fit"), _hidden()):
        yield fit, report_page(fit)


def test_a_report_is_whole_and_asks_nothing_of_the_network(folder: Path) -> None:
    for fit, page in _pages(folder):
        outline = Outline(page)
        assert outline.opened == []
        assert outline.addresses == []
        assert "http" not in page
        assert "url(" not in page
        assert outline.headings[0].startswith("Report on said ~ ")
        assert {"The design", "Estimates", "What was checked, and what to know"} <= set(outline.headings)
        assert f"{fit.theta[1]:.4f}" in outline.words
        assert f"{fit.n_observations:,}" in outline.words
        assert page.count("<figure><svg") == 1
        assert re.search(r'role="img" aria-labelledby="figure-title figure-words"', page)
        assert "@media print" in page
        assert page.count("<table>") == page.count("<caption>") + sum(not t.title for t in fit.kept_tables)
        for table in fit.kept_tables:
            assert table.to_html() in page


def test_a_report_shows_the_probabilities_of_the_design(folder: Path) -> None:
    (_, page), (hidden, other) = _pages(folder)
    assert "truth 2/3: probability of being told to answer truthfully" in page
    assert ">0.8333<" in page
    assert "e^1.609 = 5 times as likely" in page
    assert len(hidden.channel["parts"]) == 2
    assert other.count("Probability of every report, by trait &amp; honest (in columns)") == 2
    assert "<dd>trait (&#x27;no&#x27;, &#x27;yes&#x27;); honest (&#x27;no&#x27;, &#x27;yes&#x27;)</dd>" in other
    assert "<li>Assumed: everybody with the trait admits it with the same probability" in other
    assert "<dd>stochastic-lie-detector: truth (1/5, 4/5), groups (1, 2)</dd>" in other
    assert "<h3>Group 2</h3>" in other
    assert "`&lt;age&gt;`" in other
    assert "<age>" not in other


def test_a_report_says_what_is_wrong(folder: Path) -> None:
    fit = fit_in(folder / "full.fit")
    diagnostics = replace(fit.diagnostics, messages=("3 of 1200 rows dropped for missing values", "weighted by w"))
    bad = replace(fit, converged=False, alarm="these <reports> cannot be", diagnostics=diagnostics)
    page = report_page(bad, title="A & B")
    assert "<h1>A &amp; B</h1>" in page
    assert "these &lt;reports&gt; cannot be" in page
    assert "did NOT converge" in page
    assert "3 of 1200 rows dropped for missing values" in page
    assert "Weighted by w" in page


def test_the_command_writes_the_page(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "report.html"
    printed = parsed(call("report", folder / "full.fit", "-o", place, "--title", "Smoking", "--json"))
    assert printed["tables"][0] == "Share of yes"
    page = place.read_text(encoding="utf-8")
    assert page == report_page(fit_in(folder / "full.fit"), "Smoking")
    assert json.dumps(printed)
