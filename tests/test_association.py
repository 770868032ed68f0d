"""Two answers, of which one or both are hidden: tables from exact frequencies, errors by hand, the numbers of R."""

from __future__ import annotations

import csv
import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import Direct, Drawn, RandomizedResponse, Warner
from askance.channels.product import product_channel
from askance.errors import AskanceError, InputError, NotIdentifiedError
from askance.survey import Codebook, Question, association

from .real_data import needs_data
from .test_cli import assert_one_line, call, parsed

FIRST, SECOND = Warner("4/5"), Warner("3/4")
DESIGNS = {"a": FIRST, "b": SECOND}


def pairs(shares: list[float], n: int) -> dict[str, list[str]]:
    """A survey in which every pair of reports is as frequent as the designs say."""
    channel = product_channel([FIRST, SECOND])
    counts = [round(count) for count in channel.matrix @ np.array(shares) * n]
    assert sum(counts) == n
    said = [
        str(label).split(" & ")
        for label, count in zip(channel.observations.labels, counts, strict=True)
        for _ in range(count)
    ]
    return {"a": [one for one, _ in said], "b": [other for _, other in said]}


def test_a_table_from_exact_frequencies() -> None:
    """The shares of pairs, φ and the odds ratio to the last digits, and φ's error by the delta method on counts."""
    shares, n = [0.4, 0.1, 0.2, 0.3], 4000
    result = association(pairs(shares, n), DESIGNS)
    assert result.shares is not None
    assert result.correlation is not None
    assert result.odds_ratio is not None
    np.testing.assert_allclose(result.shares.estimate, shares, atol=1e-8)
    phi = (0.3 - 0.5 * 0.4) / np.sqrt(0.5 * 0.5 * 0.4 * 0.6)
    assert result.correlation.estimate == pytest.approx(phi, abs=1e-8)
    assert result.odds_ratio.estimate == pytest.approx(0.4 * 0.3 / (0.1 * 0.2), rel=1e-7)
    channel = product_channel([FIRST, SECOND])
    q = channel.matrix @ shares

    def of(frequencies: Any) -> float:
        p = np.linalg.solve(channel.matrix, frequencies)
        a, b = p[2] + p[3], p[1] + p[3]
        return float((p[3] - a * b) / np.sqrt(a * (1 - a) * b * (1 - b)))

    slope = np.array([(of(q + h) - of(q - h)) / 2e-6 for h in 1e-6 * np.eye(4)])
    error = np.sqrt(slope @ (np.diag(q) - np.outer(q, q)) @ slope / n)
    assert result.correlation.standard_error == pytest.approx(error, rel=1e-5)
    z = np.arctanh(phi) + 1.959964 * np.array([-1, 1]) * error / (1 - phi**2)
    assert (result.correlation.lower, result.correlation.upper) == pytest.approx(tuple(np.tanh(z)), abs=1e-5)
    assert result.independence is not None
    z_ratio = np.log(result.odds_ratio.estimate) / (result.odds_ratio.standard_error / result.odds_ratio.estimate)
    assert result.independence.statistic == pytest.approx(z_ratio**2, rel=1e-6)
    assert "odds ratio" in result.summary()
    assert len(result.to_json()["rows"]) == 6


def test_printing_shows_the_table() -> None:
    found = association(pairs([0.25, 0.25, 0.25, 0.25], 1600), DESIGNS)
    assert str(found) == found.summary()
    assert found.fit is not None
    assert str(found.fit.prevalence()) == found.fit.prevalence().summary()
    assert str(found.fit) == found.fit.summary()


