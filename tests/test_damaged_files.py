"""Damaged and forged files: every reader reads them or refuses them with a message, and nothing else happens.

Readers are found in the code: a new one that is not in the table below fails a test of its own.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import random
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import askance
from askance import LinearModel, channels
from askance.channels.registry import entries
from askance.channels.statistics.scale_pilot import ScalePilot
from askance.collect.campaign_file import read_campaign, read_study
from askance.design.regression_release import regression_release
from askance.errors import AskanceError, AskanceWarning
from askance.experiments.runner import FIELDS, read_result
from askance.formats import (
    aggregate,
    channel_to_toml,
    iterate_reports,
    load,
    read_answer_channel,
    read_channel,
    read_reports,
    write_reports,
)
from askance.formats.field_fit_file import field_for, read_field, read_field_fit
from askance.formats.release_file import read_regression, read_release, write_release
from askance.formats.states import read_states
from askance.formats.toml_file import read_toml
from askance.geometry.picture import Picture
from askance.planning.model_file import read_model
from askance.text import (
    CountTagger,
    Miscounts,
    read_annotations,
    read_regions,
    read_sentences,
    read_sheet,
    read_tagged,
    write_regions,
    write_tagged,
)
from askance.text.io.annotation_tools import task_words
from askance.text.io.conllu import ConlluDocument
from askance.text.io.region_file import read_region_part
from askance.text.sheets.filled_sheet import sentences_of_sheet
from askance.text.tagger.file import load_tagger

from .annotation_examples import DOCCANO, DOCCANO_RELATIONS, LABEL_STUDIO, PRODIGY
from .collectors import DEVICES, SURVEY, TOKENS
from .damage import damaged, of_cells, of_container, of_json, of_json_lines, of_parquet, of_toml
from .report_examples import EXAMPLES, some_reports
from .small_corpus import TEST, counted

#: Damaged files for every reader.
EACH = 300
# Seconds of the processor, not of the clock, after which a reader is said to hang.
_PATIENCE = 120
GOLDEN = Path(__file__).parent / "golden"

Within = Callable[[bytes, random.Random], bytes]


class Example(NamedTuple):
    """A file as it should be: its name, its bytes, and how what is written in it is altered."""

    name: str
    data: bytes
    within: Within | None


class Reader(NamedTuple):
    """A function that reads files, and files for it."""

    read: Callable[[Path], object]
    examples: Callable[[Path], Sequence[Example]]


# -- files as they should be -------------------------------------------------------------------------------------------


def _golden(*endings: str) -> list[Example]:
    ways: dict[str, Within] = {".jsonl": of_json_lines, ".parquet": of_parquet}
    paths = sorted(path for path in GOLDEN.iterdir() if path.suffix in endings)
    return [Example(path.name, path.read_bytes(), ways.get(path.suffix, of_container)) for path in paths]


def _states(_: Path) -> list[Example]:
    return _golden(".tally", ".statistics", ".fit", ".field")


def _reports(folder: Path) -> list[Example]:
    """Of every channel on statistics as lines, and the golden ones."""
    examples = _golden(".jsonl", ".parquet")
    for channel in EXAMPLES.values():
        write_reports(folder / "a.jsonl", some_reports(channel, 3), channel=channel, ids=["a", None, "b"])
        examples.append(Example("a.jsonl", (folder / "a.jsonl").read_bytes(), of_json_lines))
    return examples


def _channels(family: Any) -> list[Example]:
    built = [entry.build(example) for entry in entries(family) for example in entry.examples[:1]]
    return [Example("channel.toml", channel_to_toml(channel).encode(), of_toml) for channel in built]


def _releases(folder: Path) -> list[Example]:
    field = LinearModel(2, x_bounds=(-2, 2), y_bounds=(-4, 4), feature_names=["a", "ü"], outcome_name="z")
    examples = []
    for release in (
        regression_release(field, "3/2"),
        regression_release(field, 1, channel="per-value"),
        ScalePilot(field, 2),
    ):
        write_release(release, folder / "release.json")
        examples.append(Example("release.json", (folder / "release.json").read_bytes(), of_json))
    return examples


_REGRESSION = b"""outcome = "y"
[bounds]
age = [18, 90]
y = [0, 500.5]
[scales]
age = [45, 15]
y = [80, 60]
"""
_FIELD = b"""cliques = [["smokes", "age"], ["age", "ill"]]
impossible = [{ smokes = "yes", age = "child" }]
[variables]
smokes = ["no", "yes"]
age = ["child", "adult"]
ill = 2
"""
_MODELS = (
    b'{"kind": "saturated", "outputs": ["no", "maybe", "yes"]}',
    b'{"kind": "enumerated", "table": [[0, 0, 1, 1], [0, 1, 0, 1]], "outputs": 4, "parameter_names": ["a", "b"], '
    b'"log_base_measure": [0, 0.5, 0, 0]}',
)
_SHEETS = (
    b"id,sentence,NOUN,VERB,annotator,comment\n1,the [[ dog barks ]],1,1.0,ann,\n2,[[ it rains ]],,,,\n"
    b'3,"[[ he said ""no, never"" ]]",2,2,bob,"two\nlines"\n',
    b"id;sentence;NOUN;VERB;other;annotator;comment\r\n1;[[ a dog ]] barks;1;0;1;;\r\n2;a [[ cat ]];1;-;-;ann;ok\r\n",
)
_REGIONS = (
    b'{"askance": "regions/1", "tagset": ["DT", "NN", "VB"]}\n'
    b'{"id": "s1", "tokens": ["The", "dog", "barks"], "regions": [{"start": 0, "end": 3, "counts": {"NN": 1, "DT": 1, '
    b'"VB": [0, null]}, "asked": ["NN", "DT", "VB"], "weight": 2, "annotator": "ann"}]}\n'
    b'{"tokens": ["a", "cat"], "tags": ["DT", ["NN", "VB"]], "weight": 0.5}\n',
    b'{"tokens": ["a", "cat"], "regions": [{"start": 0, "end": 2, "counts": {"NN": 1, "DT": 1}}]}\n',
)
_CONLLU = (
    b"# sent_id = a\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tP\t_\t0\troot\t_\t_\n2\tle\tle\tDET\tD\t_\t1\t"
    b"det\t_\tSpaceAfter=No\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n1\tdog\tdog\tNOUN\tNN\t_\t0\troot\t_\t_\n\n"
)


def _tools(_: Path) -> list[Example]:
    lines = "\n".join(map(json.dumps, PRODIGY)).encode()
    minimal = [{"id": 1, "text": "Ann left", "label": [{"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}]}]
    return [
        Example("doccano.jsonl", DOCCANO.encode(), of_json_lines),
        Example("doccano.jsonl", DOCCANO_RELATIONS.encode(), of_json_lines),
        Example("prodigy.jsonl", lines, of_json_lines),
        Example("studio.json", json.dumps(LABEL_STUDIO, indent=1).encode(), of_json),
        Example("minimal.json", json.dumps(minimal).encode(), of_json),
    ]


def _texts(folder: Path) -> list[Example]:
    examples = [
        Example("a.conllu", _CONLLU, of_cells),
        Example("a.txt", "the dog\nbarks é\n\n".encode(), of_cells),
    ]
    small = TEST.take(np.arange(3))
    for name in ("a.tsv", "a.jsonl"):
        write_tagged(folder / name, small)
        examples.append(Example(name, (folder / name).read_bytes(), of_json_lines if name == "a.jsonl" else of_cells))
    return [*examples, *_tools(folder)]


def _sheets(_: Path) -> list[Example]:
    return [Example("sheet.csv", data, of_cells) for data in _SHEETS]


def _region_files(folder: Path) -> list[Example]:
    write_regions(folder / "r.jsonl", counted().take(np.arange(3)))
    written = (folder / "r.jsonl").read_bytes()
    return [Example("r.jsonl", data, of_json_lines) for data in (*_REGIONS, written)]


def _taggers(folder: Path) -> list[Example]:
    examples = []
    for options in ({}, {"method": "moments"}, {"method": "node", "miscounts": {"": Miscounts(0.1)}}):
        CountTagger(**options, max_iterations=1).fit(counted().take(np.arange(8))).save(folder / "tagger")
        examples.append(Example("tagger", (folder / "tagger").read_bytes(), of_container))
    return examples


def _result(_: Path) -> list[Example]:
    document = dict.fromkeys(FIELDS, 1) | {"experiment": "simplex", "result": {"a": [1]}, "findings": []}
    return [Example("result.json", json.dumps(document).encode(), of_json)]


def _one(name: str, within: Within, *data: bytes) -> Callable[[Path], list[Example]]:
    return lambda _: [Example(name, each, within) for each in data]


def _campaigns(_: Path) -> list[Example]:
    return [Example(f"{place}.toml", text.encode(), of_toml) for place, text in enumerate((SURVEY, TOKENS, DEVICES))]


def _whole_field(path: Path) -> object:
    return field_for(channels.PerValue(8, 1), path)


#: Every function that reads a file.
READERS: dict[str, Reader] = {
    "askance.formats.files.load": Reader(load, _states),
    "askance.formats.field_fit_file.read_field_fit": Reader(read_field_fit, lambda _: _golden(".field")),
    "askance.formats.channel_file.read_channel": Reader(read_channel, lambda _: _channels(None)),
    "askance.formats.channel_file.read_answer_channel": Reader(read_answer_channel, lambda _: _channels("answers")),
    "askance.formats.release_file.read_release": Reader(read_release, _releases),
    "askance.formats.release_file.read_regression": Reader(read_regression, _one("r.toml", of_toml, _REGRESSION)),
    "askance.formats.field_fit_file.read_field": Reader(read_field, _one("field.toml", of_toml, _FIELD)),
    "askance.formats.field_fit_file.field_for": Reader(_whole_field, _one("field.toml", of_toml, _FIELD)),
    "askance.formats.toml_file.read_toml": Reader(
        lambda path: read_toml(path, "Write a channel."), _one("any.toml", of_toml, _FIELD, _REGRESSION)
    ),
    "askance.formats.reports.read_reports": Reader(read_reports, _reports),
    "askance.formats.reports.iterate_reports": Reader(lambda path: list(iterate_reports(path)), _reports),
    "askance.formats.aggregation.aggregate": Reader(
        lambda path: aggregate(path, skip_bad=True),
        lambda folder: [*_reports(folder), *_golden(".tally", ".statistics")],
    ),
    "askance.formats.states.read_states": Reader(read_states, lambda _: _golden(".tally", ".statistics")),
    "askance.planning.model_file.read_model": Reader(read_model, _one("model.json", of_json, *_MODELS)),
    "askance.experiments.runner.read_result": Reader(lambda path: read_result(path, "simplex"), _result),
    "askance.text.io.annotation_tools.read_annotations": Reader(
        lambda path: (read_annotations(path, skip_bad=True, outside="O", scheme="bio"), read_annotations(path)), _tools
    ),
    "askance.text.io.annotation_tools.task_words": Reader(
        lambda path: list(task_words(path, "doccano")), lambda folder: _tools(folder)[:2]
    ),
    "askance.text.io.conllu.ConlluDocument.read": Reader(ConlluDocument.read, _one("a.conllu", of_cells, _CONLLU)),
    "askance.text.sheets.filled_sheet.read_sheet": Reader(
        lambda path: (read_sheet(path, may_miscount=True, skip_bad=True), read_sheet(path, rest="X")), _sheets
    ),
    "askance.text.sheets.filled_sheet.sentences_of_sheet": Reader(sentences_of_sheet, _sheets),
    "askance.text.io.region_file.read_regions": Reader(
        lambda path: (read_regions(path, skip_bad=True, may_miscount=True), read_regions(path)), _region_files
    ),
    "askance.text.io.region_file.read_region_part": Reader(
        lambda path: read_region_part(path, None, skip_bad=True, may_miscount=True), _region_files
    ),
    "askance.collect.campaign_file.read_campaign": Reader(read_campaign, _campaigns),
    "askance.collect.campaign_file.read_study": Reader(read_study, _campaigns),
    "askance.text.io.tagged_text.read_tagged": Reader(read_tagged, _texts),
    "askance.text.io.tagged_text.read_sentences": Reader(read_sentences, _texts),
    "askance.text.tagger.file.load_tagger": Reader(load_tagger, _taggers),
    "askance.text.tagger.tagger.CountTagger.load": Reader(CountTagger.load, _taggers),
}
# What reads files as bytes or lines, for the readers above; tables of surveys have a test of their own.
_BELOW = ("askance.formats.disk.", "askance.text.io.lines.", "askance.survey.")


# -- all readers are here ----------------------------------------------------------------------------------------------


def _functions() -> Iterator[tuple[str, Any]]:
    """Every public function and class method of the library, with its full name."""
    for module in pkgutil.walk_packages(askance.__path__, "askance."):
        if module.name.startswith(("askance.cli", "askance.__main__", "askance._kernels")):
            continue
        content = vars(importlib.import_module(module.name))
        for name, thing in content.items():
            if name.startswith("_") or getattr(thing, "__module__", "") != module.name:
                continue
            if inspect.isfunction(thing):
                yield f"{module.name}.{name}", thing
            elif inspect.isclass(thing):
                for inner, method in vars(thing).items():
                    if isinstance(method, classmethod):
                        yield f"{module.name}.{name}.{inner}", method.__func__


def test_every_reader_of_the_library_is_here() -> None:
    """Readers are called read…, load…, iterate… or aggregate, and are told where the file is."""
    found = set()
    for name, function in _functions():
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "cls"]
        takes_a_file = parameters and re.search(r"\b(Path|PathLike|Source)\b", str(parameters[0].annotation))
        if takes_a_file and re.match("read|load|iterate|aggregate", name.rpartition(".")[2]):
            found.add(name)
    assert {name for name in found if not name.startswith(_BELOW)} <= set(READERS)
    assert len(found) >= 18


# -- damage ------------------------------------------------------------------------------------------------------------


@contextmanager
def _patience() -> Iterator[None]:
    """Whatever takes longer hangs."""

    def tell(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, tell)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """ "" where a file is read, or refused as it should be; otherwise what happened."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", AskanceWarning)
        try:
            with _patience():
                read(path)
        except AskanceError as error:
            return "" if error.message and str(error).isprintable() else f"an odd message: {error!r}"
        except (Exception, MemoryError) as error:  # whatever it is, it should not be
            return f"{type(error).__name__}: {error}"[:300]
    return ""


