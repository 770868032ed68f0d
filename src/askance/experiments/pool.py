"""Trials in several processes, the longest first."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context

from askance.errors import AskanceError, AskanceWarning
from askance.experiments.experiment import Plain, Trial

# One thread for each process: they would only be in each other's way, and sums are then in one order.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def run_trials(trials: Sequence[Trial], workers: int) -> Generator[tuple[Trial, Plain], None, None]:
    """Each trial with its outcome, as they are done.

    Args:
        trials: in any order; the most costly are started first.
        workers: how many processes, each with one thread: outcomes are the same to the last digit, however many there
            are. 0: in this process.

    A caller that stops listening, or is interrupted, ends the processes.
    """
    ordered = sorted(trials, key=lambda trial: -trial.cost)
    if workers == 0:
        for trial in ordered:
            yield trial, run_trial(trial)
    elif ordered:
        yield from _run_in_pool(ordered, min(workers, len(ordered)))


def run_trial(trial: Trial) -> Plain:
    """The outcome; what askance warns of is part of it where it matters, and no news for whoever watches."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AskanceWarning)
        return trial.run()


def _run_in_pool(ordered: Sequence[Trial], workers: int) -> Generator[tuple[Trial, Plain], None, None]:
    before = set(active_children())
    with _environment(_ONE_THREAD):  # for as long as processes are started
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _default_interrupt)
        try:
            waiting = {pool.submit(run_trial, trial): trial for trial in ordered}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BrokenProcessPool:
            raise AskanceError(
                "a process ended before its trial was done; it may have run out of memory.",
                remedy="What is done is kept: run the same again with fewer workers.",
            ) from None
        except BaseException:
            # Interrupted, or one trial failed: nobody waits for the others any more.
            for process in set(active_children()) - before:
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _default_interrupt() -> None:
    """Let Ctrl-C end a worker at once and without a word; the parent has kept what is done."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