def test_what_is_seen_needs_no_design() -> None:
    """A category is as if it came through `Direct`; a number has a correlation alone."""
    rng = np.random.default_rng(1)
    truth = rng.random(3000) < 0.4
    y = truth + rng.normal(size=3000)
    data = {"a": FIRST.simulate(np.where(truth, "yes", "no"), rng), "b": np.where(y > 0.5, "yes", "no"), "y": y}
    seen = association(data, {"a": FIRST, "b": None})
    told = association(data, {"a": FIRST, "b": Direct(["no", "yes"])})
    assert seen.correlation is not None
    assert told.correlation is not None
    assert seen.correlation.estimate == pytest.approx(told.correlation.estimate, rel=1e-9)
    number = association(data, {"y": None, "a": FIRST}).correlation
    assert number is not None
    # As where the sample correlation of 0/1 reports is divided by what noise leaves of it.
    said = (data["a"] == "yes").astype(float)
    p = (said.mean() - 0.2) / 0.6
    attenuation = 0.6 * np.sqrt(p * (1 - p)) / said.std()
    assert number.estimate == pytest.approx(np.corrcoef(said, y)[0, 1] / attenuation, rel=1e-9)
    draws = []
    for _ in range(300):  # the bootstrap's spread, within 20 % (its own error is 4 %)
        rows = rng.integers(0, 3000, 3000)
        s, p_ = said[rows], (said[rows].mean() - 0.2) / 0.6
        draws.append(np.corrcoef(s, y[rows])[0, 1] * s.std() / (0.6 * np.sqrt(p_ * (1 - p_))))
    assert number.standard_error == pytest.approx(np.std(draws), rel=0.2)


def test_larger_tables_weights_and_clusters() -> None:
    rng = np.random.default_rng(2)
    three = RandomizedResponse("3/5", outputs=["x", "y", "z"])
    truth = rng.integers(0, 3, 4000)
    data = {
        "a": three.simulate(np.array(["x", "y", "z"])[truth], rng),
        "b": FIRST.simulate(np.where(rng.random(4000) < 0.2 + 0.2 * truth, "yes", "no"), rng),
        "w": rng.uniform(0.5, 2, 4000),
        "c": np.arange(4000) // 10,
    }
    result = association(data, {"a": three, "b": FIRST}, weights="w", cluster="c")
    assert result.correlation is None
    assert result.independence is not None
    assert result.independence.degrees_of_freedom == 2
    assert result.independence.p_value < 1e-6
    assert "standard errors clustered by c" in result.messages


def test_a_table_that_is_none_is_repaired_and_says_so() -> None:
    """Reports that never differ, through dice: the unbiased table has shares below 0."""
    data = {"a": ["yes"] * 30 + ["no"] * 30, "b": ["yes"] * 30 + ["no"] * 30}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = association(data, DESIGNS)
    assert caught
    assert result.fit is not None
    assert result.fit.repaired
    assert result.shares is not None
    assert (result.shares.estimate > 0).all()
    assert result.messages


@pytest.mark.parametrize(
    ("designs", "words"),
    [
        ({"a": FIRST}, "1 columns"),
        ({"a": None, "b": None}, "at least one of them with a design"),
        ({"a": "warner", "b": FIRST}, "the design of 'a'"),
        ({"a": FIRST, "c": SECOND}, "no column 'c'"),
    ],
)
def test_refusals(designs: Any, words: str) -> None:
    with pytest.raises(AskanceError, match=words):
        association({"a": ["yes", "no"], "b": ["no", "yes"]}, designs)


def test_a_share_that_is_none_has_no_correlation_with_a_number() -> None:
    with pytest.raises(NotIdentifiedError, match="which is none"):
        association({"a": ["no"] * 50, "y": np.arange(50) + 0.5}, {"a": FIRST, "y": None})


def test_rrcor() -> None:
    with gzip.open(needs_data("r_designs_other.csv.gz"), "rt", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["case"] == "RRlin"]
    data = {
        "response": [int(row["response"]) for row in rows],
        "response2": [int(float(row["response2_or_group"])) for row in rows],
        "cov": [float(row["x"]) for row in rows],
    }
    designs: dict[str, Any] = {"response": Warner("1/6"), "response2": Warner("0.35"), "cov": None}
    with open(needs_data("r_answers.csv"), encoding="utf-8") as file:
        theirs = {
            row["parameter"]: float(row["estimate"]) for row in csv.DictReader(file) if row["function"] == "RRcor"
        }
    assert len(theirs) == 3
    for pair, value in theirs.items():
        ours = association(data, {name: designs[name] for name in pair.split(":")}).correlation
        assert ours is not None
        assert ours.estimate == pytest.approx(value, abs=1e-4)


