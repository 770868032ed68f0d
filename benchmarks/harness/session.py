"""One sitting: choose comparisons, measure them one after the other, store each at once, render the page anew."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from askance.formats.disk import write_whole
from benchmarks.harness.alternate import Race
from benchmarks.harness.comparison import Comparison
from benchmarks.harness.figures import kept, section
from benchmarks.harness.origin import origin_of
from benchmarks.harness.page import render
from benchmarks.harness.progress import Progress
from benchmarks.harness.results import Record
from benchmarks.harness.store import Store

#: The folder of this package, with results/ and RESULTS.md.
HOME = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Session:
    """Comparisons by name, with the modules they are in, and the folder that results and page go to."""

    found: Mapping[str, tuple[str, Comparison]]
    folder: Path = HOME
    skipped: list[str] = field(default_factory=list)

    @property
    def store(self) -> Store:
        """Where results are kept."""
        return Store(self.folder / "results")

    @property
    def comparisons(self) -> dict[str, Comparison]:
        """By name."""
        return {name: comparison for name, (_, comparison) in self.found.items()}

    def chosen(self, only: Iterable[str] = (), *, missing: bool = False) -> list[str]:
        """Names to measure, the quick ones (as far as the store knows) first."""
        wanted, stored = set(only) or set(self.found), self.store.seconds()
        names = [name for name in self.found if name in wanted and not (missing and name in stored)]
        return sorted(names, key=lambda name: stored.get(name, 0.0))

    def measure(
        self, names: Iterable[str], repetitions: int, progress: Progress, *, long: bool = False
    ) -> list[Record]:
        """Measure these; each is in the store, and in the page, before the next one starts."""
        records = []
        for name in names:
            module, comparison = self.found[name]
            lacking = _lacking(comparison)
            if lacking:
                self.skipped.append(name)
                progress.complain(f"{name} is left out: set ASKANCE_DATA to the folder with {', '.join(lacking)}")
                continue
            origin = origin_of(_command(comparison, repetitions, long=long))
            record = Race(comparison, module, repetitions, progress, long=long).run(origin)
            self.store.save(record)
            self.render()
            records.append(record)
        return records

    def render(self) -> None:
        """Write RESULTS.md from what is stored; results of comparisons that are no more are left out."""
        page = render(self.comparisons, self.store.load_all(), section(kept(self.folder)))
        write_whole(self.folder / "RESULTS.md", page.encode())


def _command(comparison: Comparison, repetitions: int, *, long: bool) -> str:
    """What measures a comparison again."""
    data = "ASKANCE_DATA=FOLDER " if comparison.data else ""
    flag = " --long" if long and comparison.long_cases else ""
    return f"{data}python -m benchmarks --only {comparison.name} --repetitions {repetitions}{flag}"


def _lacking(comparison: Comparison) -> list[str]:
    """Files that a comparison needs and that are not there."""
    folder = os.environ.get("ASKANCE_DATA")
    return [name for name in comparison.data if not folder or not (Path(folder) / name).exists()]
