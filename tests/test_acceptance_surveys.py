"""Surveys of the long checks: the same figures, wherever they run."""

from __future__ import annotations

from math import comb, inf, nan
from pathlib import Path

import acceptance.__main__  # noqa: F401 - importing enters all checks
import numpy as np
import pytest
from acceptance.check import CHECKS, Figure
from acceptance.record import HOME, Record, page, stored
from acceptance.surveys import simulated
from benchmarks.harness.results import Origin

from askance.scale import Here
from askance.scale.shipping import Sender


def figures(name: str, engine: Sender) -> list[Figure]:
    return list(CHECKS[name](np.random.default_rng(3), 23, engine))


@pytest.mark.parametrize("name", ["mixed-arms", "few-clusters"])
def test_two_processes_give_the_figures_of_one(name: str) -> None:
    """To the last digit, also of means of numbers."""
    with Here(processes=2) as engine:
        assert figures(name, engine) == figures(name, Here())


def drawn(rng: np.random.Generator) -> dict[str, float]:
    share = rng.random()
    return {"share": share} if share < 0.5 else {"share": share, "more": 1.0}


def test_every_survey_has_a_seed_of_its_own() -> None:
    """The first ones are those of fewer surveys, others follow where a generator is asked again."""
    rng = np.random.default_rng(3)
    first, again = (simulated(Here(), drawn, 25, rng) for _ in range(2))
    shares = np.concatenate([first["share"], again["share"]])
    assert len(set(shares)) == 50
    np.testing.assert_array_equal(simulated(Here(), drawn, 11, np.random.default_rng(3))["share"], shares[:11])
    assert len(first["more"]) == (first["share"] >= 0.5).sum()


def test_a_share_of_intervals_states_its_false_alarm_rate() -> None:
    """By enumeration: both tails of a binomial law, limits included in the range."""
    figure = Figure("check", "case", 0.95, 0.9, 0.95, surveys=20)
    inside = sum(comb(20, k) * 0.95**k * 0.05 ** (20 - k) for k in (18, 19))
    assert figure.false_alarm == pytest.approx(1 - inside, rel=1e-12)
    assert Figure("check", "case", 1.0, 0.9, 1.1).false_alarm is None


def test_figures_are_kept_beside_what_was_asked(tmp_path: Path) -> None:
    """A record is read as it was written, numbers without an end too; the page says first what was missed."""
    figures = (
        Figure("one", "share | of intervals", 0.951, 0.935, 0.965, "of 2,000", surveys=2000),
        Figure("one", "a ratio", 3.0, -inf, 2.0),
        Figure("one", "not measured", nan, 1.0, inf),
    )
    record = Record("one", Origin("python -m acceptance --only one", "today", "here", "abc", True), 12.0, figures)
    record.save(tmp_path)
    (read,) = stored(tmp_path).values()
    assert repr(read) == repr(record)
    told = page(["one", "two"], {"one": read})
    assert "1 of 3 figures" in told
    assert "- **missed**: one, a ratio: 3, asked ≤ 2" in told
    assert "- **missed**: one, not measured: nan, asked ≥ 1" in told
    assert "- not measured: two" in told
    assert r"| share \| of intervals | 0.951 | 0.935 to 0.965 |  | of 2,000 |" in told


def test_the_page_is_that_of_the_stored_figures() -> None:
    assert (HOME / "RESULTS.md").read_text(encoding="utf-8") == page(CHECKS, stored())