def test_the_command_line(tmp_path: Path) -> None:
    data = pairs([0.4, 0.1, 0.2, 0.3], 4000)
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in zip(data["a"], data["b"], strict=True)), "utf-8")
    hidden = ("--hidden", "a=warner:question=4/5", "--hidden", "b=warner:question=3/4")
    told = parsed(call("association", str(path), *hidden, "--json"))
    ours = association(data, DESIGNS)
    assert ours.correlation is not None
    assert told["rows"][4]["estimate"] == pytest.approx(ours.correlation.estimate, rel=1e-6)
    assert "odds ratio" in call("association", str(path), *hidden[:2], "--seen", "b").out
    assert_one_line(call("association", str(path), *hidden[:2]), ("--hidden", "allowed: two"))


def test_a_column_that_is_seen_is_named_once(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("a,b,c\nno,no,no\nyes,no,yes\n")
    asked = call("association", str(table), "--hidden", "a=warner:question=2/3", "--seen", "b", "--seen", "c")
    assert_one_line(asked, ("3 columns", "two"))
    assert_one_line(call("association", str(table), "--hidden", "a=warner", "--seen", "b"), ("no probabilities",))


CODEBOOK = """codebook = 1
missing = [-9]
weights = "w"
strata = "half"

[questions.first]
column = "Q1"
labels = {1 = "yes", 2 = "no"}
design = {kind = "warner", question = "4/5"}

[questions.second]
column = "Q2"
positive = 7
design = {kind = "warner", question = "3/4"}

[questions.region]
column = "Q3"

[questions.ways]
column = "Q4"
arm = "half"
designs = {a = {kind = "direct"}, b = {kind = "warner", question = "3/4"}}
"""


def test_a_codebook_says_what_flags_would(tmp_path: Path) -> None:
    """Its labels, codes of none, weights and values for yes: the same figures as from a table that is clean."""
    clean = pairs([0.4, 0.1, 0.2, 0.3], 4000)
    w = np.arange(4000) % 3 + 1.0
    rows = [
        f"{1 if a == 'yes' else 2},{7 if b == 'yes' else 3},{'ns'[i % 2]},{a},{w[i]:g},{i % 2}"
        for i, (a, b) in enumerate(zip(clean["a"], clean["b"], strict=True))
    ]
    (tmp_path / "study.toml").write_text(CODEBOOK, "utf-8")
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["Q1,Q2,Q3,Q4,w,half", *rows, "-9,7,n,yes,1,0"]) + "\n", "utf-8")
    start = ("association", str(path), "--codebook", str(tmp_path / "study.toml"))
    told = parsed(call(*start, "--hidden", "first", "--hidden", "second", "--missing", "drop", "--json"))
    ours = association({**clean, "w": w}, DESIGNS, weights="w")
    assert ours.correlation is not None
    assert told["rows"][4]["estimate"] == pytest.approx(ours.correlation.estimate, rel=1e-9)
    assert told["rows"][4]["std_error"] == pytest.approx(ours.correlation.standard_error, rel=1e-9)
    assert any("half of the codebook not used" in note for note in told["notes"])
    assert call(*start, "--hidden", "first", "--seen", "region", "--missing", "drop").code == 0
    for more, words in [
        (("--hidden", "first=warner:question=4/5", "--hidden", "second"), ("both say the design",)),
        (("--hidden", "first", "--seen", "second"), ("--seen is 'second'", "--hidden second")),
        (("--hidden", "first", "--hidden", "region"), ("no design of 'region'",)),
        (("--hidden", "first", "--hidden", "frist"), ("'frist'", "first")),
        (("--hidden", "first", "--hidden", "ways"), ("'ways' was asked in several ways",)),
    ]:
        assert_one_line(call(*start, *more), words)
    assert_one_line(call("association", str(path), "--hidden", "Q1", "--seen", "Q3"), ("COLUMN=DESIGN", "--codebook"))


def test_a_codebook_and_designs_are_not_both_given() -> None:
    codebook = Codebook({"a": Question("a", "a", design=FIRST)})
    with pytest.raises(InputError, match="with a codebook, two names"):
        association({"a": ["yes"], "b": ["no"]}, DESIGNS, codebook=codebook)
    copies = Codebook(codebook.questions, drawn=Drawn(weights="w", replicates="w?", replicate_kind="JK1"))
    with pytest.raises(InputError, match="has replicate weights"):
        association({"a": ["yes"], "b": ["no"]}, ["a", "b"], codebook=copies)
