"""Sums over rows that an engine holds: the same bits however rows are divided, and whoever sums them."""

from __future__ import annotations

import gc
import importlib
import sys
import weakref
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq

from askance import Enumerated, RandomizedResponse, Tally, estimate
from askance.errors import InputError
from askance.estimation.results.results import Result
from askance.evidence.held import on_engine
from askance.evidence.totals import branches, grafted, total, trunk
from askance.formats import aggregate
from askance.scale import Dask, Here, Spark, engine_of
from askance.scale.shipping import own_digest, packed, unpacked
from askance.survey import regress
from askance.text import CountTagger
from tests.regressions import surveyed

PARTITIONINGS = (1, 2, 3, 5, 100)
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "three outputs": {"outputs": 3},
    "two arms": {"arms": 2},
    "weights and clusters": {"weighted": True, "clusters": 25},
    "many clusters, two arms": {"arms": 2, "weighted": True, "clusters": 4000},
    "years and their squares": {"years": True},
    "thinned start": {"people": 130_000},
}


class Shuffled(Here):
    """Parts in another order in every pass."""

    def __init__(self) -> None:
        super().__init__()
        self._rng = np.random.default_rng(4)

    def _fold(self, parts: Sequence[Any], work: bytes, merge: bytes) -> bytes:
        return super()._fold([parts[place] for place in self._rng.permutation(len(parts))], work, merge)


def bytes_of(fit: Any) -> bytes:
    return fit.theta.tobytes() + fit.covariance.tobytes()  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", KINDS)
def test_five_partitionings_in_any_order_give_the_bytes_of_rows_in_memory(kind: str) -> None:
    model, evidence = surveyed(**KINDS[kind])
    wanted = bytes_of(estimate(model, evidence))
    for blocks in PARTITIONINGS:
        engine = Shuffled()
        held = on_engine(evidence, engine, blocks)
        assert bytes_of(estimate(model, held)) == wanted
        assert engine.largest_sent <= 16 << 10


@pytest.mark.parametrize("method", ["moments", "marginal"])
def test_other_methods_too(method: str) -> None:
    model, evidence = surveyed(arms=2)
    with Here(threads=2) as engine:
        assert bytes_of(estimate(model, on_engine(evidence, engine, 2), method)) == bytes_of(
            estimate(model, evidence, method)
        )


def test_processes_give_the_same_bytes() -> None:
    model, evidence = surveyed(weighted=True)
    with Here(processes=2) as engine:
        assert bytes_of(estimate(model, evidence, engine=engine)) == bytes_of(estimate(model, evidence))


@pytest.mark.parametrize("kind", ["plain", "three outputs", "weights and clusters", "years and their squares"])
def test_shares_and_effects_are_those_of_rows_in_memory(kind: str) -> None:
    model, evidence = surveyed(**KINDS[kind])
    here, held = estimate(model, evidence), estimate(model, on_engine(evidence, Shuffled(), 2))
    for by in (None, "Intercept" if kind.startswith("years") else "b"):
        for population in (False, True):
            assert_equal(held.prevalence(by=by, population=population), here.prevalence(by=by, population=population))
    assert_equal(held.marginal_effects(), here.marginal_effects())
    assert str(held.summary()) == str(here.summary())
    with pytest.raises(InputError, match="have no column 'region'"):
        held.prevalence(by="region")
    with pytest.raises(InputError, match="no order that labels could follow"):
        held.prevalence(by=[1, 2])


def assert_equal(one: Result, other: Result) -> None:
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, getattr(other, name), err_msg=name)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=9), st.randoms(use_true_random=False))
def test_the_tree_is_one_whatever_is_put_together_first(sizes: list[int], chance: Any) -> None:
    """Merged are texts, so that every tree gives another one."""
    letters = [chr(97 + place) for place in range(sum(sizes))]
    starts = np.cumsum([0, *sizes[:-1]]).tolist()
    parts = [
        branches(enumerate(letters[start : start + size], start), str.upper, _nested)
        for start, size in zip(starts, sizes, strict=True)
    ]
    while len(parts) > 1:
        one, other = (parts.pop(chance.randrange(len(parts))) for _ in range(2))
        parts.append(grafted(one, other, _nested))
    assert trunk(parts[0], _nested) == total(letters, str.upper, _nested)


