"""Bad files and places for every command: one line, exit code 2, nothing written, nothing replaced."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askance import CliqueRelease, ForcedResponse, Tally, save
from askance._checks import as_parameter
from askance.cli.command import askance as root
from askance.cli.shared.errors import in_flags
from askance.errors import ShapeError
from askance.estimation.field import estimate_field
from askance.formats import channel_to_toml
from askance.formats.field_fit_file import field_for
from askance.text import CountTagger, RegionCounts, read_regions, write_regions, write_tagged
from askance.text.corpus.corpus import Corpus

from .collectors import TOKENS
from .test_cli import all_commands, assert_one_line, call, parsed

FIELD = 'cliques = [["smokes", "ill"]]\n[variables]\nsmokes = ["no", "yes"]\nill = ["no", "yes"]\n'
LINEAR = 'outcome = "spending"\n[bounds]\nage = [18, 90]\nspending = [0, 500]\n'
MODEL = '{"kind": "saturated", "outputs": ["no", "yes"]}'
DESIGN = "--formula said~age --design forced-response --truth 2/3 --yes 1/6"
FORCED = ForcedResponse("2/3", "1/6")
CLIQUES = CliqueRelease([2, 2], [[0, 1]], 3)

# Command lines that work, with the input that is exchanged for a bad one as IN, and the output as OUT.
WORKING: dict[str, str] = {
    "aggregate": "aggregate IN:answers.jsonl -o OUT:new.state",
    "audit file": "audit file IN:forced.toml --trials 1000",
    "certify file": "certify file IN:forced.toml",
    "randomize file": "randomize file forced.toml --input IN:people.csv --columns answer -o OUT:new.jsonl",
    "randomize channel": "randomize warner --question 2/3 --input IN:people.csv --columns answer -o OUT:new.parquet",
    "randomize records": "randomize records cliques.toml --variables field.toml --input IN:people.csv -o OUT:new.jsonl",
    "by a channel": "randomize records IN:cliques.toml --variables field.toml --input people.csv -o OUT:r.jsonl",
    "randomize release": "randomize release IN:release.json --input people.csv -o OUT:new.jsonl",
    "fit": f"fit IN:people.csv {DESIGN} --save OUT:new.fit",
    "fit, drawn": f"fit IN:people.csv {DESIGN} --plot OUT:new.png",
    "fit, for a paper": f"fit IN:people.csv {DESIGN} --table OUT:new.tex",
    "predict": "predict people.fit IN:people.csv --table OUT:new.csv",
    "predict by a fit": "predict IN:people.fit people.csv",
    "test": "test IN:people.fit --zero age --table OUT:new.md",
    "compare": "compare people.fit IN:people.fit --names one,two --table OUT:new.html",
    "report": "report IN:people.fit -o OUT:new.html",
    "fit a state": "estimate IN:answers.state --save OUT:new.fit",
    "fit a model": "estimate answers.state --model IN:model.json --save OUT:new.fit",
    "fit a field": "estimate cliques.state --field --variables IN:field.toml --save OUT:new.field",
    "fit tables": "estimate IN:cliques.state --field --variables field.toml --tables OUT:new.csv",
    "fit a release": "fit-linear IN:linear.state --release release.json",
    "by a release": "fit-linear linear.state --release IN:release.json",
    "association": "association IN:people.csv --hidden said=warner:question=3/4 --seen age",
    "sensitivity": f"sensitivity IN:people.csv {DESIGN} --share 0.1 --plot OUT:new.png",
    "optimal": "optimal IN:model.json --theta 0 --privacy-level 1 -o OUT:new.toml",
    "plan model": "plan model IN:model.json --theta 0 --privacy-level 1 --respondents 900 --plot OUT:new.png",
    "plan survey": "plan survey --prevalence 0.2 --respondents 900 --data IN:numbers.csv --plot OUT:new.png",
    "plan field": "plan field IN:field.toml --privacy-level 1 -o OUT:new.toml",
    "plan regression": "plan regression IN:linear.toml --privacy-level 4 -o OUT:new.json",
    "questions": "questions IN:news.txt --tags D,N,V -o OUT:new.csv",
    "questions by model": "questions news.txt --tagger IN:tagger.askance -o OUT:new.csv",
    "other questions": "questions tagged.tsv --tags D,N,V --not-in IN:filled.csv -o OUT:new.csv",
    "answers": "questions --read IN:filled.csv -o OUT:new.jsonl",
    "regions": "regions IN:tagged.tsv --window 2 -o OUT:new.jsonl",
    "train": "train IN:counts.jsonl -o OUT:new.askance",
    "train with labels": "train counts.jsonl --labelled IN:tagged.tsv -o OUT:new.askance",
    "train, stopped in time": "train counts.jsonl --dev IN:tagged.tsv -o OUT:new.askance",
    "tag": "tag tagger.askance IN:news.txt -o OUT:new.tsv",
    "tag by model": "tag IN:tagger.askance news.txt -o OUT:new.tsv",
    "evaluate": "evaluate tagger.askance IN:tagged.tsv",
    "evaluate by model": "evaluate IN:tagger.askance tagged.tsv",
    "synth": "synth IN:people.field -n 5 --seed 1 -o OUT:new.csv",
    "collect check": "collect check IN:exams.toml",
    "collect rehearse": "collect rehearse IN:exams.toml -o OUT:new.csv",
    "collect page": "collect page IN:exams.toml -o OUT:new.html",
    "collect tokens": "collect tokens IN:exams.toml -o OUT:new.csv",
    "collect export": "collect export IN:exams.toml -o OUT:new.csv",
    "collect backup": "collect backup IN:exams.toml -o OUT:new.sqlite",
    "collect restore": "collect restore exams.toml --from IN:noon.sqlite --store fresh.sqlite",
    "collect close": "collect close IN:exams.toml",
    "collect delete": "collect delete IN:exams.toml --id 00112233445566778899aabbccddeeff",
}
# Commands that read no file.
WITHOUT_FILES = {("channels",), ("demo",), ("reproduce",), ("plan", "shares"), ("collect", "new"), ("example",)}
# Commands that end when they are told to: tests/test_cli_collect.py.
WITHOUT_END = {("collect", "serve")}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One file of every kind, by name."""
    folder, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(0)
    rows = ["answer,said,smokes,ill,age,spending"]
    for number in range(60):
        yes = "yes" if rng.random() < 0.4 else "no"
        rows.append(f"{yes},{yes},{yes},{'yes' if rng.random() < 0.5 else 'no'},{20 + number},{5 * number}")
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    (folder / "exams.toml").write_text(TOKENS)
    (folder / "numbers.csv").write_text("age\n20\n30\n50\n")
    for name, text in (("field.toml", FIELD), ("linear.toml", LINEAR), ("model.json", MODEL)):
        (folder / name).write_text(text)
    (folder / "forced.toml").write_text(channel_to_toml(FORCED))
    (folder / "cliques.toml").write_text(channel_to_toml(CLIQUES))
    save(Tally(FORCED, [40, 20]), folder / "answers.state")
    tally = Tally(CLIQUES).add(CLIQUES.simulate(rng.integers(0, 2, (900, 2)), rng))
    save(tally, folder / "cliques.state")
    save(estimate_field(field_for(CLIQUES, folder / "field.toml"), tally), folder / "people.field")
    corpus = Corpus.of([["a", "dog", "barks"], ["a", "cat"]] * 9, [["D", "N", "V"], ["D", "N"]] * 9)
    write_tagged(folder / "tagged.tsv", corpus)
    write_regions(folder / "counts.jsonl", RegionCounts.of_labels(corpus))
    CountTagger("node").fit(read_regions([folder / "counts.jsonl"]).regions).save(folder / "tagger.askance")
    (folder / "news.txt").write_text("a dog barks\n")
    (folder / "filled.csv").write_text("id,sentence,D,N,annotator,comment\n1,[[ a dog ]] barks,1,1,ann,\n")
    for words in (
        f"plan regression {folder}/linear.toml --privacy-level 4 -o {folder}/release.json",
        f"randomize release {folder}/release.json --input {folder}/people.csv -o {folder}/linear.jsonl",
        f"aggregate {folder}/linear.jsonl -o {folder}/linear.state",
        f"fit {folder}/people.csv {DESIGN} --save {folder}/people.fit",
        f"randomize file {folder}/forced.toml --input {folder}/people.csv --columns answer -o {folder}/answers.jsonl",
        f"collect tokens {folder}/exams.toml -o {folder}/tokens.csv",
        f"collect backup {folder}/exams.toml -o {folder}/noon.sqlite",
    ):
        assert call(*words.split()).code == 0
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(made: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def line(template: str, bad_input: str | None = None, output: str | None = None) -> list[str]:
    """A command line with another input or output."""
    words = template.split()
    for place, word in enumerate(words):
        mark, _, usual = word.partition(":")
        if mark in ("IN", "OUT"):
            other = bad_input if mark == "IN" else output
            words[place] = usual if other is None else other
    return words


def input_of(template: str) -> str:
    return next(word[3:] for word in template.split() if word.startswith("IN:"))


def output_of(template: str) -> str:
    return next(word[4:] for word in template.split() if word.startswith("OUT:"))


WITH_OUTPUT = {name: template for name, template in WORKING.items() if "OUT:" in template}
# Pictures may be replaced.
KEEPING = [name for name in WITH_OUTPUT if output_of(WORKING[name]) != "new.png"]


@pytest.mark.parametrize("name", WORKING)
def test_the_command_lines_work(name: str, folder: Path) -> None:
    outcome = call(*line(WORKING[name]))
    assert outcome.code == 0, outcome.err


def test_every_command_with_files_is_tried() -> None:
    leaves = {path for path, command in all_commands(root) if not hasattr(command, "commands")}
    tried = {tuple(template.split()[:2]) for template in WORKING.values()}
    tried |= {path[:1] for path in tried}
    by_channel = {path for path in leaves if path[0] in ("certify", "audit", "randomize", "vectors")}
    assert leaves - tried - by_channel - WITHOUT_FILES - WITHOUT_END == set()


# The channel knows sizes and cliques: a description may add nothing.
BAD = [
    (name, kind)
    for name in WORKING
    for kind in ("missing", "folder", "empty", "binary")
    if (name, kind) != ("fit a field", "empty")
]


@pytest.mark.parametrize(("name", "kind"), BAD)
def test_bad_inputs(name: str, kind: str, folder: Path) -> None:
    usual = Path(input_of(WORKING[name]))
    bad = folder / f"bad{usual.suffix}"
    if kind == "folder":
        bad.mkdir()
    elif kind != "missing":
        bad.write_bytes(b"" if kind == "empty" else bytes(np.random.default_rng(1).integers(128, 256, 999, np.uint8)))
    before = content_of(folder)
    assert_one_line(call(*line(WORKING[name], bad_input=bad.name)), (bad.name,))
    assert content_of(folder) == before


@pytest.mark.parametrize("place", ["nowhere/new", "folder"])
@pytest.mark.parametrize("name", WITH_OUTPUT)
def test_bad_places(name: str, place: str, folder: Path) -> None:
    ending = Path(output_of(WORKING[name])).suffix
    (folder / f"folder{ending}").mkdir()
    before = content_of(folder)
    assert_one_line(call(*line(WORKING[name], output=f"{place}{ending}")), (f"{place}{ending}",))
    assert content_of(folder) == before


KEPT = ("answers.jsonl", "answers.state", "counts.jsonl", "tagger.askance", "forced.toml")
# What may be replaced: a file of the same kind.
SAME_KIND = {
    "aggregate": "answers.state",
    "optimal": "forced.toml",
    "plan field": "forced.toml",
    "answers": "counts.jsonl",
    "regions": "counts.jsonl",
    "train": "tagger.askance",
    "train with labels": "tagger.askance",
    "train, stopped in time": "tagger.askance",
}


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("name", KEEPING)
def test_nothing_of_another_kind_is_replaced(name: str, kept: str, folder: Path, made: dict[str, bytes]) -> None:
    output = folder / f"kept{Path(output_of(WORKING[name])).suffix}"
    output.write_bytes(made[kept])
    outcome = call(*line(WORKING[name], output=output.name))
    if SAME_KIND.get(name) == kept:
        assert outcome.code == 0, outcome.err
    else:
        assert_one_line(outcome, (output.name, "another name"))
        assert output.read_bytes() == made[kept]


def test_compressed_regions_replace_regions_alone(folder: Path, made: dict[str, bytes]) -> None:
    output, whole = folder / "kept.jsonl.gz", gzip.compress(made["counts.jsonl"])
    for kept in (gzip.compress(made["people.csv"]), whole[:20], b"\x1f\x8b", made["people.csv"], made["answers.jsonl"]):
        output.write_bytes(kept)
        assert_one_line(call(*line(WORKING["regions"], output=output.name)), (output.name, "another name"))
        assert output.read_bytes() == kept
    output.write_bytes(whole)
    assert call(*line(WORKING["regions"], output=output.name)).code == 0
    assert gzip.decompress(output.read_bytes()) != made["counts.jsonl"]


@pytest.mark.parametrize("name", ["aggregate", "fit", "fit a state", "fit a model", "plan field", "train", "tag"])
def test_inputs_are_never_replaced(name: str, folder: Path) -> None:
    before = content_of(folder)
    assert_one_line(call(*line(WORKING[name], output=input_of(WORKING[name]))), (input_of(WORKING[name]),))
    assert content_of(folder) == before


@pytest.mark.parametrize("name", KEEPING)
def test_empty_files_are_replaced(name: str, folder: Path) -> None:
    """As `mktemp` makes them."""
    (folder / output_of(WORKING[name])).touch()
    assert call(*line(WORKING[name])).code == 0
    assert (folder / output_of(WORKING[name])).stat().st_size > 0


@pytest.mark.parametrize("flag", ["--tables", "--save"])
def test_tables_or_fit_but_never_half(flag: str, folder: Path) -> None:
    other = {"--tables": "--save", "--save": "--tables"}[flag]
    names = {"--tables": "t.csv", "--save": "f.field"}
    words = ["estimate", "cliques.state", "--field", flag, f"nowhere/{names[flag]}", other, names[other]]
    before = content_of(folder)
    assert_one_line(call(*words), ("nowhere",))
    assert content_of(folder) == before


@pytest.mark.parametrize(
    "words",
    [
        "estimate cliques.state --field --save one.csv --tables one.csv",
        "estimate cliques.state --field --save folder/../one.csv --tables one.csv",
        f"fit people.csv {DESIGN} --save one.png --plot one.png",
    ],
)
def test_two_outputs_never_go_to_one_place(words: str, folder: Path) -> None:
    (folder / "folder").mkdir()
    before = content_of(folder)
    assert_one_line(call(*words.split()), ("one.", "different files"))
    assert content_of(folder) == before


# -- words -------------------------------------------------------------------------------------------------------------

SAID: dict[str, tuple[str, tuple[str, ...]]] = {
    "misspelt option": ("audit warner --quesion 0.7", ("has no option '--quesion'", "Did you mean '--question'?")),
    "strange option": ("certify warner --zzz", ("has no option '--zzz'", "See `askance certify warner --help`")),
    "an option of others": (
        f"sensitivity people.csv {DESIGN} --by region",
        ("has no option '--by'. See `askance sensitivity --help`.",),
    ),
    "a word in common": (
        f"sensitivity people.csv {DESIGN} --save x",
        ("has no option '--save'. See `askance sensitivity --help`.",),
    ),
    "missing option": ("aggregate answers.jsonl", ("-o / --output (where the state goes) is missing",)),
    "missing argument": ("aggregate", ("REPORTS is missing",)),
    "misspelt choice": ("tag tagger.askance news.txt --to conll", ("--to is 'conll'", "Did you mean 'conllu'?")),
    "Python's name": (
        "audit warner --question 2/3 --trials 3",
        ("askance: --trials is 3", "Give --trials as a number"),
    ),
    "another name in Python": ("optimal model.json --theta 0 --privacy-level 0", ("askance: --privacy-level is 0",)),
    "what Python calls it": ("audit warner --question 2/3 --confidence 2", ("askance: --confidence is 2",)),
    "an ending": (f"fit people.csv {DESIGN} --plot picture", ("--plot is picture", ".png or .svg or .pdf")),
    "what is typed": ("audit per-value --dim 3 --privacy-level 0", ("at all",)),
    "a vector": ("optimal model.json --theta 0,0,0 --privacy-level 1", ("--theta has 3 numbers; allowed: 1",)),
    "no number": ("estimate answers.state --confidence high", ("--confidence is 'high'; allowed: a number",)),
    "no whole number": (
        "synth people.field -n 1e3 --seed 1 -o x.csv",
        ("--records is '1e3'; allowed: a whole number, 1",),
    ),
    "beside a state": (
        f"estimate answers.state {DESIGN}",
        ("`askance estimate` has no option '--formula'",),
    ),
    "a state and a table": (
        "fit people.csv --state answers.state",
        ("--state is given with people.csv", "`askance estimate STATE`", "`askance fit DATA --formula …`"),
    ),
    "a state and a picture": ("fit --state answers.state --plot x.png", ("--state is given with --plot", "a table")),
    "a state and a formula": ("fit --state=answers.state --formula=a~b", ("--state is given with --formula",)),
    "a method of fields": (
        "estimate answers.state --method ridge",
        ("--method is ridge for a state of answers", "projection, supervised, unbiased", "add --field"),
    ),
    "a state of answers for a field": (
        "synth answers.state -n 3 --seed 1 -o x.csv",
        ("holds a state of reports; allowed: a fitted field",),
    ),
    "counts for a state": ("estimate counts.jsonl", ("'regions/1'", "`askance train`")),
    "two ways": (
        "fit people.csv --formula said~age",
        ("the design is given: none", "exactly one of --design, --channel, --designs"),
    ),
    "a design for numbers": (
        "fit people.csv --formula said~age --design per-value",
        ("--design is 'per-value'; allowed: coarsened",),
    ),
    "a method of states": (f"fit people.csv {DESIGN} --method projection", ("--method is 'projection'; allowed",)),
    "no picture": (f"sensitivity people.csv {DESIGN} --coefficient age", ("--coefficient is given without --plot",)),
    "misses": ("train counts.jsonl --miscounts 2,0 -o x", ("--miscounts is '2,0'", "0 to 0.5")),
    "weights": ("train counts.jsonl --labelled tagged.tsv --labelled-weight -1 -o x", ("--labelled-weight is -1",)),
    "too many people": ("demo --respondents 99999999999", ("--respondents is 99999999999", "10,000,000")),
}


@pytest.mark.parametrize(("words", "said"), SAID.values(), ids=list(SAID))
def test_words(words: str, said: tuple[str, ...], folder: Path) -> None:
    before = content_of(folder)
    outcome = call(*words.split())
    assert_one_line(outcome, said)
    assert "Direct" not in outcome.err
    assert content_of(folder) == before


# -- warnings ----------------------------------------------------------------------------------------------------------


def test_warnings_are_in_the_json_and_on_standard_error(folder: Path) -> None:
    save(Tally(FORCED, [59, 1]), folder / "rare.state")  # fewer than the sixth that are told to say yes
    outcome = call("estimate", "rare.state", "--method", "moments", "--json")
    assert outcome.code == 0
    found: dict[str, Any] = json.loads(outcome.out)
    assert found["warnings"]
    assert outcome.err == "".join(f"askance: warning: {text}\n" for text in found["warnings"])
    assert parsed(call("estimate", "answers.state", "--json"))["warnings"] == []


def test_projection_of_a_state(folder: Path) -> None:
    save(Tally(FORCED, [59, 1]), folder / "rare.state")
    found = json.loads(call("estimate", "rare.state", "--method", "projection", "--json").out)
    assert found["method"] == "projection"
    assert [row["std_error"] for row in found["shares"]] == [None, None]
    assert "–" in call("estimate", "rare.state", "--method", "projection").out


def test_tags_as_conllu(folder: Path) -> None:
    for words in (["--to", "conllu", "-o", "a.txt"], ["-o", "a.conllu"]):
        assert call("tag", "tagger.askance", "news.txt", *words).code == 0
        lines = Path(words[-1]).read_text().splitlines()
        assert [row.split("\t")[1] for row in lines[:3]] == ["a", "dog", "barks"]
        assert [row.split("\t")[3] for row in lines[:3]] == ["D", "N", "V"]
    assert call("evaluate", "tagger.askance", "a.conllu").code == 0


def test_refusal_is_data_also_in_words_of_the_command_line() -> None:
    with pytest.raises(ShapeError) as caught:
        as_parameter([1.0, 2.0, 3.0], 2)
    assert str(caught.value) == "theta has shape (3,); allowed: (2,). Give one number per statistic."
    said = in_flags(caught.value, {"theta": "--theta"})
    assert str(said) == "--theta has 3 numbers; allowed: 2. Give one number per statistic."
    assert (said.argument, said.got, said.allowed) == ("theta", "(3,)", "(2,)")
