"""The same bits for any number of threads, and what holds BLAS to one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from askance._arrays import FloatArray
from askance._cores import processors
from askance._threads import one_thread
from askance.evidence.totals import add, total
from tests.signals import PATIENCE

_LIMITS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def _digests(threads: int) -> dict[str, str]:
    script = Path(__file__).with_name("fits_of_all_kinds.py")
    env = {**os.environ, **dict.fromkeys(_LIMITS, str(threads))}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(processors() < 2, reason="one processor: there is nothing to divide")
def test_every_fit_has_the_same_bits_with_one_thread_and_with_two() -> None:
    one, two = _digests(1), _digests(2)
    assert len(one) > 30
    assert [name for name in one if one[name] != two[name]] == []


def _threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_one_thread_is_held_from_the_first_entry_to_the_last_exit() -> None:
    with one_thread:
        pass  # finds the libraries
    before = _threads()
    with threadpool_limits(2, user_api="blas"):
        with one_thread:
            assert _threads() == {1}
            with one_thread:
                pass
            assert _threads() == {1}
        assert _threads() == {2}
        with pytest.raises(ValueError, match="inside"), one_thread:
            raise ValueError("inside")
        assert _threads() == {2}
    assert _threads() == before


@pytest.mark.parametrize("patience", [(True, False), (False, True)])
def test_threads_that_hold_it_at_the_same_time(patience: tuple[bool, bool]) -> None:
    entered, leave, before = threading.Barrier(3), threading.Event(), _threads()
    seen: list[set[int]] = []

    def hold(patient: bool) -> None:
        with one_thread:
            entered.wait(PATIENCE)
            if patient:
                leave.wait(PATIENCE)
            seen.append(_threads())

    with threadpool_limits(2, user_api="blas"):
        workers = [threading.Thread(target=hold, args=(patient,)) for patient in patience]
        for worker in workers:
            worker.start()
        entered.wait(PATIENCE)
        workers[patience.index(False)].join(PATIENCE)
        assert _threads() == {1}  # the other one still needs it
        leave.set()
        workers[patience.index(True)].join(PATIENCE)
        assert seen == [{1}, {1}]
        assert _threads() == {2}  # restored by another thread than the one that set it, in one order or the other
    assert _threads() == before


def test_stretches_of_a_tree_are_summed_elsewhere_to_the_last_bit() -> None:
    """Parts of 2^k blocks, each summed by itself, give the same bits as all blocks in a row."""
    blocks = list(np.random.default_rng(0).normal(size=(37, 100)))

    def alone(block: FloatArray) -> tuple[FloatArray, ...]:
        return (block.copy(),)

    whole = total(blocks, alone, add)[0]
    assert whole == pytest.approx(np.sum(blocks, axis=0), abs=1e-12)
    for size in (1, 2, 4, 8, 16, 32):
        parts = [total(blocks[start : start + size], alone, add) for start in range(0, len(blocks), size)]
        assert total(parts, lambda part: (part[0].copy(),), add)[0].tobytes() == whole.tobytes()
    one_by_one = blocks[0].copy()
    for block in blocks[1:]:
        one_by_one += block
    assert one_by_one.tobytes() != whole.tobytes()  # so there was something to get wrong