@cache
def _examples_of(name: str, folder: Path) -> Sequence[Example]:
    return READERS[name].examples(folder)


def failures(name: str, folder: Path, each: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """What a reader does with damaged files that it should not, and the files."""
    rng = random.Random(f"{name} {seed}")
    examples = _examples_of(name, folder)
    (folder / "damaged").mkdir(exist_ok=True)
    for number in range(each):
        example = examples[number % len(examples)]
        what, data = damaged(example.data, rng, example.within)
        path = folder / "damaged" / example.name
        path.write_bytes(data)
        told = outcome(READERS[name].read, path)
        if told:
            yield f"{what} of {example.name} (number {number}): {told}", data


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore::askance.errors.AskanceWarning")
def test_files_as_they_should_be_are_read(name: str, tmp_path: Path) -> None:
    """Otherwise the damage would prove nothing."""
    for example in _examples_of(name, tmp_path):
        (tmp_path / example.name).write_bytes(example.data)
        READERS[name].read(tmp_path / example.name)


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    assert [told for told, _ in failures(name, tmp_path, EACH)] == []


def test_pictures_of_damaged_texts() -> None:
    rng = random.Random(0)
    for _ in range(EACH):
        _, data = damaged(b'{"kind": "simplex", "points": [[0.1, 0.2]]}', rng, of_json)
        with suppress(AskanceError):
            Picture.from_json(data.decode("utf-8", errors="replace"))


# -- what was seen -----------------------------------------------------------------------------------------------------

#: Files that ended in a traceback once, or were read as something else, and what is said of them.
SEEN: dict[str, tuple[str, str, bytes, str]] = {
    "a kind that is a list, of a model": ("read_model", "m.json", b'{"kind": ["a"]}', "kind in"),
    "a kind that is a list, of a channel": ("read_channel", "c.toml", b'kind = ["a"]', "there is no channel"),
    "a level that tells nothing": (
        "read_channel",
        "c.toml",
        b'kind = "per-value"\ndim = 6\nprivacy_level = 5e-324\nmax_l1_norm = 2',
        "1e-24 at least",
    ),
    "a number that no float holds": (
        "read_channel",
        "c.toml",
        b'kind = "per-value"\ndim = 1\nprivacy_level = 1\npossible = [[0], ["1e400"]]',
        "at most 1.7e308",
    ),
    "a workbook": ("read_sheet", "s.csv", b"PK\x03\x04\r\x00\xff", "Save a sheet as CSV"),
    "lines of an old Macintosh, a sheet": (
        "read_sheet",
        "s.csv",
        _SHEETS[0].replace(b"\n", b"\r"),
        "end in carriage returns alone",
    ),
    "lines of an old Macintosh, a text": (
        "read_sentences",
        "a.txt",
        b"a dog\rbarks\r",
        "end in carriage returns alone",
    ),
    "a return within the names of a sheet": ("read_sheet", "s.csv", b"id,sentence\r,N\n1,2\n", "is not CSV"),
    "a result that is nested without end": ("read_result", "result.json", b"[" * 100_000, "is no result of"),
}


@pytest.mark.parametrize("what", SEEN)
def test_files_that_were_seen(what: str, tmp_path: Path) -> None:
    name, file, data, said = SEEN[what]
    (tmp_path / file).write_bytes(data)
    reader = next(reader for full, reader in READERS.items() if full.endswith(f".{name}"))
    with pytest.raises(AskanceError, match=re.escape(said)):
        reader.read(tmp_path / file)
