"""The store: one JSON file a comparison, written whole as soon as it is measured."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from askance.formats.disk import write_whole
from benchmarks.harness.comparison import Target
from benchmarks.harness.results import Failure, Origin, Record, Row

#: Where the results are that belong to this clone.
FOLDER = Path(__file__).resolve().parents[1] / "results"
_FORMAT = "askance benchmark 1"


class StoreError(Exception):
    """A stored result cannot be read."""


@dataclass(frozen=True)
class Store:
    """The results below a folder, by the names of their comparisons."""

    folder: Path = FOLDER

    def names(self) -> list[str]:
        """Comparisons with a stored result."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def save(self, record: Record) -> None:
        """Write a record in place of an older one of the same comparison; readers see one of the two."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"format": _FORMAT, **asdict(record)}
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        write_whole(self._path(record.name), text.encode())

    def load(self, name: str) -> Record:
        """The stored record of a comparison.

        Raises:
            StoreError: the file is none of this format, or half of one.
        """
        try:
            content = json.loads(self._path(name).read_text(encoding="utf-8"))
            return _record(content)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            remedy = f"Measure again: python -m benchmarks --only {name}"
            raise StoreError(f"{self._path(name)} is no result of this harness ({error!r}). {remedy}") from error

    def load_all(self) -> dict[str, Record]:
        """Every stored record by name."""
        return {name: self.load(name) for name in self.names()}

    def seconds(self) -> dict[str, float]:
        """How long every comparison took whose result can be read; what is damaged is to be measured again."""
        found = {}
        for name in self.names():
            with suppress(StoreError):
                found[name] = self.load(name).seconds
        return found

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"


def _record(content: dict[str, Any]) -> Record:
    if content.pop("format") != _FORMAT:
        raise ValueError("format")
    target = content.pop("target")
    rows = [Row(**row | {"values": tuple(row["values"])}) for row in content.pop("rows")]
    failures = [Failure(**failure) for failure in content.pop("failures")]
    origin = Origin(**content.pop("origin"))
    return Record(
        **content, origin=origin, target=None if target is None else Target(**target), rows=rows, failures=failures
    )
