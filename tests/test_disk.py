"""Writing: whole or not at all, with the permissions that people expect; reading within limits."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from askance import Tally, Warner, load, save
from askance.errors import AskanceError, FormatError, InputError
from askance.formats import disk, read_channel
from askance.formats.disk import read_whole, write_whole

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")


def small_tally() -> Tally:
    return Tally(Warner("2/3"), [5, 7])


def refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_failed_save_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.tally"
    save(small_tally(), path)
    old = path.read_bytes()
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FormatError, match="No space left") as caught:
        save(small_tally().add(["yes"]), path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_object_leaves_everything_alone(tmp_path: Path) -> None:
    path, wrong = tmp_path / "state.tally", [small_tally()]
    save(small_tally(), path)
    old = path.read_bytes()
    with pytest.raises(InputError, match="list"):
        save(wrong, path)  # type: ignore[arg-type]
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_impossible_places_are_named(tmp_path: Path) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("kept")
    folder.mkdir()
    for path in (file / "below.tally", folder, tmp_path / "missing" / "a.tally"):
        with pytest.raises(FormatError, match="cannot write") as caught:
            save(small_tally(), path)
        assert str(path) in str(caught.value)
    assert file.read_text() == "kept"
    assert sorted(tmp_path.rglob("*")) == [file, folder]


def test_overwriting_replaces_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"x" * 100_000)
    save(small_tally(), str(path))
    assert load(str(path)) == small_tally()
    assert list(tmp_path.iterdir()) == [path]


# -- what a file is called, and who may read it ------------------------------------------------------------------------


@POSIX
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_new_files_follow_the_umask(mask: int, mode: int, tmp_path: Path) -> None:
    old = os.umask(mask)
    try:
        save(small_tally(), tmp_path / "a.tally")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.tally").stat().st_mode) == mode


@POSIX
def test_replaced_files_keep_their_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a.tally"
    save(small_tally(), path)
    path.chmod(0o600)
    save(small_tally().add(["yes"]), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_interrupted_save_leaves_nothing(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(small_tally(), tmp_path / "a.tally")
    assert list(tmp_path.iterdir()) == []


def test_bytes_are_on_the_disk_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(handle: int) -> None:
        steps.append("fsync")
        fsync(handle)

    def noted_replace(source: Path, target: Path) -> None:
        steps.append("replace")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_whole(tmp_path / "a", b"x")
    assert steps[:2] == ["fsync", "replace"]


def test_long_names(tmp_path: Path) -> None:
    longest = tmp_path / ("a" * 250)
    save(small_tally(), longest)
    assert load(longest) == small_tally()
    with pytest.raises(FormatError, match="shorter name"):
        save(small_tally(), tmp_path / ("a" * 5000))
    assert list(tmp_path.iterdir()) == [longest]


WRONG: dict[str, Any] = {"NUL": "a\0b", "half a character": "a\ud800", "a number": 3, "bytes": b"a", "nothing": None}


@pytest.mark.parametrize("path", WRONG.values(), ids=list(WRONG))
def test_impossible_names(path: Any) -> None:
    for act in (lambda: save(small_tally(), path), lambda: load(path), lambda: read_channel(path)):
        with pytest.raises(InputError, match="path is") as caught:
            act()
        assert caught.value.remedy


# -- limits ------------------------------------------------------------------------------------------------------------


def test_foreign_files_are_not_read_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "_PIECE", 16)
    (tmp_path / "large").write_bytes(b"x" * 1000)
    assert len(read_whole(tmp_path / "large", prefix=b"{")) == 16
    assert len(read_whole(tmp_path / "large", prefix=b"xx")) == 1000
    assert len(read_whole(tmp_path / "large")) == 1000


def test_long_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 1000)
    assert len(read_whole(tmp_path / "large", limit=1000)) == 1000
    with pytest.raises(AskanceError, match=r"large is longer than 999 bytes"):
        read_whole(tmp_path / "large", limit=999)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no endless file")
def test_endless_files_are_refused() -> None:
    with pytest.raises(FormatError, match="not an askance file"):
        load("/dev/zero")
