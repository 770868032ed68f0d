"""A disk in memory whose power can be cut: of what was not synced some sectors are there, and some are not.

SQLite's own crash tests do the same. A write is seen by every later read at once, as from the cache of an operating
system, and is on the disk only when the file was synced. When the power goes, every sector of 512 bytes written since
then is kept or dropped on its own, so that writes are torn, and later ones may be there without earlier ones.
"""

from __future__ import annotations

import random
from typing import Any

import apsw

SECTOR = 512


class Disk:
    """Files, and the number of writes and syncs after which the power goes; from then on nothing reaches the disk."""

    def __init__(self, files: dict[str, bytes], power: int) -> None:
        self.files = {name: File(self, data) for name, data in files.items()}
        self.power = power

    @property
    def is_off(self) -> bool:
        return self.power <= 0

    def spend(self) -> bool:
        """One step more; whether the power was still there for it."""
        self.power -= 1
        return not self.is_off

    def after_cut(self, rng: random.Random) -> dict[str, bytes]:
        """What is found when the power is back."""
        kept = rng.choice([0.0, 0.5, 0.9, 1.0])
        found = {name: file.after_cut(rng, kept) for name, file in self.files.items()}
        return {name: data for name, data in found.items() if data is not None}


class File:
    """A file as its readers see it, as it is on the disk, and what lies between. SQLite calls these methods."""

    def __init__(self, disk: Disk, data: bytes | None = None) -> None:
        self.disk, self.seen = disk, bytearray(data or b"")
        self.synced: bytearray | None = None if data is None else bytearray(data)  # None: its name may be lost, too
        self.unsynced: list[tuple[int, bytes] | int] = []

    def after_cut(self, rng: random.Random, kept: float) -> bytes | None:
        if self.synced is None and rng.random() >= kept:
            return None
        data = bytearray(self.synced or b"")
        for change in self.unsynced:
            if isinstance(change, int):
                if rng.random() < kept:
                    del data[change:]
                continue
            for place, piece in _sectors(*change):
                if rng.random() < kept:
                    _put(data, place, piece)
        return bytes(data)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        return bytes(self.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        _put(self.seen, offset, bytes(data))
        was_on = not self.disk.is_off
        self.disk.spend()
        if was_on:  # the write during which the power goes may be torn like the others
            self.unsynced.append((offset, bytes(data)))

    def xTruncate(self, size: int) -> None:  # noqa: N802
        del self.seen[size:]
        if self.disk.spend():
            self.unsynced.append(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self.disk.spend():
            self.synced, self.unsynced = bytearray(self.seen), []

    def xFileSize(self) -> int:  # noqa: N802
        return len(self.seen)

    def xLock(self, level: int) -> None:  # noqa: N802
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        return False

    def xSectorSize(self) -> int:  # noqa: N802
        return 4096

    def xDeviceCharacteristics(self) -> int:  # noqa: N802
        """As SQLite takes it of every disk: a torn write spoils nothing beside it."""
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xClose(self) -> None:  # noqa: N802
        pass


def _sectors(offset: int, data: bytes) -> list[tuple[int, bytes]]:
    ends = [*range(SECTOR - offset % SECTOR, len(data), SECTOR), len(data)]
    return [(offset + a, data[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _put(data: bytearray, offset: int, piece: bytes) -> None:
    data.extend(bytes(max(0, offset - len(data))))
    data[offset : offset + len(piece)] = piece


class FileSystem(apsw.VFS):
    """What SQLite takes for the file system of a disk."""

    def __init__(self, name: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        flags[1] = flags[0]
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return self.disk.files.setdefault(path, File(self.disk)) if path else File(self.disk)

    def xDelete(self, name: str, syncdir: bool) -> None:  # noqa: N802
        if self.disk.spend():
            del self.disk.files[name]

    def xAccess(self, name: str, flags: int) -> bool:  # noqa: N802
        return name in self.disk.files

    def xFullPathname(self, name: str) -> str:  # noqa: N802
        return name
