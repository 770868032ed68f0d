"""`askance regions`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from askance.cli.text.regions import regions_command
from askance.errors import FormatError, InputError, LabelError
from askance.text.io.region_file import read_regions

TSV = "# columns: form\txpos\tupos\n" + "the\tDT\tDET\ndog\tNN\tNOUN\nbarks\tVBZ\tVERB\n,\t,\tPUNCT\n\n" * 20


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "a.tsv").write_text(TSV)
    return tmp_path / "a.tsv"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(regions_command, list(map(str, arguments)))


def test_regions_are_written_and_summed_up(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.jsonl"
    result = run(corpus, "--window", 3, "-o", output, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {
        "regions": 20,
        "sentences": 20,
        "tokens": 80,
        "tokens_in_regions": 60,
        "tagset": [",", "DT", "NN", "VBZ"],
        "window": "3",
        "tags": "all",
        "seed": 0,
        "output": str(output),
    }
    found = read_regions(output).regions
    assert set(found.start % 4) == {0, 1}
    assert found.closed.all()
    assert found.lengths.tolist() == [3] * 20
    first = output.read_bytes()
    assert "20, of 3.0 tokens on average" in run(corpus, "--window", 3, "-o", output).stdout
    assert output.read_bytes() == first
    run(corpus, "--window", 3, "--seed", 1, "-o", output)
    assert output.read_bytes() != first


@pytest.mark.parametrize(
    ("tags", "asked"), [("2", None), ("NN,VBZ", {"NN", "VBZ"}), ('NN,","', {"NN", ","}), ('","', {","})]
)
def test_some_tags(corpus: Path, tmp_path: Path, tags: str, asked: set[str] | None) -> None:
    assert run(corpus, "--window", "sentence", "--tags", tags, "-o", tmp_path / "r.jsonl").exit_code == 0
    found = read_regions(tmp_path / "r.jsonl").regions
    assert found.lengths.tolist() == [4] * 20
    assert not found.closed.any()
    for r in range(20):
        region = found.region(r)
        assert set(region.counts) == asked if asked else len(region.counts) == 2
        assert set(region.counts.values()) == {1}


def test_columns_and_several_regions_of_a_sentence(corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "r.jsonl.gz"
    assert run(corpus, "--window", 3, "--per-sentence", 5, "--tag-column", "upos", "-o", output).exit_code == 0
    found = read_regions(output).regions
    assert (len(found), found.tagset) == (40, ("DET", "NOUN", "PUNCT", "VERB"))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        (["--window", "0"], InputError, "--window is '0'"),
        (["--window", "paragraph"], InputError, "'sentence'"),
        (["--window", "5", "--seed", "-1"], InputError, "--seed is -1"),
        (["--window", "5", "--per-sentence", "0"], InputError, "--per-sentence is 0"),
        (["--window", "5", "--tags", "NN,XX"], LabelError, "'XX'"),
        (["--window", "5", "--tags", "9"], InputError, "tags is 9; .* at most 4"),
        (["--window", "5", "--tags", ""], InputError, "empty list"),
        (["--window", "5", "--tag-column", "pos"], InputError, "no column of tags"),
    ],
)
def test_regions_refuses(corpus: Path, tmp_path: Path, options: list[str], error: type[Exception], words: str) -> None:
    result = run(corpus, *options, "-o", tmp_path / "r.jsonl")
    with pytest.raises(error, match=words):
        raise result.exception or AssertionError(result.output)
    assert not (tmp_path / "r.jsonl").exists()


def test_regions_never_replaces_the_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "a.jsonl"
    corpus.write_text('{"tokens": ["a"], "tags": ["A"]}\n')
    for output, words in ((corpus, "would be replaced"), (tmp_path / "r.tsv", "ends in .jsonl")):
        result = run(corpus, "--window", 5, "-o", output)
        with pytest.raises(InputError, match=words):
            raise result.exception or AssertionError(result.output)
    assert corpus.read_text() == '{"tokens": ["a"], "tags": ["A"]}\n'
    result = run(tmp_path / "missing.tsv", "--window", 5, "-o", tmp_path / "r.jsonl")
    assert isinstance(result.exception, FormatError)


def test_what_the_counts_determine(corpus: Path, tmp_path: Path) -> None:
    from askance.text.counts.identifiability import identifiability

    options = ("--window", 3, "--check", "-o", tmp_path / "r.jsonl")
    found = json.loads(run(corpus, *options, "--json").stdout)
    expected = identifiability(read_regions(tmp_path / "r.jsonl").regions)
    assert found["identifiability"] == json.loads(json.dumps(expected.to_json()))
    assert expected.summary() in run(corpus, *options).stdout
