"""The race: all contenders alive at once, measured in turn, so that both feel the same weather."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.harness.comparison import Case, Comparison, Side, case_label
from benchmarks.harness.environments import PeerUnavailableError, python_of
from benchmarks.harness.process import Worker, WorkerError
from benchmarks.harness.progress import Progress
from benchmarks.harness.results import Failure, Results, Row

_OUR_PACKAGES = ("askance", "numpy", "numba", "cryptography")


@dataclass
class _Contender:
    side: Side
    worker: Worker


@dataclass(frozen=True)
class Race:
    """One comparison in one run: adds its rows, failures and versions to `results`."""

    comparison: Comparison
    module: str
    results: Results
    progress: Progress

    def run(self) -> None:
        """Measure every case; who fails is reported and left out from then on."""
        with ExitStack() as stack:
            contenders = [c for side in self.comparison.sides if (c := self._enter(side, stack)) is not None]
            for case in self.comparison.cases:
                contenders = self._run_case(case, contenders)

    def _enter(self, side: Side, stack: ExitStack) -> _Contender | None:
        packages = _OUR_PACKAGES if side.environment is None else side.environment.packages
        name = "askance" if side.environment is None else side.environment.name
        try:
            worker = stack.enter_context(Worker(python_of(side.environment, self.progress), self.module, side.name))
            self.results.versions[name] = worker.ask("versions", packages=packages)
        except (PeerUnavailableError, WorkerError) as error:
            self._fail(side, str(error))
            return None
        return _Contender(side, worker)

    def _run_case(self, case: Case, contenders: list[_Contender]) -> list[_Contender]:
        """Prepare all, then repeat: ours, first peer, second peer, …, ours, …; returns who is still alive."""
        alive: list[_Contender] = []
        sizes: dict[str, tuple[int, int]] = {}
        label = f"{self.comparison.name}, {case_label(case)}"
        for contender in contenders:
            self.progress.say(f"{label}: warming up {contender.side.name}")
            try:
                reply = contender.worker.ask("prepare", case=dict(case))
            except WorkerError as error:
                self._fail(contender.side, f"{case_label(case)}: {error}")
                continue
            sizes[contender.side.name] = reply["units"], reply["calls"]
            alive.append(contender)
        values: dict[str, list[float]] = {contender.side.name: [] for contender in alive}
        for repetition in range(self.results.repetitions):
            self.progress.say(f"{label}: repetition {repetition + 1} of {self.results.repetitions}")
            for contender in tuple(alive):
                try:
                    values[contender.side.name].append(contender.worker.ask("measure")["value"])
                except WorkerError as error:
                    self._fail(contender.side, f"{case_label(case)}: {error}")
                    alive.remove(contender)
        for contender in alive:
            self.results.rows.append(self._row(case, contender.side, sizes[contender.side.name], values))
        return alive

    def _row(self, case: Case, side: Side, size: tuple[int, int], values: dict[str, list[float]]) -> Row:
        comparison, theirs = self.comparison, values[side.name]
        is_ours = side is comparison.ours
        ours = values.get(comparison.ours.name, [])
        complete = not is_ours and len(ours) == len(theirs)
        return Row(
            comparison=comparison.name,
            case=case,
            side=side.name,
            is_ours=is_ours,
            unit=comparison.unit,
            units_per_call=size[0],
            calls=size[1],
            values=tuple(theirs),
            ratios=tuple(a / b for a, b in zip(ours, theirs, strict=True)) if complete else (),
            target=comparison.target if is_ours else None,
        )

    def _fail(self, side: Side, message: str) -> None:
        self.results.failures.append(Failure(self.comparison.name, side.name, message))
        self.progress.complain(f"{self.comparison.name}: {side.name} could not be measured: {message}")
