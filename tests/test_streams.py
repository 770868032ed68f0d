"""Pipes, signals, a standard output that is full, closed or of few letters, little memory, packed bombs."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from askance import Tally, Warner, load, save
from askance.errors import FormatError
from askance.formats import aggregate, channel_to_toml, read_channel, read_reports, report_header, write_reports
from askance.text import read_annotations, read_regions, read_sentences, read_sheet, read_tagged

from .annotation_examples import DOCCANO, LABEL_STUDIO
from .signals import PATIENCE, end_by, start
from .test_cli import assert_one_line, call, outcome_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals are those of POSIX")
CHANNEL = Warner("2/3")
ASKANCE = (sys.executable, "-m", "askance")


def file_of(folder: Path, ending: str, n: int = 50) -> bytes:
    """Reports in a file of that ending, or a state of them."""
    path = folder / f"made{ending.removesuffix('.gz')}"
    if path.suffix == ".state":
        save(Tally(CHANNEL).add(["yes", "no"] * (n // 2)), path)
    else:
        write_reports(path, ["yes", "no"] * (n // 2), channel=CHANNEL)
    data = path.read_bytes()
    return gzip.compress(data) if ending.endswith(".gz") else data


# -- what is read once -------------------------------------------------------------------------------------------------


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Callable[[bytes, str], Path]]:
    """Makes names of pipes with something in them: as <(…) of a shell, what was read is gone."""
    ends: list[int] = []

    def make(data: bytes, name: str) -> Path:
        read, write = os.pipe()
        ends.append(read)
        os.write(write, data)  # less than a pipe holds
        os.close(write)
        path = tmp_path / name
        path.symlink_to(f"/dev/fd/{read}")
        return path

    yield make
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet", ".parquet.gz", ".state", ".state.gz"])
def test_reports_and_states_from_pipes(ending: str, tmp_path: Path, pipe: Callable[[bytes, str], Path]) -> None:
    expected = Tally(CHANNEL).add(["yes", "no"] * 25)
    data = file_of(tmp_path, ending)
    assert aggregate(pipe(data, "a")).evidence == expected
    if "state" in ending:
        assert load(pipe(data, "b")) == expected
    else:
        assert len(read_reports(pipe(data, "b"))) == 50
    outcome = call("aggregate", str(pipe(data, "c")), "-o", str(tmp_path / "all.state"))
    assert outcome.code == 0
    assert load(tmp_path / "all.state") == expected


def test_a_named_pipe_is_opened_once(tmp_path: Path) -> None:
    """Opened a second time it would wait forever for another writer."""
    os.mkfifo(tmp_path / "fifo")
    data, script = file_of(tmp_path, ".state"), "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    with subprocess.Popen([sys.executable, "-c", script, tmp_path / "fifo"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write(data)
        writer.stdin.close()
        assert load(tmp_path / "fifo") == Tally(CHANNEL).add(["yes", "no"] * 25)
    assert writer.returncode == 0


TEXTS: dict[str, tuple[bytes, Callable[[Path], Any]]] = {
    "a.tsv": (b"the\tDT\ndog\tNN\n", read_tagged),
    "a.conllu": (b"1\tdog\t_\tNOUN\t_\t_\t_\t_\t_\t_\n", read_sentences),
    "a.txt": (b"a dog barks\n", read_sentences),
    "own.jsonl": (b'{"tokens": ["a", "dog"], "tags": ["DT", "NN"]}\n', read_tagged),
    "doccano.jsonl": (DOCCANO.encode(), read_tagged),
    "studio.json": (json.dumps(LABEL_STUDIO, indent=1).encode(), read_tagged),
    "studio again.json": (json.dumps(LABEL_STUDIO).encode(), lambda path: read_annotations(path).corpus),
    "regions.jsonl": (b'{"tokens":["a"],"regions":[{"start":0,"end":1,"counts":{"DT":1}}]}', read_regions),
    "sheet.csv": (b"id,sentence,N,V,annotator,comment\n1,[[ a dog ]],1,1,,\n", read_sheet),
    "channel.toml": (channel_to_toml(CHANNEL).encode(), read_channel),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_from_pipes(name: str, tmp_path: Path, pipe: Callable[[bytes, str], Path]) -> None:
    data, read = TEXTS[name]
    (tmp_path / f"plain {name}").write_bytes(data)
    expected = read(tmp_path / f"plain {name}")
    assert repr(read(pipe(data, name))).partition(" at 0x")[0] == repr(expected).partition(" at 0x")[0]


def test_beginnings_do_not_depend_on_who_wrote_how_much(tmp_path: Path) -> None:
    from askance.formats.disk import opened

    read, write = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", "import os\nfor byte in b'abcdef': os.write(1, bytes([byte]))"], stdout=write
    ) as writer:
        os.close(write)
        with opened(f"/dev/fd/{read}") as file:
            assert file.peek(256) == b"abcdef"
            assert file.read() == b"abcdef"
        os.close(read)
    assert writer.returncode == 0


def test_an_open_file_without_waiting_is_refused(tmp_path: Path) -> None:
    """It has nothing yet, which must not be taken for its end."""
    os.mkfifo(tmp_path / "fifo")
    end = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(end, b"a dog\n")
        with os.fdopen(os.dup(end), "rb") as file:
            os.set_blocking(file.fileno(), False)
            with pytest.raises(FormatError, match="cannot read"):
                read_sentences(file)
    finally:
        os.close(end)


# -- bombs -------------------------------------------------------------------------------------------------------------


def peak_of(act: Callable[[], object]) -> int:
    """Bytes that are held at once."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_packed_lines_are_read_in_pieces(tmp_path: Path) -> None:
    """64 MB in 65 kB, one line: counted as one bad report."""
    path = tmp_path / "bomb.jsonl.gz"
    zeros = gzip.compress(bytes(1 << 24), mtime=0)
    path.write_bytes(gzip.compress(report_header(CHANNEL).encode() + b"\n") + zeros * 4)
    assert path.stat().st_size < 100_000
    refused: dict[str, int] = {}
    assert peak_of(lambda: refused.update(aggregate(path, skip_bad=True).refused)) < 32 << 20
    assert refused == {"malformed": 1}


