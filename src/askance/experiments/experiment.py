"""What an experiment is: a frozen config, independent trials, a result that is plain JSON, and pictures made from it.

    config = experiment.config(quick=False, seed=0)
    outcomes = {trial.key: trial.run() for trial in experiment.trials(config)}     # in any order, in any process
    result = experiment.collect(config, outcomes)                                  # every plotted number
    figures = experiment.draw(result)                                              # from the result alone

The runner (`runner.py`) runs trials in parallel, keeps the outcome of each on disk so that an interrupted run resumes,
adds seed, version and the fingerprint of the data to the result, and puts what was measured into a file of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from askance.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Plain JSON: numbers, texts, lists, objects.
Plain: TypeAlias = Any
#: Whether a finding agrees with what the paper says.
Verdict: TypeAlias = Literal["agrees", "differs", "beyond"]


@dataclass(frozen=True)
class Trial:
    """One independent piece of work.

    Attributes:
        key: unique within the experiment, usable as a file name.
        function: a function of the module's top level, so that it can be sent to another process.
        arguments: plain values for it; seeds among them.
        cost: about how long it takes, relative to the others, so that long ones start first.
    """

    key: str
    function: Callable[..., Plain]
    arguments: Mapping[str, Plain] = field(default_factory=dict)
    cost: float = 1.0

    def run(self) -> Plain:
        """The outcome, plain JSON."""
        return self.function(**self.arguments)


@dataclass(frozen=True)
class Finding:
    """One sentence of the report: what the paper says, what was found, and why they differ where they do.

    Attributes:
        claim: of the paper, or of askance ("beyond").
        found: with its numbers.
        verdict: "agrees", "differs" or "beyond" (what the paper leaves open).
        why: the reason for a difference; empty where there is none.
        measured: it rests on what a clock gave, and may be another one in the next run.
    """

    claim: str
    found: str
    verdict: Verdict
    why: str = ""
    measured: bool = False


@dataclass(frozen=True)
class Data:
    """What an experiment was run on.

    Attributes:
        name: as the report calls it.
        source: "real", "simulated" or "stand-in"; never silently.
        note: what it is, and for a stand-in why.
        fingerprint: sha256 of the files or of the arrays.
    """

    name: str
    source: Literal["real", "simulated", "stand-in"]
    note: str
    fingerprint: str


class Experiment(ABC):
    """One figure of the paper."""

    #: On the command line, and the folder of its results.
    name: str
    #: Of the report's section.
    title: str
    #: What the figures show, in a few sentences for a reader who has not read the paper; a line is a paragraph.
    description: str
    #: What each figure shows, by its name, for the report.
    captions: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def config(self, *, quick: bool, seed: int) -> dict[str, Plain]:
        """The frozen config: everything that decides the result, plain JSON. Quick: seconds instead of minutes."""

    def data(self, config: Mapping[str, Plain]) -> Sequence[Data]:
        """What it runs on; empty where everything is simulated from the config alone."""
        return []

    @abstractmethod
    def trials(self, config: Mapping[str, Plain]) -> Sequence[Trial]:
        """The pieces of work, in any order."""

    @abstractmethod
    def collect(self, config: Mapping[str, Plain], outcomes: Mapping[str, Plain]) -> dict[str, Plain]:
        """Every plotted number, from the outcomes by key; names of what a clock gave begin with "measured"."""

    @abstractmethod
    def draw(self, result: Mapping[str, Plain]) -> dict[str, Figure]:
        """Figures by file name without ending, from what `collect` returned alone.

        Numbers that a clock gave may be lacking; figures that need them are then left out.
        """

    @abstractmethod
    def findings(self, result: Mapping[str, Plain]) -> Sequence[Finding]:
        """What agrees with the paper, what does not, and why."""

    @abstractmethod
    def tables(self, result: Mapping[str, Plain]) -> Sequence[Table]:
        """The main numbers."""

    @abstractmethod
    def main_number(self, result: Mapping[str, Plain]) -> str:
        """The one to remember, with its words."""

    def answer(self, result: Mapping[str, Plain]) -> Plain:
        """What `--json` prints: by default the result itself."""
        return dict(result)
