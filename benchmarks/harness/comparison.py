"""The words a comparison is written in.

A comparison file is imported by the harness *and* inside every peer's environment, so this module, like the top level
of every comparison file, needs nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

#: The parameters of one row of the table, as plain JSON values.
Case: TypeAlias = Mapping[str, int | str]


@dataclass(frozen=True)
class Throughput:
    """Work that the worker times: `run` does what was asked for, on data that were prepared before.

    `check`, where given, looks at one result and raises `WrongResultError`: who does not do the work wins no race.
    `warm_up`, where given, does a small part of the work, after which nothing is left to be loaded or compiled; without
    it, a first run of full size is not counted.
    """

    run: Callable[[], Any]
    check: Callable[[Any], None] | None = None
    warm_up: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Reading:
    """A quantity that is read off rather than timed by the worker, such as memory or the cost of a child process.

    `warm_up`, where given, replaces the first reading, which is not counted.
    """

    read: Callable[[], float]
    warm_up: Callable[[], Any] | None = None


def no_warm_up() -> None:
    """For readings of processes of their own, which nothing that was done before makes any warmer."""


#: Prepares the work of one case; the number says how many units (reports, rows, …) one call shall process.
Builder: TypeAlias = Callable[[Case, int], Throughput | Reading]


class WrongResultError(Exception):
    """A contender returned something other than what was asked for."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment that the harness creates when it is first needed.

    Attributes:
        name: the folder below benchmarks/environments/.
        requirements: what pip installs.
        packages: whose versions the report names.
    """

    name: str
    requirements: tuple[str, ...]
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """One contender; without an environment it runs beside askance, in the interpreter that runs the harness.

    Attributes:
        cases: those that it can do; all where not given.
    """

    name: str
    build: Builder
    environment: Environment | None = None
    cases: tuple[Case, ...] | None = None

    def does(self, case: Case) -> bool:
        """Whether it takes part in a case."""
        return self.cases is None or case in self.cases


@dataclass(frozen=True)
class Sizes:
    """How many units one call may process; a repetition makes as many calls as fill its time."""

    smallest: int = 10_000
    largest: int = 1_000_000


@dataclass(frozen=True)
class Target:
    """What an absolute value has to reach."""

    limit: float
    at_least: bool

    def met_by(self, value: float) -> bool:
        """Whether the value reaches it."""
        return value >= self.limit if self.at_least else value <= self.limit


class Subject(StrEnum):
    """Headings of RESULTS.md, in its order."""

    NOISING = "Noising on the person's side"
    COUNTING = "From reports to figures on the server's side"
    REGRESSION = "Regression"
    FIELDS = "Random fields"
    TAGGING = "Taggers"
    DESIGN = "Optimal channels"
    FOOTPRINT = "Memory and start"


@dataclass(frozen=True)
class Comparison:
    """Ours against any number of peers (none: an absolute row), over a few cases.

    Attributes:
        name: what `--only` takes.
        question: what is asked, in plain words; the first column of RESULTS.md.
        subject: the heading in RESULTS.md that it belongs to.
        unit: of one value: "reports/s" or the like for a Throughput (per CPU second), else that of the Reading.
        better: "more" where large values are good, "less" where small ones are.
        by_difference: values are compared by ours − theirs, not by a ratio, which says nothing about them.
        long_cases: measured with `--long` only.
        peers_first: they are measured before ours in every repetition, because ours depends on what they reached.
        data: files that have to be in the folder ASKANCE_DATA.
        processor: which of the kinds of `tools/processors.py` all contenders take this machine for; None: what it is.
    """

    name: str
    question: str
    subject: Subject
    unit: str
    cases: tuple[Case, ...]
    ours: Side
    peers: tuple[Side, ...] = ()
    sizes: Sizes = Sizes()
    target: Target | None = None
    better: Literal["more", "less"] = "more"
    by_difference: bool = False
    long_cases: tuple[Case, ...] = ()
    peers_first: bool = False
    data: tuple[str, ...] = ()
    processor: str | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """Ours first."""
        return (self.ours, *self.peers)

    def side(self, name: str) -> Side:
        """The contender of that name."""
        return next(side for side in self.sides if side.name == name)


def case_label(case: Case) -> str:
    """A case in one line of text."""
    return ", ".join(f"{name} = {value}" for name, value in case.items()) or "-"
