"""One file says what was asked: the table, the design, weights and gaps follow from it, for fits and for plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from askance import Direct, Drawn, ForcedResponse, regress
from askance.errors import FormatError, InputError, LabelError
from askance.survey import Codebook, Question, association, read_codebook, read_table

from .test_cli import assert_one_line, call, parsed

DESIGN = ForcedResponse("2/3", "1/6")
STUDY = """
codebook = 1
title = "Exams"
missing = [-99]
weights = "wgt"
cluster = "school"
keep = {Finished = ["True"]}

[questions.cheated]
column = "Q7"
text = "Have you ever cheated in an exam?"
texts = {de = "Haben Sie je in einer Prüfung betrogen?"}
labels = {1 = "yes", 2 = "no"}
missing = [8]

[questions.cheated.design]
kind = "forced-response"
truth = "2/3"
yes = "1/6"

[questions.region]
column = "Q2"
labels = {A1 = "north", A2 = "south"}
"""
ARMED = """
codebook = 1
[questions.said]
arm = "version"
positive = "Y"
[questions.said.designs.1]
kind = "forced-response"
truth = "2/3"
yes = "1/6"
[questions.said.designs.2]
kind = "direct"
[questions.listed]
treated = "long"
design = {kind = "list-experiment", items = 2}
"""

SECOND = """
[questions.lied]
positive = "Y"
design = {kind = "warner", question = "2/3"}
"""


def written(path: Path, text: str = STUDY) -> Path:
    path.write_text(text)
    return path


def study(n: int = 600) -> dict[str, Any]:
    """As a table has it, and as it is meant."""
    rng = np.random.default_rng(12)
    said = DESIGN.simulate(np.where(rng.random(n) < 0.3, "yes", "no"), rng)
    return {
        "Q7": np.where(said == "yes", 1, 2),
        "Q2": rng.choice(["A1", "A2"], n),
        "age": rng.integers(20, 60, n),
        "wgt": rng.uniform(0.5, 2, n),
        "school": rng.integers(0, 40, n),
        "Finished": rng.random(n) < 0.9,
    }


@pytest.fixture
def codebook(tmp_path: Path) -> Codebook:
    return read_codebook(written(tmp_path / "study.toml"))


def test_what_a_codebook_says(codebook: Codebook) -> None:
    question = codebook.question("cheated")
    assert codebook.design("cheated") == DESIGN
    assert (question.column, question.text) == ("Q7", "Have you ever cheated in an exam?")
    assert question.texts["de"].startswith("Haben Sie")
    assert (codebook.title, codebook.hidden) == ("Exams", ["cheated"])
    assert codebook.question("region").design is None


def test_a_fit_by_the_codebook_is_the_one_by_hand(codebook: Codebook) -> None:
    data = study()
    data["Q7"][[0, 1]], data["age"][2] = [8, -99], -99
    kept = data["Finished"] & (data["Q7"] != 8) & (data["Q7"] != -99) & (data["age"] != -99)
    by_hand = regress(
        "said ~ age + region",
        {
            "said": np.where(data["Q7"] == 1, "yes", "no")[kept],
            "age": data["age"][kept],
            "region": np.where(data["Q2"] == "A1", "north", "south")[kept],
            "wgt": data["wgt"][kept],
            "school": data["school"][kept],
        },
        DESIGN,
        weights="wgt",
        cluster="school",
    )
    fit = regress("cheated ~ age + region", data, codebook, missing="drop")
    np.testing.assert_allclose(fit.theta, by_hand.theta, rtol=1e-12)
    np.testing.assert_allclose(fit.standard_errors, by_hand.standard_errors, rtol=1e-12)
    assert fit.parameter_names == ("Intercept", "age", "region[T.south]")
    left = int((~data["Finished"]).sum())
    assert fit.messages[0] == f"{left} of 600 rows do not count: their Finished is not True"
    plain = regress("cheated ~ age + region", data, codebook, missing="drop", weights="age")
    assert "weighted by age" in plain.messages


def test_values_that_have_no_label(codebook: Codebook) -> None:
    data = study()
    data["Q7"][5], data["Finished"] = 3, np.ones(600, dtype=bool)
    with pytest.raises(LabelError, match=r"column 'Q7' holds '3', of which the codebook has no label; found: '1', '2'"):
        regress("cheated ~ age", data, codebook)


def test_labels_may_stand_in_the_column_already(codebook: Codebook) -> None:
    table = codebook.table({"Q2": ["south", "A1", None], "Finished": [True, True, True]})
    assert table["region"].values[:2].tolist() == ["south", "north"]
    assert table["region"].levels == ("north", "south")
    assert table["region"].missing.tolist() == [False, False, True]


def test_arms_and_lists(tmp_path: Path) -> None:
    codebook = read_codebook(written(tmp_path / "armed.toml", ARMED))
    rng = np.random.default_rng(1)
    truth, version, long = np.where(rng.random(900) < 0.3, "Y", "N"), rng.integers(1, 3, 900), rng.integers(0, 2, 900)
    noised = np.where(DESIGN.simulate(np.where(truth == "Y", "yes", "no"), rng) == "yes", "Y", "N")
    data = {"said": np.where(version == 1, noised, truth), "version": version, "long": long}
    data["listed"] = rng.binomial(2, 0.5, 900) + long * (truth == "Y")
    fit = regress("said ~ 1", data, codebook)
    arms = {1: DESIGN, 2: Direct(["no", "yes"])}
    np.testing.assert_allclose(
        fit.theta, regress("said ~ 1", data, arms, arm="version", positive="Y").theta, rtol=1e-12
    )
    assert regress("listed ~ 1", data, codebook).shares("trait").estimate[1] == pytest.approx(0.3, abs=0.15)
    assert codebook.channels("said") == list(arms.values())
    with pytest.raises(InputError, match="'listed' has a design with groups of its own"):
        codebook.channels("listed")


def test_the_question_may_stand_right_of_the_tilde(tmp_path: Path) -> None:
    codebook = read_codebook(written(tmp_path / "a.toml"))
    assert codebook.asked("civic ~ age + hidden(cheated)")[0] == DESIGN
    assert codebook.asked("civic ~ hidden(cheated ~ age)")[0] == DESIGN
    assert codebook.asked("`cheated` ~ age")[1].column == "Q7"
    assert codebook.drawn == Drawn(weights="wgt", cluster="school")
    both: Any = read_codebook(written(tmp_path / "b.toml", STUDY + SECOND)).asked(
        "civic ~ hidden(cheated) + hidden(lied)"
    )
    assert {name: design.kind for name, design in both[0].items()} == {"cheated": "forced-response", "lied": "warner"}


def test_a_codebook_says_all_of_how_people_were_drawn(tmp_path: Path) -> None:
    said = 'weights = "w"\nreplicates = ["a", "b"]\nreplicate_kind = "JKn"\nreplicate_scale = 1\n'
    path = written(tmp_path / "a.toml", "codebook = 1\n" + said + "replicate_scales = [0.5, 0.75]\n[questions]\n")
    assert read_codebook(path).drawn == Drawn(
        weights="w", replicates=["a", "b"], replicate_kind="JKn", replicate_scale=1, replicate_scales=[0.5, 0.75]
    )
    with pytest.raises(FormatError, match=r"field 'fay' of .* is 'half'; allowed: a number"):
        read_codebook(written(tmp_path / "b.toml", 'codebook = 1\nfay = "half"\n[questions]\n'))


def test_a_hidden_cause_by_the_codebook(codebook: Codebook) -> None:
    data = study()
    data["civic"] = np.where(np.random.default_rng(3).random(600) < 0.5, "yes", "no")
    by_hand = {
        **codebook.table(data)
        .part(["cheated", "civic", "age", "wgt", "school"])
        .to_pandas(["cheated", "civic", "age", "wgt", "school"])
    }
    fit = regress("civic ~ age + hidden(cheated)", data, codebook)
    same = regress("civic ~ age + hidden(cheated)", by_hand, DESIGN, weights="wgt", cluster="school")
    np.testing.assert_allclose(fit.theta, same.theta, rtol=1e-9)


WRONG = {
    "no version": (STUDY.replace("codebook = 1", ""), "says codebook = None; allowed: 1"),
    "a later version": (STUDY.replace("codebook = 1", "codebook = 2"), "says codebook = 2; allowed: 1. Read it with"),
    "no TOML": ("codebook = 1\nx = ]\n", "line 2: 'x = ]' is not TOML: no value follows"),
    "a field": (
        STUDY.replace('weights = "wgt"', 'weigths = "wgt"'),
        "has 'weigths'; allowed: .*Did you mean 'weights'",
    ),
    "a field of a question": (STUDY.replace("text =", "wording ="), "questions.cheated of .* has 'wording'; allowed:"),
    "a type": (STUDY.replace('column = "Q7"', "column = 7"), "field 'column' of questions.cheated of .* is 7"),
    "a parameter": (STUDY.replace("truth =", "thruth ="), "'design' of questions.cheated of .* no parameter 'thruth'"),
    "a probability": (
        STUDY.replace("2/3", "5/3"),
        "'design' of questions.cheated of .* truth is 1.66667; allowed: 0 to 1",
    ),
    "a column twice": (STUDY.replace('"Q2"', '"Q7"'), "two questions are in column 'Q7'"),
    "a list of lists": (STUDY.replace("[-99]", "[[-99]]"), "'missing' of .* allowed: values, such as"),
    "both": (STUDY + '[questions.x]\narm = "a"\ntreated = "b"\n', "questions.x of .* has both arm and treated"),
    "groups in an arm": (
        ARMED.replace('kind = "direct"', 'kind = "list-experiment"'),
        "'2' of 'designs' of questions.said of .* has groups of its own",
    ),
    "no questions": ("codebook = 1\n", "has no field 'questions'"),
    "no table": ("codebook = 1\nquestions.a = 3\n", "questions.a of .* is 3; allowed: an object"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=list(WRONG))
def test_what_a_codebook_may_not_say(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        read_codebook(written(tmp_path / "study.toml", text))
    assert "\n" not in str(caught.value)


def test_questions_that_are_not_there(codebook: Codebook) -> None:
    with pytest.raises(InputError, match=r"no question 'cheeted'; found: 'cheated', 'region'\. Did you mean 'cheated'"):
        regress("cheeted ~ age", study(), codebook)
    with pytest.raises(InputError, match=r"no design of 'region'; found: 'cheated'. Add \[questions.region.design\]"):
        regress("region ~ age", study(), codebook)
    with pytest.raises(InputError, match="found: none"):
        Codebook({"a": Question("a", "a")}).design("a")


def test_a_question_whose_column_is_not_in_the_table(codebook: Codebook) -> None:
    data = {{"Q7": "Q07"}.get(name, name): values for name, values in study().items()}
    missing = r"has the question 'cheated' in column 'Q7', which is not there; found: 'Q07', .*Did you mean 'Q07'\?"
    for formula in ("cheated ~ age", "age ~ hidden(cheated)"):
        with pytest.raises(InputError, match=missing):
            regress(formula, data, codebook)
    with pytest.raises(InputError, match=missing):
        association(data, ["cheated", "region"], codebook=codebook)
    assert "region" in codebook.table(data)  # waves need not have all questions


@pytest.mark.parametrize(
    ("formula", "noised"),
    [
        ("lied ~ cheated + age", "cheated"),
        ("lied ~ .", "cheated"),
        ("lied ~ log(age) + C(cheated):age", "cheated"),
        ("cheated ~ age + hidden(lied)", "cheated"),
        ("age ~ cheated + hidden(lied)", "cheated"),
        ("age ~ hidden(lied ~ cheated)", "cheated"),
    ],
)
def test_what_was_noised_is_not_taken_for_the_answer(formula: str, noised: str) -> None:
    ways = {"dice": DESIGN, "direct": Direct(["no", "yes"])}
    asked = {"cheated": Question("cheated", "Q7", design=ways), "lied": Question("lied", "Q8", design=DESIGN)}
    table = {"Q7": ["yes", "no"], "Q8": ["no", "yes"], "age": [20, 30]}
    with pytest.raises(InputError) as refused:
        regress(formula, table, Codebook(asked))
    assert repr(formula) in str(refused.value)
    assert f"{noised} was noised" in str(refused.value)
    assert f"hidden({noised})" in str(refused.value)


def test_what_was_asked_directly_explains_as_it_is() -> None:
    open_question = Question("works", "Q9", design=Direct(["no", "yes"]))
    book = Codebook({"cheated": Question("cheated", "Q7", design=DESIGN), "works": open_question})
    rng = np.random.default_rng(4)
    said, works = DESIGN.simulate(rng.choice(["no", "yes"], 400), rng), rng.choice(["no", "yes"], 400)
    by_book = regress("cheated ~ works", {"Q7": said, "Q9": works}, book)
    by_hand = regress("cheated ~ works", {"cheated": said, "works": works}, DESIGN)
    assert by_book.theta.tolist() == by_hand.theta.tolist()


def test_commands(tmp_path: Path) -> None:
    path, data = str(written(tmp_path / "study.toml")), study()
    pd.DataFrame(data).to_csv(tmp_path / "a.csv", index=False)
    content = parsed(call("fit", str(tmp_path / "a.csv"), "--codebook", path, "--formula", "cheated ~ age", "--json"))
    fit = regress("cheated ~ age", read_table(tmp_path / "a.csv"), read_codebook(path))
    assert content["coefficients"][1]["estimate"] == pytest.approx(fit.theta[1], rel=1e-12)
    shifted = call("sensitivity", str(tmp_path / "a.csv"), "--codebook", path, "--formula", "cheated ~ age", "--json")
    assert parsed(shifted)["scenarios"][0]["estimates"][1] == pytest.approx(fit.theta[1], rel=1e-12)
    goal = ["--prevalence", "0.2", "--respondents", "1000"]
    for question in ([], ["--question", "cheated"]):
        plan = parsed(call("plan", "survey", "--codebook", path, *question, *goal, "--json"))
        assert [row["design"] for row in plan["designs"]] == ["forced-response"]
    refused = [
        (["--question", "cheated"], "--question is given without --codebook"),
        (["--codebook", path, "--design", "warner"], "--design and --codebook are given"),
        (["--codebook", path, "--privacy-level", "1"], "--privacy-level and --codebook are given"),
        (["--codebook", str(written(tmp_path / "b.toml", ARMED))], "2 questions with a design"),
    ]
    for flags, message in refused:
        assert_one_line(call("plan", "survey", *flags, *goal), (message,))
