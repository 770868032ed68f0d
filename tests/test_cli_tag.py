"""`askance tag` and `askance evaluate` on files as people have them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from askance.text import Corpus, CountTagger, write_tagged
from tests.small_corpus import TEST, counted

from .test_cli import assert_one_line, call

CONLLU = """\
# sent_id = s1
# text = the dog's
1-2\tthedog\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tthe\tthe\tX\tX1\tA=b\t2\tdet\t2:det\t_
2\tdog\tdog\t_\tX2\t_\t0\troot\t_\tGloss=hund
2.1\tsits\t_\tX\t_\t_\t_\t_\t_\t_

"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    CountTagger().fit(counted()).save(tmp_path / "model")
    return tmp_path


# -- tag ---------------------------------------------------------------------------------------------------------------


def test_conllu_keeps_its_lines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "in.conllu").write_text(CONLLU, encoding="utf-8")
    expected = CONLLU.replace("the\tX\t", "the\tDT\t").replace("dog\t_\tX2", "dog\tNN\tX2")
    assert call("tag", "model", "in.conllu", "-o", "out.conllu")[:3] == (0, "", "")
    assert (folder / "out.conllu").read_text(encoding="utf-8") == expected
    assert call("tag", "model", "in.conllu", "--to", "conllu").out == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONLLU.encode()), encoding="utf-8"))
    assert call("tag", "model", "--format", "conllu", "--to", "conllu").out == expected
    assert call("tag", "model", "in.conllu").out == "# columns: form\ttag\nthe\tDT\ndog\tNN\n\n"
    (folder / "in.txt").write_text("the dog\n", encoding="utf-8")
    assert call("tag", "model", "in.txt", "--to", "conllu").out.startswith("1\tthe\t_\tDT\t_\t")


def test_notes_and_refusals_name_their_place(folder: Path) -> None:
    (folder / "in.txt").write_text("the dog\nthe\u00a0d\u200bog\n", encoding="utf-8")
    outcome = call("tag", "model", "in.txt")
    assert outcome.out.count("\n") == 7
    assert outcome.err.startswith("askance: warning: in.txt, line 2 holds U+200B (zero width space)")
    (folder / "in.jsonl").write_text('{"tokens": ["a"]}\n{"tokens": ["a\\rb"]}\n', encoding="utf-8")
    said = ("sentence 2 has the word 'a\\rb', which cannot be written as tsv", "write JSON lines: --to jsonl.")
    assert_one_line(call("tag", "model", "in.jsonl"), said)
    assert call("tag", "model", "in.jsonl", "--to", "jsonl").code == 0
    (folder / "in.json").write_text('[{"data": {"text": "a ?", "tokens": ["a", "?"]}, "predictions": []}]')
    assert_one_line(call("evaluate", "model", "in.json"), ("until somebody submits it in the tool",))


@pytest.mark.parametrize(
    "command", ["evaluate model in.tsv", "regions in.tsv --window 2 -o r.jsonl", "tag model in.tsv"]
)
def test_blanks_around_are_one_line_of_warning(folder: Path, command: str) -> None:
    (folder / "in.tsv").write_text("the\tDT \ndog\tNN\n\ndog\tNN\n")
    outcome = call(*command.split())
    told = "askance: warning: in.tsv, line 1: 'DT ' has blanks around it; they were taken off.\n"
    assert (outcome.code, outcome.err) == (0, told)


# -- evaluate ----------------------------------------------------------------------------------------------------------


def test_all_right_is_no_certainty(folder: Path) -> None:
    write_tagged(folder / "gold.tsv", Corpus.of([["the", "dog"]] * 600, [["DT", "NN"]] * 600))
    assert "95 % interval  0.9939 … 1.0000" in call("evaluate", "model", "gold.tsv").out


def test_foreign_tags_are_named(folder: Path) -> None:
    own = {"DT": "DET", "NN": "NN", "VB": "VERB"}
    tags = [[own[str(tag)] for tag in TEST.tags_of(s)] for s in range(len(TEST))]
    write_tagged(folder / "gold.tsv", Corpus.of(list(TEST.sentences()), tags))
    outcome = call("evaluate", "model", "gold.tsv")
    assert outcome.err.startswith("askance: warning: ")
    assert "tokens have a true tag that the tagger does not know and can never give: 'DET', 'VERB'. " in outcome.err
    assert "tokens were given a tag that no token has in truth: 'DT', 'VB'. " in outcome.err
    table = outcome.out.partition("by tag")[2].partition("most frequent")[0]
    lines = {line.split()[0]: line.split() for line in table.splitlines() if line}
    assert lines["DET"][1:4] == ["–", "0.000", "0.000"]
    assert lines["DT"][1:] == ["0.000", "–", "0.000", "0"]
    assert "nan" not in outcome.out
    content = json.loads(call("evaluate", "model", "gold.tsv", "--json").out)
    assert content["warnings"] == [outcome.err.removeprefix("askance: warning: ").rstrip("\n")]


def test_one_tag_stands_for_all_that_were_not_counted(folder: Path) -> None:
    tags = [["VERB" if tag == "VB" else tag for tag in TEST.tags_of(s)] for s in range(len(TEST))]
    write_tagged(folder / "gold.tsv", Corpus.of(list(TEST.sentences()), tags))
    write_tagged(folder / "true.tsv", TEST)
    told = call("evaluate", "model", "gold.tsv", "--rest", "VB")
    assert told.err == ""
    assert told.out.replace("gold.tsv", "true.tsv") == call("evaluate", "model", "true.tsv").out
    assert_one_line(
        call("evaluate", "model", "gold.tsv", "--rest", "VERB"), ("--rest is 'VERB'; allowed: DT, NN, VB.",)
    )


def test_a_test_without_some_of_the_tags_is_fine(folder: Path) -> None:
    write_tagged(folder / "gold.tsv", Corpus.of([["the"]] * 3, [["DT"]] * 3))
    assert call("evaluate", "model", "gold.tsv").err == ""


def test_files_that_hold_no_tags(folder: Path) -> None:
    (folder / "a.txt").write_text("the DT\ndog NN\n")
    (folder / "a.tsv").write_text("the DT\ndog NN\n")
    (folder / "a.conll").write_text("the DT\ndog NN\n")
    (folder / "a.conllu").write_text("1\tthe\tthe\tDT\n")
    for name, said in (
        ("a.txt", "plain text (.txt) has no tags"),
        ("a.tsv", "tr -s ' ' '\\t' < a.tsv > tabs.tsv"),
        ("a.conll", "tr -s ' ' '\\t' < a.conll > a.tsv"),
        ("a.conllu", "Separate the ten columns by tabs"),
    ):
        outcome = call("evaluate", "model", name)
        assert_one_line(outcome, (said,))
        assert "format=" not in outcome.err
    assert_one_line(call("regions", "a.txt", "--window", "2", "-o", "r.jsonl"), ("separated by tabs (.tsv)",))
