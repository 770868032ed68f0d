"""The race: all contenders alive at once, measured in turn, so that both feel the same weather."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.comparison import Case, Comparison, Side, case_label
from benchmarks.harness.environments import PeerUnavailableError, python_of
from benchmarks.harness.process import Worker, WorkerError
from benchmarks.harness.progress import Progress
from benchmarks.harness.results import Failure, Origin, Record, Row

#: Name of the environment that runs the harness and askance.
OURS = "askance"
_OUR_PACKAGES = ("askance", "numpy", "scipy", "numba", "cryptography")


@dataclass
class _Contender:
    side: Side
    worker: Worker


@dataclass(frozen=True)
class Race:
    """One comparison, measured once."""

    comparison: Comparison
    module: str
    repetitions: int
    progress: Progress
    long: bool = False

    def run(self, origin: Origin) -> Record:
        """Measure every case; who fails is reported and left out from then on."""
        comparison, start = self.comparison, time.perf_counter()
        record = Record(comparison.name, comparison.unit, self.repetitions, origin, target=comparison.target)
        with ExitStack() as stack:
            contenders = [c for side in comparison.sides if (c := self._enter(side, stack, record)) is not None]
            for case in (*comparison.cases, *(comparison.long_cases if self.long else ())):
                contenders = self._run_case(case, contenders, record)
        record.seconds = round(time.perf_counter() - start, 1)
        return record

    def _enter(self, side: Side, stack: ExitStack, record: Record) -> _Contender | None:
        packages = _OUR_PACKAGES if side.environment is None else side.environment.packages
        try:
            python = python_of(side.environment, self.progress)
            worker = stack.enter_context(Worker(python, self.module, side.name, self.comparison.processor))
            record.versions[_environment(side)] = worker.ask("versions", packages=packages)
        except (PeerUnavailableError, WorkerError) as error:
            self._fail(side, str(error), record)
            return None
        return _Contender(side, worker)

    def _run_case(self, case: Case, contenders: list[_Contender], record: Record) -> list[_Contender]:
        """Prepare all, then repeat: ours, first peer, second peer, …, ours, …; returns who is still alive."""
        label = f"{self.comparison.name}, {case_label(case)}"
        sizes: dict[str, tuple[int, int]] = {}
        values: dict[str, list[float]] = {}
        racing = [contender for contender in contenders if contender.side.does(case)]
        resting = [contender for contender in contenders if not contender.side.does(case)]
        for contender in tuple(racing):
            self.progress.say(f"{label}: warming up {contender.side.name}")
            reply = self._ask(contender, case, racing, record, {"what": "prepare", "case": dict(case)})
            if reply is not None:
                sizes[contender.side.name], values[contender.side.name] = (reply["units"], reply["calls"]), []
        for repetition in range(self.repetitions):
            self.progress.say(f"{label}: repetition {repetition + 1} of {self.repetitions}")
            for contender in self._order(racing):
                reply = self._ask(contender, case, racing, record, {"what": "measure"})
                if reply is not None:
                    values[contender.side.name].append(reply["value"])
        for side in (contender.side for contender in racing):
            record.rows.append(self._row(case, side, sizes[side.name], values[side.name]))
        return [contender for contender in contenders if contender in racing or contender in resting]

    def _order(self, racing: list[_Contender]) -> tuple[_Contender, ...]:
        """Who comes first in a repetition: a copy, because who fails is taken out on the way."""
        return tuple(
            sorted(
                racing,
                key=lambda contender: contender.side is self.comparison.ours,
                reverse=not self.comparison.peers_first,
            )
        )

    def _ask(
        self, contender: _Contender, case: Case, racing: list[_Contender], record: Record, request: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """The reply; None from who fails, and is then taken out of the race."""
        try:
            return contender.worker.ask(**request)
        except WorkerError as error:
            self._fail(contender.side, f"{case_label(case)}: {error}", record)
            racing.remove(contender)
            return None

    def _row(self, case: Case, side: Side, size: tuple[int, int], values: list[float]) -> Row:
        return Row(
            case=dict(case),
            side=side.name,
            environment=_environment(side),
            is_ours=side is self.comparison.ours,
            units_per_call=size[0],
            calls=size[1],
            values=tuple(values),
        )

    def _fail(self, side: Side, message: str, record: Record) -> None:
        record.failures.append(Failure(side.name, message))
        self.progress.complain(f"{self.comparison.name}: {side.name} could not be measured: {message}")


def _environment(side: Side) -> str:
    return OURS if side.environment is None else side.environment.name