# -- signals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code", "said"), [(signal.SIGTERM, 143, ""), (signal.SIGINT, 130, "stopped.")])
def test_signals_end_a_command_that_reads(number: int, code: int, said: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    old = file_of(tmp_path, ".state")
    (tmp_path / "all.state").write_bytes(old)
    with start(*ASKANCE, "aggregate", tmp_path / "fifo", "-o", tmp_path / "all.state") as process:
        with (tmp_path / "fifo").open("wb") as end:  # returns when the command has opened it, too
            end.write(file_of(tmp_path, ".jsonl"))
            end.flush()
            assert end_by(process, number) == code
        assert process.stderr is not None
        assert process.stderr.read().decode().strip() == (f"askance: {said}" if said else "")
    assert (tmp_path / "all.state").read_bytes() == old
    assert not list(tmp_path.glob(".askance-*"))


WRITING = """
import sys, time
from askance.cli.shared.process import prepare
from askance import Warner
from askance.formats import report_writer
prepare()
with report_writer(sys.argv[1], Warner("2/3")) as writer:
    writer.write(["yes"])
    print("writing", flush=True)
    while True:
        time.sleep(3600)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_nothing_half_written(number: int, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"as it was")
    with start(sys.executable, "-c", WRITING, path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"writing\n"
        assert len(list(tmp_path.glob(".askance-*"))) == 1
        assert end_by(process, number) == 128 + number
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"as it was"


# -- standard output ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize("arguments", [("channels",), ("channels", "--json"), ("--help",)])
def test_a_full_output_is_told(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full, start(*ASKANCE, *arguments, stdout=full) as process:
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert outcome_of(2, "", told.decode()).err == (
        "askance: cannot write to standard output: No space left on device. Make room, or send it elsewhere.\n"
    )


def test_nobody_listens() -> None:
    """As `askance channels | head -1`, without a word."""
    read, write = os.pipe()
    os.close(read)
    with start(*ASKANCE, "channels", stdout=write) as process:
        os.close(write)
        _, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, told) == (1, b"")


def test_a_closed_output_and_a_closed_error() -> None:
    with start("sh", "-c", 'exec "$@" channels nonsense >&- 2>&-', "sh", *ASKANCE) as process:
        assert process.communicate(timeout=PATIENCE) == (b"", b"")
    assert process.returncode == 2


ASCII = {
    "a table": ("certify", "randomized-response", "--outputs", "é,b", "--privacy-level", "1"),
    "JSON": ("plan", "survey", "--prevalence", "0.2", "--standard-error", "0.02", "--json"),
    "labels in JSON": ("certify", "randomized-response", "--outputs", "é,b", "--privacy-level", "1", "--json"),
    "what could be a file": (
        "randomize",
        "randomized-response",
        "--outputs",
        "é,b",
        "--privacy-level",
        "1",
        "--header",
    ),
}


@pytest.mark.parametrize("arguments", ASCII.values(), ids=list(ASCII))
def test_an_output_of_few_letters(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    from askance.cli import main

    taken = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["askance", *arguments])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(taken, encoding="ascii"))
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    written = taken.getvalue()
    if "--header" in arguments:
        assert json.loads(written.decode("utf-8"))["channel"]["outputs"] == ["é", "b"]
    else:
        assert written.isascii()
    if "--json" in arguments:
        content = json.loads(written)
        assert "é" in str(content) or "certify" not in arguments


# -- where things go ---------------------------------------------------------------------------------------------------


def test_places_where_nothing_can_be_written(tmp_path: Path) -> None:
    reports = tmp_path / "r.jsonl"
    reports.write_bytes(file_of(tmp_path, ".jsonl"))
    os.mkfifo(tmp_path / "fifo")
    for place, word in (
        (tmp_path / "fifo", "no regular file"),
        (Path("/dev/null"), "no regular file"),
        (tmp_path / "none" / "a.state", "there is no folder"),
        (tmp_path, "is a folder"),
        (reports / "a.state", "there is no folder"),
    ):
        assert_one_line(call("aggregate", str(reports), "-o", str(place)), (word, str(place)))


# -- little memory -----------------------------------------------------------------------------------------------------

LITTLE = """
import resource, sys
from askance.cli import main
import askance.cli.command, askance.formats
here = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (here + (128 << 20), resource.RLIM_INFINITY))
main()
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the size of a process is not told")
def test_little_memory_is_told(tmp_path: Path) -> None:
    with (tmp_path / "large.state").open("wb") as file:
        file.write(b'{"askance":')
        file.truncate(1 << 29)
    with start(sys.executable, "-c", LITTLE, "aggregate", tmp_path / "large.state", "-o", tmp_path / "a") as process:
        _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert outcome_of(2, "", told.decode()).err == (
        "askance: there is not enough memory for this. Take smaller numbers, or fewer rows at a time.\n"
    )
