"""The words a comparison is written in.

A comparison file is imported by the harness *and* inside every peer's environment, so this module, like the top level
of every comparison file, needs nothing but the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

#: The parameters of one row of the table, as plain JSON values.
Case: TypeAlias = Mapping[str, int | str]


@dataclass(frozen=True)
class Throughput:
    """Work that the worker times: `run` does what was asked for, on data that were prepared before.

    `check`, where given, looks at one result and raises `WrongResultError`: who does not do the work wins no race.
    """

    run: Callable[[], Any]
    check: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class Reading:
    """A quantity that is read off rather than timed by the worker, such as memory or the cost of a child process."""

    read: Callable[[], float]


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
    """One contender; without an environment it runs beside askance, in the interpreter that runs the harness."""

    name: str
    build: Builder
    environment: Environment | None = None


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


@dataclass(frozen=True)
class Comparison:
    """Ours against any number of peers (none: an absolute row), over a few cases.

    Attributes:
        name: what `--only` takes.
        unit: of one value: "reports/s" or the like for a Throughput (per CPU second), else that of the Reading.
    """

    name: str
    unit: str
    cases: tuple[Case, ...]
    ours: Side
    peers: tuple[Side, ...] = ()
    sizes: Sizes = Sizes()
    target: Target | None = None

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