def _nested(earlier: str, later: str) -> str:
    return f"({earlier}{later})"


def test_a_map_keeps_the_order_of_items() -> None:
    assert Shuffled().map(abs, range(-40, 0)) == list(range(40, 0, -1))
    assert Here().map(abs, []) == []
    for engine in (Here(threads=3), Here(processes=2)):
        with engine:
            np.testing.assert_array_equal(engine.map(np.sum, np.eye(3) * [[1], [2], [3]]), [1, 2, 3])
    with pytest.raises(ZeroDivisionError):
        Here().map(partial(divmod, 1), [1, 0])
    with pytest.raises(InputError, match="cannot be sent"):
        Here().map(lambda item: item, [1])


def test_functions_that_captured_rows_are_refused() -> None:
    with pytest.raises(InputError, match="captured rows"):
        Here().fold([1], partial(np.add, np.zeros(1 << 20)), max)
    with pytest.raises(InputError, match="cannot be sent"):
        Here().fold([1], lambda part: part, max)


def test_rows_of_fits_that_nobody_knows_any_more_are_let_go_when_others_are_held() -> None:
    model, evidence = surveyed()
    engine = Here()
    responses = on_engine(evidence, engine)
    fit, held = estimate(model, responses), weakref.ref(responses._held)
    gc.disable()
    try:
        del fit, responses
        engine.hold([3], abs)
        assert held() is None
    finally:
        gc.enable()


def test_a_worker_with_another_askance_refuses() -> None:
    sent = packed(np.add)
    assert unpacked(sent) is np.add
    with pytest.raises(InputError, match="another askance"):
        unpacked(bytes(len(own_digest())) + sent[len(own_digest()) :])


def test_a_worker_with_another_version_of_the_users_module_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a new process imports is the file as it has become; what this one sends is as it was imported."""
    source = tmp_path / "study_of_somebody.py"
    source.write_text("def doubled(number):\n    return 2 * number\n")
    monkeypatch.syspath_prepend(tmp_path)
    doubled = importlib.import_module("study_of_somebody").doubled
    assert Here().map(doubled, [1, 2]) == [2, 4]
    source.write_text("def doubled(number):\n    return 3 * number\n")
    with Here(processes=1) as engine, pytest.raises(InputError, match="another version of study_of_somebody"):
        engine.map(doubled, [1, 2])


def test_what_needs_the_rows_or_has_none_is_refused() -> None:
    _, evidence = surveyed()
    held = on_engine(evidence, Here())
    with pytest.raises(InputError, match="which an engine holds"):
        _ = held.chunks
    channel = RandomizedResponse("1/2", outputs=["no", "yes"])
    with pytest.raises(InputError, match="allowed with an engine: Responses"):
        estimate(Enumerated.saturated(channel.outputs), Tally(channel, [3, 4]), engine=Here())
    for wrong in ("dask://", "ray", "here:x"):
        with pytest.raises(InputError, match="allowed: here"):
            engine_of(wrong)


@pytest.mark.parametrize("engine", ["dask", Here, None.__class__, 3])
def test_what_is_no_engine_is_refused_by_name(engine: Any, tmp_path: Path) -> None:
    _, evidence = surveyed()
    pq.write_table(pa.table({"said": ["yes", "no"]}), tmp_path / "people.parquet")
    path, channel = tmp_path / "people.parquet", RandomizedResponse("1/2", outputs=["no", "yes"])
    for call in (
        partial(estimate, surveyed()[0], evidence),
        partial(regress, "said ~ 1", path, channel),
        partial(aggregate, path),
        partial(CountTagger("node").fit, [path]),
    ):
        with pytest.raises(InputError, match=r"engine is .*; allowed: an engine of askance\.scale\. Give Here\(\)"):
            call(engine=engine)


def test_a_library_that_is_lacking_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    for begin, extra in (
        (Dask, "dask"),
        (partial(Spark, cast(Any, None)), "spark"),
        (partial(engine_of, "spark"), "spark"),
    ):
        with pytest.raises(InputError, match=rf"is not installed\. Install it: pip install 'askance\[{extra}\]'"):
            begin()
